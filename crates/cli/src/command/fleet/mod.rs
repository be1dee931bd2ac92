//! `candor fleet`: makes, extends and renews the folders of a fleet, starts one on this machine, shows and stops agents.

mod authority;
mod grow;
mod init;
mod look;
mod report;
mod up;

use std::path::PathBuf;
use std::process::ExitCode;

use candor_fleet::RunId;
use candor_plan::redact::Typed;
use clap::{Args, Subcommand};

use crate::exit::UserError;
use crate::fleet::folder;
use grow::{AddArguments, RenewArguments};
use init::InitArguments;
use look::{KillArguments, StatusArguments};
use report::ReportArguments;
pub(crate) use up::{Here, UpArguments};

pub(crate) const EXAMPLES: &str = "\
Examples:
  candor fleet up 2 -R 10k -d 10s http://127.0.0.1:8080/
      A broker and two agents on this machine, one run, and everything is ended again.
  candor fleet init 4 --broker-host 10.0.0.5 --target 10.1.0.0/16
      Certificates, keys, policies and the broker's configuration for a fleet of four.
  candor run --fleet 4 -R 200k -d 1m http://10.1.0.9/
      A run on four agents of that fleet.
  candor fleet kill
      Stop all runs of the fleet at once.

docs/fleet.md: two machines in five minutes, security, and what can go wrong.";

const INIT: &str = "\
Examples:
  candor fleet init 2 --broker-host 10.0.0.5 --target 10.1.0.0/16 --rate 50k/s
      Two agents, whose broker is on 10.0.0.5, for servers in one network.
  candor fleet init 4 --out staging --target '*.staging.example.com'
      In another folder, for servers by name.";

const ADD: &str = "\
Examples:
  candor fleet add a4 a5 --target 10.1.0.0/16
      Two more agents of the fleet in ./fleet; copy its broker.conf to the broker again.
  candor fleet add build-7 --folder staging --rate 20k/s --target '*.staging.example.com'
      One more, with a limit of its own.";

const RENEW: &str = "\
Examples:
  candor fleet renew
      New certificates in ./fleet; members with the present ones are understood until these end.
  candor fleet renew --folder staging
      In another folder.";

const UP: &str = "\
Examples:
  candor fleet up 2
      Two agents until Ctrl-C; the first lines say how to use them.
  candor fleet up 2 --arrivals poisson -R 5k -d 10s http://127.0.0.1:8080/
      One run on two agents.";

const STATUS: &str = "\
Examples:
  candor fleet status
      The agents of the fleet in ./fleet.
  candor fleet status --operator staging/operator
      The agents of the fleet in this folder.
  candor fleet status --json
      The same as JSON, e.g. for a check that all agents have one version and one policy.";

const KILL: &str = "\
Examples:
  candor fleet kill
      All runs of the fleet.
  candor fleet kill 00112233445566778899aabbccddeeff
      One of them, as `candor fleet status` names it.";

const REPORT: &str = "\
Examples:
  candor fleet report 00112233445566778899aabbccddeeff
      The result of one run, as the agents' audit files name it.
  candor fleet report --json result.json
      The last run that has no result.";

#[derive(Debug, Args)]
pub(crate) struct FleetArguments {
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Debug, Subcommand)]
enum FleetCommand {
    /// Make the folders of a new fleet: certificates, keys, policies, the broker's configuration
    #[command(after_long_help = INIT)]
    Init(InitArguments),
    /// Add agents to a fleet that is there
    #[command(after_long_help = ADD)]
    Add(AddArguments),
    /// Make new keys and certificates for all members of a fleet, before the present ones end
    #[command(after_long_help = RENEW)]
    Renew(RenewArguments),
    /// Start a broker and N agents on this machine, make a run with them, and end them
    #[command(after_long_help = UP)]
    Up(UpArguments),
    /// Show the agents: version, cores, policy, the run that they are in, the results that they keep
    #[command(after_long_help = STATUS)]
    Status(StatusArguments),
    /// Stop runs at once; their results are lost
    #[command(after_long_help = KILL)]
    Kill(KillArguments),
    /// Make the result of a run whose `candor run` was killed, from what agents and broker keep
    #[command(after_long_help = REPORT)]
    Report(ReportArguments),
}

#[derive(Debug, Args)]
struct OperatorFlag {
    /// Folder of the fleet's operator
    #[arg(long, value_name = "FOLDER", default_value = "fleet/operator")]
    operator: PathBuf,
}

fn run(text: &str) -> Result<RunId, String> {
    folder::from_hex(text)
        .map(RunId)
        .ok_or_else(|| "not a run; use 32 hexadecimal digits, as in an audit file".to_owned())
}

/// What remains to be done after a command.
pub(crate) enum Next {
    /// Nothing: the process ends with this code.
    Exit(ExitCode),
    /// A run on this fleet, which then ends.
    Run(Box<Here>, Typed),
}

pub(crate) fn fleet(arguments: FleetArguments, typed: Typed) -> Result<Next, UserError> {
    match arguments.command {
        FleetCommand::Init(init) => init::init(&init).map(Next::Exit),
        FleetCommand::Add(add) => grow::add(&add).map(Next::Exit),
        FleetCommand::Renew(renew) => grow::renew(&renew).map(Next::Exit),
        FleetCommand::Status(status) => look::status(&status).map(Next::Exit),
        FleetCommand::Kill(kill) => look::kill(&kill).map(Next::Exit),
        FleetCommand::Report(report) => report::report(&report, typed).map(Next::Exit),
        FleetCommand::Up(up) => up::up(up, typed),
    }
}
