//! Statistics of runs: conclusions from measured figures, and predictions of theory.
//!
//! Pure functions of numbers. Nothing here knows of requests, documents or clocks: record and
//! report bring the figures, the lab compares runs with them, and `candor verify` compares
//! measurements with the closed forms. Every formula is above its code, with the unit of each
//! symbol and its source. The golden values of the tests come from SciPy: `golden/golden.py` makes
//! `golden/golden.json`.
#![forbid(unsafe_code)]

pub mod batch;
pub mod bootstrap;
pub mod change;
pub mod closed_form;
pub mod order;
pub mod process;
pub mod quantile;
pub mod rounds;
pub mod stationary;
pub mod threshold;

pub use quantile::Quantile;

#[cfg(test)]
mod golden {
    //! The golden values, for the tests of each module.

    use serde_json::Value;

    const GOLDEN: &str = include_str!("../golden/golden.json");

    /// The cases of this name, at least one.
    pub(crate) fn list(name: &str) -> Vec<Value> {
        let all: Value = serde_json::from_str(GOLDEN).unwrap();
        let cases = all[name].as_array().unwrap().clone();
        assert!(!cases.is_empty(), "{name}");
        cases
    }

    pub(crate) fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).collect()
    }

    pub(crate) fn assert_close(found: f64, wanted: f64, relative: f64) {
        let off = (found - wanted).abs();
        assert!(off <= relative * wanted.abs().max(1e-3), "{found} where {wanted} is right");
    }
}
