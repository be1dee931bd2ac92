//! Where results go, and the objectives that they must meet.

use std::path::PathBuf;

use super::group::group;
use crate::outputs::{Out, ReportDepth, Tag};
use crate::values::{PositiveNanos, one_or_many};
use crate::watch::Watch;

group! {
    "Output",
    /// Where results go, and the objectives that they must meet.
    pub struct OutputOptions {
        /// Write the result document as JSON
        #[arg(long, value_name = "FILE")]
        pub json: Option<PathBuf>,

        /// Write the intervals as CSV
        #[arg(long, value_name = "FILE")]
        pub csv: Option<PathBuf>,

        /// Write a self-contained HTML page
        #[arg(long, value_name = "FILE")]
        pub html: Option<PathBuf>,

        /// Write the percentiles in the format of HdrHistogram's plotter
        #[arg(long, value_name = "FILE")]
        pub hgrm: Option<PathBuf>,

        /// Write the histograms of the intervals as an HdrHistogram log
        #[arg(long, value_name = "FILE")]
        pub hlog: Option<PathBuf>,

        /// Write every request with its times, or a sample; `candor report` converts it to CSV
        #[arg(long, value_name = "FILE")]
        pub trace: Option<PathBuf>,

        /// Write an output of any kind to a file, or to the standard output (-); may be repeated
        ///
        /// The kinds are the names of the options above, and: markdown, the report; hgrm-service, the
        /// percentiles of service time; csv-steps, a row for each request, step and journey; junit, github, github-summary, gitlab and
        /// gitlab-quality, what was checked, for CI; ndjson, a line of JSON for each interval and each finding, written
        /// during the run. Metrics during the run: prometheus, with the port or HOST:PORT where Prometheus scrapes them;
        /// remote-write, with the URL of a receiver of Prometheus' remote write, and remote-write2 for its version 2.0;
        /// otlp, with the URL of a receiver of OpenTelemetry, without /v1/metrics, and otlp-grpc for its receiver of gRPC;
        /// influx, with the URL of a server that takes line protocol; statsd, with its port or HOST:PORT. If an output goes to the standard output, the report goes to the standard error.
        #[arg(long, value_name = "KIND[:FILE]")]
        #[serde(deserialize_with = "one_or_many")]
        pub out: Vec<Out>,

        /// How much to print when the run is over
        #[arg(long, value_name = "HOW MUCH", value_enum)]
        pub report: Option<ReportDepth>,

        /// Tag of the result, and label of all its metrics; may be repeated
        ///
        /// `candor history` selects results by their tags.
        #[arg(long, value_name = "NAME=VALUE")]
        #[serde(deserialize_with = "one_or_many")]
        pub tag: Vec<Tag>,

        /// At the end, wait at most this long for the final metrics to be scraped
        ///
        /// For --out prometheus. A signal ends the wait, and an interrupted run does not wait.
        #[arg(long, value_name = "TIME")]
        pub linger: Option<PositiveNanos>,

        /// Ask for a metric of the server at the end of each interval; may be repeated
        ///
        /// URL is a page of metrics in Prometheus' text format, and QUERY selects series of it: a name, and labels with
        /// their values in braces; if several match, their sum is taken. If URL ends with /api/v1/query, it is Prometheus'
        /// own API, and QUERY is any expression. The values are in the result, and on the page under the rate. A source
        /// that fails is a note, and does not touch the run.
        #[arg(long, value_name = "prometheus:URL#QUERY")]
        #[serde(deserialize_with = "one_or_many")]
        pub watch: Vec<Watch>,

        /// Print no report and no progress
        #[arg(short, long)]
        pub quiet: bool,

        /// Do not keep the result for `candor report last`
        ///
        /// By default the last ten results are kept in $XDG_STATE_HOME/candor, readable only by this
        /// user.
        #[arg(long)]
        pub no_keep: bool,

        /// Exit with 3 if this objective is not met, e.g. 'p99 < 5ms'; may be repeated
        ///
        /// Others are e.g. 'error-rate < 0.1%', 'rate >= 99%' and 'availability >= 99.9%'. The exit code is 6
        /// if there are too few samples to tell.
        #[arg(long, value_name = "OBJECTIVE")]
        #[serde(deserialize_with = "one_or_many")]
        pub expect: Vec<String>,

        /// End the run early and exit with 3 if this holds, e.g. 'error-rate > 5% for 10s'; may be
        /// repeated
        ///
        /// It is compared with each interval, and has to hold in all intervals of this time. The
        /// result of the time until then is reported.
        #[arg(long, value_name = "CONDITION")]
        #[serde(deserialize_with = "one_or_many")]
        pub abort_if: Vec<String>,

        /// Exit with 0 instead of 1 if more than half of the requests failed, or all
        ///
        /// A run in which no request succeeded meets no objective, with this option or without. To count an error
        /// status as success, use --expect-status.
        #[arg(long)]
        pub allow_failures: bool,

        /// Exit with 4 if the result is not trustworthy
        #[arg(long)]
        pub strict: bool,

        /// Do not redact results: keep the values of header fields, URLs and commands
        ///
        /// By default, results keep the names and mark where a value was left out. docs/safety.md
        /// lists the values that are kept.
        #[arg(long)]
        pub show_secrets: bool,
    }
}
