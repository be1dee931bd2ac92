//! From what a user typed to what a run does.
//!
//! Command-line flags, URLs and TOML files come in; one validated, immutable [`Plan`] goes out, and
//! nothing downstream checks it again. This crate reads no file, no clock and no environment: the
//! caller supplies the bytes of files through [`options::ReadFile`].
//!
//! The modules stand in layers, of which each knows only those before it: texts and numbers; what may be said of them
//! in errors and results; the parts of a plan; [`Plan`], which checks whether they fit together; and the ways in and out.
//!
//! Of the parts, [`Work`] says what is sent, [`Wire`] what that is to the connections, [`Target`] where it goes, and
//! [`Load`] when. Each has its types, the rules for them (`check`, and `alone` and `unstamped` for what it excludes of the
//! others), and what of it a result may have (`redact`, `hide`) in its own module.
#![forbid(unsafe_code)]

// Texts and numbers.
pub mod escape;
pub mod holes;
pub mod suggest;
pub mod units;
pub mod words;

// What may be said of them, what is wrong with them, and what a flag can have.
pub mod error;
mod kept;
pub mod plan_file;
pub mod redact;
pub mod url;
pub mod values;

// The parts of a plan.
pub mod load;
mod run;
mod targets;
mod wire;
mod work;

// The whole of them.
mod plan;

// The ways in, and out.
pub mod build;
pub mod describe;
pub mod options;
mod outputs;
pub mod watch;

pub use error::PlanError;
pub use kept::Kept;
pub use load::{Arrivals, Load, OpenLoad, Segment};
pub use options::{Options, ReadFile, looks_like_plan};
pub use outputs::{Out, Outputs, Place, ProgressForm, ReportDepth, Tag, Tui};
pub use plan::{Parts, Plan};
pub use redact::Secrets;
pub use run::{
    By, Congestion, Connections, Frames, Goodput, KernelTimestamps, Pacing, Quic, ReactorChoice,
    Recording, Stop, Threads, Timeouts, Trace, Windows,
};
pub use targets::{
    AltSvc, ConnectsTo, Credential, CredentialSource, Endpoint, HaproxyProtocol, HttpVersion,
    Identity, MAIN_TARGET, Pem, Proxy, ProxyWay, SigV4, Target, Tls, TlsVersion, Trust, allow,
};
pub use units::{NS_PER_S, Rate};
pub use wire::{
    CallForm, CallMethod, Calls, KnownProtocol, Messages, Reaction, Replies, WebSocket, Wire,
};
pub use work::journey::{self, Capture, Journey, OnFailure, Redirect, Step, Think};
pub use work::{
    BodyExpect, Call, CallKind, DataFormat, DataOrder, DataSet, Delivery, Expect, Journeys,
    ModelApi, Order, OwnReply, Pieces, Redacted, Request, Requests, Script, ScriptLimits,
    StatusSet, StreamForm, Streaming, Tokens, Variable, Work, template,
};
