//! `candor agent`: runs shares of plans on this machine, within the policy of its owner.
//!
//! It dials out to the broker and never listens. The decisions are the state machine's
//! ([`candor_fleet::Agent`]); [`host`] carries them out with the engine. An agent whose audit file cannot be
//! written refuses runs, because there would be no record of what it did.

mod files;
mod host;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use candor_engine::{core_count, keep_to_cores, monotonic_ns, physical_cores};
use candor_fleet::agent::{Agent, Event, Now, Settings};
use candor_fleet::audit::Line;
use candor_fleet::{AgentName, Timings, in_one_line};
use candor_fleet_nats::{Arrival, Broker, Link, LinkError};
use clap::Args;

use crate::exit::{Exit, UserError};
use crate::fleet::folder::{self, AUDIT, Member, POLICY};
use crate::fleet::outdated;
use crate::{console, signals};
use files::Files;
use host::Host;

pub(crate) const EXAMPLES: &str = "\
Examples:
  candor agent fleet/agents/a0
      An agent from a folder that `candor fleet init` made.
  candor agent --broker nats://127.0.0.1:4222 --policy policy.toml --name a0
      An agent without TLS, on a machine of one user.

docs/fleet.md describes policies, placement and what can go wrong.";

/// The most bytes of results that an agent keeps.
const MOST_BYTES: u64 = 512 << 20;
/// The folder of the data files that it keeps, in its own.
const DATA: &str = "data";
/// The most complaints about messages and the broker, each of which is printed once.
const MOST_COMPLAINTS: usize = 16;
/// The longest wait for a message, after which reports of the engine and signals are heard.
const TURN: Duration = Duration::from_millis(20);

#[derive(Debug, Args)]
pub(crate) struct AgentArguments {
    /// Folder of this agent, which `candor fleet init` made
    #[arg(value_name = "FOLDER", default_value = ".", hide_default_value = true)]
    folder: PathBuf,
    /// Address of the broker; repeat it for further ones, of which one is used [default: those in the folder]
    #[arg(long, value_name = "URL")]
    broker: Vec<String>,
    /// File of the policy [default: policy.toml in the folder]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Name of this agent, which its certificate proves [default: that in the folder]
    #[arg(long, value_name = "NAME")]
    name: Option<AgentName>,
    /// File to which a line is appended for each grant, refusal, start and end [default: audit.jsonl in
    /// the folder]
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
}

pub(crate) fn agent(arguments: &AgentArguments) -> Result<ExitCode, UserError> {
    let AgentArguments { folder, broker, policy, name, audit } = arguments;
    let (urls, name) = match (&broker[..], name) {
        ([_, ..], Some(name)) => (broker.clone(), name.clone()),
        _ => {
            let member = Member::read(folder)?;
            let own = member.name.parse::<AgentName>().map_err(UserError::usage);
            let name = name.clone().map_or(own, Ok)?;
            (if broker.is_empty() { member.urls() } else { broker.clone() }, name)
        }
    };
    let policy = folder::policy(&folder::given_or(policy.as_ref(), folder, POLICY))?;
    let audit = Audit::open(folder::given_or(audit.as_ref(), folder, AUDIT), &name)?;
    let broker = folder::broker(urls, folder)?;
    let cores = physical_cores().concat();
    let settings = Settings {
        name: name.clone(),
        boot: u64::from_le_bytes(folder::random()?),
        cores: u32::try_from(core_count()).unwrap_or(u32::MAX),
        policy,
        timings: Timings::default(),
        most_bytes: MOST_BYTES,
    };
    let is_over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_over);
    signals::on_signal(move || told.store(true, Ordering::Relaxed));
    // Workers get the last cores. This thread, and that of the link, which inherits its cores, keep to the
    // first ones.
    keep_to_cores(&cores[..cores.len().div_ceil(2)]);
    let Some(link) = connect(&broker, &name, &is_over) else { return Ok(Exit::Fine.into()) };
    console::say(format_args!("candor agent {name}: connected to {}", link.url()));
    let is_apart = !broker.is_on_this_machine();
    let own = Own { agent: Agent::new(settings, monotonic_ns()), link, audit, is_apart };
    own.serve(Host::new(cores, Files::new(folder.join(DATA))), &is_over)
}

/// Tries until there is a link; `None`: a signal came first.
fn connect(broker: &Broker, name: &AgentName, is_over: &AtomicBool) -> Option<Link<AgentName>> {
    while !is_over.load(Ordering::Relaxed) {
        match Link::of_agent(broker, name.clone()) {
            Ok(link) => return Some(link),
            Err(error @ LinkError::Unreachable { .. }) => {
                console::say(format_args!("candor agent {name}: {error}; trying again"));
            }
            Err(error) => console::say(format_args!("candor agent {name}: {error}")),
        }
    }
    None
}

/// The agent with its link and its audit file.
struct Own {
    agent: Agent,
    link: Link<AgentName>,
    audit: Audit,
    /// The broker is on another machine.
    is_apart: bool,
}

impl Own {
    /// Serves runs until a signal.
    fn serve(mut self, mut host: Host, is_over: &AtomicBool) -> Result<ExitCode, UserError> {
        let mut is_away = false;
        // Anyone who reaches the broker could repeat these without end.
        let mut complaints = BTreeSet::new();
        let mut complain = |text: String| {
            if complaints.len() < MOST_COMPLAINTS && complaints.insert(text.clone()) {
                console::say(format_args!("candor agent: {}", in_one_line(&text)));
            }
        };
        loop {
            let ends = is_over.load(Ordering::Relaxed);
            if ends {
                self.agent.leave(now(), "a signal ended the agent");
            }
            if self.agent.poll_timeout().is_some_and(|due_ns| due_ns <= monotonic_ns()) {
                self.agent.handle_timeout(now());
            }
            host.report(&mut self.agent, now);
            while let Some(event) = self.agent.poll_event() {
                match event {
                    Event::Audit(line) => {
                        console::say(format_args!("candor agent {}", in_words(&line)));
                        if let Err(why) = self.audit.append(&line) {
                            complain(why.clone());
                            self.agent.handle_unwritten(now(), why);
                        }
                    }
                    event => host.take(event),
                }
            }
            while let Some((to, message)) = self.agent.poll_transmit() {
                self.link.send(to, &message);
            }
            if ends {
                host.end();
                return Ok(Exit::Fine.into());
            }
            let due_ns = self.agent.poll_timeout().unwrap_or(u64::MAX);
            let left = Duration::from_nanos(due_ns.saturating_sub(monotonic_ns()));
            match self.link.recv(left.min(TURN)) {
                Some(Arrival::Message { message, .. }) => {
                    self.agent.handle_message(now(), *message);
                }
                Some(Arrival::Unreadable { why, .. }) => {
                    complain(format!("{why}; is it another version?"));
                }
                Some(Arrival::Disconnected) => {
                    is_away = true;
                    console::say("candor agent: the broker cannot be reached; trying again");
                }
                Some(Arrival::Connected) if std::mem::take(&mut is_away) => {
                    console::say("candor agent: the broker is back");
                }
                Some(Arrival::Trouble(why)) => {
                    complain(format!("the broker says: {why}"));
                }
                Some(Arrival::Outdated(version)) if self.is_apart => {
                    complain(outdated(&version));
                }
                Some(
                    Arrival::Outdated(_)
                    | Arrival::Connected
                    | Arrival::Stream(_)
                    | Arrival::Stored { .. },
                )
                | None => {}
            }
        }
    }
}

fn in_words(line: &Line) -> String {
    let Line { agent, run, what, detail, .. } = line;
    let what = format!("{what:?}").to_lowercase();
    match detail.is_empty() {
        true => format!("{agent}: run {run}: {what}"),
        false => format!("{agent}: run {run}: {what}: {}", in_one_line(detail)),
    }
}

/// The two clocks.
fn now() -> Now {
    let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Now { ns: monotonic_ns(), unix_s }
}

/// The audit file.
struct Audit {
    path: PathBuf,
    file: File,
    /// A line in it may be incomplete.
    is_torn: bool,
}

impl Audit {
    /// Opens the file and writes its first line, so that a full disk is known before a run comes.
    fn open(path: PathBuf, name: &AgentName) -> Result<Audit, UserError> {
        let opened = candor_files::append(&path).map_err(|error| error.to_string());
        let written = opened.and_then(|file| {
            let mut audit = Audit { path: path.clone(), file, is_torn: false };
            audit.append(&Line::ready(now().unix_s, name)).map(|()| audit)
        });
        written.map_err(|why| {
            UserError::usage(format!(
                "cannot write the audit file {}: {why}; name another one with --audit",
                path.display()
            ))
        })
    }

    fn append(&mut self, line: &Line) -> Result<(), String> {
        let begin = if self.is_torn { "\n" } else { "" };
        let text = format!("{begin}{}", line.text());
        let written = self.file.write_all(text.as_bytes());
        self.is_torn = written.is_err();
        written.map_err(|error| format!("{}: {error}", self.path.display()))
    }
}
