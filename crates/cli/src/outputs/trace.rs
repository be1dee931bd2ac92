//! The file of a trace, written during the run.
//!
//! It is a [`Draft`]: it grows as `FILE.RANDOM.partial` and gets its own name when the trace is
//! complete. So a file under its final name is never truncated, and after a crash the partial one
//! can be read up to its last block. A device or a pipe is written to directly. If the disk fails
//! or is too slow, the run continues, and the missing records are counted as dropped.

use std::io;
use std::path::PathBuf;

use candor_files::Draft;
use candor_plan::Place;
use candor_record::trace::format::{End, Head, put_end, put_head, put_requests};
use candor_record::{RunRecord, Traced};
use candor_report::Document;

use super::sink::{Drained, Sink};
use super::whole::cannot_write;
use super::{Making, Output};
use crate::exit::UserError;

/// The most blocks waiting to be written: a few MiB.
const PIECES: usize = 64;

/// A trace being written.
struct Trace {
    path: PathBuf,
    draft: Draft,
    sink: Option<Sink>,
    /// Requests that were offered.
    offered: u64,
    /// Requests that were written.
    written: u64,
    /// Why it is incomplete.
    failure: Option<io::Error>,
}

/// The trace of a run.
pub(super) fn make(to: &Making<'_>) -> Result<Box<dyn Output>, UserError> {
    let Place::File(path) = to.place else {
        return Err(UserError::usage(
            "a trace is not text, and cannot go to the standard output; write --trace FILE",
        ));
    };
    let begin = || -> io::Result<(Draft, Sink)> {
        let mut draft = Draft::create(path)?;
        let sink = Sink::new(draft.file().try_clone()?, PIECES)?;
        draft.outlive();
        Ok((draft, sink))
    };
    let (draft, mut sink) = begin().map_err(|error| cannot_write(path, &error))?;
    let names = to.plan.work.requests().iter().map(|request| request.name.clone()).collect();
    let rule = to.plan.recording.trace.map_or(String::new(), |rule| rule.to_string());
    let mut head = Vec::new();
    put_head(&mut head, &Head { seed: to.plan.seed, rule, names });
    sink.offer(head, 0);
    Ok(Box::new(Trace {
        path: path.clone(),
        draft,
        sink: Some(sink),
        offered: 0,
        written: 0,
        failure: None,
    }))
}

impl Output for Trace {
    fn traced(&mut self, requests: &[Traced]) {
        let Some(sink) = &mut self.sink else { return };
        let mut block = Vec::new();
        put_requests(&mut block, requests);
        self.offered += requests.len() as u64;
        sink.offer(block, requests.len() as u64);
    }

    /// Ends the trace, and corrects the record by the number of dropped entries.
    fn settle(&mut self, record: &mut RunRecord) {
        let Some(sink) = self.sink.take() else { return };
        let mut lose = |lost: u64| {
            let counts = &mut record.trace;
            counts.traced = counts.traced.saturating_sub(lost);
            counts.not_traced += lost;
            counts.dropped += lost;
            *counts
        };
        let taken = self.offered - sink.dropped();
        let counts = lose(sink.dropped());
        let mut end = Vec::new();
        let origin_monotonic_ns = record.machines[0].origin_monotonic_ns;
        put_end(&mut end, &End { origin_monotonic_ns, counts });
        let Drained { written, error } = sink.end(end);
        (self.written, self.failure) = (written, error);
        lose(taken - written);
    }

    fn end(mut self: Box<Self>, _: &Document) -> Result<(), UserError> {
        let Some(error) = self.failure.take().or_else(|| self.draft.finish().err()) else {
            return Ok(());
        };
        Err(UserError::could_not_run(format!(
            "cannot write {}: {error}; {} has the trace's first {} requests",
            self.path.display(),
            self.draft.path().display(),
            self.written
        )))
    }

    fn discard(self: Box<Self>) {
        self.draft.discard();
    }
}
