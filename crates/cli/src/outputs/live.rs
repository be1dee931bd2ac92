//! A run line by line, during the run: `ndjson`.

use std::collections::BTreeSet;
use std::io;

use candor_plan::{Place, Plan, describe};
use candor_record::Stretch;
use candor_report::document::live::Line;
use candor_report::document::{Severity, Verdict};
use candor_report::json;
use candor_report::{Document, Facts};

use super::following::Following;
use super::sink::{Drained, Sink};
use super::whole::cannot_write;
use super::{Making, Output};
use crate::console;
use crate::exit::UserError;

/// The most lines waiting to be written, some 6 KiB each.
const PIECES: usize = 256;

struct Live {
    place: Place,
    plan: Plan,
    facts: Facts,
    sink: Sink,
    /// Lines that were offered.
    offered: u64,
    so_far: Following,
    /// Findings that were already written.
    told: BTreeSet<(String, Option<u32>)>,
}

/// The lines of a run.
pub(super) fn make(to: &Making<'_>) -> Result<Box<dyn Output>, UserError> {
    let sink = match to.place {
        Place::Stdout => Sink::new(io::stdout(), PIECES)
            .map_err(|error| UserError::could_not_run(format!("cannot start a thread: {error}")))?,
        Place::File(path) => candor_files::create(path)
            .and_then(|file| Sink::new(file, PIECES))
            .map_err(|error| cannot_write(path, &error))?,
    };
    let mut live = Live {
        place: to.place.clone(),
        plan: to.plan.clone(),
        facts: to.facts.clone(),
        sink,
        offered: 0,
        so_far: Following::new(to.plan),
        told: BTreeSet::new(),
    };
    live.say(&Line::begin(to.facts, describe::load(to.plan)));
    Ok(Box::new(live))
}

impl Live {
    fn say(&mut self, line: &Line) {
        self.offered += 1;
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
        self.say(&Line::Interval {
            summary: Box::new(stretch.summary.clone()),
            machines: stretch.machines.to_vec(),
        });
        if let Some(record) = self.so_far.follow(stretch) {
            let document = Document::new(&self.facts, &self.plan, &record);
            // Notes wait for the end of the run. Before it, figures may also disagree with each
            // other, because some requests are in flight.
            let mut verdicts = document.verdicts;
            verdicts.retain(|one| one.severity == Severity::Warning);
            self.tell(stretch.summary.end_ns, &verdicts);
        }
    }

    fn end(mut self: Box<Self>, document: &Document) -> Result<(), UserError> {
        self.tell(document.time.elapsed_ns, &document.verdicts);
        let dropped = self.sink.dropped();
        let last = json::line(&Line::end(document, dropped));
        let Drained { written, error } = self.sink.end(last.into_bytes());
        // The reader has closed the pipe, which is not an error.
        if error.as_ref().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            return Ok(());
        }
        let place = match &self.place {
            Place::Stdout => "the standard output".to_owned(),
            Place::File(path) => path.display().to_string(),
        };
        match error {
            // The last line is missing too.
            Some(error) => Err(UserError::could_not_run(format!(
                "cannot write to {place}: {error}; it has the first {written} of {} lines",
                self.offered + 1
            ))),
            None if dropped > 0 => {
                console::say(format_args!(
                    "candor: {dropped} lines of {place} were dropped, because it was too slow"
                ));
                Ok(())
            }
            None => Ok(()),
        }
    }
}
