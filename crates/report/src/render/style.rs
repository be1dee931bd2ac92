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

/// What a piece of text means; its colour follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Heading,
    Good,
    Doubtful,
    Bad,
    Faint,
}

impl Style {
    /// `text` in the colour of `tone`.
    pub(super) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match (self, tone) {
            (Style::Plain, _) => return text.to_owned(),
            (Style::Colour, Tone::Heading) => "1",
            (Style::Colour, Tone::Good) => "1;32",
            (Style::Colour, Tone::Doubtful) => "1;33",
            (Style::Colour, Tone::Bad) => "1;31",
            (Style::Colour, Tone::Faint) => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}
