//! Service time in three parts, by the kernel's own time stamps.
//!
//! `service = send delay + outside + receive delay`, exactly, for every recorded request: from our
//! call until the kernel hands the request to the device, from there until the kernel has the end
//! of the response, and from there to our read. Only measured requests with the expected response
//! on stamped connections are recorded, and only those with two certain stamps; the others are
//! counted by the missing stamp.

use serde::{Deserialize, Serialize};

use crate::figure::{Figure, figures};
use crate::histogram::Histogram;

/// The times of one request, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelSample {
    /// When its first byte was handed to the kernel.
    pub sent_ns: u64,
    /// When the kernel had handed the bytes of that call to the device.
    pub left_ns: u64,
    /// When the kernel received the last segment of the response.
    pub arrived_ns: u64,
    /// When we read the last byte of the response.
    pub done_ns: u64,
}

figures! {
    /// The kernel time stamps of a run, evaluated.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct KernelTimes {
        /// Service times of the recorded requests.
        pub service: Histogram,
        /// From our call to the device: the loader's share.
        pub send_delay: Histogram,
        /// From the device to the end of the response: the wire and the server.
        pub outside: Histogram,
        /// From the end of the response to our read: the loader's share.
        pub receive_delay: Histogram,
        /// Requests whose send was not stamped, or not by itself.
        pub without_send_stamp: u64,
        /// Requests whose response was not the last one of its read, or has no stamp.
        pub without_receive_stamp: u64,
        /// Requests whose stamps are not in order: the realtime clock was set, or the server responded
        /// before it had the whole request.
        pub out_of_order: u64,
        /// Connections with stamps.
        pub connections: u64,
        /// Connections whose socket refused stamps.
        pub refused: u64,
        /// The reason of the first refusal.
        pub refusal: Option<String> as First,
        /// How often the realtime clock was set during stamping.
        pub clock_steps: u64,
        /// The largest error of a stamp from its conversion to the monotonic clock.
        pub conversion_error_ns: u64 as Maximum,
    }
}

impl KernelTimes {
    /// Empty histograms and counts.
    pub fn new(digits: u8) -> Self {
        Figure::new(digits)
    }

    /// Adds one request if its times are in order.
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

    /// Adds those of another worker.
    pub fn merge(&mut self, other: &KernelTimes) {
        Figure::merge(self, other);
    }
}
