//! Length-prefixed messages: a byte that says whether a message is compressed, four bytes of length, the message.

use super::end::End;
use super::error::Error;

const FRONT_BYTES: usize = 5;

/// Cuts a body into messages as it comes. Keeps the five bytes in front, nothing of a message.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Splitter {
    front: [u8; FRONT_BYTES],
    /// Of these, how many have come.
    have: u8,
    /// Bytes of the message that are still to come.
    left: u32,
    /// The frame with the status has ended.
    has_ended: bool,
}

/// Messages that ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) count: u32,
    pub(crate) bytes: u64,
}

impl Splitter {
    /// Whether no message has begun without having ended.
    pub(super) fn is_between(&self) -> bool {
        self.have == 0
    }

    /// Whether the frame with the status has come.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Takes the next bytes of a body: what ended in them, and what is wrong after that. A frame that begins with
    /// `end_flag` has the status, and is put into `end`.
    #[inline]
    pub(super) fn handle(
        &mut self,
        mut bytes: &[u8],
        most: u32,
        is_encoded: bool,
        end_flag: Option<u8>,
        end: &mut Option<Box<End>>,
    ) -> (Ended, Option<Error>) {
        let mut ended = Ended::default();
        while !bytes.is_empty() {
            let have = usize::from(self.have);
            if have < FRONT_BYTES {
                if self.has_ended {
                    return (ended, Some(Error::AfterEnd));
                }
                let wanted = (FRONT_BYTES - have).min(bytes.len());
                let (part, rest) = bytes.split_at(wanted);
                self.front[have..have + wanted].copy_from_slice(part);
                self.have += wanted as u8;
                bytes = rest;
                if usize::from(self.have) < FRONT_BYTES {
                    break;
                }
                match length(self.front, is_encoded, end_flag) {
                    Ok(length) if length <= most => self.left = length,
                    Ok(length) => return (ended, Some(Error::MessageTooLong(length))),
                    Err(error) => return (ended, Some(error)),
                }
            }
            let passed = bytes.len().min(self.left as usize);
            let (content, rest) = bytes.split_at(passed);
            bytes = rest;
            self.left -= passed as u32;
            if self.front[0] != 0 {
                if let Err(error) = end.get_or_insert_default().take(content) {
                    return (ended, Some(error));
                }
                if self.left == 0 {
                    (self.has_ended, self.have) = (true, 0);
                }
            } else if self.left == 0 {
                ended.count += 1;
                let [_, length @ ..] = self.front;
                ended.bytes += u64::from(u32::from_be_bytes(length));
                self.have = 0;
            }
        }
        (ended, None)
    }
}

/// The length of a message by the bytes in front.
fn length(
    [flag, length @ ..]: [u8; FRONT_BYTES],
    is_encoded: bool,
    end_flag: Option<u8>,
) -> Result<u32, Error> {
    match flag {
        0 => Ok(u32::from_be_bytes(length)),
        flag if Some(flag) == end_flag => Ok(u32::from_be_bytes(length)),
        1 if is_encoded => Err(Error::Compressed),
        1 => Err(Error::CompressedWithoutEncoding),
        flag => Err(Error::Flag(flag)),
    }
}
