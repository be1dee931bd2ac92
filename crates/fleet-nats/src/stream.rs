//! The broker's stream: a copy of the messages of agents to their coordinators, by NATS' JetStream.
//!
//! The broker itself copies what passes, so agents know nothing of the stream and need no permission for it. Three
//! calls of JetStream's API are used, each of them a request with a bounded wait: a broker without JetStream says
//! so, and one that gives no permission says nothing. A fetch names the message that it wants by number, so the
//! broker keeps no state for a reader and a lost reply is fetched again.

use std::time::Duration;

use async_nats::Client;
use async_nats::client::RequestErrorKind;
use candor_fleet::{AgentName, RunId, codec};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::arrival::Arrival;
use crate::broker::sentence;
use crate::subjects;

/// The stream's name.
const NAME: &str = "candor";
/// The longest wait for the reply to a request.
const REPLY: Duration = Duration::from_secs(5);
/// How long a message is kept.
const AGE_S: u64 = 3600;
/// The most bytes in the stream; the oldest messages go first. A broker needs room for twice as much: the request
/// for a stream that is there reserves its bytes once more.
const MOST_BYTES: u64 = 512 << 20;
/// The error of JetStream for a stream of this name with other settings.
const OTHER_SETTINGS: u64 = 10058;

/// A request to the broker about its stream.
#[derive(Debug)]
pub(crate) enum Ask {
    /// Make the stream, if it is not there.
    Make,
    /// The first message of this agent to the coordinator of a run, behind this number.
    Fetch(RunId, AgentName, u64),
    /// Forget the messages of a run.
    Forget(RunId),
}

impl Ask {
    /// Makes the request; `None`: there is nothing to report.
    pub(crate) async fn make(self, client: Client) -> Option<Arrival> {
        let (call, body) = match &self {
            Ask::Make => ("STREAM.CREATE", settings()),
            Ask::Fetch(run, agent, after) => {
                let subject = subjects::of_run(*run, agent);
                let first = after.saturating_add(1);
                ("DIRECT.GET", json!({ "seq": first, "next_by_subj": subject }))
            }
            Ask::Forget(run) => ("STREAM.PURGE", json!({ "filter": subjects::of_run(*run, "*") })),
        };
        let asked = client.request(format!("$JS.API.{call}.{NAME}"), body.to_string().into());
        let reply = timeout_at(Instant::now() + REPLY, asked).await;
        match self {
            Ask::Make => Some(Arrival::Stream(match reply {
                Ok(Ok(reply)) => made(&reply.payload),
                Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => {
                    Err("it has no JetStream".to_owned())
                }
                Ok(Err(error)) => Err(sentence(&error)),
                Err(_) => Err("it does not let the operator use JetStream".to_owned()),
            })),
            Ask::Fetch(_, agent, after) => {
                let found = match reply {
                    Ok(Ok(reply)) => number(&reply)
                        .map(|number| (number, codec::decode(&reply.payload).map(Box::new))),
                    Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => None,
                    // The process that waits for it asks again.
                    Ok(Err(_)) | Err(_) => return None,
                };
                Some(Arrival::Stored { agent, after, found })
            }
            Ask::Forget(_) => None,
        }
    }
}

/// The settings of the stream. It acknowledges nothing: an acknowledgement would go to the subject that the sender
/// of a message names, with the permissions of the broker.
fn settings() -> Value {
    json!({
        "name": NAME,
        "subjects": [subjects::EVERY_RUN],
        "storage": "file",
        "retention": "limits",
        "discard": "old",
        "max_age": AGE_S * 1_000_000_000,
        "max_bytes": MOST_BYTES,
        "max_msg_size": codec::MOST_BYTES,
        "num_replicas": 1,
        "no_ack": true,
        "allow_direct": true,
    })
}

/// Whether there is a stream now, by the reply to the request for it.
fn made(reply: &[u8]) -> Result<(), String> {
    let reply: Value = serde_json::from_slice(reply).map_err(|error| error.to_string())?;
    let Some(error) = reply.get("error") else { return Ok(()) };
    match error["err_code"].as_u64() {
        // The owner of the broker has other limits in mind.
        Some(OTHER_SETTINGS) => Ok(()),
        _ => Err(error["description"].as_str().unwrap_or("it made no stream").to_owned()),
    }
}

/// The number of a fetched message; a reply without it is that there is none.
fn number(reply: &async_nats::Message) -> Option<u64> {
    reply.headers.as_ref()?.get("Nats-Sequence")?.as_str().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_is_there_is_used() {
        assert_eq!(
            made(b"{\"type\": \"io.nats.jetstream.api.v1.stream_create_response\"}"),
            Ok(())
        );
        assert_eq!(made(b"{\"error\": {\"code\": 400, \"err_code\": 10058}}"), Ok(()));
        let full = b"{\"error\": {\"err_code\": 10047, \"description\": \"insufficient storage\"}}";
        assert_eq!(made(full), Err("insufficient storage".to_owned()));
        assert!(made(b"{\"error\": {}}").is_err() && made(b"no").is_err());
    }
}
