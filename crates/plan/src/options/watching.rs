//! The progress display. Commands that make no plan take this group too.

use super::group::group;
use crate::outputs::{ProgressForm, Tui};

group! {
    "Progress",
    /// The progress display.
    pub struct WatchingOptions {
        /// Live view on the terminal: figures, findings, time left [default: auto]
        ///
        /// Keys: q ends the run and keeps its result, p freezes the picture, ? explains. When the
        /// command ends, the view disappears and the report follows.
        #[arg(long, value_name = "WHEN")]
        pub tui: Option<Tui>,

        /// Progress on the standard error where there is no live view [default: line]
        ///
        /// Shows elapsed and total time, rate and percentiles: about ten times in a run, at least
        /// every 10 s, at most once a second. docs/report.md has the schema of json.
        #[arg(long, value_name = "FORM")]
        pub progress: Option<ProgressForm>,
    }
}
