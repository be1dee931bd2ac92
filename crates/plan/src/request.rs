//! One request of a plan, and the response that it must get.

use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::delivery::Delivery;
use crate::kept::Kept;
use crate::stream::Streaming;

/// One request shape and the response that it must get.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Request {
    /// The name in reports; the method and path if the user gave none.
    pub name: String,
    /// Where it goes: its place among the targets of the plan, whose own is the first.
    #[serde(default)]
    pub target: u32,
    /// Method, sent as given.
    pub method: String,
    /// Path and query, sent as given; begins with `/`, or is `*` for OPTIONS.
    pub path: String,
    /// Header fields in order. No `Host` among them means the authority of the target; no `Content-Length` means one is
    /// made from the body.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: Kept<u8>,
    /// Whether method, path, header values and body are templates ([`template`](crate::template)),
    /// filled anew for each request.
    #[serde(default)]
    pub holes: bool,
    /// Whether the body is sent as it is, even so: it comes from a file, or is a message that was encoded.
    #[serde(default)]
    pub literal_body: bool,
    /// How it leaves.
    pub delivery: Delivery,
    /// The condition for a right response.
    pub expect: Expect,
    /// How its response is divided into events; `None`: it is one whole.
    #[serde(default)]
    pub stream: Option<Streaming>,
    /// The call of gRPC that it is; `None`: it is a plain request.
    #[serde(default)]
    pub call: Option<Call>,
    /// Share in the weighted order, at least 1.
    pub weight: u32,
    /// In a result: what replaces the values that may be secret. Null in a plan.
    pub redacted: Option<Redacted>,
}

impl Request {
    /// Whether its response comes in parts that are measured: events, or the messages of a call that streams them.
    pub fn has_parts(&self) -> bool {
        self.stream.is_some() || self.call.is_some_and(|call| call.kind.server_streams())
    }

    /// Whether a list of URLs says what is sent.
    pub fn is_of_list(&self) -> bool {
        self.path == OF_LIST
    }
}

/// The path of a request that stands for those of a list of URLs.
pub(crate) const OF_LIST: &str = "${path urls.path}";

/// What replaces the secret values of a request in a result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Redacted {
    /// Distinguishes queries: four hexadecimal digits, so one pair in 65,536 looks the same. Null
    /// without a query.
    pub query_hash: Option<String>,
}

/// The condition for a right response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expect {
    /// Status codes that are right.
    pub status: StatusSet,
    /// The condition for the body.
    pub body: BodyExpect,
}

/// The condition for the body of a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BodyExpect {
    /// Anything.
    Any,
    /// Exactly this many bytes.
    Length(u64),
    /// Exactly these bytes.
    Exact(Kept<u8>),
}

/// A set of status codes, as inclusive ranges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusSet {
    /// Inclusive ranges within 100 to 999, not empty.
    pub ranges: Vec<(u16, u16)>,
}

impl StatusSet {
    /// The default: a status below 400 is right.
    pub fn below_400() -> Self {
        StatusSet { ranges: vec![(100, 399)] }
    }

    /// Whether `status` is right.
    #[inline]
    pub fn contains(&self, status: u16) -> bool {
        self.ranges.iter().any(|&(low, high)| low <= status && status <= high)
    }
}
