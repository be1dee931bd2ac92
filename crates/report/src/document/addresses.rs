//! The addresses of targets: connections to each, the time in which none could be made, and its requests.

use candor_plan::Parts;
use candor_record::{AddressCounts, RunRecord};
use serde::{Deserialize, Serialize};

use super::counts::RequestRow;
use super::latency::Distribution;

/// One address of a target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AddressRow {
    /// Its target.
    pub target: String,
    /// The address, with its port.
    pub address: String,
    /// Connections established, before the run too.
    pub opened: u64,
    /// Attempts to connect that failed, for no fault of the loader's machine.
    pub failed: u64,
    /// Connections lost.
    pub lost: u64,
    /// Share of the run in which it was down, in [0, 1]: from an attempt that failed to the next one that did not, on
    /// average over threads. Null if no time passed.
    pub down: Option<f64>,
    /// Its measured requests, if requests are told apart by address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestRow>,
}

impl AddressRow {
    pub(super) fn all(plan: &Parts, record: &RunRecord) -> Vec<Self> {
        let name = |number: u32| {
            let target = plan.targets().nth(number as usize);
            target.map(|one| one.name.clone()).unwrap_or_default()
        };
        let row = |one: AddressCounts| AddressRow {
            target: name(one.target),
            opened: one.opened,
            failed: one.failed,
            lost: one.lost,
            down: (one.watched_ns > 0)
                .then(|| (one.down_ns as f64 / one.watched_ns as f64).min(1.0)),
            requests: one.requests.map(|all| RequestRow {
                name: one.address.clone(),
                sent: all.sent,
                ok: all.ok,
                errors: all.errors,
                response: all.response.as_ref().map(Distribution::of),
                ..RequestRow::default()
            }),
            address: one.address,
        };
        let rows = record.workers.iter().flat_map(|one| &one.addresses);
        AddressCounts::of_all(rows).into_iter().map(row).collect()
    }
}
