//! Translates wrk's options to those of a Candor run: the only place that does so.

use candor_plan::options::{Options, ReadFile};
use candor_plan::values::{Direct, Nanos};
use candor_plan::{Outputs, Plan, PlanError, StatusSet};

use super::arguments::{Asked, Refusal};

/// The drain keeps a script that calls wrk waiting, so it is limited to this, whatever the timeout.
const LONGEST_DRAIN_NS: u64 = 5_000_000_000;

/// The options of the run.
pub(super) fn options(asked: &Asked) -> Options {
    let mut options = Options { url: Some(asked.url.clone()), ..Options::default() };
    // wrk knows of no proxy.
    options.connecting.noproxy = [Direct::all()].into();
    // wrk supports only HTTP/1.1.
    options.http2.h1 = true;
    // wrk checks no certificates.
    options.tls.insecure =
        asked.url.split_once(':').is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("https"));
    options.load.threads = Some(asked.threads);
    options.load.connections = Some(asked.connections);
    options.load.duration = Some(asked.duration);
    options.load.rate = asked.rate;
    options.load.arrivals = asked.arrivals;
    options.load.drain = Some(Nanos(asked.timeout.get().min(LONGEST_DRAIN_NS)));
    options.requests.header.clone_from(&asked.headers);
    options.requests.literal = true;
    options.timeouts.timeout = Some(asked.timeout);
    options.recording.digits = asked.digits;
    options.recording.interval = asked.report_interval;
    // As in wrk, a response of any status has a latency; those of 400 and above are counted on a
    // separate line.
    options.expected.expect_status = Some(StatusSet { ranges: vec![(100, 999)] });
    options.output.json.clone_from(&asked.result);
    options.output.show_secrets = asked.show_secrets;
    // The words after the URL belong to the script.
    options.script.script.clone_from(&asked.script);
    if asked.script.is_some() {
        options.script.script_arg.clone_from(&asked.script_arguments);
    }
    options
}

/// The plan of the options, or wrk's refusal.
pub(super) fn build(options: Options, files: &dyn ReadFile) -> Result<(Plan, Outputs), Refusal> {
    options.build(files).map_err(|error| match error {
        PlanError::Url { url, error } => Refusal::new(format!("invalid URL: {url} ({error})")),
        other => Refusal::new(other),
    })
}
