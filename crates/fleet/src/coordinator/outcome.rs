//! The end of a run: how well it went, and why agents or the whole run were lost.

use candor_record::RunRecord;

use crate::identity::AgentName;
use crate::refusal::Refusal;
use crate::share::ShareError;

/// Why an agent did not do all of its share.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// Its lease expired in silence.
    #[error("it was silent for longer than its lease")]
    Silent,
    /// It has another life.
    #[error("it was restarted")]
    Restarted,
    /// It is free and does not know the run.
    #[error("it gave the run up")]
    Dropped,
    /// It heard nothing from the coordinator and stopped.
    #[error("it could not reach the coordinator and stopped by itself")]
    Lapsed,
    /// It refused to continue.
    #[error("{0}")]
    Refused(Refusal),
    /// Its results cannot be used.
    #[error("its results are damaged: {0}")]
    Damaged(String),
    /// It is heard, but does not end or deliver.
    #[error("it did not deliver its results in time")]
    Overdue,
    /// The user did not wait for its results.
    #[error("its results were not waited for")]
    Unawaited,
}

/// Why a run has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Void {
    /// Too few agents were free in time.
    #[error("{found} of {wanted} agents were free in time; start agents, or ask for fewer{others}")]
    TooFewAgents {
        /// How many the run needs.
        wanted: usize,
        /// How many were free.
        found: usize,
        /// An unreadable message, as the rest of the sentence.
        others: String,
    },
    /// No agent kept results of the run, and the broker has no copy.
    #[error("no agent kept results of this run, and the broker has no copy of them")]
    NothingKept,
    /// The run cannot be split.
    #[error("{0}")]
    Share(#[from] ShareError),
    /// The grant would be too large.
    #[error("a grant for {0} agents is larger than a message; use fewer, or shorter names")]
    TooManyAgents(usize),
    /// An agent does not take part.
    #[error("agent {agent}: {why}")]
    Refused {
        /// The agent.
        agent: AgentName,
        /// Its reason.
        why: Refusal,
    },
    /// An agent was lost before the start.
    #[error("agent {agent} was lost before the start: {why}")]
    Lost {
        /// The agent.
        agent: AgentName,
        /// The reason.
        why: Loss,
    },
    /// An agent did not reach a state in time.
    #[error("agent {agent} was not {what} in time")]
    Late {
        /// The agent.
        agent: AgentName,
        /// The state.
        what: &'static str,
    },
    /// A data file cannot be sent.
    #[error("a data file cannot be sent: {0}")]
    Data(String),
    /// An agent prepared another plan.
    #[error("agent {0} prepared another plan; give all agents the same version")]
    OtherPlan(AgentName),
    /// An agent's results do not have the digest that it sent.
    #[error("the results of agent {0} do not have the digest that it sent")]
    Damaged(AgentName),
    /// It was stopped before the start.
    #[error("it was stopped before the start")]
    Stopped,
}

/// How well a run went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every agent did its share.
    Complete,
    /// At least one did not.
    Degraded,
    /// It did not start as planned, and there is no result.
    Void(Void),
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it went.
    pub verdict: Verdict,
    /// The agents that did not do their share, why, and how many of their requests, or users, are unaccounted
    /// for.
    pub losses: Vec<(AgentName, Loss, u64)>,
    /// The record; `None` if the run is void.
    pub record: Option<RunRecord>,
    /// Orders to start were sent, so requests may have been.
    pub may_have_sent: bool,
    /// Agents may keep results that the record does not have; those that it has are kept too, for a recall.
    pub keeps: bool,
}
