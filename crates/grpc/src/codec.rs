//! How the bytes of a message, and of a body, are written: binary or JSON, and base64 of a whole body for gRPC-Web's
//! text form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// How messages are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Codec {
    /// In the binary form of Protocol Buffers.
    #[default]
    Proto,
    /// In the JSON of Protocol Buffers.
    Json,
}

/// Appends a body in base64 to `out`.
pub fn encode_text(body: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + body.len().div_ceil(3) * 4, 0);
    // There is room for all of it.
    let written = STANDARD.encode_slice(body, &mut out[start..]).unwrap_or_default();
    out.truncate(start + written);
}

/// The body of a text in base64; `None`: it is none.
pub fn decode_text(mut text: &[u8]) -> Option<Vec<u8>> {
    let (mut decoder, mut body, mut some) = (TextDecoder::default(), Vec::new(), [0; 768]);
    while !text.is_empty() {
        let (bytes, is_text) = decoder.decode(&mut text, &mut some);
        body.extend_from_slice(bytes);
        is_text.then_some(())?;
    }
    decoder.is_between().then_some(body)
}

/// Reads base64 as it comes. A server may send several pieces of it one after the other, each with its own padding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextDecoder {
    /// The characters of the group that has begun, six bits each.
    bits: u32,
    have: u8,
    /// Of these, how many are padding.
    padding: u8,
}

impl TextDecoder {
    /// Whether no group of four characters has begun without having ended.
    pub fn is_between(self) -> bool {
        self.have == 0
    }

    /// Decodes text from the front of `text` as long as `out` has room. False: what follows is not base64.
    pub fn decode<'a>(&mut self, text: &mut &[u8], out: &'a mut [u8]) -> (&'a [u8], bool) {
        let mut length = 0;
        while out.len() - length >= 3
            && let Some((character, rest)) = text.split_first()
        {
            let six = match character {
                b'A'..=b'Z' => character - b'A',
                b'a'..=b'z' => character - b'a' + 26,
                b'0'..=b'9' => character - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                b'=' if self.have >= 2 => 0,
                _ => return (&out[..length], false),
            };
            match character {
                b'=' => self.padding += 1,
                _ if self.padding > 0 => return (&out[..length], false),
                _ => {}
            }
            *text = rest;
            self.bits = self.bits << 6 | u32::from(six);
            self.have += 1;
            if self.have == 4 {
                let [_, bytes @ ..] = self.bits.to_be_bytes();
                out[length..length + 3].copy_from_slice(&bytes);
                length += 3 - usize::from(self.padding);
                *self = TextDecoder::default();
            }
        }
        (&out[..length], true)
    }
}

#[cfg(test)]
mod tests {
    use super::{TextDecoder, decode_text, encode_text};

    #[test]
    fn text_is_the_body_again_in_any_pieces() {
        let body: Vec<u8> = (0..=255).cycle().take(2000).collect();
        for length in [0, 1, 2, 3, 4, 767, 768, 769, 2000] {
            let mut text = b"before".to_vec();
            encode_text(&body[..length], &mut text);
            let text = text.strip_prefix(b"before").unwrap();
            assert_eq!(decode_text(text).as_deref(), Some(&body[..length]));
            let (mut decoder, mut read) = (TextDecoder::default(), Vec::new());
            for mut piece in text.chunks(1) {
                let mut some = [0; 3];
                read.extend_from_slice(decoder.decode(&mut piece, &mut some).0);
            }
            assert_eq!(read, body[..length]);
        }
        // Pieces with padding of their own.
        assert_eq!(decode_text(b"YQ==YmM=ZGVm").unwrap(), b"abcdef");
        for wrong in ["Y", "YQ", "YQ=", "YQ=a", "=", "Y=", "YQ===", "YQ==\n", "YW-j"] {
            assert_eq!(decode_text(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
