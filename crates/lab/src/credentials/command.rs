//! A command that prints a credential. It is run without a shell, has no input, and ends in time or is ended.
//!
//! What it says on its standard error is not looked at: it could be anything, secrets too.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use candor_engine::end_with_this_thread;
use rustix::process::{Pid, Signal, kill_process_group};

use super::value::Fault;
use super::{MOST_BYTES, PATIENCE, Shared, TURN};

/// What the command prints.
pub(super) fn run(words: &[String], shared: &Shared) -> Result<Vec<u8>, Fault> {
    let Some((program, arguments)) = words.split_first() else {
        return Err("it has no program".to_owned().into());
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // A signal of the terminal is for us.
    command.process_group(0);
    end_with_this_thread(&mut command);
    let child = command.spawn().map_err(|error| format!("cannot start {program}: {error}"))?;
    let mut running = Running(child);
    let ended = running.printed(program, shared);
    running.end();
    ended
}

struct Running(Child);

impl Running {
    fn printed(&mut self, program: &str, shared: &Shared) -> Result<Vec<u8>, Fault> {
        let late = || Fault::from(format!("{program} did not end within {PATIENCE:?}"));
        let end = Instant::now() + PATIENCE;
        let Some(out) = self.0.stdout.take() else { return Err(late()) };
        let (tell, told) = channel();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = out.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes);
            let _ = tell.send(read.map(|_| bytes));
        });
        let is_late = || shared.is_over() || Instant::now() >= end;
        let bytes = loop {
            match told.recv_timeout(TURN) {
                Ok(Ok(bytes)) => break bytes,
                Err(RecvTimeoutError::Timeout) if !is_late() => {}
                Ok(Err(_)) | Err(_) => return Err(late()),
            }
        };
        if bytes.len() > MOST_BYTES {
            return Err(format!("{program} prints more than 64 KiB").into());
        }
        loop {
            match self.0.try_wait() {
                Ok(None) if !is_late() => thread::sleep(TURN),
                Ok(Some(status)) if status.success() => return Ok(bytes),
                Ok(Some(status)) => {
                    return Err(
                        format!("{program} fails ({status}); run it by itself to see why").into()
                    );
                }
                Ok(None) | Err(_) => return Err(late()),
            }
        }
    }

    /// Ends what is left of it, and what it started.
    fn end(&mut self) {
        let group = Pid::from_child(&self.0);
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            let _ = kill_process_group(group, Signal::KILL);
            let _ = self.0.wait();
        }
    }
}
