//! The resources of a target during a run: its whole process tree every 100 ms, and its own figures
//! every second.
//!
//! Two threads sample, on cores other than the loader's where possible. They begin before the run
//! and end after it, with the time of each sample on the monotonic clock, and only then does
//! [`Sampler::finish`] cut out the measured window. The sampler also notices the end of a target,
//! and ends the run.
//!
//! Memory is bounded: a long run drops every second sample, repeatedly.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use candor_engine::Control;
use candor_plan::Secrets;
use candor_record::RunRecord;
use candor_report::document::target::{ResourceSample, Resources, StatsSample};
use rustix::time::{ClockId, clock_gettime};

use super::proc::{self, Figures};
use super::{Running, http};

/// Time from one sample to the next.
const EVERY_NS: u64 = 100_000_000;
/// The same for the target's own figures.
const STATS_EVERY_NS: u64 = 250_000_000;
/// The most samples kept during the run.
const MOST_LOOKS: usize = 4096;
/// The most samples in a document.
const MOST_SAMPLES: usize = 600;
/// If reading takes long, the members of the tree, their files and threads are read only in every
/// n-th sample.
const SELDOM: u64 = 10;
/// The CPU time from which reading takes long.
const LONG_NS: u64 = 2_000_000;
/// The time that a busy target has to return its own figures.
const STATS_PATIENCE: Duration = Duration::from_secs(2);
const NAP: Duration = Duration::from_millis(20);

/// Samples a target until it is told to stop.
pub struct Sampler {
    over: Arc<AtomicBool>,
    looks: Option<JoinHandle<Series<Figures>>>,
    stats: Option<JoinHandle<Series<serde_json::Value>>>,
    about: Resources,
}

impl Sampler {
    /// Begins to sample `target` from `cores`. If the target ends, it stops the run through
    /// `control`.
    pub fn start(
        target: &Running,
        cores: &[usize],
        control: &Arc<Control>,
        secrets: Secrets,
    ) -> Sampler {
        let over = Arc::new(AtomicBool::new(false));
        let looker = Looker {
            root: target.keeper.pid(),
            over: Arc::clone(&over),
            ended: Arc::clone(&target.ended),
            control: Arc::clone(control),
            cores: cores.to_vec(),
        };
        let stats = target.announced.stats.clone().map(|url| {
            let (over, cores) = (Arc::clone(&over), cores.to_vec());
            thread::Builder::new().spawn(move || ask(&url, &over, &cores)).ok()
        });
        let about = Resources {
            name: Some(target.name().to_owned()),
            command: secrets.command(target.command()),
            announced: target.announced().about.clone(),
            cores: target.cores().iter().map(|&core| core as u64).collect(),
            ..Resources::default()
        };
        // Without a thread there are no samples.
        let looks = thread::Builder::new().spawn(move || looker.look_on()).ok();
        Sampler { over, looks, stats: stats.flatten(), about }
    }

    /// Stops sampling, and returns the resources used in the measured window of `record`, and how
    /// the target ended if it did.
    pub fn finish(self, record: &RunRecord, target: &Running) -> Resources {
        self.over.store(true, Ordering::Relaxed);
        // A thread that panicked leaves no samples.
        let looks = self.looks.and_then(|thread| thread.join().ok());
        let looks = looks.map(|series| series.taken).unwrap_or_default();
        let stats = self.stats.and_then(|thread| thread.join().ok());
        let from_ns = record.machine().origin_monotonic_ns.saturating_add(record.warm_up_ns);
        let window = Window { from_ns, to_ns: from_ns.saturating_add(record.window_ns) };
        let ended = target.how_it_ended();
        let mut resources = Resources {
            log_tail: if ended.is_some() { target.log_tail() } else { Vec::new() },
            ended,
            stats: stats.map_or(Vec::new(), |series| window.stats(series.taken)),
            ..self.about
        };
        window.fill(&looks, rustix::param::clock_ticks_per_second(), &mut resources);
        resources.requests_per_cpu_s = resources
            .cpu_s
            .filter(|&cpu_s| cpu_s > 0.0)
            .map(|cpu_s| record.answered_in_window as f64 / cpu_s);
        resources
    }
}

/// Values with their times, thinned out if there are too many.
struct Series<T> {
    taken: Vec<(u64, T)>,
    every_ns: u64,
}

impl<T> Series<T> {
    fn new(every_ns: u64) -> Self {
        Series { taken: Vec::new(), every_ns }
    }

    fn push(&mut self, at_ns: u64, value: T) {
        if self.taken.len() >= MOST_LOOKS {
            let mut index = 0;
            self.taken.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every_ns *= 2;
        }
        self.taken.push((at_ns, value));
    }
}

struct Looker {
    root: u32,
    over: Arc<AtomicBool>,
    ended: Arc<std::sync::OnceLock<String>>,
    control: Arc<Control>,
    cores: Vec<usize>,
}

impl Looker {
    fn look_on(self) -> Series<Figures> {
        candor_engine::keep_to_cores(&self.cores);
        let page_bytes = rustix::param::page_size() as u64;
        let mut series = Series::new(EVERY_NS);
        let mut pids = Vec::new();
        let mut last = Figures::default();
        let mut lost_ticks = 0;
        let (mut round, mut thorough_ns) = (0u64, 0);
        let mut next_ns = now_ns();
        loop {
            let begun_ns = clock_ns(ClockId::ThreadCPUTime);
            // The last sample is taken after the end of the run, so it covers everything.
            let is_last = self.over.load(Ordering::Relaxed);
            let is_thorough = is_last || thorough_ns <= LONG_NS || round.is_multiple_of(SELDOM);
            if is_thorough {
                pids = proc::tree(self.root);
            }
            let mut figures = proc::quick(self.root, &pids, page_bytes);
            let at_ns = now_ns();
            if is_thorough {
                proc::thorough(&pids, &mut figures);
                thorough_ns = clock_ns(ClockId::ThreadCPUTime).saturating_sub(begun_ns);
            } else {
                figures.open_files = last.open_files;
                figures.voluntary_switches = last.voluntary_switches;
                figures.involuntary_switches = last.involuntary_switches;
            }
            // The kernel drops the CPU time of a process without a waiting parent when it ends.
            figures.cpu_ticks += lost_ticks;
            if figures.cpu_ticks < last.cpu_ticks {
                lost_ticks += last.cpu_ticks - figures.cpu_ticks;
                figures.cpu_ticks = last.cpu_ticks;
            }
            series.push(at_ns, figures);
            last = figures;
            round += 1;
            if self.ended.get().is_some() && !self.control.is_stopping() {
                self.control.stop();
            }
            if is_last {
                return series;
            }
            next_ns += series.every_ns;
            nap_until(next_ns, &self.over);
        }
    }
}

fn ask(url: &str, over: &AtomicBool, cores: &[usize]) -> Series<serde_json::Value> {
    candor_engine::keep_to_cores(cores);
    let mut series = Series::new(STATS_EVERY_NS);
    let mut next_ns = now_ns();
    loop {
        let answer = http::get(url, STATS_PATIENCE).ok().filter(|answer| answer.status == 200);
        if let Some(json) = answer.and_then(|answer| serde_json::from_slice(&answer.body).ok()) {
            series.push(now_ns(), json);
        }
        next_ns = (next_ns + series.every_ns).max(now_ns());
        if !nap_until(next_ns, over) {
            return series;
        }
    }
}

/// Sleeps until `at_ns`; returns whether to continue. Wakes often, so the end of a run does not
/// wait for it.
fn nap_until(at_ns: u64, over: &AtomicBool) -> bool {
    loop {
        if over.load(Ordering::Relaxed) {
            return false;
        }
        match at_ns.saturating_sub(now_ns()) {
            0 => return true,
            left_ns => thread::sleep(NAP.min(Duration::from_nanos(left_ns))),
        }
    }
}

/// The clock of the engine.
pub(super) fn now_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The measured window on the monotonic clock.
struct Window {
    from_ns: u64,
    to_ns: u64,
}

impl Window {
    /// Seconds since it began.
    fn at_s(&self, at_ns: u64) -> f64 {
        (at_ns as f64 - self.from_ns as f64) / 1e9
    }

    fn holds(&self, at_ns: u64) -> bool {
        (self.from_ns..=self.to_ns).contains(&at_ns)
    }

    fn stats(&self, taken: Vec<(u64, serde_json::Value)>) -> Vec<StatsSample> {
        let inside = taken.into_iter().filter(|(at_ns, _)| self.holds(*at_ns));
        inside.map(|(at_ns, json)| StatsSample { at_s: self.at_s(at_ns), json }).collect()
    }

    /// Enters the resources. Counters at the window's ends are interpolated between the samples
    /// around them.
    fn fill(&self, looks: &[(u64, Figures)], ticks_per_s: u64, resources: &mut Resources) {
        let (Some(begin), Some(end)) = (at(looks, self.from_ns), at(looks, self.to_ns)) else {
            return;
        };
        if end.at_ns <= begin.at_ns {
            return;
        }
        let cpu_s = |from: &Counters, to: &Counters| {
            (to.cpu_ticks - from.cpu_ticks).max(0.0) / ticks_per_s.max(1) as f64
        };
        let share =
            |from: &Counters, to: &Counters| cpu_s(from, to) * 1e9 / (to.at_ns - from.at_ns);
        let inside: Vec<_> = looks.iter().filter(|(at_ns, _)| self.holds(*at_ns)).collect();
        // Few enough that a document stays readable: each sample covers those since the one before.
        let step = inside.len().div_ceil(MOST_SAMPLES).max(1);
        let mut before = begin;
        for group in inside.chunks(step) {
            let Some(&&(at_ns, figures)) = group.last() else { continue };
            let now = Counters::of(at_ns, &figures);
            if now.at_ns <= before.at_ns {
                continue;
            }
            let since = |counter: u64, at_begin: f64| (counter as f64 - at_begin).max(0.0) as u64;
            resources.samples.push(ResourceSample {
                at_s: self.at_s(at_ns),
                cpu_share: share(&before, &now),
                rss_bytes: group.iter().map(|(_, one)| one.rss_bytes).max().unwrap_or(0),
                threads: figures.threads,
                open_files: figures.open_files,
                voluntary_switches: since(figures.voluntary_switches, begin.voluntary),
                involuntary_switches: since(figures.involuntary_switches, begin.involuntary),
                processes: figures.processes,
            });
            before = now;
        }
        resources.cpu_s = Some(cpu_s(&begin, &end));
        resources.cpu_share_mean = Some(share(&begin, &end));
        resources.cpu_share_max =
            resources.samples.iter().map(|one| one.cpu_share).max_by(f64::total_cmp);
        resources.rss_peak_bytes = resources.samples.iter().map(|one| one.rss_bytes).max();
    }
}

/// Counters at a moment between two samples.
#[derive(Debug, Clone, Copy)]
struct Counters {
    at_ns: f64,
    cpu_ticks: f64,
    voluntary: f64,
    involuntary: f64,
}

impl Counters {
    fn of(at_ns: u64, figures: &Figures) -> Self {
        Counters {
            at_ns: at_ns as f64,
            cpu_ticks: figures.cpu_ticks as f64,
            voluntary: figures.voluntary_switches as f64,
            involuntary: figures.involuntary_switches as f64,
        }
    }
}

/// The counters at `at_ns`, interpolated between the samples around it, or those of the nearest.
fn at(looks: &[(u64, Figures)], at_ns: u64) -> Option<Counters> {
    let after = looks.partition_point(|(look_ns, _)| *look_ns < at_ns);
    let of = |index: usize| looks.get(index).map(|(at_ns, figures)| Counters::of(*at_ns, figures));
    let (before, after) = (after.checked_sub(1).and_then(of), of(after));
    let (Some(before), Some(after)) = (before, after) else { return before.or(after) };
    let share = (at_ns as f64 - before.at_ns) / (after.at_ns - before.at_ns);
    let between = |from: f64, to: f64| from + (to - from) * share;
    Some(Counters {
        at_ns: at_ns as f64,
        cpu_ticks: between(before.cpu_ticks, after.cpu_ticks),
        voluntary: between(before.voluntary, after.voluntary),
        involuntary: between(before.involuntary, after.involuntary),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn look(at_ms: u64, cpu_ticks: u64, rss_bytes: u64) -> (u64, Figures) {
        let figures = Figures {
            cpu_ticks,
            rss_bytes,
            threads: 3,
            open_files: 9,
            voluntary_switches: at_ms,
            involuntary_switches: 7,
            processes: 1,
        };
        (at_ms * MS, figures)
    }

    #[test]
    fn only_the_window_counts() {
        // 100 ticks a second. Idle until 1000 ms, then half a core, then a whole one from 2000 ms.
        let ticks = |ms: u64| match ms {
            ..=1000 => 500,
            1001..=2000 => 500 + (ms - 1000) / 20,
            _ => 550 + (ms - 2000) / 10,
        };
        let looks: Vec<_> = (0..=40).map(|i| look(i * 100, ticks(i * 100), 1000 + i)).collect();
        let mut resources = Resources::default();
        let window = Window { from_ns: 1000 * MS, to_ns: 2000 * MS };
        window.fill(&looks, 100, &mut resources);
        assert_eq!(resources.cpu_s, Some(0.5));
        assert_eq!(resources.cpu_share_mean, Some(0.5));
        assert_eq!(resources.rss_peak_bytes, Some(1020));
        assert_eq!(resources.samples.len(), 10, "the first look is the beginning itself");
        let last = resources.samples.last().unwrap();
        assert_eq!((last.at_s, last.voluntary_switches, last.involuntary_switches), (1.0, 1000, 0));
        // Ends between samples.
        let mut resources = Resources::default();
        Window { from_ns: 1950 * MS, to_ns: 2050 * MS }.fill(&looks, 100, &mut resources);
        assert!((resources.cpu_s.unwrap() - 0.075).abs() < 1e-9, "{resources:?}");
    }

    #[test]
    fn nothing_seen_is_nothing_said() {
        let mut resources = Resources::default();
        Window { from_ns: 5, to_ns: 10 }.fill(&[], 100, &mut resources);
        assert_eq!(resources, Resources::default());
        Window { from_ns: 5, to_ns: 10 }.fill(&[look(1, 5, 5)], 100, &mut resources);
        assert_eq!(resources.cpu_s, None);
    }

    #[test]
    fn a_long_run_has_few_samples() {
        let looks: Vec<_> = (0..4000).map(|i| look(i * 100, i, 1)).collect();
        let mut resources = Resources::default();
        Window { from_ns: 0, to_ns: 400_000 * MS }.fill(&looks, 100, &mut resources);
        assert!(resources.samples.len() <= MOST_SAMPLES, "{}", resources.samples.len());
        assert!((resources.cpu_share_max.unwrap() - 0.1).abs() < 1e-9);
        let mut series = Series::new(1);
        (0..3 * MOST_LOOKS as u64).for_each(|i| series.push(i, ()));
        assert!(series.taken.len() <= MOST_LOOKS && series.every_ns == 16);
    }
}
