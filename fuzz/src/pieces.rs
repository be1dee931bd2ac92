//! The same bytes in other pieces.

/// Whole; byte by byte; and in pieces whose lengths the bytes themselves choose.
pub(crate) fn cuts(bytes: &[u8]) -> [Vec<&[u8]>; 3] {
    let mut some = Vec::new();
    let mut rest = bytes;
    while let [first, ..] = rest {
        let (piece, after) = rest.split_at(rest.len().min(1 + usize::from(*first) % 29));
        some.push(piece);
        rest = after;
    }
    [vec![bytes], bytes.chunks(1).collect(), some]
}
