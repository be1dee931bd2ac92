//! The scores of a board.
//!
//! ```text
//!  x(s, r)  figure of server s in round r: responses per second, or 1 / CPU time per request
//!  b        the server with the greatest geometric mean of x over rounds
//!  score    100 · geometric mean over rounds of x(s, r) / x(b, r), with Student's interval
//!  rank     1 + the number of servers t for which the interval of x(t, r) / x(s, r) is above 1
//! ```
//!
//! The intervals of a profile hold together with 95 %: all of its pairs divide the 5 % (Bonferroni). Over all
//! profiles the same is computed of the geometric mean of a server's figures in them. A server has no score where
//! one of its runs is missing or cannot be used: it did not do what the others were measured at.

use super::contest::{Entrant, Ratio};
use super::suite::{Place, is_bound, places, unscored};
use crate::experiment::board::{Board, FORMAT, Measure, Profile, Row, Score, Standing, Total};
use crate::experiment::figures::Figures;
use crate::experiment::suite::{Cell, Suite};

/// CPU time of a request below which the server is in processes that are not seen: a request takes two system
/// calls at least, or its share of those for a batch.
const LEAST_CPU_US: f64 = 0.05;

/// The board of a suite.
pub fn board(suite: &Suite) -> Board {
    let places = places(suite);
    let contests: Vec<(Measure, Vec<Entry<'_>>)> =
        places.iter().map(|place| entries(suite, place)).collect();
    let profiles = places.iter().zip(&contests).map(|(place, (measure, entries))| {
        let cell = place.cells[0];
        let scored = scored(entries.iter().map(|one| one.entrant.as_ref().ok()));
        let rows = entries.iter().zip(scored).map(|(entry, score)| row(entry, score));
        Profile {
            scenario: cell.scenario.clone(),
            protocol: cell.protocol.clone(),
            load: cell.load.clone(),
            measure: *measure,
            rows: by_rank(rows.collect(), |row| row.score),
        }
    });
    let standings = Measure::ALL.iter().filter_map(|measure| {
        let of: Vec<_> = contests.iter().filter(|(own, _)| own == measure).collect();
        let of: Vec<&[Entry<'_>]> = of.into_iter().map(|(_, entries)| &entries[..]).collect();
        (!of.is_empty()).then(|| standing(suite, *measure, &of))
    });
    Board {
        format: FORMAT.to_owned(),
        heading: suite.heading.clone(),
        servers: suite.servers.clone(),
        standings: standings.collect(),
        profiles: profiles.collect(),
        notes: suite.notes.clone(),
        failures: suite.failures.clone(),
        complete: suite.complete,
    }
}

/// A server in a profile, as an entrant or with the reason why it is none.
struct Entry<'a> {
    cell: &'a Cell,
    entrant: Result<Entrant<'a>, String>,
}

/// The servers of a place, and what they are compared by. More is better in all figures.
fn entries<'a>(suite: &Suite, place: &Place<'a>) -> (Measure, Vec<Entry<'a>>) {
    let measure = if place.is_open { Measure::CpuPerRequest } else { Measure::Throughput };
    let entry = |cell: &&'a Cell| Entry { cell, entrant: entrant(suite, cell, measure) };
    (measure, place.cells.iter().map(entry).collect())
}

fn entrant<'a>(suite: &Suite, cell: &'a Cell, measure: Measure) -> Result<Entrant<'a>, String> {
    if let Some(why) = unscored(suite, cell) {
        return Err(why);
    }
    let figure = |figures: &Figures| match measure {
        Measure::Throughput => figures.rate_per_s,
        Measure::CpuPerRequest => {
            figures.target_cpu_us.filter(|us| *us >= LEAST_CPU_US).map(f64::recip)
        }
    };
    let by_round: Vec<_> =
        cell.trials.iter().map(|one| (one.round, figure(&one.figures))).collect();
    if by_round.iter().any(|(_, figure)| figure.is_none()) {
        return Err(match measure {
            Measure::Throughput => "a run of it has no rate".to_owned(),
            Measure::CpuPerRequest => {
                "the CPU time of the processes that respond is not known".to_owned()
            }
        });
    }
    let is_bound = measure == Measure::Throughput && bound(cell);
    let shown = by_round.first().and_then(|(_, figure)| *figure);
    let entrant = Entrant::of(&cell.server, shown, by_round.into_iter(), is_bound);
    entrant.ok_or_else(|| "nothing was measured".to_owned())
}

/// Whether the loader was the limit in one of its runs.
fn bound(cell: &Cell) -> bool {
    cell.trials.iter().any(|one| is_bound(&one.figures))
}

/// Scores and ranks, for each entrant that there is.
fn scored<'a>(entrants: impl Iterator<Item = Option<&'a Entrant<'a>>>) -> Vec<Option<Score>> {
    let all: Vec<Option<&Entrant<'_>>> = entrants.collect();
    let present: Vec<&Entrant<'_>> = all.iter().flatten().copied().collect();
    let pairs = present.len() * present.len().saturating_sub(1) / 2;
    let best = present.iter().max_by(|a, b| a.mean().total_cmp(&b.mean()));
    let mut scores: Vec<Option<Score>> =
        all.iter().map(|one| score(*one.as_ref()?, *best?, &present, pairs)).collect();
    let ranks: Vec<u64> = scores.iter().flatten().map(|one| one.rank).collect();
    for one in scores.iter_mut().flatten() {
        one.shared = ranks.iter().filter(|rank| **rank == one.rank).count() > 1;
    }
    scores
}

fn score(
    own: &Entrant<'_>,
    best: &Entrant<'_>,
    all: &[&Entrant<'_>],
    pairs: usize,
) -> Option<Score> {
    let ratio = Ratio::of(own, best, pairs);
    let is_ahead = |other: &&&Entrant<'_>| {
        let ratio = Ratio::of(other, own, pairs);
        !own.is_bound() && ratio.is_above_1()
    };
    let percent = |share: f64| 100.0 * share;
    Some(Score {
        rank: 1 + all.iter().filter(is_ahead).count() as u64,
        shared: false,
        value: percent(ratio.estimate),
        low: ratio.ends().map(|(low, _)| percent(low)),
        high: ratio.ends().map(|(_, high)| percent(high)),
    })
}

fn row(entry: &Entry<'_>, score: Option<Score>) -> Row {
    let cell = entry.cell;
    let none = Figures::default();
    let figures = cell.speaker().map_or(&none, |trial| &trial.figures);
    Row {
        server: cell.server.clone(),
        score,
        unscored: entry.entrant.as_ref().err().cloned(),
        lower_bound: bound(cell),
        rounds: cell.trials.len() as u64,
        rate_per_s: figures.rate_per_s,
        asked_per_s: figures.asked_per_s,
        rate_ratio: figures.achieved_share,
        p50_ns: figures.response.p50_ns,
        p99_ns: figures.response.p99_ns,
        cpu_us_per_request: figures.target_cpu_us,
        rss_peak_bytes: figures.rss_peak_bytes,
        loader_cpu_share: figures.loader_cpu_share,
        failed_share: figures.failed_share,
    }
}

/// Scores of the geometric means over these profiles, which are all of a measure.
fn standing(suite: &Suite, measure: Measure, profiles: &[&[Entry<'_>]]) -> Standing {
    let total = |server: &str| -> Result<Entrant<'_>, String> {
        let in_each = profiles.iter().map(|entries| {
            let own = entries.iter().find(|one| one.cell.server == server);
            own.and_then(|one| one.entrant.as_ref().ok())
        });
        let in_each: Vec<Option<&Entrant<'_>>> = in_each.collect();
        let missing = in_each.iter().filter(|one| one.is_none()).count();
        match in_each.into_iter().collect::<Option<Vec<_>>>() {
            Some(own) => Entrant::mean_of(&own)
                .ok_or_else(|| "its profiles have no round in common".to_owned()),
            None => Err(format!("no score in {missing} of {} profiles", profiles.len())),
        }
    };
    let totals: Vec<_> = suite.servers.iter().map(|one| (&one.name, total(&one.name))).collect();
    let scores = scored(totals.iter().map(|(_, total)| total.as_ref().ok()));
    let rows = totals.iter().zip(scores).map(|((server, total), score)| Total {
        server: (*server).clone(),
        score,
        unscored: total.as_ref().err().cloned(),
        lower_bound: total.as_ref().is_ok_and(Entrant::is_bound),
    });
    Standing {
        measure,
        profiles: profiles.len() as u64,
        rows: by_rank(rows.collect(), |row| row.score),
    }
}

/// By rank, and by score within one; those without come last.
fn by_rank<T>(mut rows: Vec<T>, score: impl Fn(&T) -> Option<Score>) -> Vec<T> {
    rows.sort_by(|a, b| {
        let key = |row: &T| score(row).map_or((u64::MAX, 0.0), |one| (one.rank, -one.value));
        let ((rank, value), (other, least)) = (key(a), key(b));
        rank.cmp(&other).then(value.total_cmp(&least))
    });
    rows
}

#[cfg(test)]
mod tests;
