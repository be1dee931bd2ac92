//! Renderings of experiments.

pub mod comparison;
mod table;
