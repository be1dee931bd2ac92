//! The totals of a run so far, and the families of metrics that are made of them: the one table of names, units and kinds,
//! from which every receiver's are derived. Adding an interval allocates nothing but buckets that were empty before.

use std::collections::BTreeMap;

use candor_record::{Histogram, Interval};
use candor_report::document::{Judgement, Outcome};
use rustix::time::{ClockId, clock_gettime};

use super::outcomes;

pub(super) const SECONDS: &str = "s";
const REQUESTS: &str = "{request}";
const CONNECTIONS: &str = "{connection}";
const ATTEMPTS: &str = "{attempt}";
const CONDITION: &str = "";

const US: u64 = 1000;
const MS: u64 = 1000 * US;
const S: u64 = 1000 * MS;

/// The upper edges of the classic buckets of histograms, in nanoseconds.
const EDGES: [u64; 18] = [
    100 * US,
    250 * US,
    500 * US,
    MS,
    2500 * US,
    5 * MS,
    10 * MS,
    25 * MS,
    50 * MS,
    100 * MS,
    250 * MS,
    500 * MS,
    S,
    2500 * MS,
    5 * S,
    10 * S,
    30 * S,
    60 * S,
];

/// The sum of the intervals so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Totals {
    scheduled: u64,
    sent: u64,
    outcomes: Vec<(&'static str, u64)>,
    connect_errors: u64,
    response: Times,
    service: Times,
    send_lag: Times,
    backlog: u64,
    in_flight: u64,
    connections: u64,
    /// Known at the end.
    objectives: Vec<(String, Outcome)>,
    is_final: bool,
}

/// Times, counted in buckets.
#[derive(Debug, Clone, Default)]
pub(super) struct Times {
    classic: [u64; EDGES.len()],
    /// By index: bucket i has the times in (b^(i−1), b^i] seconds, b = 2^(2^−SCHEMA).
    native: BTreeMap<i32, u64>,
    zero: u64,
    count: u64,
    sum_ns: u128,
}

impl Times {
    /// The width of native buckets: 16 for each doubling, so 4.4 %.
    pub(super) const SCHEMA: i32 = 4;
    /// Times up to this one, in seconds, are in the native bucket of zero.
    pub(super) const ZERO_S: f64 = 1e-9;

    fn add(&mut self, histogram: &Histogram) {
        for (highest_ns, count) in histogram.places() {
            let place = EDGES.partition_point(|edge| *edge < highest_ns);
            if let Some(bucket) = self.classic.get_mut(place) {
                *bucket += count;
            }
            let index = (seconds(highest_ns).log2() * f64::from(1 << Times::SCHEMA)).ceil();
            match highest_ns {
                0 | 1 => self.zero += count,
                _ => *self.native.entry(index as i32).or_default() += count,
            }
        }
        self.count += histogram.count();
        self.sum_ns += histogram.sum_ns();
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn sum_s(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }

    /// The classic buckets but the last one: their upper edges in seconds, and the times up to there.
    pub(super) fn classic(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let below = self.classic.iter().scan(0, |below, count| {
            *below += count;
            Some(*below)
        });
        EDGES.iter().map(|edge| seconds(*edge)).zip(below)
    }

    /// The native buckets that are not empty, ascending, by index, and that of zero.
    pub(super) fn native(&self) -> (&BTreeMap<i32, u64>, u64) {
        (&self.native, self.zero)
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Metrics of one name.
pub(super) struct Family<'a> {
    /// Words between dots, without unit and kind.
    pub(super) what: &'static str,
    /// By UCUM, <https://ucum.org/ucum>; empty if it is a condition.
    pub(super) unit: &'static str,
    pub(super) about: &'static str,
    pub(super) metrics: Metrics<'a>,
}

impl Family<'_> {
    /// Before all names.
    pub(super) const PREFIX: &'static str = "candor";

    /// The name that Prometheus wants: with a unit, and with an end if it is a counter.
    pub(super) fn name(&self) -> String {
        let unit = if self.unit == SECONDS { "_seconds" } else { "" };
        let total = if matches!(self.metrics, Metrics::Counters(_)) { "_total" } else { "" };
        format!("{}_{}{unit}{total}", Self::PREFIX, self.what.replace('.', "_"))
    }

    /// The name of its kind.
    pub(super) fn kind(&self) -> &'static str {
        match self.metrics {
            Metrics::Counters(_) => "counter",
            Metrics::Gauges(_) => "gauge",
            Metrics::Histogram(_) => "histogram",
        }
    }

    /// Its series of single values: those of a histogram are its classic buckets, its sum and its count.
    pub(super) fn series(&self, mut each: impl FnMut(&str, &[(&str, &str)], f64)) {
        let name = self.name();
        match &self.metrics {
            Metrics::Counters(all) | Metrics::Gauges(all) => {
                all.iter().for_each(|(labels, value)| each(&name, labels, *value));
            }
            Metrics::Histogram(times) => {
                let bucket = format!("{name}_bucket");
                let count = times.count() as f64;
                for (edge_s, below) in times.classic() {
                    each(&bucket, &[("le", &edge_s.to_string())], below as f64);
                }
                each(&bucket, &[("le", "+Inf")], count);
                each(&format!("{name}_sum"), &[], times.sum_s());
                each(&format!("{name}_count"), &[], count);
            }
        }
    }
}

/// The metrics of a family, each with its labels besides those of all metrics.
pub(super) enum Metrics<'a> {
    Counters(Vec<(Labels<'a>, f64)>),
    Gauges(Vec<(Labels<'a>, f64)>),
    Histogram(&'a Times),
}

/// Names and values.
pub(super) type Labels<'a> = Vec<(&'static str, &'a str)>;

impl Totals {
    /// The totals of a run that is over, with intervals that came too late to be shown.
    pub(super) fn whole(total: &Interval) -> Self {
        let mut whole = Totals::default();
        whole.add(total);
        whole
    }

    pub(super) fn add(&mut self, interval: &Interval) {
        let ledger = &interval.ledger;
        self.scheduled += ledger.scheduled;
        self.sent += ledger.sent;
        if self.outcomes.is_empty() {
            self.outcomes = outcomes(ledger).map(|(name, _)| (name, 0)).collect();
        }
        self.outcomes.iter_mut().zip(outcomes(ledger)).for_each(|(sum, (_, one))| sum.1 += one);
        self.connect_errors += interval.connections.failed.total();
        self.response.add(&interval.latencies.response);
        self.service.add(&interval.latencies.service);
        self.send_lag.add(&interval.latencies.send_lag);
        self.backlog = interval.backlog;
        self.in_flight = interval.in_flight;
        self.connections = interval.connections.established;
    }

    /// Nothing is added any more.
    pub(super) fn end(&mut self, objectives: &[Judgement]) {
        let outcome = |one: &Judgement| (one.expression.clone(), one.outcome);
        self.objectives = objectives.iter().map(outcome).collect();
        self.is_final = true;
    }

    /// Nothing waits, is open or under way any more.
    pub(super) fn leave(&mut self) {
        (self.backlog, self.in_flight, self.connections) = (0, 0, 0);
    }

    /// Whether these are the totals of the whole run.
    pub(super) fn are_final(&self) -> bool {
        self.is_final
    }

    /// All metrics. Numbers beyond 2^53 would be rounded, as in every client of Prometheus.
    pub(super) fn families(&self) -> Vec<Family<'_>> {
        use Metrics::{Counters, Gauges, Histogram};
        let one = |value: u64| vec![(Vec::new(), value as f64)];
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let cpu_s = cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9;
        let outcomes = self.outcomes.iter().map(|(name, n)| (vec![("outcome", *name)], *n as f64));
        let all = [Outcome::Met, Outcome::NotMet, Outcome::CannotTell];
        let objectives = self.objectives.iter().flat_map(|(objective, outcome)| {
            all.map(|one| {
                let labels = vec![("objective", objective.as_str()), ("outcome", one.word())];
                (labels, f64::from(u8::from(one == *outcome)))
            })
        });
        let families = [
            (
                "requests.scheduled",
                REQUESTS,
                "Requests that the load asked for",
                Counters(one(self.scheduled)),
            ),
            ("requests.sent", REQUESTS, "Requests sent", Counters(one(self.sent))),
            (
                "requests",
                REQUESTS,
                "Requests by outcome: ok, an error, or not sent",
                Counters(outcomes.collect()),
            ),
            (
                "connect_errors",
                ATTEMPTS,
                "Attempts to connect that failed",
                Counters(one(self.connect_errors)),
            ),
            (
                "loader_cpu",
                SECONDS,
                "CPU time of the loader's process",
                Counters(vec![(Vec::new(), cpu_s)]),
            ),
            ("backlog", REQUESTS, "Requests due and not sent", Gauges(one(self.backlog))),
            (
                "in_flight",
                REQUESTS,
                "Requests sent and without an outcome",
                Gauges(one(self.in_flight)),
            ),
            ("connections", CONNECTIONS, "Connections established", Gauges(one(self.connections))),
            (
                "run_over",
                CONDITION,
                "1 when the run is over and all values are final",
                Gauges(one(self.is_final.into())),
            ),
            (
                "response",
                SECONDS,
                "From due to done, of expected responses",
                Histogram(&self.response),
            ),
            (
                "service",
                SECONDS,
                "From sent to done, of expected responses",
                Histogram(&self.service),
            ),
            (
                "send_lag",
                SECONDS,
                "From ready to sent: the loader's lateness",
                Histogram(&self.send_lag),
            ),
            (
                "objective",
                CONDITION,
                "1 for the outcome of each objective",
                Gauges(objectives.collect()),
            ),
        ];
        let has_any = |family: &Family<'_>| match &family.metrics {
            Counters(all) | Gauges(all) => !all.is_empty(),
            Histogram(_) => true,
        };
        let families =
            families.map(|(what, unit, about, metrics)| Family { what, unit, about, metrics });
        families.into_iter().filter(has_any).collect()
    }
}

#[cfg(test)]
impl Totals {
    /// Totals of these response times alone.
    pub(super) fn of(ns: &[u64]) -> Self {
        let mut histogram = Histogram::new(3);
        ns.iter().for_each(|one| histogram.record(*one));
        let mut totals = Totals::default();
        totals.response.add(&histogram);
        totals
    }
}
