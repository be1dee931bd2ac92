//! Documents of experiments: what several runs together say.
//!
//! Each is one versioned value, such as `candor.peak/1`, made by crate `lab` and rendered from
//! nothing else. The runs themselves are [`crate::Document`]s; here is what renderings need of them.

pub mod comparison;
pub mod figures;
pub mod suite;
