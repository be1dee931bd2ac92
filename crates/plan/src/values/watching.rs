//! Values of the flags for the progress display.

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

/// The form of progress without a live view.
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
