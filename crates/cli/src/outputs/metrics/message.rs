//! Messages of protobuf, written and read field by field: <https://protobuf.dev/programming-guides/encoding/>. It knows no
//! schema.

/// A message under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// A number without a field.
    pub(super) fn varint(mut self, mut value: u64) -> Self {
        while value > 0x7f {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    pub(super) fn count(self, field: u64, value: u64) -> Self {
        self.varint(field << 3).varint(value)
    }

    /// A number that may be negative, as sint32 or sint64.
    pub(super) fn signed(self, field: u64, value: i64) -> Self {
        self.count(field, ((value << 1) ^ (value >> 63)) as u64)
    }

    pub(super) fn double(self, field: u64, value: f64) -> Self {
        self.eight(field, value.to_le_bytes())
    }

    /// A number of eight bytes, as fixed64 or sfixed64.
    pub(super) fn fixed(self, field: u64, value: u64) -> Self {
        self.eight(field, value.to_le_bytes())
    }

    pub(super) fn bytes(self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2).delimited(bytes)
    }

    /// A message of two texts.
    pub(super) fn pair(one: &str, other: &str) -> Self {
        Message::default().bytes(1, one.as_bytes()).bytes(2, other.as_bytes())
    }

    pub(super) fn message(self, field: u64, one: Message) -> Self {
        self.bytes(field, &one.0)
    }

    pub(super) fn add(&mut self, field: u64, one: Message) {
        *self = std::mem::take(self).message(field, one);
    }

    /// Bytes behind their length, without a field.
    pub(super) fn delimited(self, bytes: &[u8]) -> Self {
        let mut message = self.varint(bytes.len() as u64);
        message.0.extend_from_slice(bytes);
        message
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }

    fn eight(self, field: u64, bytes: [u8; 8]) -> Self {
        let mut message = self.varint(field << 3 | 1);
        message.0.extend_from_slice(&bytes);
        message
    }
}

/// The value of a field.
#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    Number(u64),
    /// Bytes, a text or a message.
    Bytes(&'a [u8]),
}

/// The fields of a message, up to the first one that is cut or has a value of another type.
pub(super) fn fields(mut message: &[u8]) -> impl Iterator<Item = (u64, Value<'_>)> {
    std::iter::from_fn(move || {
        let (key, rest) = varint(message)?;
        let (number, rest) = varint(rest)?;
        let (value, rest) = match key & 7 {
            0 => (Value::Number(number), rest),
            2 => {
                let (bytes, rest) = rest.split_at_checked(usize::try_from(number).ok()?)?;
                (Value::Bytes(bytes), rest)
            }
            _ => return None,
        };
        message = rest;
        Some((key >> 3, value))
    })
}

/// The texts and messages in a message, by field.
pub(super) fn messages(message: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    fields(message).filter_map(|(field, value)| match value {
        Value::Bytes(bytes) => Some((field, bytes)),
        Value::Number(_) => None,
    })
}

/// A number and the bytes behind it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let end = bytes.iter().take(10).position(|byte| *byte < 0x80)?;
    let (digits, rest) = bytes.split_at(end + 1);
    Some((digits.iter().rev().fold(0, |value, digit| value << 7 | u64::from(digit & 0x7f)), rest))
}
