//! HTTP/1.1 over one connection (RFC 9112), without I/O.
//!
//! [`prepare`] serialises each request of the plan once; a [`Session`] offers those bytes for
//! writing and takes the bytes of the responses, in pieces of any size. What it says depends on the
//! bytes alone, never on how they were cut. It must not read a clock, open a socket or keep a
//! body: bodies are compared with the expected one and counted as they pass.
//!
//! Where the RFC leaves a choice, or a client may be more careful than it asks:
//!
//! - A bare LF ends the status line, a header line and a trailer line (9112 2.2), but not a chunk's
//!   size line or its data. A bare CR and a NUL are refused everywhere; other control characters in
//!   values are let through (9110 5.5).
//! - An empty line before the status line is refused: it is what a wrong Content-Length leaves.
//! - Status lines may lack the reason and the space before it. HTTP/1.2 to 1.9 are read as 1.1
//!   (9110 2.5).
//! - White space before a colon is refused. A field that is folded over several lines is read with
//!   blanks in the place of each line end (9112 5.2), and the response says so
//!   ([`Deviations`](crate::Deviations)).
//! - Several Content-Lengths must be the same number (9110 8.6). Content-Length beside
//!   Transfer-Encoding, and Transfer-Encoding in HTTP/1.0, are refused (9112 6.1, 6.3).
//! - Codings are not undone: the coded bytes are the body. Without `chunked` at the end the body
//!   ends with the connection (9112 6.3), and the response says so. `chunked` twice or with parameters,
//!   and a field that names no coding, are refused (9112 6.1, 7.1).
//! - White space after a chunk's size is let through: some servers pad it.
//! - Fields in trailers are checked for their form and otherwise ignored (9110 6.5.1).
//! - 101 is a response if the request had an `Upgrade` field, and refused if not.
//! - A request that pauses on its way (pieces, `Expect: 100-continue`, one that breaks off) is not
//!   finished after a response that comes before: the connection ends with that response (9112 9.3,
//!   9110 10.1.1). A 100 lifts only the pause that waits for one.
//! - The bytes that follow a response which ends the connection are ignored.

mod body;
mod entry;
mod error;
mod events;
mod field;
mod head;
mod lines;
mod made;
mod memo;
mod pauses;
mod receive;
mod request;
mod session;
mod settings;
mod transmit;

pub(crate) use body::take_chunked;
pub use entry::{ENTRY, sessions};
pub use error::Error;
pub(crate) use field::field;
pub(crate) use head::{may_be_status_line, status_of};
pub use memo::Memo;
pub use pauses::{Pause, Until};
pub(crate) use request::closes;
pub use request::{Prepared, Via, prepare, prepare_via};
pub use session::Session;
pub use settings::Limits;
