//! gRPC: the service `candor.Echo` of `proto/candor/echo.proto`, and server reflection.
//!
//! A request comes as HTTP, and its response goes back to the caller. Messages are
//! not compressed, have 4 MiB at most, and are read only when there is room for them.

mod framing;
mod reflection;
mod wire;

pub use reflection::DESCRIPTORS;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, Version};
use tokio::time::Instant;

use crate::alarm::Alarm;
use crate::answer::Answer;
use crate::body::Content;
use crate::connection::Connection;
use crate::origin::{Origin, Part};
use crate::produced::{End, Out};
use crate::received::Received;
use crate::route::Route;
use crate::timetable::Timetable;
use crate::waiting::Waiting;
use framing::{Messages, Status, frame};
use wire::Message;

/// Whether a request is a call, for this service or another: gRPC over HTTP/2 or HTTP/3.
pub(crate) fn is_call(head: &Parts) -> bool {
    let kind = head.headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let rest = kind.strip_prefix(b"application/grpc");
    head.version >= Version::HTTP_2
        && rest.is_some_and(|rest| matches!(rest, [] | [b'+' | b';', ..]))
}

/// The response to a call of a method that does not exist.
pub(crate) fn unknown_method() -> Answer {
    trailers_only(&Status::new(Status::UNIMPLEMENTED, "no such method"))
}

/// The response to a call.
pub(crate) async fn answer(
    route: Route,
    headers: &HeaderMap,
    body: Received,
    connection: &Arc<Connection>,
) -> Answer {
    let origin = connection.begin(route);
    let deadline = match framing::timeout(headers) {
        Ok(timeout) => Deadline(timeout.map(|timeout| Instant::now() + timeout)),
        Err(status) => return trailers_only(&status),
    };
    let mut messages = Messages::new(body, route, Arc::clone(connection));
    let begun = match route {
        Route::GrpcUnary => deadline.meet(unary(&mut messages, origin)).await.map(Begun::One),
        Route::GrpcClientStream => {
            deadline.meet(client_stream(&mut messages, origin)).await.map(Begun::One)
        }
        Route::GrpcServerStream => deadline.meet(asked(&mut messages)).await.map(Begun::Stream),
        Route::GrpcBidi => Ok(Begun::Bidi),
        _ => Ok(Begun::Reflection),
    };
    let begun = match begun {
        Ok(begun) => begun,
        Err(status) => return trailers_only(&status),
    };
    let content = Content::produced(move |out| async move {
        let outcome = deadline.meet(async {
            match begun {
                Begun::One((part, reply)) => send(&out, part, reply).await,
                Begun::Stream(request) => return server_stream(request, origin, &out).await,
                Begun::Bidi => return bidi(&mut messages, origin, &out).await,
                Begun::Reflection => return reflect(&mut messages, origin, &out).await,
            }
            Ok(())
        });
        let status = outcome.await.err().unwrap_or_else(|| Status::asked(0));
        End::Trailers(status.fields())
    });
    with_type(Response::new(content))
}

/// A call whose response has begun, as far as it was known before.
enum Begun {
    One((Part, Message)),
    Stream(Message),
    Bidi,
    Reflection,
}

async fn unary(messages: &mut Messages, origin: Origin) -> Result<(Part, Message), Status> {
    let request = Message::decode(messages.only().await?).map_err(malformed)?;
    let due = Duration::from_nanos(request.every_ns);
    let part = origin.part(0, due).due(&Alarm::default()).await;
    if request.status != 0 {
        return Err(Status::asked(request.status));
    }
    Ok((part, request))
}

async fn client_stream(messages: &mut Messages, origin: Origin) -> Result<(Part, Message), Status> {
    let mut sum = Message::default();
    while let Some(message) = messages.next().await? {
        let message = Message::decode(message).map_err(malformed)?;
        if message.status != 0 {
            return Err(Status::asked(message.status));
        }
        sum.count = sum.count.wrapping_add(1);
        sum.bytes += message.payload.len() as u64;
    }
    let end = Origin::now(origin.route, origin.stream);
    Ok((end.part(0, Duration::ZERO), sum))
}

/// What a call with one request asks for: a status instead of messages is the whole response.
async fn asked(messages: &mut Messages) -> Result<Message, Status> {
    let request = Message::decode(messages.only().await?).map_err(malformed)?;
    if request.count == 0 && request.status != 0 {
        return Err(Status::asked(request.status));
    }
    Ok(request)
}

async fn server_stream(request: Message, origin: Origin, out: &Out) -> Result<(), Status> {
    let every = Duration::from_nanos(request.every_ns);
    let times = Timetable { every, ..Timetable::default() };
    let alarm = Alarm::default();
    for seq in 0..u64::from(request.count) {
        let part = origin.part(seq, times.due(seq)).due(&alarm).await;
        let payload = request.payload.clone();
        send(out, part, Message { payload, seq, ..Message::default() }).await;
    }
    ended(request.status)
}

async fn bidi(messages: &mut Messages, origin: Origin, out: &Out) -> Result<(), Status> {
    let mut waiting = Waiting::new();
    let (mut index, mut status, mut open) = (0, 0, true);
    while open || !waiting.is_empty() {
        let reads = open && waiting.has_room();
        let next =
            async { if reads { messages.next().await } else { std::future::pending().await } };
        let read = match select(pin!(waiting.due()), pin!(next)).await {
            Either::Left(_) => None,
            Either::Right((read, _)) => Some(read?),
        };
        match read {
            None => {
                if let Some((part, message)) = waiting.pop() {
                    send(out, part, message).await;
                }
            }
            Some(None) => open = false,
            Some(Some(bytes)) => {
                let length = bytes.len();
                let message = Message::decode(bytes).map_err(malformed)?;
                let came = Origin::now(origin.route, origin.stream);
                let part = came.part(index, Duration::from_nanos(message.every_ns));
                (index, status) = (index + 1, message.status);
                open = status == 0;
                waiting.push(part, message, length);
            }
        }
    }
    ended(status)
}

async fn reflect(messages: &mut Messages, origin: Origin, out: &Out) -> Result<(), Status> {
    let mut index = 0;
    while let Some(request) = messages.next().await? {
        let response = reflection::respond(request)?;
        let came = Origin::now(origin.route, origin.stream);
        out.part(frame(&response), came.part(index, Duration::ZERO)).await;
        index += 1;
    }
    Ok(())
}

async fn send(out: &Out, part: Part, message: Message) {
    let message = Message { due_ns: part.due_ns, ..message };
    out.part(frame(&message.encode()), part).await;
}

fn ended(status: u32) -> Result<(), Status> {
    if status == 0 { Ok(()) } else { Err(Status::asked(status)) }
}

fn malformed(says: &'static str) -> Status {
    Status::new(Status::INTERNAL, says)
}

/// A response that is a header with a status.
fn trailers_only(status: &Status) -> Answer {
    let mut answer = Response::new(Content::Empty);
    answer.headers_mut().extend(status.fields());
    with_type(answer)
}

fn with_type(mut answer: Answer) -> Answer {
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    answer
}

/// When a call has to be over, if ever.
#[derive(Clone, Copy)]
struct Deadline(Option<Instant>);

impl Deadline {
    async fn meet<T>(self, work: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
        let Some(at) = self.0 else { return work.await };
        let late = |_| Err(Status::new(Status::DEADLINE_EXCEEDED, "grpc-timeout is over"));
        tokio::time::timeout_at(at, work).await.unwrap_or_else(late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_by_their_type_over_http_2() {
        let call = |version, kind: &str| {
            let request = hyper::Request::builder().version(version).header(CONTENT_TYPE, kind);
            is_call(&request.body(()).unwrap().into_parts().0)
        };
        for kind in ["application/grpc", "application/grpc+proto", "application/grpc;x=y"] {
            assert!(call(Version::HTTP_2, kind), "{kind}");
            assert!(!call(Version::HTTP_11, kind), "{kind}");
        }
        for kind in ["application/grpc-web", "application/json", ""] {
            assert!(!call(Version::HTTP_2, kind), "{kind}");
        }
    }
}
