//! One module for each command, and what several of them share: [`getopt`] reads command lines of
//! other tools, [`facts`] is what is told besides their output.

pub(crate) mod bench;
pub(crate) mod clients;
pub(crate) mod compare;
mod facts;
mod getopt;
pub(crate) mod h2load;
pub(crate) mod keep;
pub(crate) mod peak;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod sweep;
pub(crate) mod verify;
pub(crate) mod wrk;
