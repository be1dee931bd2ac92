//! gRPC over HTTP/2: what a response says about a call (gRPC's PROTOCOL-HTTP2, "Responses").
//!
//! A call is a request of HTTP/2 whose body is length-prefixed messages, and an [`h2::Session`](crate::h2::Session)
//! that was told by [`calls`](crate::h2::Session::calls) reads its response as one: messages become parts
//! ([`Event::Part`](crate::Event::Part)), and the status of the trailers decides whether the response is the expected
//! one. `OK` alone is. Only lengths are looked at here; what is in a message is the schema's business.
//!
//! A message is never kept: memory for a call is fixed.

mod call;
mod error;
mod messages;
mod status;

pub use error::Error;
pub use messages::{messages, write_message};
pub use status::Status;

pub(crate) use call::Call;
pub(crate) use messages::Ended;
pub(crate) use status::Told;

/// What responses of calls may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest message, in bytes.
    pub max_message_bytes: u32,
    /// A successful response has exactly one message: all methods called are unary or stream the client's messages
    /// alone.
    pub one_message: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { max_message_bytes: 4 << 20, one_message: false }
    }
}

/// The header fields that every call has beside `:path`, which is `/package.Service/Method`; the method is POST.
pub const HEADERS: [(&str, &str); 2] = [("content-type", "application/grpc"), ("te", "trailers")];

/// The value of `grpc-timeout` for a deadline after `timeout_ns`: up to eight digits and a unit. A time that these
/// cannot say is rounded up.
pub fn timeout(timeout_ns: u64) -> String {
    const UNITS: [(u64, char); 6] = [
        (1, 'n'),
        (1_000, 'u'),
        (1_000_000, 'm'),
        (1_000_000_000, 'S'),
        (60_000_000_000, 'M'),
        (3_600_000_000_000, 'H'),
    ];
    const MOST: u64 = 99_999_999;
    let fits = |(unit_ns, _): &&(u64, char)| timeout_ns.div_ceil(*unit_ns) <= MOST;
    // Hours fit: 2^64 ns are 5,124,096 of them.
    let (unit_ns, unit) = UNITS.iter().find(fits).unwrap_or(&UNITS[5]);
    format!("{}{unit}", timeout_ns.div_ceil(*unit_ns))
}

#[cfg(test)]
mod tests {
    use super::timeout;

    #[test]
    fn timeouts_have_eight_digits() {
        let table = [
            (0, "0n"),
            (1, "1n"),
            (99_999_999, "99999999n"),
            (100_000_000, "100000u"),
            (100_000_001, "100001u"),
            (1_000_000_000, "1000000u"),
            (99_999_999_001, "100000m"),
            (3_600_000_000_000, "3600000m"),
            (u64::MAX, "5124096H"),
        ];
        for (ns, text) in table {
            assert_eq!(timeout(ns), text, "{ns}");
        }
    }
}
