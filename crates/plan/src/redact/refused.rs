//! What an error may say of the value that it refuses: enough to see a slip, and no word that could be a secret's.

use super::{Hidden, REDACTED, is_harmless, is_number};
use crate::units::fmt_plural;

/// A value that was typed where it does not belong, for the sentence that refuses it: words that could be a secret's are
/// hidden, and numbers, operators and short words in lower case are shown, so that a slip can be seen.
pub fn refused(value: &str) -> String {
    let mut shown = String::with_capacity(value.len());
    for part in value.split_inclusive(is_between_words) {
        let word = part.trim_end_matches(is_between_words);
        shown += if may_be_said(word) { word } else { REDACTED };
        shown += &part[word.len()..];
    }
    shown
}

/// The first columns of a data set, for an error, as `it has name, id`. If one of them looks like a value, the first row
/// may be data, and none is shown.
pub fn columns(names: &[String]) -> String {
    let first: Vec<&str> = names.iter().take(20).map(String::as_str).collect();
    let is_of_name = |c: char| c.is_alphanumeric() || "_-. ".contains(c);
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_alphabetic() || c == '_') && name.chars().all(is_of_name)
    };
    match first.iter().all(|name| is_name(name) && has_no_secret(name)) {
        true => format!("it has {}", first.join(", ")),
        false => format!(
            "it has {}; the first row must name them",
            fmt_plural(names.len() as u64, "column")
        ),
    }
}

/// `text`, a sentence about this value, without the words of the value that [`refused`] hides.
pub fn without_refused(text: &str, value: &str) -> String {
    let mut hidden = Hidden::default();
    for word in value.split(is_between_words).filter(|word| !may_be_said(word)) {
        hidden.add(word.as_bytes());
    }
    hidden.text(text).into_owned()
}

/// Whether all words of a text may stand in an error.
pub(crate) fn has_no_secret(text: &str) -> bool {
    text.split(is_between_words).all(may_be_said)
}

fn is_between_words(c: char) -> bool {
    c.is_whitespace() || "<>=;:,.'\"()[]{}|&@/?#".contains(c)
}

/// The name of a request, for the sentence that refuses it: it may be its path, and what was typed as a hole may be
/// none.
pub(crate) fn name_of_request(name: &str) -> String {
    let mut parts = name.split("${");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| {
        let (hole, behind) = part.split_at(part.find('}').unwrap_or(part.len()));
        format!("{shown}${{{}{behind}", refused(hole))
    })
}

/// A template with its holes, of which [`refused`] hides what stands between them.
pub(crate) fn outside_holes(text: &str) -> String {
    let part = |part: &str| match part.split_once("${") {
        Some((before, hole)) => format!("{}${{{hole}", refused(before)),
        None => refused(part),
    };
    text.split_inclusive('}').map(part).collect()
}

/// Methods of HTTP (RFC 9110 9, RFC 5789), which are no secrets.
const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// Whether a word may stand in an error.
fn may_be_said(word: &str) -> bool {
    let is_of_word = |c: char| c.is_ascii_lowercase() || "-+_.*%/^$\\".contains(c);
    // `Content-Type` too: capitals begin a part.
    let is_word = |part: &str| {
        part.strip_prefix(|c: char| c.is_ascii_uppercase()).unwrap_or(part).chars().all(is_of_word)
    };
    // `p99`, and slips such as `pp99`, `P99` and `q99`.
    let percentile = word.trim_start_matches(['p', 'P', 'q']);
    word.chars().count() <= 2
        || METHODS.contains(&word)
        || word.len() <= 16 && word.split('-').all(is_word)
        || is_harmless(word)
        || is_number(percentile)
        || word.strip_prefix(['-', '+']).is_some_and(is_number)
}
