//! Arrival processes: when the next request is due, and which request it is.
//!
//! An open load of the plan and a seed come in; a [`Schedule`] of due times comes out, for each
//! worker its share. This crate reads no clock, never sleeps and knows nothing of connections: the
//! caller compares the due time with its own clock.
//!
//! The model: a load is a cumulative count Λ(t), the number of arrivals expected up to time t. Its
//! inverse turns a *position*, counted in arrivals, into a due time. Even arrivals have the
//! positions 0, 1, 2, …; a Poisson process has those of a unit-rate process. So every load is one
//! shape (`shape.rs`) with one source of positions (`poisson.rs`, or the integers).
//!
//! Everything is a pure function of plan and seed, exact in integers. The union over workers is
//! the same schedule for any number of them, on any machine.
//!
//! A due time costs 10 to 30 ns for even arrivals and 60 to 100 ns for Poisson ones.
#![forbid(unsafe_code)]

mod fixed;
mod pick;
mod poisson;
mod ramp;
mod random;
mod schedule;
mod shape;

pub use pick::Picker;
pub use poisson::LANES;
pub use random::{below, draw, exponential, split_mix};
pub use schedule::{Due, Limit, MOST_DRAWN, Ranks, Schedule, Share};
