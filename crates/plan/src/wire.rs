//! Wire: what a plan's requests are to the connections that carry them. The version of HTTP below and its encryption
//! are each target's.

use serde::{Deserialize, Serialize};

use crate::call::Calls;
use crate::websocket::WebSocket;

/// What the requests of a plan are on the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// Requests of HTTP.
    #[default]
    Http,
    /// Messages of a WebSocket.
    #[serde(rename = "websocket")]
    WebSocket(WebSocket),
    /// Calls of gRPC.
    Grpc(Calls),
}

impl Wire {
    /// The WebSocket, if requests are its messages.
    pub fn websocket(&self) -> Option<&WebSocket> {
        match self {
            Wire::WebSocket(socket) => Some(socket),
            Wire::Http | Wire::Grpc(_) => None,
        }
    }

    /// The calls, if requests are such.
    pub fn calls(&self) -> Option<&Calls> {
        match self {
            Wire::Grpc(calls) => Some(calls),
            Wire::Http | Wire::WebSocket(_) => None,
        }
    }
}
