//! What can be wrong with a data file, as values: the place, the problem, the remedy.
//!
//! A sentence repeats at most a few characters of the file, and none that could control a terminal.

use std::fmt;
use std::path::{Path, PathBuf};

use candor_plan::redact::refused;

use crate::{MOST_COLUMNS, MOST_ROW_BYTES};

/// Why a data file cannot be used. Its text is one sentence: place, problem, remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file; none if only bytes of it were given.
    pub file: Option<PathBuf>,
    /// The line of the file, from 1, if the problem is in a line. Line breaks inside quotes count.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: Problem,
}

impl Fault {
    /// The same fault in a file.
    #[must_use]
    pub fn of(self, file: &Path) -> Fault {
        Fault { file: Some(file.to_owned()), ..self }
    }

    /// A fault of the file as a whole.
    pub(crate) fn whole(file: &Path, problem: Problem) -> Fault {
        Fault { file: Some(file.to_owned()), line: None, problem }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.as_deref().map(|file| plain(&file.to_string_lossy(), 4096));
        match (file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        write!(f, "{}; {}", self.problem, self.problem.remedy())
    }
}

impl std::error::Error for Fault {}

/// A problem of a data file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file is `-`.
    #[error("standard input cannot be read more than once")]
    StandardInput,
    /// The run was stopped while the file was read.
    #[error("reading it was stopped")]
    Stopped,
    /// It is no regular file.
    #[error("this is {0} and not a regular file")]
    Special(&'static str),
    /// It has bytes, but a length of 0, such as files of /proc.
    #[error("the system reports no length for this file")]
    NoLength,
    /// The system refuses to open or to read it.
    #[error("the file cannot be read: {0}")]
    Unreadable(String),
    /// Its text has another encoding.
    #[error("the file is encoded in UTF-16")]
    Utf16,
    /// It has no row, nor a header.
    #[error("the file has no row")]
    Empty,
    /// It has names of columns and no row.
    #[error("the file has a header, but no row")]
    HeaderAlone,
    /// Its access log has no request that can be repeated.
    #[error("no line of the log has a request with a path")]
    NoRequest,
    /// The first object of JSON has no member.
    #[error("the first object has no member, and so the file no column")]
    NoColumn,
    /// A column without a name; columns count from 1.
    #[error("column {0} has no name")]
    Unnamed(usize),
    /// A name that templates cannot use.
    #[error("the name of column {column}, \"{}\", has the character {character:?}", refused(name))]
    Name {
        /// The column, from 1.
        column: usize,
        /// Its name, shortened.
        name: String,
        /// The first character that a name cannot have there.
        character: char,
    },
    /// Two columns with the same name.
    #[error("columns {first} and {second} are both named \"{}\"", refused(name))]
    SameName {
        /// The first of them, from 1.
        first: usize,
        /// The second, from 1.
        second: usize,
        /// Their name, shortened.
        name: String,
    },
    /// Too many columns.
    #[error("the file has more than {MOST_COLUMNS} columns")]
    Columns,
    /// The columns are not those of the plan.
    #[error("the columns are no longer those that the plan was made with")]
    OtherColumns,
    /// A row that is too long.
    #[error("the row is longer than {} MiB", MOST_ROW_BYTES >> 20)]
    Long,
    /// A row with fewer or more fields than the header.
    #[error("the row has {}, and the header has {expected}", fields(*found))]
    Fields {
        /// The fields of the row.
        found: usize,
        /// The fields of the header.
        expected: usize,
    },
    /// A quote in a field that does not begin with one.
    #[error("a field has a quote but does not begin with one")]
    QuoteInside,
    /// Text between the closing quote and the comma.
    #[error("text follows a closing quote")]
    AfterQuote,
    /// A quote that does not close before the file or the longest row ends.
    #[error("a quote opens here and does not close")]
    OpenQuote,
    /// A carriage return that no line feed follows.
    #[error("a field without quotes has a carriage return")]
    CarriageReturn,
    /// A line that has no object.
    #[error("the line is not a JSON object")]
    NotObject,
    /// A line that is no JSON.
    #[error("the line is not valid JSON: {message} at byte {byte}")]
    Json {
        /// The parser's words.
        message: String,
        /// The byte of the line, from 1.
        byte: usize,
    },
    /// A string with half of a surrogate pair.
    #[error("the value of \"{0}\" has half of a surrogate pair")]
    Surrogate(String),
    /// A member that the first object has.
    #[error("the object has no member \"{0}\"")]
    Missing(String),
    /// A member that is there twice.
    #[error("the object has two members \"{0}\"")]
    Twice(String),
    /// A line that is neither a URL, nor a method with a URL, nor a line of a log.
    #[error(
        "\"{}\" is neither a URL, nor a method and a URL, nor a line of an access log",
        refused(_0)
    )]
    NotUrl(String),
    /// A blank or control character in a URL.
    #[error("the URL has the blank or control character {0:?}")]
    Blank(char),
    /// A URL without a usable scheme, host or port.
    #[error("the URL cannot be used: {0}")]
    Url(String),
    /// A URL with a user or a password.
    #[error("the URL has user information before its host")]
    UserInformation,
    /// A URL of another server than the first one of the file.
    #[error("the URL is for {found}, and an earlier one is for {expected}")]
    Origin {
        /// Scheme, host and port of the line.
        found: String,
        /// Scheme, host and port of the first absolute URL.
        expected: String,
    },
    /// The file is not the same as when it was opened.
    #[error("the file changed after it was opened")]
    Changed,
    /// A row that the table does not have.
    #[error("row {row} does not exist: the file has {rows} rows")]
    NoRow {
        /// The row, from 0.
        row: u64,
        /// The number of rows.
        rows: u64,
    },
}

impl Problem {
    /// What to do about it, as an imperative.
    pub fn remedy(&self) -> &'static str {
        match self {
            Problem::StandardInput => "save it to a file and name that",
            Problem::Stopped => "run again",
            Problem::Special(_) | Problem::NoLength => "save the rows to a regular file",
            Problem::Unreadable(_) => "check the path and its permissions",
            Problem::Utf16 => "convert it to UTF-8",
            Problem::Empty | Problem::HeaderAlone => "add one",
            Problem::NoRequest => "add a line such as `GET /path`",
            Problem::NoColumn => "add members, or remove the line",
            Problem::Unnamed(_) => "name it in the first row",
            Problem::Name { character: ';' | '\t' | '|', .. } => "separate columns by commas",
            Problem::Name { .. } => "use letters, digits, `_`, `-`, `.`, and blanks between them",
            Problem::SameName { .. } => "rename one of them",
            Problem::Columns => "keep only columns that requests use",
            Problem::OtherColumns => "do not change the file while a run starts",
            Problem::Long => "remove it, or look for a missing line break or quote",
            Problem::Fields { .. } => "put values with a comma or line break in quotes",
            Problem::QuoteInside | Problem::AfterQuote | Problem::CarriageReturn => {
                "put the whole value in quotes and double each quote inside it"
            }
            Problem::OpenQuote => "close it, or double it if it is part of the value",
            Problem::NotObject | Problem::Json { .. } => "write one JSON object in each line",
            Problem::Surrogate(_) => "write both halves, or the character itself",
            Problem::Missing(_) => "add it to every object, as null if it has no value",
            Problem::Twice(_) => "remove one of them",
            Problem::NotUrl(_) => "write e.g. `/path`, `GET /path` or `http://HOST/path`",
            Problem::Blank(_) => "write it percent-encoded, a space as %20",
            Problem::Url(_) => "write http://HOST[:PORT]/PATH, or the path alone",
            Problem::UserInformation => "remove it and send an Authorization field instead",
            Problem::Origin { .. } => "keep URLs of one server in a file",
            Problem::Changed => "copy the file, and use the copy, if something still writes it",
            Problem::NoRow { .. } => "use a row below that number",
        }
    }
}

fn fields(count: usize) -> String {
    format!("{count} field{}", if count == 1 { "" } else { "s" })
}

/// A problem of a row, before its line in the file is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// Line breaks between the beginning of the text that was looked at and the problem.
    pub(crate) lines: u64,
    pub(crate) problem: Problem,
}

impl Wrong {
    /// A problem of a text that begins on this line of the file.
    pub(crate) fn on_line(self, line: u64) -> Fault {
        let is_of_a_line = !matches!(self.problem, Problem::Empty | Problem::Utf16);
        let line = is_of_a_line.then_some(line + self.lines);
        Fault { file: None, line, problem: self.problem }
    }
}

impl Wrong {
    /// The same problem, its line counted from this many line breaks earlier.
    pub(crate) fn after(self, lines: u64) -> Wrong {
        Wrong { lines: self.lines + lines, ..self }
    }
}

impl From<Problem> for Wrong {
    fn from(problem: Problem) -> Self {
        Wrong { lines: 0, problem }
    }
}

/// The beginning of a text of a file, fit for a sentence.
pub(crate) fn shown(text: &[u8]) -> String {
    // No character has more than 4 bytes.
    let enough = &text[..text.len().min(200)];
    plain(&String::from_utf8_lossy(enough), 40)
}

/// At most this many characters of a text, with escapes for those that could control a terminal.
pub(crate) fn plain(text: &str, most: usize) -> String {
    let escaped = |c: char| match c {
        '"' | '\'' | '\\' => c.to_string(),
        c => c.escape_debug().to_string(),
    };
    let cut = if text.chars().nth(most).is_some() { "…" } else { "" };
    text.chars().take(most).map(escaped).chain([cut.to_owned()]).collect()
}
