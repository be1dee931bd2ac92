//! The plan: parts that fit together, and that never change again.
//!
//! A plan is made of [`Parts`] by the single check in `rules.rs`, from options, from a change of
//! another plan ([`Plan::with`]), or from bytes of another machine. So every plan can run without a
//! second check. Nothing is measured or read here.

mod rules;

use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::model::Parts;

/// The validated, immutable description of one run. Its parts are read as its fields
/// (`plan.load`), and cannot be written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Parts")]
pub struct Plan(Parts);

impl Plan {
    /// This plan with `change` made to its parts, if it can be carried out then.
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
