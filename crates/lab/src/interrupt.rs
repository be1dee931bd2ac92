//! Interrupts an experiment: the current run and all later ones.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use candor_engine::Control;

/// A request to stop from outside, possibly repeated. Each run has a control of its own, because a
/// run also stops when its target ends, which is not an interruption.
#[derive(Debug, Default)]
pub struct Interrupt {
    asked: AtomicBool,
    run: Mutex<Option<Arc<Control>>>,
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

    /// The control of the current or the last run.
    pub fn run(&self) -> Option<Arc<Control>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The control of the next run.
    pub fn next_run(&self) -> Arc<Control> {
        let control = Arc::new(Control::default());
        let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
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
}
