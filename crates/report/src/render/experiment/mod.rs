//! Renderings of experiments.

pub mod comparison;
pub mod suite;
mod table;
