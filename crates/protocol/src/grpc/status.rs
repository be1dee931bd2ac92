//! The status of a call: from fields of trailers, or from the status of HTTP where there is none.

use candor_plan::CallForm;
use candor_record::ErrorKind;
use percent_encoding::percent_decode;

use super::error::Error;
use crate::session::Failure;

/// The status of a stream that the server reset with this error code, of HTTP/2 (gRPC's PROTOCOL-HTTP2, "Errors") or of
/// HTTP/3 (its proposal G2), which have none in common.
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
        0x100 => (INTERNAL, "H3_NO_ERROR"),
        0x101 => (INTERNAL, "H3_GENERAL_PROTOCOL_ERROR"),
        0x102 => (INTERNAL, "H3_INTERNAL_ERROR"),
        0x107 => (RESOURCE_EXHAUSTED, "H3_EXCESSIVE_LOAD"),
        0x10b => (UNAVAILABLE, "H3_REQUEST_REJECTED"),
        0x10c => (CANCELLED, "H3_REQUEST_CANCELLED"),
        0x10d => (INTERNAL, "H3_REQUEST_INCOMPLETE"),
        0x10e => (INTERNAL, "H3_MESSAGE_ERROR"),
        0x103..=0x110 => (INTERNAL, "another error of HTTP/3"),
        _ => (UNKNOWN, "another error"),
    };
    let message = format!("the server reset the stream: {name} ({code:#x})");
    Failure::Call { kind: kind(status), message: message.into() }
}

/// The status of a response without `grpc-status` (gRPC's "HTTP to gRPC Status Code Mapping").
pub(super) fn of_http(form: CallForm, status: u16) -> Failure {
    let code = match status {
        400 => INTERNAL,
        401 => UNAUTHENTICATED,
        403 => PERMISSION_DENIED,
        404 => UNIMPLEMENTED,
        429 | 502 | 503 | 504 => UNAVAILABLE,
        _ => UNKNOWN,
    };
    let what = if form == CallForm::Connect { "an error of Connect" } else { "a grpc-status" };
    let message = format!("the response is HTTP {status} without {what}");
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
    /// What the content type is.
    pub(super) content: Content,
    /// There is an encoding other than `identity`.
    pub(super) is_encoded: bool,
}

/// What a body is by its content type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Content {
    /// There is none.
    #[default]
    Missing,
    /// Anything else.
    Other,
    /// Messages of gRPC.
    Grpc,
    /// Messages of gRPC-Web.
    Web,
    /// The same in base64.
    WebText,
    /// A message alone.
    Message,
    /// JSON, which may be a message alone.
    Json,
    /// Messages of a stream of Connect.
    Connect,
    /// The same in JSON.
    ConnectJson,
}

/// What can be wrong with a `grpc-status`: one byte, since each head of a response has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It is not a number.
    Digits,
    /// There are two.
    Doubled,
    /// The end of the body that has it is not fields, or not JSON.
    End,
}

impl From<Wrong> for Error {
    fn from(wrong: Wrong) -> Self {
        match wrong {
            Wrong::Digits => Error::Status,
            Wrong::Doubled => Error::DoubledStatus,
            Wrong::End => Error::End,
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
                put(&percent_decode(value).decode_utf8_lossy(), message);
            }
            b"grpc-encoding" | b"content-encoding" | b"connect-content-encoding" => {
                self.is_encoded |= value != b"identity";
            }
            b"content-type" => self.content = content(value),
            _ => {}
        }
    }

    /// That there is this code.
    pub(super) fn of_code(code: u8) -> Self {
        Told { code: Some(code), ..Told::default() }
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

/// The text of a status, which goes to terminals.
pub(super) fn put(text: &str, message: &mut String) {
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    message.clear();
    message.extend(text.chars().take(MOST_MESSAGE_BYTES).map(shown));
}

/// The code with this name in Connect, such as `not_found`.
pub(super) fn name_code(name: &str) -> Option<u8> {
    const NAMES: [&str; 16] = [
        "canceled",
        "unknown",
        "invalid_argument",
        "deadline_exceeded",
        "not_found",
        "already_exists",
        "permission_denied",
        "resource_exhausted",
        "failed_precondition",
        "aborted",
        "out_of_range",
        "unimplemented",
        "internal",
        "unavailable",
        "data_loss",
        "unauthenticated",
    ];
    NAMES.iter().position(|one| *one == name).map(|at| at as u8 + 1)
}

/// What a content type is: of gRPC and gRPC-Web also with a `+` and more behind, of all with parameters.
fn content(value: &[u8]) -> Content {
    const TYPES: [(&[u8], Content); 7] = [
        (b"application/grpc", Content::Grpc),
        (b"application/grpc-web", Content::Web),
        (b"application/grpc-web-text", Content::WebText),
        (b"application/proto", Content::Message),
        (b"application/connect+proto", Content::Connect),
        (b"application/connect+json", Content::ConnectJson),
        (b"application/json", Content::Json),
    ];
    let is = |(name, content): &&(&[u8], Content)| {
        let Some((begin, rest)) = value.split_at_checked(name.len()) else { return false };
        let has_suffix = matches!(content, Content::Grpc | Content::Web | Content::WebText);
        begin.eq_ignore_ascii_case(name)
            && match rest.first() {
                None | Some(b';' | b' ') => true,
                Some(b'+') => has_suffix,
                _ => false,
            }
    };
    TYPES.iter().find(is).map_or(Content::Other, |(_, content)| *content)
}
