//! Unary calls of gRPC, each over a connection of HTTP/2 of its own (gRPC's PROTOCOL-HTTP2). The protocol is the one of
//! runs; where a connection leads, and when a call is made again, is not known here.

use std::io::{self, IoSlice, Read, Write};
use std::time::Duration;

use candor_grpc::decode_text;
use candor_plan::url::HttpUrl;
use candor_plan::{BodyExpect, Expect, StatusSet};
use candor_protocol::grpc::Limits;
use candor_protocol::h2::{Parts, Prepared, Session, Settings};
use candor_protocol::{
    Capture, CaptureRoom, Codings, Event, Failure, Input, Keep, Outgoing, Session as _,
};
use candor_record::ErrorKind;

use super::message::{Value, fields, messages};
use super::post::{Failed, RESPONSE_BYTES, Response, field};

/// What is in front of a message: that it is not compressed, and its length.
const PREFIX_BYTES: usize = 5;
/// The details of a status, and the one of them that says when to call again.
const DETAILS: &str = "grpc-status-details-bin";
const RETRY_INFO: &[u8] = b"type.googleapis.com/google.rpc.RetryInfo";

/// A method of a service.
pub(super) struct Method {
    scheme: &'static str,
    authority: String,
    path: String,
    headers: Vec<(String, String)>,
}

impl Method {
    /// The method at this URL. `lines` are header lines, each with its end.
    pub(super) fn new(url: &HttpUrl, lines: &str) -> Self {
        let own = [("Content-Type", "application/grpc"), ("TE", "trailers")];
        let more = lines.lines().filter_map(|line| line.split_once(": "));
        let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Method {
            scheme: if url.is_https { "https" } else { "http" },
            authority: url.authority.clone(),
            path: url.path.clone(),
            headers: own.into_iter().chain(more).map(pair).collect(),
        }
    }

    /// Calls it with a message. The body of the response is the message of the server.
    pub(super) fn call(
        &self,
        mut stream: impl Read + Write,
        message: &[u8],
    ) -> Result<Response, Failed> {
        let mut session = self.session(message);
        let (mut has_called, mut part) = (false, [0; 4096]);
        loop {
            transmit(&mut session, &mut stream)?;
            let count = stream.read(&mut part)?;
            if let Some(outcome) = hear(&mut session, &part[..count]) {
                session.handle_close();
                // A goodbye that fails changes nothing.
                let _ = transmit(&mut session, &mut stream);
                return outcome;
            }
            if count == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            if !has_called && session.free_places() > 0 {
                session.handle_request(0, Outgoing::Listed(0));
                has_called = true;
            }
        }
    }

    /// A session for one call.
    fn session(&self, message: &[u8]) -> Session {
        let headers = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let headers: Vec<(&str, &str)> = headers.collect();
        let Method { scheme, authority, path, .. } = self;
        let parts = Parts { method: "POST", scheme, authority, path, headers: &headers };
        let length = u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes();
        let body = [&[0], &length[..], message].concat().into();
        // The status of the call says whether the response is the expected one.
        let expect = Expect { status: StatusSet::below_400(), body: BodyExpect::Any };
        let request = Prepared::new(&parts, body, expect);
        let mut session = Session::new([request].into(), Settings::default());
        let kept = [Keep::Beginning].into();
        session.capture(&CaptureRoom::for_requests(kept, Codings::Kept, RESPONSE_BYTES, 1));
        session.calls(Limits { one_message: true, ..Limits::default() });
        session
    }
}

fn transmit(session: &mut Session, stream: &mut (impl Read + Write)) -> io::Result<()> {
    loop {
        let mut slices = [IoSlice::new(&[]); 4];
        let used = session.poll_transmit(0, &mut slices);
        let mut written = 0;
        for slice in used.of(&slices) {
            stream.write_all(slice)?;
            written += slice.len();
        }
        if written == 0 {
            return stream.flush();
        }
        session.handle_transmitted(0, written, &mut |_| {});
    }
}

/// Hands on what came, nothing at the end of the connection: the outcome of the call, if it has one.
fn hear(session: &mut Session, came: &[u8]) -> Option<Result<Response, Failed>> {
    if came.is_empty() {
        session.handle_end();
    }
    let mut input = Input::Stream(came);
    loop {
        let event = match came {
            [] => session.poll_event(),
            _ => session.handle_input(0, &mut input),
        };
        match event? {
            Event::Done(_) => {
                let body = session.take_captured().and_then(|one| {
                    let message = one.get().body.get(PREFIX_BYTES..)?;
                    Some(message.to_vec())
                });
                return Some(Ok(Response::of_call(body.unwrap_or_default())));
            }
            Event::Failed { failure, .. } | Event::RequestFailed { failure, .. } => {
                return Some(Err(failed(&failure, session.take_captured())));
            }
            _ => {}
        }
    }
}

/// Whether the receiver decided, by <https://opentelemetry.io/docs/specs/otlp/#failures>, and when it may be called again.
fn failed(failure: &Failure, response: Option<Capture>) -> Failed {
    use ErrorKind::{
        GrpcAborted, GrpcCancelled, GrpcDataLoss, GrpcDeadlineExceeded, GrpcNoStatus,
        GrpcOutOfRange, GrpcResourceExhausted, GrpcUnavailable,
    };
    let (kind, reason) = failure.words();
    let pause = response.and_then(|one| pause(one.get().fields));
    let is_final = match kind {
        GrpcCancelled | GrpcDeadlineExceeded | GrpcAborted | GrpcOutOfRange | GrpcUnavailable
        | GrpcDataLoss | GrpcNoStatus => false,
        GrpcResourceExhausted => pause.is_none(),
        // Others are of the connection.
        _ => matches!(failure, Failure::Call { .. }),
    };
    Failed { is_final, why: reason.words.to_string(), pause }
}

/// The pause that the header fields of a response ask for. Those of a failed call are its trailers too.
fn pause(header: &[u8]) -> Option<Duration> {
    let mut text = field(&String::from_utf8_lossy(header), DETAILS)?.as_bytes().to_vec();
    // The padding may be left out.
    text.resize(text.len().next_multiple_of(4), b'=');
    let status = decode_text(&text)?;
    messages(&status).filter(|(field, _)| *field == 3).find_map(|(_, detail)| {
        let part = |number| messages(detail).find(|(field, _)| *field == number);
        part(1).filter(|(_, name)| *name == RETRY_INFO)?;
        let delay = messages(part(2)?.1).find(|(field, _)| *field == 1)?.1;
        let number = |number| {
            fields(delay).find_map(|one| match one {
                (field, Value::Number(value)) if field == number => Some(value),
                _ => None,
            })
        };
        let (seconds, nanos) = (number(1).unwrap_or_default(), number(2).unwrap_or_default());
        Some(Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanos)))
    })
}

#[cfg(test)]
mod tests {
    use candor_plan::escape::Escape;

    use super::super::message::Message;
    use super::*;

    /// Header lines of a status with these details.
    fn header(details: &[(&[u8], Message)]) -> Vec<u8> {
        let status = Message::default().count(1, 8).bytes(2, b"full");
        let status = details.iter().fold(status, |status, (name, detail)| {
            let any = Message::default().bytes(1, name).bytes(2, &detail.clone().finish());
            status.message(3, any)
        });
        let mut lines = b"grpc-status: 8\r\ngrpc-status-details-bin: ".to_vec();
        Escape::Base64.write(&status.finish(), &mut lines);
        while lines.pop_if(|last| *last == b'=').is_some() {}
        lines.extend(b"\r\n");
        lines
    }

    fn delay(seconds: u64, nanos: u64) -> Message {
        let delay = Message::default().count(1, seconds).count(2, nanos);
        Message::default().message(1, delay)
    }

    #[test]
    fn a_status_says_when_to_call_again() {
        let other: &[u8] = b"type.googleapis.com/google.rpc.ErrorInfo";
        for (details, expected) in [
            (&[(RETRY_INFO, delay(2, 500_000_000))][..], Some(Duration::from_millis(2500))),
            (&[(other, delay(9, 0)), (RETRY_INFO, delay(0, 1))], Some(Duration::from_nanos(1))),
            (&[(RETRY_INFO, delay(u64::MAX, 0))], Some(Duration::from_secs(u64::MAX))),
            (&[(RETRY_INFO, Message::default())], None),
            (&[(other, delay(9, 0))], None),
            (&[], None),
        ] {
            assert_eq!(pause(&header(details)), expected, "{details:?}");
        }
        for nothing in ["", "grpc-status-details-bin: x\r\n", "grpc-status-details-bin: ////\r\n"] {
            assert_eq!(pause(nothing.as_bytes()), None, "{nothing}");
        }
    }
}
