//! `candor fleet status` and `candor fleet kill`: listens to the agents, and stops their runs.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use candor_fleet::message::Hello;
use candor_fleet::{AgentName, Message, RunId, in_one_line};
use candor_fleet_nats::{Arrival, Link};
use candor_plan::units::fmt_plural;
use clap::Args;
use serde_json::{Value, json};

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
    /// Print JSON: for each agent its version, cores, policy, the run that it is in, and those whose results it keeps
    #[arg(long)]
    json: bool,
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
    let text = match arguments.json {
        true => format!("{:#}\n", as_json(ear.link.url(), &heard)),
        false => heard.iter().map(|(name, hello)| line(name, hello)).collect(),
    };
    console::print(&text)?;
    match heard.is_empty() {
        false => Ok(Exit::Fine.into()),
        true => Err(UserError::could_not_run(format!(
            "no agent was heard within {} s; start agents with `candor agent`",
            LISTEN.as_secs_f64()
        ))),
    }
}

/// An agent in a line.
fn line(name: &AgentName, hello: &Hello) -> String {
    let state = match hello.busy {
        Some(key) => format!("in run {}", key.run),
        None => "free".to_owned(),
    };
    let kept = match hello.kept.len() {
        0 => String::new(),
        kept => format!(", keeps the results of {}", fmt_plural(kept as u64, "run")),
    };
    let (version, cores) = (in_one_line(&hello.version), fmt_plural(hello.cores.into(), "core"));
    let policy = hello.policy.to_string();
    format!("{name:<12} {version:<8} {cores:>9}  policy {:.8}  {state}{kept}\n", policy)
}

/// All agents, with the address of the broker that carried what they say.
fn as_json(broker: &str, heard: &BTreeMap<AgentName, Hello>) -> Value {
    let agent = |(name, hello): (&AgentName, &Hello)| {
        json!({
            "name": name.as_str(),
            "version": hello.version,
            "cores": hello.cores,
            "policy": hello.policy.to_string(),
            "run": hello.busy.map(|key| key.run.to_string()),
            "kept": hello.kept.iter().map(|one| one.key.run.to_string()).collect::<Vec<_>>(),
        })
    };
    json!({
        "format": "candor.fleet-status/1",
        "broker": broker,
        "agents": heard.iter().map(agent).collect::<Vec<_>>(),
    })
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
    /// The broker is on another machine.
    is_apart: bool,
}

impl Ear {
    fn open(flag: &OperatorFlag) -> Result<Ear, UserError> {
        let operator = Operator::read(&flag.operator)?;
        // A run of its own, which receives no messages.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_fleet::message::Kept;
    use candor_fleet::{Digest, RunKey};
    use candor_record::Workers;

    #[test]
    fn an_agent_is_shown_in_a_line_and_as_json() {
        let key = |byte| RunKey { run: RunId([byte; 16]), epoch: 2 };
        let digest = Digest([0xab; 32]);
        let hello = Hello {
            boot: 1,
            version: "0.1.0\n".to_owned(),
            cores: 3,
            policy: digest,
            clock_ns: 9,
            busy: Some(key(0x11)),
            kept: vec![Kept { key: key(0x22), workers: Workers::all(1), plan: digest }],
        };
        let name: AgentName = "a0".parse().unwrap_or_else(|error| panic!("{error}"));
        let text = line(&name, &hello);
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(words[..6], ["a0", "0.1.0\u{fffd}", "3", "cores", "policy", "abababab"]);
        assert_eq!(text.lines().count(), 1);
        let json = as_json("tls://h:1", &BTreeMap::from([(name, hello)]));
        assert_eq!(
            (&json["broker"], &json["agents"][0]["cores"]),
            (&"tls://h:1".into(), &3.into())
        );
        assert_eq!(json["agents"][0]["policy"], "ab".repeat(32));
        assert_eq!(json["agents"][0]["run"], "11".repeat(16));
        assert_eq!(json["agents"][0]["kept"][0], "22".repeat(16));
    }
}
