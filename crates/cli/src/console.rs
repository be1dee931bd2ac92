//! Writing to the terminal: reports to the standard output, progress and errors to the standard error.
//! While a live view has the terminal ([`terminal`]), all output waits until the view has ended.
//!
//! All output of this command goes through here. Text from outside (a server, a file, a target's
//! log) cannot move the cursor, set a title or hide itself: only visible text, ends of lines, and
//! the colours of [`Style`] get through. What is said to the standard error has no secret either ([`hide`]).

pub(crate) mod terminal;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use candor_lab::credentials::Said;
use candor_plan::redact::Hidden;
use candor_plan::units::fmt_count;
use candor_render::wrap;
use candor_report::Style;
use candor_report::{visible_lines, visible_styled};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;

use crate::ascii;
use crate::exit::UserError;
use terminal::Stream;

/// The style of the standard output: if it is a terminal, as wide as that, and with colours unless `NO_COLOR`
/// is set; else as wide as `COLUMNS`, if that is exported.
pub(crate) fn stdout_style() -> Style {
    style(io::stdout())
}

fn style(out: impl IsTerminal + AsFd) -> Style {
    if !out.is_terminal() {
        let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        return columns.map_or(Style::PLAIN, |columns| Style::PLAIN.within(columns));
    }
    let style = if has_colours() { Style::COLOUR } else { Style::PLAIN };
    style.within(terminal::size(out).0.into())
}

/// Whether a terminal may have colours.
pub(crate) fn has_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Whether the standard output is a terminal.
pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Prints a report; to the standard error if another output uses the standard output.
pub(crate) fn report(
    stdout_is_taken: bool,
    text: impl FnOnce(Style) -> String,
) -> Result<(), UserError> {
    match stdout_is_taken {
        false => print(&text(stdout_style())),
        true => {
            to_stderr(&visible_styled(&text(style(io::stderr()))));
            Ok(())
        }
    }
}

/// Prints `text`, a rendering. A reader that has closed the pipe, or the terminal, is not an error.
pub(crate) fn print(text: &str) -> Result<(), UserError> {
    let text = for_terminal(visible_styled(text), io::stdout().is_terminal());
    if terminal::hold(Stream::Out, &text) {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if !is_reader_gone(&error) => {
            Err(UserError::could_not_run(format!("cannot write to the standard output: {error}")))
        }
        _ => Ok(()),
    }
}

fn is_reader_gone(error: &io::Error) -> bool {
    // A terminal that has closed says of itself only that it is a device.
    let is_device = || {
        let mode = fstat(io::stdout()).map(|found| found.st_mode);
        mode.is_ok_and(|mode| FileType::from_raw_mode(mode) == FileType::CharacterDevice)
    };
    let is_io = error.raw_os_error() == Some(Errno::IO.raw_os_error());
    error.kind() == io::ErrorKind::BrokenPipe || (is_io && is_device())
}

/// Prints an output in pieces, between which the reader may go away or the disk may fill up.
#[derive(Default)]
pub(crate) struct Printer {
    /// The first failure; later ones would be the same.
    failure: Option<UserError>,
}

impl Printer {
    pub(crate) fn print(&mut self, text: &str) {
        self.keep(print(text));
    }

    /// Prints a rendering of figures that may be damaged.
    pub(crate) fn print_made(&mut self, text: Result<String, impl Display>) {
        match text {
            Ok(text) => self.print(&text),
            Err(error) => self.keep(Err(UserError::could_not_run(error))),
        }
    }

    fn keep(&mut self, outcome: Result<(), UserError>) {
        if let Err(failure) = outcome {
            self.failure.get_or_insert(failure);
        }
    }

    pub(crate) fn finish(self) -> Result<(), UserError> {
        self.failure.map_or(Ok(()), Err)
    }
}

/// Says a sentence on the standard error. Lines with details may follow it, behind two blanks; any other end of a line
/// is text from outside, a name for example, and begins no line. Errors of writing are ignored.
pub(crate) fn say(sentence: impl Display) {
    let mut text = sentence_of(&unsecret(&sentence.to_string()));
    if io::stderr().is_terminal() {
        text = within(&text, terminal::size(io::stderr()).0.into());
    }
    to_stderr(&format!("{text}\n"));
}

/// The text in lines of at most `width` characters, broken between words.
fn within(text: &str, width: usize) -> String {
    let lines = text.split('\n').flat_map(|line| match line.chars().count() <= width {
        true => vec![line.to_owned()],
        false => wrap(line, width),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn sentence_of(text: &str) -> String {
    let mut lines = text.split('\n');
    let mut shown = visible_lines(lines.next().unwrap_or_default()).into_owned();
    for line in lines {
        shown += if line.starts_with("  ") { "\n" } else { "\\n" };
        shown += &visible_lines(line);
    }
    shown
}

/// Prints lines about what was missed: also where no report is wanted.
pub(crate) fn misses(lines: impl IntoIterator<Item = String>) {
    for line in lines {
        say(format_args!("candor: {line}"));
    }
}

/// Prints lines of ours to the standard error, which include their line ends.
pub(crate) fn lines(lines: &str) {
    to_stderr(&visible_lines(&unsecret(lines)));
}

/// Values that are not said on the standard error.
static HIDDEN: Mutex<Option<Hidden>> = Mutex::new(None);

/// From now on, the standard error hides these values, also where a parser, a script or a server repeats them.
pub(crate) fn hide(more: Hidden) {
    let mut hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner);
    hidden.get_or_insert_default().extend(more);
}

/// The values that are hidden so far.
pub(crate) fn hidden() -> Hidden {
    HIDDEN.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
}

/// Hears of the credentials of runs.
pub(crate) fn hear(said: Said<'_>) {
    match said {
        Said::Secret(text) => {
            let mut hidden = Hidden::default();
            hidden.add(text.as_bytes());
            hide(hidden);
        }
        Said::Notice(line) => say(format_args!("candor: {line}")),
    }
}

/// A text without secrets.
pub(crate) fn unsecret(text: &str) -> String {
    let hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner);
    hidden.as_ref().map_or_else(|| text.to_owned(), |hidden| hidden.text(text).into_owned())
}

/// Converts to the terminal's encoding; a file or a pipe gets UTF-8.
fn for_terminal(text: Cow<'_, str>, is_terminal: bool) -> Cow<'_, str> {
    match is_terminal && ascii::is_asked_for() {
        true => ascii::ascii(&text).into(),
        false => text,
    }
}

fn to_stderr(text: &str) {
    let text = for_terminal(text.into(), io::stderr().is_terminal());
    if !terminal::hold(Stream::Err, &text) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}

/// Warns once for each host that its addresses may belong to a third party, even with quiet output.
/// Returns the warning.
pub(crate) fn public_target(host: &str, addresses: &[IpAddr]) -> Option<String> {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let is_new = TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(host.to_owned());
    let line = is_new.then(|| public_target_line(host, addresses))?;
    say(format_args!("candor: {line}"));
    Some(line)
}

/// Says how many lines of a file of URLs are left out.
pub(crate) fn lines_left_out(file: &Path, lines: u64) -> String {
    let (lines, verb) = match lines {
        1 => ("1 line".to_owned(), "is"),
        _ => (format!("{} lines", fmt_count(lines)), "are"),
    };
    let line =
        format!("{}: {lines} {verb} left out: no request in it can be repeated", file.display());
    say(format_args!("candor: {line}"));
    line
}

fn public_target_line(host: &str, addresses: &[IpAddr]) -> String {
    let shown: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
    let (shown, verb) = match shown.as_slice() {
        [one] if one == host => (host.to_owned(), "is a public address"),
        [one] => (format!("{host} ({one})"), "is a public address"),
        several => (format!("{host} ({})", several.join(", ")), "has public addresses"),
    };
    format!("{shown} {verb}; send load only with the consent of its owner")
}

#[cfg(test)]
mod tests {
    use super::{public_target_line, sentence_of, within};

    #[test]
    fn a_sentence_is_broken_between_words() {
        let said = "candor: cannot connect to 127.0.0.1:9: Connection refused";
        let shown = within(said, 30);
        assert!(shown.lines().all(|line| line.chars().count() <= 30), "{shown}");
        assert_eq!(shown.replace('\n', " "), said);
        assert_eq!(within("a  table  of\n  its  own", 12), "a  table  of\n  its  own", "it fits");
    }

    #[test]
    fn a_name_begins_no_line() {
        for (text, shown) in [
            ("a b", "a b"),
            ("it ended; its last lines:\n  x\n  y", "it ended; its last lines:\n  x\n  y"),
            ("not for a\ncandor: fine", "not for a\\ncandor: fine"),
            ("a\r\ncandor: \u{1b}[2J", "a\\r\\ncandor: \\u{1b}[2J"),
            ("\n", "\\n"),
        ] {
            assert_eq!(sentence_of(text), shown);
        }
    }

    #[test]
    fn a_public_target_is_named_with_its_addresses() {
        let line = |host: &str, addresses: &[&str]| {
            let addresses: Vec<_> = addresses.iter().map(|one| one.parse().unwrap()).collect();
            public_target_line(host, &addresses)
        };
        let consent = "send load only with the consent of its owner";
        assert_eq!(
            line("example.com", &["93.184.216.34"]),
            format!("example.com (93.184.216.34) is a public address; {consent}")
        );
        assert_eq!(
            line("8.8.8.8", &["8.8.8.8"]),
            format!("8.8.8.8 is a public address; {consent}")
        );
        assert_eq!(
            line("h", &["8.8.8.8", "2606:4700::1"]),
            format!("h (8.8.8.8, 2606:4700::1) has public addresses; {consent}")
        );
    }
}
