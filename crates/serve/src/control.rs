//! `/__stats` and `/__stall`: requests about the server itself, which neither count nor meet a
//! fault.

use std::sync::Arc;

use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use crate::body::{AnswerBody, Content};
use crate::connection::Connection;
use crate::received::Received;
use crate::units::parse_duration;

/// The response, if the request is about the server itself.
pub(crate) fn answer(
    connection: &Arc<Connection>,
    request: &Request<Received>,
) -> Option<Response<AnswerBody>> {
    let path = request.uri().path();
    if !path.starts_with("/__") {
        return None;
    }
    let (status, kind, text) = match (path, request.method()) {
        ("/__stats", _) => {
            connection.asked_about_server();
            let stats = connection.shared.stats();
            let json = serde_json::to_string(&stats).expect("counts and names always are JSON");
            (StatusCode::OK, "application/json", json)
        }
        ("/__stall", &Method::POST) => {
            connection.asked_about_server();
            let (status, text) = stall(connection, request.uri().query().unwrap_or(""));
            (status, "text/plain", text)
        }
        _ => return None,
    };
    let content = if text.is_empty() || request.method() == Method::HEAD {
        Content::Empty
    } else {
        Content::Whole(text.into())
    };
    let mut answer = Response::new(AnswerBody::uncounted(content, Arc::clone(connection)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Some(answer)
}

fn stall(connection: &Connection, query: &str) -> (StatusCode, String) {
    let lasts = query.split('&').find_map(|pair| pair.strip_prefix("for="));
    match lasts.ok_or_else(|| "say how long: /__stall?for=2s".to_owned()).and_then(parse_duration) {
        Ok(lasts) => {
            connection.shared.stall.begin(lasts);
            (StatusCode::NO_CONTENT, String::new())
        }
        Err(message) => (StatusCode::BAD_REQUEST, message + "\n"),
    }
}
