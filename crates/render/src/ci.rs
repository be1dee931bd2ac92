//! Forms for continuous integration: what was checked, and how it came out.
//!
//! JUnit's XML, which most systems read; annotations of GitHub's workflows; figures for GitLab's metrics report. All
//! are made of the same list of checks. A check passes only if it is met: what cannot be told is an error in JUnit and a
//! warning beside a pull request, so that it is not overlooked, and the exit code leaves the decision to the caller.

use std::fmt::Write as _;

use candor_report::document::Document;
use candor_report::document::Outcome;
use candor_report::document::Severity;
use candor_report::experiment::comparison::Comparison;

use crate::compose;

/// One thing that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Check {
    name: String,
    outcome: Outcome,
    sentence: String,
}

/// What was checked, in what.
#[derive(Debug)]
pub struct Checks {
    title: String,
    started_at: String,
    time_s: f64,
    list: Vec<Check>,
    /// Worth a look, and no failure.
    warnings: Vec<String>,
    /// Names and values, for metrics.
    figures: Vec<(String, f64)>,
}

impl Checks {
    /// Of a run: that requests succeeded, that its figures can be true, and each objective.
    pub fn of_run(document: &Document) -> Self {
        let met = |is_met: bool| if is_met { Outcome::Met } else { Outcome::NotMet };
        let worked = !document.nothing_worked();
        let misses = compose::misses_of_run(document);
        let first = misses.first().filter(|_| !worked).cloned().unwrap_or_default();
        let mut list = vec![Check {
            name: "requests succeed".to_owned(),
            outcome: met(worked),
            sentence: first,
        }];
        let invalid = || document.verdicts.iter().filter(|one| one.severity == Severity::Invalid);
        list.push(Check {
            name: "figures can be true".to_owned(),
            outcome: met(invalid().next().is_none()),
            sentence: invalid().map(|one| one.sentence.as_str()).collect::<Vec<_>>().join(" "),
        });
        list.extend(document.expectations.iter().map(|one| Check {
            name: one.expression.clone(),
            outcome: one.outcome,
            sentence: one.sentence.clone(),
        }));
        let warnings = document.verdicts.iter().filter(|one| one.severity == Severity::Warning);
        let mut figures = vec![
            ("candor_requests_ok".to_owned(), document.ledger.ok as f64),
            ("candor_requests_failed".to_owned(), document.ledger.failed() as f64),
        ];
        let rate = document.rate.achieved_per_s.map(|per_s| ("candor_requests_per_second", per_s));
        let latencies = ["p50", "p99", "p99.9"].into_iter().filter_map(|name| {
            let ns = document.latencies.response.percentile_ns(name)?;
            Some((format!("candor_response_seconds{{quantile=\"{name}\"}}"), ns as f64 / 1e9))
        });
        figures.extend(rate.map(|(name, per_s)| (name.to_owned(), per_s)));
        figures.extend(latencies);
        Checks {
            title: format!("candor {}", document.plan.target.url),
            started_at: document.started_at.clone(),
            time_s: document.time.elapsed_ns as f64 / 1e9,
            list,
            warnings: warnings.map(|one| one.sentence.clone()).collect(),
            figures,
        }
    }

    /// Of a comparison: that each variant works, and the limit if there is one.
    pub fn of_comparison(comparison: &Comparison) -> Self {
        let mut list = Vec::new();
        for variant in 1..comparison.variants.len() {
            let name = &comparison.variants[variant].name;
            let failure = comparison.failure(variant);
            list.push(Check {
                name: format!("{name} works"),
                outcome: if failure.is_some() { Outcome::NotMet } else { Outcome::Met },
                sentence: failure.unwrap_or_default(),
            });
        }
        let limit = comparison.limit.iter().flat_map(|limit| &limit.judgements);
        list.extend(limit.map(|one| Check {
            name: one.expression.clone(),
            outcome: one.outcome,
            sentence: one.sentence.clone(),
        }));
        Checks {
            title: format!("candor compare: {}", names(comparison)),
            started_at: comparison.started_at.clone(),
            time_s: 0.0,
            list,
            warnings: comparison.cautions.clone(),
            figures: Vec::new(),
        }
    }

    /// In the form of this name: `github`, `gitlab`, else JUnit's.
    pub fn in_form(&self, name: &str) -> String {
        match name {
            "github" => self.github(),
            "gitlab" => self.gitlab(),
            _ => self.junit(),
        }
    }

    /// As JUnit's XML.
    pub fn junit(&self) -> String {
        let count = |outcome| self.list.iter().filter(|one| one.outcome == outcome).count();
        let (failures, errors) = (count(Outcome::NotMet), count(Outcome::CannotTell));
        let counts =
            format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", self.list.len());
        let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
        let _ = writeln!(text, "<testsuites name=\"candor\" {counts}>");
        let _ = writeln!(
            text,
            "  <testsuite name=\"{}\" {counts} skipped=\"0\" time=\"{:.3}\" timestamp=\"{}\">",
            xml(&self.title),
            self.time_s,
            xml(self.started_at.trim_end_matches('Z')),
        );
        for Check { name, outcome, sentence } in &self.list {
            let _ = write!(text, "    <testcase classname=\"candor\" name=\"{}\"", xml(name));
            let (element, kind) = match outcome {
                Outcome::Met => {
                    text += "/>\n";
                    continue;
                }
                Outcome::NotMet => ("failure", "not-met"),
                Outcome::CannotTell => ("error", "cannot-tell"),
            };
            let sentence = xml(sentence);
            let _ = writeln!(
                text,
                ">\n      <{element} type=\"{kind}\" message=\"{sentence}\">{sentence}</{element}>\n    </testcase>"
            );
        }
        text += "  </testsuite>\n</testsuites>\n";
        text
    }

    /// As commands of GitHub's workflows, a line each: what is not met is an error, what cannot be told and
    /// what deserves a look a warning; if there is nothing of that, a notice.
    pub fn github(&self) -> String {
        let mut text = String::new();
        for Check { name, outcome, sentence } in &self.list {
            let level = match outcome {
                Outcome::Met => continue,
                Outcome::NotMet => "error",
                Outcome::CannotTell => "warning",
            };
            let _ = writeln!(text, "::{level} title={}::{}", property(name), data(sentence));
        }
        for sentence in &self.warnings {
            let _ = writeln!(text, "::warning title={}::{}", property(&self.title), data(sentence));
        }
        if text.is_empty() {
            let all = format!("{} of {} checks met", self.list.len(), self.list.len());
            let _ = writeln!(text, "::notice title={}::{all}", property(&self.title));
        }
        text
    }

    /// As GitLab's metrics report: a name and a value in each line. Checks are 1 if met, 0 if not, -1 if that cannot be
    /// told.
    pub fn gitlab(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.figures {
            let _ = writeln!(text, "{name} {value}");
        }
        for Check { name, outcome, .. } in &self.list {
            let value = match outcome {
                Outcome::Met => 1,
                Outcome::NotMet => 0,
                Outcome::CannotTell => -1,
            };
            let name = name.replace(['\\', '"', '\n', '\r'], " ");
            let _ = writeln!(text, "candor_check{{name=\"{name}\"}} {value}");
        }
        text
    }
}

fn names(comparison: &Comparison) -> String {
    let names: Vec<&str> = comparison.variants.iter().map(|one| one.name.as_str()).collect();
    names.join(", ")
}

/// A text within an attribute or an element. Characters that XML 1.0 does not have are left out.
fn xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\n' | '\t' | '\r' => safe.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => safe.push(c),
        }
    }
    safe
}

/// The data of a command: it ends with its line.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a command, which ends with a comma or a colon too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use candor_report::expect::Expectation;
    use candor_report::testing;

    use super::*;

    fn checks(objectives: &[&str]) -> Checks {
        let mut document = testing::healthy_open();
        let parse = |text: &&str| Expectation::parse(text).unwrap();
        document.judge_expectations(&objectives.iter().map(parse).collect::<Vec<_>>());
        Checks::of_run(&document)
    }

    #[test]
    fn every_check_has_its_outcome() {
        let checks = checks(&["p50 < 1s", "p50 < 1ns", "p99.999 < 1s"]);
        let junit = checks.junit();
        assert!(junit.contains("tests=\"5\" failures=\"1\" errors=\"1\""), "{junit}");
        assert!(
            junit.contains("name=\"p50 &lt; 1ns\">\n      <failure type=\"not-met\""),
            "{junit}"
        );
        assert!(junit.contains("<error type=\"cannot-tell\""), "{junit}");
        let github = checks.github();
        assert!(github.contains("::error title=p50 < 1ns::"), "{github}");
        assert!(github.contains("::warning title=p99.999 < 1s::"), "{github}");
        let gitlab = checks.gitlab();
        for line in ["candor_check{name=\"p50 < 1s\"} 1", "candor_check{name=\"p50 < 1ns\"} 0"] {
            assert!(gitlab.contains(line), "{line}\n{gitlab}");
        }
        assert!(gitlab.contains("candor_response_seconds{quantile=\"p50\"} 0."), "{gitlab}");
    }

    #[test]
    fn a_run_in_which_nothing_worked_fails() {
        let document = testing::empty_run().document();
        let junit = Checks::of_run(&document).junit();
        assert!(junit.contains("name=\"requests succeed\">\n      <failure"), "{junit}");
    }

    #[test]
    fn a_run_in_which_all_is_well_says_so() {
        let github = checks(&["p50 < 1s"]).github();
        assert!(github.starts_with("::notice title=candor http%3A//"), "{github}");
        assert!(github.contains("::3 of 3 checks met"), "{github}");
    }

    #[test]
    fn text_forges_nothing() {
        let checks = Checks {
            title: "a\n::error::forged,:%".to_owned(),
            started_at: String::new(),
            time_s: 0.0,
            list: vec![Check {
                name: "\"]]>\u{1}<x>\n".to_owned(),
                outcome: Outcome::NotMet,
                sentence: "one\ntwo</failure>".to_owned(),
            }],
            warnings: vec!["w\n::error::x".to_owned()],
            figures: Vec::new(),
        };
        let junit = checks.junit();
        assert!(junit.contains("&quot;]]&gt;&lt;x&gt; \">"), "{junit}");
        assert!(
            !junit.contains("</failure></failure>") && junit.contains("one two&lt;/failure&gt;")
        );
        let github = checks.github();
        assert_eq!(github.lines().count(), 2, "{github}");
        assert!(
            github.contains("title=a%0A%3A%3Aerror%3A%3Aforged%2C%3A%25::w%0A::error::x"),
            "{github}"
        );
        assert_eq!(checks.gitlab().lines().count(), 1);
    }
}
