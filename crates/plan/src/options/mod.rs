//! The options of a run: every flag with its help, and the same names in a TOML plan.
//!
//! Values come from the command line (clap) or from a plan's text (serde) and are checked one by
//! one by their types; [`Options::or`] lays one over the other and [`Options::build`] makes the
//! plan. This module reads no file: the caller supplies the bytes through [`ReadFile`].
//!
//! Options come in groups, one for each heading of the help, each in a module. To add one is to add a
//! field to its group, and to use it in [`build`](crate::build). `group.rs` defines a group,
//! `keys.rs` maps a plan's flat keys to groups, and `request.rs` has the options of a single request.

mod calls;
mod connecting;
mod data;
mod expected;
mod group;
mod http2;
mod journey;
mod keys;
mod load;
mod output;
mod recording;
mod request;
mod requests;
mod script;
mod streams;
mod target;
mod timeouts;
mod tls;
mod watching;
mod websocket;

pub use calls::CallsOptions;
pub use connecting::ConnectingOptions;
pub use data::{Data, DataFile};
pub use expected::ExpectedOptions;
pub use http2::Http2Options;
pub use journey::{ConnectionUse, JourneyOptions};
pub use load::{LoadOptions, RateOf};
pub use output::OutputOptions;
pub use recording::RecordingOptions;
pub use request::{Once, RequestOptions};
pub use requests::RequestsOptions;
pub use script::ScriptOptions;
pub use streams::StreamsOptions;
pub use target::{TargetName, TargetOptions};
pub use timeouts::TimeoutsOptions;
pub use tls::TlsOptions;
pub use watching::WatchingOptions;
pub use websocket::WebSocketOptions;

use std::path::{Path, PathBuf};

use clap::Args;

use group::Group;

use crate::error::PlanError;
use crate::load::Part;
use crate::plan::Plan;
use crate::plan_file;
use crate::values::{Auth, AuthTable, Header};
use crate::work::DataFormat;

/// Examples for the long help of commands that take [`Options`].
pub const EXAMPLES: &str = "\
Examples:
  candor -c 50 -d 30s http://localhost:8080/
      Closed loop: 50 connections, each sends its next request when the last response is complete.
  candor -R 20k -d 30s http://localhost:8080/
      Open load: 20,000 requests a second are due, whatever the server does.
  candor --load 'ramp 1k..20k over 30s; hold 20k for 1m' http://localhost:8080/
      A shape: a climb, then a plateau. The run ends with the shape.
  candor -R 500 -X POST -H 'Content-Type: application/json' --body-file order.json URL
      A request of your own. Path and query are sent as given.
  candor -R 5k --expect 'p99 < 5ms' --expect 'error-rate < 0.1%' URL
      For CI: exit code 3 if an objective is missed.
  candor run plan.toml [URL]
      A plan: it takes every long flag as a key, and [[request]] tables. A URL or a flag
      on the command line overrides the plan.

Durations take ns us ms s m h d (a bare number is seconds), counts take k M G, rates take /s /m /h.";

/// What a plan is made of besides options: files, and the environment. `-` is the standard input.
pub trait ReadFile {
    /// All bytes of the file at `path`.
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>>;

    /// The names of the columns of a data file, or a sentence that says why there are none.
    fn columns(&self, path: &Path, _format: DataFormat) -> Result<Vec<String>, String> {
        Err(format!("{} cannot be read here", path.display()))
    }

    /// The scheme and authority of the first URL in a list of URLs, such as `http://host:80`; `None` where
    /// the list has paths alone.
    fn origin(&self, _path: &Path) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// Sends the single request of a plan, which is a call, and returns the body of its response.
    fn ask(&self, _plan: &Plan) -> Result<Vec<u8>, Unanswered> {
        Err(Unanswered::Because("it cannot be asked here".to_owned()))
    }

    /// A variable of the environment.
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
}

/// Why a question to a server has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unanswered {
    /// The server has no such method.
    NoMethod,
    /// Anything else, as the rest of a sentence.
    Because(String),
}

/// Whether an argument given as the URL names a plan: it ends in `.toml` and has no scheme.
pub fn looks_like_plan(argument: &str) -> bool {
    !argument.contains("://")
        && argument.len() > 5
        && argument.to_ascii_lowercase().ends_with(".toml")
}

/// All groups, in the order of their headings.
macro_rules! groups {
    ($($(#[$meta:meta])* $group:ident: $type:ident,)*) => {
        /// What a user asked for, from flags, a plan, or both.
        #[derive(Debug, Clone, Default, PartialEq, Args)]
        #[command(about = None, long_about = None)]
        #[allow(rustdoc::broken_intra_doc_links, reason = "brackets in help texts are no links")]
        pub struct Options {
            /// Where to send requests: http[s]://HOST[:PORT]/PATH?QUERY, or ws[s]://…
            ///
            /// Path and query are sent as given. IPv6 addresses need brackets. User information
            /// becomes an Authorization header. A name that ends in .toml is a plan.
            #[arg(value_name = "URL")]
            pub url: Option<String>,
            $($(#[$meta])* #[command(flatten)] pub $group: $type,)*
        }

        impl Options {
            /// These options, with those of `plan` where an option is not given.
            ///
            /// An option also hides its alternatives in the plan: `--rate` hides `load`, `--body`
            /// hides `body-file`. Headers replace those of the same name; other lists replace the
            /// whole list.
            pub fn or(mut self, mut plan: Options) -> Options {
                let header = std::mem::take(&mut self.requests.header);
                let below = std::mem::take(&mut plan.requests.header);
                let mut all = Options {
                    url: self.url.or(plan.url),
                    $($group: self.$group.over(plan.$group),)*
                };
                all.requests.header = headers_over(below, header);
                all
            }
        }

        keys::groups!($($group: $type,)*);
    };
}

groups! {
    /// Load.
    load: LoadOptions,
    /// Requests.
    requests: RequestsOptions,
    /// Script.
    script: ScriptOptions,
    /// Expected answers.
    expected: ExpectedOptions,
    /// Streams of events.
    streams: StreamsOptions,
    /// Where.
    connecting: ConnectingOptions,
    /// HTTP/2.
    http2: Http2Options,
    /// WebSocket.
    websocket: WebSocketOptions,
    /// Calls of gRPC.
    calls: CallsOptions,
    /// TLS.
    tls: TlsOptions,
    /// Timeouts.
    timeouts: TimeoutsOptions,
    /// Recording.
    recording: RecordingOptions,
    /// Output.
    output: OutputOptions,
    /// Progress.
    watching: WatchingOptions,
}

impl Options {
    /// The options in the plan `text`, from the file `name`.
    ///
    /// Files that the plan reads (bodies, due offsets) are found from the plan's own directory;
    /// files that a run writes, from where the command runs.
    pub fn from_toml(name: &str, text: &str) -> Result<Options, PlanError> {
        let mut options: Options = toml::from_str(text)
            .map_err(|error| plan_file::explain(name, text, &error, &keys_at))?;
        let directory = Path::new(name).parent().unwrap_or(Path::new(""));
        for file in options.files_mut().filter(|file| file.as_os_str() != "-") {
            *file = directory.join(&*file);
        }
        Ok(options)
    }

    /// Every file that these options read, those of requests among them; `-` is the standard input.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let Options { requests, expected, script, calls, tls, load, connecting, .. } = self;
        let steps = requests.journey.iter_mut().flat_map(|one| &mut one.step);
        let tables = requests.request.iter_mut().chain(steps);
        let auth = requests.auth.as_mut().and_then(Auth::file_mut);
        let mut of_auth: Vec<&mut PathBuf> = auth.into_iter().collect();
        let mut of_targets = Vec::new();
        for TargetOptions { auth, cacert, cert, key, .. } in &mut connecting.target {
            of_auth.extend(auth.as_mut().and_then(Auth::file_mut));
            of_targets.extend([cacert, cert, key]);
        }
        let mut of_forms: Vec<&mut PathBuf> =
            requests.form.iter_mut().filter_map(|field| field.file.as_mut()).collect();
        let of_requests = tables.flat_map(|one| {
            of_forms.extend(one.form.iter_mut().filter_map(|field| field.file.as_mut()));
            [&mut one.body_file, &mut one.expect_body]
        });
        let of_requests: Vec<_> = of_requests.collect();
        let TlsOptions { cacert, cert, key, .. } = tls;
        let own = [&mut requests.body_file, &mut expected.expect_body, &mut script.script];
        let own = own.into_iter().chain([cacert, cert, key]);
        let data = requests.data.iter_mut().map(|one| &mut one.file);
        let data = data.chain(&mut requests.urls).map(|one| &mut one.file);
        let parts = load.load.iter_mut().flat_map(|shape| &mut shape.parts);
        let replayed = parts.filter_map(|part| match part {
            Part::Replay(file) => Some(file),
            _ => None,
        });
        let CallsOptions { proto, import_path, protoset, .. } = calls;
        let schema = proto.iter_mut().chain(import_path).chain(protoset);
        of_requests
            .into_iter()
            .chain(own)
            .chain(of_targets)
            .flatten()
            .chain(data)
            .chain(replayed)
            .chain(schema)
            .chain(of_auth)
            .chain(of_forms)
    }
}

/// `above` and, before them, those of `below` that have another name.
pub(crate) fn headers_over(below: Vec<Header>, above: Vec<Header>) -> Vec<Header> {
    let hidden =
        |one: &Header| above.iter().any(|other| other.name().eq_ignore_ascii_case(one.name()));
    let mut all: Vec<Header> = below.into_iter().filter(|one| !hidden(one)).collect();
    all.extend(above);
    all
}

/// The keys of the table at a path.
fn keys_at(path: &str) -> &'static [&'static str] {
    match path {
        "" => plan_file::keys_of::<Options>(),
        data if data.starts_with("data.") => plan_file::keys_of::<DataFile>(),
        "auth" => plan_file::keys_of::<AuthTable>(),
        table if table.starts_with("target.") && table.ends_with(".auth") => {
            plan_file::keys_of::<AuthTable>()
        }
        target if target.starts_with("target.") => plan_file::keys_of::<TargetOptions>(),
        "journey" => plan_file::keys_of::<JourneyOptions>(),
        _ => plan_file::keys_of::<RequestOptions>(),
    }
}
