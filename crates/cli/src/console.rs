//! Writing to the terminal: reports to the standard output, progress and errors to the standard error.
//!
//! Everything that this command prints goes through here, and whatever it says that somebody else wrote
//! (a server, a file, a target's log) cannot move the cursor, set a title or hide: what is printed is
//! visible text, ends of lines, and the colours of [`Style`].

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use candor_record::IntervalSummary;
use candor_report::Style;
use candor_report::render::{progress, visible_lines, visible_styled};

use crate::exit::Failure;

/// How to write to the standard output: colours if it is a terminal and `NO_COLOR` is not set.
pub(crate) fn stdout_style() -> Style {
    style(io::stdout().is_terminal())
}

fn style(is_terminal: bool) -> Style {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if is_terminal && !no_color { Style::Colour } else { Style::Plain }
}

/// Characters in a line of the terminal behind the standard error, asked each time because it
/// may change. The last column stays free: some terminals go to the next line after it.
fn columns() -> usize {
    const USUAL: u16 = 80;
    let known = rustix::termios::tcgetwinsize(io::stderr()).map(|size| size.ws_col);
    usize::from(known.ok().filter(|&columns| columns > 0).unwrap_or(USUAL)) - 1
}

/// Prints `text`, a rendering. A reader that has seen enough and is gone is no error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let text = visible_styled(text);
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::could_not_run(format!("cannot write to the standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// A line to the standard error, instead of the progress line if there is one. Not worth a failure.
pub(crate) fn note(line: &str) {
    let clear = if io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
    to_stderr(&format!("{clear}{}\n", visible_lines(line)));
}

/// Lines to the standard error as they are written, with no progress line to take away.
pub(crate) fn say(lines: impl Display) {
    to_stderr(&format!("{}\n", visible_lines(&lines.to_string())));
}

fn to_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Intervals shorter than this are not shown while a run goes on.
const SHORTEST_SHOWN_NS: u64 = 50_000_000;

/// One line that is written over and over while a run goes on; nothing if nobody looks.
pub(crate) struct Progress {
    is_on: bool,
    shown: bool,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        Progress { is_on: !quiet && io::stderr().is_terminal(), shown: false }
    }

    pub(crate) fn show(&mut self, interval: &IntervalSummary) {
        // A sliver, such as the drain of a healthy run, has no rate worth showing.
        let is_sliver = interval.end_ns - interval.start_ns < SHORTEST_SHOWN_NS;
        if self.is_on && !is_sliver {
            let line = progress::line(interval, style(true), columns());
            to_stderr(&format!("\r\x1b[K{line}"));
            self.shown = true;
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if self.shown {
            to_stderr("\r\x1b[K");
            self.shown = false;
        }
    }
}
