//! Runs on a fleet: the flags of the one who starts such a run, and the folders of its members.
//!
//! [`coordinate`] makes a run, [`runs`] keeps its plan meanwhile; [`folder`] reads what `candor fleet init`
//! wrote. State machines and messages
//! are those of `candor-fleet`, their transport is `candor-fleet-nats`. A run without `--fleet` uses nothing
//! of this module.

mod coordinate;
pub(crate) mod folder;
mod runs;

use std::path::{Path, PathBuf};

use candor_fleet::AgentName;
use candor_fleet::coordinator::{OnLoss, Wanted};
use candor_plan::build::DEFAULT_CONNECTIONS;
use candor_plan::values::SmallCount;
use candor_plan::{Options, Plan};
use clap::{Args, ValueEnum};

use crate::exit::UserError;
use folder::Operator;
pub(crate) use runs::Open;

/// The folder of the operator that `candor fleet init` makes by default.
const OPERATOR: &str = "fleet/operator";

/// What is said of a broker of this version, which has known vulnerabilities.
pub(crate) fn outdated(version: &str) -> String {
    format!(
        "the broker is nats-server {version}, which has known vulnerabilities; use 2.14.0, 2.12.7, 2.11.16 or later"
    )
}

/// Whether and how a run is made by a fleet.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Fleet")]
pub(crate) struct FleetFlags {
    /// Run on this many agents of a fleet, or on these: e.g. 4, or a0,a3
    ///
    /// The plan's threads, connections and schedule are divided among the agents, which begin together;
    /// their results are merged exactly. An experiment does so for each of its runs. docs/fleet.md explains how to
    /// set up a fleet.
    #[arg(long, value_name = "N", value_parser = wanted)]
    fleet: Option<Wanted>,

    /// Folder of the fleet's operator, from `candor fleet init` [default: fleet/operator]
    #[arg(long, value_name = "FOLDER", requires = "fleet")]
    operator: Option<PathBuf>,

    /// What happens when an agent is lost: all others stop, or continue
    #[arg(long, value_name = "WHAT", requires = "fleet")]
    on_loss: Option<Choice>,
}

/// What happens when an agent is lost.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Choice {
    /// All agents stop
    Stop,
    /// The others continue
    Continue,
}

/// A number of agents, or their names.
fn wanted(text: &str) -> Result<Wanted, String> {
    if let Ok(count) = text.parse::<usize>() {
        return match count {
            0 => Err("a fleet needs at least 1 agent".to_owned()),
            count => Ok(Wanted::Count(count)),
        };
    }
    let names: Result<Vec<AgentName>, _> = text.split(',').map(str::parse).collect();
    let mut names = names.map_err(|error| error.to_string())?;
    names.sort();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("agent {} is named twice", pair[0])),
        None => Ok(Wanted::Named(names)),
    }
}

/// The fleet of a run.
#[derive(Debug)]
pub(crate) struct Fleet {
    wanted: Wanted,
    on_loss: OnLoss,
    operator: Operator,
}

impl FleetFlags {
    /// The fleet that these flags ask for; `None`: this machine alone makes the run.
    pub(crate) fn open(&self) -> Result<Option<Fleet>, UserError> {
        let Some(wanted) = self.fleet.clone() else { return Ok(None) };
        let folder = self.operator.clone().unwrap_or_else(|| OPERATOR.into());
        let on_loss = match self.on_loss {
            None | Some(Choice::Stop) => OnLoss::Stop,
            Some(Choice::Continue) => OnLoss::Continue,
        };
        Ok(Some(Fleet { wanted, on_loss, operator: Operator::read(&folder)? }))
    }
}

impl Fleet {
    /// The fleet of the operator in this folder, for results that its agents keep.
    pub(crate) fn of(folder: &Path) -> Result<Fleet, UserError> {
        let operator = Operator::read(folder)?;
        Ok(Fleet { wanted: Wanted::Count(0), on_loss: OnLoss::Continue, operator })
    }

    /// If the user gave no number of connections, each agent has one at least.
    pub(crate) fn connect_each(&self, options: &mut Options) {
        let agents = match &self.wanted {
            Wanted::Count(count) => *count,
            Wanted::Named(names) => names.len(),
        };
        let agents = u32::try_from(agents).unwrap_or(u32::MAX);
        let is_open = options.load.connections.is_none() && options.load.max_connections.is_none();
        // Users of journeys may have connections of their own.
        if is_open && options.requests.journey.is_empty() && agents > DEFAULT_CONNECTIONS {
            options.load.connections = SmallCount::new(agents);
        }
    }

    /// Refuses a plan that agents cannot carry out, before they are asked. `is_here`: its target is
    /// started by this process.
    pub(crate) fn check(&self, plan: &Plan, is_here: bool) -> Result<(), UserError> {
        let reasons = [
            (
                is_here && !self.operator.broker.is_on_this_machine(),
                "a target that is started here is on this machine alone; name the URL of a server",
            ),
            (
                plan.recording.trace.is_some(),
                "--trace: single requests stay on the agents; leave it out",
            ),
            (
                plan.targets().any(|one| one.auth.is_some()),
                "--auth: agents take no credentials; send one that lasts, e.g. bearer:${env:TOKEN}",
            ),
        ];
        match reasons.into_iter().find(|(is_so, _)| *is_so) {
            Some((_, why)) => Err(UserError::usage(format!("--fleet: {why}"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_counted_or_named() {
        assert_eq!(wanted("4"), Ok(Wanted::Count(4)));
        let named = |text: &str| wanted(text).map(|wanted| format!("{wanted:?}"));
        assert!(named("a3,a0").is_ok_and(|names| names.find("a0") < names.find("a3")));
        for wrong in ["0", "", "a0,a0", "A0", "a0,"] {
            assert!(wanted(wrong).is_err(), "{wrong}");
        }
    }
}
