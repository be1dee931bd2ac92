//! `candor fleet up`: a fleet on this machine, for a first look: a broker and N agents in processes of their
//! own, which end with this one, however it ends.
//!
//! The fleet is made by `init`, in a private directory, with the same certificates and policies as on many
//! machines. Its agents may send to every target: they have the authority of the user who started them, as
//! `candor run` has.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::channel;

use candor_engine::physical_cores;
use candor_files::{Private, private};
use candor_lab::target::is_program;
use candor_lab::target::{Ready, Running, TargetSpec};
use candor_plan::redact::Typed;
use clap::Args;

use super::Next;
use super::init::{self, CONFIGURATION, Rules};
use crate::exit::{Exit, UserError};
use crate::{console, remedy, signals};

/// The program of the broker.
const BROKER: &str = "nats-server";
/// Where Debian has it, which is not in every user's PATH.
const ELSEWHERE: &str = "/usr/sbin/nats-server";
/// The most agents on one machine.
const MOST: i64 = 64;

#[derive(Debug, Args)]
pub(crate) struct UpArguments {
    /// Number of agents
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST))]
    agents: u32,
    /// Options and URL of a run, as for `candor run`; without them the fleet stays up until Ctrl-C
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "RUN")]
    words: Vec<String>,
}

/// A fleet on this machine.
pub(crate) struct Here {
    words: Vec<String>,
    // Before the directory of their files. The broker outlives the agents.
    agents: Vec<Running>,
    broker: Option<Running>,
    _private: Private,
}

impl Here {
    /// The command line of the run that this fleet makes.
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// Ends it.
    pub(crate) fn end(self) {
        for one in self.agents.into_iter().chain(self.broker) {
            if let Err(error) = one.stop() {
                console::say(format_args!("candor fleet up: {}", remedy::told(&error)));
            }
        }
    }
}

pub(super) fn up(arguments: UpArguments, typed: Typed) -> Result<Next, UserError> {
    let UpArguments { agents, words } = arguments;
    let Some(program) = [BROKER, ELSEWHERE].into_iter().find(|name| is_program(name)) else {
        return Err(UserError::could_not_run(
            "candor fleet up: nats-server, the broker of a fleet, is not installed; install Debian's package \
             nats-server, or a release of NATS, in PATH",
        ));
    };
    let private = private().map_err(|error| {
        UserError::could_not_run(format!("candor fleet up: no private directory: {error}"))
    })?;
    let folder = private.name("fleet");
    let port = free_port()?;
    let targets = ["0.0.0.0/0".to_owned(), "::/0".to_owned()];
    init::make(&init::Fleet {
        folder: &folder,
        agents,
        hosts: &["127.0.0.1".to_owned()],
        listen: "127.0.0.1",
        port,
        rules: Rules { targets: &targets, rate: None, scripts: "sandboxed" },
    })?;
    let cores = physical_cores().concat();
    let spec = |name: String, command: &[&str], dir: PathBuf, cores: Vec<usize>| TargetSpec {
        ready: Ready::Started,
        dir: Some(dir),
        cores: Some(cores),
        ..TargetSpec::new(name, command.iter().map(|word| (*word).to_owned()).collect())
    };
    let broker = TargetSpec {
        ready: Ready::Tcp((Ipv4Addr::LOCALHOST, port).into()),
        ..spec(
            "broker".to_owned(),
            &[program, "-c", CONFIGURATION],
            folder.join("broker"),
            cores.clone(),
        )
    };
    let broker = Running::start(&broker)?;
    console::say(format_args!("candor fleet up: broker, pid {}", broker.pid()));
    let own = candor_lab::target::own_program().map_err(|error| {
        UserError::could_not_run(format!("cannot find this program's own file: {error}"))
    })?;
    let own = own.to_string_lossy();
    let mut running = Vec::new();
    for (at, name) in (0..).zip(init::names_of(agents)) {
        let dir = folder.join("agents").join(&name);
        let spec =
            spec(format!("agent {name}"), &[&own, "agent", "."], dir, cores_of(&cores, at, agents));
        let agent = Running::start(&spec)?;
        console::say(format_args!("candor fleet up: agent {name}, pid {}", agent.pid()));
        running.push(agent);
    }
    let operator = folder.join("operator").display().to_string();
    let fleet = ["--fleet".to_owned(), agents.to_string(), "--operator".to_owned(), operator];
    let all = ["candor".to_owned(), "run".to_owned()].into_iter().chain(fleet);
    let is_run = !words.is_empty();
    let words: Vec<String> = all.chain(words).collect();
    let here = Here { words, agents: running, broker: Some(broker), _private: private };
    match is_run {
        true => Ok(Next::Run(Box::new(here), typed)),
        false => wait(here).map(Next::Exit),
    }
}

/// Stays up until a signal.
fn wait(here: Here) -> Result<ExitCode, UserError> {
    let (tell, told) = channel();
    signals::on_signal(move || {
        let _ = tell.send(());
    });
    console::say(format_args!(
        "candor fleet up: ready; in another terminal: {} URL",
        here.words.join(" ")
    ));
    // The sender lives as long as the process.
    let _ = told.recv();
    here.end();
    Ok(Exit::Fine.into())
}

/// The cores of one of several agents: as many as each can have, at least one.
fn cores_of(cores: &[usize], at: u32, agents: u32) -> Vec<usize> {
    let (at, agents) = (at as usize, agents as usize);
    match cores.len() / agents {
        0 => cores.get(at % cores.len().max(1)).copied().into_iter().collect(),
        each => cores[at * each..(at + 1) * each].to_vec(),
    }
}

/// A port of loopback that is free now.
fn free_port() -> Result<u16, UserError> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|one| one.local_addr());
    bound.map(|address| address.port()).map_err(|error| {
        UserError::could_not_run(format!("candor fleet up: no port of 127.0.0.1 is free: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::cores_of;

    #[test]
    fn agents_share_the_cores() {
        let cores = [2, 3, 5, 7];
        let all = |agents| (0..agents).map(|at| cores_of(&cores, at, agents)).collect::<Vec<_>>();
        assert_eq!(all(1), [vec![2, 3, 5, 7]]);
        assert_eq!(all(2), [vec![2, 3], vec![5, 7]]);
        assert_eq!(all(3), [[2], [3], [5]]);
        assert_eq!(all(6), [[2], [3], [5], [7], [2], [3]]);
    }
}
