//! What `deploy/` has fits the API's schemas, the folders of `candor fleet init`, and the shell.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::common::{CANDOR, candor};
use candor_testkit::process::{Managed, free_port, wait_for_port, wait_until};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn deploy() -> PathBuf {
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

/// The image that `make dist` makes.
fn image() -> String {
    let script = fs::read_to_string(deploy().join("../scripts/dist/image")).unwrap();
    assert!(script.contains(":candor:$version\""), "the name of the image");
    format!("candor:{}", env!("CARGO_PKG_VERSION"))
}

#[test]
fn manifests_fit_the_schemas_of_kubernetes() {
    let validate =
        |file: &Path| python(&["-m", "kubernetes_validate", "--strict", file.to_str().unwrap()]);
    for name in ["kubernetes/agents.yaml", "kubernetes/broker.yaml"] {
        let file = deploy().join(name);
        let output = validate(&file);
        let said =
            String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}; scripts/need-peers installs kubernetes-validate");
        // A word that no schema has is found.
        let directory = tempfile::tempdir().unwrap();
        let broken = directory.path().join("broken.yaml");
        let text = fs::read_to_string(&file).unwrap().replace("replicas:", "copies:");
        fs::write(&broken, text).unwrap();
        assert!(!validate(&broken).status.success(), "{name}");
    }
}

/// The documents of this kind in a manifest.
fn of_kind(documents: &[Value], kind: &str) -> Vec<Value> {
    documents.iter().filter(|one| one["kind"] == kind).cloned().collect()
}

/// A controller that replaces pods, as all manifests with containers have it, and its template's spec.
fn controller(file: &str) -> (Value, Value) {
    let documents = yaml(file);
    let [only] = &of_kind(&documents, "StatefulSet")[..] else { panic!("{file}: {documents:?}") };
    let others = documents.iter().filter(|one| one["spec"]["template"].is_object()).count();
    assert_eq!((others, of_kind(&documents, "Pod").len()), (1, 0), "{file}");
    let template = &only["spec"]["template"];
    assert_eq!(only["spec"]["selector"]["matchLabels"], template["metadata"]["labels"]);
    let container = &template["spec"]["containers"][0];
    assert!(container["imagePullPolicy"].is_string(), "{file}");
    (only["spec"].clone(), template["spec"].clone())
}

/// The Secrets that the script prints, by name.
fn secrets(folder: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let printed = Command::new(deploy().join("kubernetes/secret")).arg(folder).output().unwrap();
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let file = folder.join("secrets.yaml");
    fs::write(&file, printed.stdout).unwrap();
    let named = |one: &Value| {
        let keys = one["data"].as_object().unwrap().keys().cloned().collect();
        (one["metadata"]["name"].as_str().unwrap().to_owned(), keys)
    };
    yaml(file.to_str().unwrap()).iter().map(named).collect()
}

#[test]
fn the_pods_mount_what_init_makes() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("fleet");
    init(&folder, &["4"]);
    let keys = secrets(&folder)["candor-agents"].clone();
    let (spec, pod) = controller("kubernetes/agents.yaml");
    let items = pod["volumes"][0]["secret"]["items"].as_array().unwrap();
    let mounted: BTreeSet<String> =
        items.iter().map(|item| item["key"].as_str().unwrap().to_owned()).collect();
    assert_eq!((keys.len(), &mounted), (20, &keys));
    for item in items {
        let (key, path) = (item["key"].as_str().unwrap(), item["path"].as_str().unwrap());
        assert_eq!(key.split_once('.'), path.split_once('/'));
        assert!(folder.join("agents").join(path).is_file(), "{path}");
    }
    assert_eq!(spec["replicas"], 4);
    assert_eq!(pod["containers"][0]["image"], image());
    // Its policy is the network's again: nobody reaches an agent, and it reaches the broker.
    let policies = of_kind(&yaml("kubernetes/agents.yaml"), "NetworkPolicy");
    assert_eq!(policies[0]["spec"]["ingress"], serde_json::json!([]));
    let broker = &policies[0]["spec"]["egress"][0]["to"][0]["podSelector"]["matchLabels"];
    let (spec, _) = controller("kubernetes/broker.yaml");
    assert_eq!(*broker, spec["selector"]["matchLabels"]);
}

/// The broker of Kubernetes, started with the files and the arguments that it has there.
#[test]
fn the_broker_of_kubernetes_has_its_files_and_its_disk() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("fleet");
    let port = free_port().unwrap();
    let hosts = ["--broker-host", "nats.candor.svc", "--broker-host", "127.0.0.1"];
    init(&folder, &[&["4", "--port", &port.to_string()], &hosts[..]].concat());
    let (_, pod) = controller("kubernetes/broker.yaml");
    let service = &of_kind(&yaml("kubernetes/broker.yaml"), "Service")[0]["metadata"];
    assert_eq!((&service["name"], &service["namespace"]), (&"nats".into(), &"candor".into()));
    let container = &pod["containers"][0];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let own = directory.path().join("own");
    let mut mounted = BTreeSet::new();
    for mount in container["volumeMounts"].as_array().unwrap() {
        let place = text(&mount["mountPath"]);
        let place = own
            .join(place.strip_prefix(&text(&container["workingDir"])).unwrap().trim_matches('/'));
        match &*text(&mount["name"]) {
            "results" => fs::create_dir_all(place).unwrap(),
            _ => {
                let key = text(&mount["subPath"]);
                fs::create_dir_all(place.parent().unwrap()).unwrap();
                fs::copy(folder.join("broker").join(&key), place).unwrap();
                mounted.insert(key);
            }
        }
    }
    assert_eq!(mounted, secrets(&folder)["candor-broker"]);
    let results = own.join("jetstream");
    assert!(fs::read_dir(&results).unwrap().next().is_none(), "an empty disk");
    let mut nats = Command::new("sh");
    nats.args(["-c", "exec nats-server \"$@\"", "nats-server"]).current_dir(&own);
    nats.args(container["args"].as_array().unwrap().iter().map(text));
    let path = std::env::var("PATH").unwrap_or_default();
    nats.env("PATH", format!("{path}:/usr/sbin"));
    nats.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _broker = Managed::spawn(&mut nats).unwrap();
    assert!(wait_for_port(SocketAddr::from(([127, 0, 0, 1], port)), PATIENCE), "no broker");
    let is_used = || fs::read_dir(&results).unwrap().next().is_some();
    assert!(wait_until(PATIENCE, is_used), "the broker keeps results on its disk");
}

/// Its user is one that is made, and its filter allows what Candor calls, e.g. to keep threads to cores.
#[test]
fn the_unit_has_a_user_and_a_filter() {
    let read = |name: &str| fs::read_to_string(deploy().join("systemd").join(name)).unwrap();
    let unit = read("candor-agent@.service");
    let values = |key: &str| -> Vec<String> {
        let lines = unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        lines.map(str::to_owned).collect()
    };
    let user = &values("User")[0];
    let made = read("candor.sysusers");
    assert!(made.lines().any(|line| line.starts_with(&format!("u {user} "))), "{made}");
    let filter = values("SystemCallFilter");
    assert_eq!(filter[0], "@system-service");
    assert!(filter[1].starts_with('~') && !filter[1].contains("@resources"), "{filter:?}");
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
        assert_eq!(services[name]["image"], image());
    }
    // The broker may write where its configuration says, within the limit there, and nowhere else.
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("fleet");
    init(&folder, &["2", "--broker-host", "broker", "--broker-host", "127.0.0.1"]);
    // Agents reach it by the name of its service, the operator by the port that is published.
    let member: toml::Table =
        fs::read_to_string(folder.join("operator/member.toml")).unwrap().parse().unwrap();
    let urls = ["tls://broker:4222", "tls://127.0.0.1:4222"].map(toml::Value::from);
    assert_eq!(member["broker"], toml::Value::Array(urls.to_vec()));
    assert_eq!(services["broker"]["ports"][0], "127.0.0.1:4222:4222");
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
    // One of the broker's names is not known here.
    let hosts = ["--broker-host", "broker.invalid", "--broker-host", "127.0.0.1"];
    let port_text = port.to_string();
    init(&folder, &[&["2", "--port", &port_text, "--target", "127.0.0.0/8"], &hosts[..]].concat());
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

/// Grafana loads dashboards from the provider's folder as they are: nothing is asked, no place of an export is filled in.
#[test]
fn grafana_gets_a_data_source_and_a_dashboard_that_needs_no_import() {
    let sources = &yaml("grafana/provisioning/datasources/candor.yaml")[0];
    let source = &sources["datasources"][0];
    assert_eq!((&sources["apiVersion"], &source["type"]), (&1.into(), &"prometheus".into()));
    for key in ["name", "uid", "url", "access"] {
        assert!(source[key].as_str().is_some_and(|text| !text.is_empty()), "{key}");
    }
    let providers = &yaml("grafana/provisioning/dashboards/candor.yaml")[0];
    let provider = &providers["providers"][0];
    assert_eq!((&providers["apiVersion"], &provider["type"]), (&1.into(), &"file".into()));
    // The folder that the page says to mount there.
    let path = provider["options"]["path"].as_str().unwrap();
    let page = fs::read_to_string(deploy().join("../docs/metrics.md")).unwrap();
    assert!(page.contains(&format!("deploy/grafana/dashboards:{path}:ro")), "{path}");

    let text = fs::read_to_string(deploy().join("grafana/dashboards/candor.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    for exported in ["id", "__inputs", "__requires", "__elements"] {
        assert!(dashboard.get(exported).is_none(), "{exported} is of an export");
    }
    assert!(!text.contains("${DS_"), "a place of an export");
    assert!(dashboard["schemaVersion"].as_u64().is_some_and(|version| version >= 36));
    let is_text = |of: &Value, key: &str| of[key].as_str().is_some_and(|text| !text.is_empty());
    assert!(is_text(&dashboard, "uid") && is_text(&dashboard, "title"));
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let chosen = variables.iter().find(|one| one["type"] == "datasource").unwrap();
    assert_eq!(chosen["query"], source["type"]);
    let chosen = serde_json::json!({
        "type": source["type"],
        "uid": format!("${{{}}}", chosen["name"].as_str().unwrap()),
    });
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert!(panels.len() > 10 && ids.len() == panels.len() && !ids.contains(&0));
    let mut taken = BTreeSet::new();
    for panel in panels {
        assert!(is_text(panel, "title") && is_text(panel, "type") && is_text(panel, "description"));
        assert_eq!(panel["datasource"], chosen, "{panel}");
        let side = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(side("w") > 0 && side("h") > 0 && side("x") + side("w") <= 24, "{panel}");
        for x in side("x")..side("x") + side("w") {
            for y in side("y")..side("y") + side("h") {
                assert!(taken.insert((x, y)), "{} lies on another panel", panel["title"]);
            }
        }
        let targets = panel["targets"].as_array().unwrap();
        let names: BTreeSet<&str> =
            targets.iter().map(|one| one["refId"].as_str().unwrap()).collect();
        assert!(!targets.is_empty() && names.len() == targets.len(), "{panel}");
        for target in targets {
            assert_eq!(target["datasource"], chosen, "{panel}");
            assert!(is_text(target, "expr"), "{panel}");
        }
    }
}
