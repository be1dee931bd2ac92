//! Fleets as black boxes: real agents, a real broker with mutual TLS, and nginx, which counts.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use candor_fleet::agent::To;
use candor_fleet::coordinator::{Coordinator, Event, OnLoss, Settings, Verdict, Wanted};
use candor_fleet::{Message, OperatorKey, RunId, RunKey, Threads, Timings};
use candor_fleet_nats::{Arrival, Broker, Certificates, Link};
use candor_plan::options::{Options, ReadFile};
use candor_testkit::nginx::{Listener, Nginx};
use candor_testkit::process::{Managed, free_port, wait_for_port, wait_until};
use common::{CANDOR, Candor, Document, Outcome, Target, candor};
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
        let folder = self.folder().join("agents").join(name);
        let log = fs::File::create(self.directory.path().join(format!("{name}.log"))).unwrap();
        let mut command = Command::new(CANDOR);
        command.arg("agent").arg(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
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
            url: format!("tls://{}", self.address),
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
        text.lines().map(line).collect()
    }

    /// Starts a run on all agents.
    fn measure(&self, flags: &[&str]) -> Candor {
        let (count, operator) = (self.agents.len().to_string(), self.operator());
        let own = ["run", "--fleet", &count, "--operator", &operator];
        Candor::start_measuring(&[&own, flags].concat())
    }
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

/// The share of a killed agent and no more is missing, and it is named.
#[test]
fn a_killed_agent_is_named_and_its_share_is_accounted_for() {
    let nginx = Nginx::start(true).unwrap();
    let url = format!("http://{}/", nginx.address());
    let flags =
        ["-R", "1000", "-c", "8", "-d", "10s", "--interval", "500ms", "--on-loss", "continue"];
    let run = Candor::start_measuring(&[&["fleet", "up", "2"], &flags[..], &[&url]].concat());
    let stderr = run.directory().join(".stderr");
    let has_begun = || lines(&nginx) > 2500;
    assert!(wait_until(PATIENCE, has_begun), "{}", fs::read_to_string(&stderr).unwrap());
    kill(pids(&fs::read_to_string(&stderr).unwrap())["agent a1"]);
    let outcome = run.finish();
    assert_eq!(outcome.code(), DEGRADED, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!(names_of_lost(&document), ["a1"]);
    assert!(ids(&document).contains(&"agent-lost"), "{:?}", ids(&document));
    assert!(outcome.stderr.contains("agent a1 is lost: it was silent"), "{}", outcome.stderr);
    // All requests of the schedule are there; half of them are the other agent's, which are all ok.
    let ledger = |place| document.ledger(place);
    assert_eq!(ledger("scheduled"), 10_000);
    let unaccounted = ledger("unaccounted");
    assert!((3000..5000).contains(&unaccounted), "{unaccounted}");
    let known_ns = document.count("/machines/1/agent/lost/known_to_ns");
    assert_eq!(unaccounted, 5000 - known_ns / 2_000_000, "500/s after its last interval");
    // What nginx got beyond the ledger is what the lost agent sent after that interval.
    let got = nginx.stop().unwrap();
    assert!((ledger("sent")..ledger("sent") + unaccounted).contains(&got), "{got}");
    for interval in document.list("/intervals") {
        let is_later = interval["start_ns"].as_u64().unwrap() >= known_ns;
        assert_eq!(interval["missing"] == serde_json::json!([1]), is_later, "{interval}");
    }
    let names = pids(&outcome.stderr);
    assert!(names.values().all(|pid| !is_running(*pid)), "all processes have ended");
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

/// Agents read no files: the rows come with the plan, and each is used once by all agents together.
#[test]
fn rows_of_data_reach_the_agents() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(2, "127.0.0.1");
    let file = fleet.directory.path().join("users.csv");
    let rows: String = (0..60).map(|row| format!("user-{row}\n")).collect();
    fs::write(&file, format!("name\n{rows}")).unwrap();
    let data = format!("users={}:once", file.display());
    let url = format!("http://{}/${{users.name}}", nginx.address());
    let flags = ["-R", "200", "-c", "4", "-d", "5s", "--expect-status", "404", "--data", &data];
    let outcome = fleet.measure(&[&flags[..], &[&url]].concat()).finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    outcome.document().assert_all_ok();
    let log = fs::read_to_string(nginx.path("access.log")).unwrap();
    let asked: BTreeSet<&str> = log.lines().filter_map(|line| line.split('"').nth(1)).collect();
    assert_eq!((log.lines().count(), asked.len()), (60, 60), "{log}");
}

/// An nginx that gives each user a token, and what its users do, with this load: the file of a plan.
fn of_users(directory: &Path, load: &str) -> (Nginx, PathBuf) {
    let directives = "location ~ ^/login/(.*)$ { return 200 '{\"token\": \"of-$1\"}'; } \
                      location /cart/ { return 200 ok; } location /home/ { return 200 ok; }";
    let listener = Listener { directives: directives.to_owned(), ..Listener::default() };
    let nginx = Nginx::start_with(true, &[listener]).unwrap();
    let rows: String = (0..1000).map(|row| format!("user-{row}\n")).collect();
    fs::write(directory.join("users.csv"), format!("name\n{rows}")).unwrap();
    let steps = r#"
        [data.users]
        file = "users.csv"
        order = "once"
        [[journey]]
        name = "buy"
        weight = 2
        [[journey.step]]
        name = "login"
        path = "/login/${users.name}/${seq}/${env:CANDOR_TEST_WORD}"
        capture = { token = "json:$.token" }
        [[journey.step]]
        name = "cart"
        path = "/cart/${token}/${random 1..1000000}"
        think = "uniform 50ms..400ms"
        repeat = "1..3"
        [[journey]]
        name = "look"
        [[journey.step]]
        name = "home"
        path = "/home/${users.name}""#;
    let url = format!("url = \"http://{}/\"\nseed = 7\n{load}", nginx.listeners()[0]);
    let plan = directory.join("plan.toml");
    fs::write(&plan, url + steps + "\n").unwrap();
    (nginx, plan)
}

/// Starts a run of a plan whose variable this process alone has.
fn measure_users(flags: &[&str], plan: &Path) -> Candor {
    Candor::start_as(Command::new(CANDOR), |directory, command| {
        command.arg("run").args(flags).arg(plan).args(["--json", "result.json"]);
        command.env("CANDOR_TEST_WORD", "hidden-word").current_dir(directory);
    })
}

/// The users of all agents are those of one machine: each makes the same requests, with the row, the token, the random
/// values and the repetitions of its number.
#[test]
fn users_are_those_of_one_machine() {
    let fleet = Fleet::start(2, "127.0.0.1");
    let operator = fleet.operator();
    let limits = "requests = 90\nconnections = 4\n";
    for load in ["rate = 100", "rate = 100\narrivals = \"poisson\"", "users = 9"] {
        let run = |flags: &[&str]| {
            let directory = tempfile::tempdir().unwrap();
            let (nginx, plan) = of_users(directory.path(), &format!("{load}\n{limits}"));
            let outcome = measure_users(flags, &plan).finish();
            assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
            let document = outcome.document();
            document.assert_all_ok();
            assert!(!outcome.file("result.json").contains("hidden-word"));
            let log = fs::read_to_string(nginx.path("access.log")).unwrap();
            let mut asked: Vec<String> =
                log.lines().filter_map(|line| line.split('"').nth(1)).map(str::to_owned).collect();
            asked.sort();
            assert_eq!(nginx.stop().unwrap(), document.ledger("sent"));
            let rows = |pointer: &str, fields: &[&str]| {
                let row = |row: &Value| fields.iter().map(|one| row[one].clone()).collect();
                document.list(pointer).iter().map(row).collect::<Vec<Vec<Value>>>()
            };
            let ledger = ["name", "started", "completed", "failed", "unfinished"];
            let users = rows("/users/journeys", &ledger);
            (asked, users, rows("/requests", &["name", "sent", "ok"]))
        };
        let one = run(&["--threads", "1"]);
        let two = run(&["--fleet", "2", "--operator", &operator]);
        assert_eq!(one, two, "{load}");
        let (asked, users, _) = one;
        let started: u64 = users.iter().map(|row| row[1].as_u64().unwrap()).sum();
        assert_eq!(started, 90);
        let distinct: BTreeSet<&String> = asked.iter().collect();
        assert!(distinct.len() == asked.len() && asked.len() > 150, "{asked:?}");
        assert!(asked.iter().any(|one| one.contains("/hidden-word ")), "{asked:?}");
    }
}

/// Users of a killed agent are unfinished or unaccounted for, and no other user is.
#[test]
fn the_users_of_a_killed_agent_are_accounted_for() {
    let directory = tempfile::tempdir().unwrap();
    let (nginx, plan) =
        of_users(directory.path(), "rate = 100\nconnections = 8\ninterval = \"500ms\"\n");
    let mut fleet = Fleet::start(2, "127.0.0.1");
    let operator = fleet.operator();
    let flags = ["--fleet", "2", "--operator", &operator, "--on-loss", "continue", "-d", "1m"];
    let run = measure_users(&flags, &plan);
    assert!(wait_until(PATIENCE, || lines(&nginx) > 500), "{}", fleet.log("a1"));
    fleet.agents.remove("a1").unwrap().child().kill().unwrap();
    let outcome = run.finish();
    assert_eq!(outcome.code(), DEGRADED, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!(names_of_lost(&document), ["a1"]);
    assert!(ids(&document).contains(&"agent-lost"), "{:?}", ids(&document));
    let unaccounted = document.count("/users/unaccounted");
    let sum = |field: &str| -> u64 {
        let rows = document.list("/users/journeys").iter();
        rows.map(|row| row[field].as_u64().unwrap()).sum()
    };
    // There are 1,000 rows, so 1,000 users, whose other half has them all.
    assert_eq!(sum("started") + unaccounted, 1000);
    for row in document.list("/users/journeys") {
        let n = |field: &str| row[field].as_u64().unwrap();
        assert_eq!(n("started"), n("completed") + n("failed") + n("unfinished"), "{row}");
    }
    let known_ns = document.count("/machines/1/agent/lost/known_to_ns");
    let later = 500 - known_ns / 20_000_000;
    assert!((later..later + 10).contains(&unaccounted), "{unaccounted} of {later} at 50/s");
    assert_eq!(sum("failed"), 0);
    assert!((1..40).contains(&sum("unfinished")), "those of its last half second: {outcome:?}");
    // How many requests they would have made is not known.
    assert!(document.at("/ledger").get("unaccounted").is_none());
    let said = format!("agent a1: {unaccounted} users unaccounted for");
    assert!(outcome.stderr.contains(&said), "{}", outcome.stderr);
    let page = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(&format!("{unaccounted} unaccounted for")), "{page}");
    assert!(page.contains("scheduled users are unaccounted for"), "{page}");
    assert!(nginx.stop().unwrap() >= document.ledger("sent"));
}

/// By default the others stop, and sending ends soon.
#[test]
fn all_stop_when_one_is_lost() {
    let nginx = Nginx::start(true).unwrap();
    let mut fleet = Fleet::start(2, "127.0.0.0/8");
    let url = format!("http://{}/", nginx.address());
    let run = fleet.measure(&["-R", "500", "-c", "4", "-d", "60s", &url]);
    let has_begun = || lines(&nginx) > 600;
    assert!(wait_until(PATIENCE, has_begun), "{}", fleet.log("a0"));
    fleet.agents.remove("a0").unwrap().child().kill().unwrap();
    let outcome = run.finish();
    assert_eq!(outcome.code(), DEGRADED, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.wall < Duration::from_secs(20), "{:?}", outcome.wall);
    assert!(outcome.stderr.contains("all agents stop"), "{}", outcome.stderr);
    let document = outcome.document();
    assert_eq!(names_of_lost(&document), ["a0"]);
    assert_eq!(document.text("/end/reason"), "agent-lost");
    let what: Vec<String> = fleet.audit("a1").into_iter().map(|(what, _)| what).collect();
    assert_eq!(what, ["granted", "started", "stopped", "ended", "settled"]);
    drop(nginx);
}

/// Agents whose coordinator is gone stop sending when their lease is over, by nginx's count; their results are
/// not lost.
#[test]
fn agents_of_a_dead_coordinator_stop_by_themselves() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(2, "127.0.0.0/8");
    let url = format!("http://{}/", nginx.address());
    let run =
        fleet.measure(&["-R", "500", "-c", "4", "-d", "60s", "-H", "X-Token: hidden-value", &url]);
    let count = || lines(&nginx);
    assert!(wait_until(PATIENCE, || count() > 300), "{}", fleet.log("a0"));
    run.signal(Signal::KILL);
    let killed = Instant::now();
    let _ = run.finish();
    let has_lapsed = || {
        ["a0", "a1"].iter().all(|name| fleet.audit(name).iter().any(|(what, _)| what == "lapsed"))
    };
    assert!(wait_until(PATIENCE, has_lapsed), "{}", fleet.log("a0"));
    let took = killed.elapsed();
    assert!((Duration::from_secs(3)..Duration::from_millis(6500)).contains(&took), "{took:?}");
    let after = count();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(count(), after, "it sends nothing more");
    assert!(after < 300 + 500 * 8, "{after}");
    // The plan that is kept for this is the operator's alone.
    let runs = fleet.folder().join("operator/runs");
    let kept = || fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap()).collect::<Vec<_>>();
    assert_eq!(kept()[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let operator = fleet.operator();
    let report = ["fleet", "report", "--operator", &operator];
    let outcome = Candor::start_measuring(&report).finish();
    assert_eq!(outcome.code(), DEGRADED, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!(names_of_lost(&document), ["a0", "a1"]);
    assert_eq!((document.ledger("sent"), document.ledger("scheduled")), (after as u64, 30_000));
    assert!(document.list("/machines").iter().all(|one| {
        one["agent"]["lost"]["why"].as_str().unwrap().contains("stopped by itself")
    }));
    assert!(!outcome.file("result.json").contains("hidden-value"));
    // It has its result, and the agents have nothing more.
    assert_eq!(kept().len(), 0);
    candor(&report).assert_refused(COULD_NOT_RUN, &["without a result"]);
    assert_eq!(fleet.audit("a0").last().unwrap().0, "settled");
}

/// Coordinator and an agent are killed: the intervals that the agent had delivered are in the result, from the
/// broker's stream, and the agent is named.
#[test]
fn the_broker_keeps_the_results_of_a_dead_agent() {
    let nginx = Nginx::start(true).unwrap();
    let mut fleet = Fleet::start(2, "127.0.0.0/8");
    let (run, outcome) = fleet.outlive(&nginx);
    assert!(!run.stderr.contains("keeps no copy"), "{}", run.stderr);
    let document = outcome.document();
    let known_ns = document.count("/machines/1/agent/lost/known_to_ns");
    assert!((3_000_000_000..10_000_000_000).contains(&known_ns), "{known_ns}");
    assert!(ids(&document).contains(&"agent-lost"), "{:?}", ids(&document));
    assert!(outcome.stdout.contains("a1"), "{}", outcome.stdout);
    // What nginx got beyond the ledger is what the dead agent sent after that interval.
    let (sent, got) = (document.ledger("sent"), nginx.stop().unwrap());
    assert!((sent..sent + 500).contains(&got), "{sent} {got}");
    for interval in document.list("/intervals") {
        let is_later = interval["start_ns"].as_u64().unwrap() >= known_ns;
        let missing = interval["missing"].as_array().unwrap();
        assert!(missing.contains(&1.into()) == is_later, "{interval}");
    }
    // The next run finds the stream as it is. Nothing is left in it of a run that has its result.
    let url = "http://127.0.0.1:1/";
    let next = fleet.measure(&["-R", "10", "-c", "1", "-d", "500ms", url]).finish();
    assert!(!next.stderr.contains("keeps no copy"), "{}", next.stderr);
    candor(&["fleet", "report", "--operator", &fleet.operator()])
        .assert_refused(COULD_NOT_RUN, &["without a result"]);
}

/// A broker of an older fleet, whose operator may not use JetStream, and one that has JetStream off: runs are as they
/// were, and say that agents alone keep results.
#[test]
fn a_broker_without_a_stream_works_as_before() {
    let without = |text: String| {
        let (before, rest) = text.split_once("# Keeps up to").unwrap();
        let (_, after) = rest.split_once("}\n").unwrap();
        format!("{before}{after}")
    };
    let older = |text: String| {
        let lines: Vec<String> = (without(text).lines())
            .map(|line| match line.split_once(", \"$JS") {
                None => line.to_owned(),
                Some((before, _)) => {
                    format!("{before}], subscribe: [\"candor.hello.*\", \"candor.run.*.*\"] }} }}")
                }
            })
            .collect();
        let text = lines.join("\n");
        assert!(!text.contains("JS") && !text.contains("_INBOX"), "{text}");
        text
    };
    let line = "the broker keeps no copy of results, agents alone keep them";
    let nginx = Nginx::start(true).unwrap();
    let mut off = Fleet::start_with(2, "127.0.0.0/8", without);
    let (run, outcome) = off.outlive(&nginx);
    assert_eq!(run.stderr.matches(line).count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("it has no JetStream"), "{}", run.stderr);
    let document = outcome.document();
    assert_eq!(document.count("/machines/1/agent/lost/known_to_ns"), 0);
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start_with(2, "127.0.0.0/8", older);
    let url = format!("http://{}/", nginx.address());
    let run = fleet.measure(&["-R", "500", "-c", "4", "-d", "4s", &url]).finish();
    assert_eq!(run.code(), 0, "{}{}", run.stdout, run.stderr);
    assert_eq!(run.stderr.matches(line).count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("does not let the operator"), "{}", run.stderr);
    assert!(!run.stderr.to_lowercase().contains("violation"), "{}", run.stderr);
    assert_eq!(nginx.stop().unwrap(), run.document().ledger("sent"));
}

/// The certificate of an agent neither makes, reads nor empties the stream, and adds to it in its own name only.
#[test]
fn the_stream_is_the_operators() {
    let fleet = Fleet::start(2, "127.0.0.0/8");
    let run = RunId([9; 16]);
    let link = |folder: &str| Link::of_coordinator(&fleet.broker_for(folder), run).unwrap();
    let arrival = |link: &Link<RunId>| {
        let began = Instant::now();
        let arrivals = std::iter::from_fn(|| link.recv(PATIENCE));
        let mut arrivals = arrivals.take_while(|_| began.elapsed() < PATIENCE);
        arrivals.find(|one| matches!(one, Arrival::Stream(_) | Arrival::Stored { .. }))
    };
    let operator = link("operator");
    operator.make_stream();
    assert_eq!(arrival(&operator), Some(Arrival::Stream(Ok(()))));
    let message = Message::Kill { run };
    let speak = |name: &str| {
        let name = name.parse().unwrap();
        let link = Link::of_agent(&fleet.broker_for("agents/a0"), name).unwrap();
        link.send(To::Coordinator(run), &message);
    };
    speak("a0");
    speak("a1");
    let thief = link("agents/a0");
    thief.make_stream();
    let denied = Arrival::Stream(Err("it does not let the operator use JetStream".to_owned()));
    assert_eq!(arrival(&thief), Some(denied));
    thief.fetch("a0".parse().unwrap(), 0);
    thief.forget();
    std::thread::sleep(Duration::from_millis(2500));
    let stored = |arrival: &Arrival| matches!(arrival, Arrival::Stored { .. });
    assert!(!std::iter::from_fn(|| thief.recv(Duration::ZERO)).any(|one| stored(&one)));
    for (name, has_it) in [("a0", true), ("a1", false)] {
        operator.fetch(name.parse().unwrap(), 0);
        let Some(Arrival::Stored { found, .. }) = arrival(&operator) else { panic!("no reply") };
        let found = found.map(|(_, message)| *message.unwrap());
        assert_eq!(found, has_it.then(|| message.clone()), "{name}");
    }
}

/// The first signal to the coordinator stops all agents in order: what they sent is what nginx counted.
#[test]
fn a_signal_stops_the_whole_fleet() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(2, "127.0.0.0/8");
    let url = format!("http://{}/", nginx.address());
    let run = fleet.measure(&["-R", "500", "-c", "4", "-d", "60s", &url]);
    assert!(wait_until(PATIENCE, || lines(&nginx) > 300), "{}", fleet.log("a0"));
    run.signal(Signal::INT);
    let outcome = run.finish();
    assert_eq!(outcome.code(), INTERRUPTED, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!(document.text("/end/reason"), "interrupted");
    assert_eq!(names_of_lost(&document).len(), 0);
    assert_eq!(nginx.stop().unwrap(), document.ledger("sent"));
}

/// An agent that a signal ends says so, and the coordinator waits for no silence.
#[test]
fn an_agent_that_is_ended_leaves_its_run() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(2, "127.0.0.0/8");
    let url = format!("http://{}/", nginx.address());
    let run = fleet.measure(&["-R", "500", "-c", "4", "-d", "60s", &url]);
    assert!(wait_until(PATIENCE, || lines(&nginx) > 300), "{}", fleet.log("a0"));
    fleet.agents["a1"].signal(Signal::TERM).unwrap();
    let outcome = run.finish();
    assert_eq!(outcome.code(), DEGRADED, "{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(names_of_lost(&outcome.document()), ["a1"]);
    assert!(outcome.stderr.contains("a signal ended the agent"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("silent"), "{}", outcome.stderr);
}

/// A process that was suspended for longer than its lease wakes up with requests that are long due: it sends
/// none of them.
#[test]
fn a_suspended_agent_sends_nothing_when_it_wakes() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(1, "127.0.0.0/8");
    let url = format!("http://{}/", nginx.address());
    let run = fleet.measure(&["-R", "500", "-c", "4", "-d", "60s", &url]);
    assert!(wait_until(PATIENCE, || lines(&nginx) > 300), "{}", fleet.log("a0"));
    fleet.agents["a0"].signal(Signal::STOP).unwrap();
    let outcome = run.finish();
    assert_eq!(outcome.code(), DEGRADED, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stderr.contains("it was silent"), "{}", outcome.stderr);
    let before = lines(&nginx);
    fleet.agents["a0"].signal(Signal::CONT).unwrap();
    let has_ended = || fleet.audit("a0").iter().any(|(what, _)| what == "ended");
    assert!(wait_until(PATIENCE, has_ended), "{}", fleet.log("a0"));
    assert_eq!(lines(&nginx), before);
}

/// Agents whose clocks began at other times, which time namespaces show to them, begin together all the same.
#[test]
fn clocks_that_differ_by_days_make_no_difference() {
    if !common::is_root("a time namespace") {
        return;
    }
    let nginx = Nginx::start(true).unwrap();
    let mut fleet = Fleet::start(1, "127.0.0.0/8");
    let (name, offset_s) = ("a0", 300_000);
    fleet.agents.clear();
    let mut command = Command::new("unshare");
    command.args(["--time", "--monotonic", &offset_s.to_string(), "--fork", "--kill-child"]);
    command.arg(CANDOR).arg("agent").arg(fleet.folder().join("agents").join(name));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    fleet.agents.insert(name.to_owned(), Managed::spawn(&mut command).unwrap());
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
fn a_broker_that_is_away_for_a_while_changes_nothing() {
    let nginx = Nginx::start(true).unwrap();
    let mut fleet = Fleet::start(2, "127.0.0.0/8");
    let url = format!("http://{}/", nginx.address());
    let run = fleet.measure(&["-R", "500", "-c", "4", "-d", "6s", &url]);
    assert!(wait_until(PATIENCE, || lines(&nginx) > 500), "{}", fleet.log("a0"));
    fleet.kill_broker();
    std::thread::sleep(Duration::from_secs(2));
    fleet.broker = start_broker(&fleet.folder(), fleet.address);
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stderr.contains("the broker is back"), "{}", outcome.stderr);
    let document = outcome.document();
    assert_eq!((document.ledger("scheduled"), names_of_lost(&document).len()), (3000, 0));
    assert_eq!(nginx.stop().unwrap(), document.ledger("sent"));
}

/// Without a broker agents stop by themselves, and the coordinator says so.
#[test]
fn a_broker_that_is_gone_ends_the_run() {
    let nginx = Nginx::start(true).unwrap();
    let mut fleet = Fleet::start(2, "127.0.0.0/8");
    let url = format!("http://{}/", nginx.address());
    let run = fleet.measure(&["-R", "500", "-c", "4", "-d", "60s", &url]);
    assert!(wait_until(PATIENCE, || lines(&nginx) > 500), "{}", fleet.log("a0"));
    fleet.kill_broker();
    let killed = Instant::now();
    let has_lapsed = || {
        ["a0", "a1"].iter().all(|name| fleet.audit(name).iter().any(|(what, _)| what == "lapsed"))
    };
    assert!(wait_until(PATIENCE, has_lapsed), "{}", fleet.log("a0"));
    assert!(killed.elapsed() < Duration::from_millis(6500), "{:?}", killed.elapsed());
    let after = lines(&nginx);
    let outcome = run.finish();
    assert_eq!(outcome.code(), DEGRADED, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!(names_of_lost(&document), ["a0", "a1"]);
    assert_eq!(lines(&nginx), after, "it sends nothing more");
    let sent = document.ledger("sent");
    assert!((sent..sent + 3500).contains(&(after as u64)), "{sent} {after}");
}

/// Makes a run with the operator's certificate, but a signing key of this seed and another time.
fn attempt(fleet: &Fleet, url: &str, seed: [u8; 32], expires_in_s: i64) -> Verdict {
    struct NoFiles;
    impl ReadFile for NoFiles {
        fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
            Err(std::io::ErrorKind::NotFound.into())
        }
    }
    let text = format!("url = \"{url}\"\nrate = \"100/s\"\nduration = \"1s\"\nconnections = 4\n");
    let began = Instant::now();
    let now_ns = || began.elapsed().as_nanos() as u64;
    let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let run = RunId(std::array::from_fn(|at| seed[at] ^ expires_in_s as u8));
    let settings = Settings {
        key: RunKey { run, epoch: 0 },
        plan: Options::from_toml("plan.toml", &text).unwrap().build(&NoFiles).unwrap().0,
        rows: None,
        wanted: Wanted::Count(1),
        threads: Threads::ByCores,
        on_loss: OnLoss::Stop,
        operator: OperatorKey::from_seed(&seed),
        nonce: [3; 16],
        expires_unix_s: unix_s.saturating_add_signed(expires_in_s),
        timings: Timings::default(),
    };
    let link = Link::of_coordinator(&fleet.broker_for("operator"), run).unwrap();
    let mut coordinator = Coordinator::new(settings, now_ns());
    while began.elapsed() < PATIENCE {
        coordinator.handle_timeout(now_ns(), &mut |_| {});
        if let Some(Arrival::Message { from: Some(from), message }) =
            link.recv(Duration::from_millis(10))
        {
            coordinator.handle_message(now_ns(), &from, *message);
        }
        while let Some((to, message)) = coordinator.poll_transmit() {
            link.send(&to, &message);
        }
        while let Some(event) = coordinator.poll_event() {
            if let Event::Over(over) = event {
                return over.verdict;
            }
        }
    }
    panic!("it does not end: {}", fleet.log("a0"));
}

#[test]
fn without_a_valid_grant_nothing_is_sent() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(1, "127.0.0.0/8");
    let url = format!("http://{}/", nginx.address());
    let text = fs::read_to_string(fleet.folder().join("operator/signing.key")).unwrap();
    let text = text.trim();
    let seed: [u8; 32] =
        std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap());
    let mut expected = Vec::new();
    for (seed, expires_in_s, why) in [
        ([7; 32], 60, "its signer is not an operator of the policy"),
        (seed, -1, "it has expired"),
        (seed, 100_000, "it expires in more than a day"),
    ] {
        let verdict = attempt(&fleet, &url, seed, expires_in_s);
        let Verdict::Void(void) = &verdict else { panic!("{verdict:?}") };
        assert!(void.to_string().contains(why), "{void}");
        expected.push(why);
    }
    let audit = fleet.audit("a0");
    assert_eq!(audit.len(), expected.len(), "{audit:?}");
    for ((what, detail), why) in audit.iter().zip(expected) {
        assert!(what == "refused" && detail.contains(why), "{what}: {detail}");
    }
    // The same with a valid grant sends.
    let outcome = fleet.measure(&["-R", "100", "-d", "1s", "-c", "4", &url]).finish();
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert_eq!(nginx.stop().unwrap(), 100);
}

/// The policy of an agent is the limit, whatever was signed.
#[test]
fn a_target_outside_of_the_policy_gets_nothing() {
    let nginx = Nginx::start(true).unwrap();
    let fleet = Fleet::start(2, "10.0.0.0/8");
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{}/", nginx.address().port());
        let outcome = fleet.measure(&["-R", "100", "-d", "1s", "-c", "4", &url]).finish();
        outcome.assert_refused(COULD_NOT_RUN, &["agent a", "no entry allows the target", host]);
    }
    let refused = ["a0", "a1"].iter().any(|name| {
        fleet
            .audit(name)
            .iter()
            .any(|(what, detail)| what == "refused" && detail.contains("no entry"))
    });
    assert!(refused);
    assert_eq!(nginx.stop().unwrap(), 0);
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
    let free = status();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for (line, name) in free.lines().zip(["a0", "a1"]) {
        let words = words(line);
        assert_eq!((words[0].as_str(), words.last().unwrap().as_str()), (name, "free"), "{free}");
    }
    candor(&["fleet", "kill", "--operator", &operator])
        .assert_refused(COULD_NOT_RUN, &["none is in a run"]);
    let url = format!("http://{}/", nginx.address());
    let run = fleet.measure(&["-R", "500", "-c", "4", "-d", "60s", &url]);
    let has_begun = || {
        fs::read_to_string(nginx.path("access.log")).is_ok_and(|text| text.lines().count() > 100)
    };
    assert!(wait_until(PATIENCE, has_begun), "{}", fleet.log("a0"));
    assert_eq!(status().matches("in run ").count(), 2);
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

#[test]
fn secrets_are_for_their_owner_and_nothing_is_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("f");
    let out = folder.to_str().unwrap();
    let init = || {
        candor(&["fleet", "init", "2", "--out", out, "--target", "10.0.0.0/8", "--rate", "5k/s"])
    };
    let made = init();
    assert_eq!(made.code(), 0, "{}", made.stderr);
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.clone()];
    while let Some(one) = folders.pop() {
        for entry in fs::read_dir(&one).unwrap().map(Result::unwrap) {
            let (path, mode) =
                (entry.path(), entry.metadata().unwrap().permissions().mode() & 0o777);
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&folder).unwrap().display().to_string();
            let text = fs::read_to_string(&path).unwrap();
            let is_secret = name.ends_with("key.pem") || name.ends_with(".key");
            assert_eq!(
                text.contains("PRIVATE KEY") || name.ends_with("signing.key"),
                is_secret,
                "{name}"
            );
            assert_eq!(mode, if is_secret { 0o600 } else { mode }, "{name}");
            files.insert(name, text);
        }
    }
    let keys: Vec<&String> =
        files.iter().filter(|(name, _)| name.ends_with("key.pem")).map(|(_, text)| text).collect();
    assert_eq!(keys.len(), 4);
    assert!(keys.windows(2).all(|pair| pair[0] != pair[1]));
    assert!(files["agents/a1/policy.toml"].contains("networks = [\"10.0.0.0/8\"]"));
    assert!(files["agents/a1/policy.toml"].contains("rate = \"5k/s\""));
    init().assert_refused(COULD_NOT_RUN, &[out, "it is there already", "--out"]);
    for (name, text) in &files {
        assert_eq!(&fs::read_to_string(folder.join(name)).unwrap(), text, "{name}");
    }
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
