//! For tests: untrusted documents of every kind, with malicious texts and impossible numbers, in every
//! form.

use candor_plan::Trust;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde::Serialize;
use serde_json::{Value, json};

use candor_report::{Style, json as as_json, visible_styled};

use super::ci::{self, Checks};
use super::{Depth, Page, compose, csv, hgrm, hlog};
use candor_plan::words::is_hidden;
use candor_report::experiment::board::Board;
use candor_report::experiment::clients::Clients;
use candor_report::experiment::comparison::Comparison;
use candor_report::experiment::figures::Figures;
use candor_report::experiment::peak::Peak;
use candor_report::experiment::suite::Suite;
use candor_report::experiment::sweep::Sweep;
use candor_report::testing;
use candor_report::testing::experiments as sample;
use candor_report::{Document, ReadError};

/// Renderings with their names.
type Forms = Vec<(&'static str, String)>;

/// A kind of document: a sample, and the renderings of its text.
struct Kind {
    name: &'static str,
    document: Value,
    forms: fn(&str) -> Result<Forms, ReadError>,
}

fn value(document: &impl Serialize) -> Value {
    serde_json::to_value(document).unwrap()
}

fn kinds() -> Vec<Kind> {
    let mut run = testing::full();
    run.intervals.truncate(3);
    run.connections.losses = run.errors.clone();
    run.plan.target.tls = testing::over_tls(Trust::Anybody).plan.target.tls;
    let clients = testing::clients::sample();
    vec![
        Kind { name: "run", document: value(&run), forms: of_run },
        Kind { name: "peak", document: value(&sample::sample_peak()), forms: of_peak },
        Kind { name: "sweep", document: value(&sample::sample_sweep()), forms: of_sweep },
        Kind {
            name: "comparison",
            document: value(&sample::sample_comparison()),
            forms: of_comparison,
        },
        Kind { name: "suite", document: value(&sample::sample_suite(1)), forms: of_suite },
        Kind { name: "board", document: value(&sample::sample_board()), forms: of_board },
        Kind { name: "clients", document: value(&clients), forms: of_clients },
    ]
}

fn of_run(json: &str) -> Result<Forms, ReadError> {
    let document = Document::from_json(json)?;
    let damaged = |error: candor_report::document::latency::DecodeError| error.to_string();
    let _ = Figures::of(&document);
    let mut forms = of_page(|depth| compose::run(&document, depth));
    forms.extend([
        ("csv", csv::run(&document)),
        ("csv", csv::steps(&document)),
        ("hlog", hlog::render(&document)),
        ("json", as_json::render(&document)),
        ("hgrm", hgrm::response(&document).unwrap_or_else(damaged)),
        ("hgrm-service", hgrm::service(&document).unwrap_or_else(damaged)),
    ]);
    forms.extend(of_checks(&Checks::of_run(&document)));
    Ok(forms)
}

fn of_checks(checks: &Checks) -> impl Iterator<Item = (&'static str, String)> {
    ci::FORMS.into_iter().map(|(name, write)| match name {
        // As Markdown and as JSON it is held to more.
        "github-summary" => ("markdown", write(checks)),
        "gitlab-quality" => ("json", write(checks)),
        name => (name, write(checks)),
    })
}

/// The elements of XML, one within the other.
fn elements(xml: &str) -> Vec<String> {
    let parsed = roxmltree::Document::parse(xml).unwrap_or_else(|error| panic!("{error}\n{xml}"));
    let name = |node: roxmltree::Node<'_, '_>| node.tag_name().name().to_owned();
    parsed.descendants().filter(roxmltree::Node::is_element).map(name).collect()
}

fn of_page(page: impl Fn(Depth) -> Page) -> Forms {
    let (brief, full) = (page(Depth::Terminal), page(Depth::Full));
    vec![
        ("short text", page(Depth::Short).text(Style::PLAIN)),
        ("text", brief.text(Style::PLAIN)),
        ("full text", full.text(Style::PLAIN)),
        ("colour", brief.text(Style::COLOUR)),
        ("markdown", full.markdown()),
        ("html", full.html()),
    ]
}

/// The forms of an experiment.
macro_rules! forms {
    ($name:ident, $type:ty, $kind:ident, $checks:path) => {
        fn $name(json: &str) -> Result<Forms, ReadError> {
            let document = <$type>::from_json(json)?;
            let mut forms = of_page(|depth| compose::$kind(&document, depth));
            forms.extend([("csv", csv::$kind(&document)), ("json", as_json::any(&document))]);
            forms.extend(of_checks(&$checks(&document)));
            Ok(forms)
        }
    };
}

forms!(of_peak, Peak, peak, Checks::of_peak);
forms!(of_sweep, Sweep, sweep, Checks::of_sweep);
forms!(of_board, Board, board, Checks::of_board);
forms!(of_comparison, Comparison, comparison, Checks::of_comparison);
forms!(of_suite, Suite, suite, Checks::of_suite);
forms!(of_clients, Clients, clients, Checks::of_clients);

/// All leaf values, as JSON pointers.
fn leaves(value: &Value, here: String, found: &mut Vec<String>) {
    match value {
        Value::Array(list) if !list.is_empty() => {
            list.iter().enumerate().for_each(|(n, one)| leaves(one, format!("{here}/{n}"), found))
        }
        Value::Object(map) if !map.is_empty() => {
            map.iter().for_each(|(key, one)| leaves(one, format!("{here}/{key}"), found));
        }
        _ => found.push(here),
    }
}

fn with(document: &Value, place: &str, new: Value) -> Value {
    let mut changed = document.clone();
    *changed.pointer_mut(place).unwrap() = new;
    changed
}

impl Kind {
    /// The places that accept any text.
    fn texts(&self) -> Vec<String> {
        let mut all = Vec::new();
        leaves(&self.document, String::new(), &mut all);
        all.retain(|place| {
            self.document.pointer(place).is_some_and(Value::is_string)
                && !place.ends_with("/format")
                // Its first character selects the tables.
                && !place.ends_with("/pools")
                && (self.forms)(&with(&self.document, place, "x".into()).to_string()).is_ok()
        });
        all
    }

    /// The renderings with this text in all of these places, and as keys of maps.
    fn poisoned(&self, places: &[String], text: &str) -> Forms {
        let mut document = self.document.clone();
        for place in places {
            *document.pointer_mut(place).unwrap() = text.into();
        }
        for verdict in
            document.get_mut("verdicts").and_then(Value::as_array_mut).into_iter().flatten()
        {
            verdict["evidence"] = json!({text: 1.0});
        }
        (self.forms)(&document.to_string()).unwrap()
    }
}

/// The blocks, links and pieces of HTML that a Markdown parser finds in a text.
fn structure(markdown: &str) -> Vec<String> {
    let mut found = Vec::new();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            // Alignments and levels are ours; the targets of links could be foreign.
            Event::Start(tag) => found.push(match tag {
                Tag::Link { .. } | Tag::Image { .. } | Tag::HtmlBlock => {
                    panic!("{tag:?} in\n{markdown}")
                }
                tag => format!("{tag:?}"),
            }),
            Event::End(TagEnd::Paragraph) => found.push("end of a paragraph".to_owned()),
            Event::Html(html) | Event::InlineHtml(html) => panic!("{html} in\n{markdown}"),
            _ => {}
        }
    }
    found
}

const CONTROLS: [&str; 8] = [
    "\u{1b}]0;x\u{7}",
    "\u{1b}[2J",
    "\u{9b}2J",
    "\u{202e}gnp\u{2066}",
    "\u{200b}\u{feff}\u{e0041}",
    "x\nFORGED line\n",
    "\rFORGED line",
    "\u{2028}FORGED\u{85}\u{b}\u{c}\u{0}",
];

const MARKUP: [&str; 20] = [
    "<img src=x onerror=alert(1)>",
    "` <b>x</b>",
    "`a``<b>`",
    "[x](javascript:alert(1)) ![y](http://127.0.0.1/z)",
    "[x]: http://127.0.0.1/",
    "<http://127.0.0.1/>",
    "a|b|c",
    "a\\|b `c|d` \\",
    "\n\n# x\n\n| a | b |\n|---|---|\n",
    "```",
    "~~~",
    "# x",
    "- x",
    "* x",
    "1. x",
    "> x",
    "    x",
    "***",
    "===",
    "&lt;b&gt;",
];

/// Every control character (C0, DEL, C1), and every mark of the direction of text, between words that would be lines of
/// their own.
fn every_control() -> String {
    let marks = "\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
    let controls = ('\0'..='\u{1f}').chain('\u{7f}'..='\u{9f}').chain(marks.chars());
    controls.map(|c| format!("{c}FORGED")).collect()
}

/// What spreadsheets take for a formula.
const FORMULAS: [&str; 4] = ["=cmd|' /C calc'!A0", "+1+cmd|x", "-2+3+cmd|x", "@SUM(1,2)"];

/// The first line that a control character before `FORGED` began. A long word that is wrapped right behind a character
/// that was written out, or behind the mark that joins the lines of a reason, begins none.
fn forged_line(shown: &str) -> Option<&str> {
    let written_out = ["}", "\\t", "\\n", "\\r", " ·"];
    let mut before = "";
    shown.lines().find(|line| {
        let is_wrapped = written_out.iter().any(|end| before.ends_with(end));
        before = line;
        line.trim_start().starts_with("FORGED") && !is_wrapped
    })
}

/// No form contains invisible control characters, and no text begins a line.
#[test]
fn no_text_is_more_than_text_in_any_form() {
    for kind in kinds() {
        let places = kind.texts();
        assert!(places.len() > 15, "{}: {places:?}", kind.name);
        let harmless = kind.poisoned(&places, "harmless");
        let every = every_control();
        let payloads = CONTROLS.into_iter().chain(MARKUP).chain(FORMULAS).chain([every.as_str()]);
        for payload in payloads {
            for ((form, shown), (_, plain)) in kind.poisoned(&places, payload).iter().zip(&harmless)
            {
                let context = format!("{payload:?} in {} of a {}", form, kind.name);
                assert_eq!(forged_line(shown), None, "{context}:\n{shown}");
                match *form {
                    // Only our own colour sequences remain.
                    "colour" => assert_eq!(*shown, visible_styled(shown), "{context}"),
                    _ => {
                        let hidden = shown.chars().find(|c| *c != '\n' && is_hidden(*c));
                        assert_eq!(hidden, None, "{context}:\n{shown}");
                    }
                }
                match *form {
                    "markdown" => {
                        assert_eq!(structure(shown), structure(plain), "{context}:\n{shown}")
                    }
                    "csv" => {
                        assert_eq!(shown.lines().count(), plain.lines().count(), "{context}");
                        let fields = shown.lines().flat_map(|line| line.split(','));
                        let begin = fields.map(|field| field.trim_start_matches('"'));
                        let is_formula = |field: &str| {
                            field.starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err()
                        };
                        // Behind a comma within quotes no field begins.
                        let formula = begin
                            .filter(|field| is_formula(field))
                            .find(|field| payload.starts_with(field.trim_end_matches('"')));
                        assert_eq!(formula, None, "{context}:\n{shown}");
                    }
                    "junit" => assert_eq!(elements(shown), elements(plain), "{context}"),
                    "github" | "gitlab" => {
                        assert_eq!(shown.lines().count(), plain.lines().count(), "{context}");
                    }
                    "json" => drop(serde_json::from_str::<Value>(shown).expect(&context)),
                    _ => {}
                }
            }
        }
    }
}

/// Errors quote invalid input: a format, a variant, the name of a field.
#[test]
fn no_error_of_reading_hides_anything_or_is_long() {
    let payload = format!("\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\nFORGED{}", "x".repeat(5000));
    for kind in kinds() {
        let mut places = Vec::new();
        leaves(&kind.document, String::new(), &mut places);
        let mut documents: Vec<Value> = places
            .iter()
            .map(|place| with(&kind.document, place, payload.clone().into()))
            .collect();
        documents.push(with(&kind.document, "/format", format!("candor.{payload}").into()));
        documents.push(with(
            &kind.document,
            "/format",
            format!("candor.{}/1{payload}", kind.name).into(),
        ));
        let mut errors = 0;
        for document in documents {
            let Err(error) = (kind.forms)(&document.to_string()) else { continue };
            errors += 1;
            let error = error.to_string();
            assert!(!error.contains(is_hidden), "{error:?}");
            assert!(error.len() < 1500, "{error}");
        }
        assert!(errors > 10, "{}: {errors}", kind.name);
    }
}

/// Numbers at the extremes, empty and long lists, long texts, absent and doubled fields.
#[test]
fn whatever_is_changed_ends_with_a_page_or_a_sentence() {
    let numbers = [json!(0), json!(-1), json!(1e308), json!(u64::MAX), json!(i64::MAX)];
    for kind in kinds() {
        let mut places = Vec::new();
        leaves(&kind.document, String::new(), &mut places);
        // Elements after the second of a list are like the second.
        let is_later = |part: &str| part.parse().is_ok_and(|at: usize| at > 1);
        places.retain(|place| !place.split('/').any(is_later));
        let mut lists: Vec<String> = places
            .iter()
            .flat_map(|place| place.match_indices('/').map(|(at, _)| place[..at].to_owned()))
            .filter(|place| kind.document.pointer(place).is_some_and(Value::is_array))
            .collect();
        lists.sort();
        lists.dedup();
        let mut documents: Vec<(String, Value)> = Vec::new();
        for place in &places {
            let news: &[Value] = match kind.document.pointer(place) {
                Some(Value::Number(_) | Value::Null) => &numbers,
                Some(Value::String(_)) => &[json!(""), json!("9".repeat(60_000))],
                _ => &[json!(null)],
            };
            documents.extend(news.iter().map(|new| {
                (
                    format!("{place} = {:.40}", new.to_string()),
                    with(&kind.document, place, new.clone()),
                )
            }));
        }
        for place in &lists {
            documents.push((format!("{place} = []"), with(&kind.document, place, json!([]))));
            let one = kind.document.pointer(place).and_then(|list| list.get(0)).cloned();
            let many = json!(vec![one; 400]);
            documents.push((format!("{place} × 400"), with(&kind.document, place, many)));
        }
        // All numbers of a document at once.
        for new in &numbers {
            let mut all = kind.document.clone();
            for place in &places {
                let value = all.pointer_mut(place).unwrap();
                if value.is_number() {
                    *value = new.clone();
                }
            }
            documents.push((format!("all numbers = {new}"), all));
        }
        let mut rendered = 0;
        for (what, document) in documents {
            let text = document.to_string();
            let outcome = catch_unwind(AssertUnwindSafe(|| (kind.forms)(&text)));
            let outcome = outcome.unwrap_or_else(|_| panic!("a {} with {what}", kind.name));
            if let Ok(forms) = outcome {
                rendered += 1;
                let longest = forms.iter().map(|(_, text)| text.len()).max().unwrap();
                assert!(longest < 8 << 20, "{longest} bytes of a {} with {what}", kind.name);
            }
        }
        assert!(rendered > 50, "{}: {rendered}", kind.name);
    }
}
