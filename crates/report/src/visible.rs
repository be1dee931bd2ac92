//! Makes text from outside visible, so that texts of servers, files and other programs can be shown
//! anywhere.
//!
//! Terminals and viewers obey invisible characters: these move the cursor, set the title, reverse the
//! order of letters, or begin a forged line. [`visible`] is the only judge of them. Every rendering
//! passes inserted text through it (lines, cells of tables, fields of CSV, markup), and the command's
//! console passes its output through [`visible_lines`], so that text which one rendering forgot still
//! reaches no terminal. JSON keeps all text and writes such characters as `\uXXXX` ([`crate::json`]).

use std::borrow::Cow;

use candor_plan::words::is_hidden;

use crate::style::Style;

/// One line of text with only visible characters: others are written as in Rust, e.g. a line's end as
/// `\n` and escape as `\u{1b}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden)
}

/// The same for text with lines: line ends and tabs stay.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden_in_lines)
}

fn is_hidden_in_lines(c: char) -> bool {
    !matches!(c, '\n' | '\t') && is_hidden(c)
}

/// The same for a rendering: the colours of a [`Style`] stay too.
pub fn visible_styled(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden_in_lines) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out += &visible_lines(&rest[..at]);
        rest = &rest[at..];
        let kept = Style::codes().find(|code| rest.starts_with(code)).map_or("", |code| code);
        out += kept;
        rest = &rest[kept.len()..];
        if kept.is_empty() {
            out.extend('\u{1b}'.escape_default());
            rest = &rest[1..];
        }
    }
    out += &visible_lines(rest);
    Cow::Owned(out)
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_escaped(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// At most `limit` characters of `text`, with an ellipsis if some are missing.
pub fn shorten(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(limit.saturating_sub(1)).collect();
    let is_in_word = text[short.len()..].starts_with(|next: char| next != ' ');
    if let Some(end) = short.rfind(' ').filter(|_| is_in_word)
        && short[end..].chars().count() <= WORD.min(limit / 3)
    {
        short.truncate(end);
    }
    short.truncate(short.trim_end_matches([' ', ',', ';', ':']).len());
    short.push('…');
    short
}

/// What is cut off of a word at most, so that none is cut in the middle.
const WORD: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Tone;

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        for (text, shown) in [
            ("\u{1b}]0;x\u{7}", "\\u{1b}]0;x\\u{7}"),
            ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
            ("\u{9b}2J \u{7f}", "\\u{9b}2J \\u{7f}"),
            ("\u{202e}\u{2066}\u{200b}\u{feff}", "\\u{202e}\\u{2066}\\u{200b}\\u{feff}"),
            ("\u{e0041}\u{2028}\u{fffe}", "\\u{e0041}\\u{2028}\\u{fffe}"),
            ("É 日本 \u{1f600} – ± µs │ \"'\\", "É 日本 \u{1f600} – ± µs │ \"'\\"),
        ] {
            assert_eq!(visible(text), shown);
        }
        assert!(matches!(visible("plain"), Cow::Borrowed("plain")));
        assert_eq!(visible_lines("a\nb\r\n"), "a\nb\\r\n");
    }

    #[test]
    fn a_text_is_cut_between_words_where_one_ends_near() {
        for (limit, shown) in [
            (30, "No request succeeded"),
            (13, "No request…"),
            (12, "No request…"),
            (11, "No request…"),
            (8, "No requ…"),
            (1, "…"),
        ] {
            assert_eq!(shorten("No request succeeded", limit), shown);
        }
        assert_eq!(
            shorten("a http://h.example/a/long/path/without/blanks", 30).chars().count(),
            30
        );
        assert_eq!(shorten("it failed, and more", 11), "it failed…");
    }

    #[test]
    fn of_colours_only_ours_stay() {
        let ours = Style::COLOUR.paint(Tone::Bad, "bad\u{1b}[8m\u{1b}[2J");
        let text = format!("{ours}\nx\u{1b}");
        assert_eq!(visible_styled(&text), "\u{1b}[1;31mbad\\u{1b}[8m\\u{1b}[2J\u{1b}[0m\nx\\u{1b}");
    }
}
