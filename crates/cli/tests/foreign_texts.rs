//! Text from servers, files and targets reaches the terminal only as visible text.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use common::{Candor, Outcome};

/// Sets a title, clears the screen with 7-bit and 8-bit controls, and reverses the direction of
/// text.
const EVIL: &str = "\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}2J\u{202e}evil";
/// The visible form of that.
const SEEN: &str = "\\u{1b}]0;x\\u{7}\\u{1b}[2J\\u{9b}2J\\u{202e}evil";

fn candor(arguments: &[&str], prepare: impl FnOnce(&Path)) -> Outcome {
    let candor = Candor::start_as(Command::new(common::CANDOR), |directory, command| {
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
    let run = common::measure(&["-c", "1", "-d", "200ms"]).at("").clone();
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
