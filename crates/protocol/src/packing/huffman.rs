//! The Huffman code of strings (RFC 7541 5.2 and appendix B).
//!
//! The code is canonical: symbols sorted by the length of their code, then by value, have
//! consecutive codes. So the lengths say everything, and all other tables are made from them when
//! this is compiled.

/// Length in bits of each byte's code.
#[rustfmt::skip]
static LENGTHS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];

/// Length of the longest codes. The last of them is the end-of-string symbol, which must not
/// occur.
const LONGEST: usize = 30;

/// Codes no longer than this are looked up in one step.
const QUICK_BITS: usize = 8;

struct Tables {
    /// Each byte's code, in the low bits.
    codes: [u32; 256],
    /// Bytes in the order of their codes.
    symbols: [u8; 256],
    /// By length: where its symbols begin in `symbols`.
    first_symbol: [u16; LONGEST + 1],
    /// By length: its first code.
    first_code: [u32; LONGEST + 1],
    /// By length: how many there are.
    count: [u16; LONGEST + 1],
    /// By the next eight bits: byte and length of its code; length 0 if that is longer.
    quick: [(u8, u8); 1 << QUICK_BITS],
}

static TABLES: Tables = tables();

const fn tables() -> Tables {
    let mut tables = Tables {
        codes: [0; 256],
        symbols: [0; 256],
        first_symbol: [0; LONGEST + 1],
        first_code: [0; LONGEST + 1],
        count: [0; LONGEST + 1],
        quick: [(0, 0); 1 << QUICK_BITS],
    };
    let (mut code, mut at, mut length) = (0u32, 0usize, 1usize);
    while length <= LONGEST {
        code <<= 1;
        tables.first_code[length] = code;
        tables.first_symbol[length] = at as u16;
        let mut symbol = 0;
        while symbol < 256 {
            if LENGTHS[symbol] as usize == length {
                tables.codes[symbol] = code;
                tables.symbols[at] = symbol as u8;
                if length <= QUICK_BITS {
                    let spare = QUICK_BITS - length;
                    let mut fill = 0;
                    while fill < 1 << spare {
                        let index = ((code as usize) << spare) + fill;
                        tables.quick[index] = (symbol as u8, length as u8);
                        fill += 1;
                    }
                }
                tables.count[length] += 1;
                code += 1;
                at += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    tables
}

/// Appends what `coded` stands for. `None`: it is no valid string (RFC 7541 5.2).
pub(crate) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Option<()> {
    // The next bits, the first of them on top; below them zeros.
    let mut bits = 0u64;
    let mut available = 0usize;
    let mut bytes = coded.iter();
    loop {
        while available <= 56
            && let Some(&byte) = bytes.next()
        {
            bits |= u64::from(byte) << (56 - available);
            available += 8;
        }
        let (symbol, length) = TABLES.quick[(bits >> (64 - QUICK_BITS)) as usize];
        let (symbol, length) = match length {
            0 => match long(bits) {
                Some(found) => found,
                None => break,
            },
            length => (symbol, usize::from(length)),
        };
        if length > available {
            break;
        }
        out.push(symbol);
        bits <<= length;
        available -= length;
    }
    // What is left is padding: fewer than eight bits, all of them ones.
    (available < 8 && bits == !(u64::MAX >> available)).then_some(())
}

/// The code longer than [`QUICK_BITS`] that `bits` begins with, if it is not end-of-string.
fn long(bits: u64) -> Option<(u8, usize)> {
    for length in QUICK_BITS + 1..=LONGEST {
        let code = (bits >> (64 - length)) as u32;
        let offset = code.wrapping_sub(TABLES.first_code[length]);
        if offset < u32::from(TABLES.count[length]) {
            let at = usize::from(TABLES.first_symbol[length]) + offset as usize;
            return Some((TABLES.symbols[at], length));
        }
    }
    None
}

/// How long `text` is when it is encoded.
pub(crate) fn encoded_length(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|&byte| usize::from(LENGTHS[usize::from(byte)])).sum();
    bits.div_ceil(8)
}

/// Appends `text`, encoded.
pub(crate) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let mut bits = 0u64;
    let mut pending = 0u32;
    for &byte in text {
        let length = u32::from(LENGTHS[usize::from(byte)]);
        bits = bits << length | u64::from(TABLES.codes[usize::from(byte)]);
        pending += length;
        while pending >= 8 {
            pending -= 8;
            out.push((bits >> pending) as u8);
        }
    }
    if pending > 0 {
        let spare = 8 - pending;
        out.push(((bits << spare) as u8) | ((1u8 << spare) - 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(coded: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        decode(coded, &mut out).map(|()| out)
    }

    #[test]
    fn every_pair_of_bytes_reads_back() {
        for first in 0..=255u8 {
            for second in 0..=255u8 {
                let text = [first, second, b'a', first];
                let mut coded = Vec::new();
                encode(&text, &mut coded);
                assert_eq!(coded.len(), encoded_length(&text));
                assert_eq!(decoded(&coded).as_deref(), Some(&text[..]));
            }
        }
    }

    /// RFC 7541 C.4.1, C.6.1.
    #[test]
    fn the_examples_of_7541_c() {
        let host = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        assert_eq!(decoded(&host).as_deref(), Some(&b"www.example.com"[..]));
        assert_eq!(decoded(&[0x64, 0x02]).as_deref(), Some(&b"302"[..]));
        assert_eq!(decoded(&[]).as_deref(), Some(&b""[..]));
    }

    #[test]
    fn wrong_padding_and_the_end_of_string_are_refused_7541_5_2() {
        // 'a' is 00011; then padding with zeros, with more than seven bits, and none of it.
        assert_eq!(decoded(&[0b0001_1111]).as_deref(), Some(&b"a"[..]));
        assert_eq!(decoded(&[0b0001_1000]), None);
        assert_eq!(decoded(&[0b0001_1110]), None);
        assert_eq!(decoded(&[0b0001_1111, 0xff]), None);
        assert_eq!(decoded(&[0xff]), None);
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xff]), None);
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xfc]), None);
        assert_eq!(decoded(&[0b0001_1111, 0xff, 0xff, 0xff, 0xff, 0xff]), None);
    }
}
