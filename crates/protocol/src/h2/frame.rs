//! Frames as bytes (RFC 9113 4 and 6): what stands in their first nine, and how ours are written.

/// Length of a frame's header.
pub(crate) const HEADER_BYTES: usize = 9;

/// What every connection begins with, on our side (RFC 9113 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The largest stream id, window and increment.
pub(crate) const MAX_31: u32 = 0x7fff_ffff;

/// Frame types.
pub(crate) mod kind {
    pub(crate) const DATA: u8 = 0x0;
    pub(crate) const HEADERS: u8 = 0x1;
    pub(crate) const PRIORITY: u8 = 0x2;
    pub(crate) const RST_STREAM: u8 = 0x3;
    pub(crate) const SETTINGS: u8 = 0x4;
    pub(crate) const PUSH_PROMISE: u8 = 0x5;
    pub(crate) const PING: u8 = 0x6;
    pub(crate) const GOAWAY: u8 = 0x7;
    pub(crate) const WINDOW_UPDATE: u8 = 0x8;
    pub(crate) const CONTINUATION: u8 = 0x9;
}

/// Flags of frames.
pub(crate) mod flag {
    pub(crate) const END_STREAM: u8 = 0x1;
    pub(crate) const ACK: u8 = 0x1;
    pub(crate) const END_HEADERS: u8 = 0x4;
    pub(crate) const PADDED: u8 = 0x8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) length: u32,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
}

impl Header {
    #[inline]
    pub(crate) fn read(bytes: &[u8; HEADER_BYTES]) -> Self {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *bytes;
        Header {
            length: u32::from_be_bytes([0, l0, l1, l2]),
            kind,
            flags,
            // The highest bit is reserved and ignored (RFC 9113 4.1).
            stream: u32::from_be_bytes([s0, s1, s2, s3]) & MAX_31,
        }
    }

    #[inline]
    pub(crate) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let [_, l0, l1, l2] = self.length.to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        [l0, l1, l2, self.kind, self.flags, s0, s1, s2, s3]
    }

    #[inline]
    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends a frame.
pub(crate) fn write(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let length = payload.len() as u32;
    out.extend_from_slice(&Header { length, kind, flags, stream }.to_bytes());
    out.extend_from_slice(payload);
}

/// Appends the frames of a header block: HEADERS, and CONTINUATION for what is beyond `limit`
/// bytes.
pub(crate) fn write_headers(
    out: &mut Vec<u8>,
    stream: u32,
    end_stream: bool,
    block: &[u8],
    limit: usize,
) {
    let mut kind = kind::HEADERS;
    let mut flags = if end_stream { flag::END_STREAM } else { 0 };
    let mut rest = block;
    loop {
        let (part, after) = rest.split_at(rest.len().min(limit));
        if after.is_empty() {
            flags |= flag::END_HEADERS;
        }
        write(out, kind, flags, stream, part);
        if after.is_empty() {
            return;
        }
        (kind, flags, rest) = (kind::CONTINUATION, 0, after);
    }
}

/// The number that the first four bytes are.
#[inline]
pub(crate) fn u32_at(payload: &[u8], at: usize) -> Option<u32> {
    let bytes = payload.get(at..at + 4)?;
    Some(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

/// A payload without its padding (RFC 9113 6.1); `None`: there is more padding than payload.
#[inline]
pub(crate) fn without_padding(header: &Header, payload: &[u8]) -> Option<(usize, usize)> {
    if !header.has(flag::PADDED) {
        return Some((0, payload.len()));
    }
    let padding = usize::from(*payload.first()?);
    (padding < payload.len()).then(|| (1, payload.len() - padding))
}
