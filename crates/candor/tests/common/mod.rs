//! Runs the `candor` binary as a user does, and reads its outputs.
//!
//! It treats the program as a black box: arguments go in; an exit code, two texts and the result
//! document come out. Every document is checked against the shipped schema, and every ledger must
//! balance.
#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

mod document;
mod target;

use std::fs::{self, File};
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use candor_testkit::process::Managed;
use rustix::process::Signal;
use tempfile::TempDir;

pub(crate) use document::{Document, assert_valid};
pub(crate) use target::Target;

/// Far longer than any run of these tests, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The head of the next request on a connection, with its empty line; `None`: there is no other.
pub(crate) fn read_head(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if reader.read_until(b'\n', &mut head)? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(String::from_utf8(head).expect("a head of ours is text")))
}

/// The program under test.
pub(crate) const CANDOR: &str = env!("CARGO_BIN_EXE_candor");

/// A running `candor`, and the directory that it writes to.
pub(crate) struct Candor {
    process: Managed,
    directory: TempDir,
    started: Instant,
    cpu: Duration,
    peak_kib: u64,
}

/// How a `candor` ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The exit status.
    pub(crate) status: ExitStatus,
    /// Its standard output.
    pub(crate) stdout: String,
    /// Its standard error.
    pub(crate) stderr: String,
    /// From start to end.
    pub(crate) wall: Duration,
    /// Observed CPU time of all its threads, without children.
    pub(crate) cpu: Duration,
    /// Observed maximum of its resident memory.
    pub(crate) peak_kib: u64,
    directory: TempDir,
}

impl Candor {
    /// Starts it with these arguments.
    pub(crate) fn start(arguments: &[&str]) -> Candor {
        Candor::start_as(Command::new(CANDOR), |directory, command| {
            command.args(arguments).current_dir(directory);
        })
    }

    /// Starts it with these arguments and `--json`.
    pub(crate) fn start_measuring(arguments: &[&str]) -> Candor {
        Candor::start(&[arguments, &["--json", "result.json"]].concat())
    }

    /// Starts it as prepared by `prepare`; its outputs are captured, and there is no terminal.
    pub(crate) fn start_as(
        mut command: Command,
        prepare: impl FnOnce(&Path, &mut Command),
    ) -> Candor {
        let directory = tempfile::tempdir().expect("a temporary directory");
        prepare(directory.path(), &mut command);
        let file = |name| File::create(directory.path().join(name)).expect("a file");
        command.stdin(Stdio::null()).stdout(file(".stdout")).stderr(file(".stderr"));
        let started = Instant::now();
        let process = Managed::spawn(&mut command).expect("candor starts");
        Candor { process, directory, started, cpu: Duration::ZERO, peak_kib: 0 }
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// When it was started.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// The directory in which it runs and writes.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        self.process.signal(signal).expect("a signal to a process of this test");
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it does not end.
    pub(crate) fn finish(self) -> Outcome {
        self.finish_within(PATIENCE).unwrap_or_else(|said| panic!("candor does not end: {said}"))
    }

    /// Waits for its end; if it is still running this long after its start, kills it and returns
    /// its output.
    pub(crate) fn finish_within(mut self, patience: Duration) -> Result<Outcome, String> {
        let status = loop {
            if let Some(status) = self.process.wait(LOOK_AGAIN).expect("waiting for a child") {
                break status;
            }
            self.cpu = self.cpu.max(cpu_time(self.process.pid()));
            self.peak_kib = self.peak_kib.max(peak_kib(self.process.pid()));
            if self.started.elapsed() > patience {
                self.process.child().kill().expect("killing a child");
                let said = fs::read_to_string(self.directory.path().join(".stderr"));
                return Err(said.unwrap_or_else(|error| error.to_string()));
            }
        };
        let wall = self.started.elapsed();
        let text = |name| {
            let bytes = fs::read(self.directory.path().join(name)).expect("the output");
            String::from_utf8(bytes).expect("printed text is UTF-8")
        };
        let (stdout, stderr) = (text(".stdout"), text(".stderr"));
        assert!(!stderr.contains("panicked"), "{stderr}");
        let Candor { cpu, peak_kib, directory, .. } = self;
        Ok(Outcome { status, stdout, stderr, wall, cpu, peak_kib, directory })
    }
}

/// The maximum memory of a process; 0 if it is gone.
fn peak_kib(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(0)
}

/// CPU time of all living threads, by the scheduler's statistics.
fn cpu_time(pid: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let ns = threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_ascii_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(ns.sum())
}

impl Outcome {
    /// Its exit code; that of a shell if a signal ended it.
    pub(crate) fn code(&self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// A file that it wrote.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The text of a file that it wrote.
    pub(crate) fn file(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| {
            panic!("{name}: {error}; it said {}{}", self.stdout, self.stderr)
        })
    }

    /// Names of the files that it wrote, in order.
    pub(crate) fn files(&self) -> Vec<String> {
        files_in(self.directory.path())
    }

    /// The result document, checked.
    pub(crate) fn document(&self) -> Document {
        Document::checked(&self.file("result.json"))
    }

    /// The result document of a run that made its plan: the exit code is 0, or 1 if more than half of the sent requests
    /// failed, or of the journeys.
    pub(crate) fn measured(&self) -> Document {
        let document = self.document();
        // Omitted if there are none.
        let omitted = |pointer: &str| {
            document.0.pointer(pointer).and_then(serde_json::Value::as_u64).unwrap_or(0)
        };
        let succeeded = document.ledger("ok") + omitted("/ledger/broken_off");
        let is_streaming = omitted("/parts/count") > 0 && document.ledger("errors") == 0;
        let failed = document.ledger("errors") + document.ledger("unfinished");
        let journeys = document.0.pointer("/users/journeys").and_then(|all| all.as_array());
        let users = |end: &str| -> u64 {
            journeys.into_iter().flatten().filter_map(|one| one[end].as_u64()).sum()
        };
        let has_failed = succeeded == 0
            || 2 * failed > document.ledger("sent")
            || users("failed") > users("completed");
        let code = i32::from(has_failed && !is_streaming);
        assert_eq!(self.code(), code, "{}{}", self.stdout, self.stderr);
        document
    }

    /// Asserts that it ended with this code and all of these words on the standard error.
    pub(crate) fn assert_refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code(), code, "{}{}", self.stdout, self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in: {}", self.stderr);
        }
    }
}

/// Names of files in a directory, in order, without those of this module.
pub(crate) fn files_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| name != ".stdout" && name != ".stderr");
    names.sort();
    names
}

/// Runs `candor` with these arguments to its end.
pub(crate) fn candor(arguments: &[&str]) -> Outcome {
    Candor::start(arguments).finish()
}

/// Runs `candor` with these arguments and `--json`, and reads the document of the whole run.
pub(crate) fn measure(arguments: &[&str]) -> Document {
    Candor::start_measuring(arguments).finish().measured()
}

/// Whether this test may use namespaces and mounts; prints a line if not.
pub(crate) fn is_root(what: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: {what} needs root");
    }
    root
}
