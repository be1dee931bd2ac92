//! Schemas, calls and messages of gRPC, without I/O.
//!
//! A [`Schema`] comes from `.proto` files, from a protoset, or from a server by [`Reflection`]; it finds the
//! [`Method`] of a call. An [`Encoder`] compiles messages in JSON, with or without holes of a template, to the body
//! of a request; [`show`] makes JSON of messages that came. The bytes of files come through the trait [`Files`], those
//! of a server as arguments. What HTTP/2 has to say about a call is `candor-protocol`'s.
//!
//! All input is untrusted: sizes and counts have bounds, and an error names the place.
#![forbid(unsafe_code)]

mod call;
mod codec;
mod editions;
mod encode;
mod error;
mod fill;
mod reflection;
mod schema;
mod show;

pub use call::{HEADERS, framed, messages, split_message, timeout};
pub use codec::{Codec, TextDecoder, decode_text, encode_text};
pub use encode::{Encoder, MOST_JSON_BYTES, Piece};
pub use error::{Error, FillError, SchemaError};
pub use reflection::{MOST_REFLECTED_BYTES, MOST_REFLECTED_FILES, Reflection, Version};
pub use schema::{Files, Kind, MOST_FILE_BYTES, MOST_FILES, Method, Schema, path};
pub use show::{MOST_SHOWN_BYTES, show, show_response};
