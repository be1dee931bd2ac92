//! Pages of experiments in all forms, and with malicious text.

use crate::print::html::poison::{self, PAYLOADS, parsed, readable};
use candor_report::experiment::board::Board;
use candor_report::experiment::clients::Clients;
use candor_report::experiment::comparison::Comparison;
use candor_report::experiment::peak::Peak;
use candor_report::experiment::suite::{Suite, Utilization};
use candor_report::experiment::sweep::Sweep;
use candor_report::findings;
use candor_report::{Style, json};

use crate::{Depth, Page, csv};
use candor_report::testing;
use candor_report::testing::clients::sample as sample_clients;
use candor_report::testing::experiments::{
    sample_board, sample_comparison, sample_peak, sample_suite, sample_sweep,
};

#[test]
fn the_pages() {
    for (name, page) in [
        ("peak", super::peak(&sample_peak(), Depth::Full).html()),
        ("sweep", super::sweep(&sample_sweep(), Depth::Full).html()),
        ("comparison", super::comparison(&sample_comparison(), Depth::Full).html()),
        ("suite", super::suite(&sample_suite(1), Depth::Full).html()),
        ("clients", super::clients(&sample_clients(), Depth::Full).html()),
    ] {
        testing::golden(&format!("golden/{name}.html"), &readable(&page));
        let ids: Vec<&str> =
            page.split(" id=\"").skip(1).map(|rest| &rest[..rest.find('"').unwrap()]).collect();
        let once: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(once.len(), ids.len(), "{name}: {ids:?}");
        assert!(parsed(&page).data.len() > 1, "{name}: no charts");
    }
}

#[test]
fn schedulers_at_work_stand_under_the_rate() {
    let mut suite = sample_suite(1);
    assert!(!super::suite(&suite, Depth::Full).html().contains("Schedulers at work"));
    let look = |n: u32| Utilization { at_s: f64::from(n) / 10.0, share: 0.79 };
    suite.cells[0].trials[0].utilization = (1..=10).map(look).collect();
    suite.cells[0].trials[0].figures.scheduler_utilization = Some(0.79);
    let page = super::suite(&suite, Depth::Full).html();
    let chart = page.find("Schedulers at work: scenario0, h1, closed").expect("a chart");
    assert!(page.find("Answers a second: scenario0").expect("a chart") < chart);
    assert!(page.contains("79.0 %") || page.contains(">79"), "no figure in the table");
}

#[test]
fn clients_with_one_concurrency_stand_beside_each_other_as_bars() {
    let mut clients = sample_clients();
    assert!(!super::clients(&clients, Depth::Full).html().contains("class=\"glance\""));
    clients.cells.retain(|cell| cell.concurrency == 4);
    let page = super::clients(&clients, Depth::Full);
    for id in ["r", "l", "c"] {
        assert!(page.html().contains(&format!("class=\"glance\" id=\"{id}\"")), "{id}");
    }
    let bar = "█".repeat(40);
    assert!(
        page.markdown().contains(&format!("    urllib3  {bar} 20.4 k\n")),
        "{}",
        page.markdown()
    );
}

/// All 42 scenarios of the seed on three servers.
#[test]
fn the_page_of_a_large_suite_is_not_large() {
    let page = super::suite(&sample_suite(42), Depth::Full).html();
    assert!(page.len() < 640_000, "{}", page.len());
    assert!(page.contains("30 more combinations"), "no word of what has no chart");
}

#[test]
fn nothing_was_found_and_there_is_a_page() {
    let peak = candor_report::experiment::peak::Peak {
        answer: None,
        ceiling: None,
        steps: Vec::new(),
        ..sample_peak()
    };
    assert!(super::peak(&peak, Depth::Full).html().contains("NO ANSWER"));
    let sweep = candor_report::experiment::sweep::Sweep {
        rows: Vec::new(),
        partial: Some("interrupted".to_owned()),
        ..sample_sweep()
    };
    assert!(super::sweep(&sweep, Depth::Full).html().contains("NOT DONE"));
    let comparison =
        Comparison { findings: Vec::new(), variants: Vec::new(), ..sample_comparison() };
    assert!(!super::comparison(&comparison, Depth::Full).html().is_empty());
    let suite = Suite { cells: Vec::new(), ..sample_suite(1) };
    assert!(super::suite(&suite, Depth::Full).html().contains("NOT COMPLETE"));
    let nobody = candor_report::experiment::clients::Clients {
        cells: Vec::new(),
        clients: Vec::new(),
        ..sample_clients()
    };
    assert!(super::clients(&nobody, Depth::Full).html().contains("NOT COMPLETE"));
}

#[test]
fn payloads_stay_text() {
    poison::check(&sample_peak(), |one| super::peak(one, Depth::Full).html(), &PAYLOADS);
    poison::check(&sample_sweep(), |one| super::sweep(one, Depth::Full).html(), &PAYLOADS);
    poison::check(
        &sample_comparison(),
        |one| super::comparison(one, Depth::Full).html(),
        &PAYLOADS,
    );
    poison::check(&sample_suite(1), |one| super::suite(one, Depth::Full).html(), &PAYLOADS);
    poison::check(&sample_clients(), |one| super::clients(one, Depth::Full).html(), &PAYLOADS);
}

#[test]
fn a_peak_in_all_forms() {
    let peak = sample_peak();
    forms("peak", |depth| super::peak(&peak, depth), &csv::peak(&peak));
    let json = json::any(&peak);
    assert_eq!(Peak::from_json(&json).unwrap(), peak);
    assert!(Sweep::from_json(&json).unwrap_err().to_string().contains("candor.peak/3"));
    assert!(Peak::from_json("{}").is_err() && Peak::from_json("x").is_err());
}

#[test]
fn a_sweep_in_all_forms() {
    let sweep = sample_sweep();
    assert_eq!(sweep.rows[0].representative, Some(0), "1.5 ms is between 1.4 and 1.9");
    assert!(sweep.rows[1].saturated && !sweep.rows[0].saturated);
    forms("sweep", |depth| super::sweep(&sweep, depth), &csv::sweep(&sweep));
    assert_eq!(Sweep::from_json(&json::any(&sweep)).unwrap(), sweep);
}

#[test]
fn short_pages_have_the_answer_and_what_it_rests_on() {
    for (name, page) in [
        ("peak", super::peak(&sample_peak(), Depth::Short)),
        ("sweep", super::sweep(&sample_sweep(), Depth::Short)),
        ("suite", super::suite(&sample_suite(2), Depth::Short)),
        ("board", super::board(&sample_board(), Depth::Short)),
        ("clients", super::clients(&sample_clients(), Depth::Short)),
        ("comparison", super::comparison(&sample_comparison(), Depth::Short)),
    ] {
        let text = page.text(Style::PLAIN);
        testing::golden(&format!("golden/short-{name}.txt"), &text);
        assert!(text.lines().count() <= 25, "{text}");
    }
}

/// 35 lines and 100 columns, with the two lines that the command line adds.
fn fits_on_a_screen(page: &Page) {
    let text = page.text(Style::PLAIN);
    assert!(text.lines().count() <= 33, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn the_worst_short_pages_fit_on_a_screen() {
    let long =
        |n: usize| format!("a name that is much longer than any column has room for, number {n}");
    let mut suite = sample_suite(42);
    suite.heading.about = long(1).repeat(5);
    suite.heading.name = long(2).repeat(3);
    let ids =
        ["profiled", "nagle-delayed-ack", "loader-cpu", "coordinated-omission", "syn-retransmit"];
    for (n, cell) in suite.cells.iter_mut().enumerate() {
        cell.server = long(n % 9);
        cell.scenario = long(n);
        cell.protocol = ["h1", "h2", "h1-tls", "h2-tls"][n % 4].to_owned();
        let figures = &mut cell.trials[0].figures;
        figures.warnings = vec![ids[n % 5].to_owned()];
        figures.notes = vec!["tls-unverified".to_owned()];
        (figures.failed_share, figures.failures) = (Some(n as f64 / 200.0), long(n));
    }
    suite.servers = (0..9)
        .map(|n| candor_report::experiment::suite::Server {
            name: long(n),
            ..suite.servers[0].clone()
        })
        .collect();
    suite.failures = vec![suite.failures[0].clone(); 9];
    suite.failures[0].why = long(3).repeat(9);
    fits_on_a_screen(&super::board(&findings::board(&suite), Depth::Short));
    let page = super::suite(&suite, Depth::Short);
    fits_on_a_screen(&page);
    let text = page.text(Style::PLAIN);
    for part in ["more findings", "more combinations, ", "more servers", "; and 8 more"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    for scenarios in [1, 3, 42] {
        fits_on_a_screen(&super::suite(&sample_suite(scenarios), Depth::Short));
    }

    let mut comparison = sample_comparison();
    let (one, found) = (comparison.variants[1].clone(), comparison.findings.clone());
    for n in 2..30 {
        let of = |finding: &candor_report::experiment::comparison::Finding| {
            candor_report::experiment::comparison::Finding { variant: n as u64, ..finding.clone() }
        };
        comparison.findings.extend(found.iter().map(of));
        comparison
            .variants
            .push(candor_report::experiment::comparison::Variant { name: long(n), ..one.clone() });
    }
    comparison.load = long(1).repeat(4);
    comparison.cautions = (0..9).map(|n| long(n).repeat(3)).collect();
    let page = super::comparison(&comparison, Depth::Short);
    fits_on_a_screen(&page);
    let text = page.text(Style::PLAIN);
    assert!(text.contains("and 21 more variants") && text.contains("+4.10 % !"), "{text}");

    let mut clients = sample_clients();
    let (client, cell) = (clients.clients[0].clone(), clients.cells[0].clone());
    for n in 0..40 {
        clients
            .clients
            .push(candor_report::experiment::clients::Client { name: long(n), ..client.clone() });
        clients.cells.extend((0..9).map(|c| candor_report::experiment::clients::Cell {
            client: long(n),
            concurrency: 1 << c,
            ..cell.clone()
        }));
    }
    fits_on_a_screen(&super::clients(&clients, Depth::Short));
}

#[test]
fn a_board_in_all_forms() {
    let board = sample_board();
    forms("board", |depth| super::board(&board, depth), &csv::board(&board));
    testing::golden("golden/board.html", &readable(&super::board(&board, Depth::Full).html()));
    assert_eq!(Board::from_json(&json::any(&board)).unwrap(), board);
    assert!(Board::from_json("{}").is_err());
    poison::check(&board, |one| super::board(one, Depth::Full).html(), &PAYLOADS);
}

#[test]
fn a_matrix_in_all_forms() {
    let clients = sample_clients();
    forms("clients", |depth| super::clients(&clients, depth), &csv::clients(&clients));
    assert_eq!(Clients::from_json(&json::any(&clients)).unwrap(), clients);
    assert!(Clients::from_json("{}").is_err());
    assert!(super::clients(&clients, Depth::Full).markdown().contains("NOT TO BE TRUSTED"));
}

#[test]
fn a_suite_as_markdown() {
    testing::golden("golden/suite.md", &super::suite(&sample_suite(1), Depth::Full).markdown());
    testing::golden(
        "golden/suite.txt",
        &super::suite(&sample_suite(1), Depth::Terminal).text(Style::PLAIN),
    );
    testing::golden(
        "golden/comparison.md",
        &super::comparison(&sample_comparison(), Depth::Full).markdown(),
    );
    testing::golden(
        "golden/comparison.txt",
        &super::comparison(&sample_comparison(), Depth::Terminal).text(Style::PLAIN),
    );
}

fn forms(name: &str, page: impl Fn(Depth) -> Page, csv: &str) {
    testing::golden(&format!("golden/{name}.txt"), &page(Depth::Terminal).text(Style::PLAIN));
    testing::golden(&format!("golden/{name}.md"), &page(Depth::Full).markdown());
    testing::golden(&format!("golden/{name}.csv"), csv);
}

/// A page in all printed forms.
fn printed(page: impl Fn(Depth) -> Page) -> [String; 3] {
    let full = page(Depth::Full);
    [page(Depth::Terminal).text(Style::PLAIN), full.markdown(), full.html()]
}

#[test]
fn profiled_runs_are_told_in_every_form() {
    let (mut peak, mut sweep) = (sample_peak(), sample_sweep());
    let mut suite = sample_suite(1);
    let said = |peak: &Peak, sweep: &Sweep, suite: &Suite| {
        [
            printed(|depth| super::peak(peak, depth)),
            printed(|depth| super::sweep(sweep, depth)),
            printed(|depth| super::suite(suite, depth)),
        ]
        .map(|texts| texts.map(|text| text.contains("Profiled: figures are not")))
        .concat()
    };
    assert_eq!(said(&peak, &sweep, &suite), [false; 9]);
    let profiled = || "profiled".to_owned();
    peak.steps[0].trials[0].figures.warnings.push(profiled());
    sweep.rows[0].trials[0].figures.warnings.push(profiled());
    suite.cells[0].trials[0].figures.warnings.push(profiled());
    assert_eq!(said(&peak, &sweep, &suite), [true; 9]);
}

#[test]
fn runs_that_checked_no_certificate_are_told_in_every_form() {
    let (mut peak, mut sweep, mut suite) = (sample_peak(), sample_sweep(), sample_suite(1));
    let unverified = || {
        candor_report::experiment::figures::Figures::of(&testing::over_tls(
            candor_plan::Trust::Anybody,
        ))
        .notes
    };
    assert_eq!(unverified(), ["tls-unverified"]);
    peak.steps[0].trials[0].figures.notes = unverified();
    sweep.rows[0].trials[0].figures.notes = unverified();
    suite.cells[0].trials[0].figures.notes = unverified();
    let texts = [
        printed(|depth| super::peak(&peak, depth)),
        printed(|depth| super::sweep(&sweep, depth)),
        printed(|depth| super::suite(&suite, depth)),
    ];
    for text in texts.concat() {
        assert!(text.contains("certificates were not checked"), "{text}");
    }
    let document = testing::over_tls(candor_plan::Trust::Anybody);
    for text in
        printed(|depth| super::run(&document, depth)).into_iter().chain([json::render(&document)])
    {
        assert!(text.contains("tls-unverified") && text.contains("--cacert"), "{text}");
    }
}

#[test]
fn every_row_of_a_csv_has_as_many_fields_as_its_head() {
    for text in [csv::peak(&sample_peak()), csv::sweep(&sample_sweep())] {
        let fields = |line: &str| line.split(',').count();
        let head = fields(text.lines().next().unwrap());
        assert!(text.lines().count() > 2);
        assert!(text.lines().all(|line| fields(line) == head), "{text}");
    }
}

#[test]
fn a_server_without_any_score_is_in_the_headline() {
    let mut board = sample_board();
    let is_told = |board: &Board| {
        [Depth::Short, Depth::Full].map(|depth| {
            let text = super::board(board, depth).text(Style::PLAIN);
            text.contains("FAILED") && text.contains("h2o has no score in any profile")
        })
    };
    assert_eq!(is_told(&board), [false, false]);
    for row in board.profiles.iter_mut().flat_map(|one| &mut one.rows) {
        if row.server == "h2o" {
            (row.score, row.unscored) = (None, Some("it does not start".to_owned()));
        }
    }
    assert_eq!(is_told(&board), [true, true]);
    board.complete = false;
    assert_eq!(is_told(&board), [false, false], "other runs of it may come");
}
