//! Compression of messages: permessage-deflate (RFC 7692).
//!
//! A compressed message is a piece of one DEFLATE stream for each direction, flushed to a byte and without the
//! flush's last four bytes. What comes is inflated in a buffer of fixed size and passed on. The library's inflater
//! has a window of 32 KiB, which reads what any smaller one wrote. Its deflater has no smaller window: where the
//! server asks for one, we forget the history after each piece of the window's length, so that no distance is
//! longer.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::error::{Error, Unnegotiated};

/// What is offered to the server (RFC 7692 7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deflate {
    /// Our messages do not refer to earlier ones: less memory on both sides, more bytes.
    pub client_no_context_takeover: bool,
    /// The server's messages must not.
    pub server_no_context_takeover: bool,
    /// The server may limit our window. With a value from 8 to 15 the window is 2^this bytes at most.
    pub client_max_window_bits: Option<Option<u8>>,
    /// The server's window is 2^this bytes at most, from 8 to 15; `None`: 2^15.
    pub server_max_window_bits: Option<u8>,
    /// How hard we compress; from 1, fast, to 9, small.
    pub level: u32,
}

impl Default for Deflate {
    fn default() -> Self {
        Deflate {
            client_no_context_takeover: false,
            server_no_context_takeover: false,
            client_max_window_bits: Some(None),
            server_max_window_bits: None,
            level: 1,
        }
    }
}

/// What was agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agreed {
    client_takes_over: bool,
    server_takes_over: bool,
    client_window_bits: u8,
    level: u32,
}

/// The widest window.
const MOST_WINDOW_BITS: u8 = 15;

impl Deflate {
    /// The value of Sec-WebSocket-Extensions that offers it.
    pub(super) fn offer(&self) -> String {
        let mut offer = "permessage-deflate".to_owned();
        for (is_there, name) in [
            (self.client_no_context_takeover, "client_no_context_takeover"),
            (self.server_no_context_takeover, "server_no_context_takeover"),
        ] {
            if is_there {
                offer = format!("{offer}; {name}");
            }
        }
        match self.client_max_window_bits {
            None => {}
            Some(None) => offer.push_str("; client_max_window_bits"),
            Some(Some(bits)) => offer = format!("{offer}; client_max_window_bits={bits}"),
        }
        if let Some(bits) = self.server_max_window_bits {
            offer = format!("{offer}; server_max_window_bits={bits}");
        }
        offer
    }

    /// Reads the parameters that the server chose (RFC 7692 7.1): `name` or `name=value`.
    pub(super) fn agree<'a>(
        &self,
        parameters: impl Iterator<Item = &'a str>,
    ) -> Result<Agreed, Unnegotiated> {
        let mut agreed = Agreed {
            client_takes_over: !self.client_no_context_takeover,
            server_takes_over: true,
            client_window_bits: self.client_max_window_bits.flatten().unwrap_or(MOST_WINDOW_BITS),
            level: self.level,
        };
        let mut server_window_bits = None;
        let mut seen = [false; 4];
        for parameter in parameters {
            let (name, value) = match parameter.split_once('=') {
                Some((name, value)) => (name.trim(), Some(unquoted(value.trim()))),
                None => (parameter.trim(), None),
            };
            let index = match name {
                "client_no_context_takeover" => 0,
                "server_no_context_takeover" => 1,
                "client_max_window_bits" if self.client_max_window_bits.is_some() => 2,
                "server_max_window_bits" => 3,
                _ => return Err(Unnegotiated::Parameter),
            };
            if std::mem::replace(&mut seen[index], true) {
                return Err(Unnegotiated::Parameter);
            }
            match (index, value) {
                (0, None) => agreed.client_takes_over = false,
                (1, None) => agreed.server_takes_over = false,
                (2, Some(bits)) => {
                    agreed.client_window_bits = window(bits, agreed.client_window_bits)?
                }
                (3, Some(bits)) => {
                    let most = self.server_max_window_bits.unwrap_or(MOST_WINDOW_BITS);
                    server_window_bits = Some(window(bits, most)?);
                }
                _ => return Err(Unnegotiated::Value),
            }
        }
        let lacks_window = self.server_max_window_bits.is_some() && server_window_bits.is_none();
        if lacks_window || (self.server_no_context_takeover && agreed.server_takes_over) {
            return Err(Unnegotiated::Missing);
        }
        Ok(agreed)
    }
}

/// A number of bits from 8 to `most`, without leading zeros.
fn window(digits: &str, most: u8) -> Result<u8, Unnegotiated> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    let bits = digits.parse().ok().filter(|bits| is_plain && (8..=most).contains(bits));
    bits.ok_or(Unnegotiated::Value)
}

/// The text of a token or of a quoted string (RFC 6455 9.1: what is quoted is a token, too).
fn unquoted(value: &str) -> &str {
    value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value)
}

/// Both directions of a connection.
#[derive(Debug)]
pub(super) struct Deflater {
    agreed: Agreed,
    /// Made for the first message, since they are large: about 200 KiB and 45 KiB.
    compress: Option<Compress>,
    decompress: Option<Decompress>,
    /// What comes next begins a stream: a final block came.
    has_ended: bool,
    out: Vec<u8>,
}

/// What every message ends with, and what is left out (RFC 7692 7.2.1).
const TAIL: [u8; 4] = [0x00, 0x00, 0xff, 0xff];

/// What is inflated at a time.
const PIECE_BYTES: usize = 8 << 10;

impl Deflater {
    pub(super) fn new(agreed: Agreed) -> Self {
        Deflater { agreed, compress: None, decompress: None, has_ended: false, out: Vec::new() }
    }

    /// The compressed form of a whole message that is not empty. `None`: the library failed, and it is best sent as
    /// it is.
    pub(super) fn deflate(&mut self, message: &[u8]) -> Option<&[u8]> {
        let level = Compression::new(self.agreed.level.clamp(1, 9));
        let compress = self.compress.get_or_insert_with(|| Compress::new(level, false));
        let window = 1 << self.agreed.client_window_bits;
        let forgets =
            !self.agreed.client_takes_over || self.agreed.client_window_bits < MOST_WINDOW_BITS;
        let (flush, piece) = match forgets {
            true => (FlushCompress::Full, window),
            false => (FlushCompress::Sync, usize::MAX),
        };
        self.out.clear();
        for piece in message.chunks(piece) {
            // More than any input becomes, so that one call takes all of it and flushes (zlib's deflateBound).
            self.out.reserve(piece.len() + piece.len() / 8 + 256);
            let before = compress.total_in();
            compress.compress_vec(piece, &mut self.out, flush).ok()?;
            if compress.total_in() - before != piece.len() as u64 {
                return None;
            }
        }
        self.out.strip_suffix(&TAIL)
    }

    /// Inflates the next bytes of a message and passes them on in pieces.
    pub(super) fn inflate(
        &mut self,
        mut input: &[u8],
        pass_on: &mut impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let inflater = self.decompress.get_or_insert_with(|| Decompress::new(false));
        let mut out = [0; PIECE_BYTES];
        loop {
            let (taken, given) = (inflater.total_in(), inflater.total_out());
            let status = inflater.decompress(input, &mut out, FlushDecompress::Sync);
            let taken = (inflater.total_in() - taken) as usize;
            let given = (inflater.total_out() - given) as usize;
            input = &input[taken..];
            self.has_ended &= taken == 0;
            // Before a fault, so that it does not depend on the pieces what is found first.
            pass_on(&out[..given])?;
            let status = status.map_err(|_| Error::Deflate)?;
            if status == Status::StreamEnd {
                inflater.reset(false);
                self.has_ended = true;
            }
            if input.is_empty() && given < PIECE_BYTES {
                return Ok(());
            }
            if taken == 0 && given == 0 && status != Status::StreamEnd {
                return Err(Error::Deflate);
            }
        }
    }

    /// A compressed message is complete: passes on what is left of it.
    pub(super) fn finish(
        &mut self,
        pass_on: &mut impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // After a final block some servers send nothing, although an empty block is asked for.
        if !self.has_ended {
            self.inflate(&TAIL, pass_on)?;
        }
        self.has_ended = false;
        if !self.agreed.server_takes_over
            && let Some(inflater) = &mut self.decompress
        {
            inflater.reset(false);
        }
        Ok(())
    }
}
