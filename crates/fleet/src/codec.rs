//! Messages as bytes.
//!
//! The format is that of results ([`candor_record::wire`]): a version in one byte, then postcard. The
//! version covers all encoded types, so a coordinator and an agent either understand each other or
//! report that they do not. Bytes are untrusted: their size is checked before they are decoded, and the
//! length of each list afterwards.

use candor_record::wire::{self, WireError};

use crate::grant::Grant;
use crate::message::{Have, Message};
use crate::refusal::Refusal;

/// The largest message. NATS accepts 1 MiB by default.
pub const MOST_BYTES: usize = 256 << 10;
/// The most bytes of a segment or a chunk.
pub const PIECE_BYTES: usize = 64 << 10;
/// The most chunks that are asked for at once.
pub const MOST_WANTED: usize = 16;
/// The most runs whose results an agent keeps.
pub const MOST_KEPT: usize = 8;

/// The most bytes of a version of Candor.
pub const MOST_VERSION: usize = 32;

/// Why bytes are not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// There are too many.
    #[error("a message has {0} bytes; the limit is {MOST_BYTES}")]
    Size(usize),
    /// They cannot be decoded, or have another version.
    #[error("a message cannot be read: {0}")]
    Wire(#[from] WireError),
    /// A list in it is too long.
    #[error("a message cannot be read: its {0} is too long")]
    Long(&'static str),
}

/// The bytes of a message.
pub fn encode(message: &Message) -> Vec<u8> {
    wire::to_bytes(message)
}

/// The message of these bytes.
pub fn decode(bytes: &[u8]) -> Result<Message, CodecError> {
    if bytes.len() > MOST_BYTES {
        return Err(CodecError::Size(bytes.len()));
    }
    let message: Message = wire::from_bytes(bytes)?;
    let within = |what, length: usize, most: usize| match length <= most {
        true => Ok(()),
        false => Err(CodecError::Long(what)),
    };
    match &message {
        Message::Hello(hello) => {
            within("version", hello.version.len(), MOST_VERSION)?;
            within("list of kept runs", hello.kept.len(), MOST_KEPT)?;
        }
        Message::Want { chunks, .. } => within("list of chunks", chunks.len(), MOST_WANTED)?,
        Message::Segment { segment, .. } => within("segment", segment.bytes.len(), PIECE_BYTES)?,
        Message::Chunk { bytes, .. } => within("chunk", bytes.len(), PIECE_BYTES)?,
        Message::Lease { order, .. } => {
            within("list of segments", order.have.beyond.len(), Have::MOST)?;
        }
        Message::Refused { why, .. } => within("reason", why.length(), Refusal::MOST_BYTES)?,
        Message::Reserve { reserve, .. } => {
            within("grant", reserve.grant.body.len(), Grant::MOST_BYTES)?;
            within("signature", reserve.grant.signature.len(), 64)?;
        }
        Message::Beat { .. }
        | Message::Echo { .. }
        | Message::Probe { .. }
        | Message::Settled { .. }
        | Message::Keep { .. }
        | Message::Kill { .. }
        | Message::Recall { .. } => {}
    }
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{RunId, RunKey};
    use crate::message::{Ends, Head, Segment};

    #[test]
    fn size_version_and_lists_are_bounded() {
        let head = Head { key: RunKey { run: RunId([7; 16]), epoch: 1 }, boot: 9 };
        let segment = |bytes: usize| Message::Segment {
            head,
            segment: Segment { sequence: 3, ends: Ends::Interval, bytes: vec![1; bytes] },
        };
        let good = segment(PIECE_BYTES);
        assert_eq!(decode(&encode(&good)), Ok(good));
        assert_eq!(decode(&encode(&segment(PIECE_BYTES + 1))), Err(CodecError::Long("segment")));
        let huge = encode(&segment(MOST_BYTES));
        assert_eq!(decode(&huge), Err(CodecError::Size(huge.len())));
        let of = crate::identity::Digest::of(b"");
        let want = Message::Want { head, of, chunks: vec![0; MOST_WANTED + 1] };
        assert_eq!(decode(&encode(&want)), Err(CodecError::Long("list of chunks")));
        let mut other = encode(&Message::Settled { head });
        other[0] = 0;
        assert_eq!(decode(&other), Err(CodecError::Wire(WireError::Version(0))));
        other[0] = wire::VERSION;
        for end in 1..other.len() {
            assert!(decode(&other[..end]).is_err(), "{end}");
        }
    }
}
