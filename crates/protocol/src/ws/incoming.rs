//! The message that is being read: counted, checked and, if a field in it or a script wants it, kept.

use candor_plan::BodyExpect;

use super::Error;
use super::utf8::Utf8;
use crate::capture::Capture;
use crate::expect::BodyCheck;

/// A message between its first byte and its last.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    /// Between them.
    pub(super) is_open: bool,
    is_text: bool,
    pub(super) deflated: bool,
    /// It answers the oldest request.
    pub(super) answers: bool,
    /// That was told.
    pub(super) told: bool,
    utf8: Utf8,
    pub(super) check: BodyCheck,
    /// The payload, if a field in it has to be found.
    pub(super) kept: Vec<u8>,
    /// What is kept for a script.
    pub(super) capture: Option<Capture>,
}

/// What is done with the payload of a message.
pub(super) struct Taking<'a> {
    /// What it is compared with, if it answers a request.
    pub(super) expect: Option<&'a BodyExpect>,
    /// It is kept.
    pub(super) keeps: bool,
    pub(super) most_bytes: u64,
}

/// Memory that is kept between messages.
const KEPT_BYTES: usize = 64 << 10;

impl Incoming {
    pub(super) fn begin(&mut self, is_text: bool, deflated: bool, answers: bool) {
        self.is_open = true;
        self.is_text = is_text;
        self.deflated = deflated;
        self.answers = answers;
        self.told = false;
        self.utf8 = Utf8::default();
        self.check = BodyCheck::default();
    }

    /// Takes the next bytes of the payload, inflated.
    #[inline]
    pub(super) fn handle(&mut self, payload: &[u8], taking: &Taking<'_>) -> Result<(), Error> {
        self.check.handle(taking.expect.unwrap_or(&BodyExpect::Any), payload);
        // Without compression the header of a frame tells it before.
        if self.check.length() > taking.most_bytes {
            return Err(Error::InflatedTooLarge);
        }
        if self.is_text && !self.utf8.handle(payload) {
            return Err(Error::Utf8);
        }
        if taking.keeps {
            self.kept.extend_from_slice(payload);
        }
        if let Some(capture) = &mut self.capture {
            capture.keep_body(payload);
        }
        Ok(())
    }

    /// The message is complete.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        self.is_open = false;
        if self.is_text && !self.utf8.is_complete() {
            return Err(Error::Utf8);
        }
        Ok(())
    }

    /// Forgets what was kept for a field.
    pub(super) fn release(&mut self) {
        self.kept.clear();
        self.kept.shrink_to(KEPT_BYTES);
    }
}
