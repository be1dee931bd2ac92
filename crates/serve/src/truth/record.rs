//! The truth server's log, request by request, and its lateness.
//!
//! Memory is allocated once; requests beyond it are served and counted, but not logged. The CSV
//! form is for other programs and processes; this module also reads it.

use std::fmt::Write as _;
use std::io::{self, Write};

/// The fate of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Its response left.
    Answered,
    /// There was no place: it was refused at once.
    Refused,
    /// Its connection was gone when its response had to leave, or the server ended before.
    Abandoned,
}

impl Fate {
    const ALL: [(Fate, &str); 3] =
        [(Fate::Answered, "answered"), (Fate::Refused, "refused"), (Fate::Abandoned, "abandoned")];

    fn name(self) -> &'static str {
        Fate::ALL.iter().find(|(fate, _)| *fate == self).map_or("", |(_, name)| name)
    }
}

/// One request. Times are nanoseconds of the system's monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// When its last byte had been read.
    pub arrival_ns: u64,
    /// When its response had to leave.
    pub computed_ns: u64,
    /// When the call began that handed its response to the kernel; 0 if there was none.
    pub departed_ns: u64,
    /// The server's number of its connection, from 0.
    pub connection: u32,
    /// Which of the queues it came to, from 0.
    pub queue: u32,
    /// The request's fate.
    pub fate: Fate,
}

/// The lateness of responses, in nanoseconds: the server's own error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Number of responses.
    pub answers: u64,
    /// Half of them left no later than this.
    pub p50_ns: u64,
    /// 99 of 100 left no later than this.
    pub p99_ns: u64,
    /// The latest left this late.
    pub max_ns: u64,
}

/// The record of a truth server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// Requests in the order of their arrival.
    pub entries: Vec<Entry>,
    /// Requests without room in the log.
    pub unlogged: u64,
    /// Stalls, each a beginning and an end on the monotonic clock.
    pub stalls_ns: Vec<(u64, u64)>,
    /// When the machine stalled it, in the same form; known only if it spins
    /// ([`HeldUp`](candor_record::HeldUp)).
    pub held_up_ns: Vec<(u64, u64)>,
}

/// A record in the making, with room for a fixed number of requests.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) record: Record,
    room: usize,
}

impl Log {
    pub(super) fn new(room: usize) -> Self {
        let entries = Vec::with_capacity(room);
        Log { record: Record { entries, ..Record::default() }, room }
    }

    /// Logs an entry if there is room; returns its index.
    pub(super) fn enter(&mut self, entry: Entry) -> Option<usize> {
        let record = &mut self.record;
        if record.entries.len() >= self.room {
            record.unlogged += 1;
            return None;
        }
        record.entries.push(entry);
        Some(record.entries.len() - 1)
    }
}

const COLUMNS: &str = "arrival_ns,computed_ns,departed_ns,connection,queue,fate";

impl Record {
    /// The lateness of the logged responses.
    pub fn lateness(&self) -> Lateness {
        let answered = self.entries.iter().filter(|entry| entry.fate == Fate::Answered);
        let late = answered.map(|entry| entry.departed_ns.saturating_sub(entry.computed_ns));
        let mut late: Vec<u64> = late.collect();
        late.sort_unstable();
        let Some(&max_ns) = late.last() else { return Lateness::default() };
        // The smallest value that `share` of all do not exceed.
        let at = |percent: usize| late[(late.len() * percent).div_ceil(100).max(1) - 1];
        Lateness { answers: late.len() as u64, p50_ns: at(50), p99_ns: at(99), max_ns }
    }

    /// Writes it as CSV: stalls and the number of unlogged requests as comments, then a row for
    /// each request.
    pub fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        let mut text = String::new();
        // Writing to a string cannot fail.
        for (from_ns, to_ns) in &self.stalls_ns {
            let _ = writeln!(text, "# stall from_ns={from_ns} to_ns={to_ns}");
        }
        for (from_ns, to_ns) in &self.held_up_ns {
            let _ = writeln!(text, "# held-up from_ns={from_ns} to_ns={to_ns}");
        }
        let _ = writeln!(text, "# unlogged={}\n{COLUMNS}", self.unlogged);
        for entry in &self.entries {
            let Entry { arrival_ns, computed_ns, departed_ns, connection, queue, fate } = entry;
            let fate = fate.name();
            let _ = write!(text, "{arrival_ns},{computed_ns},{departed_ns},");
            let _ = writeln!(text, "{connection},{queue},{fate}");
            if text.len() > 1 << 16 {
                out.write_all(text.as_bytes())?;
                text.clear();
            }
        }
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Reads what [`Record::write_csv`] wrote; an error names the line.
    pub fn from_csv(text: &str) -> Result<Record, String> {
        let mut record = Record::default();
        for (number, line) in text.lines().enumerate() {
            let read = match line.strip_prefix("# ") {
                Some(comment) => record.read_comment(comment),
                None if line == COLUMNS => Some(()),
                None => read_entry(line).map(|entry| record.entries.push(entry)),
            };
            read.ok_or_else(|| {
                format!("line {} is not of a truth server's log: {line:?}", number + 1)
            })?;
        }
        Ok(record)
    }

    fn read_comment(&mut self, comment: &str) -> Option<()> {
        if let Some(count) = comment.strip_prefix("unlogged=") {
            self.unlogged = count.parse().ok()?;
            return Some(());
        }
        let (what, times) = comment.split_once(" from_ns=")?;
        let (from, to) = times.split_once(" to_ns=")?;
        let times_ns = (from.parse().ok()?, to.parse().ok()?);
        match what {
            "stall" => self.stalls_ns.push(times_ns),
            "held-up" => self.held_up_ns.push(times_ns),
            _ => return None,
        }
        Some(())
    }
}

fn read_entry(line: &str) -> Option<Entry> {
    let mut fields = line.split(',');
    let mut number = || fields.next()?.parse::<u64>().ok();
    let entry = Entry {
        arrival_ns: number()?,
        computed_ns: number()?,
        departed_ns: number()?,
        connection: number()?.try_into().ok()?,
        queue: number()?.try_into().ok()?,
        fate: Fate::Answered,
    };
    let name = fields.next()?;
    let fate = Fate::ALL.iter().find(|(_, known)| *known == name)?.0;
    fields.next().is_none().then_some(Entry { fate, ..entry })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(late_ns: u64, fate: Fate) -> Entry {
        let departed_ns = 100 + late_ns;
        Entry { arrival_ns: 5, computed_ns: 100, departed_ns, connection: 3, queue: 1, fate }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let record = Record {
            entries: vec![
                entry(7, Fate::Answered),
                entry(0, Fate::Refused),
                Entry { departed_ns: 0, ..entry(0, Fate::Abandoned) },
            ],
            unlogged: 4,
            stalls_ns: vec![(10, 20), (30, 40)],
            held_up_ns: vec![(50, 60)],
        };
        let mut csv = vec![];
        record.write_csv(&mut csv).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        assert_eq!(Record::from_csv(&csv), Ok(record));
        assert!(Record::from_csv(&csv.replace("refused", "lost")).unwrap_err().contains("line 7"));
    }

    #[test]
    fn lateness_is_that_of_answers() {
        let mut record = Record::default();
        assert_eq!(record.lateness(), Lateness::default());
        record.entries.extend((1..=200).rev().map(|late_ns| entry(late_ns, Fate::Answered)));
        record.entries.push(entry(9999, Fate::Abandoned));
        let wanted = Lateness { answers: 200, p50_ns: 100, p99_ns: 198, max_ns: 200 };
        assert_eq!(record.lateness(), wanted);
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let mut log = Log::new(2);
        let places = [0; 5].map(|_| log.enter(entry(0, Fate::Answered)));
        assert_eq!(places, [Some(0), Some(1), None, None, None]);
        assert_eq!((log.record.entries.len(), log.record.unlogged), (2, 3));
    }
}
