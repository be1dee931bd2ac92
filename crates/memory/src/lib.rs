//! What a user remembers: values captured from responses, and cookies.
//!
//! A user is one run through a journey. Each has a [`Memory`], of a size that the plan decides and the
//! server cannot exceed. [`Captures`] takes the values of one step's response, each by its [`Source`];
//! [`Memory::take_cookies`] takes the cookies. What comes in was written by a server that may be
//! malicious, so every function here is bounded in time and memory, and none panics.
//!
//! This crate does no I/O and reads no clock. It knows neither plans nor templates, so that both a plan
//! and a worker can use it: variables are numbers here.
#![forbid(unsafe_code)]

mod buffer;
mod captures;
mod cookies;
mod fields;
mod json;
mod memory;
mod pattern;
mod source;

pub use captures::{Capture, Captures, Missing, TwiceCaptured};
pub use cookies::{CookieCounts, Sites};
pub use fields::values as field_values;
pub use memory::Memory;
pub use pattern::Pattern;
pub use source::{Source, SourceError};

/// The longest captured value, in bytes.
pub const MOST_VALUE_BYTES: usize = 64 << 10;
/// The most that a user remembers, values and cookies together, in bytes.
pub const MOST_USER_BYTES: usize = 256 << 10;
/// The most cookies of a user.
pub const MOST_COOKIES: usize = 50;
/// The longest cookie, name and value together, in bytes (RFC 6265bis 5.6).
pub const MOST_COOKIE_BYTES: usize = 4096;

/// Why a value was not captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum Why {
    /// The response does not have it, or it is null.
    #[error("the response does not have it")]
    NotFound,
    /// The value is longer than [`MOST_VALUE_BYTES`].
    #[error("the value is longer than {MOST_VALUE_BYTES} bytes")]
    TooLong,
    /// The body is not JSON, as far as it was read; or it is nested deeper than 127 levels, and the path
    /// is not one of names and indices alone.
    #[error("the body is not valid JSON")]
    NotJson,
    /// The body has more values than a path with wildcards, filters or `..` looks at.
    #[error("the body has too many values for this JSON path")]
    TooManyValues,
    /// The user would remember more than [`MOST_USER_BYTES`].
    #[error("the user would remember more than {MOST_USER_BYTES} bytes")]
    Full,
}
