//! Saved results: every document that can be read can be rendered, in every form, and reads the
//! same when saved again.

use candor_render::{Depth, Page, compose, csv, hgrm, hlog};
use candor_report::Document;
use candor_report::experiment::{clients, comparison, peak, suite, sweep};
use candor_report::{Style, json};
use serde_json::Value;

/// A document of a run.
pub(crate) fn result(bytes: &[u8]) {
    let Ok(saved) = std::str::from_utf8(bytes) else { return };
    let document = match Document::from_json(saved) {
        Ok(document) => document,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let again = candor_report::json::render(&document);
    let read = Document::from_json(&again).expect("what was written reads");
    let value = |text: &str| serde_json::from_str::<Value>(text).expect("what was written is JSON");
    assert!(is_alike(&value(&json::render(&read)), &value(&again)), "read back it is another");
    printed(|depth| compose::run(&document, depth));
    csv::run(&document);
    hlog::render(&document);
    let _ = (hgrm::response(&document), hgrm::service(&document));
}

/// The same, but for the last digits of fractions, which serde_json reads to the nearest but one.
fn is_alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() && other.is_f64() => {
            let (one, other) = (one.as_f64().unwrap_or(0.0), other.as_f64().unwrap_or(0.0));
            (one - other).abs() <= 1e-12 * one.abs().max(other.abs())
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_alike(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|((name, one), (of, other))| name == of && is_alike(one, other))
        }
        _ => one == other,
    }
}

/// A document of an experiment.
pub(crate) fn experiment(bytes: &[u8]) {
    let Ok(saved) = std::str::from_utf8(bytes) else { return };
    if let Ok(document) = peak::Peak::from_json(saved) {
        printed(|depth| compose::peak(&document, depth));
        csv::peak(&document);
    }
    if let Ok(document) = sweep::Sweep::from_json(saved) {
        printed(|depth| compose::sweep(&document, depth));
        csv::sweep(&document);
    }
    if let Ok(document) = comparison::Comparison::from_json(saved) {
        printed(|depth| compose::comparison(&document, depth));
        csv::comparison(&document);
    }
    if let Ok(document) = suite::Suite::from_json(saved) {
        printed(|depth| compose::suite(&document, depth));
        csv::suite(&document);
    }
    if let Ok(document) = clients::Clients::from_json(saved) {
        printed(|depth| compose::clients(&document, depth));
        csv::clients(&document);
    }
}

/// By every printer.
fn printed(page: impl Fn(Depth) -> Page) {
    page(Depth::Terminal).text(Style::PLAIN);
    let full = page(Depth::Full);
    full.markdown();
    full.html();
}
