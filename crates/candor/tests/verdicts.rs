//! Each verdict that can be provoked from outside, by a real run: the right fault is reported, and
//! no other.
//!
//! The machine may be busy with other work, which is a finding too. So a test asserts that its own
//! verdict is present, and that none blames another party; it does not assert that there are no
//! others. Tests run one at a time, because one of them keeps a core busy. If a test is about
//! timing, a run during which other work had the cores is repeated.
#![allow(clippy::print_stdout, reason = "what each run said is worth reading in a log")]

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Candor, Document, Target, candor, measure};
use candor_testkit::process::{Managed, wait_until};
use rustix::process::Signal;

const PATIENCE: Duration = Duration::from_secs(10);
const NOT_TRUSTWORTHY: i32 = 4;

/// The most runs while the machine is busy.
const ATTEMPTS: usize = 5;
/// If other work had the cores for this long, the run is not meaningful.
const DISTURBANCE: Duration = Duration::from_millis(50);

/// The machine, for one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    // A test that failed leaves nothing behind.
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Repeats a run as long as other work had the cores, by the kernel's own count.
fn undisturbed(run: impl FnMut() -> Document) -> Document {
    again_while(is_disturbed, run)
}

fn again_while(is_of_no_use: fn(&Document) -> bool, mut run: impl FnMut() -> Document) -> Document {
    let mut document = run();
    for _ in 1..ATTEMPTS {
        if !is_of_no_use(&document) {
            break;
        }
        println!("other work had the cores: again");
        document = run();
    }
    document
}

fn is_disturbed(document: &Document) -> bool {
    let is_long = |one: &serde_json::Value| {
        let ns = |name: &str| one[name].as_u64().expect("a time");
        u128::from(ns("waited_ns").max(ns("stolen_ns"))) >= DISTURBANCE.as_nanos()
    };
    document.verdicts().contains(&"shared-core")
        || document.list("/machines/0/hiccups/worst").iter().any(is_long)
}

/// The sentence of a verdict.
fn sentence(document: &Document, id: &str) -> String {
    let verdict = document.list("/verdicts").iter().find(|one| one["id"] == id);
    let verdict = verdict.unwrap_or_else(|| panic!("no {id} in {}", document.at("/verdicts")));
    let said = verdict["sentence"].as_str().expect("a sentence").to_owned();
    println!("{id}: {said}");
    said
}

fn assert_silent(document: &Document, ids: &[&str]) {
    for id in ids {
        assert!(!document.verdicts().contains(id), "{id}: {}", document.at("/verdicts"));
    }
}

/// The longest pause that the hiccup watch saw.
fn longest_hiccup(document: &Document) -> Duration {
    Duration::from_nanos(document.count("/machines/0/hiccups/late/max_ns"))
}

/// A server in this process that responds on each connection after `delay`, which is called each
/// time. It begins to accept after `at_first`, and its backlog has room for one connection or many.
fn slow_server(
    backlog: i32,
    at_first: Duration,
    delay: impl Fn() -> Duration + Send + Sync + 'static,
) -> SocketAddr {
    use rustix::net::{AddressFamily, SocketType, bind, listen, socket};
    let listener = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&listener, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("an address");
    listen(&listener, backlog).expect("a listener");
    let listener = TcpListener::from(listener);
    let address = listener.local_addr().expect("its address");
    let delay = Arc::new(delay);
    thread::spawn(move || {
        thread::sleep(at_first);
        for socket in listener.incoming().flatten() {
            let delay = Arc::clone(&delay);
            thread::spawn(move || answer(socket, &*delay));
        }
    });
    address
}

fn answer(mut socket: TcpStream, delay: &dyn Fn() -> Duration) {
    socket.set_nodelay(true).expect("an open socket");
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(n @ 1..) = socket.read(&mut piece) {
        request.extend_from_slice(&piece[..n]);
        while let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") {
            request.drain(..end + 4);
            thread::sleep(delay());
            if socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
                return;
            }
        }
    }
}

#[test]
fn a_healthy_run_is_blamed_for_nothing() {
    let _alone = alone();
    let target = Target::start(&[]);
    for load in [&["-R", "200"][..], &["--think-time", "10ms"]] {
        let document = measure(&[load, &["-c", "4", "-d", "2s", &target.url("/")]].concat());
        document.assert_all_ok();
        assert_silent(
            &document,
            &[
                "ledger",
                "impossible",
                "target-not-met",
                "backlog-growing",
                "not-stationary",
                "nagle-delayed-ack",
                "syn-retransmit",
                "fewer-connections",
                "errors-dominate",
                "clock-jump",
                "loader-cpu",
            ],
        );
        // The watch ran, woke a thousand times a second or as often as the machine allowed, and
        // cost almost nothing.
        assert!(
            document.count("/machines/0/hiccups/late/count") > 200,
            "{}",
            document.at("/machines/0/hiccups")
        );
        assert!(
            document.number("/machines/0/hiccups/cpu_share") < 0.05,
            "{}",
            document.at("/machines/0/hiccups")
        );
    }
}

#[test]
fn a_stop_of_the_loader_is_its_own_fault() {
    let _alone = alone();
    for load in [&["-R", "400"][..], &["--think-time", "5ms"]] {
        let document = undisturbed(|| {
            let target = Target::start(&[]);
            let url = target.url("/");
            let run = Candor::start_measuring(&[load, &["-c", "4", "-d", "3s", &url]].concat());
            assert!(wait_until(PATIENCE, || target.requests() >= 200), "no request came");
            run.signal(Signal::STOP);
            thread::sleep(Duration::from_millis(500));
            run.signal(Signal::CONT);
            run.finish().document()
        });
        let said = sentence(&document, "host-hiccup");
        assert!(said.contains("the process was stopped"), "{said}");
        assert!(longest_hiccup(&document) >= Duration::from_millis(450), "{said}");
        assert_silent(&document, &["target-stalled", "coordinated-omission"]);
    }
}

/// The share of touched requests stands beside the tail, and a run of which no pause was seen says nothing of it.
#[test]
fn requests_that_a_pause_of_the_loader_touched_are_counted() {
    let _alone = alone();
    let target = Target::start(&[]);
    let url = target.url("/");
    let flags = ["-R", "400", "-c", "4", "-d", "2s", &url];
    let touched = |document: &Document| {
        let latencies = document.at("/latencies");
        let count = latencies["touched"].as_u64().expect("a count");
        assert_eq!(latencies["untouched"].is_null(), count == 0, "{latencies}");
        let rows = document.list("/intervals").iter().map(|row| row["touched"].as_u64());
        assert_eq!(rows.sum::<Option<u64>>(), Some(count));
        count
    };
    let before = target.requests();
    let run = Candor::start_measuring(&flags);
    assert!(wait_until(PATIENCE, || target.requests() >= before + 200), "no request came");
    run.signal(Signal::STOP);
    thread::sleep(Duration::from_millis(50));
    run.signal(Signal::CONT);
    let document = run.finish().document();
    // 20 are due in that time.
    assert!(touched(&document) >= 10, "{}", document.at("/latencies"));
    assert!(longest_hiccup(&document) >= Duration::from_millis(40));

    let document = measure(&flags);
    let paused = longest_hiccup(&document) >= Duration::from_millis(1);
    assert!(paused || touched(&document) == 0, "{}", document.at("/latencies"));
    println!("{} touched, up to {:?}", touched(&document), longest_hiccup(&document));
}

#[test]
fn a_stall_of_the_target_is_the_targets() {
    let _alone = alone();
    let document = undisturbed(|| {
        let target = Target::start(&["--stall", "500ms@1500ms"]);
        measure(&["-R", "400", "-c", "4", "-d", "3s", &target.url("/")])
    });
    let said = sentence(&document, "target-stalled");
    assert!(said.contains("the loader was on time"), "{said}");
    // This machine may be busy, but not for that long.
    assert!(longest_hiccup(&document) < Duration::from_millis(250));
    assert_silent(&document, &["coordinated-omission"]);
}

#[test]
fn a_closed_loop_that_met_a_stall_says_what_it_left_out() {
    let _alone = alone();
    let document = undisturbed(|| {
        let target = Target::start(&["--stall", "500ms@1500ms"]);
        measure(&["-c", "8", "--think-time", "5ms", "-d", "3s", &target.url("/")])
    });
    let said = sentence(&document, "coordinated-omission");
    assert!(said.contains("p99 would have been about"), "{said}");
    assert_silent(&document, &["target-stalled"]);
}

/// The last core is the loader's. Two busy loops on it leave a third of it.
#[test]
fn busy_processes_on_the_loaders_core_are_found() {
    let _alone = alone();
    let cores = candor_engine::usable_cores();
    let last = *cores.last().expect("a core");
    let busy: Vec<Managed> = thread::scope(|scope| {
        let starter = scope.spawn(|| {
            // A process inherits the cores of the thread that starts it.
            assert!(candor_engine::keep_to_cores(&[last]));
            let mut spin = Command::new("sh");
            spin.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
            (0..2).map(|_| Managed::spawn(&mut spin).expect("a shell")).collect()
        });
        starter.join().expect("processes")
    });
    let target = Target::start(&[]);
    let document = measure(&["-t", "1", "-c", "8", "-d", "2s", &target.url("/")]);
    drop(busy);
    let said = sentence(&document, "shared-core");
    assert!(said.contains("waited for"), "{said}");
    assert_silent(&document, &["nagle-delayed-ack", "target-stalled"]);
}

/// Even counting twenty million requests a second is too much.
#[test]
fn a_thread_that_is_asked_for_too_much_says_so() {
    let _alone = alone();
    let target = Target::start(&[]);
    let flags = ["-t", "1", "-c", "8", "-R", "20M", "--shed-after", "1ms", "-d", "1s"];
    // The thread is never idle. If it still got less than its core, the hypervisor took the rest
    // without reporting it.
    let was_deprived = |document: &Document| document.number("/workers/0/cpu_share") <= 0.9;
    let document =
        again_while(was_deprived, || measure(&[&flags[..], &[&target.url("/")]].concat()));
    sentence(&document, "loader-cpu");
    assert_silent(&document, &["target-stalled", "nagle-delayed-ack"]);
}

#[test]
fn a_target_that_cannot_keep_up() {
    let _alone = alone();
    let target = Target::start(&[]);
    let document = measure(&["-R", "400", "-c", "1", "-d", "3s", &target.url("/delay/10ms")]);
    sentence(&document, "target-not-met");
    sentence(&document, "backlog-growing");
    assert_silent(&document, &["loader-cpu", "target-stalled", "coordinated-omission"]);
}

#[test]
fn nagle_and_delayed_acknowledgements_are_named() {
    let _alone = alone();
    let target = Target::start(&["--split-writes", "--nagle"]);
    let with = |connections| measure(&["-c", connections, "-d", "2s", &target.url("/")]);
    let document = with("4");
    let said = sentence(&document, "nagle-delayed-ack");
    assert!(said.contains("40 ms") && said.contains("TCP_NODELAY"), "{said}");
    // Throughput is the number of connections divided by the timer.
    let more = with("12");
    sentence(&more, "nagle-delayed-ack");
    let rate = |document: &Document| document.number("/rate/achieved_per_s");
    assert!(rate(&more) > 2.0 * rate(&document), "{} {}", rate(&more), rate(&document));

    // The controls: the same writes with TCP_NODELAY, and servers that take as long, before or while they write.
    let target = Target::start(&["--split-writes"]);
    let document = measure(&["-c", "4", "-d", "1s", &target.url("/")]);
    assert_silent(&document, &["nagle-delayed-ack"]);
    for path in ["/delay/40ms", "/stream/2/100/40ms", "/stream/5/100/10ms", "/stream/2/100/200ms"] {
        let document = measure(&["-c", "4", "-d", "1s", &target.url(path)]);
        assert_silent(&document, &["nagle-delayed-ack"]);
    }
}

#[test]
fn a_target_that_gets_slower_is_not_steady() {
    let _alone = alone();
    let document = undisturbed(|| {
        // The halves of the run count from its first request, however late that was.
        let begun = OnceLock::new();
        let slows = move || match begun.get_or_init(Instant::now).elapsed().as_secs() < 2 {
            true => Duration::from_millis(20),
            false => Duration::from_millis(50),
        };
        let address = slow_server(128, Duration::ZERO, slows);
        let url = format!("http://{address}/");
        measure(&["-R", "100", "-c", "8", "-d", "4s", "--interval", "200ms", &url])
    });
    let said = sentence(&document, "not-stationary");
    assert!(said.contains("rose from"), "{said}");
    assert_silent(&document, &["target-stalled", "nagle-delayed-ack"]);
}

/// A listener with a full backlog drops the first packet of a connection; the kernel retransmits it
/// after a second.
#[test]
fn lost_packets_of_connections_are_found() {
    let _alone = alone();
    let address = slow_server(0, Duration::from_millis(600), || Duration::from_millis(1));
    let url = format!("http://{address}/");
    let document = measure(&["-c", "6", "--think-time", "10ms", "-d", "1s", &url]);
    let said = sentence(&document, "syn-retransmit");
    assert!(said.contains("SYN retransmits"), "{said}");
}

#[test]
fn connections_that_the_target_refuses_are_missed() {
    let _alone = alone();
    let target = Target::start(&["--max-connections", "2"]);
    let flags = ["-R", "100", "-c", "6", "-d", "1s", &target.url("/")];
    let document = Candor::start_measuring(&flags).finish().document();
    let said = sentence(&document, "fewer-connections");
    assert!(said.contains("6 asked, as few as"), "{said}");
}

#[test]
fn errors_that_dominate_fail_a_strict_run() {
    let _alone = alone();
    let target = Target::start(&[]);
    let failing = target.url("/status/500");
    let flags = ["-R", "100", "-c", "2", "-d", "1s", "--json", "result.json", &failing];
    let outcome = candor(&[&flags[..], &["--strict", "--allow-failures"]].concat());
    assert_eq!(outcome.code(), NOT_TRUSTWORTHY, "{}{}", outcome.stdout, outcome.stderr);
    sentence(&outcome.document(), "errors-dominate");
}

/// A limit of 65 files, most of which are inherited open files: then there is no room for forty
/// connections, which the limit alone does not show.
#[test]
fn a_loader_without_file_descriptors_says_so() {
    let _alone = alone();
    let target = Target::start(&[]);
    let url = target.url("/");
    // A process inherits the files that its starter opened without CLOEXEC. Numbers of this process may be above the
    // limit, so the shell opens them.
    let inherited = "for n in {10..39}; do eval \"exec $n</dev/null\"; done";
    let limited = format!("{inherited}; ulimit -n 65 && exec \"$@\"");
    let run = Candor::start_as(Command::new("bash"), |directory, command| {
        command.args(["-c", &limited, "bash", crate::common::CANDOR]);
        command.args(["-t", "1", "-c", "40", "-d", "1s", "--reactor", "epoll"]);
        command.args(["--json", "result.json", &url]).current_dir(directory);
    });
    let document = run.finish().document();
    let said = sentence(&document, "fds-exhausted");
    assert!(said.contains("File descriptors ran out"), "{said}");
    assert!(document.connect_errors()["fds-exhausted"] > 0);
    // The existing connections worked.
    assert!(document.ledger("ok") > 0);
    sentence(&document, "fewer-connections");
    assert_silent(&document, &["ports-exhausted", "errors-dominate"]);
}

/// A test cannot set the machine's clock, and there is no namespace for it. So the run is real, and its
/// document gets the figures that the hiccup watch records when a clock is set (which is tested there).
#[test]
fn a_wall_clock_that_was_set_is_told() {
    let _alone = alone();
    let target = Target::start(&[]);
    let flags = ["-R", "100", "-c", "2", "-d", "1s", "--json", "result.json", &target.url("/")];
    let outcome = candor(&flags);
    assert_silent(&outcome.document(), &["clock-jump"]);
    let text = outcome.file("result.json");
    let mut document = candor_report::Document::from_json(&text).expect("a result");
    let hiccups = document.machines[0].hiccups.as_mut().expect("a hiccup watch");
    assert!(hiccups.wall_clock_moved_ns.abs() < 100_000_000 && hiccups.suspended_ns < 100_000_000);
    hiccups.wall_clock_moved_ns -= 7_000_000_000;
    document.verdicts = candor_report::verdicts::judge(&document);
    let path = outcome.path("moved.json");
    std::fs::write(&path, candor_report::json::render(&document)).expect("a file");
    let page = candor(&["report", &path.display().to_string()]).stdout;
    let said = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("note clock-jump: The wall clock moved back by 7"), "{page}");
    assert!(said.contains("durations are right, times of day are not"), "{page}");
}
