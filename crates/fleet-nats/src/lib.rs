//! Carries the messages of a fleet over NATS: a [`Link`] of an agent or of a coordinator.
//!
//! A link is one thread with one connection, beside the threads that send load. It reconnects by itself.
//! Every wait is bounded, and no call waits for the broker: a message that cannot be sent now is dropped and
//! counted, because the protocol of `candor-fleet` makes up for lost messages. Those that the client had
//! taken before it noticed the loss of its connection arrive late, which does no harm.
//!
//! This crate neither decides anything nor keeps anything: state machines are `candor-fleet`'s, clocks and
//! load are the host's.
#![forbid(unsafe_code)]

mod pump;
mod stream;
mod subjects;
mod version;

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use std::time::Duration;

use candor_fleet::agent::To;
use candor_fleet::codec::CodecError;
use candor_fleet::{AgentName, Message, RunId, codec};
use tokio::sync::mpsc::Sender;

use pump::Outgoing;
use stream::Ask;

/// The most messages in the queue to the broker, and in the one from it.
pub(crate) const QUEUE: usize = 1024;

/// The broker, and how to reach it.
#[derive(Debug, Clone)]
pub struct Broker {
    /// Its addresses, at least one: `nats://HOST:PORT`, or `tls://HOST:PORT`. They are tried in turn, and belong to one
    /// broker, or to several that carry messages to each other.
    pub urls: Vec<String>,
    /// Certificates; `None`: without TLS, for one machine.
    pub tls: Option<Certificates>,
    /// How long to wait for the first connection.
    pub patience: Duration,
}

impl Broker {
    /// Whether every address is one of this machine alone.
    pub fn is_on_this_machine(&self) -> bool {
        self.urls.iter().all(|url| {
            let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
            let host = rest.rsplit_once(':').map_or(rest, |(host, _)| host);
            let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
            host == "localhost" || address.is_ok_and(|address| address.is_loopback())
        })
    }
}

impl fmt::Display for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.urls.join(" or "))
    }
}

/// Files in PEM for mutual TLS.
#[derive(Debug, Clone)]
pub struct Certificates {
    /// The trusted CA.
    pub ca: PathBuf,
    /// The own certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// Why there is no link.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The broker could not be reached in time.
    #[error(
        "the broker {broker} cannot be reached: {why}; start it, or check address and certificates"
    )]
    Unreachable {
        /// Its addresses.
        broker: String,
        /// The last error, of each address if there are several.
        why: String,
    },
    /// The thread of the link could not be started.
    #[error("the thread of the link cannot be started: {0}")]
    Thread(String),
}

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
    /// Whether the broker has a stream, or why not ([`Link::make_stream`]).
    Stream(Result<(), String>),
    /// The reply to [`Link::fetch`].
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

/// A link: `End` is the name of an agent, or the run of a coordinator.
#[derive(Debug)]
pub struct Link<End> {
    end: End,
    url: String,
    outgoing: Option<Sender<Outgoing>>,
    incoming: Receiver<Arrival>,
    dropped: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Link<AgentName> {
    /// Opens the link of an agent; waits for the broker's patience at most.
    pub fn of_agent(broker: &Broker, name: AgentName) -> Result<Self, LinkError> {
        let subjects = vec![subjects::to_agent(&name)];
        Link::open(broker, name, subjects, |_| Some(None))
    }

    /// Sends a message to coordinators.
    pub fn send(&self, to: To, message: &Message) {
        self.transmit(subjects::from_agent(&self.end, to), message);
    }
}

impl Link<RunId> {
    /// Opens the link of a run's coordinator; waits for the broker's patience at most.
    pub fn of_coordinator(broker: &Broker, run: RunId) -> Result<Self, LinkError> {
        let subjects = subjects::to_coordinator(run);
        Link::open(broker, run, subjects, |subject| subjects::sender(subject).map(Some))
    }

    /// Sends a message to an agent.
    pub fn send(&self, to: &AgentName, message: &Message) {
        self.transmit(subjects::to_agent(to), message);
    }

    /// Asks for the broker's stream to be made, if it is not there.
    pub fn make_stream(&self) {
        self.put(Outgoing::Ask(Ask::Make));
    }

    /// Asks the stream for the first message of an agent to this coordinator whose number is higher than `after`.
    pub fn fetch(&self, agent: AgentName, after: u64) {
        self.put(Outgoing::Ask(Ask::Fetch(self.end, agent, after)));
    }

    /// Asks the stream to forget the messages to this coordinator.
    pub fn forget(&self) {
        self.put(Outgoing::Ask(Ask::Forget(self.end)));
    }
}

impl<End> Link<End> {
    fn open(
        broker: &Broker,
        end: End,
        subjects: Vec<String>,
        sender: fn(&str) -> Option<Option<AgentName>>,
    ) -> Result<Self, LinkError> {
        let dropped = Arc::default();
        let pump = pump::start(broker.clone(), subjects, sender, Arc::clone(&dropped))?;
        let (url, outgoing, incoming, thread) = pump;
        Ok(Link { end, url, outgoing: Some(outgoing), incoming, dropped, thread: Some(thread) })
    }

    fn transmit(&self, subject: String, message: &Message) {
        self.put(Outgoing::Message(subject, codec::encode(message)));
    }

    fn put(&self, outgoing: Outgoing) {
        let queue = self.outgoing.as_ref().expect("a link has a queue until it is dropped");
        if queue.try_send(outgoing).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The address of the broker at which the link was opened.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The next arrival, or `None` if there is none within this time.
    pub fn recv(&self, within: Duration) -> Option<Arrival> {
        self.incoming.recv_timeout(within).ok()
    }

    /// The number of messages that were dropped, in both directions.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl<End> Drop for Link<End> {
    /// Ends the thread, which sends the messages in its queue, within two seconds.
    fn drop(&mut self) {
        self.outgoing = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported on its own standard error.
            let _ = thread.join();
        }
    }
}
