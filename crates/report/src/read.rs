//! Documents from text: the only way in, with all checks beyond a document's types.
//!
//! A saved document is untrusted. Before any rendering sees it, three things are checked: its size in
//! memory (by a pass over the text that stores nothing, see [`Weight`]), the range of its numbers, and
//! their consistency ([`Saved::check`]). A violation is an error that names the field and the bound.
//! After these checks, renderings may add counts and subtract the beginning of an interval from its
//! end.

mod older;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::{shorten, visible};

/// The longest text to read.
const MOST_TEXT_BYTES: usize = 64 << 20;
/// The most memory for a document, whatever the length of its text. A run of six hours with intervals
/// of a second is below it.
const MOST_WEIGHT_BYTES: u64 = 64 << 20;
/// The limit of the sum of all counts of a document, so that no partial sum can overflow.
const MOST_COUNTED: u128 = i64::MAX as u128;
/// The limit of times and seeds, of which at most two are ever added.
const MOST_NS: u64 = i64::MAX as u64;
/// The longest text of a field, unless it is encoded: a histogram, a record.
const MOST_STRING_BYTES: usize = 64 << 10;
/// The most characters of an error that quotes the text.
const ERROR_CHARACTERS: usize = 300;

/// Why a text is not the expected document.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is too large.
    #[error(
        "it has more than {} MiB, as a file or in memory; use a longer --interval, or fewer trials, for a smaller result",
        MOST_TEXT_BYTES >> 20
    )]
    TooLarge,
    /// It is not JSON.
    #[error("this is not JSON ({0}); give a file written by --json")]
    NotJson(String),
    /// It is other JSON.
    #[error(
        "this JSON has no \"format\" beginning with \"candor.\"; give a file written by --json"
    )]
    NotOurs,
    /// It is another kind of document.
    #[error("this is a {found} document and not a {wanted} document")]
    Other {
        /// Its format.
        found: String,
        /// The expected format.
        wanted: &'static str,
    },
    /// It is the right kind of document, of another major version.
    #[error(
        "this is a {found} document and this program reads {wanted}; use the version of candor that wrote it"
    )]
    OtherMajor {
        /// Its format.
        found: String,
        /// The format that this version reads.
        wanted: &'static str,
    },
    /// It is the right kind of document, with an error in it.
    #[error("this {wanted} document is damaged ({why}); save it again")]
    Damaged {
        /// Its format.
        wanted: &'static str,
        /// The fault and its place.
        why: String,
    },
}

/// A document that can be saved in files.
pub trait Saved: DeserializeOwned {
    /// Its format and major version, such as `candor.result/3`. Earlier versions are read, too.
    const FORMAT: &'static str;
    /// Known fields, if serde buffers unknown ones, which takes memory; `None` if it skips them.
    const KNOWN: Option<&'static [&'static str]> = None;

    /// Refuses contradictions, and more than can be shown.
    fn check(&self) -> Result<(), String>;
}

/// Reads the text of a file, which may be compressed with gzip, unless it is too long for a document.
pub fn text_of(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let mut bytes = Vec::with_capacity(length.min(MOST_TEXT_BYTES) + 1);
    // A device has no length, so read one byte beyond the limit to detect that a text is too long.
    file.take(MOST_TEXT_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MOST_TEXT_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, ReadError::TooLarge.to_string()));
    }
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    if bytes.starts_with(&GZIP) {
        let packed = std::mem::take(&mut bytes);
        MultiGzDecoder::new(&packed[..])
            .take(MOST_TEXT_BYTES as u64 + 1)
            .read_to_end(&mut bytes)?;
        if bytes.len() > MOST_TEXT_BYTES {
            let why = ReadError::TooLarge.to_string();
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
    }
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8"))
}

/// The format of a document, e.g. `candor.peak/3`.
pub fn format_of(text: &str) -> Option<String> {
    let Probe { format } = serde_json::from_str(text).ok()?;
    format
}

/// Reads a document. Fields that this version does not know are skipped.
pub(crate) fn read<T: Saved>(text: &str) -> Result<T, ReadError> {
    if text.len() > MOST_TEXT_BYTES {
        return Err(ReadError::TooLarge);
    }
    let wanted = T::FORMAT;
    let damaged = |why: &dyn ToString| ReadError::Damaged { wanted, why: quoted(why) };
    let mut weight =
        Weight::of(text, T::KNOWN, false).map_err(|why| ReadError::NotJson(quoted(&why)))?;
    let found = match serde_json::from_str(text) {
        Ok(Probe { format: Some(found) }) if found.starts_with("candor.") => found,
        _ => return Err(ReadError::NotOurs),
    };
    // `candor.result/1.3` may have more fields than `candor.result/1`, but none with another meaning.
    let (name, version) = found.split_once('/').unwrap_or_default();
    let (our_name, our_major) = wanted.split_once('/').unwrap_or_default();
    let number = |version: &str| version.split('.').next()?.parse::<u32>().ok();
    let older = match (name == our_name, number(version), number(our_major)) {
        (true, Some(major), Some(ours)) if major > 0 && major <= ours => {
            Some(major).filter(|major| *major < ours)
        }
        (true, ..) => return Err(ReadError::OtherMajor { found: quoted(&found), wanted }),
        _ => return Err(ReadError::Other { found: quoted(&found), wanted }),
    };
    let newer;
    let text = if let Some(major) = older {
        // It is a tree until it is text again.
        let as_tree = Weight::of(text, T::KNOWN, true).map_err(|why| damaged(&why))?;
        if as_tree.bytes > MOST_WEIGHT_BYTES {
            return Err(ReadError::TooLarge);
        }
        newer = older::upgraded(text, major, wanted).map_err(|why| damaged(&why))?;
        weight = Weight::of(&newer, T::KNOWN, false).map_err(|why| damaged(&why))?;
        &newer
    } else {
        text
    };
    if weight.bytes > MOST_WEIGHT_BYTES {
        return Err(ReadError::TooLarge);
    }
    if let Some(problem) = weight.problem {
        return Err(damaged(&problem));
    }
    let document: T = serde_json::from_str(text).map_err(|error| damaged(&error))?;
    document.check().map_err(|why| damaged(&why))?;
    Ok(document)
}

/// Makes an error of a parser visible and short, because it may quote the text.
fn quoted(error: &dyn ToString) -> String {
    shorten(&visible(&error.to_string()), ERROR_CHARACTERS)
}

/// The field that determines how to read the others.
#[derive(Deserialize)]
struct Probe {
    #[serde(default)]
    format: Option<String>,
}

/// An upper bound of a document's memory, and the sum of its counts, computed without storing any of it.
///
/// Weights are upper bounds of a value's size in the document's types, or as a line of an indented
/// rendering: an object counts as a structure with its absent fields, a number as an optional one.
/// Values kept as JSON, and maps, take much more: a tree's node has room for eleven entries.
struct Weight {
    bytes: u64,
    counted: u128,
    problem: Option<String>,
    known: Option<&'static [&'static str]>,
    /// Whether the whole document is kept as a tree.
    is_tree: bool,
}

impl Weight {
    fn of(
        text: &str,
        known: Option<&'static [&'static str]>,
        is_tree: bool,
    ) -> serde_json::Result<Weight> {
        let mut weight = Weight { bytes: 0, counted: 0, problem: None, known, is_tree };
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let all = Weigh { weight: &mut weight, key: "", kind: Kind::Count, depth: 0 };
        all.deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(weight)
    }

    /// The kind of the field with this name, at this depth.
    fn kind(&self, key: &str, depth: u64) -> Kind {
        match key {
            _ if depth == 0 && self.known.is_some_and(|known| !known.contains(&key)) => Kind::Tree,
            _ if self.is_tree => Kind::Tree,
            "json" | "evidence" | "percentiles_ns" | "intervals_ns" => Kind::Tree,
            "seed" => Kind::Seed,
            _ if key.ends_with("_ns") => Kind::Time,
            _ => Kind::Count,
        }
    }

    fn count(&mut self, key: &str, kind: Kind, number: u64) {
        if kind == Kind::Count {
            self.counted += u128::from(number);
        }
        let problem = match kind {
            Kind::Count if self.counted > MOST_COUNTED => {
                format!("its counts add up to more than {MOST_COUNTED}, at {key}")
            }
            Kind::Time if number > MOST_NS => {
                format!("{key} is {number} and must be at most {MOST_NS}")
            }
            _ => return,
        };
        self.problem.get_or_insert(problem);
    }
}

/// The kind of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Count,
    /// A time in nanoseconds.
    Time,
    Seed,
    /// Part of a map or of a value kept as JSON.
    Tree,
}

/// Adds one value to the weight.
struct Weigh<'a> {
    weight: &'a mut Weight,
    key: &'a str,
    kind: Kind,
    depth: u64,
}

impl Weigh<'_> {
    fn is_tree(&self) -> bool {
        self.kind == Kind::Tree
    }

    /// The document written as JSON has two blanks for each level.
    fn add(&mut self, bytes: u64) {
        self.weight.bytes = self.weight.bytes.saturating_add(bytes + 2 * self.depth);
    }

    fn number(mut self, number: u64) {
        self.add(if self.is_tree() { 32 } else { 16 });
        self.weight.count(self.key, self.kind, number);
    }
}

impl<'de> DeserializeSeed<'de> for Weigh<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Weigh<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.number(0);
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.number(0);
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.number(number);
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.number(0);
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.number(0);
        Ok(())
    }

    fn visit_str<E>(mut self, text: &str) -> Result<(), E> {
        let length = text.len();
        // A quote within a shell's quotes becomes four characters, most of which become five in an
        // HTML page.
        let is_encoded = matches!(self.key, "hdr" | "response_hdr" | "record");
        self.add(40 + if is_encoded { length } else { length * 8 } as u64);
        if length > MOST_STRING_BYTES && !is_encoded {
            let why = format!(
                "{} has {length} bytes and must have at most {MOST_STRING_BYTES}",
                self.key
            );
            self.weight.problem.get_or_insert(why);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        self.add(if self.is_tree() { 160 } else { 64 });
        let Weigh { weight, key, kind, depth } = self;
        loop {
            let one = Weigh { weight: &mut *weight, key, kind, depth: depth + 1 };
            if list.next_element_seed(one)?.is_none() {
                return Ok(());
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.add(if self.is_tree() { 720 } else { 160 });
        // Unknown keys are skipped and take no memory.
        while let Some(key) = map.next_key::<String>()? {
            if self.is_tree() {
                self.add(100 + 8 * key.len() as u64);
            }
            let kind = if self.is_tree() { Kind::Tree } else { self.weight.kind(&key, self.depth) };
            let (weight, depth) = (&mut *self.weight, self.depth + 1);
            map.next_value_seed(Weigh { weight, key: &key, kind, depth })?;
        }
        Ok(())
    }
}
