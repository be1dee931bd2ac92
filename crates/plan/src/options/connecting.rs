//! Where connections go, and how this machine makes them.

use std::path::PathBuf;

use super::TargetOptions;
use super::group::group;
use super::target::targets;
use crate::run::ReactorChoice;
use crate::targets::HaproxyProtocol;
use crate::targets::allow::Allowed;
use crate::values::{
    Direct, HostPort, PositiveNanos, Proxy, Resolve, Sources, one_or_many, one_or_many_typed, typed,
};

group! {
    "Network",
    /// Where connections go, and how this machine makes them.
    pub struct ConnectingOptions {
        /// Connect to this host and port instead of the URL's
        #[arg(long, value_name = "HOST:PORT")]
        pub connect_to: Option<HostPort>,

        /// Connect through a proxy: HTTP, or SOCKS 5 with socks5h://
        ///
        /// HTTP/1.1 in clear text is asked for by its whole URL, everything else through a tunnel (CONNECT).
        /// Without it the variables HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY name one, for targets that are
        /// not on this machine.
        #[arg(short = 'x', long, value_name = "[SCHEME://][USER:PASSWORD@]HOST[:PORT]")]
        pub proxy: Option<Proxy>,

        /// Hosts to reach without a proxy; * for all
        #[arg(long, value_name = "HOST[,HOST]", value_delimiter = ',')]
        #[serde(deserialize_with = "one_or_many")]
        pub noproxy: Vec<Direct>,

        /// Begin each connection with a header of the PROXY protocol [VERSION: v1]
        ///
        /// It has the connection's own addresses, and comes before TLS. For targets that take such a header from
        /// their load balancer; over a unix socket it says that there are no addresses.
        #[arg(
            long,
            value_name = "VERSION",
            num_args = 0..=1,
            require_equals = true,
            default_missing_value = "v1"
        )]
        #[serde(deserialize_with = "typed")]
        pub haproxy_protocol: Option<HaproxyProtocol>,

        /// Use these addresses for a host and port instead of asking the resolver
        #[arg(long, value_name = "HOST:PORT:ADDR[,ADDR]")]
        #[serde(deserialize_with = "one_or_many")]
        pub resolve: Vec<Resolve>,

        /// Resolve names again this often during the run
        ///
        /// Connections to addresses that a name no longer has end after the requests in flight and are replaced; new
        /// connections go to its new addresses too. If a name cannot be resolved, its addresses stay.
        #[arg(long, value_name = "TIME")]
        pub dns_refresh: Option<PositiveNanos>,

        /// Connect to a unix socket
        #[arg(long, value_name = "PATH")]
        pub unix_socket: Option<PathBuf>,

        /// Connect to this host or network only; may be repeated
        ///
        /// A name, *.NAME, an address, a network (10.0.0.0/8), or unix:PATH. The lists in CANDOR_ALLOW
        /// and in candor/config.toml apply as well.
        #[arg(long, value_name = "HOST|CIDR")]
        #[serde(deserialize_with = "one_or_many_typed")]
        pub allow: Vec<Allowed>,

        /// Leave Nagle's algorithm on (no TCP_NODELAY)
        #[arg(long)]
        pub no_nodelay: bool,

        /// Local addresses to connect from, in turn
        ///
        /// Single addresses, ranges and networks, separated by commas, e.g.
        /// 127.0.0.2-127.0.0.9,10.0.0.0/24. One address has about 28,000 ports for one target.
        #[arg(long, value_name = "ADDR[,ADDR-ADDR]")]
        pub source: Option<Sources>,

        /// How to wait for network events: epoll or io_uring [default: auto]
        #[arg(long, value_name = "WAY")]
        #[serde(deserialize_with = "typed")]
        pub reactor: Option<ReactorChoice>,

        /// Do not pin threads to cores
        #[arg(long)]
        pub no_pin: bool,
    }
    tables {
        /// The `[target.NAME]` tables of a plan.
        #[serde(deserialize_with = "targets")]
        pub target: Vec<TargetOptions>,
    }
    one_of { connect_to, unix_socket, proxy }
}
