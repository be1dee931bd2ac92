//! The record layer (RFC 8446 5, RFC 5246 6.2), once the handshake is over.
//!
//! One half encrypts, one decrypts; both work on slices and allocate nothing. Which keys, and
//! from when, comes from the handshake.

use std::cell::RefCell;
use std::io::IoSlice;

use aws_lc_rs::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};
use rustls::{ConnectionTrafficSecrets, ProtocolVersion};

use super::Error;

/// Types of records (RFC 8446 B.1).
pub(super) const ALERT: u8 = 21;
pub(super) const HANDSHAKE: u8 = 22;
pub(super) const DATA: u8 = 23;

/// Type, version, length.
pub(super) const HEADER_BYTES: usize = 5;
pub(super) const TAG_BYTES: usize = 16;
/// The most plaintext in a record.
pub(super) const MAX_PLAIN_BYTES: usize = 1 << 14;
/// The most that may follow a header: TLS 1.2 allows 2048 bytes beside the plaintext.
const MAX_BODY_BYTES: usize = MAX_PLAIN_BYTES + 2048;
/// Records under one key of AES-GCM before the next key is taken (RFC 8446 5.5).
const MAX_RECORDS: u64 = 1 << 24;

/// Room for one decrypted record: one for each thread, as nothing is left in it between reads.
#[derive(Debug)]
pub(super) struct Scratch(pub(super) RefCell<Box<[u8]>>);

impl Default for Scratch {
    fn default() -> Self {
        Scratch(RefCell::new(vec![0; MAX_BODY_BYTES].into()))
    }
}

/// Length of the record that `bytes` begin with, header included; `None`: not known yet.
#[inline]
pub(super) fn record_length(bytes: &[u8]) -> Result<Option<usize>, Error> {
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    let body = usize::from(u16::from_be_bytes([header[3], header[4]]));
    if !(20..=23).contains(&header[0]) || header[1] != 3 || body > MAX_BODY_BYTES {
        return Err(Error::Record);
    }
    Ok(Some(HEADER_BYTES + body))
}

/// One direction of a connection.
pub(super) struct Half {
    key: LessSafeKey,
    iv: [u8; 12],
    sequence: u64,
    format: Format,
}

/// What differs between versions and ciphers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    /// TLS 1.3: the type of the record is encrypted with it.
    V13,
    /// TLS 1.2 with AES-GCM: eight bytes of the nonce go before the ciphertext (RFC 5288 3).
    V12Explicit,
    /// TLS 1.2 with ChaCha20-Poly1305 (RFC 7905 2).
    V12,
}

impl Half {
    pub(super) fn new(
        version: ProtocolVersion,
        (sequence, secrets): (u64, ConnectionTrafficSecrets),
    ) -> Result<Self, Error> {
        let (algorithm, key, iv): (&'static Algorithm, _, _) = match &secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&AES_128_GCM, key, iv),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (&AES_256_GCM, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (&CHACHA20_POLY1305, key, iv),
            _ => return Err(Error::Message),
        };
        let format = match (version, algorithm == &CHACHA20_POLY1305) {
            (ProtocolVersion::TLSv1_3, _) => Format::V13,
            (_, true) => Format::V12,
            (_, false) => Format::V12Explicit,
        };
        let key = UnboundKey::new(algorithm, key.as_ref()).map_err(|_| Error::Message)?;
        let iv = iv.as_ref().try_into().map_err(|_| Error::Message)?;
        Ok(Half { key: LessSafeKey::new(key), iv, sequence, format })
    }

    /// Whether so much was sent under this key that it is time for the next.
    #[inline]
    pub(super) fn is_worn_out(&self) -> bool {
        self.format == Format::V13 && self.sequence >= MAX_RECORDS
    }

    /// RFC 8446 5.3: the number of the record, in the last eight bytes.
    #[inline]
    fn nonce(&self) -> [u8; 12] {
        let mut nonce = self.iv;
        for (byte, number) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= number;
        }
        nonce
    }

    /// RFC 5246 6.2.3.3: what TLS 1.2 authenticates beside the content.
    fn additional(&self, kind: u8, length: usize) -> [u8; 13] {
        let mut all = [0; 13];
        all[..8].copy_from_slice(&self.sequence.to_be_bytes());
        all[8..11].copy_from_slice(&[kind, 3, 3]);
        all[11..].copy_from_slice(&(length as u16).to_be_bytes());
        all
    }

    /// Appends a record with the first of the bytes of `parts`, as many as it holds; returns how
    /// many.
    #[inline]
    pub(super) fn seal(
        &mut self,
        kind: u8,
        parts: &[IoSlice<'_>],
        out: &mut Vec<u8>,
    ) -> Result<usize, Error> {
        let nonce = self.nonce();
        let outer = if self.format == Format::V13 { DATA } else { kind };
        let header_at = out.len();
        out.extend_from_slice(&[outer, 3, 3, 0, 0]);
        if self.format == Format::V12Explicit {
            out.extend_from_slice(&nonce[4..]);
        }
        let content_at = out.len();
        for part in parts {
            let room = MAX_PLAIN_BYTES - (out.len() - content_at);
            out.extend_from_slice(&part[..room.min(part.len())]);
        }
        let taken = out.len() - content_at;
        if self.format == Format::V13 {
            out.push(kind);
        }
        let length = out.len() + TAG_BYTES - header_at - HEADER_BYTES;
        // At most 16 KiB and a few bytes.
        out[header_at + 3..content_at.min(header_at + 5)]
            .copy_from_slice(&(length as u16).to_be_bytes());
        let (before, content) = out.split_at_mut(content_at);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = match self.format {
            Format::V13 => {
                let header = &before[header_at..];
                self.key.seal_in_place_separate_tag(nonce, Aad::from(header), content)
            }
            _ => {
                let additional = self.additional(kind, taken);
                self.key.seal_in_place_separate_tag(nonce, Aad::from(&additional[..]), content)
            }
        };
        // It fails for contents of many gigabytes only.
        let tag = tag.map_err(|_| Error::Record)?;
        out.extend_from_slice(tag.as_ref());
        self.sequence += 1;
        Ok(taken)
    }

    /// Decrypts a whole record into `out`; returns its type and length.
    #[inline]
    pub(super) fn open(&mut self, record: &[u8], out: &mut [u8]) -> Result<(u8, usize), Error> {
        let (header, body) = record.split_at(HEADER_BYTES);
        let explicit_bytes = if self.format == Format::V12Explicit { 8 } else { 0 };
        let length = body.len().checked_sub(explicit_bytes + TAG_BYTES).ok_or(Error::Record)?;
        let (explicit, sealed) = body.split_at(explicit_bytes);
        let (content, tag) = sealed.split_at(length);
        let out = out.get_mut(..length).ok_or(Error::Record)?;
        let mut nonce = self.nonce();
        nonce[12 - explicit_bytes..].copy_from_slice(explicit);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let opened = if self.format == Format::V13 {
            self.key.open_separate_gather(nonce, Aad::from(header), content, tag, out)
        } else {
            let additional = self.additional(header[0], length);
            self.key.open_separate_gather(nonce, Aad::from(&additional[..]), content, tag, out)
        };
        opened.map_err(|_| Error::Decrypt)?;
        self.sequence += 1;
        if self.format != Format::V13 {
            return Ok((header[0], length));
        }
        // RFC 8446 5.4: the type is the last byte that is not zero.
        match out.iter().rposition(|&byte| byte != 0) {
            Some(at) if at <= MAX_PLAIN_BYTES => Ok((out[at], at)),
            _ => Err(Error::Record),
        }
    }
}
