//! Messages that came, as JSON to look at.

use std::io::Write;

use prost_reflect::{DynamicMessage, MessageDescriptor, SerializeOptions};

use crate::error::Error;
use crate::schema::clip_long;

/// The longest message that is shown. Decoded, a message may take a hundred times its bytes.
pub const MOST_SHOWN_BYTES: usize = 1 << 20;

/// The JSON of a message, on one line, cut after about `most` bytes, with `…` where it is cut. Fields without a value
/// are left out.
pub fn show(message: &MessageDescriptor, bytes: &[u8], most: usize) -> Result<String, Error> {
    if bytes.len() > MOST_SHOWN_BYTES {
        return Err(Error::NotShown(bytes.len()));
    }
    let of = |problem: String| Error::Bytes {
        name: message.full_name().to_owned(),
        problem: clip_long(&problem),
    };
    let message =
        DynamicMessage::decode(message.clone(), bytes).map_err(|error| of(error.to_string()))?;
    let mut room = Room { text: Vec::new(), most, is_full: false };
    let mut writer = serde_json::Serializer::new(&mut room);
    let written = message.serialize_with_options(&mut writer, &SerializeOptions::default());
    if let Err(error) = written
        && !room.is_full
    {
        return Err(of(error.to_string()));
    }
    let mut text = String::from_utf8_lossy(&room.text).into_owned();
    if room.is_full {
        // What is cut may be in the middle of a character.
        text.truncate(text.trim_end_matches('\u{fffd}').len());
        text.push('…');
    }
    Ok(text)
}

/// Takes so many bytes, and then no more.
struct Room {
    text: Vec<u8>,
    most: usize,
    is_full: bool,
}

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(self.most - self.text.len());
        self.text.extend_from_slice(&bytes[..taken]);
        if taken < bytes.len() {
            self.is_full = true;
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
