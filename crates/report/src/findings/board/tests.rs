//! Scores and ranks of boards whose figures are known.

use super::*;
use crate::experiment::matrix::FailedTrial;
use crate::findings::tests::{measured, with};
use crate::testing::experiments::sample_suite;

/// A server in a profile: its figure in each round.
fn cell(server: &str, scenario: &str, load: &str, figures: &[f64]) -> Cell {
    let is_open = load == "cpu";
    let rounds = figures.iter().map(|figure| Figures {
        rate_per_s: Some(if is_open { 1000.0 } else { *figure }),
        asked_per_s: is_open.then_some(1000.0),
        achieved_share: is_open.then_some(1.0),
        target_cpu_us: Some(if is_open { *figure } else { 1.0 }),
        loader_cpu_share: Some(0.25),
        ..Figures::default()
    });
    let cell = measured(server, scenario, load, rounds.collect());
    Cell { rounds: Some(figures.len() as u64), ..cell }
}

fn of(cells: Vec<Cell>) -> Board {
    let mut suite = sample_suite(1);
    let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
    suite.servers.iter_mut().zip(&names).for_each(|(server, name)| server.name.clone_from(name));
    board(&Suite { cells, failures: Vec::new(), ..suite })
}

/// Server, rank with `=` if it is shared, score in tenths.
fn ranks(profile: &Profile) -> Vec<(String, String, f64)> {
    let one = |row: &Row| {
        let score = row.score?;
        let shared = if score.shared { "=" } else { "" };
        Some((row.server.clone(), format!("{}{shared}", score.rank), tenths(score.value)))
    };
    profile.rows.iter().filter_map(one).collect()
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn ranked(expected: &[(&str, &str, f64)]) -> Vec<(String, String, f64)> {
    let own = |(server, rank, score): &(&str, &str, f64)| {
        ((*server).to_owned(), (*rank).to_owned(), *score)
    };
    expected.iter().map(own).collect()
}

#[test]
fn the_best_has_100_and_equal_ones_share_a_rank() {
    // The rounds differ by half; a is twice as fast in each of them, b and c differ by what a round differs by.
    let board = of(vec![
        cell("a", "x", "closed", &[2000.0, 3000.0, 1600.0]),
        cell("b", "x", "closed", &[1000.0, 1502.0, 799.0]),
        cell("c", "x", "closed", &[1003.0, 1496.0, 803.0]),
    ]);
    let profile = &board.profiles[0];
    assert_eq!(profile.measure, Measure::Throughput);
    let expected = [("a", "1", 100.0), ("c", "2=", 50.1), ("b", "2=", 50.0)];
    assert_eq!(ranks(profile), ranked(&expected));
    let score = profile.rows[1].score.unwrap();
    let (low, high) = (score.low.unwrap(), score.high.unwrap());
    assert!(low < score.value && score.value < high && high < 100.0, "{score:?}");
    // A profile by itself is the standing too.
    let own: Vec<_> = board.standings[0].rows.iter().map(|row| row.score).collect();
    assert_eq!(own, profile.rows.iter().map(|row| row.score).collect::<Vec<_>>());
}

#[test]
fn at_a_rate_the_least_cpu_is_best() {
    let board = of(vec![
        cell("a", "x", "cpu", &[40.0, 40.1, 40.0]),
        cell("b", "x", "cpu", &[10.0, 10.01, 10.0]),
        // These are not the processes that respond, and these are not measured at all.
        cell("c", "x", "cpu", &[0.001, 0.001, 0.001]),
    ]);
    let profile = &board.profiles[0];
    assert_eq!(profile.measure, Measure::CpuPerRequest);
    assert_eq!(ranks(profile), ranked(&[("b", "1", 100.0), ("a", "2", 25.0)]));
    let row = &profile.rows[2];
    assert!(row.unscored.as_ref().unwrap().contains("is not known"), "{row:?}");
    assert_eq!((profile.rows[0].rate_ratio, row.loader_cpu_share), (Some(1.0), Some(0.25)));
}

#[test]
fn who_fails_its_checks_has_no_score() {
    let fine = || cell("a", "x", "closed", &[1000.0, 1001.0, 1000.0]);
    let ill = |change: fn(&mut Figures)| with(cell("b", "x", "closed", &[5000.0; 3]), change);
    let mut short = ill(|_| ());
    short.trials.pop();
    let slow = with(cell("b", "x", "cpu", &[5.0; 3]), |one| one.achieved_share = Some(0.98));
    for (cell, why) in [
        (ill(|one| one.failed_share = Some(0.011)), "it fails requests"),
        (ill(|one| one.unusable = true), "a run cannot be used"),
        (ill(|one| one.target_ended = Some("killed".to_owned())), "it ended in mid-run"),
        (short, "2 of 3 runs"),
        (slow, "it held 98.0 % of the rate"),
    ] {
        let board = of(vec![fine(), cell]);
        let rows = board.profiles.iter().flat_map(|one| &one.rows);
        let row = rows.clone().find(|row| row.server == "b").unwrap();
        assert_eq!(row.score, None, "{why}");
        assert!(row.unscored.as_ref().unwrap().contains(why), "{why}: {row:?}");
        let a = rows.clone().find(|row| row.server == "a").unwrap();
        assert_eq!(a.score.map(|one| one.value), Some(100.0), "{why}");
        let last = board.standings[0].rows.last().unwrap();
        assert!(last.score.is_none() && last.unscored.is_some(), "{why}");
    }
    // One failing run of three is enough, and one request in a hundred is not.
    let mut one = cell("b", "x", "closed", &[5000.0; 3]);
    one.trials[2].figures.failed_share = Some(0.5);
    assert_eq!(of(vec![one]).profiles[0].rows[0].score, None);
    let nearly = with(fine(), |one| one.failed_share = Some(0.01));
    assert!(of(vec![nearly]).profiles[0].rows[0].score.is_some());
}

#[test]
fn a_limited_loader_puts_no_server_behind() {
    let fast = cell("a", "x", "closed", &[2000.0, 2001.0, 2000.0]);
    let slow = || cell("b", "x", "closed", &[1000.0, 1001.0, 1000.0]);
    let limited = with(slow(), |one| one.warnings = vec!["loader-cpu".to_owned()]);
    let rows = |board: &Board| ranks(&board.profiles[0]);
    let told = of(vec![fast.clone(), slow()]);
    assert_eq!(rows(&told), ranked(&[("a", "1", 100.0), ("b", "2", 50.0)]));
    let board = of(vec![fast, limited]);
    assert_eq!(rows(&board), ranked(&[("a", "1=", 100.0), ("b", "1=", 50.0)]));
    assert!(board.profiles[0].rows[1].lower_bound && board.standings[0].rows[1].lower_bound);
}

#[test]
fn one_round_ranks_nobody() {
    let board = of(vec![cell("a", "x", "closed", &[1.0]), cell("b", "x", "closed", &[9.0])]);
    let rows = &board.profiles[0].rows;
    assert_eq!(ranks(&board.profiles[0]), ranked(&[("b", "1=", 100.0), ("a", "1=", 11.1)]));
    assert_eq!(rows[1].score.unwrap().low, None);
}

#[test]
fn all_profiles_count_alike() {
    // Twice as fast in one and half as fast in another is level; who is not in both is in neither.
    let board = of(vec![
        cell("a", "x", "closed", &[200.0, 201.0, 202.0]),
        cell("b", "x", "closed", &[100.0, 101.0, 100.0]),
        cell("c", "x", "closed", &[900.0, 900.0, 900.0]),
        cell("a", "y", "closed", &[10_000.0, 10_010.0, 10_000.0]),
        cell("b", "y", "closed", &[20_000.0, 20_000.0, 20_030.0]),
        cell("a", "y", "cpu", &[9.0, 9.0, 9.1]),
    ]);
    let [throughput, cpu] = &board.standings[..] else { panic!("{:?}", board.standings) };
    assert_eq!((throughput.profiles, cpu.profiles), (2, 1));
    let scores: Vec<_> = throughput.rows.iter().map(|row| row.score.map(|one| one.rank)).collect();
    assert_eq!(scores, [Some(1), Some(1), None]);
    assert_eq!(throughput.rows[2].unscored.as_deref(), Some("no score in 1 of 2 profiles"));
    assert_eq!(cpu.rows[0].server, "a");
}

/// Equal servers are told apart in at most 5 % of the profiles with three of them, and one that is 5 % slower
/// than rounds that differ by 1 % is found.
#[test]
fn equal_servers_share_a_rank() {
    use candor_stats::bootstrap::Random;
    let mut random = Random::new(7);
    let (mut apart, mut found) = (0, 0);
    for _ in 0..400 {
        let mut rates = |mean: f64| -> Vec<f64> {
            (0..5).map(|_| mean * (1.0 + 0.01 * random.normal())).collect()
        };
        let equal = of(vec![
            cell("a", "x", "closed", &rates(1000.0)),
            cell("b", "x", "closed", &rates(1000.0)),
            cell("c", "x", "closed", &rates(1000.0)),
        ]);
        apart += usize::from(ranks(&equal.profiles[0]).iter().any(|(_, rank, _)| rank != "1="));
        let slower = of(vec![
            cell("a", "x", "closed", &rates(1000.0)),
            cell("b", "x", "closed", &rates(950.0)),
        ]);
        found += usize::from(ranks(&slower.profiles[0]).iter().any(|(_, rank, _)| rank == "2"));
    }
    assert!(apart <= 30, "{apart} of 400");
    assert!(found >= 360, "{found} of 400");
}

#[test]
fn why_there_is_no_score_is_one_line() {
    let mut suite = sample_suite(1);
    suite.servers.iter_mut().for_each(|one| one.name = "a".to_owned());
    let cell = measured("a", "x", "closed", Vec::new());
    let trial = format!("{} round 1", cell.name());
    let failures = vec![FailedTrial { trial, why: "it ended; its output:\n  /root/a".to_owned() }];
    let board = board(&Suite { cells: vec![cell], failures, ..suite });
    let why = board.profiles[0].rows[0].unscored.as_deref();
    assert_eq!(why, Some("0 of 1 runs were made: it ended; its output: · /root/a"));
}
