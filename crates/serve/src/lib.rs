//! The embedded target: an HTTP server that serves the scenarios and breaks on demand.
//!
//! It supports HTTP/1.1 and, by prior knowledge, HTTP/2 in clear text, or both over TLS by ALPN;
//! and HTTP/3 over QUIC beside them.
//!
//! `candor` measures it when no URL is given, and tests use it as a peer whose own counts must
//! equal the loader's. Configuration comes from [`ServeOptions`] (the flags of `candor serve`) or
//! straight from a [`Config`]; connections come from the network. It sends responses, returns
//! [`Stats`] when it ends, and writes a port file on request. hyper handles HTTP itself. Messages
//! that hyper rightly refuses to send (raw bytes, half a header) belong to the scripted peers of
//! testkit, not here. Nothing here prints.
//!
//! # Paths
//!
//! A path gives its response for any method; HEAD gets the header of a GET. A body that a path does
//! not use is read and dropped. Sizes take `k`, `m`, `g` (powers of 1024), times `us`, `ms`, `s`,
//! `m`, `h`.
//!
//! | path | response |
//! |---|---|
//! | `/` | `alive\r\n` |
//! | `/echo` | the request's body, with its `Content-Type` and `Content-Encoding` |
//! | `/large` | 64 KiB |
//! | `/json` | a JSON object of 115 bytes |
//! | `/cookies` | the number of cookies |
//! | `/form` | the number of pairs in the urlencoded body |
//! | `/drain`, `/pipeline` | `ok`, once the body was read |
//! | `/upload` | the length of the body in bytes, as text |
//! | `/gzip` | 16 KiB of JSON, in gzip if that is accepted |
//! | `/qs` | the number of pairs in the query |
//! | `/sse` | 100 `tick` events, then the connection is closed |
//! | `/etag` | 304 if `If-None-Match` names `"v1"`, otherwise 200 |
//! | `/api` | 204 with CORS headers to OPTIONS, otherwise 404 |
//! | `/redirect` | 302 to `/` |
//! | `/baseline11?a=&b=` | the sum as text, with the number in the body if there is one |
//! | `/httparena_json/N?m=M`, `/json/N?m=M` | N items, up to 50, each with `total` = price × quantity × m |
//! | `/static/hello.txt` | a short text |
//! | `/streaming` | 4 chunks of 4 KiB |
//! | `/small` | 100 chunks of 64 bytes |
//! | `/httpc-bench` | `httpc_bench!`, 12 bytes: for measurements of client libraries |
//! | `/route/0` … `/route/99` | the number; the scenario `varied_paths_router` requests them in turn |
//! | `/delay/10ms` | `ok` after this time |
//! | `/status/503` | that status, 200 to 599 |
//! | `/bytes/1m` | this many bytes, up to 1 GiB |
//! | `/stream/COUNT/SIZE[/GAP]` | that many chunks of that size; the first at once, then one every GAP |
//! | `/fault/reset/N` | a reset after N bytes of the response, header included |
//! | `/fault/truncate/N` | N bytes of a body announced longer, then a close |
//! | `/fault/hang` | never a response |
//! | `/fault/close` | a close instead of a response |
//! | `/token/USER` | the token of that user, 16 hexadecimal digits |
//! | `/token/USER/TOKEN` | `ok` if that is the user's token, otherwise 403 |
//! | `/sse/COUNT/EVERY` | COUNT events, event k after `first` + k × EVERY ([parts](#parts)) |
//! | `/ndjson/COUNT/EVERY` | the same as lines of JSON |
//! | `/v1/chat/completions` | `max_tokens` tokens, as servers of OpenAI's API respond |
//! | `/candor.Echo/METHOD` | gRPC: the service of `proto/candor/echo.proto`, with reflection |
//! | `/ws/echo[/DELAY]`, `/ws` | WebSocket: each message, DELAY after it came |
//! | `/ws/broadcast/EVERY` | WebSocket: message k after `first` + k × EVERY |
//! | `/ws/stall/TIME` | WebSocket: reads nothing for TIME, then echoes |
//! | `/ws/close/CODE[?after=N]` | WebSocket: closes with CODE, after N echoes |
//! | anything else | 404 |
//!
//! `/__stats` returns [`Stats`] as JSON, and `POST /__stall?for=2s` holds every response until
//! then; neither counts itself, nor a connection that begins with one of them.
//!
//! # Parts
//!
//! Events and messages leave at times that are computed from the beginning of their response, on
//! timers of the kernel ([`PartLog`] has both times of each). Their contents are made when they leave,
//! so that memory does not depend on their number. A WebSocket runs over HTTP/1.1, or as a stream of
//! HTTP/2 (RFC 8441), and negotiates no extension; gRPC needs HTTP/2. Over HTTP/3
//! there is neither.
//!
//! # Time
//!
//! Other delays, gaps and stalls run on tokio's timer, which rounds up to whole milliseconds: a
//! `/delay/10ms` takes between 10 and about 11.1 ms, and `/delay/100us` about 1 ms. The ends of
//! stalls and the gaps of streams are computed from their beginning, so that this does not add up.
//! For exact service times use the truth server ([`truth`]).
#![forbid(unsafe_code)]

mod alarm;
mod answer;
mod body;
mod chat;
mod config;
mod connection;
mod content;
mod control;
mod error;
mod events;
mod fault;
mod grpc;
mod handler;
mod listener;
mod options;
mod origin;
mod parts;
mod port_file;
mod produced;
mod quic;
mod received;
mod route;
mod scenarios;
mod server;
mod stall;
mod stats;
mod stream;
mod timetable;
mod tls;
pub mod truth;
mod udp;
mod units;
mod waiting;
mod websocket;

pub use config::{CloseAfter, Config, Faults, PlannedStall};
pub use error::ServeError;
pub use fault::Fault;
pub use grpc::DESCRIPTORS as ECHO_PROTOSET;
pub use options::{ServeOptions, Served, Truth};
pub use parts::{PartEntry, PartLog};
pub use route::least_delay;
pub use server::{Running, Server, Stopper};
pub use stats::Stats;
pub use tls::Certificate;
