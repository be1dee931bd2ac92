//! Fleets as black boxes: real agents, a real broker with mutual TLS, and nginx, which counts.

mod authority;
mod loss;
mod users;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::common::{CANDOR, Candor, Document, Outcome, Target, candor};
use candor_fleet::agent::To;
use candor_fleet::coordinator::{Coordinator, Event, OnLoss, Settings, Verdict, Wanted};
use candor_fleet::{Message, OperatorKey, RunId, RunKey, Threads, Timings};
use candor_fleet_nats::{Arrival, Broker, Certificates, Link};
use candor_plan::options::{Options, ReadFile};
use candor_testkit::nginx::{Listener, Nginx};
use candor_testkit::process::{Managed, free_port, wait_for_port, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How long a test waits for anything.
const PATIENCE: Duration = Duration::from_secs(20);
const COULD_NOT_RUN: i32 = 1;
const USAGE: i32 = 2;
const DEGRADED: i32 = 5;
const INTERRUPTED: i32 = 130;

/// A fleet whose members are processes of this test.
struct Fleet {
    agents: BTreeMap<String, Managed>,
    broker: Managed,
    address: SocketAddr,
    directory: tempfile::TempDir,
}

fn nats_server() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    let found = folders.map(|folder| folder.join("nats-server")).find(|file| file.is_file());
    found.expect("nats-server, which scripts/need-peers installs")
}

fn start_broker(fleet: &Path, address: SocketAddr) -> Managed {
    let mut command = Command::new(nats_server());
    command.args(["-c", "broker.conf"]).current_dir(fleet.join("broker"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let broker = Managed::spawn(&mut command).unwrap();
    assert!(wait_for_port(address, PATIENCE), "the broker does not listen");
    broker
}

fn lines(nginx: &Nginx) -> usize {
    fs::read_to_string(nginx.path("access.log")).map_or(0, |text| text.lines().count())
}

impl Fleet {
    /// A fleet that `candor fleet init` made, whose agents may send to `target`.
    fn start(agents: usize, target: &str) -> Fleet {
        Fleet::start_with(agents, target, |configuration| configuration)
    }

    /// The same with another configuration of the broker.
    fn start_with(agents: usize, target: &str, other: impl Fn(String) -> String) -> Fleet {
        let directory = tempfile::tempdir().unwrap();
        let port = free_port().unwrap();
        let folder = directory.path().join("fleet");
        let (count, port_text) = (agents.to_string(), port.to_string());
        let made = candor(&[
            "fleet",
            "init",
            &count,
            "--port",
            &port_text,
            "--target",
            target,
            "--out",
            folder.to_str().unwrap(),
        ]);
        assert_eq!(made.code(), 0, "{}", made.stderr);
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let configuration = folder.join("broker/broker.conf");
        let text = other(fs::read_to_string(&configuration).unwrap());
        fs::write(&configuration, text).unwrap();
        let broker = start_broker(&folder, address);
        let mut fleet = Fleet { agents: BTreeMap::new(), broker, address, directory };
        (0..agents).for_each(|at| fleet.start_agent(&format!("a{at}")));
        fleet
    }

    fn kill_broker(&mut self) {
        self.broker.child().kill().unwrap();
        self.broker.child().wait().unwrap();
    }

    fn start_agent(&mut self, name: &str) {
        self.start_agent_as(name, &[]);
    }

    /// Starts an agent by the command that these words begin.
    fn start_agent_as(&mut self, name: &str, words: &[&str]) {
        let folder = self.folder().join("agents").join(name).display().to_string();
        let log = fs::File::create(self.directory.path().join(format!("{name}.log"))).unwrap();
        let words = [words, &[CANDOR, "agent", &folder]].concat();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.agents.insert(name.to_owned(), Managed::spawn(&mut command).unwrap());
    }

    fn folder(&self) -> PathBuf {
        self.directory.path().join("fleet")
    }

    fn operator(&self) -> String {
        self.folder().join("operator").display().to_string()
    }

    /// The broker, with the certificate in this folder.
    fn broker_for(&self, folder: &str) -> Broker {
        let folder = self.folder().join(folder);
        Broker {
            urls: vec![format!("tls://{}", self.address)],
            tls: Some(Certificates {
                ca: folder.join("ca.pem"),
                certificate: folder.join("cert.pem"),
                key: folder.join("key.pem"),
            }),
            patience: PATIENCE,
        }
    }

    /// Makes a run of 60 s with 250/s for each of two agents; kills its coordinator after some seconds, then a1,
    /// and reports what there is of it.
    fn outlive(&mut self, nginx: &Nginx) -> (Outcome, Outcome) {
        let url = format!("http://{}/", nginx.address());
        let run = self.measure(&["-R", "500", "-c", "4", "-d", "60s", "--interval", "500ms", &url]);
        assert!(wait_until(PATIENCE, || lines(nginx) > 2000), "{}", self.log("a0"));
        run.signal(Signal::KILL);
        let run = run.finish();
        let mut agent = self.agents.remove("a1").unwrap();
        agent.child().kill().unwrap();
        agent.child().wait().unwrap();
        let report = ["fleet", "report", "--operator", &self.operator()];
        let outcome = Candor::start_measuring(&report).finish();
        assert_eq!(outcome.code(), DEGRADED, "{}{}", outcome.stdout, outcome.stderr);
        let document = outcome.document();
        assert_eq!(names_of_lost(&document), ["a0", "a1"]);
        assert_eq!(document.ledger("scheduled"), 30_000);
        let why = |at: &str| document.text(&format!("/machines/{at}/agent/lost/why")).to_owned();
        assert!(why("0").contains("stopped by itself"), "{}", why("0"));
        assert!(why("1").contains("it was silent"), "{}", why("1"));
        (run, outcome)
    }

    /// What an agent has printed.
    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.directory.path().join(format!("{name}.log"))).unwrap()
    }

    /// The lines of an agent's audit file, as events and details.
    fn audit(&self, name: &str) -> Vec<(String, String)> {
        let path = self.folder().join("agents").join(name).join("audit.jsonl");
        let text = fs::read_to_string(path).unwrap();
        let line = |line: &str| {
            let line: Value = serde_json::from_str(line).unwrap();
            let text = |key: &str| line[key].as_str().unwrap().to_owned();
            (text("what"), text("detail"))
        };
        let (ready, lines): (Vec<_>, Vec<_>) =
            text.lines().map(line).partition(|(what, _)| what == "ready");
        assert!(!ready.is_empty(), "an agent says that it can write");
        lines
    }

    /// Starts a run on all agents.
    fn measure(&self, flags: &[&str]) -> Candor {
        let (count, operator) = (self.agents.len().to_string(), self.operator());
        let own = ["run", "--fleet", &count, "--operator", &operator];
        Candor::start_measuring(&[&own, flags].concat())
    }
}

/// A run of 500 requests a second on a fleet of its own, of which nginx has counted some.
fn under_way(agents: usize, duration: &str, requests: usize) -> (Nginx, Fleet, Candor) {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(agents, "127.0.0.0/8");
    let url = format!("http://{}/", nginx.address());
    let run = fleet.measure(&["-R", "500", "-c", "4", "-d", duration, &url]);
    assert!(wait_until(PATIENCE, || lines(&nginx) > requests), "{}", fleet.log("a0"));
    (nginx, fleet, run)
}

fn names_of_lost(document: &Document) -> Vec<String> {
    let lost = document.list("/machines").iter().filter(|one| !one["agent"]["lost"].is_null());
    lost.map(|one| one["agent"]["name"].as_str().unwrap().to_owned()).collect()
}

fn ids(document: &Document) -> Vec<&str> {
    document.list("/verdicts").iter().filter_map(|one| one["id"].as_str()).collect()
}

/// Over TLS, with a script in a sandbox.
#[test]
fn scripts_and_tls_reach_the_agents() {
    let target = Target::start(&["--tls", "--tls-cert-out", "ca.pem"]);
    let ca = target.path("ca.pem").display().to_string();
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("s.lua").display().to_string();
    let text = "function request() return wrk.format('GET', '/') end\n";
    fs::write(&script, text).unwrap();
    let url = target.url("/").replace("http://127.0.0.1", "https://localhost");
    let flags = ["-R", "200", "-c", "4", "-d", "1s", "--cacert", &ca, "--script", &script];
    let up = ["fleet", "up", "2"];
    let sandboxed = Candor::start_measuring(&[&up, &flags[..], &["--sandbox", &url]].concat());
    let outcome = sandboxed.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!(
        (document.ledger("scheduled"), document.ledger("ok")),
        (200, document.ledger("sent"))
    );
    let outcome = candor(&[&up, &flags[..], &[&url]].concat());
    outcome.assert_refused(COULD_NOT_RUN, &["scripts are allowed in a sandbox only"]);
}

#[test]
fn a_run_by_one_command_counts_what_nginx_counts() {
    for load in [&["-R", "1000"][..], &["-R", "1000", "--arrivals", "poisson"], &[]] {
        let nginx = Nginx::start(true).unwrap();
        let url = format!("http://{}/", nginx.address());
        let up = ["fleet", "up", "2"];
        let rest = ["-c", "8", "-d", "2s", "--warm-up", "300ms", "--interval", "500ms", &url];
        let outcome = Candor::start_measuring(&[&up, load, &rest].concat()).finish();
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        let document = outcome.document();
        let sent = document.ledger("sent") + document.count("/warm_up/sent");
        assert_eq!(nginx.stop().unwrap(), sent, "{load:?}");
        assert_eq!(document.ledger("ok"), document.ledger("sent"));
        if load.len() == 2 {
            // On a busy machine some may be unsent when the window ends.
            let scheduled = document.count("/warm_up/scheduled");
            assert_eq!((document.ledger("scheduled"), scheduled), (2000, 300));
        }
        let machines = document.list("/machines");
        let names: Vec<_> = machines.iter().map(|one| &one["agent"]["name"]).collect();
        assert_eq!(names, ["a0", "a1"]);
        for machine in machines {
            // Both clocks are this machine's.
            let bound_ns = machine["agent"]["clock_bound_ns"].as_u64().unwrap();
            assert!(bound_ns < 100_000_000, "{machine}");
            assert!(machine["agent"]["lost"].is_null());
        }
        assert_eq!(document.count("/connections/asked"), 8);
        assert_eq!(
            document.list("/intervals").iter().filter(|one| one["in_window"] == true).count(),
            4
        );
        assert!(
            outcome.stdout.contains("2 agents, 2 threads, clocks within"),
            "{}",
            outcome.stdout
        );
        assert!(document.0.get("part").is_none());
        assert_eq!(document.at("/arguments/1"), "fleet");
        let pids = pids(&outcome.stderr);
        assert_eq!(pids.len(), 3, "{}", outcome.stderr);
        assert!(pids.values().all(|pid| !is_running(*pid)), "all processes have ended");
    }
}

/// The processes that `candor fleet up` names.
fn pids(stderr: &str) -> BTreeMap<String, i32> {
    let named = |line: &str| {
        let (name, pid) = line.strip_prefix("candor fleet up: ")?.split_once(", pid ")?;
        Some((name.to_owned(), pid.trim().parse().ok()?))
    };
    stderr.lines().filter_map(named).collect()
}

fn is_running(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

/// A fleet that stays up is used from elsewhere, and ends with the process that started it, however that ends.
#[test]
fn a_fleet_stays_up_and_leaves_nothing_behind() {
    for signal in [Signal::INT, Signal::KILL] {
        let up = Candor::start(&["fleet", "up", "2"]);
        let stderr = up.directory().join(".stderr");
        let said = || fs::read_to_string(&stderr).unwrap();
        assert!(wait_until(PATIENCE, || said().contains("in another terminal: ")), "{}", said());
        let text = said();
        let (_, line) = text.split_once("in another terminal: ").unwrap();
        let words: Vec<&str> =
            line.trim().strip_suffix(" URL").unwrap().split(' ').skip(1).collect();
        // Its broker is on this machine, so the embedded target will do.
        let run = candor(&[&words[..], &["-R", "200", "-d", "1s"]].concat());
        assert_eq!(run.code(), 0, "{}", run.stderr);
        let (pids, folder) = (pids(&said()), Path::new(words[words.len() - 1]).to_owned());
        assert!(pids.len() == 3 && folder.join("signing.key").is_file());
        up.signal(signal);
        let outcome = up.finish();
        assert_eq!(
            outcome.code(),
            if signal == Signal::INT { 0 } else { 137 },
            "{}",
            outcome.stderr
        );
        assert!(wait_until(PATIENCE, || pids.values().all(|pid| !is_running(*pid))));
        assert!(wait_until(PATIENCE, || !folder.exists()), "keys are gone: {}", folder.display());
    }
}

#[test]
fn experiments_make_each_of_their_runs_on_the_fleet() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(2, "127.0.0.1");
    let kept = fleet.directory.path().join("kept");
    let (operator, url) = (fleet.operator(), format!("http://{}/", nginx.address()));
    let flags = ["--fleet", "2", "--operator", &operator, "--warm-up", "0s", "-d", "500ms"];
    let own = ["--rounds", "1", "-c", "4", "--keep", kept.to_str().unwrap(), &url];
    let outcome = candor(&[&["sweep", "--rates", "200,400"], &flags[..], &own].concat());
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let runs: Vec<Value> = fs::read_dir(&kept)
        .unwrap()
        .map(|file| serde_json::from_slice(&fs::read(file.unwrap().path()).unwrap()).unwrap())
        .collect();
    assert_eq!(runs.len(), 2);
    for run in &runs {
        let machines = run["machines"].as_array().unwrap();
        let names: Vec<_> = machines.iter().map(|one| &one["agent"]["name"]).collect();
        assert_eq!(names, ["a0", "a1"]);
    }
    let sent: u64 = runs.iter().map(|run| run["ledger"]["sent"].as_u64().unwrap()).sum();
    assert_eq!((sent, nginx.stop().unwrap()), (300, 300));
}

/// The first signal to the coordinator stops all agents in order: what they sent is what nginx counted.
#[test]
fn a_signal_stops_the_whole_fleet() {
    let (nginx, _fleet, run) = under_way(2, "60s", 300);
    run.signal(Signal::INT);
    let outcome = run.finish();
    assert_eq!(outcome.code(), INTERRUPTED, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!(document.text("/end/reason"), "interrupted");
    assert_eq!(names_of_lost(&document).len(), 0);
    assert_eq!(nginx.stop().unwrap(), document.ledger("sent"));
}

/// In the warm-up nothing is measured yet: the result says that it was interrupted and what was sent, and no agent is
/// lost.
#[test]
fn a_signal_in_the_warm_up_loses_no_agent() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(2, "127.0.0.0/8");
    let url = format!("http://{}/", nginx.address());
    let run = fleet.measure(&["-R", "500", "-c", "4", "--warm-up", "60s", "-d", "1s", &url]);
    assert!(wait_until(PATIENCE, || lines(&nginx) > 300), "{}", fleet.log("a0"));
    run.signal(Signal::INT);
    let outcome = run.finish();
    assert_eq!(outcome.code(), INTERRUPTED, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!((names_of_lost(&document).len(), document.ledger("scheduled")), (0, 0));
    assert_eq!(nginx.stop().unwrap(), document.count("/warm_up/sent"));
    assert!(outcome.stdout.contains("nothing was sent after the warm-up"), "{}", outcome.stdout);
}

/// The second signal waits for no response: what was measured until then is the result.
#[test]
fn a_second_signal_ends_a_run_with_what_was_measured() {
    let target = Target::start(&[]);
    let fleet = Fleet::start(2, "127.0.0.0/8");
    let url = target.url("/delay/30s");
    let flags = ["-R", "100", "-c", "40", "-d", "60s", "--drain", "30s", "--timeout", "60s"];
    let run = fleet.measure(&[&flags[..], &[&url]].concat());
    let all = |event: &str| ["a0", "a1"].iter().all(|name| fleet.log(name).contains(event));
    assert!(wait_until(PATIENCE, || all(": started")), "{}", fleet.log("a0"));
    std::thread::sleep(Duration::from_secs(1));
    run.signal(Signal::INT);
    assert!(wait_until(PATIENCE, || all(": stopped")), "{}", fleet.log("a0"));
    run.signal(Signal::INT);
    let outcome = run.finish();
    assert_eq!(outcome.code(), INTERRUPTED, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    let (sent, unfinished) = (document.ledger("sent"), document.ledger("unfinished"));
    assert!(sent == unfinished && (1..=40).contains(&sent), "{sent} {unfinished}");
    assert_eq!(names_of_lost(&document).len(), 0);
    assert!(outcome.wall < Duration::from_secs(30), "{:?}", outcome.wall);
}

/// Two operators at once: there are agents enough for both.
#[test]
fn two_runs_at_once_take_different_agents() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(4, "127.0.0.0/8");
    let (operator, url) = (fleet.operator(), format!("http://{}/", nginx.address()));
    let own =
        ["run", "--fleet", "2", "--operator", &operator, "-R", "100", "-c", "4", "-d", "2s", &url];
    let runs = [(); 2].map(|()| Candor::start_measuring(&own));
    let mut names = BTreeSet::new();
    for run in runs {
        let outcome = run.finish();
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        let document = outcome.document();
        names.extend(document.list("/machines").iter().map(|one| one["agent"]["name"].to_string()));
    }
    assert_eq!(names.len(), 4, "{names:?}");
}

/// A plan with fewer connections than agents runs on as many agents as it can; without a number each has one.
#[test]
fn agents_that_have_nothing_to_do_are_left_free() {
    let nginx = Nginx::start(true).unwrap();
    let url = format!("http://{}/", nginx.address());
    let agents = |flags: &[&str]| {
        let rest = ["-R", "100", "-d", "500ms", &url];
        let up = Candor::start_measuring(&[&["fleet", "up", "11"], flags, &rest].concat());
        let outcome = up.finish();
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        outcome.document().list("/machines").len()
    };
    assert_eq!((agents(&["-c", "3"]), agents(&[])), (3, 11));
}

/// The search of a peak begins with one connection.
#[test]
fn a_peak_is_searched_for_on_a_fleet() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(2, "127.0.0.0/8");
    let (operator, url) = (fleet.operator(), format!("http://{}/", nginx.address()));
    let own = ["peak", "--fleet", "2", "--operator", &operator, "-d", "300ms", "--warm-up", "0s"];
    let most = ["--most-connections", "2", "--most-runs", "1", "--json", "peak.json", &url];
    let outcome = Candor::start(&[&own[..], &most].concat())
        .finish_within(Duration::from_secs(120))
        .unwrap_or_else(|said| panic!("{said}"));
    // A single run of each load confirms nothing.
    assert_eq!(outcome.code(), 6, "{}{}", outcome.stdout, outcome.stderr);
    assert!(nginx.stop().unwrap() > 0);
}

/// An agent that is away for longer than its lease and comes back before the end: nothing that it sent is missing.
#[test]
fn the_results_of_an_agent_that_comes_back_count() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(2, "127.0.0.0/8");
    let url = format!("http://{}/", nginx.address());
    let run = fleet.measure(&["-R", "500", "-c", "4", "-d", "16s", "--on-loss", "continue", &url]);
    assert!(wait_until(PATIENCE, || lines(&nginx) > 300), "{}", fleet.log("a0"));
    let stderr = run.directory().join(".stderr");
    let said = |words: &str| fs::read_to_string(&stderr).unwrap().contains(words);
    fleet.agents["a1"].signal(Signal::STOP).unwrap();
    assert!(wait_until(PATIENCE, || said("agent a1 is lost: it was silent")));
    fleet.agents["a1"].signal(Signal::CONT).unwrap();
    let outcome = run.finish();
    assert_eq!(outcome.code(), DEGRADED, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stderr.contains("agent a1 is heard again"), "{}", outcome.stderr);
    let document = outcome.document();
    assert_eq!(nginx.stop().unwrap(), document.ledger("sent"));
    assert_eq!(document.ledger("scheduled"), 8000);
    assert!(document.ledger("unaccounted") > 0, "it did not send all of its share");
    assert!(document.text("/machines/1/agent/lost/why").contains("stopped by itself"));
    assert_eq!(fleet.audit("a1").last().unwrap().0, "settled");
}

/// A disk that is full is known before a run comes.
#[test]
fn an_agent_that_cannot_write_its_audit_file_does_not_start() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("f");
    let made = candor(&["fleet", "init", "1", "--out", folder.to_str().unwrap()]);
    assert_eq!(made.code(), 0, "{}", made.stderr);
    let own = folder.join("agents/a0").display().to_string();
    candor(&["agent", &own, "--audit", "/dev/full"])
        .assert_refused(USAGE, &["/dev/full", "No space left", "--audit"]);
}

/// An agent that a signal ends says so, and the coordinator waits for no silence.
#[test]
fn an_agent_that_is_ended_leaves_its_run() {
    let (_nginx, fleet, run) = under_way(2, "60s", 300);
    fleet.agents["a1"].signal(Signal::TERM).unwrap();
    let outcome = run.finish();
    assert_eq!(outcome.code(), DEGRADED, "{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(names_of_lost(&outcome.document()), ["a1"]);
    assert!(outcome.stderr.contains("a signal ended the agent"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("silent"), "{}", outcome.stderr);
}

/// Agents whose clocks began at other times, which time namespaces show to them, begin together all the same.
#[test]
fn clocks_that_differ_by_days_make_no_difference() {
    if !crate::common::is_root("a time namespace") {
        return;
    }
    let nginx = Nginx::start(true).unwrap();
    let mut fleet = Fleet::start(1, "127.0.0.0/8");
    fleet.agents.clear();
    let ahead_s = ["--time", "--monotonic", "300000", "--fork", "--kill-child"];
    fleet.start_agent_as("a0", &[&["unshare"], &ahead_s[..]].concat());
    let url = format!("http://{}/", nginx.address());
    let outcome = fleet.measure(&["-R", "500", "-c", "4", "-d", "2s", &url]).finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!(nginx.stop().unwrap(), document.ledger("sent"));
    assert_eq!(
        (document.ledger("scheduled"), ids(&document).contains(&"clock-unsure")),
        (1000, false)
    );
    assert!(document.count("/machines/0/agent/clock_bound_ns") < 100_000_000);
}

#[test]
fn a_fleet_is_shown_and_its_runs_are_killed() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(2, "127.0.0.0/8");
    let operator = fleet.operator();
    let status = || {
        let outcome = candor(&["fleet", "status", "--operator", &operator]);
        assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
        outcome.stdout
    };
    // An agent that a busy machine keeps from its hello is heard the next time.
    let are = |state: &str| {
        let mut last = String::new();
        let is_so = wait_until(PATIENCE, || {
            last = status();
            let agents = last.lines().zip(["a0 ", "a1 "]);
            let found =
                agents.filter(|(line, name)| line.starts_with(name) && line.contains(state));
            found.count() == 2
        });
        assert!(is_so, "{state}: {last}{}{}", fleet.log("a0"), fleet.log("a1"));
    };
    are("  free");
    candor(&["fleet", "kill", "--operator", &operator])
        .assert_refused(COULD_NOT_RUN, &["none is in a run"]);
    let url = format!("http://{}/", nginx.address());
    let run = fleet.measure(&["-R", "500", "-c", "4", "-d", "60s", &url]);
    assert!(wait_until(PATIENCE, || lines(&nginx) > 100), "{}", fleet.log("a0"));
    are("  in run ");
    let killed = candor(&["fleet", "kill", "--operator", &operator]);
    assert_eq!(killed.code(), 0, "{}", killed.stderr);
    assert_eq!(killed.stderr.matches("has stopped run").count(), 2, "{}", killed.stderr);
    let outcome = run.finish();
    assert_eq!(outcome.code(), DEGRADED, "{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(names_of_lost(&outcome.document()).len(), 2);
    for name in ["a0", "a1"] {
        assert!(fleet.audit(name).iter().any(|(what, _)| what == "killed"), "{name}");
    }
}

/// The values in `candor fleet status --json`, which agents say about themselves.
#[test]
fn the_agents_of_a_fleet_are_values() {
    let fleet = Fleet::start(2, "127.0.0.0/8");
    let status = || {
        let made = candor(&["fleet", "status", "--json", "--operator", &fleet.operator()]);
        serde_json::from_str::<Value>(&made.stdout).unwrap_or_default()
    };
    let mut said = Value::Null;
    let are_heard = || {
        said = status();
        said["agents"].as_array().is_some_and(|all| all.len() == 2)
    };
    assert!(wait_until(PATIENCE, are_heard), "{}", fleet.log("a0"));
    assert_eq!(said["format"], "candor.fleet-status/1");
    assert_eq!(said["broker"], format!("tls://{}", fleet.address));
    for (at, name) in ["a0", "a1"].into_iter().enumerate() {
        let policy =
            fs::read(fleet.folder().join("agents").join(name).join("policy.toml")).unwrap();
        let agent = &said["agents"][at];
        assert_eq!((&agent["name"], &agent["run"]), (&name.into(), &Value::Null));
        assert_eq!(agent["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(agent["cores"], candor_engine::core_count());
        assert_eq!(agent["policy"], candor_fleet::Digest::of(&policy).to_string());
        assert_eq!(agent["kept"], Value::Array(Vec::new()));
    }
}

/// A fleet that is there gets another agent, and new certificates, without a new CA: members with the old ones and
/// with the new ones understand each other.
#[test]
fn a_fleet_grows_and_its_certificates_are_renewed() {
    let nginx = Nginx::start(true).unwrap();
    let mut fleet = Fleet::start(1, "127.0.0.0/8");
    let folder = fleet.folder();
    let at = folder.to_str().unwrap();
    let add = |name: &str| {
        candor(&["fleet", "add", name, "--folder", at, "--target", "127.0.0.0/8", "--rate", "1k/s"])
    };
    let made = add("b-7");
    assert_eq!(made.code(), 0, "{}", made.stderr);
    add("a0").assert_refused(USAGE, &["agents/a0", "use another name"]);
    add("operator").assert_refused(USAGE, &["use another name"]);
    let policy = fs::read_to_string(folder.join("agents/b-7/policy.toml")).unwrap();
    assert!(policy.contains("rate = \"1k/s\""), "{policy}");
    // The agent that is there stays connected.
    fleet.broker.signal(Signal::HUP).unwrap();
    fleet.start_agent("b-7");
    let url = format!("http://{}/", nginx.address());
    let measure = |fleet: &Fleet| {
        let outcome = fleet.measure(&["-R", "400", "-c", "4", "-d", "1s", &url]).finish();
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        assert_eq!(outcome.document().ledger("sent"), 400);
    };
    measure(&fleet);

    let members = ["broker", "operator", "agents/a0", "agents/b-7"];
    let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
    let of_all = |file: &str| members.map(|member| read(&format!("{member}/{file}")));
    let (certificates, keys) = (of_all("cert.pem"), of_all("key.pem"));
    let others =
        ["ca/ca.key", "operator/signing.key", "agents/a0/policy.toml", "broker/broker.conf"];
    let (kept, ca) = (others.map(read), read("ca/ca.pem"));
    let old = folder.join("old");
    fs::create_dir(&old).unwrap();
    for file in ["member.toml", "signing.key", "ca.pem", "cert.pem", "key.pem"] {
        fs::copy(folder.join("operator").join(file), old.join(file)).unwrap();
    }
    let renewed = candor(&["fleet", "renew", "--folder", at]);
    assert_eq!(renewed.code(), 0, "{}", renewed.stderr);
    assert_eq!(others.map(read), kept, "nothing else is new");
    for (at, member) in members.into_iter().enumerate() {
        assert_ne!(read(&format!("{member}/cert.pem")), certificates[at], "{member}");
        assert_ne!(read(&format!("{member}/key.pem")), keys[at], "{member}");
        assert_eq!(read(&format!("{member}/ca.pem")), read("ca/ca.pem"), "{member}");
        let mode = fs::metadata(folder.join(member).join("key.pem")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{member}");
    }
    assert_ne!(read("ca/ca.pem"), ca);
    let names = candor_fleet::certificate::names(&read("broker/cert.pem"));
    assert_eq!(names, candor_fleet::certificate::names(&certificates[0]));
    assert_eq!(names, Some(vec!["127.0.0.1".to_owned(), "localhost".to_owned()]));
    // The broker has its old certificate still, and one agent too; the operator has the new one.
    fleet.agents.remove("b-7");
    fleet.start_agent("b-7");
    measure(&fleet);
    fleet.broker.signal(Signal::HUP).unwrap();
    measure(&fleet);
    let operator = old.display().to_string();
    let with_old = candor(&["fleet", "status", "--operator", &operator]);
    assert_eq!((with_old.code(), with_old.stdout.lines().count()), (0, 2), "{}", with_old.stderr);
}

#[test]
fn what_a_fleet_cannot_do_is_refused_before_it_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("f");
    let out = folder.to_str().unwrap();
    let made = candor(&["fleet", "init", "1", "--out", out, "--broker-host", "broker.example"]);
    assert_eq!(made.code(), 0, "{}", made.stderr);
    assert!(made.stderr.contains("no agent may send load yet"), "{}", made.stderr);
    let operator = folder.join("operator").display().to_string();
    let refused = |flags: &[&str], words: &[&str]| {
        let own = ["run", "--fleet", "1", "--operator", &operator, "-d", "1s"];
        candor(&[&own, flags].concat()).assert_refused(USAGE, words);
    };
    refused(&[], &["a target that is started here is on this machine alone"]);
    let allow = ["--allow", "10.0.0.0/8", "http://127.0.0.1:1/"];
    refused(&allow, &["127.0.0.1 is not allowed by --allow"]);
    refused(&["--trace", "t.ndjson", "http://127.0.0.1:1/"], &["--trace"]);
    let nowhere = ["run", "--fleet", "1", "--operator", "/nonexistent", "http://127.0.0.1:1/"];
    candor(&nowhere).assert_refused(USAGE, &["/nonexistent/member.toml", "candor fleet init"]);
    let agent = |flags: &[&str], words: &[&str]| {
        candor(&[&["agent"], flags].concat()).assert_refused(USAGE, words);
    };
    agent(&["/nonexistent"], &["/nonexistent/member.toml", "candor fleet init"]);
    let own = folder.join("agents/a0").display().to_string();
    agent(&[&own, "--broker", "http://h/"], &["not the address of a broker", "tls://"]);
    fs::write(folder.join("agents/a0/policy.toml"), "operator = []\n").unwrap();
    agent(&[&own], &["policy.toml", "operator"]);
}
