//! The rows of a board, one for each server and profile. docs/suites.md describes the columns; a test checks that
//! none is missing.

use super::{flag, float, table, whole};
use candor_report::experiment::board::{Board, Measure, Profile, Row};

/// The names of the columns, separated by commas, with units.
pub(super) const COLUMNS: &str = "board,scenario,protocol,load,measure,server,rank,shared,score,score_low,score_high,unscored,\
    lower_bound,rounds,rate_per_s,asked_per_s,rate_ratio,response_p50_ns,response_p99_ns,cpu_us_per_request,\
    rss_peak_bytes,loader_cpu_share,failed_share";

/// The rows.
pub fn csv(board: &Board) -> String {
    let rows = board.profiles.iter().flat_map(|profile| {
        profile.rows.iter().map(move |one| row(&board.heading.name, profile, one))
    });
    table(COLUMNS, rows)
}

fn row(name: &str, profile: &Profile, row: &Row) -> Vec<String> {
    let Profile { scenario, protocol, load, measure, .. } = profile;
    let measure = match measure {
        Measure::Throughput => "throughput",
        Measure::CpuPerRequest => "cpu-per-request",
    };
    let score = row.score;
    vec![
        name.to_owned(),
        scenario.clone(),
        protocol.clone(),
        load.clone(),
        measure.to_owned(),
        row.server.clone(),
        whole(score.map(|one| one.rank)),
        score.map(|one| flag(one.shared)).unwrap_or_default(),
        float(score.map(|one| one.value)),
        float(score.and_then(|one| one.low)),
        float(score.and_then(|one| one.high)),
        row.unscored.clone().unwrap_or_default(),
        flag(row.lower_bound),
        row.rounds.to_string(),
        float(row.rate_per_s),
        float(row.asked_per_s),
        float(row.rate_ratio),
        whole(row.p50_ns),
        whole(row.p99_ns),
        float(row.cpu_us_per_request),
        whole(row.rss_peak_bytes),
        float(row.loader_cpu_share),
        float(row.failed_share),
    ]
}
