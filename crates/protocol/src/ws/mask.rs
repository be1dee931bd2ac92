//! Masks: a fresh one for each frame that a client sends (RFC 6455 5.3).
//!
//! The RFC requires unpredictable masks, so that a script in a browser cannot choose the bytes on the
//! wire and deceive a proxy. Here the user owns both the payload and the client, and no one else's bytes are
//! sent: the masks only have to be fresh. They come from a seed, so that a run can be repeated to the byte.

/// A sequence of masks, and of other bytes that need not be secret (SplitMix64).
///
/// Formula: number n, from 1, is mix(seed + n·γ) with γ = 0x9e37_79b9_7f4a_7c15 and
/// mix(z): z ← (z ⊕ z≫30)·0xbf58_476d_1ce4_e5b9; z ← (z ⊕ z≫27)·0x94d0_49bb_1331_11eb; z ⊕ z≫31
/// (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014). mix is a bijection, so the
/// numbers do not repeat in 2^64; a mask is the upper half of one.
#[derive(Debug, Clone)]
pub struct Masks(u64);

impl Masks {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Masks(seed)
    }

    /// The next number.
    #[inline]
    pub fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// The next mask.
    #[inline]
    pub fn next_mask(&mut self) -> [u8; 4] {
        let [a, b, c, d, ..] = self.next_number().to_be_bytes();
        [a, b, c, d]
    }
}

/// Masks `bytes`, or takes the mask off again: byte i is combined with byte i modulo 4 of the mask by exclusive or
/// (RFC 6455 5.3).
#[inline]
pub fn mask(mask: [u8; 4], bytes: &mut [u8]) {
    // Blocks of a fixed size become vector instructions.
    const BLOCK: usize = 32;
    let mut pattern = [0; BLOCK];
    pattern.chunks_exact_mut(4).for_each(|four| four.copy_from_slice(&mask));
    let mut blocks = bytes.chunks_exact_mut(BLOCK);
    for block in &mut blocks {
        block.iter_mut().zip(&pattern).for_each(|(byte, with)| *byte ^= with);
    }
    blocks.into_remainder().iter_mut().zip(&pattern).for_each(|(byte, with)| *byte ^= with);
}
