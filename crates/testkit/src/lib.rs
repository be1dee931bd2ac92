//! What tests of Candor are made with: a simulated clock and network, and scripted peers.
//!
//! Only ever a dev-dependency.
#![forbid(unsafe_code)]

pub mod sim;
