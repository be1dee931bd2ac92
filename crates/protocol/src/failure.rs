//! How the failure of a request is counted, and in which words an example of it is shown.

use candor_record::{Cause, ErrorKind, Reason};

use crate::capture::NotKept;
use crate::session::{CloseFrame, Failure, GoAway};

impl Failure {
    /// How it is counted, and why the request failed.
    pub fn words(&self) -> (ErrorKind, Reason) {
        match self {
            Failure::Closed => (ErrorKind::Closed, "closed before the response began".into()),
            Failure::Truncated => (ErrorKind::Truncated, "closed in the middle of the response".into()),
            Failure::Malformed(error) => (
                ErrorKind::Malformed,
                Reason { words: error.to_string().into(), cause: error.cause() },
            ),
            // No option raises the limit of an event.
            Failure::NotKept(why @ NotKept::Event(_)) => {
                (ErrorKind::BodyLimit, why.to_string().into())
            }
            Failure::NotKept(why) => (
                ErrorKind::BodyLimit,
                Reason { words: why.to_string().into(), cause: Some(Cause::BodyLimit) },
            ),
            Failure::StreamReset(code) => (
                ErrorKind::StreamReset,
                format!("the server reset the stream, error code {code:#x}").into(),
            ),
            Failure::NotProcessed => {
                (ErrorKind::NotProcessed, "the server did not process the request".into())
            }
            Failure::GoneAway(GoAway { code, last_stream }) => (
                ErrorKind::NotProcessed,
                format!(
                    "the server did not process the request: GOAWAY, error code {code:#x}, last stream {last_stream}"
                )
                .into(),
            ),
            Failure::ClosedWith(told) if told.code == 1005 => {
                (ErrorKind::Closed, "the server closed the WebSocket without a close code".into())
            }
            Failure::ClosedWith(told) => {
                let CloseFrame { code, reason } = &**told;
                let colon = if reason.is_empty() { "" } else { ": " };
                let words = format!("the server closed the WebSocket with code {code}{colon}{reason}");
                (ErrorKind::Closed, words.into())
            }
            Failure::Ended { kind, why } => {
                (*kind, Reason { words: why.to_string().into(), cause: why.cause() })
            }
            Failure::Call { kind, message } => {
                let colon = if message.is_empty() { "" } else { ": " };
                (*kind, format!("{}{colon}{message}", kind.sentence()).into())
            }
            Failure::NotReady(awaited) => {
                (ErrorKind::Closed, format!("the server did not send {awaited}").into())
            }
        }
    }
}
