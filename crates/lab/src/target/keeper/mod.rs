//! The keeper: a process between us and a target, which outlives both and leaves nothing behind.
//!
//! It is this program again, started by [`Keeper::start`], and runs [`keep`]. It starts the target
//! in a process group of the target's own, and is the *subreaper* of all its descendants: even a
//! process that forks twice and calls setsid becomes the keeper's child when its parent ends, so
//! none escapes. The keeper ends all of them on command, or when its standard input ends, which
//! happens when its starter dies for any reason; then the last keeper also removes the private directory,
//! since no other process is left to do so. If the keeper itself is killed, the kernel kills the target.
//! A profiler has a keeper of its own, which waits for a command before it starts the profiler.
//!
//! Its protocol consists of lines: `started PID`, `failed WHY`, `ended HOW`, `forced HOW`, `stopped
//! HOW` on the standard output; `start NOW`, `stop MILLISECONDS` and `interrupt MILLISECONDS
//! MILLISECONDS` on the standard input. With a process that exchanges lines with us ([`LINES`])
//! there are also `out LINE` and, at the end of its output, `quiet now`; and `in LINE` and `close`
//! for its input. [`handle`] is the starter's side.

mod handle;
mod lines;

use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use candor_files::InUse;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, set_child_subreaper, setsid, wait,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::proc;
pub(crate) use handle::{Keeper, Said, Start};
use lines::Input;

/// The first argument of a keeper: `PROGRAM keep-target …`.
pub const WORD: &str = "keep-target";
/// The next argument: do not start the command before `start`.
const ON_WORD: &str = "--on-word";

/// The argument of a keeper whose process exchanges lines with us.
const LINES: &str = "--lines";

/// Time between SIGTERM and SIGKILL once the starter is gone and cannot choose another.
const GRACE_ALONE: Duration = Duration::from_secs(2);
/// The longest that a dying starter is waited for.
const PATIENCE_ALONE: Duration = Duration::from_secs(1);
/// Killed processes are gone at once, unless they hang in the kernel.
const PATIENCE_AFTER_KILL: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The starter is gone: our standard input ended, and nobody had said `stop`.
static IS_ALONE: AtomicBool = AtomicBool::new(false);

/// An event for a keeper.
enum Event {
    /// A descendant ended.
    Reaped(Pid, WaitStatus),
    /// No descendant is left.
    NoneLeft,
    /// It was told to start its command.
    Begin,
    /// It was told to end them, with these signals and finally SIGKILL.
    Stop(Ending),
}

/// Signals for ending, each with the time to wait for its effect.
type Ending = Vec<(Signal, Duration)>;

fn in_order(grace: Duration) -> Ending {
    vec![(Signal::TERM, grace)]
}

/// Runs a keeper with the arguments `[--on-word] [--lines] LOG PRIVATE-DIRECTORY PROGRAM
/// [ARGUMENT…]`; returns its exit code.
pub fn keep(words: &[String]) -> u8 {
    let (is_to_wait, words) = match words {
        [first, rest @ ..] if first == ON_WORD => (true, rest),
        all => (false, all),
    };
    let (input, words) = match words {
        [first, rest @ ..] if first == LINES => (Some(Input::default()), rest),
        all => (None, all),
    };
    let [log, private, command @ ..] = words else {
        return say(&format!("failed {WORD} needs a log, a directory and a command"), 2);
    };
    // Ctrl-C signals the terminal's whole group, and a closed terminal its whole session, so the
    // keeper leaves both.
    let _ = setsid();
    let _ = set_child_subreaper(Some(getpid()));
    let in_use = InUse::of(private.as_ref()).ok();
    let code = keep_one(is_to_wait, input, log.as_ref(), command);
    // As long as the starter lives, it uses the directory too. One that just dies may hold it for another moment: the
    // kernel closes its files in no order that is known here.
    if let Some(in_use) = in_use {
        let patience =
            if IS_ALONE.load(Ordering::Relaxed) { PATIENCE_ALONE } else { Duration::ZERO };
        in_use.give_up(private.as_ref(), patience);
    }
    code
}

/// Keeps one command to its end; returns the exit code.
fn keep_one(is_to_wait: bool, input: Option<Input>, log: &Path, command: &[String]) -> u8 {
    let (events_to, events) = channel();
    if let Err(error) = listen(&events_to, input.clone()) {
        return say(&format!("failed {error}"), 1);
    }
    if is_to_wait && !matches!(events.recv(), Ok(Event::Begin)) {
        return say("stopped before it began", 0);
    }
    let mut child = match start(command, log, input.as_ref()) {
        Ok(child) => child,
        Err(error) => return say(&format!("failed {error}"), 1),
    };
    let target = Pid::from_child(&child);
    say(&format!("started {}", target.as_raw_nonzero()), 0);
    lines::repeat(&mut child);
    thread::spawn(move || reap(&events_to));
    let kept = Kept { target, ended: None, none_left: false, events };
    let how = kept.until_stopped();
    say(&format!("stopped {how}"), 0)
}

fn start(command: &[String], log: &Path, input: Option<&Input>) -> io::Result<Child> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(io::Error::other("a command is missing"));
    };
    let log = candor_files::append(log)?;
    let (stdin, stdout) = match input {
        Some(_) => (Stdio::piped(), Stdio::piped()),
        None => (Stdio::null(), log.try_clone()?.into()),
    };
    let mut command = Command::new(this_one(program).unwrap_or_else(|| program.into()));
    command.args(arguments).stdin(stdin).stdout(stdout).stderr(log).process_group(0);
    // This thread lives as long as the process.
    candor_engine::end_with_this_thread(&mut command);
    let mut child = command.spawn().map_err(|error| {
        io::Error::new(error.kind(), format!("cannot start {program}: {error}"))
    })?;
    if let Some(input) = input {
        input.connect(&mut child);
    }
    Ok(child)
}

/// The path of this program if `program` names it.
pub(crate) fn this_one(program: &str) -> Option<PathBuf> {
    let name = std::env::current_exe().ok().filter(|_| program == "candor")?;
    let name = name.file_name()?.to_string_lossy().into_owned();
    // The kernel marks the name of a file that is gone.
    let is_candor = name.strip_suffix(" (deleted)").unwrap_or(&name) == "candor";
    is_candor.then(super::own_program)?.ok()
}

/// Prints a line; its reader may be gone.
fn say(line: &str, code: u8) -> u8 {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    code
}

/// Turns commands, their end and signals into events.
fn listen(events: &Sender<Event>, input: Option<Input>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    let on_signal = events.clone();
    thread::spawn(move || {
        for _ in signals.forever() {
            let _ = on_signal.send(Event::Stop(in_order(GRACE_ALONE)));
        }
    });
    let on_word = events.clone();
    thread::spawn(move || {
        let is_alone = obey(io::stdin().lock(), input.as_ref(), |event| {
            let _ = on_word.send(event);
        });
        IS_ALONE.store(is_alone, Ordering::Relaxed);
        let _ = on_word.send(Event::Stop(in_order(GRACE_ALONE)));
    });
    Ok(())
}

/// Turns the starter's lines into events. Returns at their end: whether the starter is gone. One that has said `stop`
/// says nothing more, but lives, and waits for us.
fn obey(words: impl BufRead, input: Option<&Input>, mut tell: impl FnMut(Event)) -> bool {
    let mut is_alone = true;
    for line in words.lines().map_while(Result::ok) {
        let word = line.split_once(' ').unwrap_or((line.as_str(), ""));
        match (word, input) {
            (("in", line), Some(input)) => input.line(line),
            (("close", _), Some(input)) => input.close(),
            _ => {
                if let Some(event) = heard(&line) {
                    is_alone &= !matches!(event, Event::Stop(_));
                    tell(event);
                }
            }
        }
    }
    is_alone
}

/// Parses a line of the standard input.
fn heard(line: &str) -> Option<Event> {
    let mut words = line.split(' ');
    let word = words.next()?;
    let mut time = || words.next()?.parse().ok().map(Duration::from_millis);
    match word {
        "start" => Some(Event::Begin),
        "stop" => Some(Event::Stop(in_order(time()?))),
        "interrupt" => Some(Event::Stop(vec![(Signal::INT, time()?), (Signal::TERM, time()?)])),
        _ => None,
    }
}

/// Reaps descendants until none are left.
fn reap(events: &Sender<Event>) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                let _ = events.send(Event::Reaped(pid, status));
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break,
        }
    }
    let _ = events.send(Event::NoneLeft);
}

/// A target and its state.
struct Kept {
    target: Pid,
    ended: Option<String>,
    none_left: bool,
    events: Receiver<Event>,
}

impl Kept {
    /// Waits for the command to stop, ends everything, and returns how the target ended.
    fn until_stopped(mut self) -> String {
        let ending = loop {
            match self.events.recv() {
                Ok(Event::Stop(ending)) => break ending,
                Ok(event) => self.note(event),
                Err(_) => break in_order(GRACE_ALONE),
            }
        };
        for (signal, patience) in ending {
            if !self.none_left {
                signal_all(signal);
                self.wait_until_gone(patience, None);
            }
        }
        if !self.none_left {
            say("forced by SIGKILL", 0);
            signal_all(Signal::KILL);
            // A process that forks while being killed is killed the next time.
            self.wait_until_gone(PATIENCE_AFTER_KILL, Some(Signal::KILL));
        }
        self.ended.unwrap_or_else(|| "without a trace".to_owned())
    }

    fn note(&mut self, event: Event) {
        match event {
            Event::Reaped(pid, status) if pid == self.target => {
                let how = in_words(status);
                say(&format!("ended {how}"), 0);
                self.ended = Some(how);
            }
            Event::NoneLeft => self.none_left = true,
            Event::Reaped(..) | Event::Begin | Event::Stop(_) => {}
        }
    }

    fn wait_until_gone(&mut self, patience: Duration, again: Option<Signal>) {
        let begun = Instant::now();
        while !self.none_left && begun.elapsed() < patience {
            match self.events.recv_timeout(LOOK_AGAIN) {
                Ok(event) => self.note(event),
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(signal) = again {
                        signal_all(signal);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    }
}

/// Signals each descendant separately, not the target's group: after the target was waited for, its
/// process id, and so its group, may belong to another process.
fn signal_all(signal: Signal) {
    let own = std::process::id();
    let tree = proc::tree(own);
    for &pid in &tree {
        proc::signal(pid, signal, |stat| stat.parent == own || tree.contains(&stat.parent));
    }
}

/// The exit status in a keeper's message about the end of a process; `None` if a signal ended it.
pub(crate) fn exit_status(how: &str) -> Option<i32> {
    how.strip_prefix(EXITED)?.parse().ok()
}

const EXITED: &str = "with exit status ";

fn in_words(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("{EXITED}{code}"),
        (None, Some(signal)) => format!("by signal {signal} ({})", signal_name(signal)),
        (None, None) => "in an unknown way".to_owned(),
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL, perhaps because the system ran out of memory",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => "see signal(7)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_starter_that_says_stop_is_not_gone() {
        let is_alone = |words: &str| obey(words.as_bytes(), None, drop);
        assert!(is_alone("") && is_alone("start now\n") && is_alone("start now\nnonsense\n"));
        assert!(!is_alone("stop 5000\n") && !is_alone("start now\ninterrupt 10 20\n"));
    }

    #[test]
    fn words_that_are_heard() {
        let signals = |line: &str| match heard(line) {
            Some(Event::Stop(ending)) => {
                ending.into_iter().map(|(signal, time)| (signal, time.as_millis())).collect()
            }
            _ => Vec::new(),
        };
        assert!(matches!(heard("start now"), Some(Event::Begin)));
        assert_eq!(signals("stop 5000"), [(Signal::TERM, 5000)]);
        assert_eq!(signals("interrupt 10 20"), [(Signal::INT, 10), (Signal::TERM, 20)]);
        for other in ["", "stop", "stop x", "interrupt 10", "stops 5"] {
            assert!(heard(other).is_none(), "{other}");
        }
    }
}
