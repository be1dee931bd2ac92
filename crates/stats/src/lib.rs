//! Statistics of runs: what can be concluded from measured figures, and what theory predicts.
//!
//! Pure functions of numbers. Nothing here knows of requests, documents or clocks: record and
//! report bring the figures, the lab compares runs with them, and `candor verify` holds what was
//! measured against the closed forms. Every formula stands above its code, with the unit of each
//! symbol and its source.
#![forbid(unsafe_code)]

pub mod closed_form;
