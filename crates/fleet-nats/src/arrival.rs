//! What arrives on a link: messages, replies about the stream, and the state of the connection.

use candor_fleet::codec::CodecError;
use candor_fleet::{AgentName, Message};

/// An arrival on a link.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrival {
    /// A message; `from` is the agent that sent it, `None` if a coordinator did.
    Message {
        /// The sender.
        from: Option<AgentName>,
        /// The message.
        message: Box<Message>,
    },
    /// Bytes that are not a message.
    Unreadable {
        /// The sender, as above.
        from: Option<AgentName>,
        /// The problem.
        why: CodecError,
    },
    /// Whether the broker has a stream, or why not ([`Link::make_stream`](crate::Link::make_stream)).
    Stream(Result<(), String>),
    /// The reply to [`Link::fetch`](crate::Link::fetch).
    Stored {
        /// The agent.
        agent: AgentName,
        /// The number that was given.
        after: u64,
        /// The message with its number; `None`: the stream has no more, or there is none.
        found: Option<(u64, Result<Box<Message>, CodecError>)>,
    },
    /// The link is connected.
    Connected,
    /// The broker that the link has connected to has this version of nats-server, which has known vulnerabilities.
    Outdated(String),
    /// The link has lost its connection.
    Disconnected,
    /// The broker or the connection reported a problem, such as a missing permission.
    Trouble(String),
}
