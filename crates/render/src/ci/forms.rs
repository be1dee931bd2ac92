//! The forms of checks: JUnit's XML, which most systems read; annotations and a summary for GitHub's workflows;
//! GitLab's reports of metrics and of code quality. No text in them is more than text: it ends no line, no element and no
//! property.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use candor_plan::redact::{FNV_START, fnv};
use candor_plan::words::is_hidden;
use candor_report::document::Outcome;
use candor_report::visible;
use serde::Serialize;

use super::{Check, Checks, Group};
use crate::page::{Column, Depth, Kind, Page, Table};

/// As JUnit's XML, by the schema of Ant: a suite for each group, a case for each check. What
/// deserves a look is the output of the last suite.
pub(super) fn junit(checks: &Checks) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n".to_owned();
    let package = xml(&checks.title);
    // Without a zone and a fraction, as the schema of Ant wants it.
    let begun = match checks.started_at.is_empty() {
        // Nothing was measured, and the schema wants a time.
        true => NO_TIME.to_owned(),
        false => checks.started_at.chars().take(NO_TIME.len()).collect::<String>(),
    };
    let last = checks.groups.len().saturating_sub(1);
    for (id, Group { name, list }) in checks.groups.iter().enumerate() {
        let count = |outcome| list.iter().filter(|one| one.outcome == outcome).count();
        // The sum of nothing is -0.
        let time_s = if id == 0 { checks.time_s + 0.0 } else { 0.0 };
        let _ = writeln!(
            text,
            "  <testsuite id=\"{id}\" package=\"{package}\" name=\"{}\" timestamp=\"{}\" hostname=\"localhost\" \
             tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\" time=\"{time_s:.3}\">\n    <properties/>",
            xml(name),
            xml(&begun),
            list.len(),
            count(Outcome::NotMet),
            count(Outcome::CannotTell),
        );
        for check in list {
            case(&mut text, name, check);
        }
        text += "    <system-out>";
        for warning in checks.warnings.iter().filter(|_| id == last) {
            let _ = writeln!(text, "warning: {}: {}", xml(&warning.name), xml(&warning.sentence));
        }
        text += "</system-out>\n    <system-err/>\n  </testsuite>\n";
    }
    text += "</testsuites>\n";
    text
}

/// Of the length of a time.
const NO_TIME: &str = "1970-01-01T00:00:00";

/// The sentence of a check beside its name, which it begins with.
fn finding(Check { name, sentence, .. }: &Check) -> &str {
    sentence
        .strip_prefix(name.as_str())
        .and_then(|rest| rest.strip_prefix(": "))
        .unwrap_or(sentence)
}

fn case(text: &mut String, group: &str, check: &Check) {
    let (class, name) = (xml(group), xml(&check.name));
    let _ = write!(text, "    <testcase classname=\"candor.{class}\" name=\"{name}\" time=\"0\"");
    let (element, kind) = match check.outcome {
        Outcome::Met => {
            *text += "/>\n";
            return;
        }
        Outcome::NotMet => ("failure", "not-met"),
        Outcome::CannotTell => ("error", "cannot-tell"),
    };
    let sentence = xml(finding(check));
    let _ = writeln!(
        text,
        ">\n      <{element} type=\"{kind}\" message=\"{sentence}\">{sentence}</{element}>\n    </testcase>"
    );
}

/// As commands of GitHub's workflows, a line each: what is not met is an error, what cannot be told and
/// what deserves a look a warning; if there is nothing of that, a notice.
pub(super) fn github(checks: &Checks) -> String {
    let mut text = String::new();
    for check in checks.all() {
        let level = match check.outcome {
            Outcome::Met => continue,
            Outcome::NotMet => "error",
            Outcome::CannotTell => "warning",
        };
        let (title, found) = (property(&check.name), data(finding(check)));
        let _ = writeln!(text, "::{level} title={title}::{found}");
    }
    for warning in &checks.warnings {
        let title = property(&format!("{}: {}", checks.title, warning.name));
        let _ = writeln!(text, "::warning title={title}::{}", data(&warning.sentence));
    }
    if text.is_empty() {
        let count = checks.all().count();
        let title = property(&checks.title);
        let _ = writeln!(text, "::notice title={title}::{count} of {count} checks met");
    }
    text
}

/// As Markdown for the summary of a job: each check, what deserves a look, and the report on one screen.
pub(super) fn github_summary(checks: &Checks) -> String {
    let mut page = Page::new(Depth::Full, checks.title.clone());
    let met = checks.all().filter(|one| one.outcome == Outcome::Met).count();
    page.header.text(format!("{met} of {} checks met", checks.all().count()));
    let columns = ["", "check", "finding"].map(|name| Column::new(name, Kind::Words));
    let mut table = Table::new(columns);
    for group in &checks.groups {
        for check in &group.list {
            let Check { name, outcome, .. } = check;
            let mark = match outcome {
                Outcome::Met => "✅",
                Outcome::NotMet => "❌",
                Outcome::CannotTell => "❔",
            };
            let title = match checks.groups.len() {
                1 => name.clone(),
                _ => format!("{}: {name}", group.name),
            };
            table.row([format!("{mark} {}", outcome.word()), title, finding(check).to_owned()]);
        }
    }
    page.header.table(table);
    let warnings = checks.warnings.iter();
    page.header.facts(warnings.map(|one| ("⚠", format!("{}: {}", one.name, one.sentence))));
    page.markdown() + &checks.report.markdown()
}

/// As GitLab's metrics report: a name and a value in each line. Checks are 1 if met, 0 if not, -1 if that cannot be
/// told.
pub(super) fn gitlab(checks: &Checks) -> String {
    let mut text = String::new();
    for (name, value) in &checks.figures {
        let _ = writeln!(text, "{name} {value}");
    }
    for group in &checks.groups {
        for Check { name, outcome, .. } in &group.list {
            let value = match outcome {
                Outcome::Met => 1,
                Outcome::NotMet => 0,
                Outcome::CannotTell => -1,
            };
            let (group, name) = (label(&group.name), label(name));
            let _ = writeln!(text, "candor_check{{group=\"{group}\",name=\"{name}\"}} {value}");
        }
    }
    text
}

/// As GitLab's report of code quality, which is that of Code Climate: an issue for each check that is not met or cannot
/// be told, and for what deserves a look.
pub(super) fn gitlab_quality(checks: &Checks) -> String {
    let missed = checks.groups.iter().flat_map(|group| {
        group.list.iter().filter_map(move |Check { name, outcome, sentence }| {
            let severity = match outcome {
                Outcome::Met => return None,
                Outcome::NotMet => "critical",
                Outcome::CannotTell => "minor",
            };
            Some((format!("{}: {name}", group.name), severity, sentence))
        })
    });
    let warnings = checks.warnings.iter().map(|one| (one.name.clone(), "info", &one.sentence));
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let issues: Vec<Issue> = missed
        .chain(warnings)
        .map(|(name, severity, sentence)| {
            let times = seen.entry(name.clone()).or_default();
            *times += 1;
            Issue {
                description: visible(sentence).into_owned(),
                check_name: visible(&name).into_owned(),
                fingerprint: fingerprint(&[&checks.title, &name, &times.to_string()]),
                severity,
                location: Location {
                    path: visible(&checks.file).into_owned(),
                    lines: Lines { begin: 1 },
                },
            }
        })
        .collect();
    candor_report::json::any(&issues)
}

/// An issue of code quality.
#[derive(Debug, Serialize)]
struct Issue {
    description: String,
    check_name: String,
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Debug, Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Debug, Serialize)]
struct Lines {
    begin: u32,
}

/// Identifies an issue from pipeline to pipeline, whatever its figures are: FNV-1a of these texts, 64 bits.
fn fingerprint(texts: &[&str]) -> String {
    let hash = texts.iter().fold(FNV_START, |hash, text| fnv(fnv(hash, text.as_bytes()), &[0]));
    format!("{hash:016x}")
}

/// A text within an attribute or an element. Characters that XML 1.0 does not have, or that cannot be seen, are written
/// out.
fn xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\n' | '\t' | '\r' => safe.push(' '),
            c if is_unseen(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    safe
}

fn is_unseen(c: char) -> bool {
    is_hidden(c) || matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// The data of a command, which ends with its line: as GitHub's toolkit escapes it.
fn data(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '%' => safe += "%25",
            '\r' => safe += "%0D",
            '\n' => safe += "%0A",
            c if is_unseen(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    safe
}

/// A property of a command, which ends with a comma or a colon too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// The value of a label, between quotes.
pub(super) fn label(text: &str) -> String {
    visible(text).replace('\\', "\\\\").replace('"', "\\\"")
}
