//! The paths of connections over QUIC, as their transport saw them: read once, when a connection ends.

use serde::{Deserialize, Serialize};

use crate::figure::{Figure, figures};
use crate::histogram::Histogram;

/// The path of one connection, at its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Path {
    /// The smoothed round-trip time (RFC 9002 5.3).
    pub rtt_ns: u64,
    /// The shortest round-trip time.
    pub least_rtt_ns: u64,
    /// Its counts: of one connection.
    pub counts: PathCounts,
}

figures! {
    /// Counts of the paths of connections.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct PathCounts {
        /// Connections that ended after their handshake.
        pub connections: u64,
        /// Packets that were sent.
        pub packets: u64,
        /// Those of them that were declared lost (RFC 9002 6).
        pub lost: u64,
        /// The bytes of those.
        pub lost_bytes: u64,
        /// How often the congestion window was reduced, by a loss or a mark.
        pub congestion_events: u64,
        /// Probe timeouts (PTO) that expired: no acknowledgement came in time, and probes were sent (RFC 9002 6.2).
        #[serde(default)]
        pub probe_timeouts: u64,
        /// How often the path let only short datagrams through where longer ones had gone before.
        pub black_holes: u64,
        /// The congestion windows at the ends of the connections, added up.
        pub window_bytes: u64,
        /// The longest datagrams that their paths took, added up.
        pub datagram_bytes: u64,
        /// How often a server said that our receive windows stopped it (RFC 9000 19.12 and 19.13).
        pub stopped_by_window: u64,
    }
}

figures! {
    /// The paths of connections.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Paths {
        /// Smoothed round-trip times.
        pub rtt: Histogram,
        /// The shortest round-trip time of each.
        pub least_rtt: Histogram,
        /// Their counts.
        pub counts: PathCounts,
    }
}

impl Paths {
    /// None so far.
    pub fn new(digits: u8) -> Self {
        Figure::new(digits)
    }

    pub(crate) fn add(&mut self, path: &Path) {
        self.rtt.record(path.rtt_ns);
        self.least_rtt.record(path.least_rtt_ns);
        self.counts.merge(&path.counts);
    }
}
