//! Reasons why an agent does not take part in a run, or leaves it.
//!
//! Values that a message carries, with the limits that their sentences name. Who decides is not here: grants are
//! checked in `grant.rs`, plans in `policy.rs` and `file.rs`, the rest by the agent.

use candor_plan::Rate;
use candor_plan::units::{fmt_duration_ns, fmt_plural, fmt_rate};
use serde::{Deserialize, Serialize};

use crate::grant::GrantError;
use crate::identity::RunKey;

/// The largest plan that an agent takes.
pub const MOST_PLAN_BYTES: u32 = 64 << 20;
/// The most bytes of data files that a plan may have.
pub const MOST_DATA_BYTES: u64 = 1 << 30;

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
    #[error("the plan has {0} bytes; the limit is {most}; shorten its bodies or replays", most = MOST_PLAN_BYTES)]
    PlanSize(u32),
    /// Its data files are too large.
    #[error("its data files have {0} bytes; the limit is {most}; take fewer rows", most = MOST_DATA_BYTES)]
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

/// Why a policy forbids a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum PolicyRefusal {
    /// Agents never use unix sockets.
    #[error("an agent does not connect to unix sockets")]
    UnixSocket,
    /// A proxy may lead anywhere.
    #[error("an agent uses no proxy, which may lead anywhere; leave it out")]
    Proxy,
    /// No entry allows the target.
    #[error("no entry allows the target {0}")]
    Target(String),
    /// The plan has a script, or one that is not in a sandbox.
    #[error("scripts are {0}")]
    Script(String),
    /// The rate is too high.
    #[error(
        "this agent's share is {asked}{users}; the limit is {most}",
        asked = fmt_rate(*asked), users = of_users(*each), most = fmt_rate(*most)
    )]
    Rate {
        /// The agent's share.
        asked: Rate,
        /// The most requests of a user; `None`: the plan has no users.
        each: Option<u64>,
        /// The limit.
        most: Rate,
    },
    /// The rate is limited, but a closed load has none.
    #[error("it limits the rate, but a closed load has none; use an open load")]
    NoRate,
    /// There are too many connections.
    #[error("this agent's share is {asked} connections; the limit is {most}")]
    Connections {
        /// The agent's share.
        asked: u32,
        /// The limit.
        most: u32,
    },
    /// The run is too long.
    #[error("the run takes {asked}; the limit is {most}", asked = fmt_duration_ns(*asked_ns), most = fmt_duration_ns(*most_ns))]
    Duration {
        /// The plan's duration.
        asked_ns: u64,
        /// The limit.
        most_ns: u64,
    },
    /// The duration is limited, but the plan has none.
    #[error("it limits the duration, but the plan has none; set one")]
    NoDuration,
    /// Agents read no files.
    #[error("an agent reads no files, but the plan names one for its data and does not have it")]
    Data,
    /// Taking a credential runs a command, reads a file or asks another server.
    #[error("an agent takes no credentials; send one that lasts as a header field")]
    Credential,
}

/// The words for a rate of requests that users make.
fn of_users(each: Option<u64>) -> String {
    each.map_or_else(String::new, |each| {
        format!(" if each user makes {}, the most", fmt_plural(each, "request"))
    })
}

impl PolicyRefusal {
    /// The bytes of the words in it.
    fn length(&self) -> usize {
        match self {
            PolicyRefusal::Target(words) | PolicyRefusal::Script(words) => words.len(),
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
