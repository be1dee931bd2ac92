//! What was asked of wrk, as options of a candor run: the one place of this translation.

use candor_plan::options::{Options, ReadFile};
use candor_plan::values::Nanos;
use candor_plan::{Outputs, Plan, PlanError, StatusSet};

use super::arguments::{Asked, Refusal};

/// Answers that are awaited after the end keep a script that calls wrk waiting, so no longer
/// than this, whatever the time-out is.
const LONGEST_DRAIN_NS: u64 = 5_000_000_000;

/// The options of the run.
pub(super) fn options(asked: &Asked) -> Options {
    let options = Options {
        url: Some(asked.url.clone()),
        // wrk speaks nothing else.
        h1: true,
        threads: Some(asked.threads),
        connections: Some(asked.connections),
        duration: Some(asked.duration),
        rate: asked.rate,
        header: asked.headers.clone(),
        timeout: Some(asked.timeout),
        drain: Some(Nanos(asked.timeout.get().min(LONGEST_DRAIN_NS))),
        digits: asked.digits,
        interval: asked.report_interval,
        // As in wrk an answer of any status has a latency; those of 400 and above are counted
        // on a line of their own.
        expect_status: Some(StatusSet { ranges: vec![(100, 999)] }),
        json: asked.result.clone(),
        show_secrets: asked.show_secrets,
        ..Options::default()
    };
    with_script(options, asked)
}

/// The plan of the options, or wrk's refusal.
pub(super) fn build(options: Options, files: &dyn ReadFile) -> Result<(Plan, Outputs), Refusal> {
    options.build(files).map_err(|error| match error {
        PlanError::Url { url, error } => Refusal::new(format!("invalid URL: {url} ({error})")),
        other => Refusal::new(other),
    })
}

/// The script of `-s`, with what stands behind the URL as its arguments.
fn with_script(options: Options, asked: &Asked) -> Options {
    match &asked.script {
        None => options,
        Some(file) => Options {
            script: Some(file.clone()),
            script_arg: asked.script_arguments.clone(),
            ..options
        },
    }
}
