//! Numbers and texts of a payload. Reading fails with `None`; it does not panic on any bytes.

/// Appends an unsigned LEB128 number.
pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes an unsigned LEB128 number of at most 64 bits.
pub(super) fn take(input: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = input.split_first()?;
        *input = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Appends the step from `from` to `to`, which may go back: a small step is a small number.
pub(super) fn put_step(out: &mut Vec<u8>, from: u64, to: u64) {
    let step = to.wrapping_sub(from) as i64;
    put(out, (step << 1 ^ step >> 63) as u64);
}

/// Takes a step from `from`.
pub(super) fn take_step(input: &mut &[u8], from: u64) -> Option<u64> {
    let folded = take(input)?;
    let step = (folded >> 1) as i64 ^ -((folded & 1) as i64);
    Some(from.wrapping_add(step as u64))
}

/// Appends a text with its length.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Takes a text.
pub(super) fn take_text(input: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(take(input)?).ok()?;
    let (text, rest) = input.split_at_checked(length)?;
    *input = rest;
    String::from_utf8(text.to_vec()).ok()
}
