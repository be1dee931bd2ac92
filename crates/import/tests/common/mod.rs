//! The check of every plan that an import made: it is accepted by the real parser of plans.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "a panic here is a failing test")]

pub(crate) mod command;
pub(crate) mod description;

use std::io::{Error, ErrorKind, Result};
use std::path::Path;

use candor_plan::{Options, ReadFile};

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

/// Panics unless the plan is one that Candor accepts.
pub(crate) fn check(plan: &str) {
    let built =
        Options::from_toml("plan.toml", plan).and_then(|options| options.build(&Everything));
    if let Err(error) = built {
        panic!("{error}\n{plan}");
    }
}
