//! One module for each command. Commands are independent of each other: their common code is
//! outside this folder. `candor/tests/modules/` checks this.

#[cfg(feature = "fleet")]
pub(crate) mod agent;
pub(crate) mod bench;
pub(crate) mod board;
pub(crate) mod ci;
pub(crate) mod clients;
pub(crate) mod compare;
pub(crate) mod completions;
#[cfg(feature = "fleet")]
pub(crate) mod fleet;
pub(crate) mod ghz;
pub(crate) mod h2load;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod keep;
pub(crate) mod man;
pub(crate) mod peak;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod sweep;
pub(crate) mod try_out;
pub(crate) mod verify;
pub(crate) mod wrk;
