//! From what a user typed to what a run does.
//!
//! Command-line flags, URLs and TOML files come in; one validated, immutable [`Plan`] goes out, and
//! nothing downstream checks it again. This crate reads no file, no clock and no environment: the
//! caller supplies the bytes of files through [`options::ReadFile`].
//!
//! Flags and TOML become [`options::Options`], [`options::Options::build`] turns those into the
//! [`Parts`] of a plan, and [`Plan`] checks whether they fit together. [`describe`] and [`redact`]
//! decide which of its values may be shown.
#![forbid(unsafe_code)]

pub mod allow;
pub mod build;
mod call;
pub mod data;
mod delivery;
pub mod describe;
pub mod error;
pub mod journey;
mod kept;
pub mod load;
pub mod model;
pub mod options;
mod plan;
pub mod plan_file;
pub mod redact;
mod request;
mod script;
mod stream;
pub mod suggest;
pub mod template;
mod tls;
pub mod units;
pub mod url;
pub mod values;
mod websocket;
mod wire;
pub mod words;
mod work;

pub use build::Outputs;
pub use call::{Call, CallKind, CallMethod, Calls, Messages};
pub use data::{DataFormat, DataOrder, DataSet};
pub use delivery::{Delivery, Pieces};
pub use error::PlanError;
pub use journey::{Capture, Journey, OnFailure, Step, Think};
pub use kept::Kept;
pub use model::*;
pub use options::{Options, ReadFile, looks_like_plan};
pub use plan::Plan;
pub use redact::Secrets;
pub use request::{BodyExpect, Expect, Redacted, Request, StatusSet};
pub use script::{Script, ScriptLimits};
pub use stream::{ModelApi, StreamForm, Streaming, Tokens};
pub use tls::{Identity, Pem, Tls, TlsVersion, Trust};
pub use values::{Out, Place, ProgressForm, ReportDepth, Tui};
pub use websocket::{Reaction, Replies, WebSocket};
pub use wire::Wire;
pub use work::{Journeys, Order, Requests, Work};
