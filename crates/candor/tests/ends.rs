//! Every way to end: each command, each signal, once, twice and three times, before, in and after its window.
//! Each ends soon, with its code, with a ledger that balances or a sentence that is true, and leaves nothing:
//! no partial file, no temporary one, no process.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{CANDOR, Candor, Document, Outcome, Target, files_in, measure};
use candor_testkit::peer::{Peer, Script};
use candor_testkit::process::{Managed, wait_until};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Far longer than it takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Cases at the same time: they mostly wait.
const AT_ONCE: usize = 16;
/// Between two signals: the second is not to be merged with the first.
const BETWEEN: Duration = Duration::from_millis(60);
/// The variable by which the processes of a case are found.
const MARK: &str = "CANDOR_TEST_OF_ENDS";

const SIGNALS: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];

/// A command, as words. `URL` is that of the server; `WORK` a file that never comes to its end.
struct Way {
    words: &'static [&'static str],
    /// Exit codes beside 130, with a signal while it runs.
    codes: &'static [i32],
    /// When it has begun, apart from requests that come.
    begun_by: Begun,
}

/// How it is known that a command is under way.
#[derive(Clone, Copy, PartialEq)]
enum Begun {
    /// Requests come to the server.
    Requests,
    /// This file is there, with as many lines.
    File(&'static str, usize),
    /// It has processes of its own, so many.
    Processes(usize),
    /// So much time has passed: it waits for a file.
    Time(u64),
}

const WAYS: &[Way] = &[
    Way {
        words: &["-c", "3", "-d", "1h", "--drain", "200ms", "--json", "result.json", "URL"],
        codes: &[],
        begun_by: Begun::Requests,
    },
    Way {
        words: &[
            "-R",
            "300",
            "-c",
            "2",
            "-d",
            "1h",
            "--drain",
            "200ms",
            "--trace",
            "trace.bin",
            "--out",
            "ndjson:live",
            "--json",
            "result.json",
            "URL",
        ],
        codes: &[],
        begun_by: Begun::Requests,
    },
    Way {
        words: &["-n", "1G", "-c", "2", "--drain", "200ms", "--json", "result.json", "URL"],
        codes: &[],
        begun_by: Begun::Requests,
    },
    Way {
        words: &[
            "-c",
            "2",
            "-d",
            "1h",
            "--interval",
            "20ms",
            "--out",
            "ndjson:live",
            "--json",
            "result.json",
        ],
        codes: &[],
        begun_by: Begun::File("live", 4),
    },
    Way {
        words: &["wrk", "-c", "2", "-t", "1", "-d", "1h", "URL"],
        codes: &[0, 1, 4],
        begun_by: Begun::Requests,
    },
    Way {
        words: &["h2load", "--h1", "-c", "2", "-n", "1000000000", "URL"],
        codes: &[0, 1, 4],
        begun_by: Begun::Requests,
    },
    Way {
        words: &["peak", "--objective", "p99 < 1s", "-d", "1h", "--json", "peak.json", "URL"],
        codes: &[],
        begun_by: Begun::Requests,
    },
    Way {
        words: &["sweep", "--rates", "50,100", "-d", "1h", "--json", "sweep.json", "URL"],
        codes: &[],
        begun_by: Begun::Requests,
    },
    Way {
        words: &["compare", "-d", "1h", "--json", "compare.json", "URL", "URL"],
        codes: &[],
        begun_by: Begun::Requests,
    },
    Way { words: &["try", "--timeout", "1h", "URL"], codes: &[0, 1], begun_by: Begun::Requests },
    Way { words: &["verify", "--only", "closed"], codes: &[], begun_by: Begun::Processes(3) },
    Way { words: &["serve", "--port-file", "port"], codes: &[0], begun_by: Begun::File("port", 1) },
    Way {
        words: &["serve", "--truth", "fifo", "--service-time", "1ms", "--port-file", "port"],
        codes: &[0],
        begun_by: Begun::File("port", 1),
    },
    Way { words: &["report", "WORK"], codes: &[], begun_by: Begun::Time(150) },
    Way { words: &["import", "har", "WORK"], codes: &[], begun_by: Begun::Time(150) },
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Moment {
    /// Its connections are not made yet, or it has hardly begun.
    Before,
    /// Requests are sent and answered.
    In,
    /// Requests were sent and are not answered.
    After,
}

struct Case {
    number: usize,
    way: &'static Way,
    signal: Signal,
    times: usize,
    moment: Moment,
}

fn cases() -> VecDeque<Case> {
    let mut cases = VecDeque::new();
    for way in WAYS {
        let moments: &[Moment] = match way.begun_by {
            Begun::Requests => &[Moment::Before, Moment::In, Moment::After],
            _ => &[Moment::Before, Moment::In],
        };
        for &moment in moments {
            for times in 1..=3 {
                // All signals where it matters most; everywhere else each of them in turn.
                let number = cases.len();
                let all = moment == Moment::In && times == 1;
                let signals = if all { &SIGNALS[..] } else { &SIGNALS[number % 4..][..1] };
                for (n, &signal) in signals.iter().enumerate() {
                    cases.push_back(Case { number: number + n, way, signal, times, moment });
                }
            }
        }
    }
    cases
}

#[test]
fn every_command_ends_by_every_signal() {
    let cases = Mutex::new(cases());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = { cases.lock().unwrap().pop_front() } {
                    case.play();
                }
            });
        }
    });
}

/// What was written before a file may not grow any more stands in whole lines, what could not be written is said
/// with its cause, and the result has another place.
#[test]
fn a_limit_of_file_sizes_ends_no_run_without_its_result() {
    let peer = answering();
    // 8 KiB; the reader of the pipe has no limit.
    const RUN: &str = "(ulimit -f 16; $CANDOR -c 2 -d 600ms --interval 20ms --report none --no-keep \
                       --out ndjson:live --json result.json $URL; echo $? > status) | cat > all";
    let run = Candor::start_as(Command::new("sh"), |directory, command| {
        command.args(["-c", RUN]).current_dir(directory).env("CANDOR", CANDOR);
        command.env("URL", format!("http://{}/", peer.addr())).env("TMPDIR", directory);
    });
    let outcome = run.finish();
    assert_eq!(outcome.file("status").trim(), "1", "{}", outcome.stderr);
    let lines = outcome.file("live");
    assert!(lines.ends_with('\n') && lines.len() <= 8192, "{} bytes", lines.len());
    for line in lines.lines() {
        serde_json::from_str::<serde_json::Value>(line)
            .unwrap_or_else(|why| panic!("{why}: {line}"));
    }
    let all = outcome.file("all");
    let begins = all.find('{').unwrap_or_else(|| panic!("no result: {all}{}", outcome.stderr));
    let document: serde_json::Value = serde_json::from_str(&all[begins..]).unwrap();
    assert_eq!(document["ledger"]["sent"].as_u64(), Some(peer.requests()));
    // Of both.
    assert_eq!(outcome.stderr.matches("File too large").count(), 2, "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("too slow"), "{}", outcome.stderr);
    assert_eq!(outcome.files(), ["all", "live", "status"]);
}

/// Without threads there is no run, and a sentence that says so.
#[test]
fn a_limit_of_threads_is_an_error_and_no_panic() {
    if !crate::common::is_root("a user of its own") {
        return;
    }
    let peer = answering();
    let url = format!("http://{}/", peer.addr());
    for threads in 1..=8 {
        let words =
            format!("ulimit -u {threads}; cd /; exec $CANDOR -c 2 -t 2 -d 100ms --no-keep $URL");
        let run = Candor::start_as(Command::new("bash"), |_, command| {
            use std::os::unix::process::CommandExt;
            // Nobody else's, so that no other process counts.
            command.args(["-c", &words]).env("CANDOR", CANDOR).env("URL", &url).uid(54_321);
            command.env("HOME", "/nonexistent").env_remove("XDG_CONFIG_HOME");
        });
        let outcome = run.finish();
        let is_told = outcome.code() == 1 && outcome.stderr.contains("candor: cannot ");
        assert!(is_told || outcome.code() == 0, "{threads}: {} {}", outcome.code(), outcome.stderr);
        assert!(threads > 1 || is_told, "{}", outcome.stderr);
    }
}

/// As nohup starts it.
#[test]
fn a_sighup_that_is_ignored_stays_ignored() {
    let peer = answering();
    let url = format!("http://{}/", peer.addr());
    let run = Candor::start_as(Command::new("sh"), |directory, command| {
        let words = "trap '' HUP; exec $CANDOR -c 2 -d 400ms --json result.json $URL";
        command.args(["-c", words]).current_dir(directory);
        command.env("CANDOR", CANDOR).env("URL", &url);
    });
    assert!(wait_until(PATIENCE, || peer.requests() > 0), "no request came");
    run.signal(Signal::HUP);
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert_eq!(outcome.document().text("/end/reason"), "duration");
}

/// The run ends in order when its terminal closes, and what cannot be printed there any more is no error.
#[test]
fn a_terminal_that_closes_ends_a_run_with_its_result() {
    let peer = answering();
    let url = format!("http://{}/", peer.addr());
    // The run must not inherit the controller: then nothing would close the terminal.
    let controller =
        openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
    let tty = File::options().read(true).write(true).open(name).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut run = {
        let side = || Stdio::from(tty.try_clone().unwrap());
        // A session of its own, with this as its terminal.
        let mut command = Command::new("setsid");
        command.args(["--ctty", CANDOR, "-c", "2", "-d", "1h", "--trace", "trace.bin"]);
        command.args(["--json", "result.json", &url]).current_dir(directory.path());
        Managed::spawn(command.stdin(side()).stdout(side()).stderr(side())).unwrap()
    };
    drop(tty);
    assert!(wait_until(PATIENCE, || peer.requests() > 10), "no request came");
    drop(controller);
    let status = run.wait(PATIENCE).unwrap().expect("it ends");
    assert_eq!(status.code(), Some(130));
    assert_eq!(files_in(directory.path()), ["result.json", "trace.bin"]);
    let text = fs::read_to_string(directory.path().join("result.json")).unwrap();
    let document = Document::checked(&text);
    assert_eq!(document.text("/end/reason"), "interrupted");
}

/// Broker and agents end with the command that started them, and the last of their keepers removes their files.
#[test]
fn a_killed_fleet_leaves_nothing() {
    let temporary = tempfile::tempdir().unwrap();
    let mark = format!("{}-fleet", std::process::id());
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        command.args(["fleet", "up", "3"]).current_dir(directory);
        command.env("TMPDIR", temporary.path()).env(MARK, &mark);
    });
    let said = || fs::read_to_string(run.directory().join(".stderr")).unwrap_or_default();
    assert!(wait_until(PATIENCE, || said().contains("ready")), "{}", said());
    assert!(processes_of(&mark) > 4, "a broker, three agents and their keepers");
    run.signal(Signal::KILL);
    assert_eq!(run.finish().code(), 137);
    let is_clean = || processes_of(&mark) == 0 && files_in(temporary.path()).is_empty();
    assert!(wait_until(PATIENCE, is_clean), "{:?}", files_in(temporary.path()));
}

/// One of two addresses answers nothing: the other has all of the load, in any number of threads.
#[test]
fn a_silent_address_is_given_up_for_one_that_works() {
    let target = Target::start(&[]);
    let url = target.url("/");
    let port = url.trim_end_matches('/').rsplit(':').next().unwrap();
    let _silent = FullListener::at(&format!("127.0.0.2:{port}"));
    let resolve = format!("h:{port}:127.0.0.1,127.0.0.2");
    let url = format!("http://h:{port}/");
    for threads in ["1", "2", "4"] {
        let load = ["-R", "200", "-d", "1500ms", "-c", "10", "-t", threads];
        let begun = Instant::now();
        let document = measure(&[&load[..], &["--resolve", &resolve, &url]].concat());
        assert_eq!((document.ledger("ok"), document.ledger("unsent")), (300, 0), "{threads}");
        assert_eq!(document.connect_errors().keys().collect::<Vec<_>>(), ["connect-timeout"]);
        assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    }
}

/// A server that answers each request after 2 ms.
fn answering() -> Peer {
    Peer::start_with(|_, player| {
        loop {
            player.read_request()?;
            player.sleep(Duration::from_millis(2))?;
            player.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
        }
    })
}

impl Case {
    /// In words, for messages.
    fn name(&self) -> String {
        let Case { way, signal, times, moment, .. } = self;
        format!("{} · {signal:?} × {times} · {moment:?}", way.words.join(" "))
    }

    fn mark(&self) -> String {
        format!("{}-{}", std::process::id(), self.number)
    }

    fn play(&self) {
        let temporary = tempfile::tempdir().unwrap();
        let peer = self.peer();
        let full = FullListener::new();
        let url = match self.moment {
            Moment::Before => format!("http://{}/", full.address),
            Moment::In | Moment::After => format!("http://{}/", peer.addr()),
        };
        let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
            let work = directory.join("work");
            if self.way.words.contains(&"WORK") {
                assert!(Command::new("mkfifo").arg(&work).status().unwrap().success());
            }
            let word = |word: &&'static str| match *word {
                "URL" => url.clone(),
                "WORK" => work.display().to_string(),
                word => word.to_owned(),
            };
            command.args(self.way.words.iter().map(word)).current_dir(directory);
            command.env("TMPDIR", temporary.path()).env(MARK, self.mark());
        });
        self.wait_for_moment(&run, &peer);
        let next = SIGNALS[(self.number + 1) % 4];
        let mut left = true;
        for time in 0..self.times {
            // Two of one kind at once would be one.
            let signal = if time == 2 { next } else { self.signal };
            left = left && is_running(run.pid());
            if left {
                run.signal(signal);
            }
            if time == 0 {
                thread::sleep(BETWEEN);
            }
        }
        let told = Instant::now();
        let outcome = run
            .finish_within(PATIENCE * 2)
            .unwrap_or_else(|said| panic!("{}: it does not end: {said}", self.name()));
        assert!(told.elapsed() < PATIENCE, "{}: {:?}", self.name(), told.elapsed());
        self.check(&outcome, &peer, temporary.path());
    }

    /// Its server.
    fn peer(&self) -> Peer {
        match self.moment {
            Moment::After => Peer::start(Script::never_answers()),
            Moment::Before | Moment::In => answering(),
        }
    }

    fn wait_for_moment(&self, run: &Candor, peer: &Peer) {
        let lines = |name| {
            let text = fs::read_to_string(run.directory().join(name)).unwrap_or_default();
            text.lines().count()
        };
        let is_there = || match (self.moment, self.way.begun_by) {
            // Signals are heard from its first moments on; before that, the system ends it.
            (Moment::Before, _) => hears(run.pid()),
            (_, Begun::Requests) => peer.requests() >= 1,
            (_, Begun::File(name, count)) => lines(name) >= count,
            (_, Begun::Processes(count)) => processes_of(&self.mark()) >= count,
            (_, Begun::Time(ms)) => {
                hears(run.pid()) && run.started().elapsed() > Duration::from_millis(ms)
            }
        };
        assert!(wait_until(PATIENCE, is_there), "{}: it did not begin", self.name());
        if self.moment != Moment::Before {
            thread::sleep(Duration::from_millis(40));
        }
    }

    fn check(&self, outcome: &Outcome, peer: &Peer, temporary: &Path) {
        let name = self.name();
        let said = format!("{name}: {}{}", outcome.stdout, outcome.stderr);
        let code = outcome.code();
        assert!(code == 130 || self.way.codes.contains(&code), "{code}: {said}");
        let files = outcome.files();
        let wants_result = self.way.words.contains(&"result.json");
        if files.iter().any(|file| file == "result.json") {
            let document = outcome.document();
            let sent = document.ledger("sent");
            let is_embedded = !self.way.words.contains(&"URL");
            // The server may still read.
            let have_come = || is_embedded || sent <= peer.requests();
            assert!(wait_until(PATIENCE, have_come), "{} of {sent}: {said}", peer.requests());
            assert_eq!(document.text("/end/reason"), "interrupted", "{said}");
            if self.way.words.contains(&"300") {
                // What was due by the end, from the first moment on.
                let due = document.count("/time/window_ns") * 300 / 1_000_000_000 + 1;
                assert_eq!(document.ledger("scheduled"), due, "{said}");
            }
        } else if wants_result || outcome.stdout.is_empty() && code == 130 {
            self.check_sentence(outcome, peer);
        }
        // The third signal leaves a trace as far as it came.
        let is_cut = |file: &&String| file.contains("partial") && self.times < 3;
        assert_eq!(files.iter().find(is_cut), None, "{said}");
        let is_clean = || processes_of(&self.mark()) == 0 && files_in(temporary).is_empty();
        assert!(
            wait_until(PATIENCE, is_clean),
            "{said}: {} processes and {:?} are left",
            processes_of(&self.mark()),
            files_in(temporary)
        );
    }

    /// Without a result there is a sentence, and what it says of requests is true.
    fn check_sentence(&self, outcome: &Outcome, peer: &Peer) {
        let said = &outcome.stderr;
        let name = self.name();
        let last = said.lines().last().unwrap_or_default();
        let is_sentence = ["interrupted", "ended at once by a third signal"]
            .iter()
            .any(|word| last.starts_with(&format!("candor: {word}")));
        assert!(is_sentence, "{name}: {said}");
        if last.contains("no request was sent") {
            assert_eq!(peer.requests(), 0, "{name}: {said}");
        } else if let Some((words, _)) = last.split_once(" or more were sent") {
            let number = words.split(' ').rev().nth(1).unwrap_or_default().replace(',', "");
            let number: u64 = number.parse().unwrap_or_else(|_| panic!("{name}: {said}"));
            // Without a URL it has a server of its own.
            let is_embedded = !self.way.words.contains(&"URL");
            let have_come = || is_embedded || number <= peer.requests();
            assert!(wait_until(PATIENCE, have_come), "{} came: {name}: {said}", peer.requests());
        } else {
            let is_known =
                last.contains("may have been sent") || last.contains("nothing is written");
            assert!(is_known, "{name}: {said}");
        }
    }
}

fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Whether a process catches SIGINT and SIGXFSZ, the last that it asks for.
fn hears(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    [Signal::INT, Signal::XFSZ].iter().all(|signal| caught >> (signal.as_raw() - 1) & 1 == 1)
}

/// Processes that have this mark in their environment.
fn processes_of(mark: &str) -> usize {
    let wanted = format!("{MARK}={mark}");
    let has_mark = |pid: &str| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes())
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().into_string().ok());
    pids.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && has_mark(name)).count()
}

/// A listener that accepts nothing any more: connections to it are never made.
struct FullListener {
    address: std::net::SocketAddr,
    _listener: std::os::fd::OwnedFd,
    _taken: Vec<std::net::TcpStream>,
}

impl FullListener {
    fn new() -> FullListener {
        FullListener::at("127.0.0.1:0")
    }

    fn at(address: &str) -> FullListener {
        use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};
        let listener = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&listener, &address.parse::<std::net::SocketAddr>().unwrap()).unwrap();
        listen(&listener, 0).unwrap();
        let address: std::net::SocketAddr = getsockname(&listener).unwrap().try_into().unwrap();
        let attempt =
            |_| std::net::TcpStream::connect_timeout(&address, Duration::from_millis(50)).ok();
        let _taken = (0..4).map_while(attempt).collect();
        FullListener { address, _listener: listener, _taken }
    }
}
