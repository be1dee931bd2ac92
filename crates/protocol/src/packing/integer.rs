//! Integers with a prefix (RFC 7541 5.1).

/// Reads an integer whose first byte's low `prefix` bits belong to it. `None`: it is cut off, or
/// does not fit in what any length or index may be.
#[inline]
pub(crate) fn read(block: &mut &[u8], prefix: u32) -> Option<u32> {
    let (&first, rest) = block.split_first()?;
    *block = rest;
    let mask = (1u32 << prefix) - 1;
    let small = u32::from(first) & mask;
    if small < mask { Some(small) } else { read_long(block, mask) }
}

#[cold]
fn read_long(block: &mut &[u8], mask: u32) -> Option<u32> {
    let mut value = u64::from(mask);
    // Five bytes carry 35 bits; padding with zeros beyond that is an attack on our patience.
    for shift in [0, 7, 14, 21, 28] {
        let (&byte, rest) = block.split_first()?;
        *block = rest;
        value += u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u32::try_from(value).ok();
        }
    }
    None
}

/// Whether `block` ends in the middle of the integer that it begins with.
pub(crate) fn is_cut_off(block: &[u8], prefix: u32) -> bool {
    let mask = (1u8 << prefix) - 1;
    match block {
        [] => true,
        [first, rest @ ..] => {
            first & mask == mask && rest.len() < 5 && rest.iter().all(|byte| byte & 0x80 != 0)
        }
    }
}

/// Appends `value`, in a first byte whose bits above the prefix are those of `pattern`.
#[inline]
pub(crate) fn write(out: &mut Vec<u8>, pattern: u8, prefix: u32, value: impl Into<u64>) {
    let (mask, value) = ((1u64 << prefix) - 1, value.into());
    if value < mask {
        out.push(pattern | value as u8);
        return;
    }
    out.push(pattern | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7541 C.1.
    #[test]
    fn the_examples_of_7541_c_1() {
        for (value, prefix, bytes) in [
            (10u32, 5, &[0b01010][..]),
            (1337, 5, &[0b11111, 0b10011010, 0b00001010]),
            (42, 8, &[42]),
        ] {
            let mut out = Vec::new();
            write(&mut out, 0, prefix, value);
            assert_eq!(out, bytes);
            let mut rest = &out[..];
            assert_eq!(read(&mut rest, prefix), Some(value));
            assert!(rest.is_empty());
        }
    }

    #[test]
    fn every_length_reads_back() {
        for prefix in 4..=7 {
            for value in (0u32..40_000).chain([u32::MAX - 1, u32::MAX]) {
                let mut out = Vec::new();
                write(&mut out, 0, prefix, value);
                assert_eq!(read(&mut &out[..], prefix), Some(value));
            }
        }
    }

    /// Ids of streams have up to 62 bits (RFC 9204 4.1.1).
    #[test]
    fn integers_of_62_bits_are_written_whole() {
        for value in [u64::from(u32::MAX), 1 << 32, (1 << 32) + 400, (1 << 62) - 1] {
            let mut out = Vec::new();
            write(&mut out, 0x80, 7, value);
            assert_eq!(out[0], 0xff);
            let groups = out[1..].iter().rev();
            let rest = groups.fold(0u64, |sum, byte| sum << 7 | u64::from(byte & 0x7f));
            assert_eq!(127 + rest, value);
            let (last, others) = out[1..].split_last().unwrap();
            assert!(last & 0x80 == 0 && others.iter().all(|byte| byte & 0x80 != 0), "{out:02x?}");
        }
    }

    #[test]
    fn cut_off_and_overlong_integers_are_refused() {
        assert_eq!(read(&mut &[][..], 5), None);
        assert_eq!(read(&mut &[0x1f][..], 5), None);
        assert_eq!(read(&mut &[0x1f, 0x80][..], 5), None);
        assert!(is_cut_off(&[], 5) && is_cut_off(&[0x1f], 5) && is_cut_off(&[0x1f, 0x80], 5));
        assert!(!is_cut_off(&[0x1e], 5) && !is_cut_off(&[0x1f, 0x80, 0x01], 5));
        assert!(!is_cut_off(&[0x1f, 0x80, 0x80, 0x80, 0x80, 0x80], 5));
        assert_eq!(read(&mut &[0x1f, 0x80, 0x80, 0x80, 0x80, 0x80, 0][..], 5), None);
        assert_eq!(read(&mut &[0x1f, 0xff, 0xff, 0xff, 0xff, 0x7f][..], 5), None);
    }
}
