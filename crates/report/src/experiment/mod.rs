//! Documents of experiments, which consist of several runs.
//!
//! Each is one versioned value, e.g. `candor.peak/3`, made by crate `lab` and the only source of
//! renderings. The runs themselves are [`crate::Document`]s; these documents have the figures of
//! them that renderings need.

pub mod board;
pub mod clients;
pub mod comparison;
pub mod figures;
pub mod history;
pub mod matrix;
pub mod peak;
pub mod suite;
pub mod sweep;
pub mod trial;

/// Limits the number of something in a document: the size of tables is a product of lists.
fn at_most(what: &str, count: usize, most: usize) -> Result<(), String> {
    match count {
        count if count > most => Err(format!("it has {count} {what}, and {most} can be shown")),
        _ => Ok(()),
    }
}
