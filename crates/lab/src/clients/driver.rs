//! A driver as a process: started under a keeper on the loader's cores, asked line by line with a
//! deadline, its CPU time read from outside, and ended with everything that it started.
//!
//! [`super::protocol`] gives lines their meaning. Drivers are untrusted: one may crash, print
//! anything, or print nothing at all.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use candor_files::private;
use candor_report::{shorten, visible};

use crate::error::LabError;
use crate::interrupt::Interrupt;
use crate::target::keeper::{Keeper, Said, Start, exit_status};
use crate::target::log::Log;
use crate::target::proc;

/// Time between two checks for an interrupt.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Time that a driver has to end in order after its input has ended.
const PATIENCE_AT_END: Duration = Duration::from_secs(3);
/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(500);
/// Time after a driver's end in which its last output can still arrive.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// The longest part of a line in a message.
const SHOWN_CHARACTERS: usize = 120;
/// The exit code of a driver whose library is not installed.
const NOT_INSTALLED: i32 = 2;

/// How to start a driver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec<'a> {
    /// Program and arguments.
    pub(crate) command: &'a [String],
    /// Environment on top of ours.
    pub(crate) env: &'a [(String, String)],
    /// The cores it may use.
    pub(crate) cores: &'a [usize],
    /// The file for its standard error; `None`: a temporary one.
    pub(crate) log: Option<&'a Path>,
}

/// Why a driver gave no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The program does not exist, or it reports that its library is not installed.
    Missing(String),
    /// The experiment was interrupted.
    Interrupted,
    /// Anything else, in a sentence.
    Broken(String),
}

/// A running driver. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Driver {
    keeper: Keeper,
    log: Log,
    ended: Option<String>,
    is_over: bool,
}

impl Driver {
    /// Starts the driver. Only its first reply shows that it works.
    pub(crate) fn start(spec: &Spec<'_>) -> Result<Driver, Trouble> {
        let no_temporary = |error| Trouble::Broken(LabError::no_temporary(error).to_string());
        let log = Log::open(spec.log).map_err(|error| Trouble::Broken(error.to_string()))?;
        let started = Keeper::start(Start {
            program: &[],
            on_word: false,
            log: log.path(),
            command: spec.command,
            dir: None,
            env: spec.env,
            cores: spec.cores,
            lines: true,
            private: private().map_err(no_temporary)?,
        });
        let keeper = started.map_err(Trouble::Broken)?;
        match keeper.said.recv() {
            Ok(Said::Started(_)) => Ok(Driver { keeper, log, ended: None, is_over: false }),
            Ok(Said::Failed(why)) => {
                log.forget();
                Err(Trouble::Missing(why))
            }
            Ok(_) | Err(_) => Err(Trouble::Broken("its keeper ended without a message".to_owned())),
        }
    }

    /// Sends a line and waits for the next line of output.
    pub(crate) fn ask(
        &mut self,
        line: &str,
        patience: Duration,
        interrupt: &Interrupt,
    ) -> Result<String, Trouble> {
        self.keeper.tell(line);
        let begun = Instant::now();
        let mut until = begun + patience;
        loop {
            if interrupt.is_asked() {
                return Err(Trouble::Interrupted);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.silent(patience));
            }
            match self.keeper.said.recv_timeout(left.min(LOOK_AGAIN)) {
                Ok(Said::Line(line)) => return Ok(line),
                Ok(Said::Ended(how)) => {
                    self.ended = Some(how);
                    until = until.min(Instant::now() + LAST_WORDS);
                }
                // It may have closed its output but still run; then there is no further reply.
                Ok(Said::Quiet) if self.ended.is_some() => return Err(self.silent(patience)),
                Ok(Said::Quiet) => until = until.min(Instant::now() + PATIENCE_AT_END),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let why = "its keeper was killed by another program".to_owned();
                    return Err(Trouble::Broken(why));
                }
            }
        }
    }

    /// Why no line came.
    fn silent(&self, patience: Duration) -> Trouble {
        match &self.ended {
            Some(how) if exit_status(how) == Some(NOT_INSTALLED) => {
                let tail = self.log.tail().join(" ");
                let said: Vec<&str> = tail.split_whitespace().collect();
                Trouble::Missing(match said.is_empty() {
                    true => "its driver ended with exit status 2 and no message".to_owned(),
                    false => said.join(" "),
                })
            }
            Some(how) => self.broken(&format!("the driver ended {how}")),
            None => self.broken(&format!("the driver did not reply within {patience:.1?}")),
        }
    }

    /// A sentence about the fault, with the last line that the driver wrote to standard error.
    pub(crate) fn broken(&self, what: &str) -> Trouble {
        Trouble::Broken(match self.log.tail().as_slice() {
            [] => format!("{what} with nothing on its standard error"),
            lines => {
                format!("{what}; the last lines of its standard error:\n  {}", lines.join("\n  "))
            }
        })
    }

    /// CPU time in seconds of all the driver's processes since their start, including those that
    /// have ended.
    pub(crate) fn cpu_s(&self) -> f64 {
        let root = self.keeper.pid();
        let page_bytes = rustix::param::page_size() as u64;
        let figures = proc::quick(root, &proc::tree(root), page_bytes);
        figures.cpu_ticks as f64 / rustix::param::clock_ticks_per_second().max(1) as f64
    }

    /// Ends its input, and gives it time to end in order.
    pub(crate) fn end(mut self) {
        self.keeper.close();
        let until = Instant::now() + PATIENCE_AT_END;
        while self.ended.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            match self.keeper.said.recv_timeout(left) {
                Ok(Said::Ended(how)) => self.ended = Some(how),
                Ok(_) => {}
                Err(_) => break,
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        self.is_over = true;
        // Drops the receiver, so that further output of the driver fills no memory.
        let (_, nobody) = channel();
        self.keeper.said = nobody;
        self.keeper.stop(GRACE);
        self.log.forget();
    }
}

/// A line, escaped and shortened for a message.
pub(crate) fn shown(line: &str) -> String {
    shorten(&visible(line), SHOWN_CHARACTERS)
}
