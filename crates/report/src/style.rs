//! Colours, or none, and how wide lines are.

use std::ops::RangeInclusive;

/// How a text rendering looks: whether it has ANSI colours, and the characters of its longest line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    has_colours: bool,
    /// Of lines whose words can be wrapped.
    pub width: usize,
}

/// What a line is at least and at most: in fewer no table fits, and more is hard to read.
const WIDTHS: RangeInclusive<usize> = 60..=100;

/// The meaning of a piece of text, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// What the eye is to find first.
    Strong,
    /// As it should be.
    Good,
    /// Worth a look.
    Doubtful,
    /// Wrong.
    Bad,
    /// Beside the point.
    Faint,
}

/// The escape sequences of colours.
const STRONG: &str = "\u{1b}[1m";
const GOOD: &str = "\u{1b}[1;32m";
const DOUBTFUL: &str = "\u{1b}[1;33m";
const BAD: &str = "\u{1b}[1;31m";
const FAINT: &str = "\u{1b}[2m";
const END: &str = "\u{1b}[0m";

impl Style {
    /// For a file: no escape sequence at all, and lines as wide as they may be.
    pub const PLAIN: Style = Style { has_colours: false, width: *WIDTHS.end() };
    /// The same with colours.
    pub const COLOUR: Style = Style { has_colours: true, ..Style::PLAIN };

    /// For a terminal of so many columns.
    pub fn within(self, columns: usize) -> Style {
        Style { width: columns.clamp(*WIDTHS.start(), *WIDTHS.end()), ..self }
    }

    /// `text` in the colour of `tone`.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        if !self.has_colours {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Strong => STRONG,
            Tone::Good => GOOD,
            Tone::Doubtful => DOUBTFUL,
            Tone::Bad => BAD,
            Tone::Faint => FAINT,
        };
        format!("{code}{text}{END}")
    }

    /// All escape sequences of renderings.
    pub(super) fn codes() -> impl Iterator<Item = &'static str> {
        [STRONG, GOOD, DOUBTFUL, BAD, FAINT, END].into_iter()
    }
}
