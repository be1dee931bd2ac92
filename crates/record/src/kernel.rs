//! Service time in three parts, by the kernel's own time stamps.
//!
//! `service = send delay + outside + receive delay`, exactly, for every request that is in here:
//! from our call to the kernel's handing the request to the device, from there until the kernel
//! had the end of the answer, and from there to our read. Only answered, measured requests on
//! connections with stamps are in here, and only those of which both stamps are known for sure;
//! the others are counted by what was missing.

use serde::{Deserialize, Serialize};

use crate::add;
use crate::histogram::Histogram;

/// The times of one request, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelSample {
    /// When its first byte was handed to the kernel.
    pub sent_ns: u64,
    /// When the kernel had handed to the device what that call took.
    pub left_ns: u64,
    /// When the kernel received the last segment of the answer.
    pub arrived_ns: u64,
    /// When we read the last byte of the answer.
    pub done_ns: u64,
}

/// Everything that kernel time stamps say about a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelTimes {
    /// Service times of the requests that are in here.
    pub service: Histogram,
    /// From our call to the device: the loader's own.
    pub send_delay: Histogram,
    /// From the device to the end of the answer: the wire and the server.
    pub outside: Histogram,
    /// From the end of the answer to our read: the loader's own.
    pub receive_delay: Histogram,
    /// Requests whose send was not stamped, or not by itself.
    pub without_send_stamp: u64,
    /// Requests whose answer did not end its read, or has no stamp.
    pub without_receive_stamp: u64,
    /// Requests whose stamps are not in order: the realtime clock was set, or a server answered
    /// before it had the whole request.
    pub out_of_order: u64,
    /// Connections with stamps.
    pub connections: u64,
    /// Connections that were to have stamps, and whose socket refused.
    pub refused: u64,
    /// Why, the first time.
    pub refusal: Option<String>,
    /// Times that the realtime clock was set while stamps were taken.
    pub clock_steps: u64,
    /// How much a stamp can be off, at most, by its conversion to the monotonic clock.
    pub conversion_error_ns: u64,
}

impl KernelTimes {
    /// Nothing yet.
    pub fn new(digits: u8) -> Self {
        let histogram = || Histogram::new(digits);
        KernelTimes {
            service: histogram(),
            send_delay: histogram(),
            outside: histogram(),
            receive_delay: histogram(),
            without_send_stamp: 0,
            without_receive_stamp: 0,
            out_of_order: 0,
            connections: 0,
            refused: 0,
            refusal: None,
            clock_steps: 0,
            conversion_error_ns: 0,
        }
    }

    /// Takes one request, if its times are in order.
    pub fn add(&mut self, one: KernelSample) {
        let KernelSample { sent_ns, left_ns, arrived_ns, done_ns } = one;
        if !(sent_ns <= left_ns && left_ns <= arrived_ns && arrived_ns <= done_ns) {
            self.out_of_order += 1;
            return;
        }
        self.service.record(done_ns - sent_ns);
        self.send_delay.record(left_ns - sent_ns);
        self.outside.record(arrived_ns - left_ns);
        self.receive_delay.record(done_ns - arrived_ns);
    }

    /// Whether its histograms are as fine as those of `other`.
    pub(crate) fn fits(&self, other: &KernelTimes) -> bool {
        let layouts = |one: &KernelTimes| {
            [&one.service, &one.send_delay, &one.outside, &one.receive_delay].map(Histogram::layout)
        };
        layouts(self) == layouts(other)
    }

    /// Adds those of another worker.
    pub fn merge(&mut self, other: &KernelTimes) {
        self.service.merge(&other.service);
        self.send_delay.merge(&other.send_delay);
        self.outside.merge(&other.outside);
        self.receive_delay.merge(&other.receive_delay);
        add(&mut self.without_send_stamp, other.without_send_stamp);
        add(&mut self.without_receive_stamp, other.without_receive_stamp);
        add(&mut self.out_of_order, other.out_of_order);
        add(&mut self.connections, other.connections);
        add(&mut self.refused, other.refused);
        if self.refusal.is_none() {
            self.refusal.clone_from(&other.refusal);
        }
        add(&mut self.clock_steps, other.clock_steps);
        self.conversion_error_ns = self.conversion_error_ns.max(other.conversion_error_ns);
    }
}
