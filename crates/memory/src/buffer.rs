//! Buffers of text that values and cookies lie in, one after the other.
//!
//! A buffer stays when the user is done, so that the next user allocates nothing, unless it has grown long.

use std::ops::Range;

/// Longer buffers are freed when a user is done: one long response must not cost the memory of every
/// later user.
const KEPT_BYTES: usize = 4 << 10;

/// Replaces a part of `text`, without a second buffer.
pub(crate) fn replace(text: &mut Vec<u8>, place: Range<usize>, with: &[u8]) {
    let length = text.len();
    let end = place.start + with.len();
    if with.len() > place.len() {
        text.resize(length + (with.len() - place.len()), 0);
    }
    text.copy_within(place.end..length, end);
    text.truncate(length - place.len() + with.len());
    text[place.start..end].copy_from_slice(with);
}

/// Shortens a buffer, and keeps no more memory than it needs if that was much.
pub(crate) fn truncate(text: &mut Vec<u8>, length: usize) {
    text.truncate(length);
    if text.capacity() > KEPT_BYTES {
        text.shrink_to(KEPT_BYTES);
    }
}

/// Empties a buffer, and keeps its memory if that is little.
pub(crate) fn clear_bytes(text: &mut Vec<u8>) {
    match text.capacity() > KEPT_BYTES {
        true => *text = Vec::new(),
        false => text.clear(),
    }
}
