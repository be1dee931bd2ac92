//! A build without fleets: there are no flags for them, and no run is one of a fleet.

use std::convert::Infallible;

use candor_engine::{Control, Observer};
use candor_lab::LabError;
use candor_plan::{Options, Plan};
use candor_record::RunRecord;
use clap::Args;

use crate::exit::UserError;

/// No flags.
#[derive(Debug, Clone, Args)]
pub(crate) struct FleetFlags {}

/// There is none.
#[derive(Debug)]
pub(crate) struct Fleet(Infallible);

impl FleetFlags {
    /// None.
    pub(crate) fn open(&self) -> Result<Option<Fleet>, UserError> {
        Ok(None)
    }
}

impl Fleet {
    /// Never called.
    pub(crate) fn connect_each(&self, _: &mut Options) {
        match self.0 {}
    }

    /// Never called.
    pub(crate) fn check(&self, _: &Plan, _: bool) -> Result<(), UserError> {
        match self.0 {}
    }

    /// Never called.
    pub(crate) fn run(
        &self,
        _: &Plan,
        _: &Control,
        _: &mut dyn Observer,
    ) -> Result<RunRecord, LabError> {
        match self.0 {}
    }
}
