//! One call: what its response has said so far.

use candor_grpc::{Codec, TextDecoder};
use candor_plan::CallForm;
use candor_record::ErrorKind;

use super::Limits;
use super::end::End;
use super::error::Error;
use super::messages::{Ended, Splitter};
use super::status::{Content, Told, Wrong, kind, of_http};
use crate::session::Failure;

/// The response to one call, as it comes.
#[derive(Debug)]
pub(crate) struct Call {
    splitter: Splitter,
    /// Messages that came; of a body that is one, its bytes.
    messages: u32,
    /// What the header fields said, and the trailers after them.
    told: Told,
    /// There were trailers.
    has_trailers: bool,
    body: Body,
    /// The end of the body, if it has the status.
    end: Option<Box<End>>,
}

/// What the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    /// Not looked at: the response is none to a call.
    Other,
    /// Messages with their lengths.
    Framed,
    /// The same in base64.
    Text(TextDecoder),
    /// The message.
    Message,
    /// An error, as JSON.
    Error,
}

impl Call {
    /// The header fields came, with the status of HTTP.
    pub(crate) fn new(limits: &Limits, status: u16, told: Told) -> Self {
        let body = match (status, told.content, limits.form) {
            (200, content, CallForm::Connect) if content == alone(limits.codec) => Body::Message,
            (200, _, CallForm::Connect) if limits.one_message => Body::Other,
            (200, Content::WebText, CallForm::GrpcWebText) => Body::Text(TextDecoder::default()),
            (200, content, _) if content == framed(limits) => Body::Framed,
            (300.., Content::Json, CallForm::Connect) => Body::Error,
            _ => Body::Other,
        };
        let splitter = Splitter::default();
        Call { splitter, messages: 0, told, has_trailers: false, body, end: None }
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
        let (most, is_encoded) = (limits.max_message_bytes, self.told.is_encoded);
        match self.body {
            Body::Framed => self.handle_frames(limits, bytes),
            Body::Text(decoder) => self.handle_text(decoder, limits, bytes),
            Body::Other => (Ended::default(), None),
            Body::Message => {
                let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                self.messages = self.messages.saturating_add(length);
                let wrong = match self.messages {
                    _ if is_encoded => Some(Error::Compressed),
                    length if length > most => Some(Error::MessageTooLong(length)),
                    _ => None,
                };
                (Ended::default(), wrong)
            }
            Body::Error => (Ended::default(), self.end.get_or_insert_default().take(bytes).err()),
        }
    }

    #[inline]
    fn handle_frames(&mut self, limits: &Limits, bytes: &[u8]) -> (Ended, Option<Error>) {
        let (most, is_encoded) = (limits.max_message_bytes, self.told.is_encoded);
        let (flag, end) = (limits.form.end_flag(), &mut self.end);
        let (ended, wrong) = self.splitter.handle(bytes, most, is_encoded, flag, end);
        self.messages = self.messages.saturating_add(ended.count);
        (ended, wrong)
    }

    fn handle_text(
        &mut self,
        mut decoder: TextDecoder,
        limits: &Limits,
        mut text: &[u8],
    ) -> (Ended, Option<Error>) {
        let (mut all, mut room) = (Ended::default(), [0; 768]);
        while !text.is_empty() {
            let (frames, is_text) = decoder.decode(&mut text, &mut room);
            let (ended, wrong) = self.handle_frames(limits, frames);
            all.count += ended.count;
            all.bytes += ended.bytes;
            if let Some(error) = wrong.or((!is_text).then_some(Error::NotText)) {
                return (all, Some(error));
            }
        }
        self.body = Body::Text(decoder);
        (all, None)
    }

    /// Whether the body ends where a message does.
    fn is_whole(&self) -> bool {
        let is_text = match self.body {
            Body::Text(decoder) => decoder.is_between(),
            _ => true,
        };
        is_text && self.splitter.is_between()
    }

    /// The body is complete: the message that it is.
    pub(crate) fn handle_end(&self) -> Option<Ended> {
        let is_message = self.body == Body::Message;
        is_message.then_some(Ended { count: 1, bytes: u64::from(self.messages) })
    }

    /// The verdict when the response is complete. `message` is the server's, taken if there is a use for it.
    pub(crate) fn finish(
        mut self,
        limits: &Limits,
        http_status: u16,
        message: &mut String,
    ) -> Result<(), Failure> {
        let wrong = |error: Error| Err(Failure::Malformed(error.into()));
        if limits.form == CallForm::Connect {
            // Fields of gRPC say nothing of it.
            (self.told.code, self.told.wrong) = (None, None);
        }
        match (&self.end.take(), self.body) {
            (_, Body::Message) => return Ok(()),
            (Some(end), Body::Error) => {
                self.told = Told { code: end.of_error(message), ..self.told }
            }
            (Some(end), _) if self.splitter.has_ended() => {
                self.handle_trailers(end.of_frame(limits.form, message));
            }
            _ => {}
        }
        if let Some(error) = self.told.wrong {
            return wrong(error.into());
        }
        // Only what is the end of a response has its status.
        let is_early = self.messages > 0 && !self.has_trailers;
        let is_right = self.body != Body::Other;
        match self.told.code.filter(|_| !is_early) {
            Some(0) if http_status == 200 && !is_right => wrong(not_of(limits, self.told.content)),
            Some(0) if !self.is_whole() => wrong(Error::CutMessage),
            Some(0) if limits.one_message && self.messages != 1 => {
                wrong(Error::NotOneMessage(self.messages))
            }
            Some(0) => Ok(()),
            Some(code) => {
                let message = std::mem::take(message).into();
                Err(Failure::Call { kind: kind(code), message })
            }
            None if http_status != 200 => Err(of_http(limits.form, http_status)),
            None if !is_right => wrong(not_of(limits, self.told.content)),
            None => Err(Failure::Call { kind: ErrorKind::GrpcNoStatus, message: "".into() }),
        }
    }
}

/// The content type of messages with their lengths.
fn framed(limits: &Limits) -> Content {
    match (limits.form, limits.codec) {
        (CallForm::Grpc, _) => Content::Grpc,
        (CallForm::GrpcWeb, _) => Content::Web,
        (CallForm::GrpcWebText, _) => Content::WebText,
        (CallForm::Connect, Codec::Proto) => Content::Connect,
        (CallForm::Connect, Codec::Json) => Content::ConnectJson,
    }
}

/// That of a message alone.
fn alone(codec: Codec) -> Content {
    match codec {
        Codec::Proto => Content::Message,
        Codec::Json => Content::Json,
    }
}

/// That the content type is another, or that there is none.
fn not_of(limits: &Limits, content: Content) -> Error {
    if content == Content::Missing {
        return Error::NoContentType;
    }
    Error::OtherType(match (limits.form, limits.codec, limits.one_message) {
        (CallForm::Grpc, ..) => return Error::ContentType,
        (CallForm::GrpcWeb, ..) => "application/grpc-web",
        (CallForm::GrpcWebText, ..) => "application/grpc-web-text",
        (CallForm::Connect, Codec::Proto, true) => "application/proto",
        (CallForm::Connect, Codec::Proto, false) => {
            "application/proto or application/connect+proto"
        }
        (CallForm::Connect, Codec::Json, true) => "application/json",
        (CallForm::Connect, Codec::Json, false) => "application/json or application/connect+json",
    })
}
