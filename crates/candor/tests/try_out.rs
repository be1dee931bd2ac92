//! `candor try`: what it shows, what it hides, what it says would break, and its exit codes.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{CANDOR, Candor, Outcome, Target, candor};
use candor_testkit::peer::{Peer, Script, Step};
use candor_testkit::process::wait_until;
use rustix::process::Signal;

/// A user with a token, which is a secret: the target checks it.
const LOGIN: &str = r#"
[data.users]
file = "users.csv"

[[journey]]
name = "buy"

[[journey.step]]
name = "login"
method = "POST"
path = "/echo"
json = { user = "${users.name}", password = "${users.password}", key = "${env:TRY_KEY}" }
capture = { again = "json:$.password" }

[[journey.step]]
name = "token"
path = "/token/${users.name}"
capture = { token = "body" }
think = "exp 2s"
repeat = "2..3"

[[journey.step]]
name = "cart"
path = "/token/${users.name}/${token}?page=2"
headers = { Authorization = "Bearer ${token}", X-Page = "7" }
expect-status = "200"
"#;

fn start(plan: &str, flags: &[&str]) -> Candor {
    Candor::start_as(Command::new(CANDOR), |directory, command| {
        std::fs::write(directory.join("plan.toml"), plan).expect("a plan");
        let users = "name,password\nann,hunter22\nbob,swordfish\n";
        std::fs::write(directory.join("users.csv"), users).expect("a file");
        command.args(["try", "plan.toml"]).args(flags).env("TRY_KEY", "key-of-the-environment");
        command.current_dir(directory);
    })
}

fn tried(plan: &str, flags: &[&str]) -> Outcome {
    start(plan, flags).finish()
}

/// Asserts that each of the lines is in the output, in this order.
fn assert_in_order(outcome: &Outcome, lines: &[&str]) {
    let mut rest = outcome.stdout.as_str();
    for line in lines {
        let at = rest.find(line);
        let at = at.unwrap_or_else(|| panic!("{line:?} is missing or late: {}", outcome.stdout));
        rest = &rest[at + line.len()..];
    }
}

fn with_url(target: &Target, plan: &str) -> String {
    format!("url = \"{}\"\nrate = \"100\"\nduration = \"1h\"\n{plan}", target.url("/"))
}

#[test]
fn each_step_is_shown_once_and_secrets_are_not() {
    let target = Target::start(&[]);
    let outcome = tried(&with_url(&target, LOGIN), &[]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert_in_order(
        &outcome,
        &[
            "Journey buy",
            "with users.name = ann, users.password = [redacted]",
            "1. login",
            "> POST /echo HTTP/1.1",
            "> Content-Type: application/json",
            ">   \"user\": \"ann\",",
            ">   \"password\": \"[redacted]\",",
            "< HTTP/1.1 200",
            "first byte after",
            "<   \"user\": \"ann\",",
            "✓ status 200",
            "✓ again = [redacted]   json:$.password",
            "2. token",
            "think time exp 2 s: not waited for; repeat 2 to 3: made once",
            "> GET /token/ann HTTP/1.1",
            "< [redacted]",
            "✓ token = [redacted]   body",
            "3. cart",
            "> GET /token/ann/[redacted]?page=2 HTTP/1.1",
            "> Authorization: [redacted]",
            "> X-Page: 7",
            "< ok",
            "✓ status 200, expected 200",
            "✓ 3 requests, all as expected",
        ],
    );
    for secret in ["hunter22", "key-of-the-environment", "swordfish"] {
        assert!(!outcome.stdout.contains(secret), "{secret}: {}", outcome.stdout);
    }
    target.assert_requests(3);
    assert!(outcome.wall < Duration::from_secs(30), "think times were waited for");
    // The token was sent, and hidden: with --show-secrets it is there.
    let shown = tried(&with_url(&target, LOGIN), &["--show-secrets"]);
    assert_eq!(shown.code(), 0, "{}{}", shown.stdout, shown.stderr);
    let token = shown.stdout.split("Bearer ").nth(1).and_then(|rest| rest.lines().next());
    let token = token.unwrap_or_else(|| panic!("no token: {}", shown.stdout));
    assert_eq!(token.len(), 16, "{}", shown.stdout);
    assert!(!outcome.stdout.contains(token), "{}", outcome.stdout);
    assert!(shown.stdout.contains("hunter22") && shown.stdout.contains("key-of-the-environment"));
}

#[test]
fn a_capture_that_finds_nothing_would_break() {
    let target = Target::start(&[]);
    let plan = with_url(&target, &LOGIN.replace("token = \"body\"", "token = \"json:$.token\""));
    let outcome = tried(&plan, &[]);
    assert_eq!(outcome.code(), 3, "{}{}", outcome.stdout, outcome.stderr);
    assert_in_order(
        &outcome,
        &[
            "✗ capture token (json:$.token): the body is not valid JSON; it came with status 200",
            "3. cart",
            "not reached",
            "Would break:",
            "  buy, token: capture token (json:$.token): ",
        ],
    );
    target.assert_requests(2);
}

#[test]
fn a_journey_that_goes_on_shows_what_is_not_sent_and_what_has_no_condition() {
    let target = Target::start(&[]);
    let plan = r#"
        [[journey]]
        name = "a"
        on-failure = "go-on"
        [[journey.step]]
        name = "first"
        path = "/"
        capture = { id = "header:X-None" }
        [[journey.step]]
        name = "needs it"
        path = "/token/${id}"
        [[journey.step]]
        name = "if there is one"
        path = "/"
        when = "${id}"
        [[journey.step]]
        name = "perhaps"
        path = "/"
        repeat = "0..1"
        [[journey.step]]
        name = "last"
        path = "/"
    "#;
    let outcome = tried(&with_url(&target, plan), &[]);
    assert_eq!(outcome.code(), 3, "{}{}", outcome.stdout, outcome.stderr);
    assert_in_order(
        &outcome,
        &[
            "1. first",
            "✗ capture id (header:X-None): the response does not have it",
            "2. needs it",
            "✗ not sent: ${id} has no value",
            "3. if there is one",
            "not made: its condition ${id} is empty",
            "4. perhaps",
            "repeat 0 to 1: made once",
            "✓ status 200",
            "5. last",
            "✓ status 200",
            "Would break:",
            "  a, first: capture id",
            "  a, needs it: not sent",
        ],
    );
    target.assert_requests(3);
}

#[test]
fn each_journey_has_a_user_with_a_row_of_its_own() {
    let target = Target::start(&[]);
    let journey = |name: &str| {
        format!(
            "[[journey]]\nname = \"{name}\"\nweight = 9\n[[journey.step]]\nname = \"s\"\npath = \"/token/${{users.name}}\"\n"
        )
    };
    let plan = format!("[data.users]\nfile = \"users.csv\"\n{}{}", journey("a"), journey("b"));
    let outcome = tried(&with_url(&target, &plan), &[]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert_in_order(&outcome, &["Journey a", "> GET /token/ann", "Journey b", "> GET /token/bob"]);
    target.assert_requests(2);
}

#[test]
fn requests_without_journeys_are_each_sent_once() {
    let target = Target::start(&[]);
    let plan = "[[request]]\nname = \"often\"\npath = \"/\"\nweight = 1000\n\
                [[request]]\nname = \"wrong\"\npath = \"/status/503\"\n\
                [[request]]\nname = \"right\"\npath = \"/status/503\"\nexpect-status = 503\n";
    let outcome = tried(&with_url(&target, plan), &["-c", "7"]);
    assert_eq!(outcome.code(), 3, "{}{}", outcome.stdout, outcome.stderr);
    assert_in_order(
        &outcome,
        &[
            "✗ status 503, expected 100-399",
            "✓ status 503, expected 503",
            "Would break:\n  wrong: status 503, expected 100-399\n",
        ],
    );
    target.assert_requests(3);
    let url = target.url("/status/204");
    let outcome = candor(&["try", "-H", "X-Api-Key: hunter22", &url]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert_in_order(&outcome, &["> X-Api-Key: [redacted]", "< HTTP/1.1 204"]);
    let embedded = candor(&["try"]);
    assert_eq!(embedded.code(), 0, "{}{}", embedded.stdout, embedded.stderr);
}

/// Escapes, ends of lines without names, and lines that look like ours.
#[test]
fn a_malicious_server_does_not_reach_the_terminal() {
    let body =
        "\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[1;31mred\r\n\u{9b}31m\u{202e}\n✓ status 200\n\u{8}";
    let peer = Peer::start(Script::answers_with(format!(
        "HTTP/1.1 200 OK\r\nX-Evil: \u{9b}2J\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )));
    let outcome = candor(&["try", &format!("http://{}/", peer.addr())]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let is_hidden = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!outcome.stdout.contains(is_hidden), "{:?}", outcome.stdout);
    assert_in_order(
        &outcome,
        &["< X-Evil: \\u{9b}2J", "< \\u{1b}]0;title\\u{7}", "< ✓ status 200"],
    );
}

#[test]
fn bodies_are_cut_and_binary_ones_are_counted() {
    let target = Target::start(&[]);
    let outcome = candor(&["try", &target.url("/bytes/5000000")]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.len() < 64 * 1024, "{} bytes", outcome.stdout.len());
    assert!(outcome.stdout.contains("5 MB"), "{}", outcome.stdout);
    let peer = Peer::start(Script::answers_with(
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\xff\xfe\x00\x01",
    ));
    let outcome = candor(&["try", &format!("http://{}/", peer.addr())]);
    assert_in_order(&outcome, &["< (4 B that are not text)"]);
}

#[test]
fn it_speaks_the_protocol_of_the_plan() {
    let target = Target::start(&[]);
    let outcome = tried(&with_url(&target, LOGIN), &["--h2c"]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert_in_order(&outcome, &["> POST /echo HTTP/2", "< HTTP/2 200", "✓ token = [redacted]"]);
    assert!(!outcome.stdout.contains("hunter22"), "{}", outcome.stdout);
    // The embedded target in TLS, with its own certificate.
    for (flag, version) in [("--h1", "HTTP/1.1"), ("--h2", "HTTP/2")] {
        let outcome = candor(&["try", "--tls", flag]);
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        assert_in_order(&outcome, &["https://", version, &format!("< {version} 200"), "✓"]);
    }
}

#[test]
fn a_server_that_does_not_answer_is_named_and_a_signal_is_heard_at_once() {
    let peer = Peer::start(Script::never_answers());
    let url = format!("http://{}/", peer.addr());
    let outcome = candor(&["try", "--timeout", "200ms", &url]);
    assert_eq!(outcome.code(), 3, "{}{}", outcome.stdout, outcome.stderr);
    let sentence = "✗ no response: no complete response within the request timeout";
    assert_in_order(&outcome, &[sentence, "Would break:"]);
    let run = Candor::start(&["try", "--timeout", "1h", &url]);
    assert!(wait_until(Duration::from_secs(10), || peer.requests() == 2), "no request came");
    let told = Instant::now();
    run.signal(Signal::INT);
    let outcome = run.finish();
    assert_eq!(outcome.code(), 130, "{}{}", outcome.stdout, outcome.stderr);
    assert!(told.elapsed() < Duration::from_secs(20));
    assert_in_order(&outcome, &["✗ no response: interrupted"]);
}

#[test]
fn a_redirect_that_is_not_followed_is_told() {
    let target = Target::start(&[]);
    let url = target.url("/redirect");
    let outcome = candor(&["try", &url]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert_in_order(&outcome, &["✓ status 302", "a redirect to /; --location 5"]);
    let outcome = candor(&["try", "--expect-status", "200", &url]);
    assert_eq!(outcome.code(), 3, "{}{}", outcome.stdout, outcome.stderr);
    assert_in_order(&outcome, &["✗ status 302", "a redirect to /; --location 5"]);
    let followed = candor(&["try", "--location", "5", &url]);
    assert_eq!(followed.code(), 0, "{}{}", followed.stdout, followed.stderr);
    assert!(!followed.stdout.contains("a redirect to"), "{}", followed.stdout);
    // As with curl, where it has no value.
    candor(&["try", "--location", &url]).assert_refused(2, &["--location 5 follows"]);
}

#[test]
fn what_cannot_run_is_said() {
    let mut peer = Peer::start(Script::answers());
    peer.stop_listening_and_drop_all();
    let url = format!("http://{}/", peer.addr());
    candor(&["try", &url]).assert_refused(1, &["cannot connect"]);
    candor(&["try", "--json", "x.json", &url]).assert_refused(2, &["candor try has no --json"]);
    let plan = LOGIN.replace("${users.name}", "${users.nmae}");
    let outcome = tried(&format!("url = \"{url}\"\n{plan}"), &[]);
    outcome.assert_refused(2, &["has no column \"nmae\"", "did you mean \"name\"?"]);
    // Dies after the first response.
    let peer = Peer::start(Script::new([Step::ReadRequest, Step::Close]));
    let outcome = candor(&["try", &format!("http://{}/", peer.addr())]);
    assert_eq!(outcome.code(), 3, "{}{}", outcome.stdout, outcome.stderr);
    assert_in_order(&outcome, &["✗ no response: "]);
}
