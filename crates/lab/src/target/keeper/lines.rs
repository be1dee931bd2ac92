//! A keeper that passes lines on: what it is told goes to the standard input of the process that it
//! keeps, and what that prints comes back, line by line, among the keeper's own words.
//!
//! So a process that is talked to is kept like any other, and has one pair of pipes less to lose: who
//! goes away, goes away for both. The lines themselves mean nothing here.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::say;

/// A line that is longer is passed on in pieces, so that nobody's endless line fills our memory.
const LONGEST_BYTES: u64 = 16 << 20;

/// The standard input of the process, until it is closed.
#[derive(Debug, Clone, Default)]
pub(super) struct Input(Arc<Mutex<Option<ChildStdin>>>);

impl Input {
    /// From now on lines go to this process.
    pub(super) fn connect(&self, child: &mut Child) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = child.stdin.take();
    }

    /// A line for the process. If nobody reads it, that is known soon enough.
    pub(super) fn line(&self, line: &str) {
        if let Some(input) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = writeln!(input, "{line}").and_then(|()| input.flush());
        }
    }

    /// No more lines.
    pub(super) fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// From now on what this process prints is said.
pub(super) fn repeat(child: &mut Child) {
    if let Some(out) = child.stdout.take() {
        thread::spawn(move || pass_on(BufReader::new(out)));
    }
}

fn pass_on(mut out: impl BufRead) {
    let mut line = Vec::new();
    loop {
        line.clear();
        match out.by_ref().take(LONGEST_BYTES).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        say(&format!("out {}", text.trim_end_matches(['\n', '\r'])), 0);
    }
    say("quiet now", 0);
}
