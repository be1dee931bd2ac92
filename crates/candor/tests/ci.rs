//! `candor ci`: base against head, as commands and as revisions; and the commands of the workflows that the sources have,
//! in a repository as a runner has it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::common::{CANDOR, Candor, Outcome, candor};
use serde_json::Value;
use tempfile::TempDir;

/// Three servers for each of seven rounds, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(150);

/// Runs of a tenth of a second, as few rounds as can decide.
const SHORT: [&str; 9] = ["-c", "2", "-d", "100ms", "--warm-up", "0", "--rounds", "7", "--no-keep"];

/// `candor ci` with these arguments, and its comparison.
fn ci(arguments: &[&str]) -> (Outcome, Value) {
    let all = [&["ci"][..], &SHORT, arguments].concat();
    let outcome = Candor::start_measuring(&all).finish_within(PATIENCE).unwrap();
    let document = serde_json::from_str(&outcome.file("result.json"))
        .unwrap_or_else(|error| panic!("{error}: {}{}", outcome.stdout, outcome.stderr));
    (outcome, document)
}

fn names(document: &Value) -> Vec<&str> {
    let variants = document["variants"].as_array().unwrap();
    variants.iter().map(|one| one["name"].as_str().unwrap()).collect()
}

/// Where no run can be made, each command says why in one sentence, and what CI reads has a failure and nothing that
/// passes.
#[test]
fn without_a_run_nothing_passes() {
    let nowhere = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    let short = ["-c", "2", "-d", "100ms", "--no-keep", "-q"];
    for (command, targets) in [
        (&["run"][..], 1),
        (&["peak"], 1),
        (&["sweep", "--rates", "100"], 1),
        (&["compare", "--rounds", "6"], 2),
        (&["ci"], 2),
    ] {
        let outputs =
            ["--out", "junit:ci.xml", "--out", "github:ci.txt", "--out", "gitlab:ci.prom"];
        let urls = vec![nowhere.as_str(); targets];
        let outcome = candor(&[command, &short, &outputs, &urls].concat());
        outcome.assert_refused(
            1,
            &["cannot connect to 127.0.0.1", "check that the server is running"],
        );
        let said = outcome.stderr.lines().filter(|line| !line.contains("--most-time"));
        assert_eq!((said.count(), outcome.stdout.as_str()), (1, ""), "{}", outcome.stderr);
        let junit = outcome.file("ci.xml");
        let cases = junit.matches("<testcase ").count();
        assert_eq!(junit.matches("</testcase>").count(), cases, "{command:?}: {junit}");
        assert!(cases >= 1 && junit.contains("<failure "), "{command:?}: {junit}");
        assert!(junit.contains("check that the server is running"), "{command:?}: {junit}");
        assert!(outcome.file("ci.txt").starts_with("::error "), "{}", outcome.file("ci.txt"));
        let metrics = outcome.file("ci.prom");
        assert!(!metrics.lines().any(|line| line.ends_with(" 1")), "{command:?}: {metrics}");
    }
}

#[test]
fn base_is_measured_twice_in_each_round_and_each_order_occurs() {
    let gate = ["--primary", "p50", "--fail-if-slower", "900%", "--expect", "p50 < 10s"];
    let outputs = ["--out", "junit:ci.xml", "--out", "github:ci.txt"];
    let (outcome, document) = ci(&[&gate[..], &outputs, &["embedded", "embedded"]].concat());
    assert!([0, 6].contains(&outcome.code()), "{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(names(&document), ["base", "base-again", "head"]);
    assert_eq!(document["noise"]["variant"], 1);
    assert!(outcome.stdout.contains("The noise floor"), "{}", outcome.stdout);
    let mut orders: Vec<Vec<u64>> = (1..=7u64)
        .map(|round| {
            let place = |variant: &Value| {
                let trials = variant["trials"].as_array().unwrap().iter();
                let mut own = trials.filter(|one| one["round"] == round);
                own.next().unwrap()["position"].as_u64().unwrap()
            };
            document["variants"].as_array().unwrap().iter().map(place).collect()
        })
        .collect();
    orders.sort();
    orders.dedup();
    assert_eq!(orders.len(), 6, "{orders:?}");
    assert_eq!(document["expectations"][0]["expression"], "head: p50 < 10s");
    assert_eq!(document["expectations"][0]["outcome"], "met");
    assert!(outcome.file("ci.xml").contains("name=\"head: p50 &lt; 10s\""));
    assert!(outcome.file("ci.txt").starts_with("::"), "{}", outcome.file("ci.txt"));
    let saved = outcome.path("result.json");
    let again = candor(&["report", saved.to_str().unwrap(), "--format", "gitlab"]);
    assert!(again.stdout.contains("candor_slower{variant=\"head\"} "), "{}", again.stdout);
    assert!(!again.stdout.contains("base-again"), "{}", again.stdout);
}

#[test]
fn a_head_that_answers_nothing_but_errors_or_hangs_or_does_not_start_is_red() {
    let why = |head: &str| {
        let flags = ["--drain", "0s", "--report", "none"];
        let (outcome, document) = ci(&[&flags[..], &["embedded", head]].concat());
        assert_eq!(outcome.code(), 3, "{head}: {}{}", outcome.stdout, outcome.stderr);
        let judgement = &document["limit"]["judgements"][0];
        assert_eq!(judgement["outcome"], "not-met");
        let sentence = judgement["sentence"].as_str().unwrap().to_owned();
        assert!(outcome.stderr.contains("not met, "), "{}", outcome.stderr);
        sentence
    };
    let errors = why("embedded --path /status/503");
    assert!(errors.contains("no request of head succeeded in 7 of 7 runs ("), "{errors}");
    assert!(errors.contains(" × status 503"), "{errors}");
    let hang = why("embedded --path /fault/hang");
    assert!(hang.contains("no request of head succeeded in 7 of 7 runs (2 × unfinished"), "{hang}");
    let missing = why("false {port}");
    assert!(missing.contains("head could not be measured: target head: "), "{missing}");
}

#[test]
fn a_base_that_does_not_start_is_an_error() {
    let (outcome, document) = ci(&["base=false {port}", "head=embedded"]);
    assert_eq!(outcome.code(), 1, "{}", outcome.stderr);
    // The report has the reason, under the name that was given, whichever of the two runs of base came first.
    let why = "base could not be measured: target base: ";
    let sentence = document["limit"]["judgements"][0]["sentence"].as_str().unwrap();
    assert!(sentence.contains(why), "{sentence}");
    let words: Vec<&str> = outcome.stdout.split_whitespace().collect();
    let has_runs = document["started_at"] != "";
    assert_eq!(words.join(" ").contains(why), has_runs, "{}", outcome.stdout);
    assert!(!outcome.stderr.contains("target base-again"), "{}", outcome.stderr);
}

#[test]
fn a_base_of_which_no_request_succeeds_is_an_error() {
    for (path, kind) in [("/status/500", "× status 500"), ("/fault/hang", "2 × unfinished")] {
        let base = format!("base=embedded --path {path}");
        let arguments = ["--drain", "0s", "--primary", "p50", "--report", "none"];
        let (outcome, document) = ci(&[&arguments[..], &[&base, "head=embedded"]].concat());
        assert_eq!(outcome.code(), 1, "{path}: {}{}", outcome.stdout, outcome.stderr);
        let why = "no request of base succeeded in 7 of 7 runs (";
        assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(kind), "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("times as long"), "{}", outcome.stderr);
        assert!(!document["cautions"].to_string().contains("left out"));
    }
}

#[test]
fn what_cannot_be_measured_in_turn_is_refused() {
    let refused = |arguments: &[&str], word: &str| {
        candor(&[&["ci"], arguments].concat()).assert_refused(2, &[word]);
    };
    refused(&[], "needs a base and a head");
    refused(&["embedded"], "needs a base and a head");
    refused(&["--base", "HEAD", "--head", "HEAD"], "--run");
    refused(&["a.json,b.json", "embedded"], "`candor compare` compares saved results");
    refused(&["embedded", "embedded", "--rounds", "6"], "make at least 7");
    refused(&["embedded", "embedded", "--abort-if", "errors > 1%"], "--abort-if");
}

/// A repository with two commits, each with a build script; and a directory of programs with candor in it.
struct Repository(TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Repository(tempfile::tempdir().unwrap());
        fs::create_dir_all(repository.path("work")).unwrap();
        fs::create_dir_all(repository.path("bin")).unwrap();
        symlink(CANDOR, repository.path("bin/candor")).unwrap();
        repository.git(&["init", "--quiet", "--initial-branch", "main"]);
        for (name, value) in [("user.email", "a@example.com"), ("user.name", "A")] {
            repository.git(&["config", name, value]);
        }
        for flags in ["--threads 1", "--fault close"] {
            // It takes --port PORT, or the arguments of a managed target.
            let server = format!(
                "#!/bin/sh\nif [ \"$1\" = --port ]; then set -- --listen 127.0.0.1:$2; fi\n\
                 exec candor serve {flags} \"$@\"\n"
            );
            let build = format!(
                "#!/bin/sh\necho building\ncat >server <<'END'\n{server}END\nchmod +x server\n"
            );
            fs::write(repository.path("work/build"), build).unwrap();
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(repository.path("work/build"), mode).unwrap();
            repository.git(&["add", "build"]);
            repository.git(&["commit", "--quiet", "--no-gpg-sign", "-m", flags]);
        }
        repository.git(&["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
        repository
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        let made = git.arg("-C").arg(self.path("work")).args(arguments).output().unwrap();
        assert!(made.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&made.stderr));
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    }

    fn command(&self, program: &str) -> Command {
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(program);
        command.current_dir(self.path("work")).env("PATH", path).env("HOME", self.0.path());
        command
    }

    /// No worktree is left.
    fn assert_clean(&self) {
        assert_eq!(self.git(&["worktree", "list"]).lines().count(), 1);
    }
}

#[test]
fn two_revisions_are_built_and_measured_and_leave_nothing() {
    let repository = Repository::new();
    let run = |flags: &[&str]| {
        let mut command = repository.command(CANDOR);
        command.arg("ci").args(SHORT).args(flags).output().unwrap()
    };
    let revisions = ["--base", "HEAD~1", "--head", "main", "--build", "./build"];
    let made = run(&[&revisions[..], &["--run", "./server", "--json", "ci.json"]].concat());
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    assert_eq!(made.status.code(), Some(3), "{said}{}", String::from_utf8_lossy(&made.stdout));
    let text = fs::read_to_string(repository.path("work/ci.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let head = repository.git(&["rev-parse", "--short=10", "HEAD"]);
    assert_eq!(document["variants"][2]["source"], format!("main ({head}): ./server"));
    let sentence = document["limit"]["judgements"][0]["sentence"].as_str().unwrap();
    assert!(sentence.contains("no request of head succeeded"), "{sentence}");
    repository.assert_clean();

    let broken = ["--base", "HEAD~1", "--head", "main", "--build", "echo why; exit 7"];
    let made = run(&[&broken[..], &["--run", "./server"]].concat());
    let said = String::from_utf8_lossy(&made.stderr);
    assert_eq!(made.status.code(), Some(1), "{said}");
    assert!(said.contains("build of HEAD~1: it ended with exit status 7") && said.contains("why"));
    let unknown = run(&["--base", "no-such", "--head", "main", "--run", "./server"]);
    assert_eq!(unknown.status.code(), Some(2));
    repository.assert_clean();
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn yaml(text: &str) -> Value {
    let program = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.argv[1])))";
    let output = Command::new("python3").args(["-c", program, text]).output().unwrap();
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{why}; scripts/need-peers installs what is missing");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The steps of a workflow that are commands of a shell.
fn commands(steps: &Value) -> Vec<&Value> {
    steps.as_array().unwrap().iter().filter(|step| step["run"].is_string()).collect()
}

/// Runs a step's text in the repository, with short runs: its exit code.
fn run_step(repository: &Repository, text: &str, env: &[(&str, &str)]) -> Option<i32> {
    let short = |text: &str| {
        text.replace("-c 50 -d 5s", "-c 2 -d 100ms --warm-up 0 --rounds 7")
            .replace("-R 500", "-R 200")
    };
    let mut command = repository.command("bash");
    command.args(["-e", "-o", "pipefail", "-c", &short(text)]);
    command.envs(env.iter().map(|(name, value)| (*name, short(value))));
    command.env("GITHUB_STEP_SUMMARY", repository.path("summary"));
    command.env("GITHUB_OUTPUT", repository.path("output"));
    let made = command.output().unwrap();
    let said = String::from_utf8_lossy(&made.stdout) + String::from_utf8_lossy(&made.stderr);
    let is_github = env.iter().all(|(name, _)| *name != "CI_COMMIT_SHA");
    let annotation = "::error title=head works::no request of head succeeded";
    assert!(!is_github || said.contains(annotation), "{said}");
    repository.assert_clean();
    made.status.code()
}

/// The workflow of the guide, the action and the template do what they say: head fails, and the job too.
#[test]
fn the_steps_of_the_workflows_run() {
    let repository = Repository::new();
    let page = fs::read_to_string(root().join("docs/ci.md")).unwrap();
    let block = page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let workflow = yaml(block);
    let steps = commands(&workflow["jobs"]["performance"]["steps"]);
    assert_eq!(steps.len(), 1);
    let text = steps[0]["run"].as_str().unwrap();
    assert_eq!(run_step(&repository, text, &[("GITHUB_BASE_REF", "main")]), Some(3));
    let summary = fs::read_to_string(repository.path("summary")).unwrap();
    assert!(summary.contains("| ❌ not met | head works |"), "{summary}");

    let action = yaml(&fs::read_to_string(root().join("deploy/github/action.yml")).unwrap());
    let step = commands(&action["runs"]["steps"])[0];
    let given = |input: &str| match input {
        "base" => "origin/main".to_owned(),
        "build" => "./build".to_owned(),
        "run" => "./server --port-file {port_file} --standalone".to_owned(),
        "expect" => "p50 < 10s\nerror-rate < 1%\n".to_owned(),
        input => action["inputs"][input]["default"].as_str().unwrap().to_owned(),
    };
    let env: Vec<(&str, String)> = step["env"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| {
            let input = value.as_str().unwrap();
            let input = input.strip_prefix("${{ inputs.").unwrap().strip_suffix(" }}").unwrap();
            (name.as_str(), given(input))
        })
        .collect();
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(run_step(&repository, step["run"].as_str().unwrap(), &env), Some(3));
    assert_eq!(fs::read_to_string(repository.path("output")).unwrap(), "code=3\n");
    let junit = fs::read_to_string(repository.path("work/candor.xml")).unwrap();
    assert!(junit.contains("name=\"head: error-rate &lt; 1%\""), "{junit}");

    let text = fs::read_to_string(root().join("deploy/gitlab/candor.gitlab-ci.yml")).unwrap();
    let job = &yaml(&text)[".candor"];
    let (base, head) =
        (repository.git(&["rev-parse", "HEAD~1"]), repository.git(&["rev-parse", "HEAD"]));
    let variables = job["variables"].as_object().unwrap();
    let mut env: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
    env.extend([("CANDOR_BUILD", "./build"), ("CANDOR_RUN", "./server")]);
    env.extend([("CI_MERGE_REQUEST_DIFF_BASE_SHA", base.as_str()), ("CI_COMMIT_SHA", &head)]);
    assert_eq!(run_step(&repository, job["script"][0].as_str().unwrap(), &env), Some(3));
    assert_eq!(job["allow_failure"]["exit_codes"], serde_json::json!([6]));
    for (kind, file) in job["artifacts"]["reports"].as_object().unwrap() {
        assert!(repository.path("work").join(file.as_str().unwrap()).exists(), "{kind}");
    }
    let quality = fs::read_to_string(repository.path("work/candor-quality.json")).unwrap();
    let quality: Value = serde_json::from_str(&quality).unwrap();
    assert_eq!(quality[0]["severity"], "critical");
}
