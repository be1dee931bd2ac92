//! The lab: experiments that turn single runs into conclusions.
//!
//! A plan and a [`trial::Runner`] come in, a document of crate `report` goes out. A runner makes
//! one run: the real one calls the engine and manages a [`target`]; tests use servers with results
//! in closed form. Nothing here prints, parses arguments or renders.
#![forbid(unsafe_code)]

pub mod alternatives;
pub mod clients;
pub mod compare;
pub mod credentials;
pub mod engine_runner;
pub mod error;
#[doc(hidden)]
pub mod fuzzing;
pub mod history;
pub mod interrupt;
pub mod loads;
pub mod matrix;
pub mod peak;
mod question;
pub mod revision;
pub mod site;
pub mod suite;
pub mod sweep;
pub mod target;
pub mod trial;
pub mod verify;
pub mod watch;

pub use credentials::Credentials;
pub use engine_runner::{EngineRunner, Maker};
pub use error::{LabError, Side};
pub use interrupt::Interrupt;
pub use site::Site;
pub use target::{Ready, Running, TargetSpec};
pub use trial::{Ahead, Outcome, Progress, Runner};
