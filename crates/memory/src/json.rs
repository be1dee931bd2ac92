//! JSON paths (RFC 9535) over the body of a response.
//!
//! A path of member names and indices, which nearly all captures have, goes through the body once and
//! stops at its value ([`plain`]). Any other path, with wildcards, slices, negative indices, filters or
//! `..`, needs the body as a tree, within bounds ([`general`]). That only says where its first node is:
//! the text of the value comes from the body in both cases, so that a number has all its digits.
//!
//! Of the function extensions (RFC 9535 2.4) `length`, `count` and `value` are supported, and `match` and
//! `search` are not: they would compile expressions that the body can choose, once for each node.

mod general;
mod plain;

use std::borrow::Cow;

use general::General;

use crate::Why;

/// A compiled path.
#[derive(Debug, Clone)]
pub(crate) enum Path {
    Plain(Box<[Step]>),
    General(Box<General>),
}

/// From a value to one in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Name(Box<str>),
    Index(usize),
}

impl Path {
    /// Compiles a path. The error says what is wrong in it, and where.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let general = General::parse(text)?;
        Ok(match plain_steps(text) {
            Some(steps) => Path::Plain(steps.into()),
            None => Path::General(Box::new(general)),
        })
    }

    /// The first value of the path.
    pub(crate) fn find<'a>(&self, body: &'a [u8]) -> Result<Cow<'a, [u8]>, Why> {
        match self {
            Path::Plain(steps) => plain::find(steps, body),
            Path::General(path) => plain::find(&path.first(body)?, body),
        }
    }
}

/// The steps of a path that has only names and indices from the front, written without blanks and
/// escapes. `None` for any other path. The library has accepted `text`.
fn plain_steps(text: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = text.strip_prefix('$')?;
    while !rest.is_empty() {
        let step;
        (step, rest) = match rest.strip_prefix('[') {
            Some(bracketed) => bracketed_step(bracketed)?,
            None => {
                let named = rest.strip_prefix('.')?;
                let end = named.find(['.', '[']).unwrap_or(named.len());
                (name(&named[..end])?, &named[end..])
            }
        };
        steps.push(step);
    }
    Some(steps)
}

fn bracketed_step(text: &str) -> Option<(Step, &str)> {
    let quote = text.chars().next().filter(|first| ['\'', '"'].contains(first));
    let Some(quote) = quote else {
        let (digits, rest) = text.split_once(']')?;
        let is_index = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        return is_index.then(|| digits.parse().ok())?.map(|index| (Step::Index(index), rest));
    };
    let (name, rest) = text[1..].split_once(quote)?;
    (!name.contains('\\')).then(|| Some((Step::Name(name.into()), rest.strip_prefix(']')?)))?
}

/// RFC 9535 2.5.1.1, `member-name-shorthand`.
fn name(text: &str) -> Option<Step> {
    let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric() || !c.is_ascii();
    (!text.is_empty() && text.chars().all(is_name)).then(|| Step::Name(text.into()))
}

#[cfg(test)]
mod tests;
