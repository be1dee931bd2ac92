//! The check of every plan that an import made: TOML, and accepted by the real parser of plans.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "a panic here is a failing test")]

use std::io::{Error, ErrorKind, Result};
use std::path::Path;

use candor_plan::{Options, ReadFile};
use toml::{Table, Value};

/// An environment that has every variable, and files that all exist.
struct Everything;

impl ReadFile for Everything {
    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        // Certificates are read when the plan is built; they are not what is checked here.
        match path.extension() {
            Some(end) if end == "pem" => Err(Error::new(ErrorKind::NotFound, "no such file")),
            _ => Ok(b"file".to_vec()),
        }
    }

    fn variable(&self, _: &str) -> Option<String> {
        Some("value-of-a-variable".to_owned())
    }
}

/// Panics unless the plan is one that Candor accepts. Steps of journeys are checked as requests, with
/// other values in the place of captured ones.
pub(crate) fn check(plan: &str) {
    let mut table: Table =
        toml::from_str(plan).unwrap_or_else(|error| panic!("not TOML: {error}\n{plan}"));
    if let Some(Value::Array(journeys)) = table.remove("journey") {
        let mut requests = Vec::new();
        for journey in journeys {
            let Value::Table(mut journey) = journey else { panic!("a journey is a table\n{plan}") };
            let steps = journey.remove("step").unwrap();
            for key in journey.keys() {
                assert!(["name", "cookies", "weight"].contains(&key.as_str()), "{key}\n{plan}");
            }
            requests.extend(requests_of(steps.as_array().unwrap(), plan));
        }
        table.insert("request".to_owned(), Value::Array(requests));
    }
    let text = toml::to_string(&table).unwrap();
    let built =
        Options::from_toml("plan.toml", &text).and_then(|options| options.build(&Everything));
    if let Err(error) = built {
        panic!("{error}\n{plan}");
    }
}

fn requests_of(steps: &[Value], plan: &str) -> Vec<Value> {
    let mut captured: Vec<String> = Vec::new();
    let mut requests = Vec::new();
    for step in steps {
        let mut step = step.as_table().unwrap().clone();
        let capture = step.remove("capture");
        if let Some(think) = step.remove("think") {
            let think = think.as_str().unwrap().to_owned();
            assert!(candor_plan::units::parse_duration_ns(&think).is_ok(), "{think}\n{plan}");
        }
        let mut text = toml::to_string(&step).unwrap();
        for name in &captured {
            text = text.replace(&format!("${{{name}}}"), "${uuid}");
            text = text.replace(&format!("${{path {name}}}"), "/${uuid}");
        }
        requests.push(Value::Table(toml::from_str(&text).unwrap()));
        for (name, source) in capture.iter().flat_map(|one| one.as_table().unwrap()) {
            let source = source.as_str().unwrap();
            let (kind, rest) = source.split_once(':').unwrap();
            assert!(["json", "header", "regex"].contains(&kind) && !rest.is_empty(), "{source}");
            assert!(kind != "json" || rest.starts_with('$'), "{source}");
            captured.push(name.clone());
        }
    }
    requests
}
