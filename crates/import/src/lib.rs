//! Recordings and descriptions of HTTP traffic to the TOML text of a plan that a person would have
//! written.
//!
//! One function for each format: [`curl`], [`har`], [`openapi`], [`postman`], [`access_log`]. Bytes or
//! text go in, an [`Imported`] plan comes out. This crate reads no file, no clock and no environment,
//! sends nothing, and runs no script of an input; other files of a description come from a function of the caller
//! ([`openapi_of_files`]). Where it has to guess, the plan has a comment.
//!
//! Inputs are untrusted: a recording may come from anybody. All of them end in a plan or in one
//! [`ImportError`]; nothing of an input leaves its string or its comment; and values that look secret are
//! replaced by `${env:NAME}`. Names come from a fixed list, or begin with `VAR_` (variables of a Postman
//! collection).
//!
//! An input has a longest length ([`Format::most_bytes`]). Its values have a number, what it refers to more than
//! once is copied within a bound, and the requests of a plan have 8 MiB together; so memory is that of the input
//! and some hundred MiB at most (`tests/memory.rs`), and no part of an input is gone through for each other part.
#![forbid(unsafe_code)]

mod access_log;
mod curl;
mod draft;
mod error;
mod finish;
mod har;
mod json;
mod made;
mod multipart;
mod openapi;
mod postman;
mod recorded;
mod secrets;
mod target;
mod template;
mod write;
mod yaml;

use std::path::PathBuf;

pub use access_log::{AccessLog, access_log};
pub use curl::curl;
pub use error::{Format, ImportError, Position};
pub use har::har;
pub use openapi::{openapi, openapi_of_files};
pub use postman::postman;

/// What to import, and for which server.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The URL of the server to write in the plan, instead of the input's own.
    pub url: Option<String>,
    /// Of a HAR: the host whose requests are imported; by default the most frequent one.
    pub host: Option<String>,
    /// Of a HAR: further hosts whose requests are imported, each a target of the plan; `all` is every host.
    pub hosts: Vec<String>,
    /// Of a HAR: also requests for images, styles, scripts and fonts.
    pub static_files: bool,
    /// The most requests that a plan may have: the first steps of a recording, the most frequent
    /// requests of a log. By default 200, and 30 for a log.
    pub max_requests: Option<usize>,
}

/// A plan made from an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// TOML text.
    pub plan: String,
    /// What the user should know, one sentence each: guesses, omissions, variables to set. The plan
    /// has the same as comments.
    pub notes: Vec<String>,
    /// The files that the plan sends, as it names them.
    pub files: Vec<PathBuf>,
}

impl Imported {
    /// Adds a sentence to the notes and to the comments of the plan.
    pub fn note(&mut self, text: &str) {
        self.plan.insert_str(0, &write::comment(&[text.to_owned()]));
        self.notes.push(write::one_line(text));
    }
}

/// The most requests of a plan by default.
const MAX_REQUESTS: usize = 200;

impl Options {
    fn max_requests(&self) -> usize {
        self.max_requests.unwrap_or(MAX_REQUESTS).max(1)
    }
}
