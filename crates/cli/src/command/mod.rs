//! One module for each command. None of them knows of another: what several share is beside this folder.

pub(crate) mod bench;
pub(crate) mod clients;
pub(crate) mod compare;
pub(crate) mod h2load;
pub(crate) mod keep;
pub(crate) mod peak;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod sweep;
pub(crate) mod verify;
pub(crate) mod wrk;
