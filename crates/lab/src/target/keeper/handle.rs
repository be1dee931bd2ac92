//! A keeper as its starter sees it: commands to it, and messages from it.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use candor_files::Private;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};

use super::super::proc;
use super::{LINES, ON_WORD, PATIENCE_AFTER_KILL, WORD};

const LOOK_AGAIN: Duration = Duration::from_millis(2);
/// After this many attempts, the remaining processes hang in the kernel.
const LOOKS_AFTER_KILL: u32 = 100;

/// A running keeper.
#[derive(Debug)]
pub(crate) struct Keeper {
    process: Child,
    /// Its lines.
    pub(crate) said: Receiver<Said>,
    /// The keeper removes this directory if we cannot.
    _private: Private,
}

/// A message of a keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    Started(u32),
    Failed(String),
    Ended(String),
    /// The process printed this.
    Line(String),
    /// It prints no more.
    Quiet,
    /// It had to be killed.
    Forced,
    Stopped,
}

/// How to start a keeper.
pub(crate) struct Start<'a> {
    pub(crate) program: &'a [OsString],
    /// The command is not started before [`Keeper::begin`].
    pub(crate) on_word: bool,
    /// Whether to exchange lines with it.
    pub(crate) lines: bool,
    pub(crate) log: &'a Path,
    pub(crate) command: &'a [String],
    pub(crate) dir: Option<&'a PathBuf>,
    pub(crate) env: &'a [(String, String)],
    pub(crate) cores: &'a [usize],
    /// The directory that the keeper removes if this process dies.
    pub(crate) private: Private,
}

impl Keeper {
    pub(crate) fn start(start: Start<'_>) -> Result<Keeper, String> {
        let (program, first) = match start.program.split_first() {
            Some((program, first)) => (PathBuf::from(program), first.to_vec()),
            None => {
                let own = super::super::own_program()
                    .map_err(|error| format!("cannot find this program's own file: {error}"))?;
                (own, vec![WORD.into()])
            }
        };
        let mut command = Command::new(program);
        command
            .args(first)
            .args(start.on_word.then_some(ON_WORD))
            .args(start.lines.then_some(LINES))
            .arg(start.log)
            .arg(start.private.path())
            .args(start.command);
        command.envs(start.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        if let Some(dir) = start.dir {
            command.current_dir(dir);
        }
        // A process inherits the cores of the thread that starts it.
        let spawned = thread::scope(|scope| {
            let starter = thread::Builder::new().spawn_scoped(scope, || {
                candor_engine::keep_to_cores(start.cores);
                command.spawn()
            })?;
            starter.join().unwrap_or_else(|_| Err(std::io::Error::other("its thread failed")))
        });
        let failed = |error| format!("its keeper cannot be started: {error}");
        let mut process = spawned.map_err(failed)?;
        let (tell, said) = channel();
        if let Some(out) = process.stdout.take() {
            // Without it the keeper loses its starter's end of the pipe, and ends.
            let listen = move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    if let Some(said) = Said::parse(&line)
                        && tell.send(said).is_err()
                    {
                        break;
                    }
                }
            };
            thread::Builder::new().spawn(listen).map_err(failed)?;
        }
        Ok(Keeper { process, said, _private: start.private })
    }

    /// Its process id: the target's processes are its descendants.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Tells a waiting keeper to start its command.
    pub(crate) fn begin(&mut self) {
        self.word("start now");
    }

    /// Sends a line to the process, if lines are exchanged with it.
    pub(crate) fn tell(&mut self, line: &str) {
        self.word(&format!("in {line}"));
    }

    /// Ends the input of the process.
    pub(crate) fn close(&mut self) {
        self.word("close");
    }

    /// A failed write means that the keeper has ended, which its listener notices too.
    fn word(&mut self, word: &str) {
        if let Some(words) = &mut self.process.stdin {
            let _ = writeln!(words, "{word}").and_then(|()| words.flush());
        }
    }

    /// Tells it to end everything, and waits until it has. Returns whether it did.
    pub(crate) fn stop(&mut self, grace: Duration) -> bool {
        self.end(&format!("stop {}", grace.as_millis()), grace)
    }

    /// The same with SIGINT first, and then SIGTERM.
    pub(crate) fn interrupt(&mut self, first: Duration, then: Duration) -> bool {
        let word = format!("interrupt {} {}", first.as_millis(), then.as_millis());
        self.end(&word, first + then)
    }

    fn end(&mut self, word: &str, grace: Duration) -> bool {
        if let Some(mut words) = self.process.stdin.take() {
            // If the write fails, the keeper has ended; and the end of its input has the same
            // effect.
            let _ = writeln!(words, "{word}");
        }
        let begun = Instant::now();
        let patience = grace + PATIENCE_AFTER_KILL + Duration::from_secs(2);
        let in_order = loop {
            match self.has_ended_well() {
                Some(well) => break well,
                None if begun.elapsed() < patience => thread::sleep(LOOK_AGAIN),
                None => {
                    let _ = self.process.kill();
                    break false;
                }
            }
        };
        if !in_order {
            self.end_session();
        }
        // From here on its process id may belong to another process.
        let _ = self.process.wait();
        in_order
    }

    /// Whether it has ended in order; `None`: it still runs. Its process id stays reserved.
    fn has_ended_well(&self) -> Option<bool> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(Pid::from_child(&self.process)), look) {
            Ok(None) => None,
            Ok(Some(status)) => Some(status.exit_status() == Some(0)),
            Err(_) => Some(false),
        }
    }

    /// Kills the processes that a failed keeper left in its session. The session's number is the
    /// keeper's process id, so this must come before waiting for the keeper.
    fn end_session(&self) {
        let session = self.pid();
        for _ in 0..LOOKS_AFTER_KILL {
            let left = proc::all(|stat| stat.session == session && !stat.is_zombie);
            if left.is_empty() {
                return;
            }
            for pid in left {
                proc::signal(pid, Signal::KILL, |stat| stat.session == session);
            }
            // A process that forks while being killed is killed the next time.
            thread::sleep(LOOK_AGAIN);
        }
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
            "forced" => Some(Said::Forced),
            "stopped" => Some(Said::Stopped),
            _ => None,
        }
    }
}
