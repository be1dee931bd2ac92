use candor_report::expect::Expectation;
use candor_report::experiment::suite::protocol_name;
use candor_report::testing;
use candor_report::testing::experiments;
use roxmltree::{Document as Xml, Node};
use serde_json::Value;

use super::*;

fn checks(objectives: &[&str]) -> Checks {
    let mut document = testing::healthy_open();
    let parse = |text: &&str| Expectation::parse(text).unwrap();
    document.judge_expectations(&objectives.iter().map(parse).collect::<Vec<_>>());
    Checks::of_run(&document)
}

fn form(checks: &Checks, name: &str) -> String {
    checks.in_form(name).unwrap()
}

/// What the schema of Ant (JUnit.xsd) wants of an element: its attributes, and its children in their order.
const SCHEMA: [(&str, &[&str], &[&str]); 9] = [
    ("testsuites", &[], &["testsuite"]),
    (
        "testsuite",
        &["id", "package", "name", "timestamp", "hostname", "tests", "failures", "errors", "time"],
        &["properties", "testcase", "system-out", "system-err"],
    ),
    ("properties", &[], &[]),
    ("testcase", &["classname", "name", "time"], &["error", "failure"]),
    ("failure", &["type"], &[]),
    ("error", &["type"], &[]),
    ("system-out", &[], &[]),
    ("system-err", &[], &[]),
    ("skipped", &[], &[]),
];

fn check_element(node: Node<'_, '_>) {
    let name = node.tag_name().name();
    let (_, attributes, children) =
        SCHEMA.iter().find(|(one, ..)| *one == name).unwrap_or_else(|| panic!("<{name}>"));
    for attribute in *attributes {
        assert!(node.has_attribute(*attribute), "{name} without {attribute}");
    }
    let elements: Vec<_> = node.children().filter(Node::is_element).collect();
    let places: Vec<usize> = elements
        .iter()
        .map(|one| children.iter().position(|child| *child == one.tag_name().name()).unwrap())
        .collect();
    assert!(places.is_sorted(), "{name}: {places:?}");
    elements.into_iter().for_each(check_element);
}

/// A case of JUnit's XML: its suite, its name, and the element that says what is wrong, with its message.
type Case = (String, String, Option<(String, String)>);

/// The cases of JUnit's XML: suite, name, and the outcome with its message. Counts and order are checked.
fn cases(junit: &str) -> Vec<Case> {
    let xml = Xml::parse(junit).unwrap_or_else(|error| panic!("{error}\n{junit}"));
    check_element(xml.root_element());
    let mut all = Vec::new();
    for suite in xml.descendants().filter(|one| one.has_tag_name("testsuite")) {
        let count = |tag: &str| suite.descendants().filter(|one| one.has_tag_name(tag)).count();
        for (attribute, tag) in
            [("tests", "testcase"), ("failures", "failure"), ("errors", "error")]
        {
            assert_eq!(suite.attribute(attribute), Some(count(tag).to_string().as_str()), "{tag}");
        }
        for case in suite.children().filter(|one| one.has_tag_name("testcase")) {
            let outcome = case.children().find(Node::is_element).map(|one| {
                assert_eq!(one.attribute("message"), one.text());
                (one.tag_name().name().to_owned(), one.text().unwrap_or_default().to_owned())
            });
            let text = |node: Node<'_, '_>| node.attribute("name").unwrap().to_owned();
            all.push((text(suite), text(case), outcome));
        }
    }
    all
}

fn outcome_of<'a>(cases: &'a [Case], name: &str) -> Option<&'a str> {
    let (_, _, outcome) = cases.iter().find(|(_, one, _)| one == name).expect(name);
    outcome.as_ref().map(|(element, _)| element.as_str())
}

#[test]
fn every_check_has_its_outcome() {
    let checks = checks(&["p50 < 1s", "p50 < 1ns", "p99.999 < 1s"]);
    let cases = cases(&form(&checks, "junit"));
    assert_eq!(cases.len(), 5);
    assert_eq!(outcome_of(&cases, "p50 < 1s"), None);
    assert_eq!(outcome_of(&cases, "p50 < 1ns"), Some("failure"));
    assert_eq!(outcome_of(&cases, "p99.999 < 1s"), Some("error"));
    let missed = cases.iter().find(|one| one.1 == "p50 < 1ns").and_then(|one| one.2.as_ref());
    assert!(missed.unwrap().1.starts_with("not met, "), "the name once: {missed:?}");
    assert_eq!(outcome_of(&cases, "most requests succeed"), None);
    let github = form(&checks, "github");
    assert!(github.contains("::error title=p50 < 1ns::not met, "), "{github}");
    assert!(github.contains("::warning title=p99.999 < 1s::"), "{github}");
    let gitlab = form(&checks, "gitlab");
    for line in ["name=\"p50 < 1s\"} 1\n", "name=\"p50 < 1ns\"} 0\n", "name=\"p99.999 < 1s\"} -1\n"]
    {
        assert!(gitlab.contains(line), "{line}\n{gitlab}");
    }
    assert!(gitlab.contains("candor_response_seconds{quantile=\"p50\"} 0."), "{gitlab}");
    let summary = form(&checks, "github-summary");
    for part in [
        "3 of 5 checks met",
        "| ❌ not met | p50 &lt; 1ns |",
        "| ❔ cannot tell | p99.999 &lt; 1s |",
    ] {
        assert!(summary.contains(part), "{part}\n{summary}");
    }
    let quality: Value = serde_json::from_str(&form(&checks, "gitlab-quality")).unwrap();
    let severities: Vec<&str> =
        quality.as_array().unwrap().iter().map(|one| one["severity"].as_str().unwrap()).collect();
    assert_eq!(severities, ["critical", "minor"]);
    assert_eq!(quality[0]["check_name"], "run: p50 < 1ns");
    assert_eq!(quality[0]["location"]["lines"]["begin"], 1);
    assert_ne!(quality[0]["fingerprint"], quality[1]["fingerprint"]);
}

#[test]
fn a_run_in_which_nothing_worked_fails() {
    let document = testing::empty_run().document();
    let checks = Checks::of_run(&document);
    assert_eq!(
        outcome_of(&cases(&form(&checks, "junit")), "most requests succeed"),
        Some("failure")
    );
    assert!(form(&checks, "github").starts_with("::error title=most requests succeed::"));
}

#[test]
fn a_run_in_which_all_is_well_says_so() {
    let checks = checks(&["p50 < 1s"]);
    let github = form(&checks, "github");
    assert!(github.starts_with("::notice title=candor http%3A//"), "{github}");
    assert!(github.contains("::3 of 3 checks met"), "{github}");
    assert_eq!(form(&checks, "gitlab-quality").trim(), "[]");
    assert_eq!(checks.in_form("html"), None);
}

/// A warning comes with its words and its remedy.
#[test]
fn verdicts_are_told_in_their_words() {
    let has_one = |one: &Document| with(one, Severity::Warning).next().is_some();
    let document = testing::provoked().into_iter().find(has_one).unwrap();
    let warning = with(&document, Severity::Warning).next().unwrap();
    let checks = Checks::of_run(&document);
    for name in ["junit", "github", "github-summary", "gitlab-quality"] {
        let text = form(&checks, name);
        let text = text.replace("&gt;", ">").replace("&lt;", "<").replace("%25", "%");
        assert!(text.contains(&warning.sentence), "{name}: {}\n{text}", warning.sentence);
        assert!(text.contains(&warning.remedy), "{name}: {}\n{text}", warning.remedy);
    }
}

#[test]
fn a_suite_has_a_case_for_each_cell_and_each_failed_trial() {
    let suite = experiments::sample_suite(2);
    let checks = Checks::of_suite(&suite);
    let cases = cases(&form(&checks, "junit"));
    assert_eq!(cases.len(), suite.cells.len() + suite.failures.len());
    for cell in &suite.cells {
        let group = format!("{}, {}", cell.scenario, protocol_name(&cell.protocol));
        let of_cell = cases.iter().filter(|(suite, name, _)| {
            *suite == group && name.starts_with(&format!("{}, {}", cell.server, cell.load))
        });
        let expected = cell.representative.is_some();
        assert!(
            of_cell.into_iter().any(|(_, _, outcome)| outcome.is_none() == expected),
            "{group}"
        );
    }
    for failure in &suite.failures {
        assert_eq!(outcome_of(&cases, &failure.trial), Some("failure"));
    }
    let rates = form(&checks, "gitlab").matches("candor_requests_per_second{cell=").count();
    assert_eq!(rates, suite.cells.iter().filter(|one| one.representative.is_some()).count());
}

#[test]
fn a_cell_that_failed_or_was_not_measured_is_not_met() {
    let mut suite = experiments::sample_suite(2);
    suite.failures.clear();
    suite.cells.truncate(2);
    suite.cells[0].trials.iter_mut().for_each(|one| {
        (one.figures.scheduled, one.figures.failed) = (10, 10);
        one.figures.failures = "10 × status 500".to_owned();
    });
    suite.cells[1].trials.clear();
    suite.cells[1].representative = None;
    let checks = Checks::of_suite(&suite);
    let found: Vec<_> = cases(&form(&checks, "junit"))
        .into_iter()
        .map(|(_, _, outcome)| outcome.unwrap())
        .collect();
    assert_eq!(found[0].0, "failure");
    assert!(found[0].1.contains("no request succeeded (10 × status 500)"), "{found:?}");
    assert_eq!(found[1].0, "error");
    assert!(found[1].1.contains("it was not measured"), "{found:?}");
}

#[test]
fn clients_whose_counts_disagree_fail() {
    let mut clients = testing::clients::sample();
    clients.cells.truncate(1);
    let met = cases(&form(&Checks::of_clients(&clients), "junit"));
    assert_eq!(met[0].2, None);
    clients.cells[0].trials[0].disagreement = Some("1, not 2".to_owned());
    let wrong = cases(&form(&Checks::of_clients(&clients), "junit"));
    assert!(wrong[0].2.as_ref().unwrap().1.contains("disagree: 1, not 2"), "{wrong:?}");
}

#[test]
fn a_peak_that_was_not_found_fails() {
    let mut peak = experiments::sample_peak();
    let of = |peak: &Peak| cases(&form(&Checks::of_peak(peak), "junit"))[0].2.clone();
    peak.cannot_tell = None;
    assert_eq!(of(&peak), None);
    peak.answer = None;
    assert_eq!(of(&peak).unwrap().0, "failure");
    peak.cannot_tell = Some("the machine is too noisy".to_owned());
    assert_eq!(of(&peak).unwrap().0, "error");
}

#[test]
fn text_forges_nothing() {
    let list = vec![Check {
        name: "\"]]>\u{1}<x>\n".to_owned(),
        outcome: Outcome::NotMet,
        sentence: "one\ntwo</failure>\u{fffe}".to_owned(),
    }];
    let mut checks = checks(&[]);
    checks.title = "a\n::error::forged,:%".to_owned();
    checks.groups = vec![Group { name: "g".to_owned(), list }];
    checks.warnings =
        vec![Warning { name: "n".to_owned(), sentence: "w\r\n::error::x]]>".to_owned() }];
    checks.figures.clear();
    let junit = form(&checks, "junit");
    let (_, name, outcome) = &cases(&junit)[0];
    assert_eq!(name, "\"]]>\\u{1}<x> ");
    assert_eq!(outcome.as_ref().unwrap().1, "one two</failure>\\u{fffe}");
    assert!(!junit.contains("]]>"), "{junit}");
    let github = form(&checks, "github");
    assert_eq!(
        github,
        "::error title=\"]]>\\u{1}<x>%0A::one%0Atwo</failure>\\u{fffe}\n\
         ::warning title=a%0A%3A%3Aerror%3A%3Aforged%2C%3A%25%3A n::w%0D%0A::error::x]]>\n"
    );
    assert_eq!(form(&checks, "gitlab").lines().count(), 1);
    let summary = form(&checks, "github-summary");
    assert!(!summary.lines().any(|line| line.starts_with("::error")), "{summary}");
    let quality: Value = serde_json::from_str(&form(&checks, "gitlab-quality")).unwrap();
    assert_eq!(quality[1]["description"], "w\\r\\n::error::x]]>");
}
