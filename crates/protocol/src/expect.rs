//! Whether a response is the one that was expected, for every protocol.

use candor_plan::{BodyExpect, Expect};
use candor_record::{Cause, Reason};

use crate::coding::Undecoded;

/// How a response differs from the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// Its status is not among the expected ones.
    #[error("status {0}")]
    Status(u16),
    /// Its status is not among the expected ones, and its body says why: the request came in clear text to a port of
    /// HTTPS.
    #[error("status {0}, with which the server says that this port is one of HTTPS")]
    NotTls(u16),
    /// Its body has another length.
    #[error("body of {got} bytes, expected {expected}")]
    Length {
        /// Length of the body.
        got: u64,
        /// Length that was expected.
        expected: u64,
    },
    /// Its body has the right length or is too short to tell, and differs.
    #[error("body differs from the expected one at byte {offset}")]
    Content {
        /// Offset of the first byte that differs.
        offset: u64,
    },
    /// Its body is looked into, and cannot be decoded.
    #[error("{0}")]
    Coding(Undecoded),
    /// This event of its stream, from 1, is an error.
    #[error("event {0} is an error")]
    ErrorEvent(u64),
    /// Its stream ended, after this many events, without the one that ends it.
    #[error("ended after {0} events without the one that ends a stream")]
    Unended(u64),
    /// A stream of events was asked for, and there was no event in it.
    #[error("no event in it; it is no stream of server-sent events")]
    NoStream,
    /// Its request had been broken off: none was expected.
    #[error("answered after it was broken off")]
    BrokenOff,
}

impl Mismatch {
    /// The same in words, with the cause that a change of the plan can remove.
    pub fn reason(&self) -> Reason {
        let cause = matches!(self, Mismatch::NotTls(_)).then_some(Cause::Tls);
        Reason { words: self.to_string().into(), cause }
    }
}

/// The check of one body as it arrives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BodyCheck {
    length: u64,
    differs_at: Option<u64>,
}

impl BodyCheck {
    /// Takes the next bytes of the body.
    #[inline]
    pub fn handle(&mut self, expect: &BodyExpect, bytes: &[u8]) {
        if let BodyExpect::Exact(wanted) = expect
            && self.differs_at.is_none()
        {
            self.compare(wanted.whole(), bytes);
        }
        self.length += bytes.len() as u64;
    }

    /// Apart from the rest, which every body passes through.
    #[inline(never)]
    fn compare(&mut self, wanted: &[u8], bytes: &[u8]) {
        let from = usize::try_from(self.length).unwrap_or(usize::MAX).min(wanted.len());
        let rest = &wanted[from..];
        let common = rest.len().min(bytes.len());
        if rest[..common] != bytes[..common] {
            let at = rest.iter().zip(bytes).position(|(a, b)| a != b).unwrap_or(common);
            self.differs_at = Some((from + at) as u64);
        }
    }

    /// Length of the body so far.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The verdict when the response is complete.
    #[inline]
    pub fn finish(&self, expect: &Expect, status: u16) -> Result<(), Mismatch> {
        if !expect.status.contains(status) {
            return Err(Mismatch::Status(status));
        }
        self.finish_body(&expect.body)
    }

    /// The verdict when a message is complete, which has no status.
    #[inline]
    pub fn finish_body(&self, expect: &BodyExpect) -> Result<(), Mismatch> {
        let expected = match expect {
            BodyExpect::Any => return Ok(()),
            BodyExpect::Length(expected) => *expected,
            BodyExpect::Exact(wanted) => wanted.count(),
        };
        if self.length != expected {
            return Err(Mismatch::Length { got: self.length, expected });
        }
        match self.differs_at {
            Some(offset) => Err(Mismatch::Content { offset }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_plan::StatusSet;

    fn exact(body: &[u8]) -> Expect {
        Expect { status: StatusSet::below_400(), body: BodyExpect::Exact(body.into()) }
    }

    fn verdict(expect: &Expect, status: u16, parts: &[&[u8]]) -> Result<(), Mismatch> {
        let mut check = BodyCheck::default();
        for part in parts {
            check.handle(&expect.body, part);
        }
        check.finish(expect, status)
    }

    #[test]
    fn an_exact_body_is_compared_across_pieces() {
        let expect = exact(b"alive\r\n");
        assert_eq!(verdict(&expect, 200, &[b"al", b"", b"ive\r\n"]), Ok(()));
        assert_eq!(
            verdict(&expect, 200, &[b"al", b"iVe\r\n"]),
            Err(Mismatch::Content { offset: 3 })
        );
        assert_eq!(
            verdict(&expect, 200, &[b"alive"]),
            Err(Mismatch::Length { got: 5, expected: 7 })
        );
        assert_eq!(
            verdict(&expect, 200, &[b"alive\r\n", b"!"]),
            Err(Mismatch::Length { got: 8, expected: 7 })
        );
    }

    #[test]
    fn the_status_comes_first() {
        assert_eq!(verdict(&exact(b"x"), 503, &[b"y"]), Err(Mismatch::Status(503)));
    }
}
