//! How far an agent's clock is ahead of the coordinator's.
//!
//! One exchange: a probe leaves at t0 and arrives at t1 of the agent's clock; the echo leaves at t2
//! of that clock and arrives at t3. With the offset θ = agent's − coordinator's clock, and the two
//! delays d₁ and d₂ (all in ns),
//!
//! ```text
//! t1 − t0 = d₁ + θ        t3 − t2 = d₂ − θ
//! ((t1 − t0) + (t2 − t3)) / 2 = θ + (d₁ − d₂) / 2
//! ```
//!
//! so the middle is off by at most (d₁ + d₂) / 2, half of the round trip, however unequal the two
//! delays are (RFC 5905 section 8). Of many exchanges the one with the shortest round trip is the most
//! exact. A reading loses exactness with age: slewed clocks diverge by up to [`MOST_DRIFT_PPM`].

/// How fast two clocks may diverge, in parts of 10⁶: the kernel slews each by 500 at most
/// (`adjtimex(2)`).
pub const MOST_DRIFT_PPM: u64 = 1000;

/// The number of readings that are kept.
const MOST: usize = 16;
/// The initial distance between readings that are kept.
const WINDOW_NS: u64 = 250_000_000;

/// The four times of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// t0, when the probe was sent; coordinator's clock.
    pub sent_ns: u64,
    /// t1, when the probe arrived; agent's clock.
    pub received_ns: u64,
    /// t2, when the echo was sent; agent's clock.
    pub replied_ns: u64,
    /// t3, when the echo arrived; coordinator's clock.
    pub returned_ns: u64,
}

/// The offset at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// That time, by the coordinator's clock.
    pub at_ns: u64,
    /// By how much the agent's clock was ahead.
    pub offset_ns: i64,
    /// The largest error of the offset.
    pub bound_ns: u64,
}

impl Reading {
    /// The same offset at another time, with the drift that is possible until then in its bound.
    fn at(&self, at_ns: u64) -> Self {
        let drift_ns = drifted(self.at_ns.abs_diff(at_ns));
        Reading { at_ns, bound_ns: self.bound_ns.saturating_add(drift_ns), ..*self }
    }
}

impl Exchange {
    /// The offset by this exchange; `None` if it contradicts itself.
    pub fn reading(&self) -> Option<Reading> {
        let Exchange { sent_ns, received_ns, replied_ns, returned_ns } = *self;
        let took_ns = returned_ns.checked_sub(sent_ns)?;
        let held_ns = replied_ns.checked_sub(received_ns)?;
        // Both clocks timed the agent's part, and may disagree by their drift.
        let drift_ns = drifted(took_ns);
        let way_ns = took_ns.saturating_add(drift_ns).checked_sub(held_ns)?;
        let apart = |agent: u64, own: u64| i128::from(agent) - i128::from(own);
        let offset_ns = (apart(received_ns, sent_ns) + apart(replied_ns, returned_ns)) / 2;
        Some(Reading {
            at_ns: sent_ns + took_ns / 2,
            offset_ns: i64::try_from(offset_ns).ok()?,
            bound_ns: way_ns.div_ceil(2).saturating_add(drift_ns).saturating_add(1),
        })
    }
}

/// How far clocks can diverge in this time.
fn drifted(ns: u64) -> u64 {
    (u128::from(ns) * u128::from(MOST_DRIFT_PPM)).div_ceil(1_000_000) as u64
}

/// How much faster an agent's clock runs than the coordinator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drift {
    /// In parts of 10⁹.
    pub ppb: i64,
    /// The largest error of that.
    pub bound_ppb: u64,
}

/// The best readings of an agent's clock, spread over time.
///
/// There are at most [`MOST`]; before there are more, each two neighbours become one.
#[derive(Debug, Clone)]
pub struct Clock {
    readings: Vec<Reading>,
    window_ns: u64,
    exchanges: u64,
}

impl Default for Clock {
    fn default() -> Self {
        Clock { readings: Vec::new(), window_ns: WINDOW_NS, exchanges: 0 }
    }
}

impl Clock {
    /// Takes an exchange; one that contradicts itself is ignored. Returns whether it counts.
    pub fn add(&mut self, exchange: &Exchange) -> bool {
        let Some(reading) = exchange.reading() else { return false };
        self.exchanges += 1;
        let first_ns = self.readings.first().map_or(reading.at_ns, |one| one.at_ns);
        let window = |one: &Reading| one.at_ns.saturating_sub(first_ns) / self.window_ns;
        let place = window(&reading);
        match self.readings.iter_mut().rev().find(|one| window(one) == place) {
            // Readings stay in the order of their times.
            Some(known) => {
                let reading = reading.at(reading.at_ns.max(known.at_ns));
                if reading.bound_ns < known.bound_ns {
                    *known = reading;
                }
            }
            None => {
                let after = self.readings.partition_point(|one| one.at_ns <= reading.at_ns);
                self.readings.insert(after, reading);
            }
        }
        if self.readings.len() > MOST {
            self.window_ns = self.window_ns.saturating_mul(2);
            let best = |pair: &[Reading]| pair.iter().min_by_key(|one| one.bound_ns).copied();
            self.readings = self.readings.chunks(2).filter_map(best).collect();
        }
        true
    }

    /// The number of exchanges that were not ignored.
    pub fn exchanges(&self) -> u64 {
        self.exchanges
    }

    /// The offset at this time of the coordinator's clock, by the reading with the smallest bound.
    pub fn at(&self, at_ns: u64) -> Option<Reading> {
        self.readings.iter().map(|one| one.at(at_ns)).min_by_key(|one| one.bound_ns)
    }

    /// The drift, by the two readings with the smallest bound.
    pub fn drift(&self) -> Option<Drift> {
        let between = |early: &Reading, late: &Reading| {
            let time_ns = i128::from(late.at_ns.checked_sub(early.at_ns).filter(|ns| *ns > 0)?);
            let apart_ns = i128::from(late.offset_ns) - i128::from(early.offset_ns);
            let bound_ns = i128::from(late.bound_ns) + i128::from(early.bound_ns);
            Some(Drift {
                ppb: i64::try_from(apart_ns * 1_000_000_000 / time_ns).ok()?,
                bound_ppb: u64::try_from(bound_ns * 1_000_000_000 / time_ns + 1).ok()?,
            })
        };
        let pairs = self.readings.iter().enumerate().flat_map(|(at, early)| {
            self.readings[at + 1..].iter().filter_map(move |late| between(early, late))
        });
        pairs.min_by_key(|one| one.bound_ppb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;

    /// An exchange of clocks that are `offset_ns` apart when `sent_ns` is zero, with a drift.
    fn exchange(
        sent_ns: u64,
        offset_ns: i64,
        ppm: i64,
        ways_ns: (u64, u64),
        held_ns: u64,
    ) -> Exchange {
        let agent = |own_ns: u64| {
            let own = i128::from(own_ns);
            (own + i128::from(offset_ns) + own * i128::from(ppm) / 1_000_000) as u64
        };
        let (received, replied) = (sent_ns + ways_ns.0, sent_ns + ways_ns.0 + held_ns);
        Exchange {
            sent_ns,
            received_ns: agent(received),
            replied_ns: agent(replied),
            returned_ns: replied + ways_ns.1,
        }
    }

    proptest! {
        /// The true offset is within the bound, then and at any other time.
        #[test]
        fn the_bound_holds(
            offset_ns in 0..100 * S as i64,
            ppm in -900i64..900,
            ways in prop::collection::vec((0u64..40_000_000, 0u64..40_000_000, 0u64..S, 1u64..S), 1..80),
            at_ns in 0..100 * S,
        ) {
            // A probe may leave before the echo of the previous one is back.
            let mut sent_ns = S;
            let mut exchanges: Vec<Exchange> = Vec::new();
            for (there, back, held, gap) in ways {
                exchanges.push(exchange(sent_ns, offset_ns, ppm, (there, back), held));
                sent_ns += gap;
            }
            exchanges.sort_by_key(|one| one.returned_ns);
            let mut clock = Clock::default();
            for one in exchanges {
                clock.add(&one);
                prop_assert!(clock.readings.len() <= MOST);
                let pairs = clock.readings.windows(2);
                prop_assert!(pairs.into_iter().all(|pair| pair[0].at_ns <= pair[1].at_ns));
            }
            let reading = clock.at(at_ns).unwrap();
            let truth = offset_ns + (at_ns as i128 * ppm as i128 / 1_000_000) as i64;
            let error_ns = reading.offset_ns.abs_diff(truth);
            prop_assert!(error_ns <= reading.bound_ns, "{error_ns} of {reading:?}");
            if let Some(drift) = clock.drift() {
                let error = drift.ppb.abs_diff(ppm * 1000);
                prop_assert!(error <= drift.bound_ppb + 1, "{error} of {drift:?}");
            }
        }
    }

    #[test]
    fn the_bound_is_half_of_the_round_trip_even_if_delays_are_unequal() {
        // 35 ms there, 5 ms back.
        let reading =
            exchange(S, 3 * S as i64, 0, (35_000_000, 5_000_000), 1000).reading().unwrap();
        assert_eq!(reading.offset_ns, 3 * S as i64 + 15_000_000);
        assert!((20_000_000..20_100_000).contains(&reading.bound_ns), "{reading:?}");
    }

    #[test]
    fn an_exchange_that_contradicts_itself_is_ignored() {
        let good = exchange(S, 0, 0, (10, 10), 10);
        let wrong = [
            Exchange { returned_ns: S - 1, ..good },
            Exchange { replied_ns: good.received_ns - 1, ..good },
            Exchange { replied_ns: good.received_ns + S, ..good },
            Exchange { received_ns: u64::MAX, replied_ns: u64::MAX, ..good },
        ];
        let mut clock = Clock::default();
        for one in wrong {
            assert_eq!(one.reading(), None, "{one:?}");
            clock.add(&one);
        }
        assert_eq!((clock.exchanges(), clock.at(S), clock.drift()), (0, None, None));
    }
}
