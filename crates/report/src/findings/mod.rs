//! What the figures of a matrix say, in sentences: who is ahead in what and by how much, what broke and why,
//! what the loader limited.
//!
//! Each finding is a value, computed from the document alone; pages print them before any table. Nothing here
//! knows of pages, and no figure is told that the document does not have.
//!
//! ```text
//!  suite.rs      of servers
//!    board.rs    scores and ranks
//!  clients.rs    of client libraries
//!    contest.rs  who is ahead of whom, as the rounds of both tell
//! ```

mod board;
mod clients;
mod contest;
mod suite;

#[cfg(test)]
mod tests;

pub use board::board;
pub use clients::findings as clients;
pub use suite::findings as suite;
pub use suite::{Place, places};

/// One thing that the figures say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which kind of thing.
    pub kind: Kind,
    /// The whole of it.
    pub sentence: String,
}

/// What a finding is about; the most telling kind comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It ended, failed its requests, or has no run that can be used.
    Broken,
    /// Something other than its work holds it back.
    Slowed,
    /// It has the best figure, and its interval excludes the next one's.
    Ahead,
    /// The loader was at its limit: what is measured can do more.
    Bound,
    /// They differ by little, if at all.
    Level,
    /// The rounds differ too much, or are too few, to tell which is ahead.
    Unclear,
    /// It did not hold the rate that was asked for.
    Saturated,
    /// It needs the least CPU time.
    Frugal,
    /// Its figures, where there is nothing to compare them with.
    Reached,
}

/// Places that a sentence names; the others are counted.
const NAMED: usize = 3;

/// What places of a matrix are called, and what stands before one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Noun {
    before: &'static str,
    plural: &'static str,
}

impl Noun {
    /// `in hello and json`, `in a, b, c and 5 more`, `in all 8 scenarios`.
    fn all_of(self, names: &[String], of: usize) -> String {
        let Noun { before, plural } = self;
        match names.len() {
            count if count == of && count > 1 => format!("{before} all {count} {plural}"),
            _ => format!("{before} {}", list(names)),
        }
    }

    /// `in 3 of 8 scenarios`, `in all 8 scenarios`.
    fn some_of(self, count: usize, of: usize) -> String {
        let Noun { before, plural } = self;
        match count == of {
            true => format!("{before} all {of} {plural}"),
            false => format!("{before} {count} of {of} {plural}"),
        }
    }
}

/// Names in a sentence, the first [`NAMED`] of them.
pub fn list<T: AsRef<str>>(names: &[T]) -> String {
    let named = names.len().min(NAMED);
    let left = names.len() - named;
    let mut parts: Vec<String> = names[..named].iter().map(|one| one.as_ref().to_owned()).collect();
    parts.extend((left > 0).then(|| format!("{left} more")));
    match parts.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// From the lowest to the highest of these as they are written, or the one that they all are; a dash for none.
fn range(values: impl Iterator<Item = f64> + Clone, written: impl Fn(f64) -> String) -> String {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    match (written(low), written(high)) {
        _ if low > high => "–".to_owned(),
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    }
}
