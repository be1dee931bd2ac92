//! The options of a journey: a `[[journey]]` table of a plan.

use serde::Deserialize;

use super::RequestOptions;
use crate::journey::{ConnectionUse, OnFailure};
use crate::values::SmallCount;

/// One `[[journey]]` table of a plan.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct JourneyOptions {
    /// Name in reports.
    pub name: Option<String>,
    /// Share of the users.
    pub weight: Option<SmallCount>,
    /// Whether its users keep cookies.
    pub cookies: bool,
    /// Whose the connections of its users are: `shared` or `own`.
    pub connection: ConnectionUse,
    /// What follows a step that failed: `end` or `go-on`.
    pub on_failure: OnFailure,
    /// The `[[journey.step]]` tables.
    pub step: Vec<RequestOptions>,
}
