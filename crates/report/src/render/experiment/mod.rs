//! Renderings of experiments.

pub mod clients;
pub mod comparison;
mod matrix;
pub mod peak;
mod plot;
pub mod suite;
pub mod sweep;
pub(super) mod table;
pub(super) mod trials;

#[cfg(test)]
mod tests;
