//! What tests of other crates share: a simulated clock and network, scripted peers, a raw client,
//! processes, nginx, a browser, mutated inputs, and the form of outputs of wrk and h2load.
//!
//! For tests only. Peers and clients are plain threads on std's sockets, so that what goes over
//! the wire is exactly what the test says and no HTTP library has an opinion on it.
#![forbid(unsafe_code)]

pub mod browser;
pub mod client;
pub mod h2load_form;
pub mod mutate;
pub mod nginx;
pub mod peer;
pub mod process;
pub mod sim;
pub mod wrk_form;
