//! Encryption: trusted CAs, certificates, versions, ciphers, resumption.

use std::path::PathBuf;

use super::group::group;
use crate::targets::TlsVersion;
use crate::values::{Names, OnOff, typed};

group! {
    "TLS",
    /// Encryption: trusted CAs, certificates, versions, ciphers, resumption.
    pub struct TlsOptions {
        /// Without a URL: use TLS with the embedded target
        #[arg(long)]
        pub tls: bool,

        /// Accept any certificate
        #[arg(short = 'k', long)]
        pub insecure: bool,

        /// PEM file of trusted CAs [default: those of the system]
        #[arg(long, value_name = "FILE")]
        pub cacert: Option<PathBuf>,

        /// PEM file with our certificate, for a server that asks for one
        #[arg(long, value_name = "FILE")]
        pub cert: Option<PathBuf>,

        /// PEM file with its private key [default: the file of --cert]
        #[arg(long, value_name = "FILE")]
        pub key: Option<PathBuf>,

        /// Server name to send, and to expect in the certificate [default: the URL's host]
        #[arg(long, value_name = "NAME")]
        pub sni: Option<String>,

        /// Protocols to offer, in order: h2, http/1.1 or both [default: h2,http/1.1]
        #[arg(long, value_name = "NAME[,NAME]")]
        pub alpn: Option<Names>,

        /// Oldest version to accept: 1.2 or 1.3 [default: 1.2]
        #[arg(long, value_name = "VERSION")]
        #[serde(deserialize_with = "typed")]
        pub tls_min: Option<TlsVersion>,

        /// Newest version to offer: 1.2 or 1.3 [default: 1.3]
        #[arg(long, value_name = "VERSION")]
        #[serde(deserialize_with = "typed")]
        pub tls_max: Option<TlsVersion>,

        /// Cipher suites to offer, in order, e.g. TLS13_AES_128_GCM_SHA256 [default: all]
        #[arg(long, value_name = "NAME[,NAME]")]
        pub tls_ciphers: Option<Names>,

        /// Key exchange groups to offer, in order, e.g. X25519 or secp256r1 [default: all]
        #[arg(long, value_name = "NAME[,NAME]")]
        pub tls_groups: Option<Names>,

        /// Resume sessions with the server's tickets: on or off [default: off]
        ///
        /// When off, every connection makes a full handshake, as a new user's does.
        #[arg(long, value_name = "ON")]
        pub tls_resumption: Option<OnOff>,

        /// Send requests in the first flight of resumed sessions (0-RTT)
        ///
        /// For GET, HEAD and OPTIONS, over TLS 1.3, with --tls-resumption on and --h1 or --h2. If the
        /// server rejects them, they are sent again after the handshake; the report counts both cases.
        #[arg(long)]
        pub early_data: bool,
    }
    one_of { insecure, cacert }
}
