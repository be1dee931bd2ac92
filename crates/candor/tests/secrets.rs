//! No output has a secret that a user typed: a run gets one word in every option that may contain a
//! secret, and all of its files and output are searched for that word.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::common::{CANDOR, Candor, Outcome, Target, candor};

/// The secret.
const SECRET: &str = "HUNTER2secret";

/// Header fields with it, whose names are not known to be secret.
const FIELDS: [&str; 12] = [
    "X-Access-Key: %",
    "X-Functions-Key: %",
    "Ocp-Apim-Subscription-Key: %",
    "X-Session-Id: %",
    "X-JWT: %",
    "X-Credential: %",
    "X-Passwd: %",
    "X-Anything: %",
    "Authorization: Bearer %",
    "X-Forwarded-Auth: Basic %",
    "User-Agent: me Bearer %",
    "Cookie: session=%",
];

fn filled(text: &str) -> String {
    text.replace('%', SECRET)
}

/// The command of a server in `directory` that accepts any arguments, with secrets among them.
fn server(directory: &Path) -> String {
    let path = directory.join("server.sh");
    // The last two are --port-file FILE.
    let text =
        format!("#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\nexec {CANDOR} serve \"$@\"\n");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let secrets = "--db-password % --x-token=% -p% DB=% --db postgres://u:%@h/d?k=% Bearer %";
    format!("{} {}", path.display(), filled(secrets))
}

/// All files in a directory and below it, as text; a trace contains names, too.
fn texts(directory: &Path, all: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => texts(&path, all),
            false => {
                let bytes = fs::read(&path).unwrap();
                let text = String::from_utf8_lossy(&bytes).into_owned();
                all.push((path.display().to_string(), text));
            }
        }
    }
}

/// Asserts that the secret is in no output and no file of a run, except in the `given` files.
fn assert_hidden(outcome: &Outcome, given: &[&str]) {
    let mut all = Vec::new();
    texts(&outcome.path(""), &mut all);
    assert!(all.len() >= 2, "{all:?}");
    for (name, text) in all {
        if given.iter().any(|one| name.ends_with(one)) {
            continue;
        }
        if let Some(at) = text.find(SECRET) {
            let around = &text[text.floor_char_boundary(at.saturating_sub(200))..at];
            panic!("{name} has it behind: {around}");
        }
    }
}

/// A run with a secret in every possible place, and with every output.
fn run(more: &[&str]) -> Outcome {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        fs::write(directory.join("s.lua"), "function init(args) end").unwrap();
        for field in FIELDS {
            command.args(["-H", &filled(field)]);
        }
        command.args(["-c", "1", "-n", "20", "--expect-status", "299", "-s", "s.lua"]);
        command.arg("--allow-failures");
        command.args(["--report", "full"]);
        command.args(["-X", "POST", "-b", &filled("{\"password\":\"%\"}")]);
        command.args(["--script-arg", SECRET, "--target-env", &filled("CANDOR_TEST=%")]);
        command.args(["--target", &server(directory)]);
        for form in ["json", "csv", "html", "hgrm", "hlog", "trace"] {
            command.args([format!("--{form}"), format!("run.{form}")]);
        }
        command.args(more).current_dir(directory);
    });
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    outcome
}

/// `candor report` in every form, of a result of `outcome`.
fn reports(outcome: &Outcome, file: &str, forms: &[&str]) -> String {
    let path = outcome.path(file);
    let of = |form: &&str| {
        let again = candor(&["report", path.to_str().unwrap(), "--format", form]);
        assert_eq!(again.code(), 0, "{form}: {}", again.stderr);
        again.stdout + &again.stderr
    };
    forms.iter().map(of).collect()
}

#[test]
fn a_run_gives_no_secret_away() {
    let outcome = run(&[]);
    assert_hidden(&outcome, &["server.sh"]);
    let forms = ["text", "json", "csv", "html", "markdown", "hgrm", "hgrm-service", "hlog"];
    let again = reports(&outcome, "run.json", &forms) + &reports(&outcome, "run.trace", &["csv"]);
    assert!(!again.contains(SECRET), "{again}");
    // The rest is still useful: names, the command's options, and the note that something is
    // missing.
    for text in [&outcome.stdout, &outcome.file("run.html")] {
        for word in ["--db-password", "--target-env", "--show-secrets", "put them back in place"] {
            assert!(text.contains(word), "{word} is not in {text}");
        }
    }
    let document = outcome.file("run.json");
    assert!(document.contains("X-Functions-Key") && document.contains("\"left-out\""));
}

#[test]
fn who_wants_them_has_them() {
    let outcome = run(&["--show-secrets"]);
    for name in ["run.json", "run.html", ".stdout"] {
        assert!(outcome.file(name).contains(SECRET), "{name}");
    }
    let count = outcome.file("run.json").matches(SECRET).count();
    assert!(count > 25, "{count}");
    assert!(!outcome.stdout.contains("put them back in place"));
}

#[test]
fn urls_keep_the_names_of_parameters() {
    let target = Target::start(&[]);
    let address = target.url("/").replace("http://", "");
    let url = format!("http://me:{SECRET}@{address}?access_token={SECRET}&page={SECRET}");
    let all = ["-n", "5", "--expect-status", "299", "--html", "run.html", "--trace", "run.trace"];
    let outcome = Candor::start_measuring(&[&all[..], &[&url]].concat()).finish();
    assert_hidden(&outcome, &[]);
    assert!(outcome.stdout.contains("access_token=…&page=…"), "{}", outcome.stdout);
    // A plan can set it too.
    let plan = |show: bool| {
        let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
            let text = format!("url = '{url}'\nrequests = 5\nshow-secrets = {show}\n");
            fs::write(directory.join("p.toml"), text).unwrap();
            command.args(["run", "p.toml", "--json", "result.json"]).current_dir(directory);
        });
        run.finish()
    };
    assert_hidden(&plan(false), &["p.toml"]);
    assert!(plan(true).file("result.json").contains(SECRET));
}

#[test]
fn wrk_and_h2load_hide_them_as_well() {
    let target = Target::start(&[]);
    let url = format!("{}?access_token={SECRET}", target.url("/"));
    let field = filled("X-Access-Key: %");
    let tools = |more: &'static [&'static str]| {
        let wrk = Candor::start_as(Command::new(CANDOR), |directory, command| {
            fs::write(directory.join("s.lua"), "function init(args) end").unwrap();
            command.args(["wrk", "-t1", "-c1", "-d200ms", "-H", &field, "-s", "s.lua"]).args(more);
            command.args(["--result", "result.json", &url, "--", SECRET]).current_dir(directory);
        });
        let h2load = Candor::start_as(Command::new(CANDOR), |directory, command| {
            command.args(["h2load", "--h1", "-n5", "-c1", "-H", &field, "--log-file", "log"]);
            command.args(more).args(["--result", "result.json", &url, &format!("/b?k={SECRET}")]);
            command.current_dir(directory);
        });
        [wrk.finish(), h2load.finish()]
    };
    for outcome in tools(&[]) {
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        assert_hidden(&outcome, &[]);
        assert!(!reports(&outcome, "result.json", &["text", "html"]).contains(SECRET));
    }
    for outcome in tools(&["--show-secrets"]) {
        assert!(outcome.file("result.json").matches(SECRET).count() > 3);
    }
}

#[test]
fn comparisons_and_sweeps_hide_them_as_well() {
    let target = Target::start(&[]);
    let url = format!("{}?access_token={SECRET}", target.url("/"));
    let outputs = ["--json", "r.json", "--csv", "r.csv", "--html", "r.html", "--markdown", "r.md"];
    let field = filled("X-Access-Key: %");
    let short = ["-c", "1", "-d", "150ms", "--warm-up", "0", "-H", &field, "--keep", "kept"];
    let compare = Candor::start_as(Command::new(CANDOR), |directory, command| {
        command.args(["compare", "--rounds", "6", &format!("a={url}")]).args(short).args(outputs);
        command.arg(format!("b={}", server(directory))).current_dir(directory);
    });
    let sweep = Candor::start_as(Command::new(CANDOR), |directory, command| {
        command.args(["sweep", "--rounds", "1", "--peak", "200", &url]).args(short).args(outputs);
        command.current_dir(directory);
    });
    for outcome in [compare.finish(), sweep.finish()] {
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        assert_hidden(&outcome, &["server.sh"]);
        assert!(outcome.file("r.json").contains("access_token=…"), "{}", outcome.file("r.json"));
        assert!(!reports(&outcome, "r.json", &["text", "markdown", "html"]).contains(SECRET));
    }
}

#[test]
fn suites_hide_them_as_well() {
    let suite = |directory: &Path| {
        let command = server(directory);
        let words: Vec<_> = command.split(' ').map(|word| format!("{word:?}")).collect();
        format!(
            "name = 'tiny'\nscenarios = ['mine']\nprotocols = ['h1']\nrounds = 1\n\
             [run]\nconnections = 1\nduration = '150ms'\nwarm-up = '0s'\n\
             [run.header]\nX-Access-Key = '{SECRET}'\n\
             [[load]]\nname = 'closed'\n\
             [[scenario]]\nname = 'mine'\n[[scenario.request]]\nmethod = 'POST'\n\
             path = '/?access_token={SECRET}'\nbody = '{SECRET}'\n\
             [[server]]\nname = 'mine'\nscenarios = ['mine']\ncommand = [{}]\nenv = {{ TOKEN = '{SECRET}' }}\n",
            words.join(", ")
        )
    };
    let bench = |more: &'static [&'static str]| {
        let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
            fs::write(directory.join("tiny.toml"), suite(directory)).unwrap();
            command.args(["bench", "tiny.toml"]).args(more).current_dir(directory);
        });
        run.finish()
    };
    let outcome = bench(&[]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert_hidden(&outcome, &["server.sh", "tiny.toml"]);
    assert!(outcome.file("tiny-results/README.md").contains("--db-password"));
    assert!(bench(&["--show-secrets"]).file("tiny-results/suite.json").contains(SECRET));
}

#[test]
fn what_is_refused_does_not_repeat_them() {
    let directory = tempfile::tempdir().unwrap();
    let plan = directory.path().join("p.toml");
    let plan = plan.to_str().unwrap();
    let refused = |arguments: &[&str]| {
        let outcome = candor(arguments);
        assert!([1, 2].contains(&outcome.code()), "{arguments:?}: {}", outcome.stderr);
        let said = outcome.stdout + &outcome.stderr;
        assert!(!said.is_empty() && !said.contains(SECRET), "{arguments:?}: {said}");
    };
    let (user, port) = (format!("http://me:{SECRET}@h:99999/"), format!("http://me:{SECRET}#@h/"));
    refused(&["-H", SECRET, "http://127.0.0.1:9/"]);
    refused(&["--target", "s", "--target-env", SECRET]);
    refused(&["--target", &format!("s --password '{SECRET}")]);
    refused(&[&user]);
    refused(&[&port]);
    refused(&["http://127.0.0.1:9/", &user]);
    refused(&["compare", &format!("no-such-program --password {SECRET}"), "http://h/"]);
    refused(&["wrk", "-H", SECRET, "http://127.0.0.1:9/"]);
    refused(&["wrk", &format!("h/?k={SECRET}")]);
    refused(&["h2load", &format!("h/?k={SECRET}")]);
    refused(&["-n", "1", &format!("http://127.0.0.1:9/?k={SECRET}")]);
    for text in [
        format!("url = '{user}'"),
        format!("script-arg = {{ a = '{SECRET}' }}"),
        format!("header = ['{SECRET}']"),
        format!("[[request]]\npath = '{SECRET}'"),
    ] {
        fs::write(plan, text).unwrap();
        refused(&["run", plan]);
    }
}
