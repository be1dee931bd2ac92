//! The options of one request: a `[[request]]` table of a plan.

use std::path::PathBuf;

use serde::Deserialize;

use crate::model::StatusSet;
use crate::values::{Header, Method, PositiveNanos, RequestPath, Size, SmallCount, headers, typed};

/// One `[[request]]` table of a plan. Missing keys are taken from the top level.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RequestOptions {
    /// Name in reports.
    pub name: Option<String>,
    /// As `--method`.
    pub method: Option<Method>,
    /// Path and query; by default the URL's.
    pub path: Option<RequestPath>,
    /// As `--header`; replaces headers of the same name from the top level.
    #[serde(deserialize_with = "headers")]
    pub header: Vec<Header>,
    /// As `--body`.
    pub body: Option<String>,
    /// As `--body-file`.
    pub body_file: Option<PathBuf>,
    /// As `--chunked`.
    pub chunked: Option<Size>,
    /// As `--expect-continue`; `false` turns it off for this request.
    pub expect_continue: Option<bool>,
    /// As `--pieces`.
    pub pieces: Option<SmallCount>,
    /// As `--piece-gap`.
    pub piece_gap: Option<PositiveNanos>,
    /// As `--break-off-after`.
    pub break_off_after: Option<Size>,
    /// Share under `--order weighted`.
    pub weight: Option<SmallCount>,
    /// As `--expect-status`.
    #[serde(deserialize_with = "typed")]
    pub expect_status: Option<StatusSet>,
    /// As `--expect-body-bytes`.
    pub expect_body_bytes: Option<Size>,
    /// As `--expect-body`.
    pub expect_body: Option<PathBuf>,
}
