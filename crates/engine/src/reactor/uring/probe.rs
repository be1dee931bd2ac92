//! Whether this kernel lets this process use what the reactor needs.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;

use super::buffers::Shape;
use super::ring::{Completion, Ring, TaskWork};

static FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// From now on [`probe`] says that the kernel forbids io_uring. For tests of what happens then.
#[doc(hidden)]
pub fn pretend_forbidden() {
    FORBIDDEN.store(true, Ordering::Relaxed);
}

/// Whether this kernel lets this process use what the reactor needs; if not, why, in a sentence.
/// It is tried, not looked up: a kernel may be too old, set to forbid it, or wrapped in a filter.
pub fn probe() -> Result<(), String> {
    if FORBIDDEN.load(Ordering::Relaxed) {
        return Err("io_uring is forbidden here, for a test".to_owned());
    }
    let words = |error: io::Error| match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOSYS) => "this kernel has no io_uring".to_owned(),
        Some(Errno::PERM | Errno::ACCESS) => {
            "io_uring is forbidden here (sysctl kernel.io_uring_disabled, or a system call filter)"
                .to_owned()
        }
        Some(Errno::INVAL) => "this kernel's io_uring is too old; Linux 6.0 is needed".to_owned(),
        _ => format!("io_uring cannot be used: {error}"),
    };
    let shape = Shape { count: 2, bytes: 64 };
    let mut ring = Ring::new(shape, TaskWork::Deferred)
        .or_else(|_| Ring::new(shape, TaskWork::Cooperative))
        .and_then(|mut ring| ring.enable().map(|()| ring))
        .map_err(words)?;
    let (mut there, here) = UnixStream::pair().map_err(words)?;
    there.write_all(b"x").map_err(words)?;
    let here = OwnedFd::from(here);
    ring.receive(&here, 0);
    ring.wait(1_000_000_000);
    let received = ring.next_completion();
    ring.cancel(0);
    match received {
        Some(Completion { result: 1, buffer: Some(0), more: true, .. }) => Ok(()),
        _ => {
            Err("this kernel's io_uring cannot receive more than once; Linux 6.0 is needed"
                .to_owned())
        }
    }
}
