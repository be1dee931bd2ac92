//! Signals: the measurements survive, and no process or file of ours stays behind.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{CANDOR, Candor, Target, files_in};
use candor_testkit::peer::{Peer, Script};
use candor_testkit::process::wait_until;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process};

const INTERRUPTED: i32 = 130;
const PATIENCE: Duration = Duration::from_secs(10);

fn wait_for_requests(target: &Target, requests: u64) {
    assert!(wait_until(PATIENCE, || target.requests() >= requests), "no request came");
}

/// Children of a process.
fn children(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    text.unwrap_or_default().split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Whether there is a process with this id that has not ended.
fn lives(pid: u32) -> bool {
    let id = Pid::from_raw(pid as i32).expect("a process id");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map_or("", |(_, rest)| &rest[..1]);
    test_kill_process(id).is_ok() && state != "Z"
}

/// The embedded target of a run without a URL, once there is one.
fn embedded_target(run: &Candor) -> u32 {
    let pid = run.pid();
    assert!(wait_until(PATIENCE, || children(pid).len() == 1), "no embedded target");
    children(pid)[0]
}

#[test]
fn one_signal_ends_a_run_in_order() {
    for signal in [Signal::INT, Signal::TERM] {
        let target = Target::start(&[]);
        let run = Candor::start_measuring(&["-R", "200", "-d", "1h", &target.url("/delay/50ms")]);
        wait_for_requests(&target, 100);
        let told = Instant::now();
        run.signal(signal);
        let outcome = run.finish();
        assert!(told.elapsed() < Duration::from_secs(4), "{:?}", told.elapsed());
        assert_eq!(outcome.code(), INTERRUPTED, "{}", outcome.stderr);
        let document = outcome.document();
        assert_eq!(document.text("/end/reason"), "interrupted");
        assert_eq!(document.at("/end/partial"), true);
        assert!(document.verdicts().contains(&"interrupted"));
        // The run waited for requests in flight.
        assert_eq!((document.ledger("unfinished"), document.ledger("errors")), (0, 0));
        assert!(document.ledger("ok") >= 90, "{}", document.at("/ledger"));
        target.assert_requests(document.ledger("sent"));
        assert!(outcome.stdout.contains("interrupted"), "{}", outcome.stdout);
        assert_eq!(outcome.files(), ["result.json"]);
    }
}

#[test]
fn a_signal_ends_a_closed_loop_too() {
    let target = Target::start(&[]);
    let run =
        Candor::start_measuring(&["-c", "4", "-n", "1G", "--think-time", "5ms", &target.url("/")]);
    wait_for_requests(&target, 50);
    run.signal(Signal::INT);
    let outcome = run.finish();
    assert_eq!(outcome.code(), INTERRUPTED, "{}", outcome.stderr);
    let document = outcome.document();
    document.assert_all_ok();
    assert_eq!(document.at("/end/partial"), true);
    target.assert_requests(document.ledger("sent"));
}

#[test]
fn a_second_signal_ends_at_once() {
    for signal in [Signal::INT, Signal::TERM] {
        let peer = Peer::start(Script::never_answers());
        let url = format!("http://{}/", peer.addr());
        let run = Candor::start_measuring(&["-c", "4", "-d", "1h", "--drain", "1h", &url]);
        assert!(wait_until(PATIENCE, || peer.requests() == 4), "no request came");
        run.signal(signal);
        std::thread::sleep(Duration::from_millis(300));
        // It waits for the responses.
        assert!(lives(run.pid()));
        let told = Instant::now();
        run.signal(signal);
        let outcome = run.finish();
        assert!(told.elapsed() < Duration::from_secs(3), "{:?}", told.elapsed());
        assert_eq!(outcome.code(), INTERRUPTED, "{}", outcome.stderr);
        let document = outcome.document();
        assert_eq!((document.ledger("sent"), document.ledger("unfinished")), (4, 4));
        assert_eq!(document.at("/end/partial"), true);
        assert_eq!(outcome.files(), ["result.json"]);
    }
}

/// An endless response does not keep a signal from being noticed.
#[test]
fn signals_are_heard_while_a_response_never_ends() {
    for reactor in ["epoll", "uring"] {
        let peer = Peer::start_with(|_, player| {
            player.read_request()?;
            player.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            player.write_forever(b"1\r\nx\r\n".repeat(10_000), Duration::ZERO)
        });
        let url = format!("http://{}/", peer.addr());
        let limits = ["-d", "1h", "--timeout", "1h", "--drain", "100ms"];
        let flags = ["-c", "4", "-t", "1", "--reactor", reactor, &url];
        let run = Candor::start_measuring(&[&limits[..], &flags[..]].concat());
        assert!(wait_until(PATIENCE, || peer.requests() == 4), "no request came");
        std::thread::sleep(Duration::from_millis(200));
        let told = Instant::now();
        run.signal(Signal::INT);
        let outcome = run.finish();
        assert!(told.elapsed() < Duration::from_secs(3), "{:?}", told.elapsed());
        assert_eq!(outcome.code(), INTERRUPTED, "{}", outcome.stderr);
        assert_eq!(outcome.document().ledger("unfinished"), 4);
    }
}

/// The third signal ends the process at once: here a script waits for a pipe without a writer.
#[test]
fn a_third_signal_ends_the_process_at_once() {
    const SCRIPT: &str =
        "function done() io.open('trapped', 'w'):close() io.open('pipe'):read() end";
    let target = Target::start(&[]);
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        std::fs::write(directory.join("trap.lua"), SCRIPT).expect("a script");
        let made = Command::new("mkfifo").arg(directory.join("pipe")).status();
        assert!(made.is_ok_and(|status| status.success()), "no pipe");
        let arguments = ["-d", "100ms", "--script", "trap.lua", &target.url("/")];
        command.args(arguments).current_dir(directory);
    });
    let trap = run.directory().join("trapped");
    assert!(wait_until(PATIENCE, || trap.exists()), "the run did not come to its end");
    for _ in 0..2 {
        run.signal(Signal::INT);
        std::thread::sleep(Duration::from_millis(100));
        assert!(lives(run.pid()));
    }
    let told = Instant::now();
    run.signal(Signal::INT);
    let outcome = run.finish();
    assert!(told.elapsed() < Duration::from_secs(3), "{:?}", told.elapsed());
    assert_eq!(outcome.code(), INTERRUPTED, "{}", outcome.stderr);
}

#[test]
fn a_signal_while_connecting_ends_the_run() {
    // A listener with a full backlog ignores connection attempts; an address in 192.0.2.0/24 would
    // do so too, but tests stay on loopback.
    let listener = full_listener();
    let url = format!("http://{}/", listener.address);
    let run = Candor::start_measuring(&["-c", "4", "-d", "1s", "--connect-timeout", "20s", &url]);
    std::thread::sleep(Duration::from_millis(700));
    assert!(lives(run.pid()));
    let told = Instant::now();
    run.signal(Signal::INT);
    let outcome = run.finish();
    assert!(told.elapsed() < Duration::from_secs(3), "{:?}", told.elapsed());
    assert_eq!(outcome.code(), INTERRUPTED, "{}", outcome.stderr);
}

struct FullListener {
    address: std::net::SocketAddr,
    _listener: std::os::fd::OwnedFd,
    _taken: Vec<std::net::TcpStream>,
}

fn full_listener() -> FullListener {
    use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};
    let listener = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&listener, &"127.0.0.1:0".parse::<std::net::SocketAddr>().expect("a socket"))
        .expect("a socket");
    listen(&listener, 0).expect("a socket");
    let address: std::net::SocketAddr =
        getsockname(&listener).expect("a socket").try_into().expect("a socket");
    let attempt =
        |_| std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200)).ok();
    let taken = (0..4).map_while(attempt).collect();
    FullListener { address, _listener: listener, _taken: taken }
}

#[test]
fn the_embedded_target_ends_with_its_run() {
    let run = Candor::start_measuring(&["-c", "2", "-n", "100"]);
    let pid = run.pid();
    let target = wait_until(PATIENCE, || children(pid).len() == 1).then(|| children(pid));
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    outcome.document().assert_all_ok();
    assert_eq!(outcome.document().text("/target_note"), "embedded");
    // It may have come and gone between two checks.
    for target in target.into_iter().flatten() {
        assert!(!lives(target), "the embedded target stays");
    }
}

#[test]
fn the_embedded_target_ends_with_an_interrupted_run() {
    let run = Candor::start_measuring(&["-R", "200", "-c", "4", "-d", "1h"]);
    let target = embedded_target(&run);
    std::thread::sleep(Duration::from_millis(700));
    run.signal(Signal::TERM);
    let outcome = run.finish();
    assert_eq!(outcome.code(), INTERRUPTED, "{}", outcome.stderr);
    assert!(outcome.document().ledger("ok") > 20);
    assert!(!lives(target), "the embedded target stays");
}

#[test]
fn the_embedded_target_ends_with_a_killed_run() {
    let temporary = tempfile::tempdir().unwrap();
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        command.args(["-R", "200", "-c", "4", "-d", "1h", "--json", "result.json"]);
        command.current_dir(directory).env("TMPDIR", temporary.path());
    });
    let target = embedded_target(&run);
    std::thread::sleep(Duration::from_millis(700));
    assert!(lives(target));
    run.signal(Signal::KILL);
    let outcome = run.finish();
    assert_eq!(outcome.code(), 137);
    assert!(wait_until(PATIENCE, || !lives(target)), "the embedded target stays");
    assert_eq!(outcome.files(), [""; 0]);
    assert_eq!(files_in(temporary.path()), [""; 0]);
}

/// Ctrl-C signals every process in the foreground, and so the embedded target. The target must not
/// end, because the run still waits for requests in flight.
#[test]
fn ctrl_c_does_not_end_the_embedded_target_before_the_run() {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        command.args(["-c", "32", "-n", "1G", "--json", "result.json"]);
        command.current_dir(directory).process_group(0);
    });
    let target = embedded_target(&run);
    std::thread::sleep(Duration::from_millis(700));
    let group = Pid::from_raw(run.pid() as i32).unwrap();
    kill_process_group(group, Signal::INT).unwrap();
    let outcome = run.finish();
    assert_eq!(outcome.code(), INTERRUPTED, "{}", outcome.stderr);
    let document = outcome.document();
    document.assert_all_ok();
    assert_eq!(document.count("/connections/lost"), 0);
    assert!(!lives(target), "the embedded target stays");
}

#[test]
fn serve_ends_by_sigterm_and_says_what_it_did() {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        command.args(["serve", "--port-file", "port"]).current_dir(directory);
    });
    let port_file = run.directory().join("port");
    assert!(wait_until(PATIENCE, || port_file.exists()), "no port file");
    run.signal(Signal::TERM);
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0);
    assert!(outcome.stderr.contains("listening on http://127.0.0.1:"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("0 requests"), "{}", outcome.stderr);
}
