//! HTTP/3: the stall of one queue, of which a loader that counts from the send misses most; then a server that responds after
//! D to many streams of few connections.

use super::super::Settings;
use super::super::experiment::Experiment;
use super::super::line::Line;
use super::super::settle::settled;
use super::{delays, stall};
use crate::error::LabError;

const DELAY_MS: u64 = 10;

pub(super) fn check(settings: &Settings) -> Result<Vec<Line>, LabError> {
    let mut lines = stall::over(settings, " --h3", " --h3 --insecure")?;
    let run_s = settings.length.pick("2", "0.6");
    let experiment = Experiment::new(
        format!("--truth delay --service-time {DELAY_MS}ms --h3"),
        format!("--h3 --insecure -R 500 -c 2 -m 20 -t 1 -d {run_s}s"),
    );
    let once = || Ok(delays::judge(&experiment.make(settings, |_| ())?, DELAY_MS * 1_000_000));
    lines.extend(settled(once)?);
    Ok(Line::join(lines))
}
