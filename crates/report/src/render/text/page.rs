//! A page under construction: lines with a heading in the margin, and tables.

use super::super::style::{Style, Tone};
use super::super::visible;
use super::WIDTH;

/// Width of the margin that headings stand in.
const MARGIN: usize = 13;

pub(in crate::render) struct Page {
    style: Style,
    text: String,
}

impl Page {
    pub(in crate::render) fn new(style: Style) -> Self {
        Page { style, text: String::new() }
    }

    pub(in crate::render) fn finish(self) -> String {
        self.text
    }

    pub(in crate::render) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A line over the whole width; what is too long goes on in the next line.
    pub(in crate::render) fn line(&mut self, tone: Option<Tone>, content: &str) {
        for piece in wrap(&visible(content), WIDTH) {
            self.push_line("", tone, &piece);
        }
    }

    /// A line with a heading in the margin (empty: none), wrapped.
    pub(in crate::render) fn entry(&mut self, heading: &str, content: &str) {
        self.toned_entry(heading, None, content);
    }

    /// The same in a tone.
    pub(in crate::render) fn toned_entry(
        &mut self,
        heading: &str,
        tone: Option<Tone>,
        content: &str,
    ) {
        for (at, piece) in wrap(&visible(content), WIDTH - MARGIN).iter().enumerate() {
            let heading = if at == 0 { heading } else { "" };
            let heading = format!("{heading:MARGIN$}");
            self.push_line(&heading, tone, piece);
        }
    }

    /// A line of a table: already measured and in columns.
    pub(in crate::render) fn row(&mut self, heading: &str, tone: Option<Tone>, content: &str) {
        self.push_line(&format!("{heading:MARGIN$}"), tone, &visible(content));
    }

    /// A command line with a heading in the margin. It can be copied into a shell: where it goes
    /// on in the next line it says so, and an argument that is longer than a line stays whole.
    pub(in crate::render) fn command(
        &mut self,
        heading: &str,
        tone: Option<Tone>,
        words: &[String],
    ) {
        let mut lines = vec![String::new()];
        for word in words.iter().map(|word| visible(word).into_owned()) {
            let line = lines.last_mut().expect("there is one from the beginning");
            // A blank before the word, and a blank and a backslash after it.
            if !line.is_empty() && line.chars().count() + word.chars().count() + 3 > WIDTH - MARGIN
            {
                line.push_str(" \\");
                lines.push(format!("  {word}"));
            } else {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(&word);
            }
        }
        for (at, line) in lines.iter().enumerate() {
            let heading = if at == 0 { heading } else { "" };
            self.push_line(&format!("{heading:MARGIN$}"), tone, line);
        }
    }

    fn push_line(&mut self, heading: &str, tone: Option<Tone>, content: &str) {
        if heading.trim().is_empty() {
            self.text.push_str(heading);
        } else {
            self.text.push_str(&self.style.paint(Tone::Heading, heading.trim_end()));
            self.text.push_str(&" ".repeat(heading.len() - heading.trim_end().len()));
        }
        let content = content.trim_end();
        match tone {
            Some(tone) => self.text.push_str(&self.style.paint(tone, content)),
            None => self.text.push_str(content),
        }
        self.text.push('\n');
    }
}

/// Lines of at most `width` characters, broken at blanks, or within words longer than a line.
/// Blanks at the beginning are kept and indent what follows.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let indent = (text.len() - text.trim_start_matches(' ').len()).min(width / 2);
    let mut lines = Vec::new();
    let mut line = " ".repeat(indent);
    let mut used = indent;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let mut word: Vec<char> = word.chars().collect();
        if used > indent && used + 1 + word.len() > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            used = indent;
        }
        if used > indent {
            line.push(' ');
            used += 1;
        }
        while used + word.len() > width {
            let rest = word.split_off(width - used);
            line.extend(word);
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            used = indent;
            word = rest;
        }
        used += word.len();
        line.extend(word);
    }
    if used > indent || lines.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_stay_whole_where_they_can() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("  one two three", 8), ["  one", "  two", "  three"]);
        assert_eq!(wrap("abcdefghijk lm", 4), ["abcd", "efgh", "ijk", "lm"]);
        assert_eq!(wrap("", 4), [""]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_too_wide(text in "\\PC{0,80}", width in 4usize..30) {
            let lines = wrap(&text, width);
            prop_assert!(lines.iter().all(|line| line.chars().count() <= width));
            let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
