//! Handles one request: counting, faults, the scenario, a stall, in this order.

use std::future::pending;
use std::sync::Arc;

use hyper::header::{ALT_SVC, CONNECTION, CONTENT_LENGTH, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Version};

use crate::Fault;
use crate::answer::Answer;
use crate::body::{AnswerBody, Content};
use crate::connection::Connection;
use crate::control;
use crate::received::Received;
use crate::route::Route;
use crate::scenarios;

/// The request gets no response, and its connection is closed.
#[derive(Debug, thiserror::Error)]
#[error("no response, as the requested fault demands")]
pub(crate) struct NoAnswer;

/// Responds to one request.
pub(crate) async fn handle(
    connection: Arc<Connection>,
    request: Request<Received>,
) -> Result<Response<AnswerBody>, NoAnswer> {
    if let Some(answer) = control::answer(&connection, &request) {
        return Ok(answer);
    }
    let (mut head, body) = request.into_parts();
    let path = head.uri.clone();
    let (route, argument) = Route::find(path.path());
    let ordinal = connection.request_accepted(route);

    let fault = match route {
        Route::Fault => argument.parse().ok(),
        _ => None,
    };
    let answer = match connection.standing_fault().or(fault) {
        Some(fault) => {
            scenarios::drain(&connection, body).await;
            faulty(fault, &connection).await?
        }
        None => scenarios::answer(route, argument, &mut head, body, &connection).await,
    };
    connection.shared.stall.over().await;
    // HTTP/2 has no such field (RFC 9113 8.2.2), and an upgraded connection uses it otherwise.
    let upgraded = answer.status() == StatusCode::SWITCHING_PROTOCOLS;
    let announces = head.version < Version::HTTP_2 && !upgraded;
    let announced = announces.then_some(ordinal);
    Ok(finish(answer, announced, head.version, &head.method, connection))
}

/// The response of a fault; also starts the stream's part of the fault.
async fn faulty(fault: Fault, connection: &Connection) -> Result<Answer, NoAnswer> {
    match fault {
        Fault::Hang => pending().await,
        Fault::Close => Err(NoAnswer),
        Fault::Reset(bytes) => {
            connection.reset_after(bytes);
            // A body longer than the stream may write, so that the reset always hits an unfinished
            // response.
            Ok(Response::new(Content::filler(bytes.saturating_add(1))))
        }
        Fault::Truncate(bytes) => {
            let announced = bytes.saturating_mul(2).saturating_add(1);
            Ok(Response::new(Content::Truncated { announced, left: bytes }))
        }
    }
}

/// The header fields and the body that depend on the connection and the method.
fn finish(
    mut answer: Answer,
    announced: Option<u64>,
    version: Version,
    method: &Method,
    connection: Arc<Connection>,
) -> Response<AnswerBody> {
    let close = connection.shared.faults.close_after;
    if announced
        .zip(close)
        .is_some_and(|(ordinal, close)| close.announced && ordinal >= close.requests.get())
    {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if let Some(alt_svc) = connection.shared.alt_svc.as_ref().filter(|_| version < Version::HTTP_3)
    {
        answer.headers_mut().insert(ALT_SVC, alt_svc.clone());
    }
    if method == Method::HEAD {
        // The fields of a GET without its content (RFC 9110, section 9.3.2).
        if let Some(length @ 1..) = answer.body().length() {
            answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        *answer.body_mut() = Content::Empty;
    }
    answer.map(|content| AnswerBody::new(content, connection))
}
