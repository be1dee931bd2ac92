//! Wakes a task at a time of the monotonic clock, to the accuracy of the kernel.
//!
//! tokio's own timer rounds up to whole milliseconds, which is too coarse for parts at known times.
//! Each alarm has a timer of the kernel; where none is to be had, because files have run out, it
//! falls back to tokio's.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::truth::now_ns;

pub(crate) struct Alarm(Option<AsyncFd<OwnedFd>>);

impl Alarm {
    /// An alarm of the current event loop.
    #[expect(
        deprecated,
        reason = "what replaces it is unsafe, to demand a descriptor that stays open: an OwnedFd does"
    )]
    pub(crate) fn new() -> Self {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags).ok();
        Alarm(timer.and_then(|fd| AsyncFd::with_interest(fd, Interest::READABLE).ok()))
    }

    /// Returns at `due_ns` of the monotonic clock; at once, if that has passed.
    pub(crate) async fn until(&self, due_ns: u64) {
        loop {
            let now_ns = now_ns();
            if now_ns >= due_ns {
                return;
            }
            if self.wait(due_ns).await.is_none() {
                tokio::time::sleep(Duration::from_nanos(due_ns - now_ns)).await;
            }
        }
    }

    /// Waits for the kernel's timer, perhaps not long enough; `None` if there is none.
    async fn wait(&self, due_ns: u64) -> Option<()> {
        let timer = self.0.as_ref()?;
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec {
                tv_sec: i64::try_from(due_ns / 1_000_000_000).ok()?,
                tv_nsec: (due_ns % 1_000_000_000) as _,
            },
        };
        timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &once).ok()?;
        timer.readable().await.ok()?.clear_ready();
        Some(())
    }
}
