//! Reasons why an agent does not take part in a run, or leaves it.

use serde::{Deserialize, Serialize};

use crate::grant::GrantError;
use crate::message::RunKey;
use crate::policy::PolicyRefusal;

/// Why an agent does not take part in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    /// It is busy with this other run.
    #[error("it is busy with run {}; wait for its end, or use other agents", .0.run)]
    Busy(RunKey),
    /// It cannot write its audit file.
    #[error("it cannot write its audit file: {0}")]
    Audit(String),
    /// The grant does not permit this.
    #[error("the grant is refused: {0}")]
    Grant(#[from] GrantError),
    /// Its policy forbids it.
    #[error("its policy forbids this: {0}")]
    Policy(#[from] PolicyRefusal),
    /// Its share has no workers, or more than the run.
    #[error("its share has no workers, or more than the run")]
    Share,
    /// The plan is too large.
    #[error("the plan has {0} bytes; the limit is {most}; shorten its bodies or replays", most = crate::agent::MOST_PLAN_BYTES)]
    PlanSize(u32),
    /// Its data files are too large.
    #[error("its data files have {0} bytes; the limit is {most}; take fewer rows", most = crate::file::MOST_DATA_BYTES)]
    DataSize(u64),
    /// It fetched another plan.
    #[error("the fetched plan is not the announced one")]
    PlanDigest,
    /// It cannot read the plan, or the plan itself forbids this.
    #[error("it cannot use the plan: {0}")]
    Plan(String),
    /// It cannot keep a data file.
    #[error("it cannot keep a data file: {0}")]
    Data(String),
    /// It cannot resolve the target's name.
    #[error("it cannot resolve the target: {0}")]
    Resolve(String),
    /// It could not prepare the run.
    #[error("it could not prepare the run: {0}")]
    Prepare(String),
    /// The order to start came too late.
    #[error("the order to start came too late; the network is slow, or its clock jumped")]
    Late,
    /// The run failed on it.
    #[error("the run failed on it: {0}")]
    Failed(String),
}

impl Refusal {
    /// The most bytes of a reason.
    pub(crate) const MOST_BYTES: usize = 1024;

    /// The bytes of the words in it.
    pub(crate) fn length(&self) -> usize {
        match self {
            Refusal::Audit(words)
            | Refusal::Plan(words)
            | Refusal::Data(words)
            | Refusal::Resolve(words)
            | Refusal::Prepare(words)
            | Refusal::Failed(words) => words.len(),
            Refusal::Policy(why) => why.length(),
            _ => 0,
        }
    }
}

/// A text, cut to fit into a message.
pub(crate) fn words(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(Refusal::MOST_BYTES));
    text
}

/// A text of another machine in one line: characters that would move the cursor or begin a line are replaced.
pub fn in_one_line(text: &str) -> String {
    let is_hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
    };
    text.chars().map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect()
}
