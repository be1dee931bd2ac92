//! `candor report` of untrusted files: whatever they claim, it takes little memory and ends with a
//! page or with an error.

use std::process::Command;

use crate::common::{Candor, Outcome, measure};
use candor_record::Histogram;
use candor_record::trace::format::MAGIC;
use candor_report::document::latency::Distribution;
use serde_json::{Value, json};

/// The memory limit of the process, in KiB.
const MOST_KIB: &str = "262144";

/// `candor report` of this file, with limited memory.
fn report(bytes: &[u8], format: &str) -> Outcome {
    let limited = format!("ulimit -d {MOST_KIB}; exec \"$0\" report --format {format} file");
    let candor = Candor::start_as(Command::new("sh"), |directory, command| {
        std::fs::write(directory.join("file"), bytes).unwrap();
        command.args(["-c", &limited, crate::common::CANDOR]).current_dir(directory);
    });
    candor.finish()
}

/// Asserts that it ends with a page, or with a one-line error.
fn check(what: &str, outcome: &Outcome) {
    let Outcome { stdout, stderr, .. } = outcome;
    match outcome.code() {
        0 => assert!(!stdout.is_empty() && stderr.is_empty(), "{what}: {stderr}"),
        1 | 2 => {
            assert_eq!(stderr.lines().count(), 1, "{what}: {stderr}");
            assert!(stderr.starts_with("candor: ") && stderr.len() < 1500, "{what}: {stderr}");
        }
        code => panic!("{what}: exit code {code}: {stderr}"),
    }
}

fn refused(what: &str, document: &str, format: &str, why: &str) {
    let outcome = report(document.as_bytes(), format);
    check(what, &outcome);
    assert!(outcome.code() == 1 && outcome.stderr.contains(why), "{what}: {}", outcome.stderr);
}

const FORMATS: [&str; 7] = ["text", "html", "csv", "hgrm", "hgrm-service", "hlog", "json"];

fn run() -> Value {
    measure(&["-c", "1", "-d", "300ms", "--interval", "100ms"]).at("").clone()
}

fn with(document: &Value, place: &str, new: Value) -> String {
    let mut changed = document.clone();
    *changed.pointer_mut(place).unwrap() = new;
    changed.to_string()
}

/// A sample in every place of a histogram with five digits.
fn dense() -> String {
    let mut histogram = Histogram::new(5);
    let mut value = 1u64;
    while value < candor_record::HIGHEST_NS {
        histogram.record(value);
        value += (value >> 17).max(1);
    }
    Distribution::of(&histogram).hdr.to_string()
}

#[test]
fn a_histogram_has_no_more_memory_than_one_of_ours() {
    let run = run();
    // 56 characters that claim 4 GiB of counts and have none.
    let claims = "HISTFAAAACB42pNpmSz8HwgYIIAZSjMCmW4GOxYw2H+ACAAA168IRw==";
    for format in FORMATS {
        let bomb = with(&run, "/latencies/service/hdr", claims.into());
        check(&format!("4 GiB as {format}"), &report(bomb.as_bytes(), format));
    }
    let bomb = with(&run, "/latencies/service/hdr", claims.into());
    refused("4 GiB", &bomb, "hgrm-service", "counts are missing");
    // 240 columns of a page, each with 27 MiB of counts.
    let hdr = dense();
    let mut bomb = run.clone();
    let interval = bomb["intervals"][0].clone();
    let intervals: Vec<Value> = (0..240u64)
        .map(|at| {
            let mut one = interval.clone();
            one["start_ns"] = (at * 1_000_000_000).into();
            one["end_ns"] = ((at + 1) * 1_000_000_000).into();
            one["response_hdr"] =
                if at < 24 { hdr.clone().into() } else { one["response_hdr"].clone() };
            one
        })
        .collect();
    bomb["intervals"] = intervals.into();
    bomb["latencies"]["service"]["hdr"] = hdr.into();
    for format in FORMATS {
        let outcome = report(bomb.to_string().as_bytes(), format);
        check(&format!("five digits as {format}"), &outcome);
        assert_eq!(outcome.code(), 0, "{format}: {}", outcome.stderr);
    }
}

#[test]
fn numbers_that_contradict_each_other_are_named() {
    let run = run();
    for (place, new, why) in [
        ("/latencies/service/max_ns", json!(0), "service.min_ns is "),
        (
            "/intervals/0/start_ns",
            json!(u64::MAX / 4),
            "intervals[0].start_ns is 4611686018427387903",
        ),
        (
            "/intervals/0/answered",
            json!(u64::MAX),
            "its counts add up to more than 9223372036854775807",
        ),
        (
            "/time/window_ns",
            json!(u64::MAX),
            "window_ns is 18446744073709551615 and must be at most",
        ),
        ("/ledger/ok", json!(-1), "expected u64"),
        (
            "/plan/target/url",
            json!("x".repeat(70_000)),
            "url has 70000 bytes and must have at most 65536",
        ),
    ] {
        refused(place, &with(&run, place, new), "html", why);
    }
    let doubled = run.to_string().replacen("\"seed\":", "\"seed\":1,\"seed\":", 1);
    refused("doubled", &doubled, "text", "duplicate field `seed`");
}

#[test]
fn files_that_would_take_much_memory_are_refused() {
    let run = run();
    let too_large = "64 MiB, as a file or in memory";
    let list = |one: &str, bytes: usize| {
        format!("[{}{one}]", format!("{one},").repeat(bytes / (one.len() + 1)))
    };
    let with_list = |place: &str, list: &str| with(&run, place, "@".into()).replace("\"@\"", list);
    refused("long", &" ".repeat(65 << 20), "text", too_large);
    refused("texts", &with_list("/arguments", &list("\"\"", 60 << 20)), "json", too_large);
    refused(
        "verdicts",
        &with_list(
            "/verdicts",
            &list(
                r#"{"id":"","severity":"note","sentence":"","evidence":{"":0},"remedy":""}"#,
                60 << 20,
            ),
        ),
        "json",
        too_large,
    );
    let stats = |json: &str| {
        format!(
            r#"{{"command":[],"cores":[],"loader_cores":[],"samples":[],"stats":[{{"at_s":0,"json":{json}}}],"log_tail":[]}}"#
        )
    };
    refused(
        "trees",
        &with_list("/target", &stats(&list(r#"{"":0}"#, 60 << 20))),
        "html",
        too_large,
    );
    refused("lists", &with_list("/target", &stats(&list("[0]", 60 << 20))), "html", too_large);
    let deep = "[".repeat(100_000);
    refused("deep", &with_list("/target", &stats(&deep)), "text", "recursion limit");
    let nested = format!("{}{}{}", "[".repeat(100), list("0", 8 << 20), "]".repeat(100));
    refused("indented", &with_list("/target", &stats(&nested)), "json", too_large);
    for (place, one) in [
        ("/intervals", run["intervals"][0].to_string()),
        ("/workers", run["workers"][0].to_string()),
    ] {
        refused(place, &with_list(place, &list(&one, 60 << 20)), "html", too_large);
    }
    // A skipped unknown field takes no memory.
    let unknown = format!("{{\"weather\":{},{}", list("0", 3 << 20), &run.to_string()[1..]);
    let outcome = report(unknown.as_bytes(), "text");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    // A buffered unknown field counts towards the limit.
    let suite = format!(r#"{{"format":"candor.suite/1","weather":{}}}"#, list("0", 60 << 20));
    refused("suite", &suite, "text", too_large);
    // The size of a table is a product.
    let names = |n: usize| {
        (0..n)
            .map(|n| json!({"name": n.to_string(), "about": "", "source": "", "of_peak": []}))
            .collect::<Vec<_>>()
    };
    let suite = json!({
        "format": "candor.suite/1", "tool": {"name": "", "version": ""}, "arguments": [], "name": "", "about": "",
        "file": "", "started_at": "", "host": {}, "cores": "", "rounds": 1, "seed": 1, "fingerprint": "",
        "servers": names(1000), "scenarios": names(1000), "loads": names(1), "cells": [], "notes": [],
        "failures": [], "complete": true,
    });
    refused(
        "product",
        &suite.to_string(),
        "text",
        "1000000 combinations of server, scenario and load",
    );
    // A file at the limits is rendered, in every form.
    let most = with_list("/intervals", &list(&run["intervals"][0].to_string(), 20 << 20));
    for format in FORMATS {
        let outcome = report(most.as_bytes(), format);
        assert_eq!(outcome.code(), 0, "{format}: {}", outcome.stderr);
    }
    let quotes = list(&format!("\"{}\"", "'\\\"".repeat(10_000)), 7 << 20);
    for format in FORMATS {
        check(
            &format!("quotes as {format}"),
            &report(with_list("/arguments", &quotes).as_bytes(), format),
        );
    }
}

/// The checksum of a block (docs/trace.md), so that its payload is parsed.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { 0xEDB8_8320 ^ (crc >> 1) } else { crc >> 1 }
        })
    })
}

/// A block of a trace with a false length, and one that consists of names only.
#[test]
fn a_trace_has_no_more_memory_than_a_block() {
    let block = |payload: &[u8]| {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(crc32(payload).to_le_bytes());
        bytes.extend(payload);
        bytes
    };
    for (what, bytes) in [
        ("nothing behind a claim of 64 MiB", [&MAGIC[..], &[0, 0, 0, 4, 0, 0, 0, 0]].concat()),
        ("names", block(&[&[0, 7, 0, 0x80, 0x80, 0x80, 0x20][..], &vec![0; 60 << 20]].concat())),
    ] {
        for format in ["text", "csv"] {
            let outcome = report(&bytes, format);
            assert_eq!(outcome.code(), 1, "{what}: {}", outcome.stderr);
            assert!(outcome.stderr.contains("is cut off"), "{what}: {}", outcome.stderr);
        }
    }
}
