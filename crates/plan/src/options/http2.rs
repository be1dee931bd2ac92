//! The version of HTTP, and the sizes of HTTP/2.

use super::group::group;
use crate::run::Congestion;
use crate::values::{Size, SmallCount, WindowBits};

group! {
    "HTTP/2",
    /// The version of HTTP, and the sizes of HTTP/2.
    pub struct Http2Options {
        /// Use HTTP/1.1, even if the server prefers HTTP/2
        #[arg(long)]
        pub h1: bool,

        /// Use HTTP/2: by prior knowledge over http, by ALPN over https
        ///
        /// Without --h1 or --h2, the server chooses over https.
        #[arg(long)]
        pub h2: bool,

        /// Use HTTP/2 in clear text, by prior knowledge; refused over https
        #[arg(long)]
        pub h2c: bool,

        /// Use HTTP/2 in clear text, by an upgrade from HTTP/1.1 (RFC 7540)
        #[arg(long)]
        pub h2c_upgrade: bool,

        /// Use HTTP/3, over QUIC; for https
        #[arg(long, visible_alias = "h3-only")]
        pub h3: bool,

        /// Use HTTP/3 where the Alt-Svc field of the URL's origin says; for https
        ///
        /// Before each run one HEAD request over TLS asks the origin for it (RFC 7838). The certificate must be
        /// the origin's. Another host than the origin's must be allowed by --allow, or where such lists are.
        #[arg(long)]
        pub alt_svc: bool,

        /// Streams open on one connection at the same time [default: 1]
        #[arg(short = 'm', long, value_name = "N")]
        pub streams: Option<SmallCount>,

        /// Receive window of each stream: 2^N − 1 bytes [default: 30; with --h3: 24]
        #[arg(short = 'w', long, value_name = "N")]
        pub window_bits: Option<WindowBits>,

        /// Receive window of the connection: 2^N − 1 bytes [default: 30; with --h3: 24]
        #[arg(short = 'W', long, value_name = "N")]
        pub connection_window_bits: Option<WindowBits>,

        /// Largest frame to accept, 16 KiB to 16 MiB [default: 16KiB]
        #[arg(long, value_name = "SIZE")]
        pub max_frame_size: Option<Size>,

        /// HPACK or QPACK table for the server's header fields [default: 4KiB]
        #[arg(long, value_name = "SIZE")]
        pub header_table_size: Option<Size>,

        /// HPACK table for our header fields, if the server allows it; at most 4 KiB [default: 4KiB]
        #[arg(long, value_name = "SIZE")]
        pub encoder_header_table_size: Option<Size>,

        /// Congestion control of QUIC [default: cubic]
        #[arg(long, value_name = "NAME")]
        pub cc: Option<Congestion>,

        /// Longest datagram of QUIC that a path is tried with, 1200 to 65527 bytes [default: 1452]
        #[arg(long, value_name = "BYTES")]
        pub mtu: Option<SmallCount>,
    }
    one_of { h1, h2, h2c, h2c_upgrade, h3, alt_svc }
}

impl Http2Options {
    /// Whether HTTP/3 is asked for.
    pub fn is_h3(&self) -> bool {
        self.h3 || self.alt_svc
    }
}
