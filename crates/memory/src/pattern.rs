//! Regular expressions over a body: the first group of the first match, or the whole match.
//!
//! The automata take time linear in the body, whatever the server sends, and the size of a pattern is
//! bounded when it is compiled. A search allocates nothing once its thread has searched before.

use std::ops::Range;

use regex_automata::meta::{BuildError, Config, Regex};
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::{Input, util::syntax};

/// The most memory of a compiled pattern. The time of the slowest search is in proportion.
const MOST_AUTOMATON_BYTES: usize = 1 << 20;

/// A compiled regular expression over bytes.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    has_group: bool,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What is wrong in it, where, and the remedy.
    pub fn new(text: &str) -> Result<Self, String> {
        let config = Config::new()
            .utf8_empty(false)
            .nfa_size_limit(Some(MOST_AUTOMATON_BYTES))
            .onepass_size_limit(Some(MOST_AUTOMATON_BYTES));
        // Bodies are bytes: a pattern may match ones that are not UTF-8.
        let regex = Regex::builder()
            .configure(config)
            .syntax(syntax::Config::new().utf8(false))
            .build(text)
            .map_err(|error| problem(&error))?;
        let has_group = regex.captures_len() > 1;
        Ok(Pattern { regex, has_group })
    }

    /// Whether it matches anywhere in `text`.
    pub fn is_in(&self, text: &[u8]) -> bool {
        self.regex.is_match(Input::new(text))
    }

    /// Where in `body` the value is.
    pub(crate) fn find(&self, body: &[u8]) -> Option<Range<usize>> {
        let input = Input::new(body);
        if !self.has_group {
            return self.regex.find(input).map(|found| found.range());
        }
        // The two ends of the whole match and of the first group.
        let mut slots: [Option<NonMaxUsize>; 4] = [None; 4];
        self.regex.search_slots(&input, &mut slots)?;
        let [_, _, Some(start), Some(end)] = slots else { return None };
        Some(start.get()..end.get())
    }
}

fn problem(error: &BuildError) -> String {
    if error.size_limit().is_some() {
        return format!(
            "it takes more than {MOST_AUTOMATON_BYTES} bytes when compiled; make its repetitions shorter"
        );
    }
    let place = |span: &regex_syntax::ast::Span, kind: String| {
        format!(
            "{kind} at position {} of the expression; correct it, or write \\ before a character that is meant itself",
            span.start.offset + 1
        )
    };
    match error.syntax_error() {
        Some(regex_syntax::Error::Parse(error)) => place(error.span(), error.kind().to_string()),
        Some(regex_syntax::Error::Translate(error)) => {
            place(error.span(), error.kind().to_string())
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    fn find<'a>(pattern: &str, body: &'a [u8]) -> Option<&'a [u8]> {
        Pattern::new(pattern).unwrap().find(body).map(|place| &body[place])
    }

    #[test]
    fn the_first_group_is_taken_or_else_the_whole_match() {
        let body = br#"<input name="csrf" value="a1"><input name="csrf" value="b2">"#;
        assert_eq!(find(r#"name="csrf" value="([^"]+)""#, body), Some(&b"a1"[..]));
        assert_eq!(find(r#"value="([a-z])([0-9])""#, body), Some(&b"a"[..]));
        assert_eq!(find(r"[a-z]\d", body), Some(&b"a1"[..]));
        assert_eq!(find(r"(?:b)\d", body), Some(&b"b2"[..]));
        assert_eq!(find(r"(z)|a1", body), None, "the group took no part in the match");
        assert_eq!(find(r"()", body), Some(&b""[..]));
    }

    #[test]
    fn bodies_need_not_be_text() {
        assert_eq!(find(r"(?-u:\xff)(.)", b"\xfe\xffx\xff"), Some(&b"x"[..]));
        assert_eq!(find(r"a(.)b", b"a\xffb a\xc3\xa9b"), Some("é".as_bytes()));
        assert_eq!(find(r"(?-u)a(.)b", b"a\xffb"), Some(&b"\xff"[..]));
    }

    #[test]
    fn a_broken_pattern_has_a_place() {
        let problem = |text| Pattern::new(text).unwrap_err();
        assert!(problem("a(b").starts_with("unclosed group at position 2 of the expression; "));
        assert!(
            problem("*").starts_with(
                "repetition operator missing expression at position 1 of the expression"
            )
        );
        assert!(problem("((a{0,100}){0,100}){0,100}").starts_with("it takes more than"));
    }

    /// A backtracking engine would need 2^60 steps.
    #[test]
    fn hostile_bodies_take_linear_time() {
        let body = "a".repeat(1 << 16);
        assert_eq!(find("((?:a*)*b)", body.as_bytes()), None);
        assert_eq!(find("(a?){60}(a{60}c)", body.as_bytes()), None);
    }
}
