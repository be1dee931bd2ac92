//! Suite files: from TOML to a checked [`Suite`]. Errors name the fault, its place and the remedy.
//!
//! [`tables`] defines the tables of a file. This module and those beside it extend the [`Reader`]
//! to check them, a module for each kind of table, and [`names`] resolves names. Options of runs
//! are those of plans, read by the same code ([`Options`]), so a flag has one name and one meaning
//! everywhere. The built-in scenarios are a file of the same form.

mod bodies;
mod loads;
mod names;
mod server;
mod tables;

use toml::Spanned;

use super::each;
use super::model::{Protocol, Scenario, Server, Suite};
use super::probe::Check;
use crate::error::LabError;
use crate::matrix::file::{FNV_START, HeadKeys, Reader, fnv};
use candor_plan::suggest::did_you_mean;
use candor_plan::{Options, words};
use names::ALL;
pub(crate) use names::{of_name, unknown_protocol, unknown_scenario};
use tables::{ScenarioTable, SuiteTable, keys};

/// The built-in scenarios.
const SCENARIOS: &str = include_str!("../scenarios.toml");

/// The suite in `text`, the content of the file `name`.
pub fn parse(name: &str, text: &str) -> Result<Suite, LabError> {
    let reader = Reader { name, text };
    reader.suite(reader.table(&keys)?)
}

/// The built-in scenarios, in order.
pub fn built_in() -> Result<Vec<Scenario>, LabError> {
    let reader = Reader { name: "scenarios.toml", text: SCENARIOS };
    let table: SuiteTable = reader.table(&keys)?;
    table.scenario.into_iter().map(|one| reader.scenario(one)).collect()
}

/// The built-in scenario of this name, which stands at `place`.
pub fn built_in_of_name(place: &str, name: &str) -> Result<Scenario, LabError> {
    let known = built_in()?;
    let hint = did_you_mean(name, known.iter().map(|one| one.name.as_str()));
    let unknown = || LabError::UnknownScenario {
        place: place.to_owned(),
        name: name.to_owned(),
        hint: hint.clone(),
    };
    known.into_iter().find(|one| one.name == name).ok_or_else(unknown)
}

impl Reader<'_> {
    fn suite(&self, table: SuiteTable) -> Result<Suite, LabError> {
        let SuiteTable { name, about, rounds, seed, .. } = table;
        let keys = HeadKeys { name, about, rounds, seed };
        let head = self.head(keys, fnv(FNV_START, SCENARIOS.as_bytes()))?;
        let scenarios = self.scenarios(table.scenario)?;
        let chosen = match table.scenarios.as_slice() {
            [] => scenarios.iter().map(|one| one.name.clone()).collect(),
            names => self.named(names, &scenarios)?,
        };
        if table.server.is_empty() {
            let remedy = "write a [[server]] table with a name and `embedded = true`, a `command` or a `url`";
            return Err(self.missing(format!("there is no server; {remedy}")));
        }
        let mut servers: Vec<Server> = Vec::new();
        for one in table.server {
            self.check_name(&one.name, "server", servers.iter().map(|known| known.name.as_str()))?;
            servers.push(self.server(one, &scenarios)?);
        }
        let protocols = match table.protocols.as_slice() {
            [] => Protocol::ALL
                .into_iter()
                .filter(|one| !one.is_tls() || needed(*one, &chosen, &scenarios))
                .collect(),
            names => self.protocols(names)?,
        };
        let is_open = table.run.load.rate.is_some() || table.run.load.load.is_some();
        let loads = self.loads(table.load, is_open, &scenarios)?;
        if let Some(command) = &table.profile_command
            && let Err(problem) = words::split(command.get_ref())
        {
            return Err(self.wrong(command, format!("profile-command: {problem}")));
        }
        let (measured, others): (Vec<_>, Vec<_>) =
            scenarios.iter().cloned().partition(|one| chosen.contains(&one.name));
        let suite = Suite {
            head,
            profile_command: table.profile_command.map(Spanned::into_inner),
            run: self.found(table.run),
            servers,
            scenarios: measured,
            others,
            protocols,
            loads,
        };
        self.check_bodies(&suite, &scenarios)?;
        Ok(suite)
    }

    /// The built-in scenarios and those of the file, which replace built-in ones of the same name.
    fn scenarios(&self, own: Vec<ScenarioTable>) -> Result<Vec<Scenario>, LabError> {
        let mut all = built_in()?;
        let mut seen: Vec<String> = Vec::new();
        for one in own {
            self.check_name(&one.name, "scenario", seen.iter().map(String::as_str))?;
            if one.name.get_ref() == ALL {
                return Err(self.wrong(
                    &one.name,
                    "a scenario cannot be called \"all\": that is the set of every scenario",
                ));
            }
            seen.push(one.name.get_ref().clone());
            let scenario = self.scenario(one)?;
            match all.iter_mut().find(|known| known.name == scenario.name) {
                Some(known) => *known = scenario,
                None => all.push(scenario),
            }
        }
        Ok(all)
    }

    fn scenario(&self, table: ScenarioTable) -> Result<Scenario, LabError> {
        let mut run = table.run;
        run.requests.request = match &table.each {
            None => table.request,
            Some(range) => each::repeat(range.get_ref(), &table.request).map_err(|problem| {
                self.wrong(range, format!("each = \"{}\": {problem}", range.get_ref()))
            })?,
        };
        let run = self.found(run);
        let mut probe = Options::default();
        probe.requests.request = table.probe;
        let makes_own = run.script.script.is_some();
        if run.requests.request.is_empty() && table.unsupported.is_none() && !makes_own {
            let message = "a scenario needs at least one [[scenario.request]] table, or a script";
            return Err(self.wrong(&table.name, message));
        }
        Ok(Scenario {
            name: table.name.into_inner(),
            about: table.about,
            sets: table.sets,
            protocols: match &table.protocols {
                None => Protocol::ALL.to_vec(),
                Some(names) => self.protocols(names)?,
            },
            unsupported: table.unsupported,
            websocket: table.websocket,
            refuses: table.refuses,
            embedded_arguments: table.embedded_arguments,
            checks: (table.checks.into_iter())
                .map(|(source, value)| Check { source, value })
                .collect(),
            probe: self.found(probe).requests.request,
            run,
        })
    }
}

/// Whether one of the chosen scenarios works only over TLS.
fn needed(protocol: Protocol, chosen: &[String], known: &[Scenario]) -> bool {
    known
        .iter()
        .filter(|one| chosen.contains(&one.name))
        .any(|one| one.protocols.iter().all(|p| p.is_tls()) && one.protocols.contains(&protocol))
}
