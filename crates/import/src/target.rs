//! Paths with queries, and forms: split into values without rewriting them.
//!
//! The text between the separators stays as it was recorded. Only characters that a request line
//! cannot have are percent-encoded.

use percent_encoding::{
    AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode,
};

use crate::template::Template;

/// A request line ends at a blank; controls and other scripts are always encoded.
const REFUSED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>');
/// All but the unreserved characters of RFC 3986 section 2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A name with its value; `flag` alone has none.
pub(crate) type Pair = (String, Option<Template>);

/// A path with its query.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Target {
    /// Between slashes; the first is empty.
    pub(crate) segments: Vec<Template>,
    pub(crate) query: Option<Vec<Pair>>,
}

impl Target {
    /// Splits `/path?query`; a fragment is dropped.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.split('#').next().unwrap_or_default();
        let text = sendable(text);
        let (path, query) = match text.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (text.as_str(), None),
        };
        let path = path.strip_prefix('/').unwrap_or(path);
        let segments = std::iter::once("").chain(path.split('/')).map(Template::text).collect();
        Target { segments, query: query.map(parse_form) }
    }

    pub(crate) fn to_template(&self) -> Template {
        let mut path = Template::default();
        for (index, segment) in self.segments.iter().enumerate() {
            path.push_text(if index > 0 { "/" } else { "" });
            path.push(segment);
        }
        if let Some(query) = &self.query {
            path.push_text("?");
            path.push(&form(query));
        }
        path
    }

    /// Removes `.` and `..` from the path (RFC 3986 section 5.2.4).
    pub(crate) fn remove_dots(&mut self) {
        let mut kept: Vec<Template> = Vec::new();
        let last = self.segments.len() - 1;
        for (index, segment) in self.segments.drain(..).enumerate() {
            let dots = segment.as_text().filter(|text| [".", ".."].contains(text)).map(str::len);
            match dots {
                None => kept.push(segment),
                Some(dots) => {
                    kept.truncate(kept.len().saturating_sub(dots - 1).max(1));
                    if index == last {
                        kept.push(Template::default());
                    }
                }
            }
        }
        self.segments = kept;
    }

    /// Adds pairs behind the query; an `&` at its end is the one before them.
    pub(crate) fn extend_query(&mut self, pairs: Vec<Pair>) {
        let query = self.query.get_or_insert_default();
        query.pop_if(|(name, value)| name.is_empty() && value.is_none());
        query.extend(pairs);
    }

    /// Adds a pair to the query.
    pub(crate) fn push_query(&mut self, name: &str, value: Template) {
        self.query.get_or_insert_default().push((form_encoded(name), Some(value)));
    }
}

/// `a=1&b=2`, not decoded.
pub(crate) fn parse_form(text: &str) -> Vec<Pair> {
    let pair = |part: &str| match part.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(Template::text(value))),
        None => (part.to_owned(), None),
    };
    text.split('&').map(pair).collect()
}

/// The opposite of [`parse_form`].
pub(crate) fn form(pairs: &[Pair]) -> Template {
    let mut text = Template::default();
    for (index, (name, value)) in pairs.iter().enumerate() {
        text.push_text(if index > 0 { "&" } else { "" });
        text.push_text(name);
        if let Some(value) = value {
            text.push_text("=");
            text.push(value);
        }
    }
    text
}

/// Percent-encodes what a request line cannot have.
pub(crate) fn sendable(text: &str) -> String {
    utf8_percent_encode(text, REFUSED).to_string()
}

/// A value for a query or a form.
pub(crate) fn form_encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// The value that a part of a query or a form stands for.
pub(crate) fn form_decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_split_is_the_same_again() {
        for text in ["/", "/a/b", "//a//", "/a?", "/a?b", "/a?b=&=c&&d=e=f", "/%41+é?%zz=%"] {
            let written = Target::parse(text).to_template().render();
            assert_eq!(written, sendable(text));
        }
        assert_eq!(Target::parse("").to_template().render(), "/");
        assert_eq!(Target::parse("/a#b?c").to_template().render(), "/a");
        assert_eq!(Target::parse("/a b\u{a0}\n").to_template().render(), "/a%20b%C2%A0%0A");
        assert_eq!(Target::parse("/${x}").to_template().render(), "/$${x}");
    }

    #[test]
    fn dots_are_steps() {
        for (path, expected) in [
            ("/a/b", "/a/b"),
            ("/a/./b/../c", "/a/c"),
            ("/../a/..", "/"),
            ("/a/.", "/a/"),
            ("/a/../../b?c=/../d", "/b?c=/../d"),
            ("/.a/..b", "/.a/..b"),
        ] {
            let mut target = Target::parse(path);
            target.remove_dots();
            assert_eq!(target.to_template().render(), expected);
        }
    }

    #[test]
    fn forms_are_decoded_like_browsers_encode_them() {
        assert_eq!(form_decoded("a+b%2Bc%C3%A9"), "a b+cé");
        assert_eq!(form_encoded("a b+cé~"), "a%20b%2Bc%C3%A9~");
    }
}
