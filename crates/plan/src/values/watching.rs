//! Values of the flags for what is shown while a command works.

/// Whether there is a live view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tui {
    /// Where the standard error is a terminal
    #[default]
    Auto,
    /// Always; an error without a terminal
    On,
    /// Never
    Off,
}

/// How progress is told where there is no live view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProgressForm {
    /// Lines of text
    #[default]
    Line,
    /// One JSON object a line (candor.progress/1)
    Json,
    /// Nothing
    Off,
}
