//! Who looks on while an experiment of many runs goes on: signals become stops, and a line tells of
//! the run that goes on.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use candor_engine::Observer;
use candor_lab::Interrupt;
use candor_record::IntervalSummary;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::console::Progress;
use crate::exit::Failure;

/// Watches from [`Watched::new`] to [`Watched::end`], or until it is dropped.
pub(crate) struct Watched {
    progress: Progress,
    interrupt: Arc<Interrupt>,
    handle: Handle,
    watcher: Option<JoinHandle<()>>,
}

impl Watched {
    pub(crate) fn new(quiet: bool) -> Result<Self, Failure> {
        let interrupt = Arc::new(Interrupt::default());
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(|error| {
            Failure::could_not_run(format!("cannot watch for signals: {error}"))
        })?;
        let handle = signals.handle();
        let told = Arc::clone(&interrupt);
        let watcher = thread::spawn(move || signals.forever().for_each(|_| told.stop()));
        Ok(Watched { progress: Progress::new(quiet), interrupt, handle, watcher: Some(watcher) })
    }

    /// What signals stop.
    pub(crate) fn interrupt(&self) -> Arc<Interrupt> {
        Arc::clone(&self.interrupt)
    }

    /// Takes the line away and stops watching.
    pub(crate) fn end(&mut self) {
        self.progress.clear();
        self.handle.close();
        // The watcher has nothing to say; it only has to be gone.
        let _ = self.watcher.take().map(JoinHandle::join);
    }
}

impl Observer for Watched {
    fn interval(&mut self, summary: &IntervalSummary) {
        self.progress.show(summary);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.end();
    }
}
