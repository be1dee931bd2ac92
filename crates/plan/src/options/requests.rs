//! The requests, how they leave, and how connections carry them.

use std::path::PathBuf;

use super::data::{data, urls};
use super::group::group;
use super::{Data, DataFile, JourneyOptions, RequestOptions};
use crate::values::{
    Auth, Count, FormField, Header, Method, PositiveNanos, Size, SmallCount, headers, one_or_many,
    typed,
};
use crate::work::Order;

group! {
    "Requests",
    /// The requests, how they leave, and how connections carry them.
    pub struct RequestsOptions {
        /// Method, sent as given [default: GET, or POST if there is a body]
        #[arg(short = 'X', long, value_name = "METHOD")]
        pub method: Option<Method>,

        /// Header to send, as 'Name: value'; may be repeated
        ///
        /// A Host header replaces the one made from the URL.
        #[arg(short = 'H', long, value_name = "HEADER")]
        #[serde(deserialize_with = "headers")]
        pub header: Vec<Header>,

        /// Send a credential as Authorization, taken before the run and renewed meanwhile, or sign each request
        ///
        /// basic:USER:PASSWORD, bearer:TOKEN, oauth2:TOKEN-URL (client credentials, with id and secret from the
        /// variables CANDOR_AUTH_ID and CANDOR_AUTH_SECRET), cmd:COMMAND (what it prints), file:PATH (read again
        /// when it changes), or aws-sigv4:REGION:SERVICE (each request is signed, with the key in the variables
        /// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN). For the URL's own target; others have their own in their tables.
        #[arg(long, value_name = "HOW")]
        pub auth: Option<Auth>,

        /// Body to send; over WebSocket, the message
        #[arg(short, long, visible_alias = "message", value_name = "TEXT", allow_hyphen_values = true)]
        pub body: Option<String>,

        /// File with the body to send; - is the standard input
        #[arg(long, value_name = "FILE")]
        pub body_file: Option<PathBuf>,

        /// Field of a form to send, as 'NAME=VALUE' or 'NAME=@FILE'; may be repeated
        ///
        /// As with curl: @FILE is an upload, <FILE a value from a file, and ';type=TYPE', ';filename=NAME' and
        /// ';headers="NAME: VALUE"' may follow. The body is multipart/form-data.
        #[arg(short = 'F', long, value_name = "NAME=VALUE|@FILE")]
        #[serde(deserialize_with = "one_or_many")]
        pub form: Vec<FormField>,

        /// Send bodies in chunks of this size, without a Content-Length
        ///
        /// HTTP/1.1 only: `Transfer-Encoding: chunked`.
        #[arg(long, value_name = "SIZE")]
        pub chunked: Option<Size>,

        /// Send `Expect: 100-continue`, and the body when the server asks for it
        ///
        /// HTTP/1.1 only. If the server does not respond, the body is sent after --continue-timeout.
        /// If it sends a final response instead, the body is not sent, and the connection is closed
        /// and replaced.
        #[arg(long)]
        pub expect_continue: bool,

        /// Slow client: write each request in N pieces, --piece-gap apart
        ///
        /// HTTP/1.1 only, one request at a time. The due times of the pieces count from the first
        /// piece, so a late piece does not delay those after it.
        #[arg(long, value_name = "N")]
        pub pieces: Option<SmallCount>,

        /// Time from one of the --pieces to the next [default: 1ms]
        #[arg(long, value_name = "TIME")]
        pub piece_gap: Option<PositiveNanos>,

        /// Client that goes away: close the connection after SIZE bytes of a body
        ///
        /// HTTP/1.1 only. Counted as broken off, unless the response came first; a response that comes
        /// afterwards is counted separately.
        #[arg(long, value_name = "SIZE")]
        pub break_off_after: Option<Size>,

        /// Follow redirects, at most N for one request; 1 to 20
        ///
        /// A redirect to another host is followed if the host is a target of the plan. Each hop is a
        /// request with a row of its own; the whole has a row that includes redirects.
        #[arg(long, value_name = "N")]
        pub location: Option<SmallCount>,

        /// Ask for compressed responses: gzip, deflate, br or zstd
        ///
        /// Sends `Accept-Encoding: gzip, deflate, br, zstd`, unless a header of that name is given. Bodies are
        /// decoded only where captures, expectations or rules for streams look into them.
        #[arg(long)]
        pub compressed: bool,

        /// Requests in flight on one connection at the same time [default: 1]
        #[arg(short, long, value_name = "N")]
        pub pipeline: Option<SmallCount>,

        /// Close a connection after N requests
        #[arg(long, value_name = "N")]
        pub requests_per_connection: Option<Count>,

        /// Close a connection at this age, even with requests in flight
        ///
        /// Its requests in flight are counted as timeouts, and another connection replaces it.
        #[arg(long, value_name = "TIME")]
        pub connection_lifetime: Option<PositiveNanos>,

        /// Open a new connection for each request, with `Connection: close`
        #[arg(long)]
        pub no_keepalive: bool,

        /// Data for requests: the file's columns as ${NAME.COLUMN}; may be repeated
        ///
        /// A CSV file whose first row has the names of the columns, or a file of JSON lines (.jsonl). A
        /// path, a header and a body can have ${NAME.COLUMN}. Each request has one row, in this order:
        /// rotation, shuffle, random, or once, which ends the run after the last row. docs/data.md has
        /// all that can stand in ${…}.
        #[arg(long, value_name = "NAME=FILE[:ORDER]")]
        #[serde(deserialize_with = "data")]
        pub data: Vec<Data>,

        /// Request the URLs in FILE, a URL or METHOD URL in each line, or an access log
        ///
        /// All URLs have one host. ORDER as for --data.
        #[arg(long, value_name = "FILE[:ORDER]")]
        #[serde(deserialize_with = "urls")]
        pub urls: Option<DataFile>,

        /// How to choose the next of a plan's [[request]] tables
        ///
        /// [default: rotation, or weighted if any table has a weight]
        #[arg(long, value_name = "ORDER")]
        #[serde(deserialize_with = "typed")]
        pub order: Option<Order>,
    }
    tables {
        /// The `[[journey]]` tables of a plan.
        pub journey: Vec<JourneyOptions>,

        /// The `[[request]]` tables of a plan.
        pub request: Vec<RequestOptions>,

        /// The table of each request, by the request's index in the load; repeats after the last.
        /// For programs that make options; there is no flag for this.
        #[serde(skip)]
        pub sequence: Vec<u32>,

        /// `${` has no meaning: for programs that take over the requests of other tools.
        #[serde(skip)]
        pub literal: bool,
    }
    one_of { body, body_file, form }
}
