//! A run line by line while it goes on: `ndjson`.

use std::collections::BTreeSet;
use std::io;

use candor_engine::collecting;
use candor_plan::{Place, Plan, describe};
use candor_record::{Collector, Stretch};
use candor_report::document::live::Line;
use candor_report::render::json;
use candor_report::verdicts::{Severity, Verdict};
use candor_report::{Document, Facts};

use super::sink::{Drained, Sink};
use super::whole::cannot_write;
use super::{Making, Output};
use crate::console;
use crate::exit::Failure;

/// Lines that wait to be written, at most: some 6 KiB each.
const PIECES: usize = 256;
/// What has happened so far is judged once in a second of the run.
const JUDGE_EVERY_NS: u64 = 1_000_000_000;
/// And where there are many intervals less often: each takes so long of a look at them.
const JUDGE_EVERY_NS_EACH: u64 = 1_000_000;

struct Live {
    place: Place,
    plan: Plan,
    facts: Facts,
    sink: Sink,
    window_end_ns: u64,
    /// All that has happened so far.
    so_far: Collector,
    intervals: u64,
    judged_ns: u64,
    /// Findings that were told.
    told: BTreeSet<(String, Option<u32>)>,
}

/// The lines of a run.
pub(super) fn make(to: &Making<'_>) -> Result<Box<dyn Output>, Failure> {
    let sink = match to.place {
        Place::Stdout => Sink::new(io::stdout(), PIECES)
            .map_err(|error| Failure::could_not_run(format!("cannot start a thread: {error}")))?,
        Place::File(path) => candor_files::create(path)
            .and_then(|file| Sink::new(file, PIECES))
            .map_err(|error| cannot_write(path, &error))?,
    };
    let mut live = Live {
        place: to.place.clone(),
        plan: to.plan.clone(),
        facts: to.facts.clone(),
        sink,
        window_end_ns: match to.plan.stop.duration_ns {
            Some(length_ns) => to.plan.recording.warm_up_ns.saturating_add(length_ns),
            None => u64::MAX,
        },
        so_far: Collector::new(collecting(to.plan)),
        intervals: 0,
        judged_ns: 0,
        told: BTreeSet::new(),
    };
    live.say(&Line::begin(to.facts, describe::load(to.plan)));
    Ok(Box::new(live))
}

impl Live {
    fn say(&mut self, line: &Line) {
        self.sink.offer(json::line(line).into_bytes(), 1);
    }

    fn tell(&mut self, at_ns: u64, verdicts: &[Verdict]) {
        for verdict in verdicts {
            if self.told.insert((verdict.id.clone(), verdict.machine)) {
                self.say(&Line::Verdict { at_ns, verdict: verdict.clone() });
            }
        }
    }
}

impl Output for Live {
    fn stretch(&mut self, stretch: &Stretch<'_>) {
        let end_ns = stretch.summary.end_ns;
        self.say(&Line::Interval(Box::new(stretch.summary.clone())));
        self.so_far.follow(stretch, self.window_end_ns);
        self.intervals += 1;
        let every_ns = JUDGE_EVERY_NS.max(self.intervals * JUDGE_EVERY_NS_EACH);
        if end_ns >= self.judged_ns.saturating_add(every_ns) {
            self.judged_ns = end_ns;
            let document = Document::new(&self.facts, &self.plan, &self.so_far.so_far());
            // What is only worth knowing waits until it is known of the whole run.
            let mut verdicts = document.verdicts;
            verdicts.retain(|one| one.severity >= Severity::Warning);
            self.tell(end_ns, &verdicts);
        }
    }

    fn end(mut self: Box<Self>, document: &Document) -> Result<(), Failure> {
        self.tell(document.time.elapsed_ns, &document.verdicts);
        let dropped = self.sink.dropped();
        let last = json::line(&Line::end(document, dropped));
        let Drained { error, .. } = self.sink.end(last.into_bytes());
        // Who reads has seen enough, and misses nothing.
        if error.as_ref().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            return Ok(());
        }
        let place = match &self.place {
            Place::Stdout => "the standard output".to_owned(),
            Place::File(path) => path.display().to_string(),
        };
        if dropped > 0 {
            console::say(format_args!(
                "candor: {dropped} lines of {place} were dropped, because it did not take them in time"
            ));
        }
        match error {
            Some(error) => {
                Err(Failure::could_not_run(format!("cannot write to {place} to the end: {error}")))
            }
            None => Ok(()),
        }
    }
}
