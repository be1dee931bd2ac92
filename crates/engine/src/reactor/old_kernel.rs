//! The wait of kernels before 5.11, whose epoll waits by the millisecond: ppoll waits for the set, by the nanosecond,
//! and epoll_wait then takes what is ready. A system call more each time.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::event::{PollFd, PollFlags, epoll::Event};
use rustix::time::Timespec;

static PRETENDED: AtomicBool = AtomicBool::new(false);

/// Lets every epoll reactor that this process makes from now on behave as on such a kernel; for tests.
pub fn pretend() {
    PRETENDED.store(true, Relaxed);
}

pub(super) fn pretended() -> bool {
    PRETENDED.load(Relaxed)
}

/// Waits for `timeout` or events of `epoll`, and appends as many to `events` as there is capacity for. A signal ends
/// the wait early.
pub(super) fn wait(epoll: &OwnedFd, events: &mut Vec<Event>, timeout: &Timespec) {
    // The kernel's `epoll_event` is both types: packed on x86-64 alone, in both.
    const { assert!(size_of::<Event>() == size_of::<libc::epoll_event>()) };
    if !matches!(
        rustix::event::poll(&mut [PollFd::new(epoll, PollFlags::IN)], Some(timeout)),
        Ok(1)
    ) {
        return;
    }
    let room: &mut [MaybeUninit<Event>] = events.spare_capacity_mut();
    let (first, most) = (room.as_mut_ptr().cast(), room.len() as libc::c_int);
    // SAFETY: the kernel writes at most `most` events from `first` on, and says how many.
    let count = unsafe { libc::epoll_wait(epoll.as_raw_fd(), first, most, 0) };
    let length = events.len() + usize::try_from(count).unwrap_or(0);
    // SAFETY: that many were written, within the capacity.
    unsafe { events.set_len(length) };
}
