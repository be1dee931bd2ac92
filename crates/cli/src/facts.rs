//! What is known of a run before it begins: what was typed, which machine this is, and when.

use candor_lab::trial::unix_ms;
use candor_plan::redact::Typed;
use candor_report::{Facts, Host};

/// Facts of a run, or of an experiment, that begins now.
pub(crate) fn facts(typed: Typed) -> Facts {
    Facts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        typed,
        host: host(),
        started_unix_ms: unix_ms(),
        target_note: None,
    }
}

/// This machine.
pub(crate) fn host() -> Host {
    let host = candor_engine::host();
    Host {
        cpu: host.cpu,
        cores: u32::try_from(host.usable_cores).ok(),
        kernel: host.kernel,
        virtualisation: host.virtualisation,
        governor: host.governor,
    }
}
