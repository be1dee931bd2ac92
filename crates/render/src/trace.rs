//! A trace as CSV, one row a request, and as a summary. A trace is not part of the document: it is
//! read in blocks and can be larger than memory.

use candor_plan::units::{fmt_count, fmt_plural};
use candor_record::trace::format::{End, Head};
use candor_record::{Outcome, Phase, Traced};

use super::csv::quoted;
use super::visible;

use std::fmt::Write;

/// The first line, without its end.
pub const CSV_COLUMNS: &str = "index,request,connection,phase,due_ns,ready_ns,sent_ns,first_byte_ns,done_ns,\
    outcome,status";

/// Some requests as rows (RFC 4180). A field is empty where a request has no such value.
pub fn csv_rows(requests: &[Traced], head: &Head) -> String {
    let mut text = String::with_capacity(requests.len() * 96);
    for one in requests {
        // Writing to a string cannot fail.
        let _ = row(&mut text, one, head);
    }
    text
}

fn row(text: &mut String, one: &Traced, head: &Head) -> std::fmt::Result {
    let phase = match one.phase {
        Phase::WarmUp => "warm-up",
        Phase::Measured => "measured",
    };
    write!(text, "{},", one.index)?;
    if !one.was_sent() {
        let id = one.outcome.id();
        return writeln!(text, ",,{phase},{},,,,{},{id},", one.due_ns, one.done_ns);
    }
    match head.names.get(one.request as usize) {
        Some(name) => text.push_str(&quoted(name)),
        None => write!(text, "{}", one.request)?,
    }
    let Traced { connection, due_ns, ready_ns, sent_ns, .. } = one;
    write!(text, ",{connection},{phase},{due_ns},{ready_ns},{sent_ns},")?;
    if one.first_byte_ns != 0 {
        write!(text, "{}", one.first_byte_ns)?;
    }
    write!(text, ",{},{},", one.done_ns, one.outcome.id())?;
    match one.status {
        0 => writeln!(text),
        status => writeln!(text, "{status}"),
    }
}

/// The summary of a trace, built while it is read.
#[derive(Debug, Default)]
pub struct Summary {
    head: Head,
    requests: u64,
    warm_up: u64,
    outcomes: Vec<(Outcome, u64)>,
    end: Option<End>,
}

impl Summary {
    /// Takes the head.
    pub fn begin(&mut self, head: Head) {
        self.head = head;
    }

    /// The head.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Takes some requests.
    pub fn add(&mut self, requests: &[Traced]) {
        self.requests += requests.len() as u64;
        for one in requests {
            self.warm_up += u64::from(one.phase == Phase::WarmUp);
            match self.outcomes.iter_mut().find(|(outcome, _)| *outcome == one.outcome) {
                Some((_, count)) => *count += 1,
                None => self.outcomes.push((one.outcome, 1)),
            }
        }
    }

    /// Takes the end.
    pub fn end(&mut self, end: End) {
        self.end = Some(end);
    }

    /// The number of requests so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// In words.
    pub fn text(&self) -> String {
        let mut lines = vec![format!(
            "trace of {} (rule: {}, seed {})",
            fmt_plural(self.requests, "request"),
            visible(&self.head.rule),
            self.head.seed
        )];
        let mut outcomes = self.outcomes.clone();
        outcomes.sort_unstable();
        let outcomes: Vec<_> = outcomes
            .iter()
            .map(|(outcome, count)| format!("{} {}", outcome.id(), fmt_count(*count)))
            .collect();
        if !outcomes.is_empty() {
            lines.push(outcomes.join(" + "));
        }
        if self.warm_up > 0 {
            lines.push(format!("{} of them of the warm-up", fmt_count(self.warm_up)));
        }
        if let Some(end) = &self.end {
            lines.push(format!(
                "{} not traced, {} of them because the writer did not keep up",
                fmt_count(end.counts.not_traced),
                fmt_count(end.counts.dropped)
            ));
        }
        lines.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_record::ErrorKind;

    #[test]
    fn rows_have_every_column_and_no_value_that_there_was_not() {
        let ok = Traced {
            index: 3,
            due_ns: 10,
            ready_ns: 11,
            sent_ns: 12,
            first_byte_ns: 20,
            done_ns: 21,
            request: 0,
            connection: 5,
            outcome: Outcome::Ok,
            status: 200,
            phase: Phase::Measured,
        };
        let closed = Traced {
            first_byte_ns: 0,
            status: 0,
            request: 1,
            outcome: Outcome::Failed(ErrorKind::Closed),
            phase: Phase::WarmUp,
            ..ok
        };
        let shed = Traced { outcome: Outcome::Shed, ..closed };
        let names = vec!["list".to_owned(), "a \"b\", c".to_owned()];
        let head = Head { names, ..Head::default() };
        assert_eq!(
            csv_rows(&[ok, closed, shed], &head),
            "3,list,5,measured,10,11,12,20,21,ok,200\n\
             3,\"a \"\"b\"\", c\",5,warm-up,10,11,12,,21,closed,\n\
             3,,,warm-up,10,,,,21,shed,\n"
        );
        assert_eq!(CSV_COLUMNS.split(',').count(), 11);
    }
}
