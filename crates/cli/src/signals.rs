//! Signals, for the whole process: the first asks for an orderly end, the second ends the run
//! without waiting for responses, the third ends the process at once.
//!
//! One thread waits for SIGINT and SIGTERM and calls the function last given to [`on_signal`]. It
//! never waits for other threads, so the third signal always works. Before a signal ends the
//! process, a live view restores the terminal.

use std::sync::{Mutex, Once, PoisonError};
use std::thread;

use signal_hook::consts::{SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::{emulate_default_handler, exit};

use crate::console::terminal;
use crate::exit::{Exit, UserError};

/// The number of signals after which the process ends at once.
const PATIENCE: u32 = 3;

type Stopper = Box<dyn Fn() + Send>;

static STOP: Mutex<Option<Stopper>> = Mutex::new(None);

/// From now on, each signal calls `stop` in place of the previous function. It must not block.
pub(crate) fn on_signal(stop: impl Fn() + Send + 'static) -> Result<(), UserError> {
    *STOP.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(stop));
    guard()
}

/// From now on, a signal that ends the process does so without leaving a live view behind.
pub(crate) fn guard() -> Result<(), UserError> {
    static WATCHING: Once = Once::new();
    let mut refused = None;
    WATCHING.call_once(|| match Signals::new([SIGINT, SIGTERM, SIGQUIT]) {
        Ok(signals) => drop(thread::spawn(move || watch(signals))),
        Err(error) => refused = Some(error),
    });
    match refused {
        None => Ok(()),
        Some(error) => Err(UserError::could_not_run(format!("cannot watch for signals: {error}"))),
    }
}

fn watch(mut signals: Signals) {
    let mut heard = 0;
    for signal in signals.forever() {
        let stop = STOP.lock().unwrap_or_else(PoisonError::into_inner);
        match &*stop {
            Some(stop) if signal != SIGQUIT => {
                heard += 1;
                if heard >= PATIENCE {
                    terminal::restore();
                    exit(Exit::Interrupted as i32);
                }
                stop();
            }
            // There is no function for an orderly end.
            _ => {
                terminal::restore();
                let _ = emulate_default_handler(signal);
            }
        }
    }
}
