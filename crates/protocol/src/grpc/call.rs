//! One call: what its response has said so far.

use candor_record::ErrorKind;

use super::Limits;
use super::error::Error;
use super::messages::{Ended, Splitter};
use super::status::{Told, Wrong, kind, of_http};
use crate::session::Failure;

/// The response to one call, as it comes.
#[derive(Debug)]
pub(crate) struct Call {
    splitter: Splitter,
    /// Messages that came.
    messages: u32,
    /// What the header fields said, and the trailers after them.
    told: Told,
    /// There were trailers.
    has_trailers: bool,
    /// The body is messages: a response of HTTP with status 200 and the right content type.
    has_messages: bool,
}

impl Call {
    /// The header fields came, with the status of HTTP.
    pub(crate) fn new(status: u16, told: Told) -> Self {
        let has_messages = status == 200 && told.is_grpc;
        Call { splitter: Splitter::default(), messages: 0, told, has_trailers: false, has_messages }
    }

    /// The trailers came.
    pub(crate) fn handle_trailers(&mut self, told: Told) {
        // A status in header fields that do not end the response counts as one of two.
        self.has_trailers = true;
        let doubled = self.told.code.is_some() && told.code.is_some();
        let wrong = told.wrong.or(self.told.wrong).or(doubled.then_some(Wrong::Doubled));
        self.told = Told { code: told.code, wrong, ..self.told };
    }

    /// Takes the next bytes of the body: the messages that ended in them, and what is wrong after those.
    #[inline]
    pub(crate) fn handle(&mut self, limits: &Limits, bytes: &[u8]) -> (Ended, Option<Error>) {
        if !self.has_messages {
            return (Ended::default(), None);
        }
        let (most, is_encoded) = (limits.max_message_bytes, self.told.is_encoded);
        let (ended, wrong) = self.splitter.handle(bytes, most, is_encoded);
        self.messages = self.messages.saturating_add(ended.count);
        (ended, wrong)
    }

    /// The verdict when the response is complete. `message` is the server's, taken if there is a use for it.
    pub(crate) fn finish(
        &self,
        limits: &Limits,
        http_status: u16,
        message: &mut String,
    ) -> Result<(), Failure> {
        let wrong = |error: Error| Err(Failure::Malformed(error.into()));
        if let Some(error) = self.told.wrong {
            return wrong(error.into());
        }
        // Only what is the end of a response has its status.
        let is_early = self.messages > 0 && !self.has_trailers;
        match self.told.code.filter(|_| !is_early) {
            Some(0) if http_status == 200 && !self.told.is_grpc => wrong(Error::ContentType),
            Some(0) if !self.splitter.is_between() => wrong(Error::CutMessage),
            Some(0) if limits.one_message && self.messages != 1 => {
                wrong(Error::NotOneMessage(self.messages))
            }
            Some(0) => Ok(()),
            Some(code) => {
                let message = std::mem::take(message).into();
                Err(Failure::Call { kind: kind(code), message })
            }
            None if http_status != 200 => Err(of_http(http_status)),
            None if !self.told.is_grpc => wrong(Error::ContentType),
            None => Err(Failure::Call { kind: ErrorKind::GrpcNoStatus, message: "".into() }),
        }
    }
}
