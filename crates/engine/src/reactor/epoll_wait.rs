//! Waits of epoll by the nanosecond: epoll_pwait2 and, before Linux 5.11, ppoll for the time and then epoll_wait for
//! the events, a system call more each time.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use super::socket::timespec;

static OLD: AtomicBool = AtomicBool::new(false);

/// Lets every [`Waiter`] that this process makes from now on behave as on an old kernel; for tests.
pub fn pretend_old_kernel() {
    OLD.store(true, Relaxed);
}

/// The way to wait on this kernel.
#[derive(Debug, Clone, Copy)]
pub struct Waiter {
    is_old: bool,
}

impl Waiter {
    /// Asks the kernel.
    pub fn new(epoll: &OwnedFd) -> Result<Self, Errno> {
        let new = Waiter { is_old: false };
        match new.wait(epoll, &mut Vec::with_capacity(1), 0) {
            Ok(()) => Ok(Waiter { is_old: OLD.load(Relaxed) }),
            Err(Errno::NOSYS) => Ok(Waiter { is_old: true }),
            Err(errno) => Err(errno),
        }
    }

    /// Waits for `timeout_ns` or events, and appends as many to `events` as there is capacity for. A signal ends the
    /// wait early.
    #[inline]
    pub fn wait(
        self,
        epoll: &OwnedFd,
        events: &mut Vec<Event>,
        timeout_ns: u64,
    ) -> Result<(), Errno> {
        if self.is_old {
            return wait_old(epoll, events, timeout_ns);
        }
        let timeout = timespec(timeout_ns);
        let room = events.spare_capacity_mut();
        // SAFETY: the kernel writes at most as many events as there is room for, in its own layout, which `Event` has.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                epoll.as_raw_fd(),
                room.as_mut_ptr(),
                room.len() as libc::c_int,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        let Ok(count) = usize::try_from(count) else {
            // SAFETY: a read of this thread's own number.
            let errno = unsafe { *libc::__errno_location() };
            return if errno == libc::EINTR {
                Ok(())
            } else {
                Err(Errno::from_raw_os_error(errno))
            };
        };
        // SAFETY: that many were written.
        unsafe { events.set_len(events.len() + count) };
        Ok(())
    }
}

#[cold]
fn wait_old(epoll: &OwnedFd, events: &mut Vec<Event>, timeout_ns: u64) -> Result<(), Errno> {
    let timeout = timespec(timeout_ns);
    if let Ok(1) = rustix::event::poll(&mut [PollFd::new(epoll, PollFlags::IN)], Some(&timeout)) {
        // There are some, so nothing is rounded.
        epoll::wait(epoll.as_fd(), spare_capacity(events), Some(&timespec(0)))?;
    }
    Ok(())
}
