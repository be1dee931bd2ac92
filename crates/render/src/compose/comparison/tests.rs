//! Pages of comparisons with made-up findings.

use super::*;
use candor_report::Style;
use candor_report::document::Judgement;
use candor_report::document::Outcome;
use candor_report::document::{Host, Tool};
use candor_report::experiment::comparison::{FORMAT, Limit, Trial};
use candor_report::experiment::figures::Figures;

use crate::csv;

fn finding(metric: Metric, change: f64, conclusion: Conclusion) -> Finding {
    Finding {
        variant: 1,
        metric,
        primary: metric == Metric::P99,
        rounds: 10,
        baseline: Some(2_000_000.0),
        value: Some(2_000_000.0 * (1.0 + change)),
        change: Some(Change { estimate: change, low: change - 0.012, high: change + 0.015 }),
        effect: Some(change.signum()),
        higher_in: Some(9),
        p: Some(0.004),
        p_adjusted: Some(0.004),
        conclusion,
    }
}

fn variant(name: &str) -> Variant {
    let trial = Trial {
        round: 1,
        position: 2,
        file: Some("a,b.json".to_owned()),
        started_unix_ms: 5,
        figures: Figures { rate_per_s: Some(10.5), ..Figures::default() },
    };
    Variant {
        name: name.to_owned(),
        source: format!("http://{name}/"),
        trials: vec![trial],
        broken: None,
    }
}

fn comparison(findings: Vec<Finding>) -> Comparison {
    Comparison {
        format: FORMAT.to_owned(),
        tool: Tool { name: "candor".to_owned(), version: "0".to_owned() },
        arguments: Vec::new(),
        started_at: String::new(),
        host: Host::default(),
        load: "closed loop, 10 connections".to_owned(),
        variants: vec![variant("old"), variant("new")],
        interleaved: true,
        rounds_asked: 10,
        confidence: 0.95,
        seed: 1,
        primary: Metric::P99,
        rounds_needed: 6,
        findings,
        cautions: vec!["the runs of old have warnings: loader-cpu in 3 of 10".to_owned()],
        limit: Some(Limit {
            slower: 0.02,
            judgements: vec![Judgement {
                expression: "new slower by at most 2 % in p99".to_owned(),
                outcome: Outcome::NotMet,
                measured: Some(0.041),
                sentence: "new slower by at most 2 % in p99: not met.".to_owned(),
            }],
        }),
        noise: None,
        expectations: Vec::new(),
        partial: false,
        interrupted: false,
    }
}

#[test]
fn the_noise_floor_is_told_before_what_is_judged_by_it() {
    let mut comparison = comparison(vec![finding(Metric::P99, 0.001, Conclusion::Noise)]);
    comparison.noise = Some(Noise { variant: 1, floor: Some(0.0134) });
    comparison.expectations = comparison.limit.take().unwrap().judgements;
    let text = page(&comparison, Depth::Short).text(Style::PLAIN);
    let noise = "The noise floor is 1.3 % in p99: old, measured twice";
    assert!(text.contains(noise) && text.contains("NOISE"), "{text}");
    assert!(text.contains("NOT MET"), "{text}");
    assert_eq!(misses(&comparison), ["new slower by at most 2 % in p99: not met."]);
    comparison.noise = Some(Noise { variant: 1, floor: None });
    assert!(sentence(&comparison, 1).contains("is not known: p99 needs at least 368"));
}

#[test]
fn sentences_say_what_was_found() {
    let noise = finding(Metric::Rate, -0.002, Conclusion::Noise);
    let slower = finding(Metric::P99, 0.041, Conclusion::Worse);
    let told = |findings: Vec<Finding>| sentence(&comparison(findings), 1);
    assert_eq!(
        told(vec![noise.clone(), slower]),
        "new is 4.1 % slower at p99, 95 % interval 2.9 … 5.6 % (against old); the difference \
         in rate is within noise."
    );
    let same = finding(Metric::P99, 0.001, Conclusion::Noise);
    assert_eq!(
        told(vec![noise.clone(), same]),
        "No difference between new and old could be told: new is between 1.1 % faster and 1.6 % slower at p99; \
         the differences in rate and p99 are within noise."
    );
    let fewer = finding(Metric::Rate, -0.2, Conclusion::Worse);
    let faster = finding(Metric::P99, -0.1, Conclusion::Better);
    assert_eq!(
        told(vec![fewer, faster]),
        "new is 10 % faster at p99, 95 % interval 8.5 … 11 %, answers 20 % fewer requests a \
         second, 95 % interval 18 … 21 % (against old)."
    );
    let few = Finding { rounds: 4, ..finding(Metric::P99, 1.0, Conclusion::TooFew) };
    assert!(told(vec![few]).starts_with(
        "Nothing can be concluded of new against old: p99 needs at least 368 responses"
    ));
}

#[test]
fn tables_have_a_line_for_each_metric_and_say_what_decides() {
    let comparison = comparison(vec![
        finding(Metric::Rate, -0.002, Conclusion::Noise),
        finding(Metric::P99, 0.041, Conclusion::Worse),
    ]);
    let page = page(&comparison, Depth::Full);
    let text = page.text(Style::PLAIN);
    for part in
        ["p99 *", "+4.10 %", "+2.90 … +5.60 %", "9 of 10", "+1.00 large", "NOT MET", "caution: "]
    {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(page.markdown().contains("|---|---:|---:|---:|---:|---:|---|---|"));
    let csv = csv::comparison(&comparison);
    assert!(csv.lines().nth(1).unwrap().ends_with(",1,\"a,b.json\""), "{csv}");
    assert_eq!(csv.lines().count(), 3);
}

#[test]
fn an_interruption_is_said_where_nothing_can_be_concluded() {
    let few = Finding { rounds: 3, ..finding(Metric::P99, 0.04, Conclusion::TooFew) };
    let mut stopped = comparison(vec![few]);
    (stopped.partial, stopped.interrupted, stopped.limit) = (true, true, None);
    assert_eq!(standing(&stopped, 1).1, "INTERRUPTED");
    // Two rounds are complete; the third has a run of one variant.
    let again = |one: &mut Variant, rounds| {
        let trial = one.trials[0].clone();
        one.trials = (1..=rounds).map(|round| Trial { round, ..trial.clone() }).collect();
    };
    again(&mut stopped.variants[0], 4);
    again(&mut stopped.variants[1], 3);
    stopped.findings[0].rounds = 1;
    assert_eq!(
        sentence(&stopped, 1),
        "Interrupted after 3 of 10 rounds: nothing can be concluded of new against old."
    );
    let text = page(&stopped, Depth::Full).text(Style::PLAIN);
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("(interrupted: complete rounds only)"), "{text}");
    stopped.findings[0].conclusion = Conclusion::Worse;
    assert_eq!(standing(&stopped, 1).1, "WORSE", "it is known by then");
}

#[test]
fn the_word_follows_from_the_interval_of_what_decides() {
    let word = |change: Change, limit: Option<Outcome>| {
        let same = finding(Metric::P99, 0.0, Conclusion::Noise);
        let mut all = comparison(vec![Finding { change: Some(change), ..same }]);
        match limit {
            Some(outcome) => all.limit.as_mut().unwrap().judgements[0].outcome = outcome,
            None => all.limit = None,
        }
        standing(&all, 1).1
    };
    let narrow = Change { estimate: 0.001, low: -0.011, high: 0.012 };
    let wide = Change { estimate: 0.1, low: -0.93, high: 1.59 };
    let faster = Change { estimate: -0.1, low: -0.3, high: 0.01 };
    assert_eq!(word(narrow, Some(Outcome::Met)), "NO CHANGE");
    assert_eq!(word(narrow, None), "NO CHANGE");
    // The noise floor may have kept the limit from being met.
    assert_eq!(word(narrow, Some(Outcome::CannotTell)), "CANNOT TELL");
    let one_sided = Change { low: -0.049, high: 0.051, ..narrow };
    assert_eq!(word(one_sided, None), "CANNOT TELL", "5 % matter");
    assert_eq!(word(wide, None), "CANNOT TELL");
    assert_eq!(word(wide, Some(Outcome::CannotTell)), "CANNOT TELL");
    assert_eq!(word(faster, Some(Outcome::Met)), "NOT SLOWER");
}

#[test]
fn a_difference_in_another_metric_is_the_word_and_the_beginning_of_the_sentence() {
    let told = |findings: Vec<Finding>| {
        let all = comparison(findings);
        (standing(&all, 1), sentence(&all, 1))
    };
    let slower = finding(Metric::P50, 9.41, Conclusion::Worse);
    let noise = finding(Metric::P99, 0.0, Conclusion::Noise);
    let (standing, said) = told(vec![slower.clone(), noise.clone()]);
    assert_eq!(standing, (Tone::Bad, "SLOWER AT P50"));
    assert!(said.starts_with("new is 941 % slower at p50, 95 % interval 940 …"), "{said}");
    // What is worse comes first.
    let (standing, said) =
        told(vec![finding(Metric::Rate, 0.3, Conclusion::Better), slower.clone(), noise]);
    assert_eq!(standing.1, "SLOWER AT P50");
    assert!(said.starts_with("new is 941 % slower at p50"), "{said}");
    // The metric that decides could not be judged.
    let few = Finding { rounds: 4, ..finding(Metric::P99, 1.0, Conclusion::TooFew) };
    let (standing, said) = told(vec![slower, few]);
    assert_eq!(standing.1, "SLOWER AT P50");
    assert!(said.contains("(against old); p99 cannot be judged: p99 needs at least"), "{said}");
}

#[test]
fn a_difference_that_too_few_rounds_cannot_tell_is_named_with_the_rounds_that_could() {
    let six =
        |metric, change, conclusion| Finding { rounds: 6, ..finding(metric, change, conclusion) };
    let wide = Change { estimate: 0.2, low: -0.4, high: 1.2 };
    let p99 = Finding { change: Some(wide), ..six(Metric::P99, 0.2, Conclusion::Noise) };
    let p50 = six(Metric::P50, 9.57, Conclusion::TooFew);
    let all = comparison(vec![six(Metric::Rate, 0.0, Conclusion::TooFew), p50, p99]);
    assert_eq!(standing(&all, 1).1, "CANNOT TELL");
    let said = sentence(&all, 1);
    assert!(said.contains("new is 957 % slower at p50, 95 % interval 956 …"), "{said}");
    // Two metrics besides: 2/2⁷ is below 0.05 / 2.
    assert!(said.contains("which takes at least 7 rounds to tell, and there are 6"), "{said}");
}

#[test]
fn a_baseline_that_could_not_be_measured_is_named_with_its_reason() {
    let few = Finding { rounds: 0, ..finding(Metric::P99, 0.0, Conclusion::TooFew) };
    let mut broken = comparison(vec![few]);
    broken.variants[0].broken = Some("target old: it ended (exit status: 7)".to_owned());
    assert_eq!(standing(&broken, 1).1, "FAILED");
    assert_eq!(
        sentence(&broken, 1),
        "Nothing can be concluded of new against old: old could not be measured: target old: it ended (exit \
         status: 7)."
    );
    broken.limit = None;
    assert!(misses(&broken)[0].contains("exit status: 7"));
}

#[test]
fn the_chart_says_which_intervals_are_differences_as_the_table_does() {
    // Neither interval reaches zero, and chance alone may have kept one from it.
    let worse = finding(Metric::P99, 0.041, Conclusion::Worse);
    let noise = finding(Metric::P50, 0.053, Conclusion::Noise);
    let said = differences(&comparison(vec![worse.clone(), noise.clone()]));
    assert!(
        said.starts_with("Differences: p99 of new. Others are within noise, even if"),
        "{said}"
    );
    assert_eq!(differences(&comparison(vec![worse])), "Differences: p99 of new.");
    assert!(differences(&comparison(vec![noise])).starts_with("No difference is claimed. Others"));
}

#[test]
fn changes_have_three_digits_beyond_a_hundred_and_shares_change_in_points() {
    for (share, in_table, in_sentence) in [
        (0.0123, "+1.23", "1.2"),
        (-0.5, "-50.00", "-50"),
        (1.5, "+150", "150"),
        (23.396_5, "+2,340", "2,340"),
        (34.148_6, "+3,410", "3,410"),
        (f64::INFINITY, "+inf", "inf"),
    ] {
        assert_eq!((signed(share).as_str(), percent(share).as_str()), (in_table, in_sentence));
    }
    let errors = Finding { primary: true, ..finding(Metric::Errors, 0.041, Conclusion::Worse) };
    let told = sentence(&comparison(vec![errors]), 1);
    assert!(told.contains("95 % interval 2.9 … 5.6 points"), "{told}");
}

#[test]
fn runs_in_which_nothing_worked_stand_beside_the_median_of_errors() {
    let mut comparison = comparison(vec![
        Finding {
            value: Some(0.0),
            baseline: Some(0.0),
            ..finding(Metric::Errors, 0.0, Conclusion::Noise)
        },
        finding(Metric::P99, 0.001, Conclusion::Noise),
    ]);
    let good = comparison.variants[1].trials[0].clone();
    let mut bad = good.clone();
    (bad.figures.scheduled, bad.figures.failed) = (9, 9);
    let cells = |comparison: &Comparison| table(comparison, 1).rows[0][1..3].to_vec();
    comparison.variants[1].trials = vec![good.clone(), bad.clone(), bad.clone(), good.clone()];
    assert_eq!(cells(&comparison), ["0 %", "0 %, 100 % in 2 of 4 runs"]);
    comparison.variants[1].trials = vec![bad];
    comparison.findings[0].value = None;
    assert_eq!(cells(&comparison), ["0 %", "100 % in 1 of 1 run"]);
    assert!(!table(&comparison, 1).rows[1].concat().contains("runs"));
}
