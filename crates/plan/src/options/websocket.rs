//! WebSocket: what messages are, and which message answers which.

use super::group::group;
use crate::values::{PositiveNanos, Size, SmallCount, one_or_many, typed};
use crate::wire::{KnownProtocol, Replies};

group! {
    "WebSocket",
    /// WebSocket: what messages are, and which message answers which.
    pub struct WebSocketOptions {
        /// Speak a known protocol: over a WebSocket, or of calls [calls: grpc]
        ///
        /// Calls: grpc over HTTP/2 or 3; grpc-web, grpc-web-text and connect over each version, unary and with streams of
        /// the server. Over a
        /// WebSocket it sets what it needs of the options below.
        /// graphql-ws: graphql-transport-ws, subscribe to next and complete; socketio: engine.io 4, events with acknowledgements;
        /// actioncable: Rails; stomp: STOMP 1.2, SEND with receipts. What is given beside it goes before it; lists are
        /// joined.
        #[arg(long, value_name = "NAME")]
        pub protocol: Option<KnownProtocol>,

        /// Send this text first on each connection; `${env:NAME}` in it is a variable of the environment
        #[arg(long, value_name = "TEXT")]
        pub hello: Option<String>,

        /// Send on a connection only once the server has sent a message that matches
        #[arg(long, value_name = "REGEX")]
        pub ready: Option<String>,

        /// Send messages as binary ones [default: text]
        #[arg(long)]
        pub binary: bool,

        /// Send messages in fragments of at most this payload [default: one frame]
        #[arg(long, value_name = "SIZE")]
        pub fragment: Option<Size>,

        /// Expect no replies: a message is done when it was sent
        ///
        /// Every message of the server is counted as a part, at the server's own pace.
        #[arg(long)]
        pub no_reply: bool,

        /// Match replies by a field: the text at the * of this pattern, e.g. '"id":*,'
        ///
        /// A reply answers the oldest message with the same text in this field. By default each reply
        /// answers the oldest message. At most one character follows the *; without one, the field ends with
        /// the message.
        #[arg(long, value_name = "PATTERN")]
        #[serde(deserialize_with = "typed")]
        pub reply_field: Option<Replies>,

        /// The field of messages, where it is not that of replies, e.g. 'receipt:*'
        #[arg(long, value_name = "PATTERN")]
        #[serde(deserialize_with = "typed")]
        pub message_field: Option<Replies>,

        /// Messages of the server that match are not replies; may be repeated
        ///
        /// Greetings, pings and pushes, e.g. '"type":"(welcome|ping)"'. They are counted as parts.
        #[arg(long, value_name = "REGEX")]
        #[serde(deserialize_with = "one_or_many")]
        pub ignore: Vec<String>,

        /// Only messages of the server that match are replies
        #[arg(long, value_name = "REGEX")]
        pub reply: Option<String>,

        /// Send this text after each message of the server that matches; may be repeated
        ///
        /// A ping of an application's own, e.g. '^2$=3' for engine.io. The expression ends at the first =; write \\x3d for
        /// one in it. Such messages are no replies.
        #[arg(long, value_name = "REGEX=TEXT")]
        #[serde(deserialize_with = "one_or_many")]
        pub answer: Vec<String>,

        /// Messages on one connection that wait for their replies at the same time [default: 1]
        #[arg(long, value_name = "N")]
        pub in_flight: Option<SmallCount>,

        /// Offer this subprotocol; may be repeated
        #[arg(long, value_name = "NAME")]
        #[serde(deserialize_with = "one_or_many")]
        pub subprotocol: Vec<String>,

        /// Offer compression of messages (permessage-deflate, RFC 7692)
        #[arg(long)]
        pub deflate: bool,

        /// Ping the server at this interval; it must respond within the same time
        #[arg(long, value_name = "TIME")]
        pub ping: Option<PositiveNanos>,

        /// Longest message to accept, also after decompression [default: 16MiB, 4MiB in gRPC]
        #[arg(long, value_name = "SIZE")]
        pub max_message: Option<Size>,
    }
    one_of { no_reply, reply_field }
}
