//! Peaks and sweeps as they are printed, against files.

use super::{peak, suite, sweep};
use crate::experiment::peak::Peak;
use crate::experiment::suite::Suite;
use crate::experiment::sweep::Sweep;
use crate::render::html;
use crate::testing;
use crate::testing::experiments::{sample_peak, sample_suite, sample_sweep};

#[test]
fn a_peak_in_all_forms() {
    let peak = sample_peak();
    testing::golden("golden/peak.txt", &peak::text(&peak));
    testing::golden("golden/peak.md", &peak::markdown(&peak));
    testing::golden("golden/peak.csv", &peak::csv(&peak));
    let json = crate::render::json::any(&peak);
    assert_eq!(Peak::from_json(&json).unwrap(), peak);
    assert!(Sweep::from_json(&json).unwrap_err().to_string().contains("candor.peak/2"));
    assert!(Peak::from_json("{}").is_err() && Peak::from_json("x").is_err());
}

#[test]
fn a_sweep_in_all_forms() {
    let sweep = sample_sweep();
    assert_eq!(sweep.rows[0].representative, Some(0), "1.5 ms is between 1.4 and 1.9");
    assert!(sweep.rows[1].saturated && !sweep.rows[0].saturated);
    testing::golden("golden/sweep.txt", &sweep::text(&sweep));
    testing::golden("golden/sweep.md", &sweep::markdown(&sweep));
    testing::golden("golden/sweep.csv", &sweep::csv(&sweep));
    assert_eq!(Sweep::from_json(&crate::render::json::any(&sweep)).unwrap(), sweep);
}

#[test]
fn profiled_runs_are_told_in_every_form() {
    let (mut peak, mut sweep) = (sample_peak(), sample_sweep());
    let mut suite = sample_suite(1);
    let said = |peak: &Peak, sweep: &Sweep, suite: &Suite| {
        [
            peak::text(peak),
            peak::markdown(peak),
            html::peak(peak),
            sweep::text(sweep),
            sweep::markdown(sweep),
            html::sweep(sweep),
            suite::text(suite),
            suite::markdown(suite),
            html::suite(suite),
        ]
        .map(|text| text.contains("Profiled: figures are not comparable."))
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
        crate::experiment::figures::Figures::of(&testing::over_tls(candor_plan::Trust::Anybody))
            .notes
    };
    assert_eq!(unverified(), ["tls-unverified"]);
    peak.steps[0].trials[0].figures.notes = unverified();
    sweep.rows[0].trials[0].figures.notes = unverified();
    suite.cells[0].trials[0].figures.notes = unverified();
    for text in [
        peak::text(&peak),
        peak::markdown(&peak),
        html::peak(&peak),
        sweep::text(&sweep),
        sweep::markdown(&sweep),
        html::sweep(&sweep),
        suite::text(&suite),
        suite::markdown(&suite),
        html::suite(&suite),
    ] {
        assert!(text.contains("certificates were not checked (--insecure)"), "{text}");
    }
    let document = testing::over_tls(candor_plan::Trust::Anybody);
    for text in [
        crate::render::text::render(&document, crate::Style::Plain),
        html::run(&document),
        crate::render::json::render(&document),
    ] {
        assert!(text.contains("tls-unverified") && text.contains("--cacert"), "{text}");
    }
}

#[test]
fn every_row_of_a_csv_has_as_many_fields_as_its_head() {
    for text in [peak::csv(&sample_peak()), sweep::csv(&sample_sweep())] {
        let fields = |line: &str| line.split(',').count();
        let head = fields(text.lines().next().unwrap());
        assert!(text.lines().count() > 2);
        assert!(text.lines().all(|line| fields(line) == head), "{text}");
    }
}
