//! Renderings of experiments.

pub mod clients;
pub mod comparison;
pub mod peak;
mod plot;
pub mod suite;
pub mod sweep;
pub(super) mod table;
mod trials;

#[cfg(test)]
pub(super) mod tests;
