//! Why an input does not become a plan: what is wrong, where, and the remedy, in one sentence.

use std::fmt;

/// The format of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Command lines of curl.
    Curl,
    /// A recording of a browser.
    Har,
    /// A description of an interface.
    OpenApi,
    /// A collection of Postman.
    Postman,
    /// The log of a server.
    AccessLog,
}

impl Format {
    fn with_article(self) -> String {
        let article = if self == Format::OpenApi || self == Format::AccessLog { "an" } else { "a" };
        format!("{article} {self}")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(match self {
            Format::Curl => "curl command",
            Format::Har => "HAR file",
            Format::OpenApi => "OpenAPI document",
            Format::Postman => "Postman collection",
            Format::AccessLog => "access log",
        })
    }
}

/// A position in a text, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column; in bytes for JSON, in characters otherwise.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "line {}, column {}", self.line, self.column)
    }
}

/// Why an input does not become a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The bytes are not text.
    #[error("not {}: byte {at} is not UTF-8; save the file as UTF-8", format.with_article())]
    NotText {
        /// What was expected.
        format: Format,
        /// The first byte that is not, from 0.
        at: usize,
    },
    /// JSON or YAML that cannot be read.
    #[error("not {}: {at}: {problem}; {remedy}", format.with_article())]
    Syntax {
        /// What was expected.
        format: Format,
        /// Where it stops to be one.
        at: Position,
        /// The library's message, or ours.
        problem: String,
        /// How to get a valid one.
        remedy: &'static str,
    },
    /// Valid JSON or YAML of another kind.
    #[error("not {}: {problem}; {remedy}", format.with_article())]
    Kind {
        /// What was expected.
        format: Format,
        /// What is missing, or what it is instead.
        problem: String,
        /// What to import instead.
        remedy: &'static str,
    },
    /// A command line that a shell would not read, or that curl would not.
    #[error("curl command: {at}: {problem}")]
    Curl {
        /// Where.
        at: Position,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// Nothing to make a plan of.
    #[error("{format}: {problem}; {remedy}")]
    Empty {
        /// What was read.
        format: Format,
        /// What is not in it.
        problem: String,
        /// What to do.
        remedy: String,
    },
    /// A base URL that cannot be used.
    #[error("URL of the server: {0}")]
    Url(candor_plan::url::UrlError),
}
