//! Command lines as the C library's `getopt_long` reads them, for the tools whose place we take.
//!
//! Options may stand behind other words; short ones may be joined (`-t2 -Ld30s`); a long one may
//! have its value behind `=`; `--` ends the options. What an option means is its tool's business.

use candor_plan::redact::Kind;

/// An option.
pub(crate) trait Flag: 'static {
    /// Its long name.
    fn long(&self) -> &'static str;

    /// Whether a value follows.
    fn takes_value(&self) -> bool;
}

/// How an option is named.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Name<'a> {
    /// `-c`.
    Short(char),
    /// `--connections`.
    Long(&'a str),
}

/// What an option's value is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meaning {
    /// It is the next word, if it does not stand in the option's own.
    pub(crate) takes_next: bool,
    /// What it is.
    pub(crate) kind: Kind,
}

/// Whoever takes what was read, in order.
pub(crate) trait Taker {
    /// Its options.
    type Flag: Flag;
    /// Why it refuses.
    type Refusal;

    /// The option of this letter.
    fn short(&self, letter: char) -> Option<&'static Self::Flag>;

    /// The option of this long name, which may be shortened; or the C library's words for why
    /// there is none.
    fn long(&self, typed: &str) -> Result<&'static Self::Flag, String>;

    /// Takes an option; `shown` is how it was written.
    fn set(
        &mut self,
        flag: &Self::Flag,
        shown: &str,
        value: Option<String>,
    ) -> Result<(), Self::Refusal>;

    /// Takes a word that is no option.
    fn place(&mut self, word: String);

    /// A command line that cannot be read, in the C library's words.
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
            let flag = taker.long(typed).map_err(|error| taker.wrong(error))?;
            let name = flag.long();
            let value = match (flag.takes_value(), value) {
                (true, None) => Some(words.next().cloned().ok_or_else(|| {
                    taker.wrong(format!("option '--{name}' requires an argument"))
                })?),
                (false, Some(_)) => {
                    let what = format!("option '--{name}' doesn't allow an argument");
                    return Err(taker.wrong(what));
                }
                (_, value) => value,
            };
            taker.set(flag, &format!("--{name}"), value)?;
        } else if let Some(cluster) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            read_cluster(taker, cluster, &mut words)?;
        } else {
            taker.place(word.clone());
        }
    }
    Ok(())
}

/// `-Ld30s`: letters, of which the first that takes a value takes the rest, or the next word.
fn read_cluster<'a, T: Taker>(
    taker: &mut T,
    cluster: &str,
    words: &mut impl Iterator<Item = &'a String>,
) -> Result<(), T::Refusal> {
    for (at, letter) in cluster.char_indices() {
        let Some(flag) = taker.short(letter) else {
            return Err(taker.wrong(format!("invalid option -- '{letter}'")));
        };
        let shown = format!("-{letter}");
        if !flag.takes_value() {
            taker.set(flag, &shown, None)?;
            continue;
        }
        let rest = &cluster[at + letter.len_utf8()..];
        let value = match rest {
            "" => words.next().cloned(),
            rest => Some(rest.to_owned()),
        };
        let value = value
            .ok_or_else(|| taker.wrong(format!("option requires an argument -- '{letter}'")))?;
        return taker.set(flag, &shown, Some(value));
    }
    Ok(())
}
