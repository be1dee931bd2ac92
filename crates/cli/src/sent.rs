//! What is known of requests that were sent, for an end without a result: no sentence says that nothing was sent
//! when something may have been.

use std::sync::{Arc, Mutex, PoisonError};

use candor_lab::Interrupt;
use candor_plan::units::fmt_plural;

/// The runs of this process.
static RUNS: Mutex<Option<Arc<Interrupt>>> = Mutex::new(None);

/// From now on these runs are those of the process.
pub(crate) fn follow(runs: Arc<Interrupt>) {
    *RUNS.lock().unwrap_or_else(PoisonError::into_inner) = Some(runs);
}

/// What the end of the process means for requests, in half a sentence.
pub(crate) fn without_result() -> String {
    let runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    match runs.as_ref().map(|runs| runs.least_sent()) {
        None => "nothing is written".to_owned(),
        Some(None) => "no request was sent, and nothing was measured".to_owned(),
        Some(Some(0)) => "requests may have been sent, and there is no result of them".to_owned(),
        Some(Some(sent)) => {
            let requests = fmt_plural(sent, "request");
            format!("{requests} or more were sent, and there is no result of them")
        }
    }
}
