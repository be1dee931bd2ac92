//! The file of a trace, written while the run goes on.
//!
//! It is a [`Draft`]: it grows as `FILE.RANDOM.partial` and gets its own name when the trace is
//! whole. So a file under its final name is never cut off, and after a crash the partial one can
//! be read up to its last block. What is a device or a pipe is written to as it is. When the disk
//! fails, the run goes on: the rest of the trace is counted as dropped, and the beginning kept.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use candor_engine::Observer;
use candor_files::Draft;
use candor_plan::Plan;
use candor_record::trace::format::{End, Head, put_end, put_head, put_requests};
use candor_record::{RunRecord, Traced};

use crate::exit::Failure;

/// A trace on its way to its file.
pub(crate) struct TraceFile {
    path: PathBuf,
    draft: Draft,
    buffer: Vec<u8>,
    written: u64,
    dropped: u64,
    failure: Option<io::Error>,
}

impl TraceFile {
    /// Begins the trace of a run of `plan`.
    pub(crate) fn create(path: &Path, plan: &Plan) -> Result<Self, Failure> {
        let mut draft = Draft::create(path).map_err(|error| {
            let path = path.display();
            Failure::usage(format!(
                "cannot write {path}: {error}; nothing was run, choose another path"
            ))
        })?;
        draft.outlive();
        let mut trace = TraceFile {
            path: path.to_owned(),
            draft,
            buffer: Vec::new(),
            written: 0,
            dropped: 0,
            failure: None,
        };
        let names = plan.requests.list.iter().map(|request| request.name.clone()).collect();
        let rule = plan.recording.trace.map_or(String::new(), |rule| rule.to_string());
        put_head(&mut trace.buffer, &Head { seed: plan.seed, rule, names });
        trace.write();
        Ok(trace)
    }

    /// Ends the trace, and corrects the record by what the disk did not take.
    pub(crate) fn finish(mut self, record: &mut RunRecord) -> Result<(), Failure> {
        let counts = &mut record.trace;
        counts.traced -= self.dropped;
        counts.not_traced += self.dropped;
        counts.dropped += self.dropped;
        let end =
            End { origin_monotonic_ns: record.machine().origin_monotonic_ns, counts: record.trace };
        put_end(&mut self.buffer, &end);
        self.write();
        let whole = match self.failure.take() {
            Some(error) => Err(error),
            None => self.draft.finish(),
        };
        whole.map_err(|error| {
            let kept = self.draft.path().display();
            Failure::could_not_run(format!(
                "cannot write {}: {error}; {kept} has the trace's first {} requests",
                self.path.display(),
                self.written
            ))
        })
    }

    /// There was no run.
    pub(crate) fn discard(self) {
        self.draft.discard();
    }

    /// Writes the buffer; returns whether it is written.
    fn write(&mut self) -> bool {
        if self.failure.is_none() {
            self.failure = self.draft.file().write_all(&self.buffer).err();
        }
        self.buffer.clear();
        self.failure.is_none()
    }
}

impl Observer for TraceFile {
    fn traced(&mut self, requests: &[Traced]) {
        put_requests(&mut self.buffer, requests);
        let count = requests.len() as u64;
        match self.write() {
            true => self.written += count,
            false => self.dropped += count,
        }
    }
}
