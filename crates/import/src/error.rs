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
    /// The longest input, in bytes. A log is read piece by piece, and has none.
    pub fn most_bytes(self) -> Option<usize> {
        match self {
            Format::Curl => Some(1 << 20),
            Format::Har => Some(1 << 29),
            Format::OpenApi | Format::Postman => Some(1 << 26),
            Format::AccessLog => None,
        }
    }

    /// Refuses an input that is too long, or empty.
    pub(crate) fn check(self, bytes: &[u8]) -> Result<(), ImportError> {
        if self.most_bytes().is_some_and(|most| bytes.len() > most) {
            return Err(ImportError::TooLong { format: self });
        }
        if bytes.trim_ascii_start().is_empty() {
            let (problem, remedy) = ("it is empty", "name a file with content");
            let (problem, remedy) = (problem.to_owned(), remedy.to_owned());
            return Err(ImportError::Empty { format: self, problem, remedy });
        }
        Ok(())
    }

    /// The text of an input, without a mark of its encoding.
    pub(crate) fn text(self, bytes: &[u8]) -> Result<&str, ImportError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| ImportError::NotText { format: self, at: error.valid_up_to() })?;
        Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
    }

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
    /// More bytes than are read.
    #[error("{format}: it is longer than {}; {}", most(*format), shorter(*format))]
    TooLong {
        /// What was expected.
        format: Format,
    },
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
    /// A recording without the host that was asked for.
    #[error("HAR file: there is no request to {asked}, but to {hosts}")]
    NoHost {
        /// What was asked for.
        asked: String,
        /// The most frequent hosts, with their numbers of requests.
        hosts: String,
    },
    /// A recording whose requests are all left out.
    #[error("HAR file: all its requests are for images, styles, scripts and fonts")]
    OnlyFiles,
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
    /// A base URL with user information, which would stand in the plan.
    #[error(
        "URL of the server: it has a user or a password, which would stand in the plan; leave them out, and add \
         an Authorization header with ${{env:NAME}} to the plan"
    )]
    Credentials,
}

impl ImportError {
    /// JSON that cannot be read.
    pub(crate) fn json(format: Format, error: &serde_json::Error, remedy: &'static str) -> Self {
        let problem = error.to_string();
        ImportError::Syntax {
            format,
            at: Position { line: error.line(), column: error.column() },
            problem: problem.split(" at line ").next().unwrap_or_default().to_owned(),
            remedy,
        }
    }
}

fn most(format: Format) -> String {
    format!("{} MiB", format.most_bytes().unwrap_or(usize::MAX) >> 20)
}

fn shorter(format: Format) -> &'static str {
    match format {
        Format::Har => "record fewer pages, or without the bodies of responses",
        Format::OpenApi => "import a part of it",
        Format::Postman => "export fewer folders",
        Format::Curl | Format::AccessLog => "import it in parts",
    }
}
