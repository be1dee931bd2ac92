//! The thread of a link: moves messages between its two queues and the broker.
//!
//! It ends when the link is dropped. A full queue drops messages; it never waits for the host.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::JoinHandle;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, Event, Subscriber};
use candor_fleet::{AgentName, codec};
use futures_util::StreamExt;
use futures_util::stream::{FuturesUnordered, SelectAll, select_all};
use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver as Queue, Sender, channel};
use tokio::time::{Instant, sleep, timeout_at};

use crate::arrival::Arrival;
use crate::broker::{Broker, LinkError, sentence};
use crate::stream::Ask;
use crate::version;

/// The most messages in the queue to the broker, and in the one from it.
const QUEUE: usize = 1024;
/// The longest wait for one message to leave, and for the last ones at the end.
const LEAVE: Duration = Duration::from_secs(1);
/// From one ping to the next, if the broker is near. One that does not respond to two of them is gone.
const PING: Duration = Duration::from_secs(1);
/// From one attempt to connect to the next.
const RETRY: Duration = Duration::from_millis(250);
/// The longest first attempt to connect. A connection with TLS takes five round trips, so the next one has twice as long
/// if the broker did not respond,
const ATTEMPT: Duration = Duration::from_secs(2);
/// up to this.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(16);

/// What is on its way to the broker.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// A message, as a subject and bytes.
    Message(String, Vec<u8>),
    /// A request about its stream.
    Ask(Ask),
}

/// A connection and what arrives on its subscriptions.
type Connected = (Client, SelectAll<Subscriber>);
type Started = (String, Sender<Outgoing>, Receiver<Arrival>, JoinHandle<()>);

struct Pump {
    broker: Broker,
    subjects: Vec<String>,
    /// The sender in a subject: `None` if it has none, `Some(None)` for a coordinator.
    sender: fn(&str) -> Option<Option<AgentName>>,
    incoming: SyncSender<Arrival>,
    dropped: Arc<AtomicU64>,
    /// There is a new connection.
    joined: Arc<Notify>,
}

/// Starts a thread and waits until it is connected and subscribed.
pub(crate) fn start(
    broker: Broker,
    subjects: Vec<String>,
    sender: fn(&str) -> Option<Option<AgentName>>,
    dropped: Arc<AtomicU64>,
) -> Result<Started, LinkError> {
    let failed = |error: std::io::Error| LinkError::Thread(error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(failed)?;
    let (outgoing, queue) = channel(QUEUE);
    let (incoming, arrivals) = mpsc::sync_channel(QUEUE);
    let (ready, is_ready) = mpsc::sync_channel(1);
    let joined = Arc::default();
    let pump = Pump { broker, subjects, sender, incoming, dropped, joined };
    let run = move || {
        runtime.block_on(pump.run(queue, ready));
        // Waits for no task of the client.
        runtime.shutdown_background();
    };
    let thread = std::thread::Builder::new().name("fleet".to_owned()).spawn(run).map_err(failed)?;
    // Every step before is bounded by the broker's patience.
    let ended = || Err(LinkError::Thread("it ended".to_owned()));
    let url = is_ready.recv().unwrap_or_else(|_| ended())?;
    Ok((url, outgoing, arrivals, thread))
}

impl Pump {
    async fn run(self, mut queue: Queue<Outgoing>, ready: SyncSender<Result<String, LinkError>>) {
        let (url, (client, mut messages)) = match self.connect().await {
            Ok(connected) => connected,
            Err(why) => {
                let broker = self.broker.to_string();
                let _ = ready.send(Err(LinkError::Unreachable { broker, why }));
                return;
            }
        };
        // From now on each address will do. The answer to the request says no more.
        let _ = client.set_server_pool(self.broker.urls.as_slice()).await;
        let _ = ready.send(Ok(url));
        // Each of them ends in time, so they are no more than the host makes meanwhile.
        let mut asked = FuturesUnordered::new();
        loop {
            tokio::select! {
                outgoing = queue.recv() => match outgoing {
                    Some(Outgoing::Message(subject, bytes)) => {
                        self.publish(&client, subject, bytes, &mut queue).await;
                    }
                    Some(Outgoing::Ask(ask)) => asked.push(ask.make(client.clone())),
                    None => break,
                },
                Some(message) = messages.next() => self.arrive(&message),
                () = self.joined.notified() => {
                    let server = client.server_info().version;
                    if version::is_outdated(&server) {
                        put(&self.incoming, &self.dropped, Arrival::Outdated(server));
                    }
                }
                Some(reply) = asked.next() => {
                    if let Some(arrival) = reply {
                        put(&self.incoming, &self.dropped, arrival);
                    }
                }
            }
        }
        let last = async {
            while asked.next().await.is_some() {}
            client.flush().await
        };
        let _ = tokio::time::timeout(LEAVE, last).await;
    }

    /// A connection with all subscriptions, which the broker has confirmed, and its address; or the last errors.
    async fn connect(&self) -> Result<(String, Connected), String> {
        let deadline = Instant::now() + self.broker.patience;
        let mut time = ATTEMPT.min(self.broker.patience);
        loop {
            let (mut whys, mut is_slow) = (Vec::new(), false);
            for url in &self.broker.urls {
                match within(Instant::now() + time, self.attempt(url, time)).await {
                    Some(Ok(connected)) => return Ok((url.clone(), connected)),
                    Some(Err(why)) => whys.push((url, why)),
                    None => {
                        is_slow = true;
                        whys.push((url, "it does not respond".to_owned()));
                    }
                }
            }
            // A broker that is far away gets an attempt that is long enough.
            let is_last = !is_slow || 2 * time > LONGEST_ATTEMPT || time < ATTEMPT;
            if is_last && Instant::now() + RETRY >= deadline {
                return Err(match &whys[..] {
                    [(_, why)] => why.clone(),
                    several => {
                        let each = several.iter().map(|(url, why)| format!("{url}: {why}"));
                        each.collect::<Vec<_>>().join("; ")
                    }
                });
            }
            if is_slow {
                time = (2 * time).min(LONGEST_ATTEMPT);
            }
            sleep(RETRY).await;
        }
    }

    async fn attempt(&self, url: &str, time: Duration) -> Result<Connected, String> {
        let client = self.options(time).connect(url).await.map_err(|error| sentence(&error))?;
        let mut subscribers = Vec::new();
        for subject in &self.subjects {
            let subscribed = client.subscribe(subject.clone()).await;
            subscribers.push(subscribed.map_err(|error| sentence(&error))?);
        }
        client.flush().await.map_err(|error| sentence(&error))?;
        Ok((client, select_all(subscribers)))
    }

    /// Options of a connection that is made within this time: it measures how far away the broker is.
    fn options(&self, time: Duration) -> ConnectOptions {
        let (incoming, dropped) = (self.incoming.clone(), Arc::clone(&self.dropped));
        let joined = Arc::clone(&self.joined);
        let options = ConnectOptions::new()
            .name("candor")
            .ping_interval(PING.max(time / 4))
            .connection_timeout(time)
            .subscription_capacity(QUEUE)
            .client_capacity(QUEUE)
            .max_reconnects(None)
            // Members know the broker by the names in its certificate, and by no others.
            .ignore_discovered_servers()
            .reconnect_delay_callback(|_| RETRY)
            .event_callback(move |event| {
                let arrival = match event {
                    Event::Connected => {
                        joined.notify_one();
                        Some(Arrival::Connected)
                    }
                    Event::Disconnected => Some(Arrival::Disconnected),
                    Event::SlowConsumer(_) => {
                        dropped.fetch_add(1, Ordering::Relaxed);
                        None
                    }
                    Event::ServerError(error) => trouble(error.to_string()),
                    Event::ClientError(error) => Some(Arrival::Trouble(error.to_string())),
                    Event::LameDuckMode | Event::Draining | Event::Closed => None,
                };
                if let Some(arrival) = arrival {
                    put(&incoming, &dropped, arrival);
                }
                std::future::ready(())
            });
        match &self.broker.tls {
            None => options,
            Some(files) => options
                .require_tls(true)
                .add_root_certificates(files.ca.clone())
                .add_client_certificate(files.certificate.clone(), files.key.clone()),
        }
    }

    /// Publishes a message. If the client has no room for it in time, the others in the queue are dropped
    /// with it: they would wait as long, each of them, and the end of the link with them.
    async fn publish(
        &self,
        client: &Client,
        subject: String,
        bytes: Vec<u8>,
        queue: &mut Queue<Outgoing>,
    ) {
        let is_connected = client.connection_state() == State::Connected;
        let dropped = match is_connected {
            false => 1,
            true => {
                match within(Instant::now() + LEAVE, client.publish(subject, bytes.into())).await {
                    Some(Ok(())) => 0,
                    Some(Err(_)) => 1,
                    None => 1 + std::iter::from_fn(|| queue.try_recv().ok()).count() as u64,
                }
            }
        };
        self.dropped.fetch_add(dropped, Ordering::Relaxed);
    }

    fn arrive(&self, message: &async_nats::Message) {
        // A subject without the name of an agent is none of the protocol's.
        let Some(from) = (self.sender)(message.subject.as_str()) else { return };
        let arrival = match codec::decode(&message.payload) {
            Ok(message) => Arrival::Message { from, message: Box::new(message) },
            Err(why) => Arrival::Unreadable { from, why },
        };
        put(&self.incoming, &self.dropped, arrival);
    }
}

/// A problem that the broker reports. That a request about the stream is not permitted is known by its missing
/// reply.
fn trouble(why: String) -> Option<Arrival> {
    let is_of_request = ["$JS.API.", "_INBOX."].iter().any(|subject| why.contains(subject));
    (!is_of_request).then_some(Arrival::Trouble(why))
}

/// Adds an arrival, unless the queue is full or the link is gone.
fn put(incoming: &SyncSender<Arrival>, dropped: &AtomicU64, arrival: Arrival) {
    if incoming.try_send(arrival).is_err() {
        dropped.fetch_add(1, Ordering::Relaxed);
    }
}

async fn within<T>(deadline: Instant, future: impl Future<Output = T>) -> Option<T> {
    timeout_at(deadline, future).await.ok()
}
