//! Requests that pause on their way: in pieces, for a 100 (Continue), for good; and bodies in chunks.
//!
//! All of it is worked out once, when a request is prepared: a body in chunks is bytes like any
//! other, and a pause is a place in the bytes and what lifts it. The session only compares places.

use candor_plan::Delivery;

/// A position in a request's bytes up to which it is written, until something lifts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Bytes before it, head included; above zero and below the request's length.
    pub at: usize,
    /// What lifts it.
    pub until: Until,
}

/// What lifts a [`Pause`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Time, counted from the request's first byte.
    Due {
        /// How long.
        after_ns: u64,
    },
    /// A 100 (Continue), or so much time since everything before the pause was written.
    Continue {
        /// How long.
        wait_ns: u64,
    },
    /// Nothing.
    Never,
}

/// How far a request with pauses is, and what it waits for.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The next of its pauses.
    pub(super) pause: usize,
    /// When its first byte was written.
    begun_ns: u64,
    waits: Waits,
}

/// What a request waits for that was written up to a pause.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// It is not at the pause yet.
    #[default]
    No,
    /// The time when it goes on.
    Until(u64),
    /// Nothing any more.
    BrokenOff {
        /// [`Event::BrokenOff`](crate::Event::BrokenOff) was said.
        said: bool,
    },
}

impl Progress {
    /// Its first byte was written.
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.begun_ns = now_ns;
    }

    /// Everything before the pause was written. True: it waits from now on, and did not before.
    pub(super) fn arrive(&mut self, now_ns: u64, until: Until) -> bool {
        if self.waits != Waits::No {
            return false;
        }
        self.waits = match until {
            // By the first byte, so that lateness does not add up.
            Until::Due { after_ns } => Waits::Until(self.begun_ns.saturating_add(after_ns)),
            Until::Continue { wait_ns } => Waits::Until(now_ns.saturating_add(wait_ns)),
            Until::Never => Waits::BrokenOff { said: false },
        };
        true
    }

    /// The pause is lifted.
    pub(super) fn pass(&mut self) {
        self.pause += 1;
        self.waits = Waits::No;
    }

    /// When it goes on by itself.
    pub(super) fn timeout_ns(&self) -> Option<u64> {
        match self.waits {
            Waits::Until(at_ns) => Some(at_ns),
            Waits::No | Waits::BrokenOff { .. } => None,
        }
    }

    /// Whether the rest of the request is never written.
    pub(super) fn is_broken_off(&self) -> bool {
        matches!(self.waits, Waits::BrokenOff { .. })
    }

    /// The same, the first time that it is asked.
    pub(super) fn breaks_off_now(&mut self) -> bool {
        let is_new = self.waits == Waits::BrokenOff { said: false };
        if is_new {
            self.waits = Waits::BrokenOff { said: true };
        }
        is_new
    }
}

/// `body` in chunks of `size` (RFC 9112 7.1), the last shorter if it does not come out even.
pub(super) fn chunked(body: &[u8], size: usize) -> Vec<u8> {
    let mut coded = Vec::with_capacity(coded_length(body.len(), size) + LAST_CHUNK.len());
    for chunk in body.chunks(size) {
        coded.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        coded.extend_from_slice(chunk);
        coded.extend_from_slice(b"\r\n");
    }
    coded.extend_from_slice(LAST_CHUNK);
    coded
}

const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// What `length` bytes take in chunks of `size`, without the last chunk.
fn coded_length(length: usize, size: usize) -> usize {
    let of_chunk = |length: usize| format!("{length:x}\r\n").len() + length + 2;
    let rest = match length % size {
        0 => 0,
        rest => of_chunk(rest),
    };
    (length / size) * of_chunk(size) + rest
}

/// Where the first `content` of `length` bytes end in the body as it is sent.
fn place_in_body(content: usize, length: usize, size: Option<usize>) -> usize {
    let Some(size) = size else { return content };
    let (whole, rest) = (content / size, content % size);
    // Of a chunk that breaks off there is the line with its size, and no line end behind.
    let begun = match rest {
        0 => 0,
        rest => format!("{:x}\r\n", size.min(length - whole * size)).len() + rest,
    };
    coded_length(whole * size, size) + begun
}

/// The pauses of a request with a head of `head` bytes and a body of `body`, of which `content` are
/// the content's.
pub(super) fn pauses(
    delivery: &Delivery,
    head: usize,
    body: usize,
    content: usize,
) -> Box<[Pause]> {
    let mut pauses = Vec::new();
    if let Some(wait_ns) = delivery.continue_ns {
        pauses.push(Pause { at: head, until: Until::Continue { wait_ns } });
    }
    let end = match delivery.break_off_after {
        None => head + body,
        Some(bytes) => head + place_in_body(as_size(bytes), content, chunk_size(delivery)),
    };
    if let Some(pieces) = delivery.pieces {
        let count = (pieces.count as usize).min(end);
        pauses.extend((1..count).map(|n| Pause {
            // No product of two lengths: a body may be large.
            at: end / count * n + end % count * n / count,
            until: Until::Due { after_ns: pieces.gap_ns.saturating_mul(n as u64) },
        }));
    }
    if delivery.break_off_after.is_some() {
        pauses.push(Pause { at: end, until: Until::Never });
    }
    // What waits for a 100 and breaks off before its body pauses once, for good.
    if let [.., before, last] = pauses.as_slice()
        && before.at == last.at
    {
        pauses.remove(pauses.len() - 2);
    }
    pauses.into()
}

/// The size of chunks, if the body is in any.
pub(super) fn chunk_size(delivery: &Delivery) -> Option<usize> {
    delivery.chunk_bytes.map(as_size)
}

fn as_size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_framed_by_the_rfc() {
        assert_eq!(chunked(b"abcdefgh", 3), b"3\r\nabc\r\n3\r\ndef\r\n2\r\ngh\r\n0\r\n\r\n");
        assert_eq!(chunked(b"abc", 100), b"3\r\nabc\r\n0\r\n\r\n");
        assert_eq!(chunked(&[b'x'; 20], 20)[..4], *b"14\r\n");
        assert_eq!(chunked(b"", 5), LAST_CHUNK);
    }

    #[test]
    fn a_body_breaks_off_within_its_chunk() {
        let coded = chunked(b"abcdefgh", 3);
        let upto = |content| &coded[..place_in_body(content, 8, Some(3))];
        assert_eq!(upto(0), b"");
        assert_eq!(upto(2), b"3\r\nab");
        assert_eq!(upto(3), b"3\r\nabc\r\n");
        assert_eq!(upto(7), b"3\r\nabc\r\n3\r\ndef\r\n2\r\ng");
        assert_eq!(place_in_body(7, 8, None), 7);
    }
}
