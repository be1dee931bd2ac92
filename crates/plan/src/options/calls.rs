//! Calls of gRPC: which method, and where its schema is.

use std::path::PathBuf;

use candor_grpc::Codec;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::group::group;
use crate::values::{CallName, PositiveNanos, one_or_many};

group! {
    "gRPC",
    /// Calls of gRPC: which method, and where its schema is.
    pub struct CallsOptions {
        /// Call this method: PACKAGE.SERVICE/METHOD; --body has its message as JSON
        ///
        /// Over HTTP/2: by prior knowledge over http, by ALPN over https; over HTTP/3 with --h3. A call is a success if its status is OK.
        /// Without --proto and --protoset, the server is asked for its schema (reflection) before the run.
        #[arg(long, value_name = "METHOD")]
        pub call: Option<CallName>,

        /// File with the service, in the language of Protocol Buffers; may be repeated
        #[arg(long, value_name = "FILE")]
        #[serde(deserialize_with = "one_or_many")]
        pub proto: Vec<PathBuf>,

        /// Directory that imports are below; may be repeated [default: that of each --proto]
        #[arg(long, value_name = "DIR")]
        #[serde(deserialize_with = "one_or_many")]
        pub import_path: Vec<PathBuf>,

        /// File with the service's descriptors, as protoc --include_imports writes it
        #[arg(long, value_name = "FILE")]
        pub protoset: Option<PathBuf>,

        /// How messages are written: proto or json [default: proto]
        ///
        /// json is the JSON of Protocol Buffers, which servers of Connect take beside the binary form.
        #[arg(long, value_name = "CODEC", value_parser = codecs())]
        pub codec: Option<Codec>,

        /// How long a call may take
        ///
        /// The server is told (grpc-timeout). A call that takes longer is cancelled and counted as DEADLINE_EXCEEDED,
        /// whatever the server makes of it.
        #[arg(long, value_name = "TIME")]
        pub deadline: Option<PositiveNanos>,
    }
    one_of { proto, protoset }
}

fn codecs() -> impl TypedValueParser<Value = Codec> {
    PossibleValuesParser::new(["proto", "json"]).map(|name| match &name[..] {
        "json" => Codec::Json,
        _ => Codec::Proto,
    })
}
