//! Content codings of responses (RFC 9110 8.4): gzip, deflate, br and zstd, decoded as they come.
//!
//! A response is decoded only where something looks into its body. What comes in was written by a server that may be
//! malicious: whatever it sends, decoded pieces have at most 8 KiB, a decoder keeps one window (16 MiB at most), and a
//! body that decodes to far more than came is given up. Where decoded bytes go, and how many are kept, is the affair of
//! the [capture](crate::capture).

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::{Crc, Decompress, FlushDecompress, Status};
use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// From here on, a body may not decode to more than [`MOST_RATIO`] times what came.
const FREE_BYTES: u64 = 1 << 20;
/// DEFLATE reaches 1032, of zeros; texts of real services stay far below this.
const MOST_RATIO: u64 = 250;
/// Decoded at a time.
const PIECE_BYTES: usize = 8 << 10;
/// The longest header of a member of gzip, which may have a name and a comment.
const MOST_GZIP_HEAD_BYTES: usize = 4 << 10;
/// The widest window of zstd in HTTP (RFC 9659 3).
const MOST_ZSTD_WINDOW_BYTES: u64 = 8 << 20;
/// The longest block of zstd (RFC 8878 3.1.1.2.4).
const MOST_ZSTD_BLOCK_BYTES: usize = 128 << 10;

/// Why a body is not decoded. The text is that of its coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Undecoded {
    /// Its coding was not asked for.
    #[error("the body has the content coding {0}, which was not asked for")]
    Unasked(&'static str),
    /// It is not what its coding is.
    #[error("the body is not valid {0}")]
    Damaged(&'static str),
    /// It ends before its coding does.
    #[error("the body ends in the middle of its {0}")]
    Truncated(&'static str),
    /// It goes on after its coding has ended.
    #[error("the body goes on after the end of its {0}")]
    Trailing(&'static str),
    /// More than is kept of one body.
    #[error("the body decodes to more than the {0} bytes that are kept of one")]
    TooLong(usize),
    /// More than this number of times what came.
    #[error("the body decodes to more than {MOST_RATIO} times its length")]
    Ratio,
    /// Its window is wider than a client has to accept.
    #[error(
        "the body needs a window above {MOST_ZSTD_WINDOW_BYTES} bytes to be decoded (RFC 9659)"
    )]
    Window,
}

/// Takes decoded bytes.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), Undecoded>;

/// A body that is being decoded.
pub(crate) struct Decoder {
    coding: Coding,
    /// What came and is not enough for a step.
    pending: Vec<u8>,
    /// Bytes that came, and that they decoded to.
    wire_bytes: u64,
    decoded_bytes: u64,
}

enum Coding {
    Gzip(Gzip),
    Deflate(Deflate),
    Brotli(Box<Brotli>),
    Zstd(Box<Zstd>),
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.coding.name())
    }
}

/// The coding of a response with these field values, in lower case; `None`: it has none.
pub(crate) fn name<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<&'static str> {
    const KNOWN: [&str; 8] = ["gzip", "x-gzip", "br", "zstd", "deflate", "compress", "dcb", "dcz"];
    let items = values.flat_map(|value| value.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    let mut codings =
        items.filter(|item| !item.is_empty() && !item.eq_ignore_ascii_case(b"identity"));
    let first = codings.next()?;
    if codings.next().is_some() {
        return Some("of several");
    }
    let known = KNOWN.into_iter().find(|name| first.eq_ignore_ascii_case(name.as_bytes()));
    Some(known.unwrap_or("of another kind"))
}

impl Decoder {
    /// A decoder of this coding, if it is one that is asked for.
    pub(crate) fn new(name: &'static str) -> Result<Self, Undecoded> {
        let coding = match name {
            "gzip" | "x-gzip" => Coding::Gzip(Gzip::new()),
            "deflate" => Coding::Deflate(Deflate::default()),
            "br" => Coding::Brotli(Box::new(Brotli::new())),
            "zstd" => Coding::Zstd(Box::new(Zstd::new())),
            _ => return Err(Undecoded::Unasked(name)),
        };
        Ok(Decoder { coding, pending: Vec::new(), wire_bytes: 0, decoded_bytes: 0 })
    }

    /// Decodes a piece of the body.
    pub(crate) fn handle(&mut self, piece: &[u8], sink: Sink<'_>) -> Result<(), Undecoded> {
        let Decoder { coding, pending, wire_bytes, decoded_bytes } = self;
        *wire_bytes += piece.len() as u64;
        let mut counted = |plain: &[u8]| {
            *decoded_bytes += plain.len() as u64;
            if *decoded_bytes > FREE_BYTES && *decoded_bytes / MOST_RATIO > *wire_bytes {
                return Err(Undecoded::Ratio);
            }
            sink(plain)
        };
        let joined;
        let mut input = piece;
        if !pending.is_empty() {
            pending.extend_from_slice(piece);
            joined = std::mem::take(pending);
            input = &joined;
        }
        while !input.is_empty() {
            let taken = match coding {
                Coding::Gzip(gzip) => gzip.step(input, &mut counted),
                Coding::Deflate(deflate) => deflate.step(input, &mut counted),
                Coding::Brotli(brotli) => brotli.step(input, &mut counted),
                Coding::Zstd(zstd) => zstd.step(input, &mut counted),
            }?;
            if taken == 0 {
                pending.extend_from_slice(input);
                break;
            }
            input = &input[taken..];
        }
        Ok(())
    }

    /// The body has ended. How many bytes it decoded to.
    pub(crate) fn finish(&self) -> Result<u64, Undecoded> {
        let (is_over, is_between) = match &self.coding {
            Coding::Gzip(gzip) => (gzip.has_member, matches!(gzip.at, Gzipped::Head)),
            Coding::Deflate(deflate) => (deflate.is_over, true),
            Coding::Brotli(brotli) => (brotli.is_over, true),
            Coding::Zstd(zstd) => (zstd.has_frame, !zstd.is_open && zstd.skip == 0),
        };
        match (is_over && is_between, self.pending.is_empty()) {
            (true, true) => Ok(self.decoded_bytes),
            (true, false) => Err(Undecoded::Trailing(self.coding.name())),
            (false, _) => Err(Undecoded::Truncated(self.coding.name())),
        }
    }
}

impl Coding {
    fn name(&self) -> &'static str {
        match self {
            Coding::Gzip(_) => GZIP,
            Coding::Deflate(_) => DEFLATE,
            Coding::Brotli(_) => BROTLI,
            Coding::Zstd(_) => ZSTD,
        }
    }
}

const GZIP: &str = "gzip";
const DEFLATE: &str = "deflate";
const BROTLI: &str = "br";
const ZSTD: &str = "zstd";

/// Members of gzip, one after the other (RFC 1952 2.2).
struct Gzip {
    at: Gzipped,
    has_member: bool,
    inflate: Decompress,
    crc: Crc,
}

/// What of a member comes next.
enum Gzipped {
    Head,
    Body,
    Tail,
}

impl Gzip {
    fn new() -> Self {
        let (inflate, crc) = (Decompress::new(false), Crc::new());
        Gzip { at: Gzipped::Head, has_member: false, inflate, crc }
    }

    /// How much of the input it took; 0: it needs more.
    fn step(&mut self, input: &[u8], sink: Sink<'_>) -> Result<usize, Undecoded> {
        match self.at {
            Gzipped::Head => {
                let wrong = || match self.has_member {
                    true => Undecoded::Trailing(GZIP),
                    false => Undecoded::Damaged(GZIP),
                };
                let length = gzip_head_bytes(input).ok_or_else(wrong)?;
                if length > 0 {
                    self.at = Gzipped::Body;
                }
                Ok(length)
            }
            Gzipped::Body => self.body(input, sink),
            Gzipped::Tail => {
                let Some((tail, _)) = input.split_first_chunk::<8>() else { return Ok(0) };
                let expected = u64::from(self.crc.sum()) | u64::from(self.crc.amount()) << 32;
                if u64::from_le_bytes(*tail) != expected {
                    return Err(Undecoded::Damaged(GZIP));
                }
                (self.at, self.has_member) = (Gzipped::Head, true);
                self.inflate.reset(false);
                self.crc.reset();
                Ok(tail.len())
            }
        }
    }

    fn body(&mut self, input: &[u8], sink: Sink<'_>) -> Result<usize, Undecoded> {
        let Gzip { at, inflate, crc, .. } = self;
        let (taken, is_over) = inflated(GZIP, inflate, input, &mut |plain| {
            crc.update(plain);
            sink(plain)
        })?;
        if is_over {
            *at = Gzipped::Tail;
        }
        Ok(taken)
    }
}

/// Decodes DEFLATE (RFC 1951). How much of the input it took, and whether that was its end.
fn inflated(
    coding: &'static str,
    inflate: &mut Decompress,
    input: &[u8],
    sink: Sink<'_>,
) -> Result<(usize, bool), Undecoded> {
    let mut plain = [0; PIECE_BYTES];
    let mut taken = 0;
    loop {
        let (before_in, before_out) = (inflate.total_in(), inflate.total_out());
        let status = inflate
            .decompress(&input[taken..], &mut plain, FlushDecompress::None)
            .map_err(|_| Undecoded::Damaged(coding))?;
        let read = (inflate.total_in() - before_in) as usize;
        let written = (inflate.total_out() - before_out) as usize;
        taken += read;
        sink(&plain[..written])?;
        if status == Status::StreamEnd {
            return Ok((taken, true));
        }
        // What did not fit into the room comes with the next call.
        if written < plain.len() && (taken == input.len() || read == 0) {
            return Ok((taken, false));
        }
    }
}

/// The coding named deflate: the format of zlib (RFC 9110 8.4.1.2), or DEFLATE without it, as some servers send.
#[derive(Default)]
struct Deflate {
    inflate: Option<Decompress>,
    is_over: bool,
}

impl Deflate {
    fn step(&mut self, input: &[u8], sink: Sink<'_>) -> Result<usize, Undecoded> {
        if self.is_over {
            return Err(Undecoded::Trailing(DEFLATE));
        }
        let inflate = match &mut self.inflate {
            Some(inflate) => inflate,
            none => {
                let Some((head, _)) = input.split_first_chunk::<2>() else { return Ok(0) };
                // RFC 1950 2.2: the method, and what makes the two a multiple of 31.
                let is_zlib = head[0] & 0x0f == 8 && u16::from_be_bytes(*head) % 31 == 0;
                none.insert(Decompress::new(is_zlib))
            }
        };
        let (taken, is_over) = inflated(DEFLATE, inflate, input, sink)?;
        self.is_over = is_over;
        Ok(taken)
    }
}

/// The length of the header of a member; 0: it does not end in `input`; `None`: it is none.
fn gzip_head_bytes(input: &[u8]) -> Option<usize> {
    const FIXED: usize = 10;
    let magic = [0x1f, 0x8b, 8];
    if input.iter().zip(magic).any(|(got, wanted)| *got != wanted) {
        return None;
    }
    let bounded = || (input.len() <= MOST_GZIP_HEAD_BYTES).then_some(0);
    let Some(&flags) = input.get(3) else { return Some(0) };
    let mut at = FIXED;
    if flags & 0xe0 != 0 {
        return None;
    }
    if flags & 4 != 0 {
        let Some(length) = input.get(at..at + 2) else { return Some(0) };
        at += 2 + usize::from(u16::from_le_bytes([length[0], length[1]]));
    }
    // A name and a comment, each to its zero.
    for flag in [8, 16] {
        if flags & flag != 0 {
            let Some(end) = input.get(at..).and_then(|rest| memchr::memchr(0, rest)) else {
                return bounded();
            };
            at += end + 1;
        }
    }
    if flags & 2 != 0 {
        at += 2;
    }
    match at {
        _ if at > MOST_GZIP_HEAD_BYTES => None,
        _ if at > input.len() => Some(0),
        _ => Some(at),
    }
}

/// A stream of Brotli (RFC 7932).
struct Brotli {
    state: BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>,
    is_over: bool,
}

impl Brotli {
    fn new() -> Self {
        let alloc = StandardAlloc::default;
        Brotli { state: BrotliState::new_strict(alloc(), alloc(), alloc()), is_over: false }
    }

    fn step(&mut self, input: &[u8], sink: Sink<'_>) -> Result<usize, Undecoded> {
        if self.is_over {
            return Err(Undecoded::Trailing(BROTLI));
        }
        let mut plain = [0; PIECE_BYTES];
        let (mut left, mut taken, mut total) = (input.len(), 0, 0);
        loop {
            let (mut room, mut written) = (plain.len(), 0);
            let result = BrotliDecompressStream(
                &mut left,
                &mut taken,
                input,
                &mut room,
                &mut written,
                &mut plain,
                &mut total,
                &mut self.state,
            );
            sink(&plain[..written])?;
            match result {
                BrotliResult::NeedsMoreOutput => {}
                BrotliResult::NeedsMoreInput => return Ok(taken),
                BrotliResult::ResultSuccess => {
                    self.is_over = true;
                    // An empty piece that ends a stream has no byte of its own.
                    return match taken {
                        0 => Err(Undecoded::Trailing(BROTLI)),
                        taken => Ok(taken),
                    };
                }
                BrotliResult::ResultFailure => return Err(Undecoded::Damaged(BROTLI)),
            }
        }
    }
}

/// Frames of zstd, one after the other (RFC 8878 3.1).
struct Zstd {
    decoder: FrameDecoder,
    /// Its header came.
    is_open: bool,
    has_frame: bool,
    has_checksum: bool,
    /// Of a skippable frame.
    skip: usize,
}

impl Zstd {
    fn new() -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MOST_ZSTD_WINDOW_BYTES);
        Zstd { decoder, is_open: false, has_frame: false, has_checksum: false, skip: 0 }
    }

    fn step(&mut self, input: &[u8], sink: Sink<'_>) -> Result<usize, Undecoded> {
        if self.skip > 0 {
            let taken = self.skip.min(input.len());
            self.skip -= taken;
            return Ok(taken);
        }
        if self.is_open { self.block(input, sink) } else { self.begin(input) }
    }

    fn begin(&mut self, input: &[u8]) -> Result<usize, Undecoded> {
        let wrong = match self.has_frame {
            true => Undecoded::Trailing(ZSTD),
            false => Undecoded::Damaged(ZSTD),
        };
        let is_begun = |magic: [u8; 4]| input.iter().zip(magic).all(|(got, wanted)| *got == wanted);
        let is_skippable = input[0] & 0xf0 == 0x50 && is_begun([input[0], 0x2a, 0x4d, 0x18]);
        if is_skippable {
            let Some(head) = input.first_chunk::<8>() else { return Ok(0) };
            self.skip = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
            self.has_frame = true;
            return Ok(head.len());
        }
        if !is_begun([0x28, 0xb5, 0x2f, 0xfd]) {
            return Err(wrong);
        }
        let Some(&descriptor) = input.get(4) else { return Ok(0) };
        let is_single = descriptor & 0x20 != 0;
        let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let size = match descriptor >> 6 {
            0 => usize::from(is_single),
            power => 1 << power,
        };
        let length = 5 + usize::from(!is_single) + dictionary + size;
        let Some(mut head) = input.get(..length) else { return Ok(0) };
        self.decoder.init(&mut head).map_err(|error| match error {
            FrameDecoderError::WindowSizeTooBig { .. } => Undecoded::Window,
            _ => Undecoded::Damaged(ZSTD),
        })?;
        (self.is_open, self.has_checksum) = (true, descriptor & 4 != 0);
        Ok(length)
    }

    /// A block, and the checksum after the last.
    fn block(&mut self, input: &[u8], sink: Sink<'_>) -> Result<usize, Undecoded> {
        const DAMAGED: Undecoded = Undecoded::Damaged(ZSTD);
        let Some(&[a, b, c]) = input.first_chunk::<3>() else { return Ok(0) };
        let header = u32::from_le_bytes([a, b, c, 0]);
        let (is_last, size) = (header & 1 != 0, (header >> 3) as usize);
        if size > MOST_ZSTD_BLOCK_BYTES {
            return Err(DAMAGED);
        }
        let content = if (header >> 1) & 3 == 1 { 1 } else { size };
        let checksum = if is_last && self.has_checksum { 4 } else { 0 };
        let length = 3 + content + checksum;
        let Some(block) = input.get(..length) else { return Ok(0) };
        let strategy = BlockDecodingStrategy::UptoBlocks(1);
        self.decoder.decode_blocks(block, strategy).map_err(|_| DAMAGED)?;
        // Before the last block the window stays in the decoder.
        if let Some(plain) = self.decoder.collect() {
            plain.chunks(PIECE_BYTES).try_for_each(sink)?;
        }
        if is_last {
            let sums =
                (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
            if self.has_checksum && sums.0 != sums.1 {
                return Err(DAMAGED);
            }
            (self.is_open, self.has_frame) = (false, true);
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests;
