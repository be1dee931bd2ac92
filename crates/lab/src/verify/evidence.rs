//! The evidence of an experiment: the loader's trace, the server's log, and comparisons of the two.
//!
//! Times are nanoseconds since the run's origin; the log's are converted, since both processes read
//! one clock. Requests are identified by rank: with one loader thread the k-th request sent is the
//! k-th that arrives. Two requests that leave within microseconds may still arrive in the other
//! order, so conditions that must hold on any machine use sorted times, for which the order makes
//! no difference: if every request arrives after it was sent, then the k-th arrival is after the
//! k-th send.

use candor_pace::{Due, Limit, Picker, Schedule, Share};
use candor_plan::{Load, Plan};
use candor_record::RunRecord;
use candor_record::trace::{Outcome, Traced};
use candor_serve::truth::{self, Entry, Fate};
use candor_stats::closed_form::{FifoPath, LossPath};

use super::line::{Line, Unit};
use super::values::quantile;
use super::witness::{self, Machine, Rest};

/// The tolerance that 99 of 100 single requests must meet.
const WITHIN_NS: f64 = 1e6;

/// The evidence of an experiment.
#[derive(Debug, Clone)]
pub(super) struct Evidence {
    pub(super) plan: Plan,
    pub(super) record: RunRecord,
    /// Every request of the loader, in the order in which they left; after them those that did
    /// not.
    pub(super) traced: Vec<Traced>,
    /// Every request of the server, in the order in which they arrived.
    pub(super) log: truth::Record,
}

/// How the truth server responded, for the comparison of its log with theory.
#[derive(Debug, Clone, Copy)]
pub(super) enum Theory {
    Fifo {
        service_ns: u64,
    },
    Delay {
        service_ns: u64,
    },
    Capped {
        service_ns: u64,
        places: usize,
    },
    /// A response in parts: the last one leaves this long after the arrival, others before it.
    Parts {
        whole_ns: u64,
    },
}

impl Evidence {
    pub(super) fn new(
        plan: Plan,
        record: RunRecord,
        mut traced: Vec<Traced>,
        mut log: truth::Record,
    ) -> Self {
        traced.sort_by_key(|one| (!one.was_sent(), one.sent_ns, one.due_ns, one.index));
        // An arrival before the origin is a contradiction, even when it is cut to zero.
        let since = |at_ns: u64| at_ns.saturating_sub(record.machine().origin_monotonic_ns);
        for entry in &mut log.entries {
            entry.arrival_ns = since(entry.arrival_ns);
            entry.computed_ns = since(entry.computed_ns);
            entry.departed_ns = since(entry.departed_ns);
        }
        for (from_ns, to_ns) in log.stalls_ns.iter_mut().chain(&mut log.held_up_ns) {
            (*from_ns, *to_ns) = (since(*from_ns), since(*to_ns));
        }
        Evidence { plan, record, traced, log }
    }

    /// Requests that were sent, in that order.
    pub(super) fn sent(&self) -> &[Traced] {
        let sent = self.traced.partition_point(Traced::was_sent);
        &self.traced[..sent]
    }

    /// The due times by plan and seed; empty in a closed load.
    pub(super) fn schedule(&self) -> Vec<u64> {
        schedule(&self.plan, self.plan.seed).map(|due| due.due_ns).collect()
    }

    /// The request of each arrival of the schedule; with several queues, it selects the queue.
    pub(super) fn requests(&self) -> impl Iterator<Item = usize> + use<> {
        let picker = Picker::new(&self.plan.work, self.plan.seed);
        schedule(&self.plan, self.plan.seed).map(move |due| picker.pick(due.index))
    }

    /// How many queues the server has.
    pub(super) fn queues(&self) -> usize {
        if self.plan.work.journeys().is_empty() { self.plan.work.requests().len() } else { 1 }
    }

    /// Three lines that must hold on any machine, however busy, and one on the server's own
    /// lateness where no pause touched it, which the lines about time depend on.
    pub(super) fn books(&self, theory: Theory) -> Vec<Line> {
        let ledger = &self.record.total.ledger;
        let (contradictions, detail) = self.contradictions(theory);
        let answered = self.log.entries.iter().filter(|entry| entry.fate == Fate::Answered);
        let late = Rest::of(answered.map(|entry| {
            let late_ns = entry.departed_ns.saturating_sub(entry.computed_ns) as f64;
            (late_ns, self.machine().touched(entry.computed_ns, entry.departed_ns))
        }));
        let balance = if ledger.balances() { ledger.scheduled } else { u64::MAX };
        vec![
            Line::exactly("requests in the loader's trace", balance, self.traced.len() as u64),
            Line::exactly(
                "requests in the server's log",
                ledger.sent,
                self.log.entries.len() as u64 + self.log.unlogged,
            ),
            Line::never("contradictions of schedule, trace, log", contradictions, detail),
            late.line(Line::at_most(
                "responses that left late, p99, by the server's log",
                Unit::Ns,
                WITHIN_NS,
                quantile(late.values(), 0.99),
            )),
        ]
    }

    /// The machine's pauses of the two processes.
    pub(super) fn machine(&self) -> Machine<'_> {
        Machine { loader: &self.record.machine().held_up, server: &self.log.held_up_ns }
    }

    /// The `lines` of this experiment as far as the machine let it tell.
    pub(super) fn told(&self, lines: Vec<Line>) -> Vec<Line> {
        let requests = self.untouched(self.responses_ns());
        witness::told(lines, &requests, &self.machine().told(self.record.elapsed_ns))
    }

    /// Values of the requests, in the order of sending.
    pub(super) fn untouched(&self, values: impl IntoIterator<Item = f64>) -> Rest {
        Rest::of(values.into_iter().zip(self.touched()))
    }

    /// The places of the loader, if a request without one waits for the oldest response: with one queue, responses come
    /// in the order of requests.
    fn places(&self) -> Option<usize> {
        let places = self.plan.connections.count as usize * self.plan.connections.places() as usize;
        (self.queues() == 1).then_some(places)
    }

    /// For each request in the order of sending: whether a pause can have to do with when it left, when its response
    /// left, or when that was read.
    pub(super) fn touched(&self) -> Vec<bool> {
        let (sent, log, machine) = (self.sent(), &self.log.entries, self.machine());
        let touched = |(k, one): (usize, &Traced)| {
            // Without its entry in the log, an exact line says no.
            let Some(entry) = log.get(k) else { return false };
            let free_ns = self.free_ns(k);
            let departed_ns = entry.departed_ns.max(entry.computed_ns);
            machine.touched(one.due_ns.max(free_ns), entry.arrival_ns)
                || machine.touched(entry.computed_ns, departed_ns)
                || machine.touched(departed_ns, one.done_ns)
        };
        sent.iter().enumerate().map(touched).collect()
    }

    /// When a place gets free for the request with this rank: by the server's log, not by the loader.
    fn free_ns(&self, k: usize) -> u64 {
        let before = self.places().and_then(|places| k.checked_sub(places));
        before.and_then(|before| self.log.entries.get(before)).map_or(0, |entry| entry.departed_ns)
    }

    /// The number of contradictions between single facts, and their description.
    pub(super) fn contradictions(&self, theory: Theory) -> (u64, String) {
        let sent = self.sent();
        let answered = sent.iter().filter(|one| one.first_byte_ns > 0);
        let out_of_order = answered.clone().filter(|one| {
            let times = [one.due_ns, one.ready_ns, one.sent_ns, one.first_byte_ns, one.done_ns];
            !times.is_sorted()
        });
        let log = &self.log.entries;
        let left = log.iter().filter(|entry| entry.departed_ns > 0);
        let early = left.clone().filter(|entry| entry.departed_ns < entry.computed_ns);
        // The log of a response in parts has the departure of its last.
        let read_ns = answered.map(|one| match theory {
            Theory::Parts { .. } => one.done_ns,
            _ => one.first_byte_ns,
        });
        let all = [
            ("requests have times in the wrong order", out_of_order.count()),
            (
                "arrived before they were sent",
                earlier(sent.iter().map(|one| one.sent_ns), log.iter().map(|e| e.arrival_ns)),
            ),
            (
                "were done before the response left",
                earlier(left.map(|entry| entry.departed_ns), read_ns),
            ),
            ("were due at another time than scheduled", self.not_as_scheduled()),
            ("came to another queue than scheduled", self.not_in_their_queue()),
            ("have another departure than computed from arrivals", self.not_as_theory(theory)),
            ("left before their time", early.count()),
        ];
        let told = all.iter().filter(|(_, count)| *count > 0);
        let told: Vec<String> = told.map(|(what, count)| format!("{count} {what}")).collect();
        (all.iter().map(|(_, count)| *count as u64).sum(), told.join(", "))
    }

    fn not_as_scheduled(&self) -> usize {
        if matches!(self.plan.load, Load::Closed { .. }) {
            return 0;
        }
        // Of users the first steps are scheduled.
        let is_scheduled = |one: &&Traced| self.plan.work.journeys().is_empty() || one.request == 0;
        let scheduled = self.traced.iter().filter(is_scheduled);
        let mut due: Vec<u64> = scheduled.map(|one| one.due_ns).collect();
        due.sort_unstable();
        differing(&due, &self.schedule())
    }

    /// The differences between the numbers of requests per queue in the log and in the schedule.
    fn not_in_their_queue(&self) -> usize {
        if matches!(self.plan.load, Load::Closed { .. }) || self.plan.work.has_users() {
            return 0;
        }
        let mut missing = vec![0i64; self.queues()];
        self.requests().take(self.sent().len()).for_each(|queue| missing[queue] += 1);
        for entry in &self.log.entries {
            match missing.get_mut(entry.queue as usize) {
                Some(queue) => *queue -= 1,
                None => missing.push(-1),
            }
        }
        missing.iter().filter(|missing| **missing > 0).sum::<i64>().unsigned_abs() as usize
    }

    /// Entries of the log that differ from theory for the log's own arrivals.
    fn not_as_theory(&self, theory: Theory) -> usize {
        let arrivals = self.log.entries.iter().map(|entry| entry.arrival_ns);
        let departures: Vec<Option<u64>> = match theory {
            Theory::Fifo { service_ns } => {
                let stalls = self.log.stalls_ns.iter().copied();
                let path = FifoPath::new(service_ns).with_stalls(stalls);
                let mut paths = vec![path; self.queues()];
                let queues = self.log.entries.iter().map(|entry| entry.queue as usize);
                let departure = |(queue, at)| {
                    paths.get_mut(queue).map(|path: &mut FifoPath| path.departure_ns(at))
                };
                queues.zip(arrivals).map(departure).collect()
            }
            Theory::Delay { service_ns } | Theory::Parts { whole_ns: service_ns } => {
                arrivals.map(|at| Some(at + service_ns)).collect()
            }
            Theory::Capped { service_ns, places } => {
                let mut path = LossPath::new(service_ns, places);
                arrivals.map(|at| path.departure_ns(at)).collect()
            }
        };
        let is = |entry: &Entry| (entry.fate != Fate::Refused).then_some(entry.computed_ns);
        self.log.entries.iter().zip(departures).filter(|(entry, path)| is(entry) != *path).count()
    }

    /// Measured response times, in the order of sending.
    pub(super) fn responses_ns(&self) -> Vec<f64> {
        self.sent().iter().map(|one| (one.done_ns - one.due_ns) as f64).collect()
    }

    /// The expected response times, in the order of sending, each by the schedule and by what the server's log has of
    /// the requests *before* it. `path` is a function of two arrivals, the expected and the actual one: it gives the
    /// departure for the expected one, and goes on with the actual one. So a pause that moved earlier requests is in the
    /// expectation of later ones, one that touches a request itself is not, and the loader's own record is in none.
    ///
    /// A request that finds every place taken leaves when the oldest response has come. The server's lateness with this
    /// request, from its log, is added.
    pub(super) fn expected_ns(&self, mut path: impl FnMut(u64, u64) -> u64) -> Vec<f64> {
        let log = &self.log.entries;
        let due = self.schedule();
        let expected = due.iter().zip(log).take(self.sent().len()).enumerate();
        let expected = expected.map(|(k, (&due_ns, entry))| {
            let late_ns = entry.departed_ns.saturating_sub(entry.computed_ns);
            let departure_ns = path(due_ns.max(self.free_ns(k)), entry.arrival_ns) + late_ns;
            (departure_ns - due_ns) as f64
        });
        expected.collect()
    }

    /// The effect of the machine's pauses on a figure of the response times that `path` gives for the whole schedule:
    /// with them it is another one by so much.
    pub(super) fn effect<P: FnMut(u64, u64) -> u64>(
        &self,
        path: impl Fn() -> P,
        figure: impl Fn(&[f64]) -> f64,
    ) -> f64 {
        let with = figure(&self.forecast_ns(self.machine(), path()));
        (with - figure(&self.forecast_ns(Machine::default(), path()))).abs()
    }

    /// The response times of the schedule by `path` alone, with these pauses.
    fn forecast_ns(&self, machine: Machine<'_>, mut path: impl FnMut(u64, u64) -> u64) -> Vec<f64> {
        let mut done_ns: Vec<u64> = Vec::with_capacity(self.sent().len());
        let due = self.schedule();
        for &due_ns in due.iter().take(self.sent().len()) {
            let place = self.places().and_then(|places| done_ns.len().checked_sub(places));
            let free_ns = place.map_or(0, |place| done_ns[place]);
            let arrival_ns = machine.arrival_ns(due_ns.max(free_ns));
            done_ns.push(machine.done_ns(path(arrival_ns, arrival_ns)));
        }
        done_ns.iter().zip(&due).map(|(done_ns, due_ns)| (done_ns - due_ns) as f64).collect()
    }

    /// From the departure that the server logged to the read of the response: network and loader
    /// overhead.
    pub(super) fn read_lag_ns(&self) -> Rest {
        let left = self.log.entries.iter().filter(|entry| entry.departed_ns > 0);
        let mut done: Vec<u64> = self.sent().iter().map(|one| one.done_ns).collect();
        let mut left: Vec<u64> = left.map(|entry| entry.departed_ns).collect();
        done.sort_unstable();
        left.sort_unstable();
        Rest::of(done.iter().zip(left).map(|(&done_ns, left_ns)| {
            (done_ns as f64 - left_ns as f64, self.machine().touched(left_ns, done_ns))
        }))
    }

    /// Lines of every check with single requests: against the computed times, and against the server's actual ones,
    /// without the requests that a pause touched.
    pub(super) fn single_requests(&self, path: impl FnMut(u64, u64) -> u64) -> Vec<Line> {
        // The rest is the loader's error and the path through the kernel.
        let (measured, expected) = (self.responses_ns(), self.expected_ns(path));
        let errors = measured.iter().zip(&expected).map(|(measured, expected)| measured - expected);
        let off = self.untouched(errors.map(f64::abs));
        let at_most = |what: &str, of: &Rest| {
            let measured = quantile(of.values(), 0.99);
            of.line(Line::at_most(format!("{what}, p99"), Unit::Ns, WITHIN_NS, measured))
        };
        vec![
            at_most("response time off its own path", &off),
            at_most("responses read after they left", &self.read_lag_ns()),
        ]
    }

    /// Service times of requests with the expected response, without what the server says it was late by.
    pub(super) fn punctual_service_ns(&self) -> Rest {
        let late =
            self.log.entries.iter().map(|one| one.departed_ns.saturating_sub(one.computed_ns));
        let all = self.sent().iter().zip(late).zip(self.touched());
        let ok = all.filter(|((one, _), _)| one.outcome == Outcome::Ok);
        Rest::of(ok.map(|((one, late_ns), touched)| {
            ((one.done_ns - one.sent_ns) as f64 - late_ns as f64, touched)
        }))
    }

    /// Service times of requests with the expected response.
    pub(super) fn service_ns(&self) -> Rest {
        let all = self.sent().iter().zip(self.touched());
        let ok = all.filter(|(one, _)| one.outcome == Outcome::Ok);
        Rest::of(ok.map(|(one, touched)| ((one.done_ns - one.sent_ns) as f64, touched)))
    }
}

/// A first-come-first-served queue, for [`Evidence::expected_ns`].
pub(super) fn queue(mut path: FifoPath) -> impl FnMut(u64, u64) -> u64 {
    move |expected_ns, actual_ns| {
        let departure_ns = path.next_departure_ns(expected_ns);
        path.departure_ns(actual_ns);
        departure_ns
    }
}

/// The arrivals of a plan with this seed; none in a closed load.
pub(super) fn schedule(plan: &Plan, seed: u64) -> impl Iterator<Item = Due> + use<> {
    let Load::Open(load) = &plan.load else { return None.into_iter().flatten() };
    let limit = Limit {
        end_ns: plan.stop.duration_ns,
        measured_count: plan.stop.count,
        ..Limit::default()
    };
    let alone = Share { worker: 0, workers: 1 };
    Some(Schedule::new(load, seed, alone, limit)).into_iter().flatten()
}

/// How many of the sorted `later` times are before those of `first` with the same rank.
fn earlier(first: impl Iterator<Item = u64>, later: impl Iterator<Item = u64>) -> usize {
    let (mut first, mut later): (Vec<u64>, Vec<u64>) = (first.collect(), later.collect());
    first.sort_unstable();
    later.sort_unstable();
    first.iter().zip(&later).filter(|(first, later)| later < first).count()
}

/// How many elements differ, with those that only one of two lists has.
fn differing(a: &[u64], b: &[u64]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a != b).count() + a.len().abs_diff(b.len())
}
