//! Mutated inputs of a corpus, the same ones each time: libFuzzer's stand-in in ordinary tests.
//!
//! Blind, where libFuzzer looks at coverage; but it needs no other build, and takes seconds.

/// Longest input.
const MOST_BYTES: usize = 4096;

/// Pieces that grammars are made of.
const WORDS: &[&[u8]] = &[
    b"\r\n",
    b"\n",
    b"\0",
    b" ",
    b":",
    b",",
    b"=",
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b"-",
    b"+",
    b"0",
    b"1",
    b"ffffffff",
    b"18446744073709551615",
    b"18446744073709551616",
    b"-1",
    b"1e400",
    b"NaN",
    b"null",
    b"true",
    b"\xff\xff\xff\xff",
    b"\x80\0\0\0",
    b"\x7f\xff\xff\xff",
    b"\x1b[2J",
    b"\xe2\x80\xae",
    b"HTTP/1.1 ",
    b"Content-Length: ",
    b"Transfer-Encoding: chunked",
];

/// Inputs made of a corpus, without an end.
#[derive(Debug)]
pub struct Mutations<'a> {
    corpus: &'a [Vec<u8>],
    state: u64,
}

impl<'a> Mutations<'a> {
    /// The inputs of this seed. A corpus without inputs is as one with an empty input.
    pub fn new(corpus: &'a [Vec<u8>], seed: u64) -> Self {
        Mutations { corpus, state: seed }
    }

    /// The same, of texts: bytes that are not UTF-8 are replaced.
    pub fn of_texts(corpus: &[&str], seed: u64) -> impl Iterator<Item = String> {
        let corpus: Vec<_> = corpus.iter().map(|text| text.as_bytes().to_vec()).collect();
        let mut state = seed;
        std::iter::from_fn(move || {
            let mut mutations = Mutations { corpus: &corpus, state };
            let bytes = mutations.next()?;
            state = mutations.state;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        })
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014).
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// In [0, below), or 0.
    fn below(&mut self, below: usize) -> usize {
        (self.random() % below.max(1) as u64) as usize
    }

    fn pick(&mut self) -> Vec<u8> {
        let at = self.below(self.corpus.len());
        self.corpus.get(at).cloned().unwrap_or_default()
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        let end = (at + 1 + self.below(16)).min(bytes.len());
        match self.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.random() as u8,
            2 if at < bytes.len() => bytes[at] = bytes[at].wrapping_add(1),
            3 => {
                bytes.drain(at.min(end)..end);
            }
            4 => {
                let piece = bytes[at.min(end)..end].to_vec();
                let to = self.below(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
            5 => {
                let word = WORDS[self.below(WORDS.len())];
                bytes.splice(at..at, word.iter().copied());
            }
            6 => {
                let other = self.pick();
                let from = self.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            _ => bytes.truncate(at),
        }
    }
}

impl Iterator for Mutations<'_> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut bytes = self.pick();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes);
        }
        bytes.truncate(MOST_BYTES.max(self.corpus.iter().map(Vec::len).max().unwrap_or(0)));
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::Mutations;

    #[test]
    fn mutations_are_the_same_each_time_and_differ() {
        let corpus = [b"HTTP/1.1 200 OK".to_vec(), b"5\r\nhello".to_vec()];
        let some = |seed| Mutations::new(&corpus, seed).take(100).collect::<Vec<_>>();
        assert_eq!(some(1), some(1));
        assert_ne!(some(1), some(2));
        let mut different = some(1);
        different.sort();
        different.dedup();
        assert!(different.len() > 80, "{}", different.len());
    }
}
