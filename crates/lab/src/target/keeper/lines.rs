//! A keeper that passes lines on: from its own standard input to that of its process, and from the
//! process's output to its own, among the keeper's messages.
//!
//! So a process that exchanges lines with us is kept like any other, with only one pair of pipes:
//! if the process or the keeper ends, both do. The lines have no meaning here.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::say;

/// A longer line is passed on in pieces, so that an endless line does not fill memory.
const LONGEST_BYTES: u64 = 16 << 20;

/// The standard input of the process, until it is closed.
#[derive(Debug, Clone, Default)]
pub(super) struct Input(Arc<Mutex<Option<ChildStdin>>>);

impl Input {
    /// Sends further lines to this process.
    pub(super) fn connect(&self, child: &mut Child) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = child.stdin.take();
    }

    /// Sends a line to the process. Errors are ignored: if the process no longer reads, its end
    /// will show that soon.
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

/// Makes the keeper repeat the output of this process.
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
