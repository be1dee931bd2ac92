//! Messages of a call in its body, each after a flag and a length
//! (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>), and how a call ends.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

use crate::connection::Connection;
use crate::received::Received;
use crate::route::Route;

/// The largest message that is read: the default of most servers.
const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// The flag and the length before a message.
const PREFIX_BYTES: usize = 5;

/// How a call ends: one of gRPC's codes, and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: u32,
    pub(crate) message: String,
}

impl Status {
    pub(crate) const INVALID_ARGUMENT: u32 = 3;
    pub(crate) const DEADLINE_EXCEEDED: u32 = 4;
    pub(crate) const NOT_FOUND: u32 = 5;
    pub(crate) const RESOURCE_EXHAUSTED: u32 = 8;
    pub(crate) const UNIMPLEMENTED: u32 = 12;
    pub(crate) const INTERNAL: u32 = 13;

    pub(crate) fn new(code: u32, message: impl Into<String>) -> Self {
        Status { code, message: message.into() }
    }

    /// The status that a message asks for.
    pub(crate) fn asked(code: u32) -> Self {
        let message = if code == 0 { "" } else { "as the request asks" };
        Status::new(code, message)
    }

    /// Its fields, for trailers or for a header that is all of the response.
    pub(crate) fn fields(&self) -> HeaderMap {
        let mut fields = HeaderMap::new();
        fields.insert(HeaderName::from_static("grpc-status"), HeaderValue::from(self.code));
        if !self.message.is_empty() {
            let mut encoded = String::new();
            for byte in self.message.bytes() {
                // Everything but printable ASCII without %.
                match byte {
                    b' '..=b'$' | b'&'..=b'~' => encoded.push(byte.into()),
                    _ => drop(write!(encoded, "%{byte:02X}")),
                }
            }
            if let Ok(value) = HeaderValue::from_str(&encoded) {
                fields.insert(HeaderName::from_static("grpc-message"), value);
            }
        }
        fields
    }
}

/// A message as it travels, not compressed.
pub(crate) fn frame(message: &[u8]) -> Bytes {
    let mut framed = Vec::with_capacity(PREFIX_BYTES + message.len());
    framed.push(0);
    // Messages are echoes of what was read, or shorter: a u32 holds their lengths.
    framed.extend_from_slice(&(message.len() as u32).to_be_bytes());
    framed.extend_from_slice(message);
    framed.into()
}

/// The messages of a request's body.
pub(crate) struct Messages {
    body: Received,
    read: BytesMut,
    route: Route,
    connection: Arc<Connection>,
}

impl Messages {
    pub(crate) fn new(body: Received, route: Route, connection: Arc<Connection>) -> Self {
        Messages { body, read: BytesMut::new(), route, connection }
    }

    /// The next message; `None` at the end of the body. May be dropped before it is done.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        loop {
            if let Some(message) = take_message(&mut self.read)? {
                self.connection.part_received(self.route);
                return Ok(Some(message));
            }
            let frame = match self.body.frame().await {
                Some(frame) => frame,
                None if self.read.is_empty() => return Ok(None),
                None => return Err(Status::new(Status::INTERNAL, "the body ends in a message")),
            };
            let broke_off = |_| Status::new(Status::INTERNAL, "the body broke off");
            if let Ok(data) = frame.map_err(broke_off)?.into_data() {
                self.connection.body_bytes(data.len() as u64);
                self.read.extend_from_slice(&data);
            }
        }
    }

    /// The only message.
    pub(crate) async fn only(&mut self) -> Result<Bytes, Status> {
        let invalid = |says: &str| Status::new(Status::INTERNAL, says);
        let message = self.next().await?.ok_or_else(|| invalid("the request has no message"))?;
        match self.next().await? {
            None => Ok(message),
            Some(_) => Err(invalid("the request has more than one message")),
        }
    }
}

/// Takes a message from the beginning of what was read, if it is there in full.
fn take_message(read: &mut BytesMut) -> Result<Option<Bytes>, Status> {
    let Some(&[flag, a, b, c, d]) = read.first_chunk() else { return Ok(None) };
    if flag != 0 {
        let says = "compressed messages are not supported: grpc-accept-encoding is identity";
        return Err(Status::new(Status::UNIMPLEMENTED, says));
    }
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if length > MAX_MESSAGE_BYTES {
        let says = format!("a message of {length} bytes; the most is {MAX_MESSAGE_BYTES}");
        return Err(Status::new(Status::RESOURCE_EXHAUSTED, says));
    }
    if read.len() < PREFIX_BYTES + length {
        return Ok(None);
    }
    read.advance(PREFIX_BYTES);
    Ok(Some(read.split_to(length).freeze()))
}

/// `grpc-timeout`: at most eight digits and a unit.
///
/// # Errors
///
/// The value is not one.
pub(crate) fn timeout(headers: &HeaderMap) -> Result<Option<Duration>, Status> {
    let Some(value) = headers.get("grpc-timeout") else { return Ok(None) };
    let invalid = || {
        let says = format!("grpc-timeout {value:?} is not one; write for example 100m");
        Status::new(Status::INVALID_ARGUMENT, says)
    };
    let text = value.to_str().map_err(|_| invalid())?;
    let (digits, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(invalid)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid());
    }
    let number: u64 = digits.parse().map_err(|_| invalid())?;
    Ok(Some(match unit {
        "H" => Duration::from_secs(number * 3600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return Err(invalid()),
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all_of(pieces: &[&[u8]]) -> Result<Vec<Bytes>, Status> {
        let (mut read, mut messages) = (BytesMut::new(), vec![]);
        for piece in pieces {
            read.extend_from_slice(piece);
            while let Some(message) = take_message(&mut read)? {
                messages.push(message);
            }
        }
        Ok(messages)
    }

    proptest! {
        #[test]
        fn whole_and_byte_by_byte_are_the_same(
            bytes in proptest::collection::vec(0u8..4, 0..64),
        ) {
            let single: Vec<_> = bytes.chunks(1).collect();
            prop_assert_eq!(all_of(&[&bytes]), all_of(&single));
        }

        #[test]
        fn what_is_framed_is_taken(
            messages in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 0..5),
        ) {
            let framed: Vec<u8> = messages.iter().flat_map(|message| frame(message)).collect();
            prop_assert_eq!(all_of(&[&framed]).unwrap(), messages);
        }
    }

    #[test]
    fn what_is_too_large_or_compressed_is_refused_at_its_prefix() {
        let code = |prefix: [u8; 5]| all_of(&[&prefix]).map_err(|status| status.code);
        assert_eq!(code([1, 0, 0, 0, 0]), Err(Status::UNIMPLEMENTED));
        assert_eq!(code([0, 255, 255, 255, 255]), Err(Status::RESOURCE_EXHAUSTED));
        assert_eq!(code([0, 0, 0x40, 0, 1]), Err(Status::RESOURCE_EXHAUSTED));
        assert_eq!(code([0, 0, 0x40, 0, 0]), Ok(vec![]));
    }

    #[test]
    fn timeouts_are_read() {
        let read = |text: &'static str| {
            timeout(&HeaderMap::from_iter([(
                HeaderName::from_static("grpc-timeout"),
                HeaderValue::from_static(text),
            )]))
        };
        assert_eq!(read("100m"), Ok(Some(Duration::from_millis(100))));
        assert_eq!(read("99999999H"), Ok(Some(Duration::from_secs(99_999_999 * 3600))));
        for wrong in ["", "1", "m", "-1m", "123456789n", "1x", "1.5S", "1 m"] {
            assert_eq!(read(wrong).map_err(|status| status.code), Err(3), "{wrong}");
        }
        assert_eq!(timeout(&HeaderMap::new()), Ok(None));
    }

    #[test]
    fn sentences_are_encoded() {
        let fields = Status::new(3, "100 % ü\n").fields();
        assert_eq!(fields["grpc-message"], "100 %25 %C3%BC%0A");
        assert_eq!(fields["grpc-status"], "3");
        assert!(Status::asked(0).fields().get("grpc-message").is_none());
    }
}
