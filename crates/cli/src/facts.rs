//! The facts of a run before it begins: its command line, the machine, and the time.

use candor_lab::trial::unix_ms;
use candor_plan::redact::Typed;
use candor_report::Facts;

/// The facts of a run or an experiment that begins now.
pub(crate) fn facts(typed: Typed) -> Facts {
    Facts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        typed,
        host: candor_engine::host(),
        started_unix_ms: unix_ms(),
        target_note: None,
        target_delay_ns: None,
    }
}
