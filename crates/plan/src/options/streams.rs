//! Responses that are streams of events.

use super::group::group;
use crate::values::one_or_many;
use crate::work::{ModelApi, StreamForm};

group! {
    "Streams of events",
    /// Responses that are streams of events.
    pub struct StreamsOptions {
        /// Measure the events of each response: the first, the gaps, the last
        ///
        /// Times count from when the request was due. Only responses with an expected status have
        /// events. A stream that ends in the middle is an error of its own kind, stream-cut.
        #[arg(long, value_name = "FORM")]
        pub stream: Option<StreamForm>,

        /// Regular expression: an event that it matches makes its response an error
        ///
        /// Searched in the event's text, which is its data, after a line `event: NAME` if it has a
        /// name. For named error events: '^event: error'. The error is stream-error.
        #[arg(long, value_name = "REGEX")]
        pub stream_error: Option<String>,

        /// Text of the event that ends a stream, such as '[DONE]'
        ///
        /// It is not counted as an event. A response that ends without it is an error,
        /// stream-unended.
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        pub stream_end: Option<String>,

        /// Count tokens: events, or the number at json:PATH or regex:EXPRESSION of an event
        ///
        /// With events each event is a token. Otherwise the last number found is the count of its
        /// response, e.g. json:$.usage.completion_tokens.
        #[arg(long, value_name = "RULE")]
        pub tokens: Option<String>,

        /// Which events are tokens: those with a text at json:PATH or regex:EXPRESSION; may be repeated
        ///
        /// E.g. json:$.choices[0].delta.content. An event where it is missing, null or empty is no
        /// token: the role, a usage. Without it each event is one, where tokens are counted.
        #[arg(long, value_name = "RULE")]
        #[serde(deserialize_with = "one_or_many")]
        pub token: Vec<String>,

        /// Count the tokens of requests: the number at json:PATH or regex:EXPRESSION of an event
        ///
        /// The last number found counts, e.g. json:$.usage.prompt_tokens.
        #[arg(long, value_name = "RULE")]
        pub input_tokens: Option<String>,

        /// Go on with a stream that ended, as EventSource does: wait, and send Last-Event-ID
        ///
        /// For --stream sse, in a closed load. A user whose stream ended or was lost waits for the time that the server gave
        /// with `retry:`, at most 1 h and 3 s without, and asks again with the id of the last event. A status
        /// other than 200, such as 204, ends it.
        #[arg(long)]
        pub reconnect: bool,

        /// Measure streams of this API of language models: sets the options above for it
        ///
        /// Each of them can be given beside it, and goes before it.
        #[arg(long, value_name = "API")]
        pub llm: Option<ModelApi>,
    }
}
