//! h2load's `--log-file`: a line for each request, with its start in microseconds since 1970, its
//! status or -1, and the microseconds until its end.
//!
//! Requests arrive as they end, from one worker at a time, and are written at once. If the disk
//! fails, the run continues, and the failure is reported at its end.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use candor_record::{Phase, Traced};
use rustix::time::{ClockId, clock_gettime};

use crate::exit::UserError;
use crate::getopt::Refusal;

const NS_PER_US: u64 = 1000;

/// A log being written.
pub(super) struct LogFile {
    path: PathBuf,
    file: BufWriter<File>,
    /// When the run began, in microseconds since 1970.
    origin_us: u64,
    failure: Option<io::Error>,
}

impl LogFile {
    /// Opens the file, before the run.
    pub(super) fn create(path: &Path) -> Result<Self, Refusal> {
        let file = candor_files::create(path).map_err(|error| {
            Refusal(format!("--log-file: Could not open file {}: {error}", path.display()))
        })?;
        Ok(LogFile {
            path: path.to_owned(),
            file: BufWriter::new(file),
            origin_us: 0,
            failure: None,
        })
    }

    /// The run has begun, at this time of the monotonic clock.
    pub(super) fn begins(&mut self, origin_monotonic_ns: u64) {
        let now = clock_gettime(ClockId::Monotonic);
        let now_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        let age_us = now_ns.saturating_sub(origin_monotonic_ns) / NS_PER_US;
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let unix_us = u64::try_from(unix.as_micros()).unwrap_or(u64::MAX);
        self.origin_us = unix_us.saturating_sub(age_us);
    }

    /// Requests have ended.
    pub(super) fn write(&mut self, requests: &[Traced]) {
        let logged = requests.iter().filter(|one| one.phase == Phase::Measured && one.was_sent());
        for one in logged {
            let start_us = self.origin_us + one.sent_ns / NS_PER_US;
            let took_us = one.done_ns.saturating_sub(one.sent_ns) / NS_PER_US;
            let status = if one.status == 0 { -1 } else { i32::from(one.status) };
            if self.failure.is_none() {
                self.failure = writeln!(self.file, "{start_us}\t{status}\t{took_us}").err();
            }
        }
    }

    /// The run is over; `dropped` requests were dropped because writing was too slow.
    pub(super) fn finish(mut self, dropped: u64) -> Result<(), UserError> {
        let written = self.failure.take().map_or_else(|| self.file.flush(), Err);
        let path = self.path.display();
        match written {
            Err(error) => Err(UserError::could_not_run(format!("cannot write {path}: {error}"))),
            Ok(()) if dropped > 0 => Err(UserError::could_not_run(format!(
                "{path} lacks {dropped} requests: they came faster than it can be written"
            ))),
            Ok(()) => Ok(()),
        }
    }
}
