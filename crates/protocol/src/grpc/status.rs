//! The status of a call: from fields of trailers, or from the status of HTTP where there is none.

use candor_record::ErrorKind;
use percent_encoding::percent_decode;

use super::error::Error;
use crate::session::Failure;

/// The status of a stream that the server reset with this error code of HTTP/2 (gRPC's PROTOCOL-HTTP2, "Errors").
pub(crate) fn of_reset(code: u32) -> Failure {
    let (status, name) = match code {
        0x0 => (INTERNAL, "NO_ERROR"),
        0x1 => (INTERNAL, "PROTOCOL_ERROR"),
        0x2 => (INTERNAL, "INTERNAL_ERROR"),
        0x3 => (INTERNAL, "FLOW_CONTROL_ERROR"),
        0x4 => (INTERNAL, "SETTINGS_TIMEOUT"),
        0x6 => (INTERNAL, "FRAME_SIZE_ERROR"),
        0x7 => (UNAVAILABLE, "REFUSED_STREAM"),
        0x8 => (CANCELLED, "CANCEL"),
        0x9 => (INTERNAL, "COMPRESSION_ERROR"),
        0xa => (INTERNAL, "CONNECT_ERROR"),
        0xb => (RESOURCE_EXHAUSTED, "ENHANCE_YOUR_CALM"),
        0xc => (PERMISSION_DENIED, "INADEQUATE_SECURITY"),
        _ => (UNKNOWN, "another error"),
    };
    let message = format!("the server reset the stream: {name} ({code:#x})");
    Failure::Call { kind: kind(status), message: message.into() }
}

/// The status of a response without `grpc-status` (gRPC's "HTTP to gRPC Status Code Mapping").
pub(super) fn of_http(status: u16) -> Failure {
    let code = match status {
        400 => INTERNAL,
        401 => UNAUTHENTICATED,
        403 => PERMISSION_DENIED,
        404 => UNIMPLEMENTED,
        429 | 502 | 503 | 504 => UNAVAILABLE,
        _ => UNKNOWN,
    };
    let message = format!("the response is HTTP {status} without a grpc-status");
    Failure::Call { kind: kind(code), message: message.into() }
}

const CANCELLED: u8 = 1;
const UNKNOWN: u8 = 2;
const PERMISSION_DENIED: u8 = 7;
const RESOURCE_EXHAUSTED: u8 = 8;
const UNIMPLEMENTED: u8 = 12;
const INTERNAL: u8 = 13;
const UNAVAILABLE: u8 = 14;
const UNAUTHENTICATED: u8 = 16;

/// The kind of a code other than `OK`. Codes that gRPC does not have are `UNKNOWN`, as its clients have it.
pub(super) fn kind(code: u8) -> ErrorKind {
    ErrorKind::of_grpc(code).unwrap_or(ErrorKind::GrpcUnknown)
}

/// What a block of header fields says about a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// The first `grpc-status`; 255 for codes beyond.
    pub(super) code: Option<u8>,
    /// What is wrong with it.
    pub(super) wrong: Option<Wrong>,
    /// The content type is one of gRPC.
    pub(super) is_grpc: bool,
    /// There is a `grpc-encoding` other than `identity`.
    pub(super) is_encoded: bool,
}

/// What can be wrong with a `grpc-status`: one byte, since each head of a response has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It is not a number.
    Digits,
    /// There are two.
    Doubled,
}

impl From<Wrong> for Error {
    fn from(wrong: Wrong) -> Self {
        match wrong {
            Wrong::Digits => Error::Status,
            Wrong::Doubled => Error::DoubledStatus,
        }
    }
}

/// The longest `grpc-message` that is read, encoded.
const MOST_MESSAGE_BYTES: usize = 1024;

impl Told {
    /// Takes a field; `message` becomes the text of `grpc-message`.
    pub(crate) fn take(&mut self, name: &[u8], value: &[u8], message: &mut String) {
        match name {
            b"grpc-status" => match code(value) {
                None => self.wrong = self.wrong.or(Some(Wrong::Digits)),
                Some(_) if self.code.is_some() => self.wrong = Some(Wrong::Doubled),
                code => self.code = code,
            },
            b"grpc-message" => {
                let value = &value[..value.len().min(MOST_MESSAGE_BYTES)];
                let text = percent_decode(value).decode_utf8_lossy();
                // The text goes to terminals.
                let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
                *message = text.chars().map(shown).collect();
            }
            b"grpc-encoding" => self.is_encoded = value != b"identity",
            b"content-type" => self.is_grpc = is_grpc(value),
            _ => {}
        }
    }

    /// Whether a block with the same bytes says the same: one with a message of the server's does not.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.code, None | Some(0))
    }
}

/// Decimal digits; 255 for numbers that no code is.
fn code(value: &[u8]) -> Option<u8> {
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let next = |code: u8, digit: &u8| code.saturating_mul(10).saturating_add(digit - b'0');
    digits.then(|| value.iter().fold(0, next))
}

/// `application/grpc`, or with a `+` or a `;` and more behind.
fn is_grpc(value: &[u8]) -> bool {
    const TYPE: &[u8] = b"application/grpc";
    let Some((begin, rest)) = value.split_at_checked(TYPE.len()) else { return false };
    begin.eq_ignore_ascii_case(TYPE) && matches!(rest.first(), None | Some(b'+' | b';' | b' '))
}
