//! From a path to its handler. The table for users is in the crate's documentation.

use std::time::Duration;

use crate::units::parse_duration;

/// How long the embedded target takes for a whole response to `path` at least, as far as the path says.
pub fn least_delay(path: &str) -> Duration {
    let delay = match Route::find(path) {
        (Route::Delay, delay) => parse_duration(delay).ok(),
        (Route::Stream, argument) => {
            let mut parts = argument.split('/');
            let (count, gap) =
                (parts.next().and_then(|count| count.parse::<u32>().ok()), parts.nth(1));
            let gap = gap.and_then(|gap| parse_duration(gap).ok());
            count.zip(gap).and_then(|(count, gap)| gap.checked_mul(count.saturating_sub(1)))
        }
        _ => None,
    };
    delay.unwrap_or_default()
}

/// The handlers of paths. Each is counted under its scenario's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Hello,
    Echo,
    Large,
    Json,
    Cookies,
    Form,
    Drain,
    Upload,
    Gzip,
    Query,
    Sse,
    Etag,
    Api,
    Redirect,
    Baseline,
    Items,
    Static,
    Streaming,
    Small,
    Routed,
    HttpcBench,
    Delay,
    Status,
    Bytes,
    Stream,
    Fault,
    Token,
    SseEvents,
    Ndjson,
    Chat,
    GrpcUnary,
    GrpcServerStream,
    GrpcClientStream,
    GrpcBidi,
    GrpcReflection,
    WsEcho,
    WsBroadcast,
    WsStall,
    WsClose,
    NotFound,
}

impl Route {
    /// Every route, in the order of the discriminants.
    pub(crate) const ALL: [Route; 40] = [
        Route::Hello,
        Route::Echo,
        Route::Large,
        Route::Json,
        Route::Cookies,
        Route::Form,
        Route::Drain,
        Route::Upload,
        Route::Gzip,
        Route::Query,
        Route::Sse,
        Route::Etag,
        Route::Api,
        Route::Redirect,
        Route::Baseline,
        Route::Items,
        Route::Static,
        Route::Streaming,
        Route::Small,
        Route::Routed,
        Route::HttpcBench,
        Route::Delay,
        Route::Status,
        Route::Bytes,
        Route::Stream,
        Route::Fault,
        Route::Token,
        Route::SseEvents,
        Route::Ndjson,
        Route::Chat,
        Route::GrpcUnary,
        Route::GrpcServerStream,
        Route::GrpcClientStream,
        Route::GrpcBidi,
        Route::GrpcReflection,
        Route::WsEcho,
        Route::WsBroadcast,
        Route::WsStall,
        Route::WsClose,
        Route::NotFound,
    ];

    /// The name in [`crate::Stats`].
    pub(crate) fn name(self) -> &'static str {
        match self {
            Route::Hello => "hello",
            Route::Echo => "echo",
            Route::Large => "large",
            Route::Json => "json",
            Route::Cookies => "cookies",
            Route::Form => "form",
            Route::Drain => "drain",
            Route::Upload => "upload",
            Route::Gzip => "gzip",
            Route::Query => "qs",
            Route::Sse => "sse",
            Route::Etag => "etag",
            Route::Api => "api",
            Route::Redirect => "redirect",
            Route::Baseline => "baseline11",
            Route::Items => "httparena_json",
            Route::Static => "static",
            Route::Streaming => "streaming",
            Route::Small => "small",
            Route::Routed => "route",
            Route::HttpcBench => "httpc_bench",
            Route::Delay => "delay",
            Route::Status => "status",
            Route::Bytes => "bytes",
            Route::Stream => "stream",
            Route::Fault => "fault",
            Route::Token => "token",
            Route::SseEvents => "sse_events",
            Route::Ndjson => "ndjson",
            Route::Chat => "chat",
            Route::GrpcUnary => "grpc_unary",
            Route::GrpcServerStream => "grpc_server_stream",
            Route::GrpcClientStream => "grpc_client_stream",
            Route::GrpcBidi => "grpc_bidi",
            Route::GrpcReflection => "grpc_reflection",
            Route::WsEcho => "ws_echo",
            Route::WsBroadcast => "ws_broadcast",
            Route::WsStall => "ws_stall",
            Route::WsClose => "ws_close",
            Route::NotFound => "not_found",
        }
    }

    /// The route of `path`, and the rest after its prefix: the route's argument, not yet checked.
    pub(crate) fn find(path: &str) -> (Route, &str) {
        let exact = match path {
            "/" => Route::Hello,
            "/echo" => Route::Echo,
            "/large" => Route::Large,
            "/json" => Route::Json,
            "/cookies" => Route::Cookies,
            "/form" => Route::Form,
            "/drain" | "/pipeline" => Route::Drain,
            "/upload" => Route::Upload,
            "/gzip" => Route::Gzip,
            "/qs" => Route::Query,
            "/sse" => Route::Sse,
            "/etag" => Route::Etag,
            // `OPTIONS *` asks about the server as a whole (RFC 9110, section 9.3.7).
            "/api" | "*" => Route::Api,
            "/redirect" => Route::Redirect,
            "/baseline11" => Route::Baseline,
            "/static/hello.txt" => Route::Static,
            "/streaming" => Route::Streaming,
            "/small" => Route::Small,
            "/httpc-bench" => Route::HttpcBench,
            "/v1/chat/completions" => Route::Chat,
            "/candor.Echo/Unary" => Route::GrpcUnary,
            "/candor.Echo/ServerStream" => Route::GrpcServerStream,
            "/candor.Echo/ClientStream" => Route::GrpcClientStream,
            "/candor.Echo/Bidi" => Route::GrpcBidi,
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
            | "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo" => {
                Route::GrpcReflection
            }
            "/ws/echo" | "/ws" => Route::WsEcho,
            _ => return Route::find_by_prefix(path),
        };
        (exact, "")
    }

    fn find_by_prefix(path: &str) -> (Route, &str) {
        const PREFIXES: [(&str, Route); 15] = [
            ("/route/", Route::Routed),
            ("/delay/", Route::Delay),
            ("/status/", Route::Status),
            ("/bytes/", Route::Bytes),
            ("/stream/", Route::Stream),
            ("/fault/", Route::Fault),
            ("/token/", Route::Token),
            ("/httparena_json/", Route::Items),
            ("/json/", Route::Items),
            ("/sse/", Route::SseEvents),
            ("/ndjson/", Route::Ndjson),
            ("/ws/echo/", Route::WsEcho),
            ("/ws/broadcast/", Route::WsBroadcast),
            ("/ws/stall/", Route::WsStall),
            ("/ws/close/", Route::WsClose),
        ];
        PREFIXES
            .iter()
            .find_map(|&(prefix, route)| Some((route, path.strip_prefix(prefix)?)))
            .unwrap_or((Route::NotFound, ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_in_the_order_of_the_discriminants() {
        for (index, route) in Route::ALL.into_iter().enumerate() {
            assert_eq!(route as usize, index);
        }
    }

    #[test]
    fn a_path_may_say_how_long_it_takes() {
        for (path, ms) in [
            ("/", 0),
            ("/delay/10ms", 10),
            ("/delay/soon", 0),
            ("/stream/5/100/10ms", 40),
            ("/stream/5/100", 0),
            ("/stream/0/1/10ms", 0),
        ] {
            assert_eq!(least_delay(path), Duration::from_millis(ms), "{path}");
        }
    }

    #[test]
    fn a_prefix_leaves_its_argument() {
        assert_eq!(Route::find("/bytes/1m"), (Route::Bytes, "1m"));
        assert_eq!(Route::find("/stream/1/2/3ms"), (Route::Stream, "1/2/3ms"));
        assert_eq!(Route::find("/json/50"), Route::find("/httparena_json/50"));
        assert_eq!(Route::find("/bytes"), (Route::NotFound, ""));
        assert_eq!(Route::find("/echo/"), (Route::NotFound, ""));
    }
}
