//! Checks the consistency of a result from a file, on which renderings rely.

use super::latency::Distribution;
use super::{Document, FORMAT};
use crate::read::{self, ReadError, Saved};

impl Document {
    /// Reads a document. Fields that this version does not know are skipped.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        read::read(text)
    }
}

impl Saved for Document {
    const FORMAT: &'static str = FORMAT;

    fn check(&self) -> Result<(), String> {
        let optional = [
            ("handshake", &self.latencies.handshake),
            ("secured", &self.latencies.secured),
            ("untouched", &self.latencies.untouched),
        ];
        let optional = optional.into_iter().filter_map(|(name, one)| Some((name, one.as_ref()?)));
        let blocked = self.latencies.blocked.as_ref().map(|one| ("blocked", &one.time));
        self.latencies
            .named()
            .into_iter()
            .chain(optional)
            .chain(blocked)
            .try_for_each(|(name, one)| one.check(name))?;
        if let Some(kernel) = &self.kernel {
            kernel.service.check("kernel.service")?;
            kernel.send_delay.check("kernel.send_delay")?;
            kernel.outside.check("kernel.outside")?;
            kernel.receive_delay.check("kernel.receive_delay")?;
        }
        if let Some(paths) = &self.paths {
            paths.rtt.check("paths.rtt")?;
            paths.least_rtt.check("paths.least_rtt")?;
        }
        if let Some(streams) = &self.streams {
            streams.named().try_for_each(|(name, one)| one.check(&format!("streams.{name}")))?;
        }
        // What this program finds wrong with its own figures it says in the document.
        let is_told = self.verdicts.iter().any(|one| one.id == "ledger");
        if !is_told && ![&self.ledger, &self.warm_up].iter().all(|one| one.balances()) {
            return Err("its ledger does not balance, and no verdict says so".to_owned());
        }
        if self.goodput.is_some_and(|one| one.good > self.ledger.ok) {
            return Err("goodput.good is above ledger.ok".to_owned());
        }
        if self.machines.is_empty() {
            return Err("machines is empty and must have at least one".to_owned());
        }
        self.hiccups().try_for_each(|one| one.late.check("hiccups.late"))?;
        let of_addresses = self.addresses.iter().filter_map(|one| one.requests.as_ref());
        for one in self.targets.iter().chain(of_addresses) {
            one.response.iter().try_for_each(|response| response.check("targets.response"))?;
        }
        for one in &self.requests {
            let step = one.step.iter().flat_map(|step| {
                [
                    ("service", &step.service),
                    ("queue_wait", &step.queue_wait),
                    ("send_lag", &step.send_lag),
                ]
            });
            let response = one.response.iter().map(|response| ("response", response));
            response
                .chain(step)
                .try_for_each(|(name, one)| one.check(&format!("requests.{name}")))?;
        }
        for one in self.users.iter().flat_map(|users| &users.journeys) {
            one.duration.check("users.journeys.duration")?;
            one.active.check("users.journeys.active")?;
        }
        for (at, one) in self.intervals.iter().enumerate() {
            let name = |what: &str| format!("intervals[{at}].{what}");
            ordered(&name("start_ns"), Some(one.start_ns), &name("end_ns"), Some(one.end_ns))?;
            for (what, brief) in [
                ("response", &one.response),
                ("service", &one.service),
                ("send_lag", &one.send_lag),
                ("blocked", &one.blocked),
            ] {
                ordered(&name(what), brief.min_ns, "max_ns", brief.max_ns)?;
            }
        }
        Ok(())
    }
}

impl Distribution {
    /// Checks that its ends are in order. The histogram is checked when it is decoded.
    pub(crate) fn check(&self, name: &str) -> Result<(), String> {
        ordered(&format!("{name}.min_ns"), self.min_ns, "max_ns", self.max_ns)
    }
}

fn ordered(low: &str, low_ns: Option<u64>, high: &str, high_ns: Option<u64>) -> Result<(), String> {
    match low_ns.zip(high_ns) {
        Some((low_ns, high_ns)) if low_ns > high_ns => {
            Err(format!("{low} is {low_ns} and must be at most {high}, which is {high_ns}"))
        }
        _ => Ok(()),
    }
}
