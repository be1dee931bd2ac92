//! `candor bench` from the outside: small suites against the embedded target, in seconds.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{CANDOR, Candor, Outcome, assert_valid};
use crate::tls;
use candor_testkit::nginx::Nginx;
use rustix::process::Signal;

pub(crate) const TINY: &str = r#"
name = "tiny"
scenarios = ["hello", "json"]
protocols = ["h1"]
rounds = 2

[run]
connections = 2
threads = 1
duration = "150ms"

[[load]]
name = "closed"

[[load]]
name = "tail"
of-peak = ["50%"]

[[server]]
name = "embedded"
embedded = true

[[server]]
name = "elsewhere"
command = ["/no/such/server"]
url = "http://127.0.0.1:{port}/"
scenarios = ["hello"]
"#;

/// `candor` with these arguments, in a directory that has this suite.
fn start(directory: &Path, suite: &str, arguments: &[&str]) -> Candor {
    fs::write(directory.join("tiny.toml"), suite).unwrap();
    Candor::start_as(Command::new(CANDOR), |_, command| {
        command.args(arguments).current_dir(directory);
    })
}

pub(crate) fn ran(directory: &Path, suite: &str, arguments: &[&str]) -> Outcome {
    start(directory, suite, arguments).finish()
}

pub(crate) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn trials(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory.join("tiny-results/trials"))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

/// A server has a work directory of its own: what an interpreter is to read is named beside the suite.
#[test]
fn a_command_names_files_beside_its_suite() {
    let directory = tempfile::tempdir().unwrap();
    let suites = directory.path().join("suites");
    fs::create_dir(&suites).unwrap();
    fs::write(suites.join("server.sh"), "exec \"$1\" serve --listen 127.0.0.1:\"$2\"\n").unwrap();
    let suite = |folder: &str| {
        let command = format!("[\"sh\", \"{folder}/server.sh\", \"{{candor}}\", \"{{port}}\"]");
        let server = format!("name = \"own\"\ncommand = {command}\nscenarios = [\"hello\"]\n");
        let run =
            "rounds = 1\nprotocols = [\"h1\"]\n[run]\nconnections = 2\nduration = \"100ms\"\n";
        format!("{run}[[server]]\n{server}url = \"http://127.0.0.1:{{port}}/\"\n")
    };
    for (folder, code) in [("{suite}", 0), (".", 1)] {
        fs::write(suites.join("own.toml"), suite(folder)).unwrap();
        let outcome = Candor::start_as(Command::new(CANDOR), |_, command| {
            command.args(["bench", "suites/own.toml", "--out", &format!("results-{code}")]);
            command.current_dir(directory.path());
        });
        let outcome = outcome.finish();
        assert_eq!(outcome.code(), code, "{folder}: {}{}", outcome.stdout, outcome.stderr);
        // The server's last words are in one line with the outcome.
        assert!(!outcome.stderr.contains("\\n"), "{}", outcome.stderr);
    }
}

#[test]
fn a_suite_becomes_a_directory_that_says_everything() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = ran(directory.path(), TINY, &["bench", "tiny.toml"]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    // Two scenarios, closed and at half of the peak, in two rounds.
    assert_eq!(trials(directory.path()).len(), 8, "{:?}", trials(directory.path()));
    let read =
        |name: &str| fs::read_to_string(directory.path().join("tiny-results").join(name)).unwrap();
    let readme = read("README.md");
    for part in [
        "# Benchmark results: tiny",
        "### HTTP/1.1",
        "| `hello` | 2 | ",
        "### json, h1, tail",
        "| embedded | 50 % | ",
        "## Resources",
        "- Left out: elsewhere: the program /no/such/server is not installed here",
        "candor bench tiny.toml",
    ] {
        assert!(readme.contains(part), "{part} is not in\n{readme}");
    }
    let csv = read("results.csv");
    let mut lines = csv.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| columns.iter().position(|one| *one == name).unwrap();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 8);
    for row in &rows {
        // On a busy machine, an open load may have unsent requests at its end.
        if row[column("load")] == "closed" {
            assert_eq!(row[column("failed")], "0", "{row:?}");
        }
        assert!(row[column("rate_per_s")].parse::<f64>().unwrap() > 0.0);
        // A managed server: its resources are known.
        assert!(row[column("rss_peak_bytes")].parse::<u64>().unwrap() > 1 << 20, "{row:?}");
    }
    // Half of the peak of the same scenario.
    let of = |scenario: &str, load: &str, name: &str| -> f64 {
        let is_it = |row: &&Vec<&str>| {
            (row[column("scenario")] == scenario && row[column("load")] == load)
                && row[column("representative")] == "1"
        };
        rows.iter().find(is_it).unwrap()[column(name)].parse().unwrap()
    };
    let (peak, asked) = (of("hello", "closed", "rate_per_s"), of("hello", "tail", "asked_per_s"));
    assert!((asked / peak - 0.5).abs() < 0.01, "{asked} of {peak}");
    let suite: serde_json::Value = serde_json::from_str(&read("suite.json")).unwrap();
    assert_valid("suite", &suite);
    assert_eq!(suite["complete"], true);

    // A second run has nothing left to do.
    let begun = Instant::now();
    let again = ran(directory.path(), TINY, &["bench", "tiny.toml"]);
    assert_eq!(again.code(), 0);
    assert!(again.stderr.contains("8 of 8 trials exist already"), "{}", again.stderr);
    assert!(begun.elapsed() < Duration::from_secs(20));
    // The same directory with other options.
    let other = ran(directory.path(), TINY, &["bench", "tiny.toml", "-d", "1s"]);
    other.assert_refused(2, &["tiny-results", "--out"]);
}

#[test]
fn an_interrupted_suite_goes_on_where_it_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["bench", "tiny.toml", "--loads", "closed", "--rounds", "3"];
    let running = start(directory.path(), TINY, &arguments);
    let begun = Instant::now();
    while trials(directory.path()).len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(30), "no trial was made");
        std::thread::sleep(Duration::from_millis(5));
    }
    running.signal(Signal::INT);
    let outcome = running.finish();
    assert_eq!(outcome.code(), 130, "{}{}", outcome.stdout, outcome.stderr);
    let made = trials(directory.path());
    assert!((2..6).contains(&made.len()), "{made:?}");
    let readme = directory.path().join("tiny-results/README.md");
    assert!(fs::read_to_string(&readme).unwrap().contains("**NOT COMPLETE**"));
    let stamp = |name: &str| {
        let path = directory.path().join("tiny-results/trials").join(name);
        fs::metadata(path).unwrap().modified().unwrap()
    };
    let stamps: Vec<_> = made.iter().map(|name| stamp(name)).collect();

    let outcome = ran(directory.path(), TINY, &arguments);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(trials(directory.path()).len(), 6);
    assert_eq!(stamps, made.iter().map(|name| stamp(name)).collect::<Vec<_>>());
    assert!(!fs::read_to_string(&readme).unwrap().contains("NOT COMPLETE"));
}

#[test]
fn two_suites_in_one_directory_do_not_mix_and_a_killed_one_blocks_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["bench", "tiny.toml", "--loads", "closed", "--scenarios", "hello"];
    let first = start(directory.path(), TINY, &[&arguments[..], &["-d", "2s"]].concat());
    let begun = Instant::now();
    while !directory.path().join("tiny-results/suite.json").exists() {
        assert!(begun.elapsed() < Duration::from_secs(30), "nothing began");
        std::thread::sleep(Duration::from_millis(5));
    }
    let holder = format!("(process {})", first.pid());
    ran(directory.path(), TINY, &arguments)
        .assert_refused(2, &["tiny-results", "another candor bench", &holder, "--out"]);
    // Nothing listens at the other address.
    let elsewhere = ran(directory.path(), TINY, &[&arguments[..], &["--out", "else"]].concat());
    assert_eq!(elsewhere.code(), 0, "{}", elsewhere.stderr);

    first.signal(Signal::KILL);
    first.finish();
    let again = ran(directory.path(), TINY, &[&arguments[..], &["-d", "2s"]].concat());
    assert_eq!(again.code(), 0, "{}{}", again.stdout, again.stderr);
    assert_eq!(trials(directory.path()).len(), 2);
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |suite: &str, arguments: &[&str], words: &[&str]| {
        ran(directory.path(), suite, arguments).assert_refused(2, words);
        assert!(!directory.path().join("tiny-results").exists());
    };
    let typo = TINY.replace("embedded = true", "embeded = true");
    refused(&typo, &["bench", "tiny.toml"], &["tiny.toml:21:1", "did you mean \"embedded\""]);
    let wrong = TINY.replace("scenarios = [\"hello\"]", "scenarios = [\"helo\"]");
    refused(&wrong, &["bench", "tiny.toml"], &["tiny.toml:27:14", "did you mean \"hello\""]);
    refused(
        TINY,
        &["bench", "tiny.toml", "--servers", "elsewhere"],
        &["elsewhere", "/no/such/server is not installed here"],
    );
    refused(
        TINY,
        &["bench", "tiny.toml", "--servers", "elsewere"],
        &["no server \"elsewere\"", "did you mean \"elsewhere\""],
    );
    refused(TINY, &["bench", "nothing.toml"], &["cannot read the suite nothing.toml"]);
    refused(TINY, &["compare", "embedded", "embedded", "--rounds", "3"], &["at least 6"]);
    refused(TINY, &["compare", "embedded", "no-such-thing"], &["no-such-thing", "not a URL, plan"]);

    let listed = ran(directory.path(), TINY, &["bench", "tiny.toml", "--list"]);
    assert_eq!(listed.code(), 0);
    assert!(listed.stdout.contains("hello.h1.embedded.tail-50pct"), "{}", listed.stdout);
    let known = ran(directory.path(), TINY, &["bench", "--list-scenarios"]);
    assert_eq!(known.stdout.lines().filter(|line| !line.starts_with(' ')).count(), 45);
}

#[test]
fn a_server_that_dies_is_a_failure_and_the_suite_goes_on() {
    let suite = TINY.replace("\"/no/such/server\"", "\"/bin/false\"");
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["bench", "tiny.toml", "--loads", "closed", "--scenarios", "hello"];
    let outcome = ran(directory.path(), &suite, &arguments);
    assert_eq!(outcome.code(), 1, "{}{}", outcome.stdout, outcome.stderr);
    assert!(
        outcome.stdout.contains("Failed       hello h1 elsewhere closed round 1"),
        "{}",
        outcome.stdout
    );
    assert_eq!(trials(directory.path()).len(), 2, "the embedded target's");
}

#[test]
fn a_server_that_says_it_is_not_installed_is_left_out() {
    let lacks = r#"command = ["sh", "-c", "echo 'no such library: install it' >&2; exit 69"]"#;
    let suite = TINY.replace(r#"command = ["/no/such/server"]"#, lacks);
    let suite = suite.replace("url = \"http://127.0.0.1:{port}/\"\n", "");
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["bench", "tiny.toml", "--loads", "closed", "--scenarios", "hello"];
    let outcome = ran(directory.path(), &suite, &arguments);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let readme = fs::read_to_string(directory.path().join("tiny-results/README.md")).unwrap();
    assert!(readme.contains("- Left out: elsewhere: no such library: install it"), "{readme}");
    assert_eq!(trials(directory.path()).len(), 2, "the embedded target's");
    // A server that the user names has to be there, and one of all has to be.
    let named = [&arguments[..], &["--servers", "embedded,elsewhere", "--out", "named"]].concat();
    let named = ran(directory.path(), &suite, &named);
    assert_eq!(named.code(), 1, "{}{}", named.stdout, named.stderr);
    assert!(named.stdout.contains("target elsewhere: no such library"), "{}", named.stdout);
    let alone = suite.replace("embedded = true", lacks).replace("\"json\"", "\"hello\"");
    let alone =
        alone.replace("name = \"embedded\"\n", "name = \"alone\"\nscenarios = [\"hello\"]\n");
    let alone = ran(directory.path(), &alone, &[&arguments[..], &["--out", "alone"]].concat());
    assert_eq!(alone.code(), 1, "{}{}", alone.stdout, alone.stderr);
}

/// A server that profiles itself, by its arguments.
#[test]
fn servers_profile_themselves_where_the_suite_says_how() {
    let suite = r#"
name = "tiny"
scenarios = ["hello"]
protocols = ["h1"]
rounds = 1
[run]
connections = 1
threads = 1
duration = "100ms"
warm-up = "50ms"
[[server]]
name = "mine"
scenarios = ["hello"]
command = ["sh", "-c", """
(sleep 0.4; echo "$1 $2 $3 $4" >"$5") &
shift 5; exec {candor} serve "$@"
"""]
profile-arguments = ["sh", "{tool}", "{scope}", "{after}", "{for}", "{out}"]
[[server]]
name = "plain"
embedded = true
"#;
    let directory = tempfile::tempdir().unwrap();
    let profile = ["bench", "tiny.toml", "--profile", "--profile-tool", "fprof"];
    let outcome = ran(directory.path(), suite, &profile);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let results = directory.path().join("tiny-results");
    let file = results.join("profiles/hello.h1.mine.closed.r1.profile");
    assert_eq!(fs::read_to_string(file).unwrap(), "fprof server 50ms 100ms\n");
    let readme = fs::read_to_string(results.join("README.md")).unwrap();
    assert!(readme.contains("- Left out: plain: it does not profile itself"), "{readme}");
    let both = [&profile[..], &["--profile-command", "x"]].concat();
    ran(directory.path(), suite, &both).assert_refused(2, &["--profile", "--profile-command"]);
}

/// Starts a server by its arguments, and records them.
const EACH: &str = r#"
name = "tiny"
scenarios = ["hello", "json"]
protocols = ["h1", "h2", "h2-tls"]
rounds = 2

[run]
connections = 2
threads = 1
duration = "50ms"

[[server]]
name = "each"
scenarios = ["all"]
protocols = ["h1", "h2", "h2-tls"]
env = { SEEN = "HERE/seen" }
command = ["sh", "-c", """
echo {protocol} {scenario} >>"$SEEN"
case {protocol} in h2) tls=--tls ;; esac
exec {candor} serve $tls "$@"
""", "sh"]

[[server]]
name = "plain"
scenarios = ["all"]
protocols = ["h1", "h2-tls"]
command = ["sh", "-c", 'exec {candor} serve "$@"', "{protocol}"]
"#;

#[test]
fn a_server_is_started_for_each_protocol_and_scenario() {
    let directory = tempfile::tempdir().unwrap();
    let suite = EACH.replace("HERE", &directory.path().display().to_string());
    let outcome = ran(directory.path(), &suite, &["bench", "tiny.toml"]);
    assert_eq!(outcome.code(), 1, "{}{}", outcome.stdout, outcome.stderr);
    let seen = fs::read_to_string(directory.path().join("seen")).unwrap();
    let mut seen: Vec<&str> = seen.lines().collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, ["h1 hello", "h1 json", "h2 hello", "h2 json", "h2c hello", "h2c json"]);
    // A server without TLS is given up only for the TLS cells.
    let made = trials(directory.path());
    let of = |part: &str| made.iter().filter(|name| name.contains(part)).count();
    assert_eq!((of(".h1.plain."), of(".h2-tls.plain."), of(".each.")), (4, 0, 12), "{made:?}");
    let suite = fs::read_to_string(directory.path().join("tiny-results/suite.json")).unwrap();
    assert!(
        suite.contains("announces PROTOCOL=h1 in clear text, but h2-tls is to be measured"),
        "{suite}"
    );
    let suite: serde_json::Value = serde_json::from_str(&suite).unwrap();
    assert_valid("suite", &suite);
    assert_eq!(suite["servers"][0]["announced"]["protocol"], "h1");
    // Only the announced certificate is trusted.
    let file = directory.path().join("tiny-results/trials/hello.h2-tls.each.closed.r1.json");
    let trial = fs::read_to_string(file).unwrap();
    assert!(!trial.contains("tls-unverified"), "{trial}");
}

const PARTS: &str = r#"
name = "tiny"
scenarios = ["websocket_msg_throughput", "sse_fanout"]
protocols = ["h1"]
rounds = 1

[run]
connections = 4
threads = 1
duration = "600ms"

[[server]]
name = "embedded"
embedded = true

[[server]]
name = "plain"
command = ["sh", "-c", "exec {candor} serve"]
url = "http://127.0.0.1:{port}/"
scenarios = ["hello"]
"#;

#[test]
fn messages_and_streams_of_events_are_scenarios() {
    let directory = tempfile::tempdir().unwrap();
    // More streams at once than this machine has time for beside other tests would prove nothing.
    let arguments = ["bench", "tiny.toml", "--connections", "20"];
    let outcome = ran(directory.path(), PARTS, &arguments);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let trial = |scenario: &str| -> serde_json::Value {
        let file = format!("tiny-results/trials/{scenario}.h1.embedded.closed.r1.json");
        serde_json::from_str(&fs::read_to_string(directory.path().join(file)).unwrap()).unwrap()
    };
    let count = |document: &serde_json::Value, at: &str| document.pointer(at).unwrap().as_u64();

    let messages = trial("websocket_msg_throughput");
    let url = messages.pointer("/plan/target/url").unwrap().as_str().unwrap();
    assert!(url.starts_with("ws://"), "{url}");
    assert!(count(&messages, "/ledger/ok") > Some(0));
    assert_eq!(count(&messages, "/ledger/ok"), count(&messages, "/ledger/sent"));

    let streams = trial("sse_fanout");
    let ok = count(&streams, "/ledger/ok").unwrap();
    assert!(ok >= 20, "{ok}");
    // The terminator is not an event.
    assert_eq!(count(&streams, "/parts/count"), Some(10 * ok));

    // A server that cannot is a note.
    let readme = directory.path().join("tiny-results/README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let cannot = "plain: does not support sse_fanout, websocket_msg_throughput";
    assert!(readme.contains(cannot), "{cannot} is not in\n{readme}");
}

/// Responds to every request with the status that its scenario means, and with a body that it does not.
fn lie(stream: TcpStream) -> io::Result<()> {
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let head = head.to_ascii_lowercase();
        if head.contains("expect: 100-continue") {
            writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        let mut left: u64 = length.map_or(0, |length| length.parse().unwrap());
        if head.contains("transfer-encoding: chunked") {
            let mut line = String::new();
            while line != "0\r\n" {
                line.clear();
                reader.read_line(&mut line)?;
            }
            left = 2;
        }
        io::copy(&mut reader.by_ref().take(left), &mut io::sink())?;
        let (status, has_body) = match head.split(' ').nth(1).unwrap() {
            "/no/such/path" => ("404 Not Found", true),
            "/etag" => ("304 Not Modified", false),
            "/api" => ("204 No Content", false),
            "/redirect" => ("302 Found", true),
            _ => ("200 OK", !head.starts_with("head ")),
        };
        let body = if has_body { "lies" } else { "" };
        let length = match status {
            "204 No Content" | "304 Not Modified" => "",
            _ => "Content-Length: 4\r\n",
        };
        let response = format!("HTTP/1.1 {status}\r\n{length}\r\n{body}");
        writer.write_all(response.as_bytes())?;
    }
}

/// Of the built-in scenarios those that are not of the forty-two.
const OTHERS: [&str; 3] = ["sse_fanout", "grpc_unary", "grpc_stream"];
/// They need more time than a short trial has.
const UPLOADS: [&str; 2] = ["httparena_upload_20mb_auto", "httparena_upload_20mb_manual"];
/// Of its requests none has a response that counts, from any server: a trial without a fault is a success.
const BROKEN_OFF: &str = "partial_body_drop";

#[test]
fn a_right_status_with_a_wrong_response_is_no_success() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || drop(lie(stream)));
        }
    });
    let lies = |parameters| tls::listener(parameters, "return 200 lies;");
    let nginx = Nginx::start_with(false, &[lies("http2"), lies("ssl http2")]).unwrap();
    let [h2, tls] = nginx.listeners() else { panic!("two listeners") };
    let suite = format!(
        "name = 'tiny'\nrounds = 1\nprotocols = ['h1', 'h2', 'h2-tls']\n\
         [run]\nconnections = 2\nthreads = 1\nduration = '50ms'\n\
         [[server]]\nname = 'honest'\nembedded = true\n\
         [[server]]\nname = 'lies'\nurl = 'http://{url}/'\nh2-url = 'http://{h2}/'\ntls-url = 'https://{tls}/'\n\
         protocols = ['h1', 'h2', 'h2-tls']\nscenarios = ['all']\n"
    );
    let directory = tempfile::tempdir().unwrap();
    let known = ran(directory.path(), &suite, &["bench", "--list-scenarios"]);
    let names = known.stdout.lines().filter_map(|line| line.split_whitespace().next());
    let (uploads, short): (Vec<_>, Vec<_>) =
        names.filter(|name| !OTHERS.contains(name)).partition(|name| UPLOADS.contains(name));
    assert_eq!(uploads.len() + short.len(), 42, "{}", known.stdout);
    let measure = |names: &[&str], more: &[&str]| {
        let names = names.join(",");
        let arguments = [&["bench", "tiny.toml", "--scenarios", &names], more].concat();
        let outcome = ran(directory.path(), &suite, &arguments);
        let out = directory.path().join(more.last().unwrap_or(&"tiny-results"));
        let text = fs::read_to_string(out.join("suite.json")).unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut seen: Vec<&str> = Vec::new();
        for cell in document["cells"].as_array().unwrap() {
            let (server, scenario) =
                (cell["server"].as_str().unwrap(), cell["scenario"].as_str().unwrap());
            // A trial with a wrong response before it is none; one in which all are wrong has none that is right.
            let ok = cell.pointer("/trials/0/figures/ok").and_then(|ok| ok.as_u64());
            let is_right = ok.is_some_and(|ok| ok > 0 || scenario == BROKEN_OFF);
            assert_eq!(
                is_right,
                server == "honest",
                "{server} {scenario}\n{}{}",
                outcome.stdout,
                outcome.stderr
            );
            seen.push(names.split(',').find(|name| *name == scenario).unwrap());
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), names.split(',').count(), "{seen:?}");
        document
    };
    measure(&uploads, &["--duration", "2s", "--connections", "1", "--out", "uploads"]);
    let document = measure(&short, &[]);
    // Its server works: it is not given up, and each scenario says what is wrong.
    let failures = document["failures"].to_string();
    for words in [
        "header:Location",
        "header:Content-Length is",
        "header:ETag",
        "header:Content-Encoding",
        "header:Access-Control-Allow-Methods",
        "requests that were broken off are wrong: status 200",
    ] {
        assert!(failures.contains(words), "{words} is not in {failures}");
    }
    assert!(!failures.contains("given up"), "{failures}");
}

/// A new build takes the place of the program that measures: the suite goes on with the old one.
#[test]
fn a_suite_survives_the_replacement_of_its_program() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("candor");
    fs::copy(CANDOR, &program).unwrap();
    let file = directory.path().join("tiny.toml");
    let suite = "name = 'tiny'\nrounds = 2\nscenarios = ['hello', 'json']\nprotocols = ['h1']\n\
                 [run]\nconnections = 2\nthreads = 1\nduration = '200ms'\n\
                 [[server]]\nname = 'embedded'\nembedded = true\n\
                 [[server]]\nname = 'named'\ncommand = ['candor', 'serve']\nscenarios = ['all']\n";
    fs::write(&file, suite).unwrap();
    let running = Candor::start_as(Command::new(&program), |_, command| {
        command.current_dir(directory.path()).args(["bench", "tiny.toml"]);
    });
    std::thread::sleep(Duration::from_millis(300));
    let other = directory.path().join("other");
    fs::write(&other, "no program").unwrap();
    fs::rename(&other, &program).unwrap();
    let outcome = running.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(trials(directory.path()).len(), 8, "{}{}", outcome.stdout, outcome.stderr);
}
