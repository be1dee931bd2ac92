//! A profiler around the measured window: the user's command, which receives the target's process
//! id.
//!
//! It is started when the window begins, after the warm-up, and interrupted when it ends, before
//! the drain. It has a [`keeper`](super::keeper) of its own, started before the run, so that only
//! the profiler itself starts within the window, and all of its processes end. Every failure of the
//! profiler goes into the document; the run continues without it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use candor_engine::{Control, Course};
use candor_files::private;
use candor_plan::units::fmt_duration_ns;
use candor_plan::{Plan, Secrets, words};
use candor_record::RunRecord;
use candor_report::document::profile::Profile;

use super::Running;
use super::keeper::{Keeper, Said, Start};
use super::log::Log;
use super::sampler::now_ns;
use crate::error::LabError;

/// The placeholder for the target's process id.
const PID: &str = "{pid}";
/// The placeholder for the file of the profile.
const OUT: &str = "{out}";
/// Time between two checks of the run.
const NAP: Duration = Duration::from_millis(5);
/// Time to wait for the message that a process has started.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time that an interrupted profiler has to write its file.
const WRITING: Duration = Duration::from_secs(10);
/// The same, after a second request by SIGTERM.
const ENDING: Duration = Duration::from_secs(2);

/// How to profile a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileSpec {
    /// Program and arguments, with `{pid}` and `{out}`; no shell is involved.
    command: Vec<String>,
    /// The file of the profile. The profiler's output is kept beside it, with `.log` appended.
    out: PathBuf,
    /// The program of its keeper: see [`TargetSpec::keeper`](super::TargetSpec::keeper).
    pub keeper: Vec<OsString>,
}

impl ProfileSpec {
    /// From the command as typed, and the file of the profile.
    pub fn new(command: &str, out: impl Into<PathBuf>) -> Result<Self, String> {
        let command = words::split(command)?;
        Ok(ProfileSpec { command, out: out.into(), keeper: Vec::new() })
    }

    /// The command for this process.
    fn command_of(&self, pid: u32) -> Vec<String> {
        let (pid, out) = (pid.to_string(), self.out.to_string_lossy());
        self.command.iter().map(|word| word.replace(PID, &pid).replace(OUT, &out)).collect()
    }

    fn log(&self) -> PathBuf {
        let mut name = self.out.clone().into_os_string();
        name.push(".log");
        name.into()
    }
}

/// A profiler that accompanies a run.
#[derive(Debug)]
pub struct Profiler {
    spec: ProfileSpec,
    command: Vec<String>,
    log: Option<Log>,
    over: Arc<AtomicBool>,
    attendant: Option<JoinHandle<Seen>>,
    /// Why its keeper could not be started.
    problem: Option<String>,
    secrets: Secrets,
}

/// The history of the profiler, by the monotonic clock.
#[derive(Debug, Default)]
struct Seen {
    from_ns: Option<u64>,
    to_ns: Option<u64>,
    /// How it ended, if it ended by itself.
    ended: Option<String>,
    problem: Option<String>,
}

impl Profiler {
    /// Prepares to profile `target` in the run of `plan` by `control`, from `cores`, after the warm-up.
    pub fn prepare(
        spec: &ProfileSpec,
        target: &Running,
        cores: &[usize],
        plan: &Plan,
        control: &Arc<Control>,
    ) -> Profiler {
        let over = Arc::new(AtomicBool::new(false));
        let mut profiler = Profiler {
            command: spec.command_of(target.pid()),
            spec: spec.clone(),
            log: None,
            over: Arc::clone(&over),
            attendant: None,
            problem: None,
            secrets: plan.secrets,
        };
        match profiler.keeper(cores) {
            Ok(keeper) => {
                let control = Arc::clone(control);
                let warm_up_ns = plan.recording.warm_up_ns;
                let attendant =
                    Attendant { keeper, control, over, warm_up_ns, cores: cores.to_vec() };
                match thread::Builder::new().spawn(move || attendant.attend()) {
                    Ok(thread) => profiler.attendant = Some(thread),
                    Err(error) => profiler.problem = Some(format!("it has no thread: {error}")),
                }
            }
            Err(why) => profiler.problem = Some(why),
        }
        profiler
    }

    /// Starts a keeper that waits for its command, and removes the files of earlier runs.
    fn keeper(&mut self, cores: &[usize]) -> Result<Keeper, String> {
        let log = self.spec.log();
        candor_files::check(&self.spec.out)
            .map_err(|error| format!("{} cannot be written: {error}", self.spec.out.display()))?;
        for old in [&self.spec.out, &log] {
            if old.is_file() {
                std::fs::remove_file(old).map_err(|error| {
                    format!("{} of an earlier run cannot be replaced: {error}", old.display())
                })?;
            }
        }
        let log =
            self.log.insert(Log::open(Some(log.as_path())).map_err(|error| error.to_string())?);
        Keeper::start(Start {
            program: &self.spec.keeper,
            on_word: true,
            log: log.path(),
            command: &self.command,
            dir: None,
            env: &[],
            cores,
            lines: false,
            private: private().map_err(|error| LabError::no_temporary(error).to_string())?,
        })
    }

    /// Waits after the run until the profile is written, and describes it.
    pub fn finish(mut self, record: &RunRecord, target: &Running) -> Profile {
        self.over.store(true, Ordering::Relaxed);
        let seen = match self.attendant.take().map(JoinHandle::join) {
            Some(Ok(seen)) => seen,
            Some(Err(_)) => {
                Seen { problem: Some("its attendant failed".to_owned()), ..Seen::default() }
            }
            None => Seen { problem: self.problem.take(), ..Seen::default() },
        };
        let window_ns = record.machine().origin_monotonic_ns.saturating_add(record.warm_up_ns);
        let at_s = |at_ns: u64| (at_ns as f64 - window_ns as f64) / 1e9;
        let file_bytes = bytes_of(&self.spec.out);
        let problem = seen.problem.clone().or_else(|| self.shortcoming(&seen, record, target));
        let log = self.log.take();
        let log_tail = match (&problem, &log) {
            (Some(_), Some(log)) => log.tail(),
            _ => Vec::new(),
        };
        let said = bytes_of(&self.spec.log());
        if said == Some(0) {
            // Its log is empty.
            let _ = std::fs::remove_file(self.spec.log());
        }
        let name = |path: &Path| path.display().to_string();
        Profile {
            command: self.secrets.command(&self.command),
            file: file_bytes.map(|_| name(&self.spec.out)),
            file_bytes,
            log: said.filter(|bytes| *bytes > 0).map(|_| name(&self.spec.log())),
            from_s: seen.from_ns.map(at_s),
            to_s: seen.to_ns.map(at_s),
            problem,
            log_tail,
        }
    }

    /// The fault of a finished profile.
    fn shortcoming(&self, seen: &Seen, record: &RunRecord, target: &Running) -> Option<String> {
        let (from_ns, to_ns) = (seen.from_ns?, seen.to_ns?);
        let end_ns = record
            .machine()
            .origin_monotonic_ns
            .saturating_add(record.warm_up_ns)
            .saturating_add(record.window_ns);
        if let Some(how) = &seen.ended
            && to_ns < end_ns
            // Most profilers end with their target.
            && target.how_it_ended().is_none()
        {
            let after = fmt_duration_ns(to_ns.saturating_sub(from_ns));
            return Some(format!("it ended by itself after {after}, {how}"));
        }
        let wanted = self.spec.command.iter().any(|word| word.contains(OUT));
        (wanted && bytes_of(&self.spec.out).is_none())
            .then(|| format!("it left no file {}", self.spec.out.display()))
    }
}

/// Without a completed run there is no profile; a waiting keeper is told to end.
impl Drop for Profiler {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(attendant) = self.attendant.take() {
            let _ = attendant.join();
            let _ = std::fs::remove_file(self.spec.log());
        }
    }
}

fn bytes_of(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|file| file.len())
}

/// Starts and interrupts the profiler at the ends of the window.
struct Attendant {
    keeper: Keeper,
    control: Arc<Control>,
    over: Arc<AtomicBool>,
    warm_up_ns: u64,
    cores: Vec<usize>,
}

impl Attendant {
    fn attend(mut self) -> Seen {
        candor_engine::keep_to_cores(&self.cores);
        let mut seen = Seen::default();
        if !self.wait_for_window() {
            seen.problem = Some("the run ended before the measured window began".to_owned());
            self.keeper.stop(Duration::ZERO);
            return seen;
        }
        self.keeper.begin();
        seen.from_ns = Some(now_ns());
        match self.keeper.said.recv_timeout(PATIENCE) {
            Ok(Said::Started(_)) => {}
            other => {
                seen.from_ns = None;
                seen.problem = Some(match other {
                    Ok(Said::Failed(why)) => format!("it could not be started: {why}"),
                    _ => "it could not be started: its keeper sent no message".to_owned(),
                });
                self.keeper.stop(Duration::ZERO);
                return seen;
            }
        }
        seen.ended = self.watch();
        seen.to_ns = Some(now_ns());
        // Its children may outlive it.
        let is_gone = self.keeper.interrupt(WRITING, ENDING);
        // It has ended, so its messages end, too.
        let is_forced = is_gone && self.keeper.said.iter().any(|said| said == Said::Forced);
        if is_forced || !is_gone {
            let patience = fmt_duration_ns((WRITING + ENDING).as_nanos() as u64);
            seen.problem = Some(format!(
                "it did not end within {patience} of SIGINT and was killed: its file may be incomplete"
            ));
        }
        seen
    }

    /// Waits until the window begins; returns whether there is one.
    fn wait_for_window(&self) -> bool {
        loop {
            let left_ns = match self.control.course() {
                Course::Before => u64::MAX,
                Course::Sending { origin_monotonic_ns } => {
                    origin_monotonic_ns.saturating_add(self.warm_up_ns).saturating_sub(now_ns())
                }
                Course::SentAll => return false,
            };
            if left_ns == 0 {
                return true;
            }
            if self.over.load(Ordering::Relaxed) {
                return false;
            }
            thread::sleep(NAP.min(Duration::from_nanos(left_ns)));
        }
    }

    /// Waits until the window is over, or until the profiler has ended; returns how it ended.
    fn watch(&self) -> Option<String> {
        while matches!(self.control.course(), Course::Sending { .. })
            && !self.over.load(Ordering::Relaxed)
        {
            match self.keeper.said.recv_timeout(NAP) {
                Ok(Said::Ended(how)) => return Some(how),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Some("with its keeper, which another program killed".to_owned());
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_and_the_file_stand_where_the_command_wants_them() {
        let spec = ProfileSpec::new("perf record -p {pid} -o '{out}' --x={pid}", "a b.profile");
        let spec = spec.unwrap();
        let command = ["perf", "record", "-p", "7", "-o", "a b.profile", "--x=7"];
        assert_eq!(spec.command_of(7), command);
        assert_eq!(spec.log(), Path::new("a b.profile.log"));
        assert!(ProfileSpec::new("perf 'record", "x").unwrap_err().contains("not closed"));
    }
}
