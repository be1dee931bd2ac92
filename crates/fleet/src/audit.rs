//! The audit file of an agent: a line for each grant, refusal, start and end.
//!
//! The host appends the lines to a file and never changes one. A line is JSON, so no text in it can
//! look like another line.

use serde::Serialize;

use crate::identity::{AgentName, RunKey};

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// When, in seconds since 1970.
    pub unix_s: u64,
    /// The agent.
    pub agent: String,
    /// The run.
    pub run: String,
    /// The event.
    pub what: What,
    /// Details, as a sentence or as numbers; may be empty.
    pub detail: String,
}

/// An event in the audit file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// The agent is started, and can write this file.
    Ready,
    /// A grant was accepted.
    Granted,
    /// The agent did not take part.
    Refused,
    /// The agent began to send.
    Started,
    /// It was told to stop, or had no room for more results.
    Stopped,
    /// Its lease was over, and it stopped by itself.
    Lapsed,
    /// It was told to stop at once.
    Killed,
    /// It has ended and sends nothing more.
    Ended,
    /// The coordinator has its results.
    Settled,
    /// No coordinator took its results, and it keeps them.
    Kept,
    /// It deleted results, because there was no more room for them.
    Forgotten,
}

impl Line {
    /// The line of an agent that is started. It belongs to no run.
    pub fn ready(unix_s: u64, agent: &AgentName) -> Self {
        let (agent, run, detail) = (agent.to_string(), String::new(), String::new());
        Line { unix_s, agent, run, what: What::Ready, detail }
    }

    pub(crate) fn new(unix_s: u64, agent: String, key: RunKey, what: What, detail: String) -> Self {
        Line { unix_s, agent, run: key.to_string(), what, detail }
    }

    /// The line as it is appended, with its newline.
    pub fn text(&self) -> String {
        let mut text = serde_json::to_string(self).expect("a line has strings and numbers only");
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::RunId;

    #[test]
    fn a_line_is_one_line() {
        let key = RunKey { run: RunId([0xab; 16]), epoch: 3 };
        let detail = "a \"b\"\n{\"unix_s\":1}".to_owned();
        let text = Line::new(7, "a1".to_owned(), key, What::Refused, detail).text();
        assert_eq!(text.matches('\n').count(), 1);
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["what"], "refused");
        assert_eq!(read["run"], "abababababababababababababababab.3");
        assert_eq!(read["detail"], "a \"b\"\n{\"unix_s\":1}");
    }
}
