//! Messages that came, as JSON to look at.

use std::io::Write;

use prost_reflect::{DeserializeOptions, DynamicMessage, MessageDescriptor, SerializeOptions};

use crate::call::messages;
use crate::codec::Codec;
use crate::error::Error;
use crate::schema::{Method, clip_long};

/// The longest message that is shown. Decoded, a message may take a hundred times its bytes.
pub const MOST_SHOWN_BYTES: usize = 1 << 20;
/// The longest JSON of a response.
const MOST_RESPONSE_BYTES: usize = 4 << 20;

/// The JSON of a message, on one line, cut after about `most` bytes, with `…` where it is cut. Fields without a value
/// are left out.
pub fn show(
    message: &MessageDescriptor,
    codec: Codec,
    bytes: &[u8],
    most: usize,
) -> Result<String, Error> {
    json(message, codec, bytes, most, &SerializeOptions::default())
}

fn json(
    message: &MessageDescriptor,
    codec: Codec,
    bytes: &[u8],
    most: usize,
    options: &SerializeOptions,
) -> Result<String, Error> {
    if bytes.len() > MOST_SHOWN_BYTES {
        return Err(Error::NotShown(bytes.len()));
    }
    let of = |problem: String| Error::Bytes {
        name: message.full_name().to_owned(),
        problem: clip_long(&problem),
    };
    let message = match codec {
        Codec::Proto => {
            DynamicMessage::decode(message.clone(), bytes).map_err(|error| error.to_string())
        }
        Codec::Json => read(message, bytes).map_err(|error| error.to_string()),
    };
    let message = message.map_err(of)?;
    let mut room = Room { text: Vec::new(), most, is_full: false };
    let mut writer = serde_json::Serializer::new(&mut room);
    let written = message.serialize_with_options(&mut writer, options);
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

/// A message in JSON. Fields that the schema does not have are passed over, as in the binary form.
fn read(message: &MessageDescriptor, bytes: &[u8]) -> serde_json::Result<DynamicMessage> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let options = DeserializeOptions::new().deny_unknown_fields(false);
    let message = DynamicMessage::deserialize_with_options(message.clone(), &mut reader, &options)?;
    reader.end().map(|()| message)
}

/// What a response says, as values are captured from it: the JSON of its only message, or a list of all where the server
/// may send several. Fields without a value are in it with that of their type.
///
/// # Errors
/// It is not whole messages of the method, or its JSON has more than 4 MiB.
pub fn show_response(method: &Method, codec: Codec, body: &[u8]) -> Result<String, Error> {
    let of = |problem: &str| Error::Bytes {
        name: method.output.full_name().to_owned(),
        problem: problem.to_owned(),
    };
    let all = messages(body).ok_or_else(|| of("its length is wrong"))?;
    let options = SerializeOptions::new().skip_default_fields(false);
    let mut text = String::new();
    for message in &all {
        text += if text.is_empty() { "" } else { "," };
        let room = MOST_RESPONSE_BYTES.saturating_sub(text.len());
        text += &json(&method.output, codec, message, room, &options)?;
        if text.len() > MOST_RESPONSE_BYTES {
            return Err(of("as JSON it has more than 4 MiB"));
        }
    }
    match (method.kind.server_streams(), all.len()) {
        (true, _) => Ok(format!("[{text}]")),
        (false, 1) => Ok(text),
        (false, _) => Err(of("it is not one message")),
    }
}

/// Takes this many bytes at most.
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
