//! A validator of another language has the last word on values that are made of descriptions: PyPI's `jsonschema`, which
//! `scripts/need-peers` installs.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::common::description::description;

/// Prints the numbers of the values that their schemas refuse.
const VALIDATOR: &str = "
import json, sys
from jsonschema import Draft202012Validator as Validator
refused = []
for number, (schema, value) in enumerate(json.load(sys.stdin)):
    Validator.check_schema(schema)
    if not Validator(schema, format_checker=Validator.FORMAT_CHECKER).is_valid(value):
        refused.append(number)
print(json.dumps(refused))
";

fn refused(values: &[(Value, Value)]) -> Vec<usize> {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python");
    let mut python = Command::new("python3")
        .args(["-c", VALIDATOR])
        .env("PYTHONPATH", packages)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(json!(values).to_string().as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).expect("the packages of scripts/need-peers")
}

#[test]
fn another_validator_accepts_what_is_made_of_any_description() {
    let mut runner = TestRunner::deterministic();
    let mut made = || description().new_tree(&mut runner).unwrap().current();
    let mut values: Vec<_> = (0..300).flat_map(|_| crate::described::values(&made())).collect();
    assert!(values.len() > 900, "{}", values.len());
    let wrong: Vec<_> = refused(&values).into_iter().map(|number| &values[number]).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    // What no schema of them accepts is refused, and so is a text in another format.
    values.truncate(3);
    values.push((json!({"type": "string", "format": "ipv4"}), json!("300.1.1.1")));
    values.push((json!({"type": "array", "minItems": 2}), json!([1])));
    assert_eq!(refused(&values), [3, 4]);
}
