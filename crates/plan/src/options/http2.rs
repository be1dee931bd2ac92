//! Which HTTP is spoken, and the sizes of HTTP/2.

use super::group::group;
use crate::values::{Size, SmallCount, WindowBits};

group! {
    "HTTP/2",
    /// Which HTTP is spoken, and the sizes of HTTP/2.
    pub struct Http2Options {
        /// Speak HTTP/1.1, also where the server would choose HTTP/2
        #[arg(long)]
        pub h1: bool,

        /// Speak HTTP/2: by prior knowledge over http, by ALPN over https
        ///
        /// Over https and without --h1 or --h2 the server chooses.
        #[arg(long)]
        pub h2: bool,

        /// Speak HTTP/2 in clear text, by prior knowledge; refused over https
        #[arg(long)]
        pub h2c: bool,

        /// Speak HTTP/2 in clear text, asked for by an upgrade from HTTP/1.1 (RFC 7540)
        #[arg(long)]
        pub h2c_upgrade: bool,

        /// Streams open on one connection at the same time [default: 1]
        #[arg(short = 'm', long, value_name = "N")]
        pub streams: Option<SmallCount>,

        /// Window of each stream: 2^N − 1 bytes may come before we grant more [default: 30]
        #[arg(short = 'w', long, value_name = "N")]
        pub window_bits: Option<WindowBits>,

        /// Window of the connection: 2^N − 1 bytes [default: 30]
        #[arg(short = 'W', long, value_name = "N")]
        pub connection_window_bits: Option<WindowBits>,

        /// The largest frame to take, 16 KiB to 16 MiB [default: 16KiB]
        #[arg(long, value_name = "SIZE")]
        pub max_frame_size: Option<Size>,

        /// The table that the server may use for its header fields [default: 4KiB]
        #[arg(long, value_name = "SIZE")]
        pub header_table_size: Option<Size>,

        /// The table that we use for ours, if the server allows as much; 4 KiB at most [default: 4KiB]
        #[arg(long, value_name = "SIZE")]
        pub encoder_header_table_size: Option<Size>,
    }
    one_of { h1, h2, h2c, h2c_upgrade }
}
