//! Values of messages, from their text to the bytes of a field.

use prost::encoding::encode_varint;
use prost_reflect::Kind;

/// A type of numbers, which decides how they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Float,
    Double,
}

impl Number {
    /// Of a field of this kind; enums are int32.
    pub(crate) fn of(kind: &Kind) -> Option<Self> {
        Some(match kind {
            Kind::Int32 | Kind::Enum(_) => Number::Int32,
            Kind::Int64 => Number::Int64,
            Kind::Uint32 => Number::Uint32,
            Kind::Uint64 => Number::Uint64,
            Kind::Sint32 => Number::Sint32,
            Kind::Sint64 => Number::Sint64,
            Kind::Fixed32 => Number::Fixed32,
            Kind::Fixed64 => Number::Fixed64,
            Kind::Sfixed32 => Number::Sfixed32,
            Kind::Sfixed64 => Number::Sfixed64,
            Kind::Float => Number::Float,
            Kind::Double => Number::Double,
            Kind::Bool | Kind::String | Kind::Bytes | Kind::Message(_) => return None,
        })
    }

    /// Its word in `.proto` files.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Number::Int32 => "int32",
            Number::Int64 => "int64",
            Number::Uint32 => "uint32",
            Number::Uint64 => "uint64",
            Number::Sint32 => "sint32",
            Number::Sint64 => "sint64",
            Number::Fixed32 => "fixed32",
            Number::Fixed64 => "fixed64",
            Number::Sfixed32 => "sfixed32",
            Number::Sfixed64 => "sfixed64",
            Number::Float => "float",
            Number::Double => "double",
        }
    }

    /// Replaces the text at the end of `out`, from `start` on, by the bytes of the number that it says. `None` if it
    /// says none of this type.
    pub(crate) fn replace(self, out: &mut Vec<u8>, start: usize) -> Option<()> {
        let text = std::str::from_utf8(out.get(start..)?).ok()?.trim();
        match self {
            Number::Int32 => put_varint(out, start, i64::from(text.parse::<i32>().ok()?) as u64),
            Number::Int64 => put_varint(out, start, text.parse::<i64>().ok()? as u64),
            Number::Uint32 => put_varint(out, start, u64::from(text.parse::<u32>().ok()?)),
            Number::Uint64 => put_varint(out, start, text.parse().ok()?),
            Number::Sint32 => put_varint(out, start, zigzag(i64::from(text.parse::<i32>().ok()?))),
            Number::Sint64 => put_varint(out, start, zigzag(text.parse().ok()?)),
            Number::Fixed32 => put(out, start, &text.parse::<u32>().ok()?.to_le_bytes()),
            Number::Fixed64 => put(out, start, &text.parse::<u64>().ok()?.to_le_bytes()),
            Number::Sfixed32 => put(out, start, &text.parse::<i32>().ok()?.to_le_bytes()),
            Number::Sfixed64 => put(out, start, &text.parse::<i64>().ok()?.to_le_bytes()),
            Number::Float => put(out, start, &text.parse::<f32>().ok()?.to_le_bytes()),
            Number::Double => put(out, start, &text.parse::<f64>().ok()?.to_le_bytes()),
        }
        Some(())
    }
}

/// Replaces the text of a number at the end of `out`, from `start` on, by the same number as JSON writes it. `None` if it
/// is none of this type.
pub(crate) fn put_json_number(number: Number, out: &mut Vec<u8>, start: usize) -> Option<()> {
    use std::io::Write as _;
    let text = std::str::from_utf8(out.get(start..)?).ok()?.trim();
    macro_rules! put {
        ($form:literal, $kind:ty, $fits:expr) => {{
            let value: $kind = text.parse().ok().filter($fits)?;
            out.truncate(start);
            write!(out, $form, value).ok()
        }};
    }
    match number {
        Number::Int32 | Number::Sint32 | Number::Sfixed32 => put!("{}", i32, |_| true),
        Number::Int64 | Number::Sint64 | Number::Sfixed64 => put!("{}", i64, |_| true),
        Number::Uint32 | Number::Fixed32 => put!("{}", u32, |_| true),
        Number::Uint64 | Number::Fixed64 => put!("{}", u64, |_| true),
        // JSON has no other numbers; with an exponent, so that a large one is short.
        Number::Float => put!("{:?}", f32, |value: &f32| value.is_finite()),
        Number::Double => put!("{:?}", f64, |value: &f64| value.is_finite()),
    }
}

/// Escapes the text at the end of `out`, from `start` on, for a string of JSON.
pub(crate) fn escape_json(out: &mut Vec<u8>, start: usize, scratch: &mut Vec<u8>) -> Option<()> {
    std::str::from_utf8(out.get(start..)?).ok()?;
    let is_special = |byte: &u8| *byte < b' ' || matches!(byte, b'"' | b'\\');
    if out[start..].iter().any(is_special) {
        scratch.clear();
        scratch.extend(out.drain(start..));
        for byte in &*scratch {
            match byte {
                b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
                0..b' ' => {
                    const DIGITS: &[u8; 16] = b"0123456789abcdef";
                    out.extend_from_slice(b"\\u00");
                    out.extend([*byte >> 4, *byte & 15].map(|digit| DIGITS[usize::from(digit)]));
                }
                _ => out.push(*byte),
            }
        }
    }
    Some(())
}

/// `0, -1, 1, -2 …` to `0, 1, 2, 3 …`, so that small negative numbers are short.
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn put_varint(out: &mut Vec<u8>, start: usize, value: u64) {
    out.truncate(start);
    encode_varint(value, out);
}

fn put(out: &mut Vec<u8>, start: usize, bytes: &[u8]) {
    out.truncate(start);
    out.extend_from_slice(bytes);
}
