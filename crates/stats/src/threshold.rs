//! The threshold of a noisy response: up to which rate runs meet a condition, with an interval that repetitions
//! have earned.
//!
//! A run at a rate meets the condition or misses it. The higher the rate, the less likely it is met; nothing else
//! is assumed about the noise. The *threshold* is the rate at which both are equally likely. The search says which
//! rate to try next and hears how the run ended; it makes no runs, and knows neither time nor servers.
//!
//! 1. **Bisect**, with one run a rate, until the gap is as narrow as the precision. The gap is always the one that
//!    the fewest runs of the whole search contradict, so a run that chance decided is corrected by later ones (a
//!    noisy binary search: Feige, Raghavan, Peleg, Upfal, "Computing with noisy information", 1994).
//! 2. **Confirm** both ends of the gap by rounds of further runs. The caller makes a round in random order, so that
//!    a disturbance meets both ends alike. An end on which the runs disagree is rejected: the gap to confirm becomes
//!    wider, and the search continues with 1.
//!
//! What earns an end is above [`Search::evidence`].

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// A guess of the highest rate that can be met, above zero.
    pub guess: f64,
    /// The search bisects until the ends are this close, as a share of the upper one. In (0, 1).
    pub precision: f64,
    /// The most runs at one rate.
    pub most_runs: u32,
}

/// What to measure next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// One run at this rate.
    Probe(f64),
    /// A run at each end, in random order.
    Confirm {
        /// The lower end; `None`: no rate was met.
        low: Option<f64>,
        /// The upper end; `None`: no rate was missed.
        high: Option<f64>,
    },
    /// Nothing: both ends are confirmed, or no further run can confirm them.
    Done,
}

/// An end of the interval, and its repetitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct End {
    /// The rate.
    pub rate: f64,
    /// Its runs since it was chosen that agree: met at a lower end, missed at an upper one.
    pub agreed: u32,
    /// Those that do not.
    pub disagreed: u32,
    /// Whether the evidence is enough.
    pub confirmed: bool,
}

/// The state of a search.
#[derive(Debug, Clone)]
pub struct Search {
    settings: Settings,
    /// Each tried rate, ascending.
    tried: Vec<Tried>,
    /// The width of the gap to confirm, as a share of its upper end.
    width: f64,
    /// How often the guess was raised.
    raised: u32,
    low: Side,
    high: Side,
}

/// The runs at a rate.
#[derive(Debug, Clone, Copy)]
struct Tried {
    rate: f64,
    met: u32,
    missed: u32,
}

/// One end, and how many of its kind were given up before.
#[derive(Debug, Clone, Copy, Default)]
struct Side {
    /// The rate, and its runs since it was chosen: those that agree and those that do not.
    end: Option<(f64, u32, u32)>,
    given_up: u32,
}

/// The first rate, as a share of the guess.
const FIRST: f64 = 0.7;
/// The threshold may be this multiple of the guess; if it is above, the guess is raised by a factor, up to this many times.
const ABOVE: f64 = 1.05;
const RAISE: f64 = 1.3;
const MOST_RAISED: u32 = 6;
/// If not even this share of the guess is met, no rate is.
const LOWEST: f64 = 1.0 / 64.0;
/// The gap to confirm grows by the first factor if an end is rejected, and once it is twice the precision by the
/// second: little noise costs little precision, and much noise little time.
const WIDER: [f64; 2] = [1.5, 2.0];
/// A gap that is wider than this, as a share of its upper end, is no result.
const WIDEST: f64 = 0.75;

/// The share of runs that agree at an end that is worth confirming: what is bet on.
const AGREE: f64 = 0.95;
/// The chance that an end is confirmed wrongly, all of its candidates together. Both ends may have 2.5 % together; as
/// much again is left to what successive runs have in common, so that 95 % remain.
const ERROR: f64 = 0.0125;
/// An end is rejected when its own runs speak this much against it: their likelihood ratio is below.
const REJECTED: f64 = 1.0 / 5.0;

/// A reference may vary by this factor more than the ends of the interval.
const UNSTEADY: f64 = 1.1;

impl Search {
    /// A search that has seen no run.
    pub fn new(settings: Settings) -> Self {
        let width = settings.precision;
        let (low, high) = (Side::default(), Side::default());
        Search { settings, tried: Vec::new(), width, raised: 0, low, high }
    }

    /// What to measure next.
    pub fn next(&self) -> Next {
        let (below, above) = self.gap();
        let bound = self.bound();
        let again = |side: &Side| {
            let end = side.end.map(|end| end.0);
            end.filter(|_| self.runs(side) < self.settings.most_runs)
        };
        match (below, above) {
            _ if self.is_over() => Next::Done,
            _ if self.is_chosen() => match (again(&self.low), again(&self.high)) {
                (None, None) => Next::Done,
                (low, high) => Next::Confirm { low, high },
            },
            (None, None) => Next::Probe(self.settings.guess * FIRST),
            (None, Some(above)) => Next::Probe(above / 2.0),
            (Some(below), None) if self.is_near(below, bound) => Next::Done,
            (Some(below), above) => Next::Probe((below + above.unwrap_or(bound)) / 2.0),
        }
    }

    /// Hears how a run at a rate ended: whether it met the condition.
    pub fn tell(&mut self, rate: f64, met: bool) {
        let at = self.tried.partition_point(|one| one.rate < rate);
        if self.tried.get(at).is_none_or(|one| one.rate != rate) {
            self.tried.insert(at, Tried { rate, met: 0, missed: 0 });
        }
        let one = &mut self.tried[at];
        *if met { &mut one.met } else { &mut one.missed } += 1;
        for (side, agrees) in [(&mut self.low, met), (&mut self.high, !met)] {
            if let Some((end, agreed, disagreed)) = &mut side.end
                && *end == rate
            {
                *if agrees { agreed } else { disagreed } += 1;
            }
        }
        self.settle();
    }

    /// The ends as far as they are known, each a rate that had a run: those that are being confirmed, or else the gap.
    pub fn ends(&self) -> (Option<End>, Option<End>) {
        let (below, above) = self.gap();
        let end = |side: &Side, gap: Option<f64>, is_low: bool| match side.end {
            Some((rate, agreed, disagreed)) if self.runs(side) > 0 => {
                let confirmed = self.is_confirmed(side, is_low);
                Some(End { rate, agreed, disagreed, confirmed })
            }
            _ => {
                let rate = gap?;
                let one = self.tried.iter().find(|one| one.rate == rate)?;
                let (agreed, disagreed) =
                    if is_low { (one.met, one.missed) } else { (one.missed, one.met) };
                Some(End { rate, agreed, disagreed, confirmed: false })
            }
        };
        (end(&self.low, below, true), end(&self.high, above, false))
    }

    /// Whether the runs contradicted each other until no useful gap was left.
    pub fn is_too_noisy(&self) -> bool {
        self.width > WIDEST
    }

    /// The fewest runs at one rate with which its end can be confirmed: the one that found it, and those that agree.
    pub fn fewest_runs() -> u32 {
        1 + ((1.0 / level(0)).ln() / (2.0 * AGREE).ln()).ceil() as u32
    }

    /// After each run: rejects ends, and chooses new ones where the gap is narrow enough.
    fn settle(&mut self) {
        let rejected = [self.is_rejected(&self.low, true), self.is_rejected(&self.high, false)];
        if rejected.contains(&true) {
            let is_wide = self.width >= 2.0 * self.settings.precision;
            self.width *= WIDER[usize::from(is_wide)];
        }
        let gap = self.gap();
        let far = 2.0 * self.width;
        // The other end stays if it still is outside of the gap, and near it.
        let stays = [
            gap.0.map(|below| (below * (1.0 - far), below)),
            gap.1.map(|above| (above, above * (1.0 + far))),
        ];
        for ((side, is_rejected), stays) in
            [&mut self.low, &mut self.high].into_iter().zip(rejected).zip(stays)
        {
            let is_outside = |rate: f64| stays.is_some_and(|(from, to)| rate >= from && rate <= to);
            if side.end.is_some_and(|(rate, ..)| is_rejected || !is_outside(rate)) {
                side.given_up += 1;
                side.end = None;
            }
        }
        match gap {
            (Some(below), None)
                if self.is_near(below, self.bound()) && self.raised < MOST_RAISED =>
            {
                self.raised += 1;
            }
            (Some(below), Some(above)) if self.is_near(below, above) => self.choose(below, above),
            (None, Some(above)) if self.is_lowest(above) => {
                self.high.end.get_or_insert((above, 0, 0));
            }
            _ => {}
        }
    }

    /// Chooses the ends to confirm where there are none: those of the gap, moved apart to the width.
    fn choose(&mut self, below: f64, above: f64) {
        let (middle, half) = ((below + above) / 2.0, self.width / 2.0);
        let is_first = self.width <= self.settings.precision;
        let low = if is_first { below } else { below.min(middle * (1.0 - half)) };
        let high = if is_first { above } else { above.max(middle * (1.0 + half)) };
        self.low.end.get_or_insert((low, 0, 0));
        self.high.end.get_or_insert((high, 0, 0));
    }

    /// The highest rate that the threshold is expected at.
    fn bound(&self) -> f64 {
        self.settings.guess * ABOVE * RAISE.powi(self.raised as i32)
    }

    fn is_near(&self, below: f64, above: f64) -> bool {
        above - below <= above * self.width * (1.0 + 1e-9)
    }

    /// Whether the ends that the search needs are chosen: both, or the upper one if no rate is met.
    fn is_chosen(&self) -> bool {
        match self.gap() {
            (Some(_), Some(_)) => self.low.end.is_some() && self.high.end.is_some(),
            (None, Some(above)) => self.is_lowest(above) && self.high.end.is_some(),
            _ => false,
        }
    }

    /// Whether no run is left to make: the ends are confirmed, or cannot be.
    fn is_over(&self) -> bool {
        let low = self.low.end.map(|_| self.is_confirmed(&self.low, true));
        let confirmed = self.is_confirmed(&self.high, false) && low != Some(false);
        let spent = [&self.low, &self.high].map(|side| self.runs(side) >= self.settings.most_runs);
        let is_in_vain = self.settings.most_runs < Self::fewest_runs() && spent.contains(&true);
        self.is_too_noisy() || (self.is_chosen() && (confirmed || is_in_vain))
    }

    /// Whether a rate is so low that no lower one is tried.
    fn is_lowest(&self, rate: f64) -> bool {
        rate <= self.settings.guess * LOWEST
    }

    /// The highest rate below the threshold and the lowest above it, by the fewest contradictions: runs that missed
    /// below it and runs that met above it. Of several, the middle one.
    fn gap(&self) -> (Option<f64>, Option<f64>) {
        let contradictions = |gap: usize| -> u32 {
            let (below, above) = self.tried.split_at(gap);
            let missed: u32 = below.iter().map(|one| one.missed).sum();
            missed + above.iter().map(|one| one.met).sum::<u32>()
        };
        let all: Vec<u32> = (0..=self.tried.len()).map(contradictions).collect();
        let fewest = all.iter().min().copied().unwrap_or(0);
        let best: Vec<usize> = (0..all.len()).filter(|&gap| all[gap] == fewest).collect();
        let gap = best[best.len() / 2];
        let rate = |at: usize| self.tried.get(at).map(|one| one.rate);
        (gap.checked_sub(1).and_then(rate), rate(gap))
    }

    /// All runs at an end's rate.
    fn runs(&self, side: &Side) -> u32 {
        let rate = side.end.map(|end| end.0);
        let one = self.tried.iter().find(|one| Some(one.rate) == rate);
        one.map_or(0, |one| one.met + one.missed)
    }

    /// The natural logarithm of the evidence for an end.
    ///
    /// Take the lower end L. If it is wrong, the threshold is at or below L, and a run at L meets the condition with
    /// a chance of 1/2 at most, whatever happened before. So with m runs that met and n that missed, since L was
    /// chosen, and p the share bet on,
    ///
    /// > E = (2p)^m · (2(1 − p))^n
    ///
    /// is a supermartingale that begins at 1, and it ever reaches 1/α with a chance of α at most (Ville, *Étude
    /// critique de la notion de collectif*, 1939; as a test against p, Wald, *Sequential Analysis*, 1947). So the
    /// runs may be stopped as soon as they are enough. A run that missed at a lower rate contradicts L too: it
    /// counts among n, whenever it was made, which makes E smaller and ties it to the whole time of the search.
    fn evidence(&self, side: &Side, is_low: bool) -> f64 {
        let Some((rate, agreed, _)) = side.end else { return f64::NEG_INFINITY };
        let contradicting = self.tried.iter().map(|one| match is_low {
            true if one.rate <= rate => one.missed,
            false if one.rate >= rate => one.met,
            _ => 0,
        });
        ln_ratio(agreed, contradicting.sum())
    }

    fn is_confirmed(&self, side: &Side, is_low: bool) -> bool {
        self.evidence(side, is_low) >= -level(side.given_up).ln()
    }

    /// Whether an end's own runs speak against it, or can no longer confirm it.
    fn is_rejected(&self, side: &Side, is_low: bool) -> bool {
        let Some((_, agreed, disagreed)) = side.end else { return false };
        let is_spent = self.settings.most_runs >= Self::fewest_runs()
            && self.runs(side) >= self.settings.most_runs
            && !self.is_confirmed(side, is_low);
        ln_ratio(agreed, disagreed) < REJECTED.ln() || is_spent
    }
}

/// Whether what a machine can do varied no more than an interval says: `reference` has figures of the same load from all
/// of the search's time. Repetitions in a part of that time cannot see noise that lasts longer; these can.
pub fn is_steady(reference: &[f64], low: f64, high: f64) -> bool {
    let least = reference.iter().copied().fold(f64::INFINITY, f64::min);
    let most = reference.iter().copied().fold(0.0, f64::max);
    most * low <= UNSTEADY * least * high
}

/// ln E, given how many runs agree and how many do not.
fn ln_ratio(agreed: u32, disagreed: u32) -> f64 {
    f64::from(agreed) * (2.0 * AGREE).ln() + f64::from(disagreed) * (2.0 * (1.0 - AGREE)).ln()
}

/// The chance of a wrong confirmation allowed to a candidate, given how many came before it. With 1 + 1/4 + 1/9 + … = π²/6
/// all of them together have [`ERROR`].
fn level(given_up: u32) -> f64 {
    let nth = f64::from(given_up) + 1.0;
    ERROR * 6.0 / (std::f64::consts::PI * nth).powi(2)
}
