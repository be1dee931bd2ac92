//! The few messages of Protocol Buffers that the target speaks, written by hand: the wire format's
//! fields of varints and of bytes (<https://protobuf.dev/programming-guides/encoding/>).
//!
//! Everything read is untrusted. Nothing here allocates by a length that was only announced.

use bytes::Bytes;

/// A field that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Varint(u64),
    Bytes(Bytes),
    /// A number of fixed length, which none of our messages has.
    Fixed,
}

/// The next field of a message, which is removed from it; `Ok(None)` at its end.
///
/// # Errors
///
/// What is malformed.
pub(crate) fn next_field(message: &mut Bytes) -> Result<Option<(u64, Value)>, &'static str> {
    if message.is_empty() {
        return Ok(None);
    }
    let tag = varint(message)?;
    let value = match tag & 7 {
        0 => Value::Varint(varint(message)?),
        1 => skip(message, 8)?,
        2 => {
            let length = varint(message)?;
            if length > message.len() as u64 {
                return Err("a field is longer than its message");
            }
            Value::Bytes(message.split_to(length as usize))
        }
        5 => skip(message, 4)?,
        _ => return Err("a field has an unknown wire type"),
    };
    match tag >> 3 {
        0 => Err("a field has number 0"),
        number => Ok(Some((number, value))),
    }
}

fn skip(message: &mut Bytes, length: usize) -> Result<Value, &'static str> {
    if length > message.len() {
        return Err("a field is longer than its message");
    }
    let _ = message.split_to(length);
    Ok(Value::Fixed)
}

fn varint(message: &mut Bytes) -> Result<u64, &'static str> {
    let mut value = 0;
    for (at, &byte) in message.iter().take(10).enumerate() {
        // The tenth byte has room for one bit.
        if at == 9 && byte > 1 {
            return Err("a varint is longer than 64 bits");
        }
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            let _ = message.split_to(at + 1);
            return Ok(value);
        }
    }
    Err("a varint does not end")
}

/// Appends a field of a varint, unless it has the default value.
pub(crate) fn put_varint(out: &mut Vec<u8>, number: u32, value: u64) {
    if value != 0 {
        put(out, u64::from(number) << 3);
        put(out, value);
    }
}

/// Appends a field of bytes, also if they are empty.
pub(crate) fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put(out, u64::from(number) << 3 | 2);
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// `candor.Message`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) payload: Bytes,
    pub(crate) count: u32,
    pub(crate) every_ns: u64,
    pub(crate) status: u32,
    pub(crate) seq: u64,
    pub(crate) bytes: u64,
    pub(crate) due_ns: u64,
}

impl Message {
    /// Reads a message; fields that are unknown, or of another type than ours, are skipped.
    ///
    /// # Errors
    ///
    /// What is malformed.
    pub(crate) fn decode(mut from: Bytes) -> Result<Message, &'static str> {
        let mut message = Message::default();
        while let Some((number, value)) = next_field(&mut from)? {
            match (number, value) {
                (1, Value::Bytes(payload)) => message.payload = payload,
                // Like other implementations: the lower bits of what is too large.
                (2, Value::Varint(count)) => message.count = count as u32,
                (3, Value::Varint(every_ns)) => message.every_ns = every_ns,
                (4, Value::Varint(status)) => message.status = status as u32,
                (5, Value::Varint(seq)) => message.seq = seq,
                (6, Value::Varint(bytes)) => message.bytes = bytes,
                (7, Value::Varint(due_ns)) => message.due_ns = due_ns,
                _ => {}
            }
        }
        Ok(message)
    }

    /// Its bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.payload.len() + 64);
        if !self.payload.is_empty() {
            put_bytes(&mut out, 1, &self.payload);
        }
        put_varint(&mut out, 2, self.count.into());
        put_varint(&mut out, 3, self.every_ns);
        put_varint(&mut out, 4, self.status.into());
        put_varint(&mut out, 5, self.seq);
        put_varint(&mut out, 6, self.bytes);
        put_varint(&mut out, 7, self.due_ns);
        out
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use prost_reflect::{DescriptorPool, DynamicMessage};

    use super::*;
    use crate::grpc::reflection::DESCRIPTORS;

    proptest! {
        /// Another implementation reads what ours writes, and ours reads it again.
        #[test]
        fn messages_are_those_of_the_descriptor(
            payload in proptest::collection::vec(any::<u8>(), 0..300),
            count: u32, every_ns: u64, status: u32, seq: u64, bytes: u64, due_ns: u64,
        ) {
            let payload = Bytes::from(payload);
            let ours = Message { payload, count, every_ns, status, seq, bytes, due_ns };
            let pool = DescriptorPool::decode(DESCRIPTORS).unwrap();
            let kind = pool.get_message_by_name("candor.Message").unwrap();
            let theirs = DynamicMessage::decode(kind, &ours.encode()[..]).unwrap();
            let field = |name: &str| theirs.get_field_by_name(name).unwrap().into_owned();
            let payload = field("payload");
            prop_assert_eq!(payload.as_bytes(), Some(&ours.payload));
            prop_assert_eq!(field("count").as_u32(), Some(count));
            prop_assert_eq!(field("every_ns").as_u64(), Some(every_ns));
            prop_assert_eq!(field("status").as_u32(), Some(status));
            prop_assert_eq!(field("seq").as_u64(), Some(seq));
            prop_assert_eq!(field("bytes").as_u64(), Some(bytes));
            prop_assert_eq!(field("due_ns").as_u64(), Some(due_ns));
            prop_assert_eq!(theirs.unknown_fields().count(), 0);
            let encoded = prost_reflect::prost::Message::encode_to_vec(&theirs);
            prop_assert_eq!(Message::decode(encoded.into()), Ok(ours));
        }

        /// Any bytes: no panic, and the verdict of the other implementation, where both know the fields.
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Message::decode(bytes.into());
        }
    }

    #[test]
    fn what_is_malformed_is_refused() {
        for (bytes, says) in [
            (&[0x0a, 0x05, 1][..], "longer than its message"),
            (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], "longer than its"),
            (&[0x10, 0x80], "does not end"),
            (&[0x10, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2], "longer than 64 bits"),
            (&[0x0b], "unknown wire type"),
            (&[0x02, 0x00], "number 0"),
            (&[0x09, 0, 0], "longer than its message"),
        ] {
            let error = Message::decode(Bytes::from_static(bytes)).unwrap_err();
            assert!(error.contains(says), "{bytes:?}: {error}");
        }
        // An unknown field, a fixed one, and one of another type are skipped.
        let skipped = [0x50, 7, 0x0d, 1, 2, 3, 4, 0x28, 9];
        let message = Message::decode(Bytes::copy_from_slice(&skipped)).unwrap();
        assert_eq!(message, Message { seq: 9, ..Message::default() });
    }
}
