//! Results that were kept over time: a line for each, and what became of their figures.
//!
//! Figures are compared between results of one plan and one machine only: [`Trend`]s are made of these. Directories and
//! files are the affair of crate lab.

use std::collections::BTreeMap;

use candor_plan::redact::{FNV_START, fnv};
use candor_plan::units::fmt_plural;
use candor_stats::change::{self, changes};
use serde::{Deserialize, Serialize};

use super::figures::Figures;
use super::trial::{Subject, Trial};
use crate::document::{Document, Host};

/// One result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When the run began, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// The same by RFC 3339.
    pub started_at: String,
    /// Its target.
    pub subject: Subject,
    /// Identifies its plan: results with the same one asked for the same.
    pub plan: String,
    /// Identifies the loader's machines.
    pub machine: String,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// Its figures; the name is that of the file.
    pub trial: Trial,
}

/// A figure that has a trend.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Whether more of it is better.
    pub more_is_better: bool,
    pick: fn(&Figures) -> Option<f64>,
}

/// What a figure is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A second.
    PerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// A share of one.
    Share,
}

const NS: Unit = Unit::Nanoseconds;

/// All of them, in the order in which they are shown.
pub const KINDS: [Kind; 8] = [
    Kind::new("rate", Unit::PerSecond, true, |one| one.rate_per_s),
    Kind::new("failed", Unit::Share, false, |one| one.failed_share),
    Kind::new("response-p50", NS, false, |one| one.response.p50_ns.map(|ns| ns as f64)),
    Kind::new("response-p99", NS, false, |one| one.response.p99_ns.map(|ns| ns as f64)),
    Kind::new("response-p99.9", NS, false, |one| one.response.p999_ns.map(|ns| ns as f64)),
    Kind::new("service-p50", NS, false, |one| one.service.p50_ns.map(|ns| ns as f64)),
    Kind::new("service-p99", NS, false, |one| one.service.p99_ns.map(|ns| ns as f64)),
    Kind::new("target-cpu", NS, false, |one| one.target_cpu_us.map(|us| us * 1e3)),
];

impl Kind {
    const fn new(
        name: &'static str,
        unit: Unit,
        more_is_better: bool,
        pick: fn(&Figures) -> Option<f64>,
    ) -> Self {
        Kind { name, unit, more_is_better, pick }
    }

    /// This figure of a result.
    pub fn of(&self, entry: &Entry) -> Option<f64> {
        (self.pick)(&entry.trial.figures)
    }
}

impl Entry {
    /// The line of a result in this file.
    pub fn of(file: &str, document: &Document) -> Self {
        Entry {
            started_unix_ms: document.started_unix_ms,
            started_at: document.started_at.clone(),
            subject: Subject::of(document),
            plan: plan(document),
            machine: machine(document.machines.iter().map(|one| &one.host)),
            tags: document.tags.clone(),
            trial: Trial::of(file.to_owned(), document),
        }
    }

    /// The name of its file.
    pub fn file(&self) -> &str {
        &self.trial.name
    }

    /// Whether its figures can be held against others: the run is whole, and something worked.
    pub fn is_usable(&self) -> bool {
        let figures = &self.trial.figures;
        !figures.unusable && !figures.nothing_worked() && !figures.is_profiled()
    }
}

/// What identifies a plan: all of it but the seed and the addresses that names had.
fn plan(document: &Document) -> String {
    let mut parts = document.plan.clone();
    parts.seed = 0;
    for target in std::iter::once(&mut parts.target).chain(&mut parts.others) {
        target.resolved.clear();
    }
    hash(&serde_json::to_vec(&parts).unwrap_or_default())
}

/// What identifies machines: what their figures depend on, of each of them.
fn machine<'a>(hosts: impl Iterator<Item = &'a Host>) -> String {
    let one = |host: &Host| {
        format!("{:?}", (&host.cpu, host.cores, &host.virtualisation, &host.governor, gib(host)))
    };
    hash(hosts.map(one).collect::<Vec<_>>().join("\n").as_bytes())
}

/// The same in words.
pub fn machine_in_words<'a>(hosts: impl Iterator<Item = &'a Host>) -> String {
    let one = |host: &Host| {
        let parts = [
            host.cpu.clone(),
            host.cores.map(|cores| fmt_plural(cores.into(), "core")),
            gib(host).map(|gib| format!("{gib} GiB")),
            host.virtualisation.clone(),
            host.governor.as_ref().map(|governor| format!("governor {governor}")),
        ];
        match parts.into_iter().flatten().collect::<Vec<_>>() {
            none if none.is_empty() => "unknown".to_owned(),
            parts => parts.join(", "),
        }
    };
    hosts.map(one).collect::<Vec<_>>().join(" + ")
}

/// The kernel keeps some of the memory for itself.
fn gib(host: &Host) -> Option<f64> {
    host.memory_bytes.map(|bytes| (bytes as f64 / f64::from(1 << 30)).round())
}

fn hash(bytes: &[u8]) -> String {
    format!("{:08x}", fnv(FNV_START, bytes) >> 32)
}

/// Results of one plan on one machine, in the order of time.
#[derive(Debug)]
pub struct Trend<'a> {
    /// At least one.
    pub entries: Vec<&'a Entry>,
    /// The figures that they have.
    pub lines: Vec<Line>,
}

/// A figure over time.
#[derive(Debug)]
pub struct Line {
    /// Which.
    pub kind: Kind,
    /// The entries that have it and can be compared, and their values.
    pub values: Vec<(usize, f64)>,
    /// Where its level changed.
    pub changes: Vec<Step>,
}

/// A change of a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The first entry of the new level.
    pub entry: usize,
    /// The change as a share of the level before; of a share, the difference.
    pub change: f64,
    /// The p of it.
    pub p: f64,
}

/// The share of figures without a change in which one is found, each time that one looks.
pub const FALSE_ALARMS: f64 = change::LEVEL;

/// Fewer results have no change.
pub const FEWEST: usize = 2 * change::LEAST;

/// The trends of these results, those with the latest result first.
pub fn trends(entries: &[Entry]) -> Vec<Trend<'_>> {
    let mut groups: BTreeMap<(&str, &str), Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        groups.entry((&entry.plan, &entry.machine)).or_default().push(entry);
    }
    let mut all: Vec<Trend<'_>> = groups.into_values().map(Trend::of).collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.entries.last().map(|last| last.started_unix_ms)));
    all
}

impl<'a> Trend<'a> {
    fn of(mut entries: Vec<&'a Entry>) -> Self {
        entries.sort_by_key(|one| (one.started_unix_ms, one.file()));
        let lines = KINDS.into_iter().map(|kind| Line::of(kind, &entries));
        let lines = lines.filter(|line| !line.values.is_empty()).collect();
        Trend { entries, lines }
    }
}

impl Line {
    fn of(kind: Kind, entries: &[&Entry]) -> Self {
        let value = |(at, one): (usize, &&Entry)| Some((at, kind.of(one)?));
        let usable = entries.iter().enumerate().filter(|(_, one)| one.is_usable());
        let values: Vec<(usize, f64)> = usable.filter_map(value).collect();
        // The logarithms of two levels differ by their ratio.
        let is_ratio = kind.unit != Unit::Share && values.iter().all(|(_, value)| *value > 0.0);
        let level = |value: f64| if is_ratio { value.ln() } else { value };
        let series: Vec<f64> = values.iter().map(|(_, value)| level(*value)).collect();
        let step = |one: &change::Change| Step {
            entry: values[one.at].0,
            change: if is_ratio { one.shift.exp_m1() } else { one.shift },
            p: one.p,
        };
        let changes = changes(&series, 1).iter().map(step).collect();
        Line { kind, values, changes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn entries(count: u32, rate: impl Fn(u32) -> f64) -> Vec<Entry> {
        let document = testing::healthy_closed();
        let one = |n: u32| {
            let mut entry = Entry::of(&format!("{n}.json"), &document);
            entry.started_unix_ms += u64::from(n);
            entry.trial.figures.rate_per_s = Some(rate(n));
            entry
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn only_the_figure_that_changed_has_a_change() {
        // 1 % more or less, in turn, and 10 % less from the twentieth on.
        let rate = |n| f64::from(100 + n % 3) * if n < 20 { 10.0 } else { 9.0 };
        let mut all = entries(40, rate);
        all[30].trial.figures.unusable = true;
        all[30].trial.figures.rate_per_s = Some(1.0);
        let found = trends(&all);
        let [trend] = &found[..] else { panic!("{} trends", found.len()) };
        assert_eq!(trend.entries.len(), 40);
        for line in &trend.lines {
            let places: Vec<usize> = line.changes.iter().map(|one| one.entry).collect();
            let expected: &[usize] = if line.kind.name == "rate" { &[20] } else { &[] };
            assert_eq!(places, expected, "{}", line.kind.name);
            assert_eq!(line.values.len(), 39, "{}", line.kind.name);
        }
        let change = trend.lines[0].changes[0].change;
        assert!((change + 0.1).abs() < 0.005, "{change}");
    }

    #[test]
    fn results_of_other_plans_and_machines_are_apart() {
        let document = testing::healthy_closed();
        let same = Entry::of("a", &document);
        let mut other = document.clone();
        other.plan.seed += 1;
        assert_eq!(Entry::of("a", &other).plan, same.plan, "the seed says nothing of the load");
        other.plan.connections.count += 1;
        assert_ne!(Entry::of("a", &other).plan, same.plan);
        other.machines[0].host.cpu = Some("Another CPU".to_owned());
        assert_ne!(Entry::of("a", &other).machine, same.machine);
        let mut all = vec![same, Entry::of("b", &other)];
        all[1].started_unix_ms += 1;
        let found = trends(&all);
        let latest_first: Vec<&str> = found.iter().map(|one| one.entries[0].file()).collect();
        assert_eq!(latest_first, ["b", "a"]);
    }
}
