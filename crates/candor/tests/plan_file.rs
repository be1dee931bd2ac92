//! Runs of a plan: several requests, their shares, their expectations, and flags that override
//! them.

use std::process::Command;

use crate::common::{CANDOR, Candor, Outcome, Target};
use serde_json::Value;

/// Runs the plan, with additional flags, and files in its directory.
fn run(plan: &str, flags: &[&str], files: &[(&str, &[u8])]) -> Outcome {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        std::fs::write(directory.join("plan.toml"), plan).expect("a plan");
        for (name, bytes) in files {
            std::fs::write(directory.join(name), bytes).expect("a file");
        }
        command.args(["run", "plan.toml", "--json", "result.json"]).args(flags);
        command.current_dir(directory);
    });
    run.finish()
}

/// The row of a request with this name.
fn row<'a>(rows: &'a [Value], name: &str) -> &'a Value {
    rows.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no row {name}"))
}

#[test]
fn weighted_requests_have_their_shares_and_rows() {
    let target = Target::start(&[]);
    let plan = format!(
        r#"
        url = "{}"
        connections = 8
        requests = 2000
        seed = 3
        expect = ["errors == 0"]

        [[request]]
        name = "greet"
        weight = 7
        expect-body-bytes = 7

        [[request]]
        name = "order"
        method = "POST"
        path = "/echo"
        body = "two of them"
        weight = 2
        expect-body-bytes = 11

        [[request]]
        name = "missing"
        path = "/nowhere"
        weight = 1
        expect-status = 404
        "#,
        target.url("/")
    );
    let outcome = run(&plan, &["--report", "full"], &[]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    document.assert_all_ok();
    assert_eq!(document.text("/plan/work/requests/order"), "weighted");
    let rows = document.list("/requests");
    assert_eq!(rows.len(), 3);
    let sent = |name| row(rows, name)["sent"].as_u64().unwrap();
    assert_eq!(sent("greet") + sent("order") + sent("missing"), 2000);
    // Binomial: five standard deviations around 1400, 400 and 200.
    assert!((1300..=1500).contains(&sent("greet")), "{rows:?}");
    assert!((310..=490).contains(&sent("order")), "{rows:?}");
    assert!((130..=270).contains(&sent("missing")), "{rows:?}");
    for row in rows {
        assert_eq!((&row["ok"], &row["errors"]), (&row["sent"], &0.into()), "{row}");
        assert_eq!(row["response"]["count"], row["ok"], "{row}");
    }
    // The target has the same counts, under its own names.
    let stats = target.stats();
    for (scenario, name) in [("hello", "greet"), ("echo", "order"), ("not_found", "missing")] {
        assert_eq!(stats["requests_by_scenario"][scenario], sent(name), "{stats}");
    }
    for name in ["greet", "order", "missing"] {
        assert!(outcome.stdout.contains(name), "{name}: {}", outcome.stdout);
    }
}

#[test]
fn requests_in_rotation_have_equal_shares() {
    let target = Target::start(&[]);
    let plan = format!(
        "url = \"{}\"\nconnections = 3\nrequests = 300\n\
         [[request]]\npath = \"/json\"\n[[request]]\npath = \"/route/5\"\n[[request]]\npath = \"/qs?a=1\"\n",
        target.url("/")
    );
    for threads in ["1", "3"] {
        let outcome = run(&plan, &["-t", threads], &[]);
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        let document = outcome.document();
        document.assert_all_ok();
        assert_eq!(document.text("/plan/work/requests/order"), "rotation");
        for row in document.list("/requests") {
            assert_eq!(row["sent"], 100, "{threads} threads: {row}");
        }
    }
}

#[test]
fn bodies_that_are_not_the_expected_ones_are_errors() {
    let target = Target::start(&[]);
    let plan = format!(
        r#"
        url = "{}"
        connections = 2
        requests = 100
        [[request]]
        name = "right"
        expect-body = "right.txt"
        [[request]]
        name = "other bytes"
        expect-body = "other.txt"
        [[request]]
        name = "other length"
        expect-body-bytes = 8
        [[request]]
        name = "other status"
        expect-status = "3xx"
        "#,
        target.url("/")
    );
    let files: [(&str, &[u8]); 2] = [("right.txt", b"alive\r\n"), ("other.txt", b"alivE\r\n")];
    let document = run(&plan, &[], &files).measured();
    document.assert_errors(&["body", "status"]);
    let errors = document.errors();
    assert_eq!((errors["body"], errors["status"], document.ledger("ok")), (50, 25, 25));
    assert_eq!(row(document.list("/requests"), "right")["ok"], 25);
    assert_eq!(row(document.list("/requests"), "other bytes")["errors"], 25);
    let example = document.text("/errors/1/example");
    assert!(example.contains("other"), "{example}");
    // An unexpected response does not cost a connection.
    assert_eq!(document.count("/connections/lost"), 0);
    target.assert_requests(100);
}

#[test]
fn expectations_by_flag() {
    let target = Target::start(&[]);
    let run = |flags: &[&str]| {
        let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
            std::fs::write(directory.join("alive"), "alive\r\n").expect("a file");
            std::fs::write(directory.join("dead"), "dead").expect("a file");
            command.args(["-c", "2", "-n", "20", "--json", "result.json", &target.url("/")]);
            command.args(flags).current_dir(directory);
        });
        run.finish().document()
    };
    run(&["--expect-body", "alive"]).assert_all_ok();
    run(&["--expect-body-bytes", "7"]).assert_all_ok();
    run(&["--expect-status", "200,404"]).assert_all_ok();
    run(&["--expect-body", "dead"]).assert_errors(&["body"]);
    run(&["--expect-body-bytes", "6"]).assert_errors(&["body"]);
    run(&["--expect-status", "204"]).assert_errors(&["status"]);
}

#[test]
fn flags_go_before_the_plan() {
    let target = Target::start(&[]);
    let plan = format!(
        "url = \"{}\"\nconnections = 8\nrate = \"500/s\"\nduration = \"1h\"\nseed = 9\n\
         header = [\"X-One: plan\", \"X-Two: plan\"]\nexpect = \"p50 < 1ns\"\n",
        target.url("/")
    );
    let flags = [
        "-c",
        "2",
        "-R",
        "100",
        "-d",
        "500ms",
        "-H",
        "X-One: flag",
        "--expect",
        "ok == 50",
        "--show-secrets",
    ];
    let outcome = run(&plan, &flags, &[]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!(document.ledger("scheduled"), 50);
    assert_eq!(document.count("/plan/connections/count"), 2);
    assert_eq!(document.count("/plan/seed"), 9);
    let headers = document.at("/plan/work/requests/list/0/headers").to_string();
    assert!(headers.contains("flag") && headers.contains("X-Two"), "{headers}");
    assert_eq!(headers.matches("X-One").count(), 1, "{headers}");
}

#[test]
fn a_plan_without_a_url_runs_against_the_embedded_target() {
    let plan = "connections = 2\nrequests = 60\n[[request]]\npath = \"/json\"\n\
                [[request]]\npath = \"/status/204\"\nexpect-status = 204\n";
    let outcome = run(plan, &[], &[]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    document.assert_all_ok();
    assert_eq!(document.text("/target_note"), "embedded");
    assert!(document.list("/requests").iter().all(|row| row["sent"] == 30));
}

#[test]
fn due_times_and_bodies_come_from_files_beside_the_plan() {
    let target = Target::start(&[]);
    let plan = format!(
        "url = \"{}\"\nconnections = 4\nload = \"replay due.txt\"\nmethod = \"POST\"\n\
         body-file = \"order.json\"\nexpect-body = \"order.json\"\n",
        target.url("/echo")
    );
    let due = b"0\n50ms\n0.1\n100ms\n300ms\n";
    let files: [(&str, &[u8]); 2] = [("due.txt", due), ("order.json", b"{\"n\": 1}")];
    let outcome = run(&plan, &[], &files);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!(document.ledger("scheduled"), 5);
    document.assert_all_ok();
    assert_eq!(document.count("/bytes/bodies"), 5 * 8);
}

#[test]
fn a_body_comes_from_the_standard_input() {
    let target = Target::start(&[]);
    let run = Candor::start_as(Command::new("sh"), |directory, command| {
        let script = "printf 'from a pipe' | \"$0\" -X POST --body-file - -n 20 --json result.json \
                      --expect-body-bytes 11 \"$1\"";
        command.args(["-c", script, CANDOR, &target.url("/echo")]).current_dir(directory);
    });
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    outcome.document().assert_all_ok();
    assert_eq!(target.stats()["body_bytes"], 20 * 11);
}
