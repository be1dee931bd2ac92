//! Documents of experiments: what several runs together say.
//!
//! Each is one versioned value, such as `candor.peak/2`, made by crate `lab` and rendered from
//! nothing else. The runs themselves are [`crate::Document`]s; here is what renderings need of them.

pub mod clients;
pub mod comparison;
pub mod figures;
pub mod matrix;
pub mod peak;
pub mod suite;
pub mod sweep;
pub mod trial;

/// The most of something in a document that can be shown: what tables have is a product of lists.
fn at_most(what: &str, count: usize, most: usize) -> Result<(), String> {
    match count {
        count if count > most => Err(format!("it has {count} {what}, and {most} can be shown")),
        _ => Ok(()),
    }
}
