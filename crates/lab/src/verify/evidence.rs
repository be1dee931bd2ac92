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

/// The tolerance that 99 of 100 single requests must meet.
const WITHIN_NS: f64 = 1e6;
/// The largest share of the run in which the machine may stall the loader or the server.
const MOST_HELD_UP: f64 = 0.2;

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
    /// A response in parts: the last one leaves so long after the arrival, others before it.
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
        let picker = Picker::new(&self.plan.requests, self.plan.seed);
        schedule(&self.plan, self.plan.seed).map(move |due| picker.pick(due.index))
    }

    /// How many queues the server has.
    pub(super) fn queues(&self) -> usize {
        if self.plan.journeys.is_empty() { self.plan.requests.list.len() } else { 1 }
    }

    /// Three lines that must hold on any machine, however busy, and one on the server's own
    /// lateness, which the lines about time depend on.
    pub(super) fn books(&self, theory: Theory) -> Vec<Line> {
        let ledger = &self.record.total.ledger;
        let (contradictions, detail) = self.contradictions(theory);
        let answered = self.log.entries.iter().filter(|entry| entry.fate == Fate::Answered);
        let late = answered.map(|entry| {
            let excused_ns = past(&self.log.held_up_ns, entry.computed_ns);
            entry.departed_ns.saturating_sub(excused_ns) as f64
        });
        let late: Vec<f64> = late.collect();
        let balance = if ledger.balances() { ledger.scheduled } else { u64::MAX };
        vec![
            Line::exactly("requests in the loader's trace", balance, self.traced.len() as u64),
            Line::exactly(
                "requests in the server's log",
                ledger.sent,
                self.log.entries.len() as u64 + self.log.unlogged,
            ),
            Line::never("contradictions of schedule, trace, log", contradictions, detail),
            Line::at_most(
                "responses that left late, p99, by the server's log",
                Unit::Ns,
                WITHIN_NS,
                quantile(&late, 0.99),
            ),
        ]
    }

    /// The machine's pauses of the two processes.
    pub(super) fn machine(&self) -> Machine<'_> {
        Machine { loader: &self.record.machine().held_up, server: &self.log.held_up_ns }
    }

    /// Share of the run in which the machine paused the loader or the server.
    fn held_up(&self) -> f64 {
        let length_ns = |pauses: &[(u64, u64)]| pauses.iter().map(|(a, b)| b - a).sum::<u64>();
        let loader_ns = length_ns(&self.record.machine().held_up);
        // The server spins before the run and after it too.
        let within = |&&(from_ns, _): &&(u64, u64)| from_ns < self.record.elapsed_ns;
        let server: Vec<_> = self.log.held_up_ns.iter().filter(within).copied().collect();
        loader_ns.max(length_ns(&server)) as f64 / self.record.elapsed_ns.max(1) as f64
    }

    /// The number of contradictions between single facts, and their description.
    fn contradictions(&self, theory: Theory) -> (u64, String) {
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
        let is_scheduled = |one: &&Traced| self.plan.journeys.is_empty() || one.request == 0;
        let scheduled = self.traced.iter().filter(is_scheduled);
        let mut due: Vec<u64> = scheduled.map(|one| one.due_ns).collect();
        due.sort_unstable();
        differing(&due, &self.schedule())
    }

    /// The differences between the numbers of requests per queue in the log and in the schedule.
    fn not_in_their_queue(&self) -> usize {
        if matches!(self.plan.load, Load::Closed { .. }) || !self.plan.journeys.is_empty() {
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

    /// The server's lateness with each response, in the order of arrival.
    fn server_late_ns(&self) -> impl Iterator<Item = u64> {
        self.log.entries.iter().map(|entry| entry.departed_ns.saturating_sub(entry.computed_ns))
    }

    /// Measured response times, in the order of sending.
    pub(super) fn responses_ns(&self) -> Vec<f64> {
        self.sent().iter().map(|one| (one.done_ns - one.due_ns) as f64).collect()
    }

    /// The expected response times, in the order of sending: `path`, a function from arrivals to
    /// departures, applied to the due times of the schedule.
    ///
    /// A request that finds every place taken leaves when the oldest response has come, because
    /// responses come in the order of requests. (With several queues they do not, but then each
    /// request has a free connection, which is checked.) The machine's pauses ([`Machine`]) and the
    /// lateness in the server's log are included. The result does not depend on the loader's own
    /// record of a request.
    pub(super) fn expected_ns(&self, path: impl FnMut(u64) -> u64) -> Vec<f64> {
        self.expected_on(self.machine(), self.server_late_ns(), path)
    }

    /// The same without the machine's pauses.
    pub(super) fn undisturbed_ns(&self, path: impl FnMut(u64) -> u64) -> Vec<f64> {
        self.expected_on(Machine::default(), std::iter::repeat(0), path)
    }

    fn expected_on(
        &self,
        machine: Machine<'_>,
        late_ns: impl Iterator<Item = u64>,
        mut path: impl FnMut(u64) -> u64,
    ) -> Vec<f64> {
        let places = self.plan.connections.count as usize * self.plan.connections.places() as usize;
        let mut done_ns: Vec<u64> = Vec::with_capacity(self.sent().len());
        let due = self.schedule();
        for (&due_ns, late_ns) in due.iter().take(self.sent().len()).zip(late_ns) {
            let is_in_order = self.queues() == 1;
            let place = done_ns.len().checked_sub(places).filter(|_| is_in_order);
            let free_ns = place.map_or(0, |place| done_ns[place]);
            let arrival_ns = machine.arrival_ns(due_ns.max(free_ns));
            done_ns.push(machine.done_ns(path(arrival_ns) + late_ns));
        }
        done_ns.iter().zip(&due).map(|(done_ns, due_ns)| (done_ns - due_ns) as f64).collect()
    }

    /// From the departure that the server logged to the read of the response: network and loader
    /// overhead.
    pub(super) fn read_lag_ns(&self) -> Vec<f64> {
        let left = self.log.entries.iter().filter(|entry| entry.departed_ns > 0);
        let mut done: Vec<u64> = self.sent().iter().map(|one| one.done_ns).collect();
        let mut left: Vec<u64> = left.map(|entry| entry.departed_ns).collect();
        done.sort_unstable();
        left.sort_unstable();
        let seen = left.into_iter().map(|left| self.machine().done_ns(left));
        done.iter().zip(seen).map(|(&done, seen)| done as f64 - seen as f64).collect()
    }

    /// Two lines of every check with single requests: against the computed times, and against the
    /// server's actual ones.
    pub(super) fn single_requests(&self, path: impl FnMut(u64) -> u64) -> Vec<Line> {
        // The rest is the loader's error and the path through the kernel.
        let (measured, expected) = (self.responses_ns(), self.expected_ns(path));
        let errors = measured.iter().zip(&expected).map(|(measured, expected)| measured - expected);
        let sizes: Vec<f64> = errors.map(f64::abs).collect();
        let at_most = |what: &str, unit, limit, measured| {
            Line::at_most(format!("{what}, p99"), unit, limit, measured)
        };
        let off_ns = quantile(&sizes, 0.99);
        let read_ns = quantile(&self.read_lag_ns(), 0.99);
        let held_up = self.held_up();
        vec![
            at_most("response time off its own path", Unit::Ns, WITHIN_NS, off_ns),
            at_most("responses read after they left", Unit::Ns, WITHIN_NS, read_ns),
            Line::at_most("of the run, stalled by the machine", Unit::Share, MOST_HELD_UP, held_up),
        ]
    }

    /// Service times of requests with the expected response.
    pub(super) fn service_ns(&self) -> Vec<f64> {
        let ok = self.sent().iter().filter(|one| one.outcome == Outcome::Ok);
        ok.map(|one| (one.done_ns - one.sent_ns) as f64).collect()
    }
}

/// The machine's effect: the times in which it paused one of the two processes. The default is no
/// pauses.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Machine<'a> {
    loader: &'a [(u64, u64)],
    server: &'a [(u64, u64)],
}

impl Machine<'_> {
    /// When the server sees a request that is due to leave the loader at `at_ns`.
    pub(super) fn arrival_ns(self, at_ns: u64) -> u64 {
        past(self.server, past(self.loader, at_ns))
    }

    /// When the loader sees a response that is due to leave the server at `at_ns`.
    pub(super) fn done_ns(self, at_ns: u64) -> u64 {
        past(self.loader, past(self.server, at_ns))
    }
}

/// When a process with these pauses sees an event of `at_ns`.
fn past(held_up: &[(u64, u64)], at_ns: u64) -> u64 {
    let next = held_up.partition_point(|&(_, to_ns)| to_ns <= at_ns);
    match held_up.get(next) {
        Some(&(from_ns, to_ns)) if from_ns <= at_ns => to_ns,
        _ => at_ns,
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

/// The smallest value that a share `q` in [0, 1] of all does not exceed; NaN without values.
pub(super) fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (q * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

/// The mean; NaN without values.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
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
