//! The operands of a comparison: a URL, a command, a plan, or saved results, with an optional name
//! in front.

use std::path::{Path, PathBuf};

use candor_lab::target::is_program;
use candor_plan::words;
use candor_plan::{Secrets, looks_like_plan};

use crate::exit::UserError;

/// One operand of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct What {
    /// Its name in sentences.
    pub(crate) name: String,
    /// The operand as typed, with secrets redacted.
    pub(crate) source: String,
    pub(crate) kind: Kind,
    /// The directory in which its command is started; `None`: ours.
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// A running server.
    Url(String),
    /// A plan's file.
    Plan(String),
    /// A command to start.
    Command(Vec<String>),
    /// The embedded target, with these arguments.
    Embedded(Vec<String>),
    /// Result documents, at least one.
    Saved(Vec<PathBuf>),
}

/// The operands of a command line, at least two, with different names. Those without one are named in the order of
/// `names`, or by letters.
pub(crate) fn all(
    words: &[String],
    names: &[&str],
    secrets: Secrets,
) -> Result<Vec<What>, UserError> {
    if words.len() < 2 {
        return Err(UserError::usage(
            "a comparison needs at least two things to compare; `candor compare --help` has examples",
        ));
    }
    let all: Vec<What> = words
        .iter()
        .enumerate()
        .map(|(index, word)| {
            let name = names.get(index).map_or_else(|| letter(index), |name| (*name).to_owned());
            one(word, name, secrets)
        })
        .collect::<Result<_, _>>()?;
    for (at, what) in all.iter().enumerate() {
        if all[..at].iter().any(|other| other.name == what.name) {
            return Err(UserError::usage(format!(
                "two variants have the name {}; give them different ones: old=… new=…",
                what.name
            )));
        }
    }
    Ok(all)
}

fn one(word: &str, name: String, secrets: Secrets) -> Result<What, UserError> {
    let (name, rest) = match named(word) {
        Some((name, rest)) => (name.to_owned(), rest),
        None => (name, word),
    };
    let kind = kind(rest)?;
    let source = secrets.command_line(rest);
    Ok(What { name, source, kind, dir: None })
}

/// `NAME=WHAT`. A name has no characters that occur before the first equals sign of a URL, a path or
/// a command.
pub(crate) fn named(word: &str) -> Option<(&str, &str)> {
    let (name, rest) = word.split_once('=')?;
    let plain = |c: char| c.is_alphanumeric() || "_-+".contains(c);
    (!name.is_empty() && !rest.is_empty() && name.chars().all(plain)).then_some((name, rest))
}

fn letter(index: usize) -> String {
    match u8::try_from(index) {
        Ok(index @ 0..26) => char::from(b'A' + index).to_string(),
        _ => format!("V{}", index + 1),
    }
}

fn kind(text: &str) -> Result<Kind, UserError> {
    let wrong =
        |why: String| UserError::usage(format!("{}: {why}", Secrets::Hidden.command_line(text)));
    if text.contains("://") && !text.contains(char::is_whitespace) {
        return Ok(Kind::Url(text.to_owned()));
    }
    if looks_like_plan(text) && !text.contains(char::is_whitespace) {
        return Ok(Kind::Plan(text.to_owned()));
    }
    if Path::new(text).is_dir() {
        return saved_in(Path::new(text)).map_err(wrong).map(Kind::Saved);
    }
    if text.split(',').all(|part| part.ends_with(".json")) {
        return Ok(Kind::Saved(text.split(',').map(PathBuf::from).collect()));
    }
    let mut command = words::split(text).map_err(wrong)?;
    if command.first().is_some_and(|program| program == "embedded") {
        command.remove(0);
        return Ok(Kind::Embedded(command));
    }
    match command.len() > 1 || is_program(&command[0]) {
        true => Ok(Kind::Command(command)),
        false => Err(wrong(
            "this is not a URL, plan, saved result, directory of results or program; `candor compare --help` has examples"
                .to_owned(),
        )),
    }
}

/// Result documents of a directory, in order of their names.
fn saved_in(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(directory).map_err(|error| error.to_string())?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    files.sort();
    match files.is_empty() {
        true => {
            Err("there is no .json file in this directory; give results that --json wrote"
                .to_owned())
        }
        false => Ok(files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(words: &[&str]) -> Vec<(String, Kind)> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let all = all(&words, &[], Secrets::Hidden).unwrap_or_else(|_| panic!("{words:?}"));
        all.into_iter().map(|one| (one.name, one.kind)).collect()
    }

    #[test]
    fn what_is_meant() {
        let url = |url: &str| Kind::Url(url.to_owned());
        assert_eq!(
            told(&["http://h/?a=b", "new=http://h/?a=c"]),
            [("A".to_owned(), url("http://h/?a=b")), ("new".to_owned(), url("http://h/?a=c"))]
        );
        let plan = |file: &str| Kind::Plan(file.to_owned());
        assert_eq!(
            told(&["a.toml", "x=dir/b.toml"]),
            [("A".to_owned(), plan("a.toml")), ("x".to_owned(), plan("dir/b.toml"))]
        );
        let saved = Kind::Saved(vec!["1.json".into(), "2.json".into()]);
        assert_eq!(told(&["1.json,2.json", "a.toml"])[0].1, saved);
        let command = Kind::Command(vec!["./s".to_owned(), "--x=1".to_owned()]);
        assert_eq!(told(&["new=./s --x=1", "a.toml"])[0].1, command);
        let embedded = Kind::Embedded(vec!["--threads".to_owned(), "2".to_owned()]);
        assert_eq!(told(&["embedded --threads 2", "embedded"])[0].1, embedded);
    }

    #[test]
    fn what_is_nothing_is_refused() {
        let refused = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            all(&words, &[], Secrets::Hidden).is_err()
        };
        assert!(refused(&["http://h/"]));
        assert!(refused(&["http://h/", "no-such-program-here"]));
        assert!(refused(&["a=http://h/", "a=http://i/"]));
        assert!(refused(&["http://h/", "'unclosed"]));
    }
}
