//! The server's counts, for comparison with a loader's figures.
//!
//! Each thread has its own counters and nothing on the path of a request is shared between
//! threads; [`Stats`] is their sum at one moment.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::Serialize;

use crate::route::Route;

/// The counts of a server. Requests for `/__stats` and `/__stall` are not included.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Connections accepted and served.
    pub connections_accepted: u64,
    /// Of these, open now.
    pub connections_open: u64,
    /// Connections closed at once because there were too many.
    pub connections_refused: u64,
    /// Failures of `accept` itself, without free file descriptors.
    pub accept_errors: u64,
    /// Requests whose header was read in full. Requests that hyper itself refuses with 400 do not
    /// count.
    pub requests_accepted: u64,
    /// Responses whose last byte was handed to the kernel. A response cut short by a fault does not
    /// count.
    pub requests_answered: u64,
    /// Bytes of request bodies that were read.
    pub body_bytes: u64,
    /// Requests accepted, by scenario; scenarios without requests are omitted.
    pub requests_by_scenario: BTreeMap<&'static str, u64>,
    /// Parts whose first byte was handed to the kernel, by scenario: events (no comments, no
    /// terminator), messages of calls and of WebSockets (no control frames).
    pub parts_sent_by_scenario: BTreeMap<&'static str, u64>,
    /// Messages of calls and of WebSockets that were read in full, by scenario.
    pub parts_received_by_scenario: BTreeMap<&'static str, u64>,
}

type ByRoute = [AtomicU64; Route::ALL.len()];

/// The counters of one thread, on cache lines of their own.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Counters {
    requests_answered: AtomicU64,
    body_bytes: AtomicU64,
    requests_by_route: ByRoute,
    parts_sent_by_route: ByRoute,
    parts_received_by_route: ByRoute,
}

impl Counters {
    pub(crate) fn new() -> Self {
        Counters {
            requests_answered: AtomicU64::new(0),
            body_bytes: AtomicU64::new(0),
            requests_by_route: [const { AtomicU64::new(0) }; Route::ALL.len()],
            parts_sent_by_route: [const { AtomicU64::new(0) }; Route::ALL.len()],
            parts_received_by_route: [const { AtomicU64::new(0) }; Route::ALL.len()],
        }
    }

    pub(crate) fn accepted(&self, route: Route) {
        self.requests_by_route[route as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn answered(&self, requests: u64) {
        self.requests_answered.fetch_add(requests, Relaxed);
    }

    pub(crate) fn body_bytes(&self, bytes: u64) {
        self.body_bytes.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn part_sent(&self, route: Route) {
        self.parts_sent_by_route[route as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn part_received(&self, route: Route) {
        self.parts_received_by_route[route as usize].fetch_add(1, Relaxed);
    }

    /// Adds what this thread has counted to `stats`.
    pub(crate) fn add_to(&self, stats: &mut Stats) {
        // Responses first: read the other way round, a response in between would make more
        // responses than requests.
        stats.requests_answered += self.requests_answered.load(Relaxed);
        stats.body_bytes += self.body_bytes.load(Relaxed);
        stats.requests_accepted += add(&self.requests_by_route, &mut stats.requests_by_scenario);
        add(&self.parts_sent_by_route, &mut stats.parts_sent_by_scenario);
        add(&self.parts_received_by_route, &mut stats.parts_received_by_scenario);
    }
}

/// Adds counts to those of their scenarios; returns their sum.
fn add(counts: &ByRoute, by_scenario: &mut BTreeMap<&'static str, u64>) -> u64 {
    let counts = counts.iter().map(|count| count.load(Relaxed));
    let mut sum = 0;
    for (route, count) in Route::ALL.iter().zip(counts).filter(|&(_, count)| count > 0) {
        *by_scenario.entry(route.name()).or_default() += count;
        sum += count;
    }
    sum
}
