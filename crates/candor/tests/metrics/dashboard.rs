//! Grafana's dashboard asks for series, labels and values that a run exports, and shows each metric.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use super::exposition::Series;
use super::{address, scrape_all};
use crate::common::{Candor, Target};
use crate::deploy::deploy;

/// What an expression asks of one metric: its name, and its labels, each with the values that it must or must not have.
type Asked = (String, Vec<(String, Option<String>)>);

/// The words of PromQL in the expressions.
const WORDS: [&str; 6] = ["histogram_quantile", "increase", "max", "min", "rate", "sum"];

/// The metrics of an expression. The labels of `by (…)` are asked of all of them.
fn asked(expression: &str) -> Vec<Asked> {
    let mut all: Vec<Asked> = Vec::new();
    let mut by = Vec::new();
    let mut rest = expression.replace("[$__rate_interval]", "");
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphabetic()) {
        rest = rest.split_off(at);
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let after = rest.split_off(end);
        let word = std::mem::replace(&mut rest, after);
        if word.starts_with("candor_") {
            let labels =
                rest.strip_prefix('{').map(|labels| labels.split_once('}').expect("an end"));
            let labels = labels.map(|(labels, after)| (labels.to_owned(), after.to_owned()));
            let labels = labels.map(|(labels, after)| {
                rest = after;
                labels.split(',').map(label).collect()
            });
            all.push((word, labels.unwrap_or_default()));
        } else if word == "by" {
            let labels = rest.trim_start().strip_prefix('(').expect("labels in brackets");
            let (labels, after) = labels.split_once(')').expect("an end");
            by.extend(labels.split(',').map(|name| (name.trim().to_owned(), None)));
            rest = after.to_owned();
        } else {
            assert!(WORDS.contains(&word.as_str()), "{word} in {expression}");
        }
    }
    all.iter_mut().for_each(|(_, labels)| labels.extend(by.clone()));
    assert!(!all.is_empty(), "{expression}");
    all
}

/// `name="value"` or `name!="value"`.
fn label(text: &str) -> (String, Option<String>) {
    let (name, value) = text.split_once("=\"").expect("a label");
    let value = value.strip_suffix('"').expect("a value");
    (name.trim_end_matches('!').to_owned(), Some(value.to_owned()))
}

#[test]
fn every_series_and_label_that_it_asks_for_is_exported_and_every_metric_is_shown() {
    let target = Target::start(&[]);
    let flags = ["-c", "1", "-d", "300ms", "--expect", "p50 < 1h", "--linger", "30s"];
    let to = ["--out", "prometheus:0", &target.url("/")];
    let run = Candor::start_measuring(&[&flags[..], &to].concat());
    let scrapes = scrape_all(&address(&run), "candor_run_over");
    assert_eq!(run.finish().code(), 0);
    let exported: Vec<Series> = scrapes.last().unwrap().series();
    let mut series: BTreeMap<&str, Vec<&Vec<(String, String)>>> = BTreeMap::new();
    exported.iter().for_each(|(name, labels)| series.entry(name).or_default().push(labels));

    let text = fs::read_to_string(deploy().join("grafana/dashboards/candor.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let mut shown = BTreeSet::new();
    for expression in targets.map(|target| target["expr"].as_str().unwrap()) {
        for (name, labels) in asked(expression) {
            let found = series.get(name.as_str());
            let found = found.unwrap_or_else(|| panic!("{name} is not exported: {expression}"));
            for (label, value) in labels {
                let is_there = |one: &(String, String)| {
                    one.0 == label && value.as_ref().is_none_or(|value| one.1 == *value)
                };
                let has = found.iter().any(|labels| labels.iter().any(is_there));
                assert!(has, "{name} has no {label} {value:?}: {expression}");
            }
            shown.insert(family(&name).to_owned());
        }
    }
    let all: BTreeSet<String> = series.keys().map(|name| family(name).to_owned()).collect();
    assert_eq!(shown, all, "metrics that no panel shows, or that are not there");
}

/// The name of a metric, without the ends of a histogram's series.
fn family(series: &str) -> &str {
    let ends = ["_bucket", "_sum", "_count"];
    ends.iter().find_map(|end| series.strip_suffix(end)).unwrap_or(series)
}

#[test]
fn an_expression_is_taken_apart() {
    let both = "sum by (le, x) (rate(candor_a{outcome!=\"ok\"}[$__rate_interval])) / min(candor_b)";
    let by = [("le".to_owned(), None), ("x".to_owned(), None)];
    let outcome = ("outcome".to_owned(), Some("ok".to_owned()));
    let first = [&[outcome][..], &by].concat();
    let expected = [("candor_a".to_owned(), first), ("candor_b".to_owned(), by.to_vec())];
    assert_eq!(asked(both), expected);
    for wrong in ["sum(up)", "avg(candor_a)", "1"] {
        assert!(std::panic::catch_unwind(|| asked(wrong)).is_err(), "{wrong}");
    }
}
