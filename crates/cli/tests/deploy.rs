//! What `deploy/` has fits the API's schemas, the folders of `candor fleet init`, and the shell.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use candor_testkit::process::{Managed, free_port, wait_for_port, wait_until};
use common::{CANDOR, candor};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(20);

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").canonicalize().unwrap()
}

fn python(arguments: &[&str]) -> Output {
    Command::new("python3").args(arguments).output().unwrap()
}

/// The documents of a YAML file.
fn yaml(file: &str) -> Vec<Value> {
    let program =
        "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))";
    let path = deploy().join(file);
    let output = python(&["-c", program, path.to_str().unwrap()]);
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{why}; scripts/need-peers installs what is missing");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn init(folder: &Path, flags: &[&str]) {
    let out = folder.to_str().unwrap();
    let made = candor(&[&["fleet", "init", "--out", out], flags].concat());
    assert_eq!(made.code(), 0, "{}", made.stderr);
}

#[test]
fn manifests_fit_the_schemas_of_kubernetes() {
    let file = deploy().join("kubernetes/agents.yaml");
    let validate =
        |file: &Path| python(&["-m", "kubernetes_validate", "--strict", file.to_str().unwrap()]);
    let output = validate(&file);
    let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}; scripts/need-peers installs kubernetes-validate");
    // A word that no schema has is found.
    let directory = tempfile::tempdir().unwrap();
    let broken = directory.path().join("broken.yaml");
    let text =
        fs::read_to_string(&file).unwrap().replace("backoffLimitPerIndex", "backoffPerIndex");
    fs::write(&broken, text).unwrap();
    assert!(!validate(&broken).status.success());
}

#[test]
fn the_job_mounts_what_init_makes() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("fleet");
    init(&folder, &["4"]);
    let printed = Command::new(deploy().join("kubernetes/secret")).arg(&folder).output().unwrap();
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let text = String::from_utf8(printed.stdout).unwrap();
    let keys = text.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(": "));
    let keys: BTreeSet<String> = keys.map(|(key, _)| key.to_owned()).collect();
    let documents = yaml("kubernetes/agents.yaml");
    let volumes = documents[0].pointer("/spec/template/spec/volumes").unwrap();
    let items = volumes[0]["secret"]["items"].as_array().unwrap();
    let mounted: BTreeSet<String> =
        items.iter().map(|item| item["key"].as_str().unwrap().to_owned()).collect();
    assert_eq!((keys.len(), &mounted), (20, &keys));
    for item in items {
        let (key, path) = (item["key"].as_str().unwrap(), item["path"].as_str().unwrap());
        assert_eq!(key.split_once('.'), path.split_once('/'));
        assert!(folder.join("agents").join(path).is_file(), "{path}");
    }
    let spec = &documents[0]["spec"];
    assert_eq!((&spec["completions"], &spec["parallelism"]), (&4.into(), &4.into()));
    // Its policy is the network's again: nobody reaches an agent.
    assert_eq!(documents[1]["spec"]["ingress"], serde_json::json!([]));
}

#[test]
fn compose_gives_each_agent_its_own_folder() {
    let documents = yaml("compose/compose.yaml");
    let services = &documents[0]["services"];
    for name in ["a0", "a1"] {
        let volume = services[name]["volumes"][0].as_str().unwrap();
        assert!(volume.ends_with(&format!("/agents/{name}:/agent:ro")), "{volume}");
        assert_eq!(services[name]["command"][0], "agent");
        assert_eq!(services[name]["read_only"], true);
    }
    // The broker may write where its configuration says, within the limit there, and nowhere else.
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("fleet");
    init(&folder, &["2"]);
    let text = fs::read_to_string(folder.join("broker/broker.conf")).unwrap();
    assert!(text.contains("store_dir: \"jetstream\"") && text.contains("max_file_store: 1GB"));
    assert!(folder.join("broker/jetstream").is_dir());
    let broker = &services["broker"];
    let volumes: Vec<&str> =
        broker["volumes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let [own, store] = volumes[..] else { panic!("{volumes:?}") };
    assert!(own.ends_with("/broker:/fleet:ro"), "{own}");
    assert!(store.ends_with("/broker/jetstream:/fleet/jetstream"), "{store}");
    assert_eq!((&broker["read_only"], &broker["user"]), (&true.into(), &services["a0"]["user"]));
}

/// The script for ssh, with an `ssh` that runs on this machine what it is given.
#[test]
fn agents_are_started_and_ended_over_ssh() {
    let directory = tempfile::tempdir().unwrap();
    let (folder, programs) = (directory.path().join("fleet"), directory.path().join("bin"));
    let port = free_port().unwrap();
    init(&folder, &["2", "--port", &port.to_string(), "--target", "127.0.0.0/8"]);
    fs::create_dir(&programs).unwrap();
    let ssh = programs.join("ssh");
    fs::write(&ssh, "#!/bin/sh\n[ \"$1\" = -tt ] && shift\nshift\nexec sh -c \"$*\"\n").unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(CANDOR, programs.join("candor")).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}:/usr/sbin", programs.display());
    let start = |mut command: Command| {
        command.env("PATH", &path).env("TMPDIR", directory.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Managed::spawn(&mut command).unwrap()
    };
    let mut nats = Command::new("sh");
    nats.args(["-c", "exec nats-server -c broker.conf"]).current_dir(folder.join("broker"));
    let _broker = start(nats);
    assert!(wait_for_port(SocketAddr::from(([127, 0, 0, 1], port)), PATIENCE), "no broker");
    let mut script = Command::new(deploy().join("ssh/candor-fleet-ssh"));
    script.arg(&folder).args(["me@one", "me@two"]);
    let mut script = start(script);
    let operator = folder.join("operator").display().to_string();
    let heard = || {
        let status = candor(&["fleet", "status", "--operator", &operator]);
        status.stdout.lines().count()
    };
    assert!(wait_until(PATIENCE, || heard() == 2), "both agents are heard");
    script.stop().unwrap();
    assert!(wait_until(PATIENCE, || heard() == 0), "both have ended");
    let left = || {
        let entries = fs::read_dir(directory.path()).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name())
            .filter(|name| name.to_string_lossy().starts_with("tmp."))
            .count()
    };
    assert!(wait_until(PATIENCE, || left() == 0), "their folders are gone");
}
