//! Goodput: whether a response is under the plan's limits.
//!
//! A response is held to the limits of figures that its request has: one without a stream has no first event. The times
//! are exact, those that histograms are made of.

use candor_plan::{Goodput, Request, Streaming};
use candor_record::{Sample, StreamEnd};

/// The limits of the plan, and which of its requests have tokens.
#[derive(Debug)]
pub(crate) struct Limits {
    below: Goodput,
    has_tokens: Box<[bool]>,
}

impl Limits {
    pub(crate) fn of(below: Goodput, requests: &[Request]) -> Self {
        let counts = |one: &Request| one.stream.as_ref().is_some_and(Streaming::counts_tokens);
        Limits { below, has_tokens: requests.iter().map(counts).collect() }
    }

    /// Whether a response as expected is under all of them.
    pub(crate) fn hold(&self, sample: &Sample, stream: Option<&StreamEnd>) -> bool {
        let Goodput { response_ns, first_event_ns, gap_ns, ttft_ns, itl_ns, tpot_ns } = self.below;
        // What did not come is not under its limit. A gap that is not known is above none.
        let came = |ns: Option<u64>, limit: Option<u64>| {
            limit.is_none_or(|limit| ns.is_some_and(|ns| ns < limit))
        };
        let known = |ns: Option<u64>, limit: Option<u64>| ns.is_none() || came(ns, limit);
        if !came(Some(sample.done_ns - sample.due_ns), response_ns) {
            return false;
        }
        let Some(stream) = stream else { return true };
        let events =
            came(stream.first_part_ns, first_event_ns) && known(stream.longest_gap_ns, gap_ns);
        let tokens = || {
            came(stream.first_token_ns, ttft_ns)
                && known(stream.longest_token_gap_ns, itl_ns)
                && known(stream.time_per_token_ns(), tpot_ns)
        };
        events && (!self.has_tokens[sample.request as usize] || tokens())
    }
}
