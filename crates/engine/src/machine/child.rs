//! A child process that does not outlive who started it, however that ends.
//!
//! Between fork and exec code runs in the child, which the standard library has as unsafe; that code is
//! here and nothing else.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

/// Has the kernel send SIGKILL to what `command` starts when the thread that starts it ends
/// (PR_SET_PDEATHSIG(2const)). What that process starts in turn is not included, and a program that
/// changes its user by a set-user-ID bit escapes.
pub fn end_with_this_thread(command: &mut Command) {
    let parent = getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // Who ended before that sends nothing any more.
        if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    };
    // SAFETY: in the child of a process with several threads only async-signal-safe functions may be
    // called (fork(2)): these are system calls, and neither result allocates.
    unsafe { command.pre_exec(ask) };
}
