//! Wakes a task at a time of the monotonic clock, to the accuracy of the kernel.
//!
//! tokio's own timer rounds up to whole milliseconds, which is too coarse for parts at known times.
//! An alarm that has to wait has a timer of the kernel, which is a file; where none is to be had, because files have run
//! out, it falls back to tokio's. One that never waits has none: of 10,000 sockets, 10,000 files are enough.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::truth::now_ns;

#[derive(Default)]
pub(crate) struct Alarm(OnceLock<Option<AsyncFd<OwnedFd>>>);

/// A timer of the current event loop.
#[expect(
    deprecated,
    reason = "what replaces it is unsafe, to demand a descriptor that stays open: an OwnedFd does"
)]
fn timer() -> Option<AsyncFd<OwnedFd>> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags).ok();
    timer.and_then(|fd| AsyncFd::with_interest(fd, Interest::READABLE).ok())
}

impl Alarm {
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
        let timer = self.0.get_or_init(timer).as_ref()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_that_waits_for_nothing_opens_no_file() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("an event loop").block_on(async {
            let alarm = Alarm::default();
            alarm.until(now_ns()).await;
            assert!(alarm.0.get().is_none());
            let due_ns = now_ns() + 1_000_000;
            alarm.until(due_ns).await;
            assert!(now_ns() >= due_ns && alarm.0.get().is_some());
        });
    }
}
