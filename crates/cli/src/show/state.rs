//! The state of a command's work, from which the view and the lines of progress are made.
//!
//! [`Event`]s update it. It is bounded: the number of points of a run and of lines of an experiment
//! does not grow with their length. It reads no clock and prints nothing; texts from outside are
//! made visible on entry.

use std::collections::VecDeque;

use candor_lab::Ahead;
use candor_plan::units::fmt_plural;
use candor_plan::{Plan, Secrets, describe};
use candor_record::{Encoded, IntervalSummary, OfMachine, RunRecord, Stretch};
use candor_report::document::Severity;
use candor_report::{Document, Facts};
use candor_report::{shorten, visible};

/// The most points of a strip; beyond it, pairs of points are joined.
const MOST_POINTS: usize = 1200;
/// The most finished steps to keep.
const MOST_DONE: usize = 500;
/// The most characters of a text from outside.
const MOST_TEXT: usize = 400;
/// Buckets of the spectrum for each decade.
pub(crate) const PER_DECADE: usize = 20;
/// The spectrum begins at 100 ns and ends at 1000 s.
pub(crate) const FIRST_DECADE: usize = 2;
const LAST_DECADE: usize = 12;

/// An event of the command.
#[derive(Debug)]
pub(crate) enum Event {
    /// A run of a plan begins.
    Run(Box<Head>),
    /// An interval of it is over.
    Interval(Box<Seen>),
    /// The run so far.
    SoFar(Box<SoFar>),
    /// A step of an experiment begins.
    Begins { what: String, ahead: Ahead, left_ns: Option<u64> },
    /// A step is over, with its outcome in half a sentence.
    Done { what: String, outcome: String, is_failure: bool },
    /// A remark.
    Note(String),
}

/// A run in words, and its lengths.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Head {
    pub(crate) title: String,
    pub(crate) warm_up_ns: u64,
    pub(crate) duration_ns: Option<u64>,
    pub(crate) count: Option<u64>,
    /// Asked for, and at most.
    pub(crate) connections: (u64, u64),
    pub(crate) is_open: bool,
}

/// An interval, with figures that its summary lacks.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) summary: IntervalSummary,
    /// Requests due in it.
    pub(crate) scheduled: u64,
    /// Each machine of a fleet.
    pub(crate) machines: Vec<OfMachine>,
}

/// The whole run so far.
#[derive(Debug, Clone)]
pub(crate) struct SoFar {
    pub(crate) document: Document,
    /// Response times by their logarithm: the first bucket begins at [`FIRST_DECADE`].
    pub(crate) spectrum: Vec<u64>,
}

/// A column of the strips.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) length_ns: u64,
    pub(crate) answered: u64,
    /// The highest p99 of its intervals.
    pub(crate) p99_ns: Option<u64>,
    pub(crate) backlog: u64,
}

/// A run in progress.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    pub(crate) head: Head,
    pub(crate) last: Option<Seen>,
    pub(crate) points: Vec<Point>,
    /// The shortest length of a point.
    point_ns: u64,
    pub(crate) ok: u64,
    pub(crate) errors: u64,
    pub(crate) shed: u64,
    pub(crate) sent: u64,
    pub(crate) so_far: Option<Box<SoFar>>,
}

/// A finished step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) what: String,
    pub(crate) outcome: String,
    pub(crate) is_failure: bool,
}

/// An experiment in progress.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Steps {
    /// The last finished steps.
    pub(crate) done: VecDeque<Done>,
    pub(crate) done_count: u64,
    /// The current step, and when it began.
    pub(crate) present: Option<(String, u64)>,
    pub(crate) ahead: Ahead,
    /// The estimated, or the most, time of the remaining steps, when the current one began.
    left_ns: Option<u64>,
}

/// The phase of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Course {
    /// There is no run.
    #[default]
    None,
    Connecting,
    Sending {
        elapsed_ns: u64,
    },
    Draining {
        elapsed_ns: u64,
    },
}

/// The figures of the clocks and of the machine at the moment of a picture.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Now {
    /// Since the command began.
    pub(crate) elapsed_ns: u64,
    pub(crate) course: Course,
    /// Whether the run was told to end.
    pub(crate) is_ending: bool,
    /// The CPU share of the busiest thread of this process, in [0, 1].
    pub(crate) busiest: Option<f64>,
    pub(crate) worst_hiccup_ns: u64,
}

/// The state of a command.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    /// The description of the command.
    pub(crate) title: String,
    pub(crate) now: Now,
    pub(crate) run: Option<Run>,
    pub(crate) steps: Option<Steps>,
    /// The last notes.
    pub(crate) notes: VecDeque<String>,
    pub(crate) is_frozen: bool,
    pub(crate) explains: bool,
}

impl Head {
    pub(crate) fn of(plan: &Plan) -> Self {
        let first = plan.work.requests().first();
        let method = first.map_or("GET", |request| request.method.as_str());
        let (asked, most) = plan.connections_in_all();
        let connections = fmt_plural(u64::from(asked), "connection");
        let url = Secrets::Hidden.url(&plan.target.url);
        let what = match plan.work.count() {
            0 | 1 => format!("{method} {url}"),
            count => format!("{} to {url}", fmt_plural(count as u64, "request")),
        };
        let load = describe::in_short(&describe::load(plan));
        let title = format!("{what} · {load} · {connections}");
        Head {
            title: clean(&title),
            warm_up_ns: plan.recording.warm_up_ns,
            duration_ns: plan.stop.duration_ns,
            count: plan.stop.count,
            connections: (asked.into(), most.into()),
            is_open: plan.load.is_open(),
        }
    }

    /// Its whole length, warm-up included, if it is limited.
    pub(crate) fn total_ns(&self) -> Option<u64> {
        Some(self.duration_ns?.saturating_add(self.warm_up_ns))
    }
}

impl Seen {
    pub(crate) fn of(stretch: &Stretch<'_>) -> Self {
        // The histogram is not shown, but is most of the size.
        let response_hdr = Encoded::default();
        let IntervalSummary { response, service, send_lag, .. } = *stretch.summary;
        Seen {
            summary: IntervalSummary {
                response_hdr,
                response,
                service,
                send_lag,
                missing: stretch.summary.missing.clone(),
                ..*stretch.summary
            },
            scheduled: stretch.interval.ledger.scheduled,
            machines: stretch.machines.to_vec(),
        }
    }

    pub(crate) fn length_ns(&self) -> u64 {
        self.summary.end_ns.saturating_sub(self.summary.start_ns)
    }

    /// Complete responses per second.
    pub(crate) fn rate_per_s(&self) -> Option<f64> {
        per_s(self.summary.answered, self.length_ns())
    }

    /// Parts of responses per second, where no response ended: of a feed.
    pub(crate) fn feed_per_s(&self) -> Option<f64> {
        let is_feed = self.summary.answered == 0 && self.summary.parts > 0;
        per_s(self.summary.parts, self.length_ns()).filter(|_| is_feed)
    }

    /// Complete responses per second of a machine.
    pub(crate) fn rate_of(&self, machine: &OfMachine) -> Option<f64> {
        per_s(machine.answered, self.length_ns())
    }

    /// Requests due per second.
    pub(crate) fn asked_per_s(&self) -> Option<f64> {
        per_s(self.scheduled, self.length_ns())
    }
}

fn per_s(count: u64, ns: u64) -> Option<f64> {
    (ns > 0).then(|| count as f64 * 1e9 / ns as f64)
}

impl SoFar {
    pub(crate) fn of(facts: &Facts, plan: &Plan, mut record: RunRecord) -> Self {
        // Requests in the backlog are due, and come into the ledger when they leave it.
        let ledger = &mut record.total.ledger;
        if ledger.unsent == 0 {
            ledger.unsent = record.intervals.last().map_or(0, |last| last.backlog);
            ledger.scheduled = ledger.scheduled.saturating_add(ledger.unsent);
        }
        let document = Document::new(facts, plan, &record);
        let response = &record.total.latencies.response;
        let mut spectrum = vec![0u64; (LAST_DECADE - FIRST_DECADE) * PER_DECADE];
        for step in response.hdr().iter_recorded() {
            let decades = (step.value_iterated_to().max(1) as f64).log10() - FIRST_DECADE as f64;
            let bucket = (decades.max(0.0) * PER_DECADE as f64) as usize;
            let bucket = &mut spectrum[bucket.min((LAST_DECADE - FIRST_DECADE) * PER_DECADE - 1)];
            *bucket = bucket.saturating_add(step.count_since_last_iteration());
        }
        SoFar { document, spectrum }
    }
}

impl Run {
    fn see(&mut self, mut seen: Seen) {
        let one = &seen.summary;
        // The ledger has a request when it leaves the backlog, and the backlog of the end twice.
        let before = self.last.as_ref().map_or(0, |last| last.summary.backlog);
        let left = seen.scheduled.saturating_sub(one.unsent);
        seen.scheduled = left.saturating_add(one.backlog).saturating_sub(before);
        self.ok += one.ok;
        self.errors += one.errors;
        self.shed += one.shed;
        self.sent += one.sent;
        let point = Point {
            length_ns: seen.length_ns(),
            answered: one.answered,
            p99_ns: one.response.p99_ns.or(one.response.max_ns),
            backlog: one.backlog,
        };
        let is_open = |last: &&mut Point| last.length_ns < self.point_ns.max(950_000_000);
        match self.points.last_mut().filter(is_open) {
            Some(last) => *last = last.and(&point),
            None => self.points.push(point),
        }
        if self.points.len() > MOST_POINTS {
            self.points = self.points.chunks(2).map(Point::of).collect();
            self.point_ns = self.points.iter().map(|one| one.length_ns).max().unwrap_or(0);
        }
        self.last = Some(seen);
    }

    /// The finished share, in [0, 1], if it is known.
    pub(crate) fn share(&self, elapsed_ns: u64) -> Option<f64> {
        let of = |part: f64, whole: u64| (whole > 0).then(|| (part / whole as f64).min(1.0));
        let by_time = self.head.total_ns().and_then(|total_ns| of(elapsed_ns as f64, total_ns));
        let done = self.ok + self.errors + self.shed;
        let by_count = self.head.count.and_then(|count| of(done as f64, count));
        // The limit that is reached first.
        match (by_time, by_count) {
            (Some(time), Some(count)) => Some(time.max(count)),
            (time, count) => time.or(count),
        }
    }

    /// How long it will still send, if that is known.
    pub(crate) fn left_ns(&self, elapsed_ns: u64) -> Option<u64> {
        let share = self.share(elapsed_ns)?;
        if let Some(total_ns) = self.head.total_ns()
            && self.head.count.is_none()
        {
            return Some(total_ns.saturating_sub(elapsed_ns));
        }
        (share > 0.0).then(|| (elapsed_ns as f64 * (1.0 - share) / share) as u64)
    }
}

impl Point {
    fn and(&self, later: &Point) -> Point {
        Point {
            length_ns: self.length_ns.saturating_add(later.length_ns),
            answered: self.answered.saturating_add(later.answered),
            p99_ns: self.p99_ns.max(later.p99_ns),
            backlog: self.backlog.max(later.backlog),
        }
    }

    /// Joins consecutive points.
    pub(crate) fn of(points: &[Point]) -> Point {
        points.iter().fold(Point::default(), |sum, one| sum.and(one))
    }

    pub(crate) fn rate_per_s(&self) -> f64 {
        per_s(self.answered, self.length_ns).unwrap_or(0.0)
    }
}

impl Steps {
    /// The time of the remaining steps, including the current one, if that is known.
    pub(crate) fn left_ns(&self, now_ns: u64) -> Option<u64> {
        let since_ns = self.present.as_ref().map_or(0, |(_, at_ns)| now_ns.saturating_sub(*at_ns));
        if let Some(left_ns) = self.left_ns {
            return Some(left_ns.saturating_sub(since_ns));
        }
        let steps = self.ahead.steps?;
        let each_ns = now_ns.saturating_sub(since_ns).checked_div(self.done_count)?;
        let steps = steps.saturating_add(self.present.is_some().into());
        Some(each_ns.saturating_mul(steps).saturating_sub(since_ns))
    }

    /// Whether the time that is left is the most that it can be, and not an estimate.
    pub(crate) fn is_bounded(&self) -> bool {
        self.ahead.most_ns.is_some()
    }

    /// The number of the step, and the number of all steps, if known.
    pub(crate) fn number(&self) -> (u64, Option<u64>) {
        let number = self.done_count + u64::from(self.present.is_some());
        (number, self.ahead.steps.map(|steps| number.saturating_add(steps)))
    }
}

impl State {
    /// The state of a command that has not begun.
    pub(crate) fn of(title: &str) -> Self {
        State { title: clean(title), ..State::default() }
    }

    pub(crate) fn apply(&mut self, event: Event) {
        match event {
            Event::Run(head) => {
                if self.steps.is_none() {
                    self.title.clone_from(&head.title);
                }
                self.run = Some(Run { head: *head, ..Run::default() });
            }
            Event::Interval(seen) => self.run.get_or_insert_default().see(*seen),
            Event::SoFar(so_far) => self.run.get_or_insert_default().so_far = Some(so_far),
            Event::Begins { what, ahead, left_ns } => {
                let steps = self.steps.get_or_insert_default();
                steps.present = Some((clean(&what), self.now.elapsed_ns));
                let next = ahead.next.iter().take(MOST_DONE).map(|name| clean(name)).collect();
                steps.ahead = Ahead { next, ..ahead };
                steps.left_ns = left_ns;
                self.run = None;
            }
            Event::Done { what, outcome, is_failure } => {
                let steps = self.steps.get_or_insert_default();
                let done = Done { what: clean(&what), outcome: in_line(&outcome), is_failure };
                steps.done.push_back(done);
                steps.done_count += 1;
                steps.left_ns = steps.left_ns.and(steps.left_ns(self.now.elapsed_ns));
                if steps.done.len() > MOST_DONE {
                    steps.done.pop_front();
                }
                steps.present = None;
                self.run = None;
            }
            Event::Note(note) => {
                self.notes.push_back(clean(&note));
                if self.notes.len() > 3 {
                    self.notes.pop_front();
                }
            }
        }
    }

    /// Elapsed time of the run or experiment, and its whole length.
    pub(crate) fn lengths_ns(&self) -> (u64, Option<u64>) {
        let now = &self.now;
        if let Some(steps) = &self.steps {
            let left_ns = steps.left_ns(now.elapsed_ns);
            return (now.elapsed_ns, left_ns.map(|left_ns| now.elapsed_ns.saturating_add(left_ns)));
        }
        let elapsed_ns = now.course.elapsed_ns();
        (elapsed_ns, self.run.as_ref().and_then(|run| run.head.total_ns()))
    }

    /// What stands before a time that an experiment will not exceed, and may not need.
    pub(crate) fn most(&self) -> &'static str {
        if self.steps.as_ref().is_some_and(Steps::is_bounded) { "at most " } else { "" }
    }

    /// Findings. Notes wait for the report, and so do contradictions, which need the figures of the
    /// whole run because some requests are in flight.
    pub(crate) fn findings(&self) -> Vec<&candor_report::document::Verdict> {
        let so_far = self.run.as_ref().and_then(|run| run.so_far.as_ref());
        let all = so_far.into_iter().flat_map(|so_far| &so_far.document.verdicts);
        all.filter(|one| one.severity == Severity::Warning).collect()
    }
}

impl Course {
    /// Since the run began to send.
    pub(crate) fn elapsed_ns(self) -> u64 {
        match self {
            Course::None | Course::Connecting => 0,
            Course::Sending { elapsed_ns } | Course::Draining { elapsed_ns } => elapsed_ns,
        }
    }
}

/// A text with further lines, such as the last ones of a server's output, in one.
fn in_line(text: &str) -> String {
    clean(&text.replace("\n  ", " "))
}

/// A text from outside, made safe and short.
fn clean(text: &str) -> String {
    shorten(&visible(text), MOST_TEXT)
}
