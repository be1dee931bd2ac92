//! Everything that can go wrong with a request or a connection, as values.
//!
//! They stay enums until they are printed. Each kind has a stable id, used in JSON and text, and
//! a sentence.

use serde::{Deserialize, Serialize};

use crate::add;
use crate::figure::Figure;

/// How a request that was sent can fail. Each sent request ends in exactly one way: as ok, with one
/// of these errors, broken off by us, or unfinished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum ErrorKind {
    /// A complete response with an unexpected status.
    Status,
    /// A complete response with an unexpected body.
    Body,
    /// No complete response within the request timeout.
    Timeout,
    /// No byte for longer than the idle timeout while a response was awaited.
    IdleTimeout,
    /// The connection was closed before the first byte of the response.
    Closed,
    /// The connection was closed in the middle of the response.
    Truncated,
    /// The connection was reset.
    Reset,
    /// The response was not valid HTTP, or larger than a bound.
    Malformed,
    /// The request could not be written, for another reason than a reset.
    Write,
    /// The connection was closed because of another request on it.
    Aborted,
    /// The server gave up this request alone (HTTP/2 RST_STREAM).
    StreamReset,
    /// The server announced that it did not process the request (HTTP/2 GOAWAY, REFUSED_STREAM).
    NotProcessed,
    /// The response was longer than scripts or captures may read.
    BodyLimit,
    /// A stream of events ended in the middle, after its first event.
    StreamCut,
    /// A stream of events had one that is an error.
    StreamError,
    /// A stream of events ended without the event that ends it.
    StreamUnended,
    /// A stream of events was asked for, and the response is none.
    NoStream,
    /// A call of gRPC ended with the status `CANCELLED`.
    GrpcCancelled,
    /// A call of gRPC ended with the status `UNKNOWN`.
    GrpcUnknown,
    /// A call of gRPC ended with the status `INVALID_ARGUMENT`.
    GrpcInvalidArgument,
    /// A call of gRPC ended with the status `DEADLINE_EXCEEDED`.
    GrpcDeadlineExceeded,
    /// A call of gRPC ended with the status `NOT_FOUND`.
    GrpcNotFound,
    /// A call of gRPC ended with the status `ALREADY_EXISTS`.
    GrpcAlreadyExists,
    /// A call of gRPC ended with the status `PERMISSION_DENIED`.
    GrpcPermissionDenied,
    /// A call of gRPC ended with the status `RESOURCE_EXHAUSTED`.
    GrpcResourceExhausted,
    /// A call of gRPC ended with the status `FAILED_PRECONDITION`.
    GrpcFailedPrecondition,
    /// A call of gRPC ended with the status `ABORTED`.
    GrpcAborted,
    /// A call of gRPC ended with the status `OUT_OF_RANGE`.
    GrpcOutOfRange,
    /// A call of gRPC ended with the status `UNIMPLEMENTED`.
    GrpcUnimplemented,
    /// A call of gRPC ended with the status `INTERNAL`.
    GrpcInternal,
    /// A call of gRPC ended with the status `UNAVAILABLE`.
    GrpcUnavailable,
    /// A call of gRPC ended with the status `DATA_LOSS`.
    GrpcDataLoss,
    /// A call of gRPC ended with the status `UNAUTHENTICATED`.
    GrpcUnauthenticated,
    /// The response to a call of gRPC has no status.
    GrpcNoStatus,
    /// A redirect to a host that is no target of the plan.
    RedirectElsewhere,
    /// A redirect after as many as are followed in a row.
    RedirectLimit,
    /// A redirect whose Location cannot be followed.
    RedirectUnusable,
    /// Its body is looked into, and has a content coding that was not asked for.
    CodingUnasked,
    /// Its body is not valid in its content coding.
    CodingDamaged,
    /// Its body ends in the middle of its content coding.
    CodingTruncated,
    /// Its body goes on after the end of its content coding.
    CodingTrailing,
    /// Its body decodes to more than a bound.
    CodingLimit,
    /// It lacks a value that a journey's step captures.
    Capture,
}

impl ErrorKind {
    /// Every kind, in the order of reports.
    pub const ALL: [ErrorKind; 43] = [
        ErrorKind::Status,
        ErrorKind::Body,
        ErrorKind::Timeout,
        ErrorKind::IdleTimeout,
        ErrorKind::Closed,
        ErrorKind::Truncated,
        ErrorKind::Reset,
        ErrorKind::Malformed,
        ErrorKind::Write,
        ErrorKind::Aborted,
        ErrorKind::StreamReset,
        ErrorKind::NotProcessed,
        ErrorKind::BodyLimit,
        ErrorKind::StreamCut,
        ErrorKind::StreamError,
        ErrorKind::StreamUnended,
        ErrorKind::NoStream,
        ErrorKind::GrpcCancelled,
        ErrorKind::GrpcUnknown,
        ErrorKind::GrpcInvalidArgument,
        ErrorKind::GrpcDeadlineExceeded,
        ErrorKind::GrpcNotFound,
        ErrorKind::GrpcAlreadyExists,
        ErrorKind::GrpcPermissionDenied,
        ErrorKind::GrpcResourceExhausted,
        ErrorKind::GrpcFailedPrecondition,
        ErrorKind::GrpcAborted,
        ErrorKind::GrpcOutOfRange,
        ErrorKind::GrpcUnimplemented,
        ErrorKind::GrpcInternal,
        ErrorKind::GrpcUnavailable,
        ErrorKind::GrpcDataLoss,
        ErrorKind::GrpcUnauthenticated,
        ErrorKind::GrpcNoStatus,
        ErrorKind::RedirectElsewhere,
        ErrorKind::RedirectLimit,
        ErrorKind::RedirectUnusable,
        ErrorKind::CodingUnasked,
        ErrorKind::CodingDamaged,
        ErrorKind::CodingTruncated,
        ErrorKind::CodingTrailing,
        ErrorKind::CodingLimit,
        ErrorKind::Capture,
    ];

    /// Whether there was a response, and only not the expected one.
    pub fn has_response(self) -> bool {
        use ErrorKind::{Body, BodyLimit, GrpcCancelled, NoStream};
        use ErrorKind::{Status, StreamError, StreamUnended};
        matches!(self, Status | Body | BodyLimit | StreamError | StreamUnended | NoStream)
            || self >= GrpcCancelled
    }

    /// Whether that response was complete. The deadline of a call is one that we end, as a rule.
    pub fn is_whole(self) -> bool {
        use ErrorKind::{BodyLimit, GrpcDeadlineExceeded};
        self.has_response() && !matches!(self, BodyLimit | GrpcDeadlineExceeded)
    }

    /// Whether that response is counted by its status too, as those of calls are not.
    pub fn has_status(self) -> bool {
        self.is_whole() && !(ErrorKind::GrpcCancelled..=ErrorKind::GrpcNoStatus).contains(&self)
    }

    /// The kind with this [`id`](Self::id).
    pub fn of_id(id: &str) -> Option<Self> {
        ErrorKind::ALL.into_iter().find(|kind| kind.id() == id)
    }

    /// The kind of a status of gRPC by its code: 1 (`CANCELLED`) to 16 (`UNAUTHENTICATED`).
    pub fn of_grpc(code: u8) -> Option<Self> {
        let first = ErrorKind::GrpcCancelled as usize;
        let at = first + usize::from(code.checked_sub(1)?);
        ErrorKind::ALL.get(at).copied().filter(|kind| *kind < ErrorKind::GrpcNoStatus)
    }

    /// The stable id in documents.
    pub fn id(self) -> &'static str {
        match self {
            ErrorKind::Status => "status",
            ErrorKind::Body => "body",
            ErrorKind::Timeout => "timeout",
            ErrorKind::IdleTimeout => "idle-timeout",
            ErrorKind::Closed => "closed",
            ErrorKind::Truncated => "truncated",
            ErrorKind::Reset => "reset",
            ErrorKind::Malformed => "malformed",
            ErrorKind::Write => "write",
            ErrorKind::Aborted => "aborted",
            ErrorKind::StreamReset => "stream-reset",
            ErrorKind::NotProcessed => "not-processed",
            ErrorKind::BodyLimit => "body-limit",
            ErrorKind::StreamCut => "stream-cut",
            ErrorKind::StreamError => "stream-error",
            ErrorKind::StreamUnended => "stream-unended",
            ErrorKind::NoStream => "no-stream",
            ErrorKind::GrpcCancelled => "grpc-cancelled",
            ErrorKind::GrpcUnknown => "grpc-unknown",
            ErrorKind::GrpcInvalidArgument => "grpc-invalid-argument",
            ErrorKind::GrpcDeadlineExceeded => "grpc-deadline-exceeded",
            ErrorKind::GrpcNotFound => "grpc-not-found",
            ErrorKind::GrpcAlreadyExists => "grpc-already-exists",
            ErrorKind::GrpcPermissionDenied => "grpc-permission-denied",
            ErrorKind::GrpcResourceExhausted => "grpc-resource-exhausted",
            ErrorKind::GrpcFailedPrecondition => "grpc-failed-precondition",
            ErrorKind::GrpcAborted => "grpc-aborted",
            ErrorKind::GrpcOutOfRange => "grpc-out-of-range",
            ErrorKind::GrpcUnimplemented => "grpc-unimplemented",
            ErrorKind::GrpcInternal => "grpc-internal",
            ErrorKind::GrpcUnavailable => "grpc-unavailable",
            ErrorKind::GrpcDataLoss => "grpc-data-loss",
            ErrorKind::GrpcUnauthenticated => "grpc-unauthenticated",
            ErrorKind::GrpcNoStatus => "grpc-no-status",
            ErrorKind::RedirectElsewhere => "redirect-elsewhere",
            ErrorKind::RedirectLimit => "redirect-limit",
            ErrorKind::RedirectUnusable => "redirect-unusable",
            ErrorKind::CodingUnasked => "coding-unasked",
            ErrorKind::CodingDamaged => "coding-damaged",
            ErrorKind::CodingTruncated => "coding-truncated",
            ErrorKind::CodingTrailing => "coding-trailing",
            ErrorKind::CodingLimit => "coding-limit",
            ErrorKind::Capture => "capture",
        }
    }

    /// Its meaning, as half a sentence for reports.
    pub fn sentence(self) -> &'static str {
        match self {
            ErrorKind::Status => "unexpected status",
            ErrorKind::Body => "unexpected body",
            ErrorKind::Timeout => "no complete response within the request timeout",
            ErrorKind::IdleTimeout => "no byte of the response within the idle timeout",
            ErrorKind::Closed => "connection closed before the response began",
            ErrorKind::Truncated => "connection closed in the middle of the response",
            ErrorKind::Reset => "connection reset by the server",
            ErrorKind::Malformed => "the response was not valid HTTP, or larger than a bound",
            ErrorKind::Write => "the request could not be written",
            ErrorKind::Aborted => {
                "lost with its connection, which was closed because of another request"
            }
            ErrorKind::StreamReset => "given up by the server (stream reset)",
            ErrorKind::NotProcessed => "not processed, as announced by the server",
            ErrorKind::BodyLimit => "response longer than scripts or captures may read",
            ErrorKind::StreamCut => "the stream ended in the middle, after its first event",
            ErrorKind::StreamError => "an event of the stream was an error",
            ErrorKind::StreamUnended => "the stream ended without the event that ends it",
            ErrorKind::NoStream => {
                "a response without any event, where a stream of events was asked for"
            }
            ErrorKind::GrpcCancelled => "gRPC status CANCELLED",
            ErrorKind::GrpcUnknown => "gRPC status UNKNOWN",
            ErrorKind::GrpcInvalidArgument => "gRPC status INVALID_ARGUMENT",
            ErrorKind::GrpcDeadlineExceeded => "gRPC status DEADLINE_EXCEEDED",
            ErrorKind::GrpcNotFound => "gRPC status NOT_FOUND",
            ErrorKind::GrpcAlreadyExists => "gRPC status ALREADY_EXISTS",
            ErrorKind::GrpcPermissionDenied => "gRPC status PERMISSION_DENIED",
            ErrorKind::GrpcResourceExhausted => "gRPC status RESOURCE_EXHAUSTED",
            ErrorKind::GrpcFailedPrecondition => "gRPC status FAILED_PRECONDITION",
            ErrorKind::GrpcAborted => "gRPC status ABORTED",
            ErrorKind::GrpcOutOfRange => "gRPC status OUT_OF_RANGE",
            ErrorKind::GrpcUnimplemented => "gRPC status UNIMPLEMENTED",
            ErrorKind::GrpcInternal => "gRPC status INTERNAL",
            ErrorKind::GrpcUnavailable => "gRPC status UNAVAILABLE",
            ErrorKind::GrpcDataLoss => "gRPC status DATA_LOSS",
            ErrorKind::GrpcUnauthenticated => "gRPC status UNAUTHENTICATED",
            ErrorKind::GrpcNoStatus => "response to a call of gRPC without a status",
            ErrorKind::RedirectElsewhere => "redirected to a host that is no target of the plan",
            ErrorKind::RedirectLimit => "redirected more often than is followed, perhaps in a loop",
            ErrorKind::RedirectUnusable => "redirected without a Location that can be followed",
            ErrorKind::CodingUnasked => "a body with a content coding that was not asked for",
            ErrorKind::CodingDamaged => "a body that is not valid in its content coding",
            ErrorKind::CodingTruncated => "a body that ends in the middle of its content coding",
            ErrorKind::CodingTrailing => "a body that goes on after the end of its content coding",
            ErrorKind::CodingLimit => "a body that decodes to more than a bound",
            ErrorKind::Capture => "a response without a value that its step captures",
        }
    }
}

/// How an attempt to connect can fail. No request is involved: a request that found no
/// connection is still in the backlog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ConnectErrorKind {
    /// Nothing listens there.
    Refused,
    /// Not established within the connect timeout.
    Timeout,
    /// No route to the address.
    Unreachable,
    /// Reset while connecting.
    Reset,
    /// No local port is free (EADDRNOTAVAIL, EADDRINUSE).
    PortsExhausted,
    /// No file descriptor is free (EMFILE, ENFILE).
    FdsExhausted,
    /// Connected, but the handshake of TLS, or of HTTP/2, failed or did not end.
    Handshake,
    /// Anything else; the example has the details.
    Other,
}

impl ConnectErrorKind {
    /// Every kind, in the order of reports.
    pub const ALL: [ConnectErrorKind; 8] = [
        ConnectErrorKind::Refused,
        ConnectErrorKind::Timeout,
        ConnectErrorKind::Unreachable,
        ConnectErrorKind::Reset,
        ConnectErrorKind::PortsExhausted,
        ConnectErrorKind::FdsExhausted,
        ConnectErrorKind::Handshake,
        ConnectErrorKind::Other,
    ];

    /// Whether the attempt failed on the loader's machine, and says nothing of the target.
    pub fn is_local(self) -> bool {
        matches!(self, ConnectErrorKind::PortsExhausted | ConnectErrorKind::FdsExhausted)
    }

    /// The stable id in documents.
    pub fn id(self) -> &'static str {
        match self {
            ConnectErrorKind::Refused => "connect-refused",
            ConnectErrorKind::Timeout => "connect-timeout",
            ConnectErrorKind::Unreachable => "connect-unreachable",
            ConnectErrorKind::Reset => "connect-reset",
            ConnectErrorKind::PortsExhausted => "ports-exhausted",
            ConnectErrorKind::FdsExhausted => "fds-exhausted",
            ConnectErrorKind::Handshake => "handshake-failed",
            ConnectErrorKind::Other => "connect-other",
        }
    }

    /// Its meaning, as half a sentence for reports.
    pub fn sentence(self) -> &'static str {
        match self {
            ConnectErrorKind::Refused => "nothing listens there",
            ConnectErrorKind::Timeout => "not established within the connect timeout",
            ConnectErrorKind::Unreachable => "no route to the address",
            ConnectErrorKind::Reset => "reset while connecting",
            ConnectErrorKind::PortsExhausted => "no local port is free",
            ConnectErrorKind::FdsExhausted => "no file descriptor is free",
            ConnectErrorKind::Handshake => "the handshake failed (of TLS, or of HTTP/2)",
            ConnectErrorKind::Other => "failed for another reason",
        }
    }
}

/// How an established connection can be lost, as opposed to ending in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum LossKind {
    /// The server closed it with requests in flight.
    Closed,
    /// It was reset.
    Reset,
    /// The system reported another error.
    Failed,
    /// The input was not HTTP, or a response without a request.
    Malformed,
    /// Closed by us because of a timeout of a request or of silence.
    Timeout,
    /// Closed by us because a response was longer than scripts or captures may read.
    BodyLimit,
    /// Closed by us because it took no request, and had none in flight whose timeout would have ended it.
    Stuck,
}

impl LossKind {
    /// Every kind, in the order of reports.
    pub const ALL: [LossKind; 7] = [
        LossKind::Closed,
        LossKind::Reset,
        LossKind::Failed,
        LossKind::Malformed,
        LossKind::Timeout,
        LossKind::BodyLimit,
        LossKind::Stuck,
    ];

    /// The stable id in documents.
    pub fn id(self) -> &'static str {
        match self {
            LossKind::Closed => "lost-closed",
            LossKind::Reset => "lost-reset",
            LossKind::Failed => "lost-failed",
            LossKind::Malformed => "lost-malformed",
            LossKind::Timeout => "lost-timeout",
            LossKind::BodyLimit => "lost-body-limit",
            LossKind::Stuck => "lost-stuck",
        }
    }

    /// Its meaning, as half a sentence for reports.
    pub fn sentence(self) -> &'static str {
        match self {
            LossKind::Closed => "closed by the server with requests in flight",
            LossKind::Reset => "reset by the server",
            LossKind::Failed => "broken by an error of the system",
            LossKind::Malformed => "given up because of an invalid response",
            LossKind::Timeout => "given up because of a timeout",
            LossKind::BodyLimit => {
                "given up because of a response longer than scripts or captures may read"
            }
            LossKind::Stuck => "given up because it took no request",
        }
    }
}

/// How a complete response can deviate from RFC 9112 and still be accepted, because the RFC says
/// how to read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DeviationKind {
    /// A header field is folded over several lines.
    Folded,
    /// The transfer coding that was applied last is not `chunked`.
    NotChunkedLast,
}

impl DeviationKind {
    /// Every kind, in the order of reports.
    pub const ALL: [DeviationKind; 2] = [DeviationKind::Folded, DeviationKind::NotChunkedLast];

    /// The stable id in documents.
    pub fn id(self) -> &'static str {
        match self {
            DeviationKind::Folded => "folded",
            DeviationKind::NotChunkedLast => "not-chunked-last",
        }
    }

    /// Its meaning, as half a sentence for reports.
    pub fn sentence(self) -> &'static str {
        match self {
            DeviationKind::Folded => {
                "a header field folded over several lines, each fold read as blanks (RFC 9112 5.2)"
            }
            DeviationKind::NotChunkedLast => {
                "a Transfer-Encoding that does not end in chunked, the body read until the \
                 connection closed (RFC 9112 6.3)"
            }
        }
    }
}

/// A cause of failures that a change of the plan can remove. A result has it beside the text of an
/// example, so the printer of a result can add the remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cause {
    /// We began in TLS, and the server responds in clear text.
    ClearText,
    /// We asked for HTTP/2 over TLS, and the server does not choose it.
    NoH2OverTls,
    /// The server requires or rejects a client certificate.
    ClientCertificate,
    /// The server does not know the requested name.
    ServerName,
    /// The server supports none of the offered protocols (ALPN).
    Alpn,
    /// The server supports none of the offered versions of TLS.
    TlsVersion,
    /// The server accepts none of the offered ciphers, groups and versions.
    TlsOffer,
    /// The server's certificate is not from a trusted CA.
    Issuer,
    /// The server's certificate has expired.
    Expired,
    /// The server's certificate is not valid yet.
    NotYetValid,
    /// The server's certificate is for another name.
    CertificateName,
    /// The server's certificate has another fault.
    Certificate,
    /// We began in HTTP/2, and the server responds in HTTP/1.
    Http1,
    /// We began in clear text, and the server responds in TLS.
    Tls,
    /// The server does not upgrade to HTTP/2.
    NoUpgrade,
    /// We began in HTTP/2, and the server sends something else.
    NoH2,
    /// The server closed the connection during the handshake.
    HandshakeClosed,
    /// The server did not complete the handshake in time.
    HandshakeSlow,
    /// A response is longer than the limit for scripts.
    BodyLimit,
}

/// Why something failed: in words, and as a value if there is a remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// What is wrong, and where.
    pub words: Box<str>,
    /// The cause, if a change of the plan can remove it.
    pub cause: Option<Cause>,
}

impl Reason {
    /// The same reason with `subject` in front.
    pub fn of(&self, subject: impl std::fmt::Display) -> Reason {
        Reason { words: format!("{subject}: {}", self.words).into(), cause: self.cause }
    }
}

impl From<String> for Reason {
    fn from(words: String) -> Self {
        Reason { words: words.into(), cause: None }
    }
}

impl From<&str> for Reason {
    fn from(words: &str) -> Self {
        Reason { words: words.into(), cause: None }
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.words)
    }
}

/// Counts by kind, with the first example of each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Listed", into = "Listed")]
pub struct Tally<const N: usize> {
    counts: [u64; N],
    examples: [Option<Reason>; N],
}

/// The serialised form of a tally: the kinds that occurred. Unknown kinds come from a later
/// version.
#[derive(Serialize, Deserialize)]
struct Listed(Vec<(u8, u64, Option<Reason>)>);

impl<const N: usize> From<Tally<N>> for Listed {
    fn from(tally: Tally<N>) -> Self {
        let kinds = (0..).zip(tally.counts).zip(tally.examples);
        let occurred = kinds.filter(|((_, count), _)| *count > 0);
        Listed(occurred.map(|((kind, count), example)| (kind, count, example)).collect())
    }
}

impl<const N: usize> TryFrom<Listed> for Tally<N> {
    type Error = &'static str;

    fn try_from(Listed(kinds): Listed) -> Result<Self, Self::Error> {
        let mut tally = Tally::default();
        for (kind, count, example) in kinds {
            let kind = usize::from(kind);
            let is_long = |one: &Reason| one.words.len() > Self::EXAMPLE_MAX_BYTES + '…'.len_utf8();
            if kind >= N || tally.counts[kind] > 0 || example.as_ref().is_some_and(is_long) {
                return Err("a tally of errors is damaged, or of a later version");
            }
            (tally.counts[kind], tally.examples[kind]) = (count, example);
        }
        Ok(tally)
    }
}

impl<const N: usize> Default for Tally<N> {
    fn default() -> Self {
        Tally { counts: [0; N], examples: [const { None }; N] }
    }
}

impl<const N: usize> Tally<N> {
    /// The longest example that is kept, in bytes.
    pub const EXAMPLE_MAX_BYTES: usize = 240;

    /// Counts one of kind `index`; `example` is called only for the first.
    pub fn add<E: Into<Reason>>(&mut self, index: usize, example: impl FnOnce() -> E) {
        self.counts[index] += 1;
        if self.examples[index].is_none() {
            let mut reason: Reason = example().into();
            if reason.words.len() > Self::EXAMPLE_MAX_BYTES {
                let cut = reason.words.floor_char_boundary(Self::EXAMPLE_MAX_BYTES);
                reason.words = format!("{}…", &reason.words[..cut]).into();
            }
            self.examples[index] = Some(reason);
        }
    }

    /// How many of kind `index`.
    pub fn count(&self, index: usize) -> u64 {
        self.counts[index]
    }

    /// The first example of kind `index`.
    pub fn example(&self, index: usize) -> Option<&str> {
        self.examples[index].as_ref().map(|one| &*one.words)
    }

    /// The cause of the first example of kind `index`.
    pub fn cause(&self, index: usize) -> Option<Cause> {
        self.examples[index].as_ref()?.cause
    }

    /// All kinds together.
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

impl<const N: usize> Figure for Tally<N> {
    fn new(_: u8) -> Self {
        Self::default()
    }

    fn clear(&mut self) {
        *self = Self::default();
    }

    /// Keeps the examples that are here.
    fn merge(&mut self, other: &Self) {
        for index in 0..N {
            add(&mut self.counts[index], other.counts[index]);
            if self.examples[index].is_none() {
                self.examples[index].clone_from(&other.examples[index]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorKind::{
        Body, BodyLimit, Capture, CodingDamaged, GrpcDeadlineExceeded, GrpcUnavailable, NoStream,
        Reset, Status,
    };

    /// A call that ends with an error is a response without a status; what was cut off is none.
    #[test]
    fn whole_responses_are_these() {
        for (kind, expected) in [
            (Status, (true, true)),
            (Body, (true, true)),
            (NoStream, (true, true)),
            (CodingDamaged, (true, true)),
            (Capture, (true, true)),
            (GrpcUnavailable, (true, false)),
            (GrpcDeadlineExceeded, (false, false)),
            (BodyLimit, (false, false)),
            (Reset, (false, false)),
        ] {
            assert_eq!((kind.is_whole(), kind.has_status()), expected, "{kind:?}");
        }
    }
}
