//! A link of an agent or of a coordinator: the two queues to the thread that carries the messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use std::time::Duration;

use candor_fleet::agent::To;
use candor_fleet::{AgentName, Message, RunId, codec};
use tokio::sync::mpsc::Sender;

use crate::arrival::Arrival;
use crate::broker::{Broker, LinkError};
use crate::pump::{self, Outgoing};
use crate::stream::Ask;
use crate::subjects;

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
