//! Shared code of other crates' tests: a simulated clock and network, scripted peers, a raw client,
//! processes, nginx, a QUIC server, a link with losses, a browser, signatures, mutated inputs, and the form of outputs of
//! wrk and h2load.
//!
//! For tests only. Peers and clients are plain threads on std's sockets, so that the test decides
//! every byte on the wire and no HTTP library changes it.
#![forbid(unsafe_code)]

pub mod browser;
pub mod client;
pub mod ghz_form;
pub mod h2load_form;
pub mod h3;
pub mod mutate;
pub mod nginx;
pub mod peer;
pub mod plans;
pub mod process;
pub mod relay;
pub mod sigv4;
pub mod sim;
pub mod wrk_form;
