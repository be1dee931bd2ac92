//! Values of WebSockets: the field that tells replies apart.

use std::str::FromStr;

use super::{ValueError, refuse};
use crate::websocket::Replies;

/// The field that tells replies apart, as `"id":*,`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyField {
    /// What stands before its text; not empty.
    prefix: String,
    /// The byte after it, in ASCII.
    delimiter: Option<u8>,
}

impl FromStr for ReplyField {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let Some((prefix, after)) = text.split_once('*') else {
            return refuse(format!("`{text}` has no *; write e.g. '\"id\":*,'"));
        };
        if prefix.is_empty() {
            return refuse(format!("`{text}` begins with the *; write the text before the field"));
        }
        match after.as_bytes() {
            [] => Ok(ReplyField { prefix: prefix.to_owned(), delimiter: None }),
            [byte] if byte.is_ascii() => {
                Ok(ReplyField { prefix: prefix.to_owned(), delimiter: Some(*byte) })
            }
            _ => refuse(format!("`{text}`: at most one ASCII character can follow the *")),
        }
    }
}

impl From<ReplyField> for Replies {
    fn from(ReplyField { prefix, delimiter }: ReplyField) -> Self {
        Replies::Field { prefix, delimiter }
    }
}
