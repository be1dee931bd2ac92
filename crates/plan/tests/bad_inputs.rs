//! Bad inputs, and the exact message for each.

use crate::common::{Memory, try_build};
use candor_plan::options::Options;

fn error(arguments: &[&str]) -> String {
    try_build(arguments).err().unwrap_or_else(|| panic!("{arguments:?}")).to_string()
}

#[test]
fn options_that_contradict_each_other() {
    let table: &[(&[&str], &str)] = &[
        (
            &["-R5", "--load", "hold 5", "h"],
            "--rate cannot be used with --load: both set the rate; leave one of them out",
        ),
        (
            &["-R5", "--think-time", "1s", "h"],
            "--think-time cannot be used with --rate or --load: in an open load the schedule decides when requests leave; leave one of them out",
        ),
        (
            &["--shed-after", "1s", "h"],
            "--shed-after cannot be used with a closed loop: nothing is due there; add --rate or --load, or leave it out",
        ),
        (
            &["-R5", "--shed-after", "0", "--max-connections", "50", "h"],
            "--max-connections cannot be used with --shed-after 0: without a queue no request waits for another connection; raise --connections instead",
        ),
        (
            &["--max-connections", "50", "h"],
            "--max-connections cannot be used with a closed loop: nothing is due there; add --rate or --load, or leave it out",
        ),
        (
            &["--arrivals", "poisson", "h"],
            "--arrivals cannot be used with a closed loop: nothing is due there; add --rate or --load, or leave it out",
        ),
        (
            &["--arrivals", "poisson", "--load", "burst 5 every 1s", "h"],
            "--arrivals poisson cannot be used with burst or replay: their due times are fixed; leave --arrivals out",
        ),
        (
            &["--arrivals", "poisson", "--load", "hold 5 for 1s; replay due.txt", "h"],
            "--arrivals poisson cannot be used with burst or replay: their due times are fixed; leave --arrivals out",
        ),
        (
            &["--warm-up", "1s", "--load", "replay due.txt", "h"],
            "--warm-up cannot be used with replay: the file says when every request is due; put a `hold … for …` before the replay instead",
        ),
        (
            &["--warm-up", "1s", "--load", "ramp 0..5 over 1s", "h"],
            "--warm-up cannot be used with a ramp from 0: there is no rate to warm up with; begin the ramp above 0",
        ),
        (
            &["-R5", "--max-connections", "9", "h"],
            "--max-connections: 9 is below the 10 connections that are open from the start; raise it, or lower --connections",
        ),
        (
            &["-t11", "h"],
            "--threads: 11 threads cannot share 10 connections; raise --connections, or lower --threads",
        ),
        (
            &["--no-keepalive", "-p2", "h"],
            "--pipeline cannot be used with --no-keepalive: a connection then has one request; leave one of them out",
        ),
        (
            &["--no-keepalive", "--requests-per-connection", "2", "h"],
            "--requests-per-connection cannot be used with --no-keepalive: a connection then has one request; leave one of them out",
        ),
        (
            &["-b", "x", "--body-file", "body", "h"],
            "--body cannot be used with --body-file: a request has one body; leave one of them out",
        ),
        (
            &["-b", "x", "-F", "a=b", "h"],
            "--body cannot be used with --form: a request has one body; leave one of them out",
        ),
        (
            &["-F", "a=b", "--body-file", "body", "h"],
            "--body-file cannot be used with --form: a request has one body; leave one of them out",
        ),
        (
            &["-F", "a=b", "ws://h"],
            "--form cannot be used with ws: a message is no form; use --body",
        ),
        (
            &["--expect-body-bytes", "5", "--expect-body", "body", "h"],
            "--expect-body-bytes cannot be used with --expect-body: the file has its own length; leave one of them out",
        ),
        (
            &["--unix-socket", "/s", "--connect-to", "h:1", "h"],
            "--connect-to cannot be used with --unix-socket: that is for TCP only; leave one of them out",
        ),
        (
            &["--unix-socket", "/s", "--source", "::1", "h"],
            "--source cannot be used with --unix-socket: that is for TCP only; leave one of them out",
        ),
        (
            &["--resolve", "other:80:::1", "h"],
            "--resolve: connections go to h:80, not to other:80; write h:80:ADDR",
        ),
        (
            &["--source", "::1,::2", "127.0.0.1"],
            "--source: none of 2 addresses can reach 127.0.0.1; give one of the same family, IPv4 or IPv6",
        ),
        (
            &["-b", "abc", "-H", "Content-Length: 5", "h"],
            "request \"POST /\": Content-Length \"5\" is not the length of the body, 3; leave the header out",
        ),
        (
            &["-H", "Host: a", "-H", "host: b", "h"],
            "request \"GET /\": two Host fields make a request invalid; leave one out",
        ),
        (
            &["-H", "Transfer-Encoding: chunked", "h"],
            "request \"GET /\": bodies are sent with a Content-Length; leave Transfer-Encoding out, or use --chunked SIZE",
        ),
    ];
    for (arguments, message) in table {
        assert_eq!(error(arguments), *message, "{arguments:?}");
    }
}

#[test]
fn intervals_have_a_shortest_length_and_a_most() {
    assert_eq!(
        error(&["--interval", "1us", "h"]),
        "--interval: 1 µs is too short: each interval takes memory until the run ends; write at least 10 ms"
    );
    assert_eq!(
        error(&["--interval", "10ms", "-d", "2h", "h"]),
        "--interval: 10 ms makes 720,500 intervals of a run of 120 m, and at most 300,000 are kept; write at least 1 s"
    );
    assert!(error(&["-d", "30d", "--warm-up", "1s", "h"]).contains("write at least 9 s"));
    for fine in
        [&["--interval", "10ms", "-d", "40m", "h"][..], &["-d", "3d", "h"], &["-n", "1G", "h"]]
    {
        assert!(try_build(fine).is_ok(), "{fine:?}");
    }
}

#[test]
fn urls_and_files() {
    let table: &[(&[&str], &str)] = &[
        (&[], "no URL; write http://HOST[:PORT]/PATH, or `url = \"…\"` in the plan"),
        (&["http:///x"], "URL \"http:///x\": no host in the URL; write http://HOST[:PORT]/PATH"),
        (
            &["ftp://h/"],
            "URL \"ftp://h/\": scheme \"ftp\" is not supported; write http://HOST[:PORT]/PATH or https://",
        ),
        (
            &["http://me:pw@h:99999/"],
            "URL \"http://[redacted]@h:99999/\": \"[redacted]\" is not a port; write a number from 1 to 65535",
        ),
        (
            &["http://me:p#w@h/?key=x"],
            "URL \"http://[redacted]@h/?key=…\": \"[redacted]\" is not a port; write a number from 1 to 65535",
        ),
        (
            &["http://h:0/?key=x"],
            "URL \"http://h:0/?key=…\": \"0\" is not a port; write a number from 1 to 65535",
        ),
        (
            &["-F", "a=1", "-F", "f=@gone;type=a/b", "h"],
            "--form: cannot read gone: no such file; check its name and permissions",
        ),
        (
            &["--body-file", "gone", "h"],
            "--body-file: cannot read gone: no such file; check its name and permissions",
        ),
        (
            &["--expect-body", "gone", "h"],
            "--expect-body: cannot read gone: no such file; check its name and permissions",
        ),
        (
            &["--load", "replay gone", "h"],
            "--load: cannot read gone: no such file; check its name and permissions",
        ),
        (
            &["--load", "replay body", "h"],
            "body:1: \"from a file\": not a duration; write a number and a unit, such as 250us, 10ms, 1.5s, 30 or 2m",
        ),
    ];
    for (arguments, message) in table {
        assert_eq!(error(arguments), *message, "{arguments:?}");
    }
}

#[test]
fn plans_name_file_line_and_what_was_meant() {
    let rate = "write events per time, such as 20k, 20k/s, 30/m or 0.01/s";
    let table = [
        ("url = 'h'\n\ndurration = '5s'\n", "plan.toml:3:1: unknown key \"durration\"; did you mean \"duration\"?".to_owned()),
        ("think_time = '5s'\n", "plan.toml:1:1: unknown key \"think_time\"; did you mean \"think-time\"?".to_owned()),
        ("url = 'h'\nrate = \"fast\"\n", format!("plan.toml:2:8: rate = \"fast\": not a rate; {rate}")),
        ("rate = 0\n", format!("plan.toml:1:8: rate = 0: a rate must be above zero; {rate}")),
        ("rate = -0.5\n", format!("plan.toml:1:8: rate = -0.5: a rate cannot be negative; {rate}")),
        ("rate = nan\n", format!("plan.toml:1:8: rate = nan: not a rate; {rate}")),
        ("connections = true\n", "plan.toml:1:15: connections = true: invalid type: boolean `true`, expected a count such as 1000 or \"1k\"".to_owned()),
        ("quiet = 'yes'\n", "plan.toml:1:9: quiet = \"yes\": invalid type: string \"yes\", expected a boolean".to_owned()),
        ("seed = -1\n", "plan.toml:1:8: seed = -1: invalid value: integer `-1`, expected u64".to_owned()),
        ("arrivals = 'poison'\n", "plan.toml:1:12: arrivals = \"poison\": unknown; write constant or poisson; did you mean \"poisson\"?".to_owned()),
        ("load = 'hold 5 fro 1s'\n", "plan.toml:1:8: load = \"hold 5 fro 1s\": part 1: unknown word \"fro\"; write `hold RATE [for DURATION]`; did you mean \"for\"?".to_owned()),
        ("url = 'ftp://h/'\n", "plan.toml:1:7: url: scheme \"ftp\" is not supported; write http://HOST[:PORT]/PATH or https://".to_owned()),
        ("header = ['A: b', 'secret']\n", "plan.toml:1:19: header: a header needs a colon; write `Name: value`".to_owned()),
        ("[[request]]\npath = '/'\n[[request]]\nmethd = 'GET'\n", "plan.toml:4:1: unknown key \"methd\"; did you mean \"method\"?".to_owned()),
        ("[[request]]\npath = '/'\n[[request]]\nweight = 'heavy'\n", "plan.toml:4:10: request[2].weight = \"heavy\": not a count; write a whole number such as 100, 1k or 2M".to_owned()),
        ("[[request]]\npath = 'x'\n", "plan.toml:2:8: request[1].path: the path does not begin with /; write /PATH[?QUERY]".to_owned()),
        ("[[request]]\nexpect-status = 'ok'\n", "plan.toml:2:17: request[1].expect-status = \"ok\": \"ok\" is not a status; use e.g. 200, 2xx or 200-299,304".to_owned()),
        ("body = 5\n", "plan.toml:1:8: body: invalid type: integer `5`, expected a string".to_owned()),
        ("allow = ['h:80']\n", "plan.toml:1:10: allow: \"h:80\" is not a host or network; write e.g. staging.example.com, *.example.com, 10.0.0.0/8, ::1 or unix:/run/app.sock".to_owned()),
        ("request = 5\n", "plan.toml:1:11: request = 5: invalid type: integer `5`, expected a sequence".to_owned()),
        ("[header]\n\"a b\" = 'c'\n", "plan.toml:2:1: header.a b: \"a b\" is not the name of a header; write `Name: value`".to_owned()),
        ("rate = 5\nrate = 6\n", "plan.toml:2:1: not valid TOML: duplicate key".to_owned()),
        ("rate =\n", "plan.toml:1:7: not valid TOML: string values must be quoted, expected literal string".to_owned()),
    ];
    for (text, message) in table {
        let error = Options::from_toml("plan.toml", text).expect_err(text).to_string();
        assert_eq!(error, message, "{text}");
    }
    let far = Options::from_toml("plan.toml", "zzzzzzzz = 1").unwrap_err().to_string();
    assert!(
        far.starts_with("plan.toml:1:1: unknown key \"zzzzzzzz\"; the keys are url, connections,"),
        "{far}"
    );
}

#[test]
fn requests_of_a_plan() {
    let error = |text: &str| {
        let options = Options::from_toml("plan.toml", &format!("url = 'h'\n{text}")).unwrap();
        options.build(&Memory::default()).unwrap_err().to_string()
    };
    assert_eq!(
        error("[[request]]\nname = 'all'\npath = '*'"),
        "request \"all\": path * is for OPTIONS, not GET; write a path that begins with /"
    );
    assert_eq!(
        error("order = 'rotation'\n[[request]]\nweight = 2"),
        "weight cannot be used with --order rotation: there each request has its turn; write --order weighted, or leave the weights out"
    );
}
