//! The parts of responses that were sent: events and messages, each with its time. As CSV, for
//! comparison with what a loader has read.
//!
//! Memory is allocated once; parts beyond it are sent and counted, but not logged.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::route::Route;

/// One part that was sent. Times are nanoseconds of the system's monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartEntry {
    /// When it had to leave.
    pub due_ns: u64,
    /// When the call began that handed its first byte to the kernel; 0 if there was none.
    pub departed_ns: u64,
    /// The server's number of its response, call or socket, from 0.
    pub stream: u64,
    /// Its number there, from 0.
    pub index: u64,
    /// The name in [`Stats`](crate::Stats) of the path that it belongs to.
    pub scenario: &'static str,
}

/// A log of parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartLog {
    /// The parts, in the order of their departure on each connection.
    pub entries: Vec<PartEntry>,
    /// Parts without room in the log.
    pub unlogged: u64,
    /// When the machine paused a thread, each a beginning and an end; known only if it spins
    /// ([`HeldUp`](candor_record::HeldUp)).
    pub held_up_ns: Vec<(u64, u64)>,
}

const COLUMNS: &str = "due_ns,departed_ns,stream,index,scenario";

impl PartLog {
    /// Logs a part, if fewer than `room` are there.
    pub(crate) fn enter(&mut self, entry: PartEntry, room: usize) {
        if self.entries.len() < room {
            self.entries.push(entry);
        } else {
            self.unlogged += 1;
        }
    }

    /// Writes it as CSV, with pauses and the number of unlogged parts as comments before the header.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        let mut text = String::new();
        // Writing to a string cannot fail.
        for (from_ns, to_ns) in &self.held_up_ns {
            let _ = writeln!(text, "# held-up from_ns={from_ns} to_ns={to_ns}");
        }
        let _ = writeln!(text, "# unlogged={}\n{COLUMNS}", self.unlogged);
        for PartEntry { due_ns, departed_ns, stream, index, scenario } in &self.entries {
            let _ = writeln!(text, "{due_ns},{departed_ns},{stream},{index},{scenario}");
            if text.len() > 1 << 16 {
                out.write_all(text.as_bytes())?;
                text.clear();
            }
        }
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Reads what [`PartLog::write_csv`] wrote.
    ///
    /// # Errors
    ///
    /// Names the first line that is not of such a log.
    pub fn from_csv(text: &str) -> Result<PartLog, String> {
        let mut log = PartLog::default();
        for (number, line) in text.lines().enumerate() {
            let read = match line.strip_prefix("# ") {
                Some(comment) => log.read_comment(comment),
                None if line == COLUMNS => Some(()),
                None => read_entry(line).map(|entry| log.entries.push(entry)),
            };
            read.ok_or_else(|| format!("line {} is not of a log of parts: {line:?}", number + 1))?;
        }
        Ok(log)
    }
}

impl PartLog {
    fn read_comment(&mut self, comment: &str) -> Option<()> {
        if let Some(count) = comment.strip_prefix("unlogged=") {
            self.unlogged = count.parse().ok()?;
            return Some(());
        }
        let (from, to) = comment.strip_prefix("held-up from_ns=")?.split_once(" to_ns=")?;
        self.held_up_ns.push((from.parse().ok()?, to.parse().ok()?));
        Some(())
    }
}

fn read_entry(line: &str) -> Option<PartEntry> {
    let mut fields = line.split(',');
    let mut number = || fields.next()?.parse::<u64>().ok();
    let (due_ns, departed_ns, stream, index) = (number()?, number()?, number()?, number()?);
    let name = fields.next()?;
    let scenario = Route::ALL.iter().map(|route| route.name()).find(|known| *known == name)?;
    fields.next().is_none().then_some(PartEntry { due_ns, departed_ns, stream, index, scenario })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let entry =
            PartEntry { due_ns: 1, departed_ns: 2, stream: 3, index: 4, scenario: "sse_events" };
        let mut log = PartLog::default();
        for index in 0..5 {
            log.enter(PartEntry { index, ..entry }, 3);
        }
        assert_eq!((log.entries.len(), log.unlogged), (3, 2));
        log.held_up_ns = vec![(50, 60), (70, 90)];
        let mut csv = vec![];
        log.write_csv(&mut csv).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        assert_eq!(PartLog::from_csv(&csv), Ok(log));
        let wrong = csv.replace("sse_events", "nothing");
        assert!(PartLog::from_csv(&wrong).is_err_and(|error| error.contains("line 5")));
    }
}
