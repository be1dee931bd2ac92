//! Colours, or none.

/// Whether a text rendering has ANSI colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// No escape sequence at all.
    #[default]
    Plain,
    /// For a terminal.
    Colour,
}

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
    /// `text` in the colour of `tone`.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        let code = match (self, tone) {
            (Style::Plain, _) => return text.to_owned(),
            (Style::Colour, Tone::Strong) => STRONG,
            (Style::Colour, Tone::Good) => GOOD,
            (Style::Colour, Tone::Doubtful) => DOUBTFUL,
            (Style::Colour, Tone::Bad) => BAD,
            (Style::Colour, Tone::Faint) => FAINT,
        };
        format!("{code}{text}{END}")
    }

    /// All escape sequences of renderings.
    pub(super) fn codes() -> impl Iterator<Item = &'static str> {
        [STRONG, GOOD, DOUBTFUL, BAD, FAINT, END].into_iter()
    }
}
