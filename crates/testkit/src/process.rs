//! Processes of a test: started here, ended here by their own pid, even if the test fails.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The time between asking a process to end and killing it.
const GRACE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A child process that does not outlive this value: on drop it gets SIGTERM, then SIGKILL.
#[derive(Debug)]
pub struct Managed {
    child: Child,
}

impl Managed {
    /// Starts it.
    pub fn spawn(command: &mut Command) -> io::Result<Managed> {
        Ok(Managed { child: command.spawn()? })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The child itself, for its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }

    /// Waits for its end; `None` if it still runs after `patience`.
    pub fn wait(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let mut status = Ok(None);
        wait_until(patience, || {
            status = self.child.try_wait();
            !matches!(status, Ok(None))
        });
        status
    }

    /// Ends it with SIGTERM, or SIGKILL if that does not help; says how it ended.
    pub fn stop(&mut self) -> io::Result<ExitStatus> {
        // Until it was waited for, the pid cannot be another's.
        if let Some(status) = self.child.try_wait()? {
            return Ok(status);
        }
        self.signal(Signal::TERM)?;
        if let Some(status) = self.wait(GRACE)? {
            return Ok(status);
        }
        self.child.kill()?;
        self.child.wait()
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        // Nothing can be done in a drop about a process that cannot be ended.
        let _ = self.stop();
    }
}

/// A port of loopback that is free, and that no connection takes meanwhile: it lies below those that the system gives
/// by itself. A process gets each once, and processes begin at different ones. Where a server can pick its own, let it.
pub fn free_port() -> io::Result<u16> {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    const FIRST: u32 = 15_000;
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")?;
    let first_given = range.split_whitespace().next().and_then(|word| word.parse().ok());
    let room = first_given.unwrap_or(0).max(FIRST + 1000) - FIRST;
    // Neighbours in pids are far from each other.
    let begin = std::process::id().wrapping_mul(2_654_435_761);
    for _ in 0..room {
        let number = begin.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed));
        let port = (FIRST + number % room) as u16;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::Error::other("no port of loopback is free"))
}

/// Waits until a process listens; returns whether one does.
pub fn wait_for_port(address: SocketAddr, patience: Duration) -> bool {
    wait_until(patience, || TcpStream::connect_timeout(&address, patience).is_ok())
}

/// Waits for a target's port file; its lines as keys and values.
pub fn read_port_file(path: &Path, patience: Duration) -> Option<BTreeMap<String, String>> {
    let mut text = None;
    wait_until(patience, || {
        text = std::fs::read_to_string(path).ok();
        text.is_some()
    });
    let text = text?;
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    Some(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}

/// Asks until `done` says yes or `patience` is over; what it said last.
pub fn wait_until(patience: Duration, mut done: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + patience;
    loop {
        if done() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_process_ends_by_sigterm() {
        use std::os::unix::process::ExitStatusExt;
        let mut sleeper = Managed::spawn(Command::new("sleep").arg("60")).unwrap();
        assert_eq!(sleeper.wait(Duration::from_millis(20)).unwrap(), None);
        assert_eq!(sleeper.stop().unwrap().signal(), Some(Signal::TERM.as_raw()));
    }

    #[test]
    fn nobody_listens_on_a_free_port() {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().unwrap()));
        assert!(!wait_for_port(address, Duration::from_millis(30)));
        let _listener = TcpListener::bind(address).unwrap();
        assert!(wait_for_port(address, Duration::from_secs(1)));
    }

    #[test]
    fn no_free_port_is_given_twice() {
        let ports: HashSet<u16> = (0..500).map(|_| free_port().unwrap()).collect();
        assert_eq!(ports.len(), 500);
        let given = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        assert!(ports.iter().all(|&port| port < given.port()), "{given}");
    }
}
