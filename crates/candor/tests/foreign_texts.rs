//! Text from servers, files and targets reaches the terminal only as visible text.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::common::{Candor, Outcome};

/// Sets a title, clears the screen with 7-bit and 8-bit controls, and reverses the direction of
/// text.
const EVIL: &str = "\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}2J\u{202e}evil";
/// The visible form of that.
const SEEN: &str = "\\u{1b}]0;x\\u{7}\\u{1b}[2J\\u{9b}2J\\u{202e}evil";

fn candor(arguments: &[&str], prepare: impl FnOnce(&Path)) -> Outcome {
    let candor = Candor::start_as(Command::new(crate::common::CANDOR), |directory, command| {
        prepare(directory);
        command.args(arguments).current_dir(directory);
    });
    candor.finish()
}

/// Asserts that neither output has control characters, and that one of them contains `said`.
fn assert_seen(outcome: &Outcome, said: &str) {
    let all = format!("{}{}", outcome.stdout, outcome.stderr);
    let hidden = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202a}'..='\u{202e}')
    };
    assert!(!all.contains(hidden), "{all:?}");
    assert!(all.contains(said), "{said} is not in {all}");
}

#[test]
fn errors_of_report_quote_a_file() {
    let run = crate::common::measure(&["-c", "1", "-d", "200ms"]).at("").clone();
    for (place, text) in [
        ("/format", format!("candor.result/9{EVIL}")),
        ("/format", format!("candor.{EVIL}/1")),
        ("/end/reason", EVIL.to_owned()),
        ("/plan/target/http", EVIL.to_owned()),
    ] {
        let mut document = run.clone();
        *document.pointer_mut(place).unwrap() = text.into();
        let outcome = candor(&["report", "file"], |directory| {
            fs::write(directory.join("file"), document.to_string()).unwrap();
        });
        assert_eq!(outcome.code(), 1);
        assert_seen(&outcome, SEEN);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    }
    let outcome = candor(&["report", EVIL], |_| ());
    assert_seen(&outcome, SEEN);
}

#[test]
fn the_log_of_a_target_that_did_not_start_is_shown() {
    let outcome = candor(&["-n1", "--target", "./target"], |directory| {
        let script = format!("#!/bin/sh\nprintf '%s\\rFORGED\\n' '{EVIL}'\nexit 1\n");
        fs::write(directory.join("target"), script).unwrap();
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(directory.join("target"), mode).unwrap();
    });
    assert_eq!(outcome.code(), 1, "{}", outcome.stderr);
    assert_seen(&outcome, &format!("{SEEN}\\rFORGED"));
}

#[test]
fn an_error_of_a_script_quotes_a_header() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let mut stream = stream;
            // Control characters below U+0020 are invalid in a field value; those above are bytes.
            let response =
                "HTTP/1.1 200 OK\r\nX-Evil: \u{9b}2J\u{202e}evil\r\nContent-Length: 0\r\n\r\n";
            let _ = stream.write_all(response.as_bytes());
        }
    });
    let script = "function response(status, headers, body) error(headers['X-Evil']) end";
    for command in [&["run"][..], &["wrk"]] {
        let flags = [
            "-c1",
            "-t1",
            "-d1s",
            if command == ["run"] { "--script" } else { "-s" },
            "load.lua",
            &url,
        ];
        let outcome = candor(&[command, &flags].concat(), |directory| {
            fs::write(directory.join("load.lua"), script).unwrap();
        });
        assert_seen(&outcome, "\\u{9b}2J\\u{202e}evil");
    }
}

/// Every control character that an argument or a file's name can have, and every mark of the direction of text, each
/// before what would be a line of its own.
fn every_control() -> String {
    let marks = "\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
    let controls = ('\u{1}'..='\u{1f}').chain('\u{7f}'..='\u{9f}').chain(marks.chars());
    controls.map(|c| format!("{c}forged")).collect()
}

/// Asserts that neither output, nor any file of text, has a control character or a forged line.
fn assert_none_forged(outcome: &Outcome, files: &[&str]) {
    let mut all = vec![("stdout", outcome.stdout.clone()), ("stderr", outcome.stderr.clone())];
    all.extend(files.iter().map(|name| (*name, outcome.file(name))));
    for (name, text) in all {
        let is_hidden = |c: char| {
            c.is_control() && !matches!(c, '\n' | '\t')
                || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!text.contains(is_hidden), "{name}: {text:?}");
        // JSON has a name in a string, which begins no line either.
        let forged = text.lines().find(|line| line.trim_start().starts_with("forged"));
        assert_eq!(forged, None, "{name}: {text}");
    }
}

#[test]
fn no_name_on_the_command_line_forges_a_line() {
    let evil = every_control();
    let flag = format!("--{evil}");
    let short = format!("-{evil}");
    let (host, resolve) = (format!("http://{evil}/"), format!("h:80:{evil}"));
    let file = format!("/nowhere/{}", evil.replace('/', ""));
    for arguments in [
        &["-n1", &flag][..],
        &["-n1", &short],
        &[&evil],
        &["run", &evil, "http://h/"],
        &["-n1", &host],
        &["--resolve", &resolve, "http://h/"],
        &["--resolve", &evil, "http://h/"],
        &["--connect-to", &evil, "http://h/"],
        &["--allow", &evil, "http://h/"],
        &["--expect", &evil, "http://h/"],
        &["--load", &evil, "http://h/"],
        &["-H", &evil, "http://h/"],
        &["-X", &evil, "http://h/"],
        &["-c", &evil, "http://h/"],
        &["--cacert", &file, "https://h/"],
        &["--cert", &file, "--key", &file, "https://h/"],
        &["--body-file", &file, "http://h/"],
        &["--data", &format!("u={file}"), "http://h/"],
        &["--data", &format!("{evil}=u.csv"), "http://h/"],
        &["--urls", &file],
        &["-s", &file, "http://h/"],
        &["--json", &format!("{file}/x.json"), "-n1", "--give-up=50ms", "http://127.0.0.1:9/"],
        &["--unix-socket", &file, "-n1", "--give-up=50ms", "http://h/"],
        &["--target", &file],
        &["--target", "/nowhere", "--target-ready", &evil],
        &["--sni", &evil, "--give-up=50ms", "https://127.0.0.1:9/"],
        &["--alpn", &evil, "https://h/"],
        &["--tls-ciphers", &evil, "https://127.0.0.1:9/"],
        &["--subprotocol", &evil, "ws://h/"],
        &["--out", &evil, "http://h/"],
        &["report", &file],
        &["report", &evil, "--format", &evil],
        &["import", "har", &file],
        &["import", &evil],
        &["import", "curl", &format!("curl --{evil} http://h/")],
        &["try", &file],
        &["bench", &file],
        &["clients", &file],
        &["compare", &file, "http://h/"],
        &["serve", "--listen", &evil],
        &["wrk", &flag],
        &["wrk", &evil],
        &["h2load", &flag],
        &["h2load", &evil],
        &["ghz", &flag],
        &["completions", &evil],
    ] {
        let outcome = candor(arguments, |_| ());
        assert_ne!(outcome.code(), 0, "{arguments:?}");
        assert!(!outcome.stderr.is_empty() || !outcome.stdout.is_empty(), "{arguments:?}");
        assert_none_forged(&outcome, &[]);
    }
}

#[test]
fn no_name_of_a_plan_forges_a_line() {
    let target = crate::common::Target::start(&[]);
    let name = serde_json::Value::from(format!("={}", every_control())).to_string();
    // TOML has no such escape, and takes these as they are.
    let name: String = name
        .chars()
        .map(|c| match c {
            c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
            c => c.to_string(),
        })
        .collect();
    let plan = format!(
        "url = \"{}\"\nrequests = 4\nconnections = 1\n[[journey]]\nname = {name}\n[[journey.step]]\nname = {name}\npath = \"/\"\n\
         [[journey.step]]\nname = \"other\"\npath = \"/status/404\"\n",
        target.url("/")
    );
    let write = |directory: &Path| fs::write(directory.join("p.toml"), &plan).unwrap();
    let outcome = candor(
        &[
            "run",
            "p.toml",
            "--report",
            "full",
            "--json",
            "r.json",
            "--csv",
            "r.csv",
            "--html",
            "r.html",
            "--hgrm",
            "r.hgrm",
            "--hlog",
            "r.hlog",
            "--trace",
            "r.trace",
            "--out",
            "csv-steps:s.csv",
            "--out",
            "ndjson:r.ndjson",
        ],
        write,
    );
    assert_eq!(outcome.code(), 1, "each user has a step that fails: {}", outcome.stdout);
    let files = ["r.json", "r.csv", "r.html", "r.hgrm", "r.hlog", "s.csv", "r.ndjson"];
    assert_none_forged(&outcome, &files);
    let steps = outcome.file("s.csv");
    assert!(steps.contains("'=\\u{1}forged") && !steps.contains(",="), "{steps}");
    for form in ["text", "markdown", "html", "csv", "json"] {
        let file = outcome.path("r.json");
        let again = candor(&["report", file.to_str().unwrap(), "--format", form], |_| ());
        assert_eq!(again.code(), 0, "{form}: {}", again.stderr);
        assert_none_forged(&again, &[]);
    }
    let trace = outcome.path("r.trace");
    assert_none_forged(
        &candor(&["report", trace.to_str().unwrap(), "--format", "csv"], |_| ()),
        &[],
    );
    let tried = candor(&["try", "p.toml"], write);
    assert_none_forged(&tried, &[]);
    assert!(tried.stdout.contains("\\u{1}forged"), "{}", tried.stdout);
}

#[test]
fn a_command_to_run_again_can_be_pasted() {
    let target = crate::common::Target::start(&[]);
    let text = "a\nb's \u{1b}[2J \\ \u{202e}é";
    let outcome = candor(
        &[
            "-n1",
            "-c1",
            "-X",
            "POST",
            "-b",
            text,
            "--show-secrets",
            "--report",
            "full",
            &target.url("/echo"),
        ],
        |_| (),
    );
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert_none_forged(&outcome, &[]);
    let begin = outcome.stdout.find("-b $'").unwrap_or_else(|| panic!("{}", outcome.stdout));
    let quoted = &outcome.stdout[begin + 3..];
    let end = quoted
        .match_indices('\'')
        .find(|(at, _)| *at > 1 && !quoted[..*at].ends_with('\\'))
        .unwrap()
        .0;
    let shell = Command::new("bash")
        .args(["-c", &format!("printf %s {}", &quoted[..=end])])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&shell.stdout), text);
}
