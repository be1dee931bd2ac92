//! Progress without a live view: lines of text or objects, at sensible intervals.

use candor_plan::ProgressForm;
use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_per_second};
use candor_report::document::progress::{FORMAT, Line, Of};
use candor_report::json;

use super::state::{Course, Done, Run, Seen, State};
use super::view::clock;

/// The shortest time between two lines of a run.
const CLOSEST_NS: u64 = 1_000_000_000;
/// The longest time between two lines, if there are intervals.
const FURTHEST_NS: u64 = 10_000_000_000;
/// The approximate number of lines in a run.
const OF_A_RUN: u64 = 10;
/// An interval may end a little early, and may arrive a little late.
const TOLERANCE_NS: u64 = 50_000_000;
const LATE_NS: u64 = 500_000_000;
/// A shorter interval, e.g. the drain of a healthy run, has no meaningful rate.
const SHORTEST_NS: u64 = 50_000_000;
/// Intervals arrive at most so late, besides their own length: figures that are older say nothing about now.
const STALE_NS: u64 = 2_000_000_000;

/// Decides when lines are due.
#[derive(Debug)]
pub(super) struct Pace {
    /// The time of the last one, by the command's clock.
    told_ns: u64,
}

impl Pace {
    pub(super) fn new() -> Self {
        Pace { told_ns: 0 }
    }

    /// Whether a line is due now. Just after an interval it is due at once, otherwise it waits for one.
    pub(super) fn is_due(&mut self, state: &State, has_interval: bool) -> bool {
        let (_, total_ns) = state.lengths_ns();
        let distance_ns = match (total_ns, &state.steps) {
            (Some(total_ns), None) => (total_ns / OF_A_RUN).clamp(CLOSEST_NS, FURTHEST_NS),
            _ => FURTHEST_NS,
        };
        let since_ns = state.now.elapsed_ns.saturating_sub(self.told_ns);
        let is_due = match has_interval {
            true => since_ns + TOLERANCE_NS >= distance_ns,
            false => since_ns >= distance_ns + LATE_NS,
        };
        if is_due {
            self.told_ns = state.now.elapsed_ns;
        }
        is_due
    }

    /// Records that a line was printed.
    pub(super) fn told_at(&mut self, now_ns: u64) {
        self.told_ns = now_ns;
    }
}

/// Whether the last interval is long enough to report.
pub(super) fn is_telling(state: &State) -> bool {
    let last = state.run.as_ref().and_then(|run| run.last.as_ref());
    last.is_some_and(|last| last.length_ns() >= SHORTEST_NS)
}

/// A line about the progress of the command.
pub(super) fn progress(state: &State, form: ProgressForm) -> Option<String> {
    told(state, form, of(state), text(state))
}

/// A line about a finished step.
pub(super) fn done(state: &State, done: &Done, form: ProgressForm) -> Option<String> {
    let (number, of) = number(state);
    let Done { what, outcome, is_failure } = done.clone();
    let so_many = of.map_or(format!("[{number}]"), |of| format!("[{number}/{of}]"));
    let (_, left) = times(state);
    let failed = if is_failure { "failed: " } else { "" };
    let text = format!("{so_many} {what}: {failed}{outcome}{left}");
    told(state, form, Of::Done { what, outcome, failed: is_failure, number, of }, text)
}

fn told(state: &State, form: ProgressForm, of: Of, text: String) -> Option<String> {
    let (elapsed_ns, total_ns) = state.lengths_ns();
    match form {
        ProgressForm::Off => None,
        ProgressForm::Line => Some(format!("candor: {text}\n")),
        ProgressForm::Json => {
            Some(json::line(&Line { format: FORMAT.to_owned(), elapsed_ns, total_ns, of }))
        }
    }
}

/// The number of the current or last step, and the number of all steps.
fn number(state: &State) -> (u64, Option<u64>) {
    let Some(steps) = &state.steps else { return (0, None) };
    let (number, of) = steps.number();
    (number.max(1), of)
}

/// Elapsed and total time; time left.
fn times(state: &State) -> (String, String) {
    let (elapsed_ns, total_ns) = state.lengths_ns();
    let most = state.most();
    let of = total_ns.map_or(String::new(), |total_ns| format!(" of {most}{}", clock(total_ns)));
    let left_ns = total_ns.map(|total_ns| total_ns.saturating_sub(elapsed_ns));
    let left_ns = left_ns.filter(|left_ns| *left_ns >= 100_000_000);
    let left = left_ns.map_or(String::new(), |left_ns| format!(" ({most}{} left)", clock(left_ns)));
    (format!("{}{of}", clock(elapsed_ns)), left)
}

/// The last interval, unless it is so old that others should have come since.
fn last(state: &State) -> Option<(&Run, &Seen)> {
    let run = state.run.as_ref()?;
    let last = run.last.as_ref()?;
    let since_ns = state.now.course.elapsed_ns().saturating_sub(last.summary.end_ns);
    (since_ns <= STALE_NS + 2 * last.length_ns()).then_some((run, last))
}

fn of(state: &State) -> Of {
    let step = state.steps.as_ref().and_then(|steps| steps.present.as_ref());
    let step = step.map(|(what, _)| what.clone());
    match (last(state), step) {
        (Some((run, last)), step) => Of::Run {
            step,
            rate_per_s: last.rate_per_s(),
            events_per_s: last.feed_per_s(),
            asked_per_s: last.asked_per_s().filter(|_| run.head.is_open),
            p50_ns: last.summary.response.p50_ns,
            p99_ns: last.summary.response.p99_ns,
            max_ns: last.summary.response.max_ns,
            connections: last.summary.connections,
            backlog: last.summary.backlog,
            ok: run.ok,
            errors: run.errors,
            shed: run.shed,
        },
        (None, Some(what)) => {
            let (number, of) = number(state);
            Of::Step { what, number, of }
        }
        (None, None) => Of::Waiting {},
    }
}

fn text(state: &State) -> String {
    let (elapsed, left) = times(state);
    let latency = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), fmt_duration_ns);
    let mut text = match &of(state) {
        Of::Run { events_per_s: Some(per_s), connections, .. } => format!(
            "{elapsed}: {} events, {} connections",
            fmt_per_second(*per_s),
            fmt_count(*connections),
        ),
        Of::Run { rate_per_s, asked_per_s, p50_ns, p99_ns, max_ns, connections, .. } => {
            let asked =
                asked_per_s.map_or(String::new(), |asked| format!(" of {}", fmt_per_second(asked)));
            format!(
                "{elapsed}: {}{asked}, p50 {}, p99 {}, max {}, {} connections",
                fmt_per_second(rate_per_s.unwrap_or(0.0)),
                latency(*p50_ns),
                latency(*p99_ns),
                latency(*max_ns),
                fmt_count(*connections),
            )
        }
        Of::Step { what, number, of } => {
            let of = of.map_or(String::new(), |of| format!(" of {of}"));
            return format!("{elapsed}: step {number}{of}: {what}{left}");
        }
        Of::Done { .. } | Of::Waiting {} => {
            let warm_up_ns = state.run.as_ref().map_or(0, |run| run.head.warm_up_ns);
            let phase = match state.now.course {
                Course::None | Course::Connecting => "connecting",
                Course::Sending { elapsed_ns } if elapsed_ns < warm_up_ns => "warm-up",
                Course::Draining { .. } => "draining",
                _ if state.run.as_ref().is_some_and(|run| run.last.is_some()) => "no new figures",
                _ => "no interval yet",
            };
            return format!("{elapsed}: {phase}");
        }
    };
    if let Of::Run { backlog, shed, errors, step, .. } = of(state) {
        for (count, name) in [(backlog, "backlog"), (shed, "shed"), (errors, "errors")] {
            if count > 0 {
                text += &format!(", {name} {}", fmt_count(count));
            }
        }
        if let Some(step) = step {
            text += &format!(" ({step})");
        }
    }
    text
}
