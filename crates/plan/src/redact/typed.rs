//! A command line of our own as it was typed, which cannot be read except by the rules of redaction.

use std::fmt;

use super::{Hidden, REDACTED, Secrets};
use crate::words;

/// The kind of a word in one of our own command lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Harmless: the name of an option, a number, the name of a file.
    Plain,
    /// Not to be shown.
    Hidden,
    /// `Name: value`.
    Header,
    /// A URL.
    Url,
    /// A name that may have a token in it.
    Name,
    /// `NAME=VALUE`.
    Setting,
    /// A whole command in one word.
    Command,
    /// Where a credential comes from.
    Auth,
}

/// A command line as it was typed. [`Typed::shown`] is the only way to read it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Typed(Vec<Word>);

#[derive(Clone, PartialEq, Eq)]
struct Word {
    lead: String,
    kind: Kind,
    text: String,
}

impl Typed {
    /// Adds a word: `lead`, which is shown, such as `--header=`, and `text` behind it.
    pub fn push(&mut self, lead: impl Into<String>, kind: Kind, text: impl Into<String>) {
        self.0.push(Word { lead: lead.into(), kind, text: text.into() });
    }

    /// The words, redacted.
    pub fn shown(&self, secrets: Secrets) -> Vec<String> {
        let shown = |word: &Word| format!("{}{}", word.lead, secrets.value(word.kind, &word.text));
        self.0.iter().map(shown).collect()
    }

    /// The values that are not shown, for errors.
    pub fn hidden(&self) -> Hidden {
        let mut hidden = Hidden::default();
        for word in &self.0 {
            let text = word.text.as_str();
            match word.kind {
                Kind::Plain => {}
                Kind::Hidden => hidden.unnamed(text),
                Kind::Name => hidden.unnamed(text.rsplit('.').next().unwrap_or(text)),
                Kind::Header => match text.char_indices().skip(1).find(|(_, c)| *c == ':') {
                    Some((at, _)) => {
                        let (name, value) = (&text[..at], text[at + 1..].trim());
                        hidden.field(name, value);
                        if Secrets::Hidden.header(name, value) == REDACTED {
                            hidden.unnamed(value);
                        }
                    }
                    None => hidden.unnamed(text),
                },
                Kind::Setting => {
                    hidden.unnamed(text.split_once('=').map_or(text, |(_, value)| value));
                }
                Kind::Url => hidden.url(text),
                Kind::Command => hide_command(text, &mut hidden),
                Kind::Auth => match text.split_once(':').unwrap_or(("", text)) {
                    ("basic", user) => {
                        hidden.unnamed(user);
                        hidden.unnamed(user.split_once(':').map_or("", |(_, password)| password));
                    }
                    ("oauth2", url) => hidden.url(url),
                    ("cmd", command) => {
                        let words = words::split(command).unwrap_or_default();
                        words.iter().skip(1).for_each(|word| hidden.unnamed(word));
                    }
                    ("file", _) => {}
                    (_, token) => hidden.unnamed(token),
                },
            }
        }
        hidden
    }
}

fn hide_command(text: &str, hidden: &mut Hidden) {
    let words = words::split(text).unwrap_or_default();
    let shown = Secrets::Hidden.command(&words);
    let differ = words.iter().zip(&shown).filter(|(word, shown)| word != shown);
    for (word, _) in differ {
        match word.contains("://") {
            true => hidden.url(word),
            false => hidden.unnamed(word.rsplit('=').next().unwrap_or(word)),
        }
    }
}

impl fmt::Debug for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.shown(Secrets::Hidden)).finish()
    }
}
