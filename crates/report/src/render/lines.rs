//! Lines of plain text and of Markdown under construction, in which text from outside stays within its
//! line.
//!
//! A line is cut by its own end alone: [`Lines::line`] makes everything in it visible, ends of lines
//! too. What has several lines is either fixed in this source or was made of lines itself. Within a line
//! of Markdown, [`escaped`] and [`code`] keep text from being markup.

use super::visible;

/// A rendering made of lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lines(String);

impl Lines {
    /// One line, whatever is in it.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        self.0.push_str(&visible(line.as_ref()));
        self.0.push('\n');
    }

    pub(super) fn blank(&mut self) {
        self.0.push('\n');
    }

    /// What stands in this source, as it is.
    pub(super) fn fixed(&mut self, text: &'static str) {
        self.0.push_str(text);
    }

    /// Lines that were made apart.
    pub(super) fn append(&mut self, lines: Lines) {
        self.0.push_str(&lines.0);
    }

    /// A heading of Markdown, with a blank line behind it.
    pub(super) fn heading(&mut self, level: usize, heading: impl AsRef<str>) {
        self.line(format!("{} {}", "#".repeat(level), heading.as_ref()));
        self.blank();
    }

    /// A block of code of Markdown.
    pub(super) fn code(&mut self, code: Lines) {
        self.0.push_str("```\n");
        // A fence within would end the block.
        self.0.push_str(&code.0.replace("```", "'''"));
        self.0.push_str("```\n");
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// Text in a line of Markdown: no markup, no link, no cell of a table. Words between single backticks are
/// code.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Four blanks at the beginning would make a block of code of it.
    let mut rest = if text.starts_with("    ") { text.trim_start() } else { text };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let marker = &rest[digits..];
    if digits > 0 && matches!(marker.as_bytes(), [b'.' | b')'] | [b'.' | b')', b' ', ..]) {
        out.extend([&rest[..digits], "\\", &marker[..1]]);
        rest = &marker[1..];
    }
    while let Some(c) = rest.chars().next() {
        // Two backticks in a row, of which one is ours, would be something else.
        if !out.ends_with('`')
            && let Some((code, behind)) = code_at(rest)
        {
            // A cell of a table ends at any other bar, in code too.
            out.push_str(&code.replace('|', "\\|"));
            rest = behind;
            continue;
        }
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '|' | '[' | ']' | '*' => out.extend(['\\', c]),
            '#' | '>' | '-' | '+' | '=' | '~' | '_' if out.is_empty() && rest.len() > 1 => {
                out.extend(['\\', c]);
            }
            c => out.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// The code between the backtick at the beginning and the next one, both alone, and what follows.
fn code_at(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('`')?;
    let length = inside.find('`').filter(|&length| length > 0)?;
    let (code, behind) = text.split_at(length + 2);
    (!behind.starts_with('`')).then_some((code, behind))
}

/// Text as code in a line of Markdown.
pub(super) fn code(text: &str) -> String {
    match text.is_empty() {
        true => String::new(),
        false => format!("`{}`", text.replace('`', "'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_markup() {
        for (text, markdown) in [
            ("`a <b>` & c", "`a <b>` &amp; c"),
            ("` <img src=x>", "\\` &lt;img src=x>"),
            ("`` <b> ``", "\\`\\` &lt;b> \\`\\`"),
            ("`a``<b>`", "\\`a\\`\\`&lt;b>\\`"),
            ("[x](http://y) ![z](w)", "\\[x\\](http://y) !\\[z\\](w)"),
            ("a|b `c|d` \\|", "a\\|b `c\\|d` \\\\\\|"),
            ("# x", "\\# x"),
            ("a # x", "a # x"),
            ("* x", "\\* x"),
            ("1. x", "1\\. x"),
            ("10.5 %", "10.5 %"),
            ("     x", "x"),
            ("–", "–"),
            ("-", "-"),
        ] {
            assert_eq!(escaped(text), markdown);
        }
        assert_eq!(code("a`b"), "`a'b`");
    }

    #[test]
    fn a_line_is_one_line() {
        let mut lines = Lines::default();
        lines.line("a\nb\u{1b}[2J\u{202e}");
        let mut inside = Lines::default();
        inside.line("```");
        lines.code(inside);
        assert_eq!(lines.finish(), "a\\nb\\u{1b}[2J\\u{202e}\n```\n'''\n```\n");
    }
}
