//! The subjects of messages. The last token of a subject is the agent's name, so that the broker's permissions
//! can give each agent its own subjects and thereby prove who sent a message.
//!
//! ```text
//! candor.hello.AGENT      from an agent to all coordinators
//! candor.run.RUN.AGENT    from an agent to the coordinator of a run
//! candor.agent.AGENT      from a coordinator to an agent
//! ```
//!
//! Those of runs are copied to the broker's stream.

use std::fmt::Display;

use candor_fleet::agent::To;
use candor_fleet::{AgentName, RunId};

/// The subjects of all messages from agents to coordinators of runs.
pub(crate) const EVERY_RUN: &str = "candor.run.*.*";

/// The subject of messages from an agent.
pub(crate) fn from_agent(name: &AgentName, to: To) -> String {
    match to {
        To::Coordinators => format!("candor.hello.{name}"),
        To::Coordinator(run) => of_run(run, name),
    }
}

/// The subject of messages from an agent, or from `*`, to the coordinator of a run.
pub(crate) fn of_run(run: RunId, agent: impl Display) -> String {
    format!("candor.run.{run}.{agent}")
}

/// The subject of messages to an agent.
pub(crate) fn to_agent(name: &AgentName) -> String {
    format!("candor.agent.{name}")
}

/// The subjects of all messages to the coordinator of a run.
pub(crate) fn to_coordinator(run: RunId) -> Vec<String> {
    vec!["candor.hello.*".to_owned(), of_run(run, "*")]
}

/// The agent in the subject of a message to a coordinator.
pub(crate) fn sender(subject: &str) -> Option<AgentName> {
    subject.rsplit('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_is_the_last_token() {
        let name: AgentName = "a-1".parse().unwrap();
        let run = RunId([0xab; 16]);
        for to in [To::Coordinators, To::Coordinator(run)] {
            assert_eq!(sender(&from_agent(&name, to)), Some(name.clone()));
        }
        assert_eq!(sender("candor.hello.No"), None);
        assert_eq!(sender(""), None);
    }
}
