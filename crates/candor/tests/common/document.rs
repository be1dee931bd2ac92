//! A result document in tests: read by JSON pointers, and only from the shipped schema.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;

const SCHEMA: &str = include_str!("../../../report/schema/candor.result-3.json");

/// Asserts that a document is valid by the repository's schema of its kind, e.g. `peak`.
///
/// # Panics
/// If it is not.
pub(crate) fn assert_valid(kind: &str, document: &Value) {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/schema");
    let format = document["format"].as_str().expect("a format");
    let path = format!("{directory}/{}.json", format.replace('/', "-"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let schema = serde_json::from_str(&text).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
    let errors: Vec<_> = validator.iter_errors(document).map(|one| one.to_string()).collect();
    assert!(errors.is_empty(), "{kind}: {errors:#?}");
    assert!(format.starts_with(&format!("candor.{kind}/")), "{format}");
}

/// A valid result document with a balanced ledger.
#[derive(Debug)]
pub(crate) struct Document(pub(crate) Value);

impl Document {
    /// Reads and checks.
    ///
    /// # Panics
    /// If something is wrong with it.
    pub(crate) fn checked(text: &str) -> Document {
        static VALIDATOR: OnceLock<jsonschema::Validator> = OnceLock::new();
        let validator = VALIDATOR.get_or_init(|| {
            let schema = serde_json::from_str(SCHEMA).expect("the schema is JSON");
            jsonschema::validator_for(&schema).expect("the schema is a schema")
        });
        let value: Value = serde_json::from_str(text).expect("the document is JSON");
        let errors: Vec<_> = validator.iter_errors(&value).map(|one| one.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
        let document = Document(value);
        document.assert_balanced("/ledger");
        document.assert_balanced("/warm_up");
        document
    }

    fn assert_balanced(&self, ledger: &str) {
        let n = |name: &str| self.count(&format!("{ledger}/{name}"));
        let seen = self.at(ledger);
        // Omitted if there are none.
        let omitted = |name: &str| seen.get(name).and_then(Value::as_u64).unwrap_or(0);
        let left = n("shed") + n("unsent") + omitted("unaccounted");
        assert_eq!(n("scheduled"), n("sent") + left, "{seen}");
        let broken_off = omitted("broken_off");
        assert_eq!(n("sent"), n("ok") + broken_off + n("errors") + n("unfinished"), "{seen}");
        let kinds = if ledger == "/ledger" { "/errors" } else { "/warm_up_errors" };
        assert_eq!(n("errors"), self.kinds(kinds).values().sum::<u64>(), "{seen}");
    }

    /// The value at a JSON pointer.
    pub(crate) fn at(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is not in the document"))
    }

    /// The count at a JSON pointer.
    pub(crate) fn count(&self, pointer: &str) -> u64 {
        self.at(pointer).as_u64().unwrap_or_else(|| panic!("{pointer} is no count"))
    }

    /// The number at a JSON pointer.
    pub(crate) fn number(&self, pointer: &str) -> f64 {
        self.at(pointer).as_f64().unwrap_or_else(|| panic!("{pointer} is no number"))
    }

    /// The text at a JSON pointer.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.at(pointer).as_str().unwrap_or_else(|| panic!("{pointer} is no text"))
    }

    /// A place of the ledger.
    pub(crate) fn ledger(&self, place: &str) -> u64 {
        self.count(&format!("/ledger/{place}"))
    }

    /// Failed requests by kind. Each has to have an example.
    pub(crate) fn errors(&self) -> BTreeMap<String, u64> {
        self.kinds("/errors")
    }

    /// Failed attempts to connect by kind. Each has to have an example.
    pub(crate) fn connect_errors(&self) -> BTreeMap<String, u64> {
        self.kinds("/connect_errors")
    }

    fn kinds(&self, pointer: &str) -> BTreeMap<String, u64> {
        let all = self.list(pointer).iter().map(|one| {
            let example = one["example"].as_str().unwrap_or_default();
            assert!(!example.is_empty(), "no example: {one}");
            (one["kind"].as_str().unwrap_or_default().to_owned(), one["count"].as_u64())
        });
        all.map(|(kind, count)| (kind, count.expect("a count"))).collect()
    }

    /// The list at a JSON pointer.
    pub(crate) fn list(&self, pointer: &str) -> &[Value] {
        self.at(pointer).as_array().unwrap_or_else(|| panic!("{pointer} is no list"))
    }

    /// Intervals of the measured window.
    pub(crate) fn window(&self) -> impl Iterator<Item = &Value> {
        self.list("/intervals").iter().filter(|one| one["in_window"] == true)
    }

    /// A percentile of `response` or `service`, in seconds.
    pub(crate) fn percentile_s(&self, series: &str, name: &str) -> f64 {
        self.number(&format!("/latencies/{series}/percentiles_ns/{name}")) / 1e9
    }

    /// The mean of `response` or `service`, in seconds.
    pub(crate) fn mean_s(&self, series: &str) -> f64 {
        self.number(&format!("/latencies/{series}/mean_ns")) / 1e9
    }

    /// The largest share of a core that an engine thread used.
    pub(crate) fn cpu_share(&self) -> f64 {
        let shares = self.list("/workers").iter().map(|one| one["cpu_share"].as_f64());
        shares.flatten().fold(0.0, f64::max)
    }

    /// Ids of the verdicts.
    pub(crate) fn verdicts(&self) -> Vec<&str> {
        self.list("/verdicts").iter().filter_map(|one| one["id"].as_str()).collect()
    }

    /// Asserts that exactly these kinds of errors occurred.
    pub(crate) fn assert_errors(&self, kinds: &[&str]) {
        let errors = self.errors();
        let seen: Vec<_> = errors.keys().map(String::as_str).collect();
        assert_eq!(seen, kinds, "{:?}", self.at("/errors"));
    }

    /// Asserts that every request got the expected response.
    pub(crate) fn assert_all_ok(&self) {
        assert_eq!(self.ledger("ok"), self.ledger("scheduled"), "{}", self.at("/ledger"));
        assert!(self.ledger("ok") > 0, "{}", self.at("/ledger"));
    }
}
