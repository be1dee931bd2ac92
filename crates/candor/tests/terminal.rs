//! The live view in a real terminal: its content, that it leaves no trace, and that the terminal never
//! affects the run.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{CANDOR, Document, Target};
use candor_testkit::peer::{Peer, Script};
use candor_testkit::process::{Managed, wait_until};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(30);
const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";
const INTERRUPTED: i32 = 130;

/// A `candor` in a terminal.
struct Terminal {
    process: Managed,
    directory: TempDir,
    controller: File,
    /// Kept open, so that the output can be read after the end.
    tty: File,
    before: Termios,
    shown: Arc<Mutex<Vec<u8>>>,
}

/// How it ended.
struct Ended {
    code: Option<i32>,
    shown: String,
    directory: TempDir,
}

impl Terminal {
    /// Starts it in a terminal of this size, whose output is read unless it `is_stuck`.
    fn start(arguments: &[&str], (columns, rows): (u16, u16), is_stuck: bool) -> Terminal {
        let controller: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
        let tty = File::options().read(true).write(true).open(name).unwrap();
        let before = tcgetattr(&tty).unwrap();
        let controller = File::from(controller);
        resize(&controller, columns, rows);
        let directory = tempfile::tempdir().unwrap();
        let side = || Stdio::from(tty.try_clone().unwrap());
        // A session of its own, with this as its terminal.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(CANDOR).args(arguments).current_dir(directory.path());
        command.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
        command.env("XDG_STATE_HOME", directory.path().join("state"));
        let out = if is_stuck { Stdio::null() } else { side() };
        let process = Managed::spawn(command.stdin(side()).stdout(out).stderr(side())).unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        if !is_stuck {
            let (mut from, to) = (controller.try_clone().unwrap(), Arc::clone(&shown));
            thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = from.read(&mut bytes) {
                    to.lock().unwrap().extend(&bytes[..count]);
                }
            });
        }
        Terminal { process, directory, controller, tty, before, shown }
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    fn wait_for(&self, text: &str) {
        let seen = wait_until(PATIENCE, || self.shown().contains(text));
        assert!(seen, "{text:?} is not in {:?}", self.shown());
    }

    fn press(&mut self, key: &str) {
        self.controller.write_all(key.as_bytes()).unwrap();
    }

    /// Waits for its end, and asserts that the terminal is restored.
    fn finish(mut self) -> Ended {
        let status = self.process.wait(PATIENCE).unwrap();
        let status = status.unwrap_or_else(|| panic!("it does not end: {:?}", self.shown()));
        let after = tcgetattr(&self.tty).unwrap();
        assert_eq!(after.local_modes, self.before.local_modes, "the terminal is as it was");
        let codes = |modes: &Termios| format!("{:?}", modes.special_codes);
        assert_eq!(codes(&after), codes(&self.before));
        // Its last output may still arrive.
        thread::sleep(Duration::from_millis(100));
        Ended { code: status.code(), shown: self.shown(), directory: self.directory }
    }
}

impl Ended {
    fn document(&self) -> Document {
        let path = self.directory.path().join("result.json");
        Document::checked(&std::fs::read_to_string(path).unwrap())
    }

    /// The final content of the screen: all output but the view.
    fn left(&self) -> String {
        let mut left = String::new();
        let mut rest = self.shown.as_str();
        while let Some((before, view)) = rest.split_once(ENTER) {
            left += before;
            rest = view.split_once(LEAVE).expect("the view was left").1;
        }
        left + rest
    }
}

fn resize(terminal: &File, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

#[test]
fn a_view_is_shown_and_nothing_of_it_stays() {
    let target = Target::start(&[]);
    let flags = ["-R", "200", "-c", "4", "-d", "2500ms", "--json", "result.json"];
    let run = Terminal::start(&[&flags[..], &[&target.url("/")]].concat(), (100, 30), false);
    run.wait_for(ENTER);
    run.wait_for("spectrum");
    let ended = run.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.shown);
    for words in ["measuring", "response", "p99", "loader", "freeze"] {
        assert!(ended.shown.contains(words), "{words}: {:?}", ended.shown);
    }
    let left = ended.left();
    assert!(!left.contains("freeze") && left.contains("p99"), "{left:?}");
    let report = left.trim_start_matches("\u{1b}[1m");
    assert!(report.starts_with("GET http://"), "the report is all: {left:?}");
    assert_eq!(ended.document().ledger("ok"), 500);
}

#[test]
fn a_key_ends_the_run_and_its_result_is_kept() {
    let target = Target::start(&[]);
    let flags = ["-R", "200", "-c", "2", "-d", "1h", "--json", "result.json"];
    let mut run = Terminal::start(&[&flags[..], &[&target.url("/")]].concat(), (80, 24), false);
    run.wait_for("backlog");
    // None of these keys ends it: freeze, explain, redraw, an arrow, a function key.
    run.press("pp?\u{c}\u{1b}[A\u{1b}OQ");
    run.wait_for("explain");
    thread::sleep(Duration::from_millis(300));
    run.press("q");
    let ended = run.finish();
    assert_eq!(ended.code, Some(INTERRUPTED), "{}", ended.shown);
    let document = ended.document();
    assert_eq!(document.text("/end/reason"), "interrupted");
    assert!(document.ledger("ok") > 0);
    assert!(ended.left().contains("interrupted"), "{:?}", ended.left());
}

/// When suspended, the view restores the terminal; when continued, the view and its keys return.
#[test]
fn a_view_can_be_suspended() {
    let target = Target::start(&[]);
    let flags = ["-R", "100", "-c", "2", "-d", "1h"];
    let mut run = Terminal::start(&[&flags[..], &[&target.url("/")]].concat(), (80, 24), false);
    run.wait_for(ENTER);
    // This process group has no shell that could continue it, so the kernel does not stop it: the view
    // ends and returns.
    run.press("\u{1a}");
    run.wait_for(LEAVE);
    let taken = wait_until(PATIENCE, || run.shown().matches(ENTER).count() == 2);
    assert!(taken, "{:?}", run.shown());
    thread::sleep(Duration::from_millis(300));
    run.press("q");
    assert_eq!(run.finish().code, Some(INTERRUPTED));
}

#[test]
fn a_signal_at_once_leaves_the_terminal_as_it_was() {
    let peer = Peer::start(Script::never_answers());
    let url = format!("http://{}/", peer.addr());
    let flags = ["-c", "2", "-d", "1h", "--timeout", "1h", "--drain", "1h"];
    let run = Terminal::start(&[&flags[..], &[&url]].concat(), (80, 24), false);
    run.wait_for(ENTER);
    for _ in 0..3 {
        run.process.signal(Signal::INT).unwrap();
        thread::sleep(Duration::from_millis(50));
    }
    let ended = run.finish();
    assert_eq!(ended.code, Some(INTERRUPTED));
    assert!(ended.shown.contains(LEAVE), "{:?}", ended.shown);
    let verify = Terminal::start(&["verify", "--only", "poisson"], (80, 24), false);
    verify.wait_for(ENTER);
    verify.process.signal(Signal::INT).unwrap();
    let ended = verify.finish();
    assert_eq!(ended.code, Some(INTERRUPTED), "the signal ended it in order");
    assert!(ended.shown.contains(LEAVE), "{:?}", ended.shown);
}

/// The terminal reads nothing, and pictures are larger than all buffers.
#[test]
fn a_terminal_that_does_not_read_holds_nothing_up() {
    let target = Target::start(&[]);
    let flags = ["-R", "500", "-c", "4", "-d", "3s", "--interval", "50ms", "--json", "result.json"];
    let begun = Instant::now();
    let mut run = Terminal::start(&[&flags[..], &[&target.url("/")]].concat(), (400, 200), true);
    // Redraw repeatedly.
    for _ in 0..10 {
        thread::sleep(Duration::from_millis(200));
        run.press("\u{c}");
    }
    let ended = run.finish();
    assert_eq!(ended.code, Some(0));
    assert!(begun.elapsed() < Duration::from_secs(14), "{:?}", begun.elapsed());
    assert_eq!(ended.document().ledger("ok"), 1500);
}

#[test]
fn the_picture_follows_the_size_of_the_terminal() {
    let target = Target::start(&[]);
    let flags = ["-R", "100", "-c", "2", "-d", "1h"];
    let mut run = Terminal::start(&[&flags[..], &[&target.url("/")]].concat(), (80, 24), false);
    run.wait_for("\u{1b}[24;1H");
    for (columns, rows) in [(20, 5), (1, 1), (160, 50)] {
        resize(&run.controller, columns, rows);
        thread::sleep(Duration::from_millis(300));
    }
    run.wait_for("\u{1b}[50;1H");
    run.press("q");
    assert_eq!(run.finish().code, Some(INTERRUPTED));
}

#[test]
fn an_experiment_shows_its_steps() {
    let target = Target::start(&[]);
    let flags = ["sweep", "--rates", "100,200", "--rounds", "1", "-d", "700ms", "--warm-up", "0"];
    let run = Terminal::start(&[&flags[..], &[&target.url("/")]].concat(), (100, 30), false);
    run.wait_for("100/s, round 1");
    let ended = run.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.shown);
    for words in ["▶", "✓", "200/s, round 1"] {
        assert!(ended.shown.contains(words), "{words}: {:?}", ended.shown);
        assert!(!ended.left().contains(words), "{words}: {:?}", ended.left());
    }
}

#[test]
fn there_is_none_where_it_is_not_wanted_or_cannot_be() {
    let target = Target::start(&[]);
    let url = target.url("/");
    let shown = |flags: &[&str]| {
        let all = [&["-R", "50", "-c", "1", "-d", "1200ms"][..], flags, &[&url]].concat();
        let ended = Terminal::start(&all, (80, 24), false).finish();
        assert_eq!(ended.code, Some(0), "{}", ended.shown);
        ended.shown
    };
    let off = shown(&["--tui", "off"]);
    assert!(!off.contains(ENTER) && off.contains("candor: 1 s of 1 s"), "{off:?}");
    let quiet = shown(&["--quiet"]);
    assert_eq!(quiet, "");
    let ndjson = shown(&["--out", "ndjson"]);
    assert!(!ndjson.contains(ENTER) && ndjson.contains("\"kind\":\"end\""), "{ndjson:?}");
    // No terminal at all.
    crate::common::candor(&["--tui", "on", &url])
        .assert_refused(2, &["--tui on", "not a terminal"]);
    crate::common::candor(&["--tui", "sometimes", &url]).assert_refused(2, &["sometimes", "auto"]);
}
