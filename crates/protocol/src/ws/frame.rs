//! The header of frames (RFC 6455 5.2): how ours are written, and what stands in the server's.

use super::Error;
use super::mask::{Masks, mask};
use crate::session::CloseFrame;

/// Opcodes.
pub(super) mod opcode {
    pub(in super::super) const CONTINUATION: u8 = 0x0;
    pub(in super::super) const TEXT: u8 = 0x1;
    pub(in super::super) const BINARY: u8 = 0x2;
    pub(in super::super) const CLOSE: u8 = 0x8;
    pub(in super::super) const PING: u8 = 0x9;
    pub(in super::super) const PONG: u8 = 0xa;
}

/// Bits of a frame's first byte.
pub(super) const FIN: u8 = 0x80;
/// The message is compressed (RFC 7692 6).
pub(super) const RSV1: u8 = 0x40;
const RSV2_AND_RSV3: u8 = 0x30;
/// The bit of the second byte.
const MASK: u8 = 0x80;

/// The longest payload of a control frame (RFC 6455 5.5).
pub(super) const MOST_CONTROL_BYTES: usize = 125;

/// The longest header that a server may send.
pub(super) const MOST_HEADER_BYTES: usize = 10;

/// Appends a frame with a fresh mask. `first` is its first byte.
#[inline]
pub(super) fn write(out: &mut Vec<u8>, first: u8, payload: &[u8], masks: &mut Masks) {
    let length = payload.len();
    match length {
        0..=MOST_CONTROL_BYTES => out.extend_from_slice(&[first, MASK | length as u8]),
        126..=0xffff => {
            let [high, low] = (length as u16).to_be_bytes();
            out.extend_from_slice(&[first, MASK | 126, high, low]);
        }
        _ => {
            out.extend_from_slice(&[first, MASK | 127]);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    let key = masks.next_mask();
    out.extend_from_slice(&key);
    let start = out.len();
    out.extend_from_slice(payload);
    mask(key, &mut out[start..]);
}

/// The header of a server's frame, valid by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) fin: bool,
    /// The message that it begins is compressed.
    pub(super) deflated: bool,
    pub(super) opcode: u8,
    pub(super) length: u64,
}

/// How many bytes the header has that begins with these two; a fault in them is found at once.
#[inline]
pub(super) fn header_bytes(first: u8, second: u8, deflates: bool) -> Result<usize, Error> {
    let opcode = first & 0xf;
    let is_control = opcode & 0x8 != 0;
    if first & RSV2_AND_RSV3 != 0 {
        return Err(Error::ReservedBits);
    }
    // RFC 7692 6: in the first frame of a message alone.
    if first & RSV1 != 0 && (!deflates || is_control || opcode == opcode::CONTINUATION) {
        return Err(Error::ReservedBits);
    }
    if matches!(opcode, 3..=7 | 11..) {
        return Err(Error::Opcode(opcode));
    }
    if second & MASK != 0 {
        return Err(Error::Masked);
    }
    if is_control && first & FIN == 0 {
        return Err(Error::ControlFragmented);
    }
    match second {
        126.. if is_control => Err(Error::ControlLength),
        127 => Ok(10),
        126 => Ok(4),
        _ => Ok(2),
    }
}

impl Header {
    /// Reads a header of the length that [`header_bytes`] has found.
    #[inline]
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Error> {
        let length = match *bytes {
            [_, _, high, low] => match u16::from_be_bytes([high, low]) {
                0..126 => return Err(Error::LongLength),
                length => u64::from(length),
            },
            [_, _, a, b, c, d, e, f, g, h] => match u64::from_be_bytes([a, b, c, d, e, f, g, h]) {
                0..=0xffff => return Err(Error::LongLength),
                0x8000_0000_0000_0000.. => return Err(Error::Length),
                length => length,
            },
            _ => u64::from(bytes[1]),
        };
        let first = bytes[0];
        let deflated = first & RSV1 != 0;
        Ok(Header { fin: first & FIN != 0, deflated, opcode: first & 0xf, length })
    }
}

/// The code and the reason of a close frame; [`code::NO_STATUS`](super::error::code::NO_STATUS) for none. The reason goes
/// to terminals.
pub(super) fn close(payload: &[u8]) -> Result<Box<CloseFrame>, Error> {
    let (code, reason) = match payload {
        [] => return Ok(super::error::code::NO_STATUS.into()),
        [_] => return Err(Error::CloseLength),
        [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
    };
    // RFC 6455 7.4.1 and 7.4.2, and the codes that were registered since (1012 to 1014).
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(Error::CloseCode(code));
    }
    let reason = std::str::from_utf8(reason).map_err(|_| Error::CloseReason)?;
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    Ok(Box::new(CloseFrame { code, reason: reason.chars().map(shown).collect() }))
}
