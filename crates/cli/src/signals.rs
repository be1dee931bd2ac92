//! Signals, for the whole process and in every command: the first asks for an orderly end, the second
//! ends the run without waiting for responses, the third ends the process at once. A command that has no
//! orderly end of its own ends at the first.
//!
//! SIGINT, SIGTERM, SIGQUIT and SIGHUP, the end of a terminal, mean the same; a SIGHUP that is ignored, as
//! by nohup, stays so. One thread waits for them and calls the function last given to [`on_signal`]. It
//! never waits for other threads, so the third signal always works. What is left then is ended and removed
//! by the keepers of targets.
//!
//! SIGXFSZ is caught and nothing else: a file that may not grow is a failed write like any other.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::low_level::exit;

use crate::console::{self, terminal};
use crate::exit::{Exit, UserError};
use crate::sent;

/// The number of signals after which the process ends at once.
const PATIENCE: u32 = 3;
/// Time limit for the last words: their reader may have stopped.
const LAST_WORDS: Duration = Duration::from_millis(200);

type Stopper = Box<dyn Fn() + Send>;

static STOP: Mutex<Option<Stopper>> = Mutex::new(None);

/// Hears signals from now on, for as long as the process lives.
pub(crate) fn listen() -> Result<(), UserError> {
    let failed = |error| UserError::could_not_run(format!("cannot watch for signals: {error}"));
    let heard = [SIGINT, SIGTERM, SIGQUIT, SIGHUP];
    let heard = heard.iter().filter(|&&signal| signal != SIGHUP || !is_ignored(SIGHUP));
    let signals = Signals::new(heard).map_err(failed)?;
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map_err(failed)?;
    let watch = thread::Builder::new().name("signals".to_owned());
    watch.spawn(move || watch_for(signals)).map(drop).map_err(failed)
}

/// Whether this process was started with a signal ignored; where that cannot be known, it was not.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// From now on, each signal calls `stop` in place of the previous function. It must not block.
pub(crate) fn on_signal(stop: impl Fn() + Send + 'static) {
    *STOP.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(stop));
}

fn watch_for(mut signals: Signals) {
    let mut heard = 0;
    for _ in signals.forever() {
        heard += 1;
        let stop = STOP.lock().unwrap_or_else(PoisonError::into_inner);
        match &*stop {
            Some(stop) if heard < PATIENCE => stop(),
            Some(_) => end(format!("ended at once by a third signal: {}", sent::without_result())),
            None => end("interrupted: nothing is written".to_owned()),
        }
    }
}

/// Ends the process with these words.
fn end(words: String) {
    terminal::restore();
    let (tell, told) = channel();
    let said = thread::Builder::new().spawn(move || {
        console::say(format_args!("candor: {words}"));
        let _ = tell.send(());
    });
    if said.is_ok() {
        let _ = told.recv_timeout(LAST_WORDS);
    }
    candor_files::give_up();
    exit(Exit::Interrupted as i32);
}
