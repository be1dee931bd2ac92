//! The keeper: a process between us and a target, which outlives both and leaves nothing behind.
//!
//! It is this program again, started by [`Keeper::start`], and [`keep`] is what it runs. It starts
//! the target in a process group of the target's own, and is the *subreaper* of all that descends
//! from it: whatever forks, forks again and calls setsid becomes the keeper's child when its parent
//! ends, so that nobody escapes. It ends all of them when it is told to, or when its standard
//! input ends, which it does when whoever started it is gone, however that came about.
//!
//! It speaks in lines: `started PID`, `failed WHY`, `ended HOW`, `stopped HOW` on the standard
//! output; `stop MILLISECONDS` on the standard input. Of a process that is talked to ([`LINES`]) there
//! are `out LINE` and, when it says no more, `quiet now`; and `in LINE` and `close` for it.

mod lines;

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group,
    set_child_subreaper, setsid, wait,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::proc;
use lines::Input;

/// The word by which a program knows that it is to be a keeper: `PROGRAM keep-target …`.
pub const WORD: &str = "keep-target";

/// A first word that says that the process is talked to.
const LINES: &str = "--lines";

/// Time between SIGTERM and SIGKILL if nobody is left to say another.
const GRACE_ALONE: Duration = Duration::from_secs(2);
/// Killed processes are gone at once, unless the kernel holds them.
const PATIENCE_AFTER_KILL: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What happened to a keeper.
enum Event {
    /// A descendant ended.
    Reaped(Pid, WaitStatus),
    /// There is no descendant any more.
    NoneLeft,
    /// It was told to end them.
    Stop(Duration),
}

/// A keeper's whole life: `[--lines] LOG PORT-FILE PROGRAM [ARGUMENT…]` in, an exit code out.
pub fn keep(words: &[String]) -> u8 {
    let (input, words) = match words.split_first() {
        Some((first, rest)) if first == LINES => (Some(Input::default()), rest),
        _ => (None, words),
    };
    let [log, port_file, command @ ..] = words else {
        return say(&format!("failed {WORD} needs a log, a port file and a command"), 2);
    };
    // Ctrl-C goes to all of the terminal's group, and a closed terminal to all of its session.
    let _ = setsid();
    let _ = set_child_subreaper(Some(getpid()));
    let (events_to, events) = channel();
    if let Err(error) = listen(&events_to, input.clone()) {
        return say(&format!("failed {error}"), 1);
    }
    let mut child = match start(command, log.as_ref(), input.as_ref()) {
        Ok(child) => child,
        Err(error) => return say(&format!("failed {error}"), 1),
    };
    let target = Pid::from_child(&child);
    say(&format!("started {}", target.as_raw_nonzero()), 0);
    lines::repeat(&mut child);
    thread::spawn(move || reap(&events_to));
    let kept = Kept { target, ended: None, none_left: false, events };
    let how = kept.until_stopped();
    // A target that was ended by force takes no file away.
    let _ = std::fs::remove_file(port_file);
    say(&format!("stopped {how}"), 0)
}

fn start(command: &[String], log: &Path, input: Option<&Input>) -> io::Result<Child> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(io::Error::other("a command is missing"));
    };
    let log = OpenOptions::new().append(true).create(true).open(log)?;
    let (stdin, stdout) = match input {
        Some(_) => (Stdio::piped(), Stdio::piped()),
        None => (Stdio::null(), log.try_clone()?.into()),
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(log)
        .process_group(0)
        .spawn()
        .map_err(|error| {
            io::Error::new(error.kind(), format!("cannot start {program}: {error}"))
        })?;
    if let Some(input) = input {
        input.connect(&mut child);
    }
    Ok(child)
}

/// Says a line; whoever is to hear it may be gone.
fn say(line: &str, code: u8) -> u8 {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    code
}

/// Turns words, the end of words and signals into events.
fn listen(events: &Sender<Event>, input: Option<Input>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    let on_signal = events.clone();
    thread::spawn(move || {
        for _ in signals.forever() {
            let _ = on_signal.send(Event::Stop(GRACE_ALONE));
        }
    });
    let on_word = events.clone();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let word = line.split_once(' ').unwrap_or((line.as_str(), ""));
            match (word, &input) {
                (("stop", ms), _) => {
                    if let Ok(ms) = ms.parse() {
                        let _ = on_word.send(Event::Stop(Duration::from_millis(ms)));
                    }
                }
                (("in", line), Some(input)) => input.line(line),
                (("close", _), Some(input)) => input.close(),
                _ => {}
            }
        }
        let _ = on_word.send(Event::Stop(GRACE_ALONE));
    });
    Ok(())
}

/// Waits for descendants until there are none.
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

/// A target and what is known of it.
struct Kept {
    target: Pid,
    ended: Option<String>,
    none_left: bool,
    events: Receiver<Event>,
}

impl Kept {
    /// Waits for the word, and ends everything. Says how the target ended.
    fn until_stopped(mut self) -> String {
        let grace = loop {
            match self.events.recv() {
                Ok(Event::Stop(grace)) => break grace,
                Ok(event) => self.note(event),
                Err(_) => break GRACE_ALONE,
            }
        };
        self.signal_all(Signal::TERM);
        self.wait_until_gone(grace, None);
        if !self.none_left {
            self.signal_all(Signal::KILL);
            // Who forks while being killed is killed the next time.
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
            Event::Reaped(..) | Event::Stop(_) => {}
        }
    }

    fn wait_until_gone(&mut self, patience: Duration, again: Option<Signal>) {
        let begun = Instant::now();
        while !self.none_left && begun.elapsed() < patience {
            match self.events.recv_timeout(LOOK_AGAIN) {
                Ok(event) => self.note(event),
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(signal) = again {
                        self.signal_all(signal);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    }

    /// The target's group, and those who left it.
    fn signal_all(&self, signal: Signal) {
        if self.ended.is_none() {
            let _ = kill_process_group(self.target, signal);
        }
        let in_group = self.ended.is_none().then_some(self.target);
        for pid in proc::tree(std::process::id()) {
            let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { continue };
            let group = rustix::process::getpgid(Some(pid)).ok();
            if group.is_some() && group != in_group {
                let _ = kill_process(pid, signal);
            }
        }
    }
}

/// The exit status in a keeper's words of how a process ended; `None`: by a signal.
pub(crate) fn exit_status(how: &str) -> Option<i32> {
    how.strip_prefix(EXITED)?.parse().ok()
}

const EXITED: &str = "with exit status ";

fn in_words(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("{EXITED}{code}"),
        (None, Some(signal)) => format!("by signal {signal} ({})", signal_name(signal)),
        (None, None) => "in a way the system does not tell".to_owned(),
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
        9 => "SIGKILL, as the kernel sends it when memory is short",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => "see signal(7)",
    }
}

/// A keeper from the side of who started it.
#[derive(Debug)]
pub(crate) struct Keeper {
    process: std::process::Child,
    /// Its lines.
    pub(crate) said: Receiver<Said>,
}

/// What a keeper says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    Started(u32),
    Failed(String),
    Ended(String),
    /// The process printed this.
    Line(String),
    /// It prints no more.
    Quiet,
    Stopped,
}

/// How to start a keeper.
pub(crate) struct Start<'a> {
    pub(crate) program: &'a [std::ffi::OsString],
    pub(crate) log: &'a Path,
    pub(crate) port_file: &'a Path,
    pub(crate) command: &'a [String],
    pub(crate) dir: Option<&'a PathBuf>,
    pub(crate) env: &'a [(String, String)],
    pub(crate) cores: &'a [usize],
    /// Whether it is talked to: lines in, lines out.
    pub(crate) lines: bool,
}

impl Keeper {
    pub(crate) fn start(start: &Start<'_>) -> Result<Keeper, String> {
        let (program, first) = match start.program.split_first() {
            Some((program, first)) => (PathBuf::from(program), first.to_vec()),
            None => {
                let own = std::env::current_exe()
                    .map_err(|error| format!("cannot find this program's own file: {error}"))?;
                (own, vec![WORD.into()])
            }
        };
        let mut command = Command::new(program);
        command.args(first).args(start.lines.then_some(LINES));
        command.arg(start.log).arg(start.port_file).args(start.command);
        command.envs(start.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        if let Some(dir) = start.dir {
            command.current_dir(dir);
        }
        // A process begins on the cores of the thread that starts it.
        let spawned = thread::scope(|scope| {
            let starter = scope.spawn(|| {
                candor_engine::keep_to_cores(start.cores);
                command.spawn()
            });
            starter.join()
        });
        let mut process = match spawned {
            Ok(Ok(process)) => process,
            Ok(Err(error)) => return Err(format!("its keeper cannot be started: {error}")),
            Err(_) => return Err("its keeper cannot be started".to_owned()),
        };
        let (tell, said) = channel();
        if let Some(out) = process.stdout.take() {
            thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    if let Some(said) = Said::parse(&line)
                        && tell.send(said).is_err()
                    {
                        break;
                    }
                }
            });
        }
        Ok(Keeper { process, said })
    }

    /// Its process: all of the target descends from it.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// A line for the process, if it is talked to. If it cannot be told, it has ended, and says so.
    pub(crate) fn tell(&mut self, line: &str) {
        self.word(&format!("in {line}"));
    }

    /// No more lines for it.
    pub(crate) fn close(&mut self) {
        self.word("close");
    }

    fn word(&mut self, word: &str) {
        if let Some(words) = &mut self.process.stdin {
            let _ = writeln!(words, "{word}").and_then(|()| words.flush());
        }
    }

    /// Tells it to end everything, and waits until it has. Returns whether it did.
    pub(crate) fn stop(&mut self, grace: Duration) -> bool {
        if let Some(mut words) = self.process.stdin.take() {
            // If it cannot be told, it has ended; and the end of its input tells it the same.
            let _ = writeln!(words, "stop {}", grace.as_millis());
        }
        let begun = Instant::now();
        while begun.elapsed() < grace + PATIENCE_AFTER_KILL + Duration::from_secs(2) {
            match self.process.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(2)),
                Ok(Some(status)) => return status.success(),
                Err(_) => return false,
            }
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        false
    }
}

impl Said {
    fn parse(line: &str) -> Option<Said> {
        let (word, rest) = line.split_once(' ')?;
        match word {
            "started" => rest.parse().ok().map(Said::Started),
            "failed" => Some(Said::Failed(rest.to_owned())),
            "ended" => Some(Said::Ended(rest.to_owned())),
            "out" => Some(Said::Line(rest.to_owned())),
            "quiet" => Some(Said::Quiet),
            "stopped" => Some(Said::Stopped),
            _ => None,
        }
    }
}
