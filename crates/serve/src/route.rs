//! From a path to its handler. The table for users is in the crate's documentation.

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
    NotFound,
}

impl Route {
    /// Every route, in the order of the discriminants.
    pub(crate) const ALL: [Route; 28] = [
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
            "/drain" => Route::Drain,
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
            _ => return Route::find_by_prefix(path),
        };
        (exact, "")
    }

    fn find_by_prefix(path: &str) -> (Route, &str) {
        const PREFIXES: [(&str, Route); 8] = [
            ("/route/", Route::Routed),
            ("/delay/", Route::Delay),
            ("/status/", Route::Status),
            ("/bytes/", Route::Bytes),
            ("/stream/", Route::Stream),
            ("/fault/", Route::Fault),
            ("/token/", Route::Token),
            ("/httparena_json/", Route::Items),
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
    fn a_prefix_leaves_its_argument() {
        assert_eq!(Route::find("/bytes/1m"), (Route::Bytes, "1m"));
        assert_eq!(Route::find("/stream/1/2/3ms"), (Route::Stream, "1/2/3ms"));
        assert_eq!(Route::find("/bytes"), (Route::NotFound, ""));
        assert_eq!(Route::find("/echo/"), (Route::NotFound, ""));
    }
}
