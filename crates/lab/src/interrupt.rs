//! Interrupts an experiment: the current run and all later ones.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use candor_engine::{Control, Course};

/// A request to stop from outside, possibly repeated. Each run has a control of its own, because a
/// run also stops when its target ends, which is not an interruption.
#[derive(Debug, Default)]
pub struct Interrupt {
    asked: AtomicBool,
    run: Mutex<Option<Arc<Control>>>,
    /// Requests that earlier runs have sent; `None`: none of them began.
    before: Mutex<Option<u64>>,
}

/// What the control of a run knows of its requests; `None`: it has not begun.
fn sent_by(control: &Control) -> Option<u64> {
    (control.course() != Course::Before).then(|| control.least_sent())
}

impl Interrupt {
    /// Stops the current run, at once if asked before, and every later one.
    pub fn stop(&self) {
        self.asked.store(true, Ordering::SeqCst);
        if let Some(control) = &*self.run.lock().unwrap_or_else(PoisonError::into_inner) {
            control.stop();
        }
    }

    /// Whether it was asked for.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// How many requests all runs have sent at least; `None`: none has begun to send.
    pub fn least_sent(&self) -> Option<u64> {
        let before = *self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.run().and_then(|control| sent_by(&control));
        before.into_iter().chain(now).reduce(u64::saturating_add)
    }

    /// The control of the current or the last run.
    pub fn run(&self) -> Option<Arc<Control>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The control of the next run.
    pub fn next_run(&self) -> Arc<Control> {
        let control = Arc::new(Control::default());
        let before = self.least_sent();
        let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        *self.before.lock().unwrap_or_else(PoisonError::into_inner) = before;
        *run = Some(Arc::clone(&control));
        drop(run);
        if self.is_asked() {
            control.stop();
        }
        control
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stops_this_run_and_the_next() {
        let interrupt = Interrupt::default();
        let first = interrupt.next_run();
        assert!(!first.is_stopping());
        interrupt.stop();
        assert!(first.is_stopping() && !first.is_impatient() && interrupt.is_asked());
        interrupt.stop();
        assert!(first.is_impatient());
        assert!(interrupt.next_run().is_stopping());
    }

    #[test]
    fn it_knows_whether_anything_was_sent() {
        let interrupt = Interrupt::default();
        assert_eq!(interrupt.least_sent(), None);
        let first = interrupt.next_run();
        assert_eq!(interrupt.least_sent(), None);
        first.will_send(1);
        first.begins(7);
        assert_eq!(interrupt.least_sent(), Some(0));
        first.sent_more(5);
        let second = interrupt.next_run();
        assert_eq!(interrupt.least_sent(), Some(5), "the second has not begun");
        second.will_send(1);
        second.begins(9);
        second.sent_more(2);
        assert_eq!(interrupt.least_sent(), Some(7));
    }
}
