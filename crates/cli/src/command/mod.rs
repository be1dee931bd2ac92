//! One module for each command.

pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod keep;
pub(crate) mod peak;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod sweep;
pub(crate) mod verify;
pub(crate) mod wrk;
