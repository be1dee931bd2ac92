//! The embedded target in a process of its own, for runs without a URL and for `candor verify`.
//!
//! The same program is started as `candor serve`, on the first half of the cores, while the
//! loader takes the last. It ends with its standard input, which this process holds: it is gone
//! when this process is, however this process ends.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use candor_files::private;

use crate::exit::Failure;

/// How long the target may take to get ready.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running embedded target; it ends when this is dropped.
pub(crate) struct Embedded {
    process: Child,
    pub(crate) url: String,
    /// The file of its certificate, if it speaks TLS.
    pub(crate) certificate: Option<PathBuf>,
}

impl Embedded {
    /// Starts `candor serve` with `flags` on a free port.
    pub(crate) fn start(flags: &[String]) -> Result<Self, Failure> {
        // Of use until the target is ready, and gone by then.
        let private = private().map_err(Failure::no_temporary)?;
        let port_file = private.name("port");
        let program = std::env::current_exe().map_err(|error| {
            Failure::could_not_run(format!("cannot find this program's own file: {error}"))
        })?;
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--stop-with-stdin", "--port-file"]);
        command.arg(&port_file).args(flags).stdin(Stdio::piped()).stdout(Stdio::null());
        // Ctrl-C goes to the whole group of processes. The target is not in ours, or it would be
        // gone before the requests in flight are answered.
        command.process_group(0);
        let cores = candor_engine::usable_cores();
        let own = cores[..(cores.len() / 2).max(1)].to_vec();
        // A process begins on the cores of the thread that starts it.
        let spawned = thread::scope(|scope| {
            let starter = scope.spawn(|| {
                candor_engine::keep_to_cores(&own);
                command.spawn()
            });
            starter.join()
        });
        let process = match spawned {
            Ok(Ok(process)) => process,
            Ok(Err(error)) => {
                let message = format!("cannot start the embedded target: {error}");
                return Err(Failure::could_not_run(message));
            }
            Err(_) => return Err(Failure::could_not_run("cannot start the embedded target")),
        };
        let mut embedded = Embedded { process, url: String::new(), certificate: None };
        let port = embedded.wait_for_port(&port_file)?;
        let scheme = if embedded.certificate.is_some() { "https" } else { "http" };
        embedded.url = format!("{scheme}://127.0.0.1:{port}/");
        Ok(embedded)
    }

    /// Ends it, and waits until what it had to write is written.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        drop(self.process.stdin.take());
        match self.process.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => {
                let message = format!("the embedded target failed when it ended, with {status}");
                Err(Failure::could_not_run(message))
            }
            Err(error) => {
                Err(Failure::could_not_run(format!("the embedded target is lost: {error}")))
            }
        }
    }

    fn wait_for_port(&mut self, port_file: &Path) -> Result<u16, Failure> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let text = std::fs::read_to_string(port_file).unwrap_or_default();
            let port = text.lines().find_map(|line| line.strip_prefix("PORT=")?.parse().ok());
            if let Some(port) = port {
                let certificate = text.lines().find_map(|line| line.strip_prefix("CERT="));
                self.certificate = certificate.map(PathBuf::from);
                return Ok(port);
            }
            if let Ok(Some(status)) = self.process.try_wait() {
                let message = format!("the embedded target ended at once, with {status}");
                return Err(Failure::could_not_run(message));
            }
            thread::sleep(Duration::from_millis(1));
        }
        Err(Failure::could_not_run("the embedded target was not ready within ten seconds"))
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(2) {
            if matches!(self.process.try_wait(), Ok(Some(_)) | Err(_)) {
                break;
            }
            thread::sleep(Duration::from_millis(2));
        }
        // It has ended, or it does not listen: killing a process that has ended is no error.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
