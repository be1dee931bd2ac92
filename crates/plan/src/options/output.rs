//! Where results go, and what they must meet.

use std::path::PathBuf;

use super::group::group;
use crate::values::{Out, ReportDepth, one_or_many};

group! {
    "Output",
    /// Where results go, and what they must meet.
    pub struct OutputOptions {
        /// Write the result document
        #[arg(long, value_name = "FILE")]
        pub json: Option<PathBuf>,

        /// Write the intervals
        #[arg(long, value_name = "FILE")]
        pub csv: Option<PathBuf>,

        /// Write a page for a browser: one file that needs no other and asks no other host
        #[arg(long, value_name = "FILE")]
        pub html: Option<PathBuf>,

        /// Write the percentiles, as HdrHistogram's plotter takes them
        #[arg(long, value_name = "FILE")]
        pub hgrm: Option<PathBuf>,

        /// Write the intervals' histograms, as an HdrHistogram log
        #[arg(long, value_name = "FILE")]
        pub hlog: Option<PathBuf>,

        /// Write every request with its times, or a sample; `candor report` makes CSV of it
        #[arg(long, value_name = "FILE")]
        pub trace: Option<PathBuf>,

        /// Write an output of any kind to a file, or to the standard output (-); may be repeated
        ///
        /// The kinds are those of the options above, and besides: markdown, the report; hgrm-service, the
        /// percentiles of service time; ndjson, a line of JSON for each interval and each finding while the
        /// run goes on. Where something goes to the standard output, the report goes to the standard error.
        #[arg(long, value_name = "KIND[:FILE]")]
        #[serde(deserialize_with = "one_or_many")]
        pub out: Vec<Out>,

        /// How much to print when the run is over
        #[arg(long, value_name = "HOW MUCH", value_enum)]
        pub report: Option<ReportDepth>,

        /// Print no report and no progress
        #[arg(short, long)]
        pub quiet: bool,

        /// Do not keep the result for `candor report last`
        ///
        /// Without it, the last ten results are kept in $XDG_STATE_HOME/candor, readable by this user
        /// alone.
        #[arg(long)]
        pub no_keep: bool,

        /// Objective to meet, or exit with 3, such as 'p99 < 5ms'; may be repeated
        ///
        /// Also 'error-rate < 0.1%', 'rate >= 99%' and the like.
        #[arg(long, value_name = "OBJECTIVE")]
        #[serde(deserialize_with = "one_or_many")]
        pub expect: Vec<String>,

        /// Exit with 4 if the result is not trustworthy
        #[arg(long)]
        pub strict: bool,

        /// Write values into results that may be secrets: of header fields, URLs, commands
        ///
        /// Without it, results have the names and say what was left out. docs/safety.md lists what is
        /// shown.
        #[arg(long)]
        pub show_secrets: bool,
    }
}
