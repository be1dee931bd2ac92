//! What is sent, how it leaves, and what a connection carries.

use std::path::PathBuf;

use super::RequestOptions;
use super::group::group;
use crate::model::Order;
use crate::values::{Count, Header, Method, PositiveNanos, Size, SmallCount, headers, typed};

group! {
    "Requests",
    /// What is sent, how it leaves, and what a connection carries.
    pub struct RequestsOptions {
        /// Method, sent as given [default: GET]
        #[arg(short = 'X', long, value_name = "METHOD")]
        pub method: Option<Method>,

        /// Header to send, as 'Name: value'; may be repeated
        ///
        /// A Host header replaces the one made from the URL.
        #[arg(short = 'H', long, value_name = "HEADER")]
        #[serde(deserialize_with = "headers")]
        pub header: Vec<Header>,

        /// Body to send
        #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
        pub body: Option<String>,

        /// File with the body to send; - is the standard input
        #[arg(long, value_name = "FILE")]
        pub body_file: Option<PathBuf>,

        /// Send bodies in chunks of this size, without their length in front
        ///
        /// HTTP/1.1 only: `Transfer-Encoding: chunked`.
        #[arg(long, value_name = "SIZE")]
        pub chunked: Option<Size>,

        /// Send `Expect: 100-continue`, and a body only when the server asks for it
        ///
        /// HTTP/1.1 only. Without an answer it is sent after --continue-timeout. After a final answer
        /// it is not sent, and the connection is closed and replaced.
        #[arg(long)]
        pub expect_continue: bool,

        /// A slow client: write each request in so many pieces, --piece-gap apart
        ///
        /// HTTP/1.1 only, one request at a time. Pieces are due by the first one's time, so that a late
        /// one does not move those behind it.
        #[arg(long, value_name = "N")]
        pub pieces: Option<SmallCount>,

        /// From one of the --pieces to the next [default: 1ms]
        #[arg(long, value_name = "TIME")]
        pub piece_gap: Option<PositiveNanos>,

        /// A client that goes away: end what is sent after so many bytes of a body
        ///
        /// HTTP/1.1 only. Counted as broken off, unless an answer came before; one that comes after is
        /// counted apart.
        #[arg(long, value_name = "SIZE")]
        pub break_off_after: Option<Size>,

        /// Requests in flight on one connection at the same time [default: 1]
        #[arg(short, long, value_name = "N")]
        pub pipeline: Option<SmallCount>,

        /// Close a connection after so many requests
        #[arg(long, value_name = "N")]
        pub requests_per_connection: Option<Count>,

        /// Close a connection after so long, whatever is on it
        ///
        /// Requests in flight on it are counted as time-outs, and another connection takes its place.
        #[arg(long, value_name = "TIME")]
        pub connection_lifetime: Option<PositiveNanos>,

        /// A new connection for each request, with `Connection: close`
        #[arg(long)]
        pub no_keepalive: bool,

        /// How the next of several [[request]] tables of a plan is chosen
        ///
        /// [default: rotation, or weighted if any of them has a weight]
        #[arg(long, value_name = "ORDER")]
        #[serde(deserialize_with = "typed")]
        pub order: Option<Order>,
    }
    tables {
        /// The `[[request]]` tables of a plan.
        pub request: Vec<RequestOptions>,

        /// Which of these tables each request is, by its index in the load; after the last, from the
        /// beginning. For programs that make options; there is no flag for this.
        #[serde(skip)]
        pub sequence: Vec<u32>,
    }
    one_of { body, body_file }
}
