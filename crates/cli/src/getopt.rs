//! Parses command lines like the C library's `getopt_long`, for the tools that Candor replaces.
//!
//! Options may follow other words; short ones may be joined (`-t2 -Ld30s`); a long one may have its
//! value after `=`; `--` ends the options. Each tool gives its options their meaning.

use std::fmt::Display;
use std::path::Path;

use candor_plan::options::ReadFile;
use candor_plan::redact::Kind;

/// Why a run is refused, in a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) String);

impl Refusal {
    pub(crate) fn new(message: impl Display) -> Self {
        Refusal(message.to_string())
    }
}

/// The text of the file that `option` names.
pub(crate) fn text(files: &dyn ReadFile, path: &Path, option: &str) -> Result<String, Refusal> {
    let bytes = files
        .read(path)
        .map_err(|error| Refusal(format!("{option}: cannot read {}: {error}", path.display())))?;
    String::from_utf8(bytes)
        .map_err(|_| Refusal(format!("{option}: {} is not UTF-8 text", path.display())))
}

/// The arguments of a tool, and whether the program was started under the tool's name; `None` if the command line is
/// for something else.
pub(crate) fn invocation<'a>(typed: &'a [String], tool: &str) -> Option<(bool, &'a [String])> {
    let (program, rest) = typed.split_first()?;
    if program.rsplit('/').next() == Some(tool) {
        return Some((true, rest));
    }
    match rest.split_first() {
        Some((first, rest)) if first == tool => Some((false, rest)),
        _ => None,
    }
}

/// An option and its spellings.
pub(crate) struct Flag<Id: 'static> {
    /// Identifies it.
    pub(crate) id: Id,
    /// Its letter.
    pub(crate) short: Option<char>,
    /// Its long name.
    pub(crate) long: &'static str,
    /// Whether a value follows.
    pub(crate) takes_value: bool,
    /// A long name may be abbreviated if it is unique among the options of the lowest rank, or else
    /// among those and the next. `None`: it cannot be abbreviated, so it makes no other
    /// abbreviation ambiguous.
    pub(crate) rank: Option<u8>,
}

/// The number of ranks.
const RANKS: u8 = 3;

impl<Id> Flag<Id> {
    /// The option with this letter.
    fn of_letter(flags: &'static [Self], letter: char) -> Option<&'static Self> {
        flags.iter().find(|flag| flag.short == Some(letter))
    }

    /// The option with this name, perhaps abbreviated; or the C library's error message.
    pub(crate) fn of_name(flags: &'static [Self], typed: &str) -> Result<&'static Self, String> {
        if let Some(exact) = flags.iter().find(|flag| flag.long == typed) {
            return Ok(exact);
        }
        for most in 0..RANKS {
            let known = flags.iter().filter(|flag| flag.rank.is_some_and(|rank| rank <= most));
            let matches: Vec<&Self> = known.filter(|flag| flag.long.starts_with(typed)).collect();
            match matches[..] {
                [] => {}
                [only] => return Ok(only),
                _ => {
                    let all: Vec<String> =
                        matches.iter().map(|flag| format!("'--{}'", flag.long)).collect();
                    let all = all.join(" ");
                    return Err(format!("option '--{typed}' is ambiguous; possibilities: {all}"));
                }
            }
        }
        Err(format!("unrecognized option '--{typed}'"))
    }
}

/// The typed name of an option.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Name<'a> {
    /// `-c`.
    Short(char),
    /// `--connections`.
    Long(&'a str),
}

/// The meaning of an option's value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meaning {
    /// Whether the value may be the next word, if it is not in the option's own.
    pub(crate) takes_next: bool,
    /// The kind of value.
    pub(crate) kind: Kind,
}

/// The meaning of the value of the option with this name, if it has one; `kind` gives the kind for
/// each option.
pub(crate) fn meaning<Id: Copy>(
    flags: &'static [Flag<Id>],
    name: Name<'_>,
    kind: impl Fn(Id) -> Kind,
) -> Option<Meaning> {
    let flag = match name {
        Name::Short(letter) => Flag::of_letter(flags, letter)?,
        Name::Long(name) => Flag::of_name(flags, name).ok()?,
    };
    Some(Meaning { takes_next: flag.takes_value, kind: kind(flag.id) })
}

/// Receives the words, in order.
pub(crate) trait Taker {
    /// Which option.
    type Id: Copy + 'static;
    /// Its error.
    type Refusal;
    /// Its options.
    const FLAGS: &'static [Flag<Self::Id>];

    /// Takes an option; `shown` is its spelling.
    fn set(
        &mut self,
        id: Self::Id,
        shown: &str,
        value: Option<String>,
    ) -> Result<(), Self::Refusal>;

    /// Takes a word that is not an option.
    fn place(&mut self, word: String);

    /// The error for an invalid command line, in the C library's words.
    fn wrong(&self, what: String) -> Self::Refusal;
}

/// Reads `words`.
pub(crate) fn read<T: Taker>(taker: &mut T, words: &[String]) -> Result<(), T::Refusal> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            words.for_each(|word| taker.place(word.clone()));
            return Ok(());
        } else if let Some(long) = word.strip_prefix("--") {
            let (typed, value) = match long.split_once('=') {
                Some((typed, value)) => (typed, Some(value.to_owned())),
                None => (long, None),
            };
            let flag = Flag::of_name(T::FLAGS, typed).map_err(|error| taker.wrong(error))?;
            let name = flag.long;
            let value = match (flag.takes_value, value) {
                (true, None) => Some(words.next().cloned().ok_or_else(|| {
                    taker.wrong(format!("option '--{name}' requires an argument"))
                })?),
                (false, Some(_)) => {
                    let what = format!("option '--{name}' doesn't allow an argument");
                    return Err(taker.wrong(what));
                }
                (_, value) => value,
            };
            taker.set(flag.id, &format!("--{name}"), value)?;
        } else if let Some(cluster) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            read_cluster(taker, cluster, &mut words)?;
        } else {
            taker.place(word.clone());
        }
    }
    Ok(())
}

/// `-Ld30s`: joined letters. The first one with a value takes the rest of the word, or the next
/// word.
fn read_cluster<'a, T: Taker>(
    taker: &mut T,
    cluster: &str,
    words: &mut impl Iterator<Item = &'a String>,
) -> Result<(), T::Refusal> {
    for (at, letter) in cluster.char_indices() {
        let Some(flag) = Flag::of_letter(T::FLAGS, letter) else {
            return Err(taker.wrong(format!("invalid option -- '{letter}'")));
        };
        let shown = format!("-{letter}");
        if !flag.takes_value {
            taker.set(flag.id, &shown, None)?;
            continue;
        }
        let rest = &cluster[at + letter.len_utf8()..];
        let value = match rest {
            "" => words.next().cloned(),
            rest => Some(rest.to_owned()),
        };
        let value = value
            .ok_or_else(|| taker.wrong(format!("option requires an argument -- '{letter}'")))?;
        return taker.set(flag.id, &shown, Some(value));
    }
    Ok(())
}
