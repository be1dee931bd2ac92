//! `candor fleet status` and `candor fleet kill`: listens to the agents, and stops their runs.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use candor_fleet::message::Hello;
use candor_fleet::{AgentName, Message, RunId};
use candor_fleet_nats::{Arrival, Link};
use candor_plan::units::fmt_plural;
use clap::Args;

use super::OperatorFlag;
use crate::console;
use crate::exit::{Exit, UserError};
use crate::fleet::folder::{self, Operator};

use crate::fleet::outdated;
/// Agents announce themselves once a second.
const LISTEN: Duration = Duration::from_millis(2500);
/// How long agents may take to stop.
const STOP: Duration = Duration::from_secs(5);
/// The most agents that are listed.
const MOST: usize = 4096;

#[derive(Debug, Args)]
pub(super) struct StatusArguments {
    #[command(flatten)]
    operator: OperatorFlag,
}

#[derive(Debug, Args)]
pub(super) struct KillArguments {
    /// Stop this run only, named as in `candor fleet status`
    #[arg(value_name = "RUN", value_parser = super::run)]
    run: Option<RunId>,
    #[command(flatten)]
    operator: OperatorFlag,
}

pub(super) fn status(arguments: &StatusArguments) -> Result<ExitCode, UserError> {
    let ear = Ear::open(&arguments.operator)?;
    let heard = ear.listen(LISTEN, |_| false);
    let mut text = String::new();
    for (name, hello) in &heard {
        let state = match hello.busy {
            Some(key) => format!("in run {}", key.run),
            None => "free".to_owned(),
        };
        let kept = match hello.kept.len() {
            0 => String::new(),
            kept => format!(", keeps the results of {}", fmt_plural(kept as u64, "run")),
        };
        let cores = fmt_plural(hello.cores.into(), "core");
        text += &format!("{name:<12} {cores:>9}  {state}{kept}\n");
    }
    console::print(&text)?;
    match heard.is_empty() {
        false => Ok(Exit::Fine.into()),
        true => Err(UserError::could_not_run(format!(
            "no agent was heard within {} s; start agents with `candor agent`",
            LISTEN.as_secs_f64()
        ))),
    }
}

pub(super) fn kill(arguments: &KillArguments) -> Result<ExitCode, UserError> {
    let ear = Ear::open(&arguments.operator)?;
    let heard = ear.listen(LISTEN, |_| false);
    let is_meant = |hello: &Hello| {
        let run = hello.busy?.run;
        arguments.run.is_none_or(|only| only == run).then_some(run)
    };
    let busy: BTreeMap<AgentName, RunId> =
        heard.iter().filter_map(|(name, hello)| Some((name.clone(), is_meant(hello)?))).collect();
    if busy.is_empty() {
        return Err(UserError::could_not_run(format!(
            "{}: none is in {}",
            fmt_plural(heard.len() as u64, "agent"),
            if arguments.run.is_some() { "this run" } else { "a run" }
        )));
    }
    for (name, run) in &busy {
        ear.link.send(name, &Message::Kill { run: *run });
    }
    // An agent that has stopped says so in its next hello.
    let is_done = |heard: &BTreeMap<AgentName, Hello>| {
        busy.iter().all(|(name, run)| {
            heard.get(name).is_some_and(|one| one.busy.map(|key| key.run) != Some(*run))
        })
    };
    let after = ear.listen(STOP, is_done);
    let stopped = |name: &AgentName| {
        after.get(name).is_some_and(|one| one.busy.map(|key| key.run) != busy.get(name).copied())
    };
    let mut code = Exit::Fine;
    for (name, run) in &busy {
        match stopped(name) {
            true => console::say(format_args!("candor fleet kill: {name} has stopped run {run}")),
            false => {
                code = Exit::CouldNotRun;
                console::say(format_args!(
                    "candor fleet kill: {name} did not confirm that it has stopped run {run}; it stops \
                     when its lease is over, 5 s after it last heard its coordinator"
                ));
            }
        }
    }
    Ok(code.into())
}

/// A link that listens to all agents.
struct Ear {
    link: Link<RunId>,
}

impl Ear {
    fn open(flag: &OperatorFlag) -> Result<Ear, UserError> {
        let operator = Operator::read(&flag.operator)?;
        // A run of its own, to which nobody sends.
        let id = RunId(folder::random()?);
        let link = Link::of_coordinator(&operator.broker, id).map_err(UserError::could_not_run)?;
        Ok(Ear { link, is_apart: !operator.broker.is_on_this_machine() })
    }

    /// The last hello of each agent within this time, or until `is_enough`.
    fn listen(
        &self,
        time: Duration,
        is_enough: impl Fn(&BTreeMap<AgentName, Hello>) -> bool,
    ) -> BTreeMap<AgentName, Hello> {
        let (began, mut heard) = (Instant::now(), BTreeMap::new());
        while began.elapsed() < time && !is_enough(&heard) {
            let left = time.saturating_sub(began.elapsed());
            match self.link.recv(left) {
                Some(Arrival::Message { from: Some(name), message }) => {
                    if let Message::Hello(hello) = *message
                        && (heard.len() < MOST || heard.contains_key(&name))
                    {
                        heard.insert(name, hello);
                    }
                }
                Some(Arrival::Outdated(version)) if self.is_apart => {
                    console::say(format_args!("candor fleet: {}", outdated(&version)));
                }
                _ => {}
            }
        }
        heard
    }
    /// The broker is on another machine.
    is_apart: bool,
}
