//! Findings of suites and of client libraries whose figures are known, word for word.

use candor_stats::bootstrap::Random;

use super::*;
use crate::experiment::figures::{Figures, Percentiles};
use crate::experiment::matrix::FailedTrial;
use crate::experiment::suite::{Cell, Suite, Trial};
use crate::testing::clients::{sample as sample_clients, trial as client_trial};
use crate::testing::experiments::sample_suite;

/// Times of the rates of three rounds, by which everything in a round was faster or slower.
const DRIFT: [f64; 3] = [1.0, 1.3, 0.8];

/// A cell whose rounds had these figures.
pub(super) fn measured(server: &str, scenario: &str, load: &str, rounds: Vec<Figures>) -> Cell {
    let trials = rounds.into_iter().zip(1..).map(|(figures, round)| Trial {
        round,
        file: String::new(),
        started_at: String::new(),
        figures,
        per_second: Vec::new(),
        utilization: Vec::new(),
        kinds: Vec::new(),
    });
    let mut cell = Cell {
        server: server.to_owned(),
        scenario: scenario.to_owned(),
        protocol: "h1".to_owned(),
        load: load.to_owned(),
        of_peak: None,
        refuses: false,
        peak_per_s: None,
        rounds: None,
        trials: trials.collect(),
        representative: None,
        spread: None,
    };
    cell.settle();
    cell
}

/// One whose rounds had these rates.
fn cell(server: &str, scenario: &str, rates: &[f64]) -> Cell {
    let figures = rates.iter().map(|rate| Figures {
        rate_per_s: Some(*rate),
        response: Percentiles {
            p50_ns: Some(44_000_000),
            p99_ns: Some((1e9 / rate) as u64),
            max_ns: Some(2_000_000_000),
            ..Percentiles::default()
        },
        ..Figures::default()
    });
    measured(server, scenario, "closed", figures.collect())
}

/// One that is `times` as fast as 1,000/s, in the drift of the machine, and a little off it.
fn drifting(server: &str, scenario: &str, times: f64, off: [f64; 3]) -> Cell {
    let rates: Vec<f64> =
        DRIFT.iter().zip(off).map(|(drift, off)| 1000.0 * drift * times * off).collect();
    cell(server, scenario, &rates)
}

pub(super) fn with(mut cell: Cell, change: impl Fn(&mut Figures)) -> Cell {
    cell.trials.iter_mut().for_each(|trial| change(&mut trial.figures));
    cell.settle();
    cell
}

fn warned(cell: Cell, id: &str) -> Cell {
    with(cell, |figures| figures.warnings = vec![id.to_owned()])
}

fn under(cell: Cell, load: &str) -> Cell {
    Cell { load: load.to_owned(), ..cell }
}

fn found(cells: Vec<Cell>) -> Vec<(Kind, String)> {
    let suite = Suite { cells, ..sample_suite(1) };
    super::suite(&suite).into_iter().map(|one| (one.kind, one.sentence)).collect()
}

const STEADY: [f64; 3] = [1.0, 1.0, 1.0];

#[test]
fn who_is_ahead_by_how_much_is_told_of_the_ratios_of_rounds() {
    // Rates of each differ by 60 % from round to round, their ratio by 2 %.
    let off = [1.01, 0.99, 1.0];
    assert_eq!(
        found(vec![drifting("a", "hello", 1.0, STEADY), drifting("b", "hello", 1.5, off)]),
        [(
            Kind::Ahead,
            "b is ahead of a in hello: 1.50 times its rate (95 % interval 1.46 … 1.54), 1.51 k/s against \
             1.00 k/s."
                .to_owned()
        )]
    );
}

#[test]
fn an_interval_with_1_in_it_is_a_tie_or_ignorance() {
    let tie =
        vec![drifting("a", "hello", 1.0, STEADY), drifting("b", "hello", 1.0, [1.01, 0.99, 1.01])];
    assert_eq!(
        found(tie),
        [(
            Kind::Level,
            "a and b are level in hello: 1.003 × (95 % interval 0.975 … 1.032).".to_owned()
        )]
    );
    let noise =
        vec![drifting("a", "hello", 1.0, STEADY), drifting("b", "hello", 1.0, [1.5, 0.7, 1.6])];
    assert_eq!(
        found(noise),
        [(
            Kind::Unclear,
            "a and b cannot be told apart in hello: 1.19 × (95 % interval 0.38 … 3.73).".to_owned()
        )]
    );
}

#[test]
fn one_round_has_no_interval_and_no_leader() {
    assert_eq!(
        found(vec![cell("a", "hello", &[1000.0]), cell("b", "hello", &[2000.0])]),
        [(
            Kind::Unclear,
            "a and b cannot be told apart in hello: 2.00 × (of one round, so without an interval)."
                .to_owned()
        )]
    );
    assert_eq!(
        found(vec![cell("a", "hello", &[1000.0]), cell("b", "hello", &[1040.0])]),
        [(
            Kind::Unclear,
            "a and b cannot be told apart in hello: 1.040 × (of one round, so without an interval)."
                .to_owned()
        )]
    );
}

#[test]
fn places_of_a_leader_are_told_together_the_widest_lead_first() {
    let lead = |scenario: &str, times| {
        [drifting("a", scenario, 1.0, STEADY), drifting("b", scenario, times, [1.01, 0.99, 1.0])]
    };
    let mut cells: Vec<Cell> = [("hello", 1.5), ("json", 3.0), ("echo", 2.0), ("large", 1.2)]
        .map(|(name, times)| lead(name, times))
        .concat();
    cells.extend([drifting("a", "head", 2.0, STEADY), drifting("b", "head", 1.0, STEADY)]);
    assert_eq!(
        found(cells),
        [
            (
                Kind::Ahead,
                "b is ahead in 4 of 5 scenarios, at 1.20 to 3.00 times the rate of the next: json 3.00 × a \
                 (95 % interval 2.83 … 3.18), echo 2.00 × a (1.89 … 2.12), hello 1.50 × a (1.42 … 1.59), and \
                 1 more."
                    .to_owned()
            ),
            (
                Kind::Ahead,
                "a is ahead of b in head: 2.00 times its rate (95 % interval 2.00 … 2.00), 2.00 k/s against \
                 1.00 k/s."
                    .to_owned()
            ),
        ]
    );
}

#[test]
fn what_waits_for_acknowledgements_is_told_with_its_cause_and_in_no_contest() {
    let field = |load: &str, slow: f64| {
        let nagle = warned(drifting("nagle", "hello", slow, STEADY), "nagle-delayed-ack");
        [under(nagle, load), under(drifting("nodelay", "hello", 1.0, STEADY), load)]
    };
    assert_eq!(
        found([field("1-connection", 0.002), field("9-connections", 0.0025)].concat()),
        [(
            Kind::Slowed,
            "nagle waits for delayed acknowledgements under all 2 loads (nagle-delayed-ack): p50 44 ms; \
             nodelay has 400 to 500 times its rate."
                .to_owned()
        )]
    );
}

#[test]
fn a_rate_that_the_loader_limited_is_a_lower_bound() {
    let (slow, fast) = (drifting("a", "hello", 1.0, STEADY), drifting("b", "hello", 2.0, STEADY));
    let bound = (
        Kind::Bound,
        "The rate of b (hello) is a lower bound: the loader was at its limit there (loader-cpu)."
            .to_owned(),
    );
    let ahead = "b is ahead of a in hello: at least 2.00 times its rate (95 % interval 2.00 … 2.00), 2.00 k/s \
                 against 1.00 k/s.";
    assert_eq!(
        found(vec![slow.clone(), warned(fast.clone(), "loader-cpu")]),
        [(Kind::Ahead, ahead.to_owned()), bound]
    );
    // One that is behind could be ahead with a better loader.
    let behind = found(vec![warned(slow.clone(), "loader-cpu"), fast.clone()]);
    assert_eq!(behind.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [Kind::Bound]);
    let all = found(vec![warned(slow, "loader-cpu"), warned(fast, "loader-cpu")]);
    assert_eq!(
        all[0].1,
        "All 2 rates are lower bounds: the loader was at its limit there (loader-cpu)."
    );
}

#[test]
fn refusals_are_no_fault_of_who_is_meant_to_refuse() {
    let failing =
        || with(drifting("a", "hello", 9.0, STEADY), |figures| figures.failed_share = Some(0.25));
    let kinds = |cell| found(vec![cell]).into_iter().map(|(kind, _)| kind).collect::<Vec<_>>();
    assert!(kinds(failing()).contains(&Kind::Broken));
    assert!(!kinds(Cell { refuses: true, ..failing() }).contains(&Kind::Broken));
    let ended = with(failing(), |figures| figures.unusable = true);
    assert_eq!(kinds(Cell { refuses: true, ..ended }), [Kind::Broken]);
}

#[test]
fn what_broke_is_told_with_figures() {
    let failing = with(drifting("a", "hello", 9.0, STEADY), |figures| {
        figures.failed_share = Some(0.25);
        figures.failures = "12 × status 500".to_owned();
    });
    let ended = with(cell("b", "hello", &[10.0]), |figures| {
        figures.unusable = true;
        figures.target_ended = Some("it ended by signal 11".to_owned());
    });
    let unusable = with(cell("c", "hello", &[10.0]), |figures| {
        figures.unusable = true;
        figures.warnings = vec!["no-rate".to_owned()];
    });
    let stalled = warned(drifting("d", "hello", 1.0, STEADY), "coordinated-omission");
    let sound = drifting("e", "hello", 0.5, STEADY);
    assert_eq!(
        found(vec![failing, ended, unusable, stalled, sound]),
        [
            (Kind::Broken, "a fails requests: hello 25.0 % (12 × status 500).".to_owned()),
            (Kind::Broken, "b ended in mid-run in hello: it ended by signal 11.".to_owned()),
            (Kind::Broken, "c has no usable run in hello: no-rate.".to_owned()),
            (Kind::Slowed, "d stood still in hello: the longest response took 2 s.".to_owned()),
            (
                Kind::Ahead,
                "d is ahead of e in hello: 2.00 times its rate (95 % interval 2.00 … 2.00), 1.00 k/s against \
                 500/s."
                    .to_owned()
            ),
        ]
    );
}

#[test]
fn a_server_of_which_no_trial_could_be_made_is_broken() {
    let cells = |mine: Cell| vec![cell("nginx", "a", &[1000.0]), mine];
    let failure = |cell: &Cell| FailedTrial {
        trial: format!("{} round 1", cell.name()),
        why: "it ended; the last lines of its output:\n  a\n  b".to_owned(),
    };
    let told = |mine: Cell, failures: Vec<FailedTrial>| {
        let mut suite = Suite { cells: cells(mine), failures, ..sample_suite(1) };
        suite.servers[0].name = "mine".to_owned();
        let all = super::suite(&suite).into_iter();
        all.filter(|one| one.kind == Kind::Broken).map(|one| one.sentence).collect::<Vec<_>>()
    };
    let mine = cell("mine", "a", &[]);
    let failed = vec![failure(&mine)];
    assert_eq!(
        told(mine.clone(), failed.clone()),
        ["mine could not be measured: it ended; the last lines of its output: · a · b"]
    );
    assert!(told(mine, Vec::new()).is_empty(), "its trials may come");
    assert!(told(cell("mine", "a", &[900.0]), failed).is_empty(), "one was made");
}

#[test]
fn where_a_rate_was_asked_for_the_tail_decides_and_what_did_not_hold_it_has_none() {
    let open = |server: &str, rate: f64, share: f64| {
        with(drifting(server, "hello", rate, STEADY), |figures| {
            (figures.asked_per_s, figures.achieved_share) = (Some(1000.0), Some(share));
        })
    };
    assert_eq!(
        found(vec![open("a", 1.0, 1.0), open("b", 4.0, 1.0), open("c", 9.0, 0.5)]),
        [
            (
                Kind::Ahead,
                "b is ahead of a in hello: p99 250 µs against 1 ms, 4.00 times as long (95 % interval 4.00 … \
                 4.00)."
                    .to_owned()
            ),
            (Kind::Saturated, "c did not hold 1 rate: hello (50.0 % of it).".to_owned()),
        ]
    );
    let share = Cell { of_peak: Some(0.95), ..open("a", 1.0, 0.8) };
    assert_eq!(
        found(vec![drifting("a", "hello", 1.0, STEADY), drifting("a", "json", 2.0, STEADY), share]),
        [
            (
                Kind::Saturated,
                "a did not hold 1 rate: hello at 95 % of its peak (80.0 % of it).".to_owned()
            ),
            (
                Kind::Reached,
                "a reaches 1.00 k/s (hello) to 2.00 k/s (json) in 2 scenarios.".to_owned()
            ),
        ]
    );
}

#[test]
fn a_server_alone_is_told_what_it_reaches_and_nothing_is_nothing() {
    assert_eq!(
        found(vec![warned(cell("a", "hello", &[50_000.0]), "loader-cpu")])[1],
        (Kind::Reached, "a reaches at least 50.0 k/s in hello.".to_owned())
    );
    assert_eq!(found(vec![cell("a", "hello", &[])]), []);
    assert_eq!(found(Vec::new()), []);
}

#[test]
fn protocols_are_told_apart_and_cpu_time_too() {
    let over = |protocol: &str, cell: Cell| Cell { protocol: protocol.to_owned(), ..cell };
    let costs = |cell: Cell, us: f64| with(cell, |figures| figures.target_cpu_us = Some(us));
    let pair = |protocol: &str| {
        let (a, b) = (drifting("a", "hello", 1.0, STEADY), drifting("b", "hello", 2.0, STEADY));
        [over(protocol, costs(a, 10.0)), over(protocol, costs(b, 40.0))]
    };
    let sentences: Vec<String> = found([pair("h1"), pair("h2-tls")].concat())
        .into_iter()
        .map(|(_, sentence)| sentence)
        .collect();
    assert!(
        sentences[0].starts_with("b is ahead of a in hello over HTTP/1.1: 2.00"),
        "{sentences:?}"
    );
    assert!(
        sentences[1].starts_with("b is ahead of a in hello over HTTP/2 over TLS: "),
        "{sentences:?}"
    );
    assert_eq!(
        sentences[2],
        "a takes the least CPU in hello over HTTP/1.1: 10.0 µs a request, b 4.00 times as much (95 % interval \
         4.00 … 4.00)."
    );
}

/// Numbers in files may be anything.
#[test]
fn figures_that_were_never_measured_are_in_no_contest() {
    let odd = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 1e300];
    for rate in odd {
        let sentences =
            found(vec![cell("a", "hello", &[rate; 3]), cell("b", "hello", &[1000.0; 3])]);
        assert!(
            sentences.iter().all(|(_, one)| !one.contains("NaN") && !one.contains("inf")),
            "{sentences:?}"
        );
    }
}

#[test]
fn clients_are_compared_where_their_counts_agree() {
    let mut clients = sample_clients();
    let told = |clients: &_| {
        super::clients(clients).into_iter().map(|one| (one.kind, one.sentence)).collect::<Vec<_>>()
    };
    let broken = (
        Kind::Broken,
        "httpc fails requests: 7.50 % pool-timeout and 2.50 % timeout at c = 64.".to_owned(),
    );
    assert_eq!(told(&clients)[0], broken);
    // The second round of urllib3 is not to be trusted: one pair is left.
    let single = "httpc and urllib3 cannot be told apart at c = 4: 20.4 × (of one round, so without an interval).";
    assert_eq!(told(&clients)[1], (Kind::Unclear, single.to_owned()));
    let urllib3 = clients.cells.iter_mut().find(|one| one.client == "urllib3").unwrap();
    urllib3.trials = vec![client_trial(1, 20_000.0), client_trial(2, 23_000.0)];
    urllib3.settle();
    let found = told(&clients);
    assert_eq!(
        found[1],
        (
            Kind::Ahead,
            "urllib3 is ahead of httpc at c = 4: 20.4 times its rate (95 % interval 15.4 … 27.1), 20.0 k/s \
             against 1.00 k/s."
                .to_owned()
        )
    );
}

#[test]
fn places_are_named_while_they_are_few() {
    let noun = Noun { before: "in", plural: "scenarios" };
    let names = ["a", "b", "c", "d", "e"].map(str::to_owned);
    assert_eq!(noun.all_of(&names[..1], 1), "in a");
    assert_eq!(noun.all_of(&names[..2], 4), "in a and b");
    assert_eq!(noun.all_of(&names, 7), "in a, b, c and 2 more");
    assert_eq!(noun.all_of(&names, 5), "in all 5 scenarios");
    assert_eq!(
        (noun.some_of(2, 5), noun.some_of(5, 5)),
        ("in 2 of 5 scenarios".into(), "in all 5 scenarios".into())
    );
    assert_eq!(list::<&str>(&[]), "");
}

/// Rates of a suite's cells on a noisy machine: it wanders from round to round, and a neighbour takes up to half of it
/// from one run in six. The servers are `times` as fast as each other.
fn noisy(scenarios: usize, times: [f64; 4], rounds: usize, random: &mut Random) -> Vec<Cell> {
    let mut machine = 0.0;
    let mut rates = vec![vec![Vec::new(); times.len()]; scenarios];
    for _ in 0..rounds {
        machine = 0.8 * machine + 0.1 * random.normal();
        for scenario in &mut rates {
            for (rates, times) in scenario.iter_mut().zip(times) {
                let taken = if random.unit() < 1.0 / 6.0 { 0.5 * random.unit() } else { 0.0 };
                let noise = machine + 0.01 * random.normal();
                rates.push(1000.0 * times * noise.exp() * (1.0 - taken));
            }
        }
    }
    let cells = rates.iter().enumerate().flat_map(|(n, rates)| {
        rates
            .iter()
            .enumerate()
            .map(move |(server, rates)| cell(&format!("s{server}"), &format!("c{n}"), rates))
    });
    cells.collect()
}

/// Four equal servers in eight scenarios: at most 5 % of suites may call any of them ahead in any. 31 of 400 are 2.5σ
/// above these 20. Fixed seed.
#[test]
fn equal_servers_are_ahead_by_chance_in_few_suites() {
    for rounds in [1, 2, 3, 5, 10] {
        let mut random = Random::new(3);
        let wrong = (0..400).filter(|_| {
            let cells = noisy(8, [1.0; 4], rounds, &mut random);
            found(cells).iter().any(|(kind, _)| *kind == Kind::Ahead)
        });
        let wrong = wrong.count();
        assert!(wrong <= 31, "{rounds} rounds: {wrong} of 400");
    }
}

/// A server that is twice as fast is ahead in nine of ten scenarios after ten rounds. Fixed seed.
#[test]
fn a_server_that_is_twice_as_fast_is_ahead_also_on_a_noisy_machine() {
    let mut random = Random::new(4);
    let suites = 50;
    let ahead: usize = (0..suites)
        .map(|_| {
            let cells = noisy(1, [1.0, 1.0, 2.0, 1.0], 10, &mut random);
            found(cells).iter().filter(|(kind, _)| *kind == Kind::Ahead).count()
        })
        .sum();
    assert!(10 * ahead >= 9 * suites, "{ahead} of {suites}");
}
