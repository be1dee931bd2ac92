//! The tables of a suite file as typed. The reader checks them.

use std::collections::BTreeMap;

use candor_plan::Options;
use candor_plan::options::RequestOptions;
use candor_plan::plan_file::keys_of;
use candor_plan::values::PositiveNanos;
use serde::Deserialize;
use toml::Spanned;

use super::super::model::Urls;
use crate::matrix::file::CommandWords;

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct SuiteTable {
    pub(super) name: Option<Spanned<String>>,
    pub(super) about: String,
    pub(super) rounds: Option<Spanned<u64>>,
    pub(super) seed: Option<u64>,
    pub(super) scenarios: Vec<Spanned<String>>,
    pub(super) protocols: Vec<Spanned<String>>,
    pub(super) profile_command: Option<Spanned<String>>,
    pub(super) run: Options,
    pub(super) server: Vec<ServerTable>,
    pub(super) scenario: Vec<ScenarioTable>,
    pub(super) load: Vec<LoadTable>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ServerTable {
    pub(super) name: Spanned<String>,
    #[serde(default)]
    pub(super) about: String,
    #[serde(default)]
    pub(super) embedded: bool,
    #[serde(default)]
    pub(super) arguments: Vec<String>,
    pub(super) command: Option<Spanned<CommandWords>>,
    #[serde(default)]
    pub(super) profile_arguments: Vec<String>,
    #[serde(default)]
    pub(super) files: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    pub(super) url: Option<Spanned<String>>,
    h2_url: Option<Spanned<String>>,
    pub(super) tls_url: Option<Spanned<String>>,
    pub(super) ready: Option<Spanned<String>>,
    pub(super) ready_timeout: Option<PositiveNanos>,
    pub(super) scenarios: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    pub(super) except: Vec<Spanned<String>>,
    pub(super) protocols: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    pub(super) run: Options,
}

impl ServerTable {
    pub(super) fn urls(&self) -> Urls {
        let text = |one: &Option<Spanned<String>>| one.as_ref().map(|url| url.get_ref().clone());
        Urls { url: text(&self.url), h2_url: text(&self.h2_url), tls_url: text(&self.tls_url) }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ScenarioTable {
    pub(super) name: Spanned<String>,
    #[serde(default)]
    pub(super) about: String,
    #[serde(default)]
    pub(super) sets: Vec<String>,
    pub(super) protocols: Option<Vec<Spanned<String>>>,
    pub(super) unsupported: Option<String>,
    #[serde(default)]
    pub(super) websocket: bool,
    #[serde(default)]
    pub(super) refuses: bool,
    pub(super) each: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) embedded_arguments: Vec<String>,
    #[serde(default)]
    pub(super) checks: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) probe: Vec<RequestOptions>,
    #[serde(default)]
    pub(super) request: Vec<RequestOptions>,
    #[serde(default)]
    pub(super) run: Options,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct LoadTable {
    pub(super) name: Spanned<String>,
    #[serde(default)]
    pub(super) of_peak: Vec<Spanned<String>>,
    pub(super) peak_load: Option<Spanned<String>>,
    pub(super) rounds: Option<Spanned<u64>>,
    pub(super) scenarios: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    pub(super) run: Options,
}

/// The keys of each table, for suggestions.
pub(super) fn keys(path: &str) -> &'static [&'static str] {
    match path {
        "" => keys_of::<SuiteTable>(),
        "server" => keys_of::<ServerTable>(),
        "scenario" => keys_of::<ScenarioTable>(),
        "load" => keys_of::<LoadTable>(),
        path if path.ends_with("request") => keys_of::<RequestOptions>(),
        _ => keys_of::<Options>(),
    }
}
