//! Pages of experiments, and of experiments that are full of text that wants to be more than text.

use super::super::poison::{self, PAYLOADS, parsed, readable};
use super::{clients, comparison, peak, suite, sweep};
use crate::experiment::comparison::Comparison;
use crate::experiment::suite::{Suite, Utilization};
use crate::render::experiment::clients::tests::sample as sample_clients;
use crate::testing;
use crate::testing::experiments::{sample_comparison, sample_peak, sample_suite, sample_sweep};

#[test]
fn the_pages() {
    for (name, page) in [
        ("peak", peak::render(&sample_peak())),
        ("sweep", sweep::render(&sample_sweep())),
        ("comparison", comparison::render(&sample_comparison())),
        ("suite", suite::render(&sample_suite(1))),
        ("clients", clients::render(&sample_clients())),
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
    assert!(!suite::render(&suite).contains("Schedulers at work"));
    let look = |n: u32| Utilization { at_s: f64::from(n) / 10.0, share: 0.79 };
    suite.cells[0].trials[0].utilization = (1..=10).map(look).collect();
    suite.cells[0].trials[0].figures.scheduler_utilization = Some(0.79);
    let page = suite::render(&suite);
    let chart = page.find("Schedulers at work: scenario0, h1, closed").expect("a chart");
    assert!(page.find("Answers a second: scenario0").expect("a chart") < chart);
    assert!(page.contains("79.0 %") || page.contains(">79"), "no figure in the table");
}

/// All 42 scenarios of the seed on three servers.
#[test]
fn the_page_of_a_large_suite_is_not_large() {
    let page = suite::render(&sample_suite(42));
    assert!(page.len() < 600_000, "{}", page.len());
    assert!(page.contains("30 more combinations"), "no word of what has no chart");
}

#[test]
fn nothing_was_found_and_there_is_a_page() {
    let peak = crate::experiment::peak::Peak {
        answer: None,
        ceiling: None,
        knee: None,
        steps: Vec::new(),
        ..sample_peak()
    };
    assert!(peak::render(&peak).contains("NO ANSWER"));
    let sweep = crate::experiment::sweep::Sweep {
        rows: Vec::new(),
        partial: Some("interrupted".to_owned()),
        ..sample_sweep()
    };
    assert!(sweep::render(&sweep).contains("NOT DONE"));
    let comparison =
        Comparison { findings: Vec::new(), variants: Vec::new(), ..sample_comparison() };
    assert!(!comparison::render(&comparison).is_empty());
    let suite = Suite { cells: Vec::new(), ..sample_suite(1) };
    assert!(suite::render(&suite).contains("NOT COMPLETE"));
    let nobody = crate::experiment::clients::Clients {
        cells: Vec::new(),
        clients: Vec::new(),
        ..sample_clients()
    };
    assert!(clients::render(&nobody).contains("NOT COMPLETE"));
}

#[test]
fn payloads_stay_text() {
    poison::check(&sample_peak(), peak::render, &PAYLOADS);
    poison::check(&sample_sweep(), sweep::render, &PAYLOADS);
    poison::check(&sample_comparison(), comparison::render, &PAYLOADS);
    poison::check(&sample_suite(1), suite::render, &PAYLOADS);
    poison::check(&sample_clients(), clients::render, &PAYLOADS);
}
