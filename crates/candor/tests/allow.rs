//! Lists of allowed hosts: a host that is not listed gets no connection, by any path. No test here
//! sends anything beyond loopback: foreign hosts are refused.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{CANDOR, Candor, Outcome, Target};

const USAGE: i32 = 2;

/// Runs with a list in the environment, in the configuration, or in neither.
fn run(arguments: &[&str], variable: Option<&str>, configuration: Option<&str>) -> Outcome {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        fs::create_dir(directory.join("candor")).unwrap();
        if let Some(text) = configuration {
            fs::write(directory.join("candor/config.toml"), text).unwrap();
        }
        fs::write(directory.join("s.lua"), SCRIPT).unwrap();
        command.args(arguments).current_dir(directory);
        command.env("XDG_CONFIG_HOME", directory).env_remove("CANDOR_ALLOW");
        command.envs(variable.map(|value| ("CANDOR_ALLOW", value)));
    });
    run.finish()
}

/// Sends its thread elsewhere: to a documentation address (RFC 5737), which no host has.
const SCRIPT: &str = r#"
function setup(thread)
   thread.addr = wrk.lookup("192.0.2.1", "80")[1]
end
"#;

fn refused(outcome: &Outcome, what: &str, list: &str) {
    outcome.assert_refused(USAGE, &[what, " is not allowed by ", list]);
}

#[test]
fn each_list_that_there_is_must_allow_a_target() {
    let target = Target::start(&[]);
    let url = target.url("/");
    let once = ["-n", "1", url.as_str()];
    let with = |allow: &'static str| [&["--allow", allow], &once[..]].concat();
    let fine = |outcome: Outcome| assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    fine(run(&once, None, None));
    fine(run(&with("127.0.0.0/8"), None, None));
    fine(run(&once, Some("::1, 127.0.0.1"), Some("allow = '127.0.0.0/8'")));
    refused(&run(&with("10.0.0.0/8"), None, None), "127.0.0.1", "--allow");
    refused(&run(&once, Some("10.0.0.0/8"), None), "127.0.0.1", "CANDOR_ALLOW");
    refused(&run(&once, None, Some("allow = ['staging.example']")), "127.0.0.1", "config.toml");
    refused(&run(&once, None, Some("allow = []")), "127.0.0.1", "config.toml");
    // A flag cannot widen the list.
    refused(&run(&with("0.0.0.0/0"), Some("10.0.0.0/8"), None), "127.0.0.1", "CANDOR_ALLOW");
    assert_eq!(target.requests(), 3);
}

#[test]
fn a_list_that_cannot_be_read_forbids() {
    let once = ["-n", "1", "http://127.0.0.1:9/"];
    run(&once, Some("http://h/"), None)
        .assert_refused(USAGE, &["CANDOR_ALLOW: \"http://h/\" is not"]);
    run(&once, None, Some("alow = []")).assert_refused(USAGE, &["config.toml:1:1: unknown key"]);
}

#[test]
fn nothing_leads_around_a_list() {
    let target = Target::start(&[]);
    let url = target.url("/");
    let port = url.rsplit(':').next().unwrap().trim_end_matches('/').to_owned();
    let only = ["--allow", "127.0.0.1"];
    let with = |more: &[&str]| run(&[&only[..], more, &["-n", "1", &url]].concat(), None, None);
    refused(&with(&["--connect-to", "192.0.2.1:80"]), "192.0.2.1", "--allow");
    refused(&with(&["--resolve", &format!("127.0.0.1:{port}:192.0.2.1")]), "192.0.2.1", "--allow");
    refused(&with(&["--unix-socket", "/run/no.sock"]), "unix:/run/no.sock", "--allow");
    refused(&with(&["-t", "1", "-s", "s.lua"]), "192.0.2.1", "--allow");
    // An allowed name does not cover an address that `--resolve` gives it.
    let named = format!("localhost:{port}:192.0.2.1");
    let url = format!("http://localhost:{port}/");
    let named = ["--allow", "localhost", "--resolve", &named, "-n", "1", &url];
    refused(&run(&named, None, None), "192.0.2.1", "--allow");
    // Other commands and other tools have the same lists.
    let foreign = Some("10.0.0.0/8");
    let url = target.url("/");
    for arguments in [
        &["wrk", "-t1", "-c1", "-d100ms", &url][..],
        &["h2load", "--h1", "-n1", "-c1", &url],
        &["peak", "-d", "100ms", &url],
        &["compare", "--rounds", "6", "-d", "100ms", &url, &url],
        // The embedded target, too: it is at 127.0.0.1.
        &["-n", "1"],
        &["-n", "1", "--target", "no-such-server", "--target-ready", &url],
        &["-n", "1", "--target", "no-such-server", "--target-ready", "tcp:127.0.0.1:9"],
    ] {
        let outcome = run(arguments, foreign, None);
        refused(&outcome, "127.0.0.1", "CANDOR_ALLOW");
    }
    assert_eq!(target.requests(), 0);
    // The lists apply to the server's own count as well.
    assert!(!Path::new("/run/no.sock").exists());
}

#[test]
fn suites_have_the_same_lists() {
    let target = Target::start(&[]);
    let suite = format!(
        "name = 'tiny'\nscenarios = ['hello']\nprotocols = ['h1']\nrounds = 1\n\
         [run]\nconnections = 1\nduration = '100ms'\n[[load]]\nname = 'closed'\n\
         [[server]]\nname = 'there'\nscenarios = ['hello']\nurl = '{}'\n",
        target.url("/")
    );
    let bench = |more: &'static [&'static str]| {
        let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
            fs::write(directory.join("tiny.toml"), &suite).unwrap();
            command.args(["bench", "tiny.toml"]).args(more).current_dir(directory);
            command.env("XDG_CONFIG_HOME", directory).env_remove("CANDOR_ALLOW");
        });
        run.finish()
    };
    let foreign = bench(&["--allow", "10.0.0.0/8"]);
    assert_ne!(foreign.code(), 0);
    assert!(foreign.stderr.contains("127.0.0.1 is not allowed by --allow"), "{}", foreign.stderr);
    assert_eq!(target.requests(), 0);
    assert_eq!(bench(&["--allow", "127.0.0.1"]).code(), 0);
}
