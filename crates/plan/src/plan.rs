//! The plan: parts that fit together, and that never change again.
//!
//! The check in `rules.rs` is the only way to make a plan of [`Parts`], which come from options,
//! from a change to another plan ([`Plan::with`]), or from another machine. So every plan can run
//! without a second check. Nothing is measured or read here.

mod calls;
mod rules;
mod stream;

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::model::Parts;

/// The validated, immutable description of one run. Its parts can be read as fields (`plan.load`),
/// but not changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Parts")]
pub struct Plan(Parts);

impl Plan {
    /// This plan with `change` applied to its parts, if the result is still a valid plan.
    pub fn with(&self, change: impl FnOnce(&mut Parts)) -> Result<Plan, PlanError> {
        let mut parts = self.0.clone();
        change(&mut parts);
        parts.try_into()
    }
}

impl Deref for Plan {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl TryFrom<Parts> for Plan {
    type Error = PlanError;

    fn try_from(parts: Parts) -> Result<Self, PlanError> {
        rules::check(&parts)?;
        Ok(Plan(parts))
    }
}
