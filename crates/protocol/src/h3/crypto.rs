//! The cryptography of one QUIC connection: rustls behind quinn-proto's traits.
//!
//! Ours and not quinn-proto's for two reasons. The handshake is the one of TLS over TCP, with the same configuration, the
//! same facts and the same words when it fails. And packets pass here when they are complete and not yet encrypted, which is
//! the one place that knows which of them has the first byte of a request. Nothing else is looked at in them.
//!
//! The two sides may agree on new keys in the middle of a connection (RFC 9001 6). quinn-proto begins that after 10 to 1000
//! packets, so that servers fail which cannot do it. Some cannot, fall silent, and every figure would be of that. So
//! [`Line::keep_keys`] makes that first update one that no packet shows, to the same keys. Those of the server are followed,
//! and near the limit of a cipher (RFC 9001 6.6) there is one of ours.

use std::any::Any;
use std::io::Cursor;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_lc_rs::aead;
use bytes::BytesMut;
use candor_record::Handshake;
use quinn_proto::crypto::{
    ClientConfig as CryptoConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys,
    PacketKey, Session,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{
    ConnectError, Connection, ConnectionId, Side, TransportError, TransportErrorCode,
};
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::pki_types::ServerName;
use rustls::quic::{ClientConnection, KeyChange, Secrets, Suite, Version};

use super::frames::varint;
use crate::tls::handshake_facts;

/// What is looked for in packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// The first byte of this stream.
    First(u64),
    /// Bytes of the tunnel, up to this place in its stream.
    Through(u64),
}

/// What a connection's cryptography has to tell its session.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Why the handshake failed.
    pub(super) error: Option<rustls::Error>,
    /// The server wanted the address proved first.
    pub(super) retried: bool,
    /// What was negotiated, when the handshake is over.
    pub(super) facts: Option<Handshake>,
    /// What was in packets since this was taken, and where its packet begins, counted from the first of these packets.
    pub(super) left: Vec<(Left, usize)>,
    /// The stream of which all bytes count, if there is one.
    pub(super) tunnel: Option<u64>,
    /// The length of those packets.
    pub(super) bytes: usize,
}

/// The same, shared with what quinn-proto holds. Its traits ask for something that could be used by several threads.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    told: Arc<Mutex<Told>>,
    /// The phase of the keys is the other one than quinn-proto thinks.
    is_other_phase: Arc<AtomicBool>,
}

impl Line {
    pub(super) fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, which is as soon as the handshake is over, a first update of the keys has taken place for quinn-proto
    /// alone.
    pub(super) fn keep_keys(&self, connection: &mut Connection) {
        self.is_other_phase.store(true, Ordering::Relaxed);
        connection.force_key_update();
    }

    /// The first byte of a packet with the bit of the phase as the other side has it, or from there.
    fn with_phase(&self, first: u8) -> u8 {
        const PHASE: u8 = 0x04;
        if self.is_other_phase.load(Ordering::Relaxed) { first ^ PHASE } else { first }
    }
}

/// Begins the handshake of one connection.
pub(super) struct Client {
    pub(super) config: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
    pub(super) line: Line,
}

impl CryptoConfig for Client {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let mut ours = Vec::new();
        parameters.write(&mut ours);
        let config = Arc::clone(&self.config);
        let inner = ClientConnection::new(config, Version::V1, self.name.clone(), ours);
        let inner = inner.map_err(|error| {
            self.line.told().error = Some(error);
            ConnectError::EndpointStopping
        })?;
        let suite = TLS13_AES_128_GCM_SHA256.tls13().and_then(|suite| suite.quic_suite());
        let initial = suite.ok_or(ConnectError::UnsupportedVersion)?;
        let line = self.line.clone();
        let (first, next) = (None, None);
        Ok(Box::new(Tls { inner, initial, first, next, has_data: false, line }))
    }
}

/// The handshake of one connection, and its keys.
struct Tls {
    inner: ClientConnection,
    /// Of the first packets (RFC 9001 5.2).
    initial: Suite,
    /// The first keys of requests, until they were the next ones too.
    first: Option<(Key, Key)>,
    next: Option<Secrets>,
    has_data: bool,
    line: Line,
}

type Key = Arc<Box<dyn rustls::quic::PacketKey>>;

impl Tls {
    fn watched(&self, key: Key) -> Box<dyn PacketKey> {
        Box::new(Watched { key, line: self.line.clone() })
    }
}

impl Session for Tls {
    fn initial_keys(&self, to: &ConnectionId, side: Side) -> Keys {
        keys(self.initial.keys(to, side.into(), Version::V1))
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let keys = self.inner.zero_rtt_keys()?;
        Some((Box::new(keys.header), self.watched(Arc::new(keys.packet))))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        Some(self.inner.is_early_data_accepted())
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_hs(bytes).map_err(|error| {
            let code = match self.inner.alert() {
                Some(alert) => TransportErrorCode::crypto(alert.into()),
                None => TransportErrorCode::PROTOCOL_VIOLATION,
            };
            let reason = error.to_string();
            self.line.told().error = Some(error);
            TransportError { code, frame: None, reason }
        })?;
        let has_data = self.inner.alpn_protocol().is_some() || !self.inner.is_handshaking();
        Ok(has_data && !std::mem::replace(&mut self.has_data, true))
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        match self.inner.quic_transport_parameters() {
            None => Ok(None),
            Some(theirs) => {
                Ok(Some(TransportParameters::read(Side::Client, &mut Cursor::new(theirs))?))
            }
        }
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        match self.inner.write_hs(out)? {
            KeyChange::Handshake { keys: next } => Some(keys(next)),
            KeyChange::OneRtt { keys: last, next } => {
                self.next = Some(next);
                let mut told = self.line.told();
                let retried = told.retried;
                told.facts = Some(Handshake { retried, ..handshake_facts(&self.inner) });
                drop(told);
                let (local, remote) = (Arc::new(last.local.packet), Arc::new(last.remote.packet));
                self.first = Some((Arc::clone(&local), Arc::clone(&remote)));
                let line = self.line.clone();
                Some(Keys {
                    header: KeyPair {
                        local: Box::new(last.local.header),
                        remote: Box::new(Header { key: last.remote.header, line }),
                    },
                    packet: KeyPair { local: self.watched(local), remote: self.watched(remote) },
                })
            }
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let (local, remote) = match self.first.take() {
            Some(first) => first,
            None => {
                let next = self.next.as_mut()?.next_packet_keys();
                (Arc::new(next.local), Arc::new(next.remote))
            }
        };
        Some(KeyPair { local: self.watched(local), remote: self.watched(remote) })
    }

    /// RFC 9001 5.8.
    fn is_valid_retry(&self, first: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        const KEY: [u8; 16] = [
            0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68,
            0xc8, 0x4e,
        ];
        const NONCE: [u8; 12] =
            [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb];
        const TAG_BYTES: usize = 16;
        let Some(token_bytes) = payload.len().checked_sub(TAG_BYTES) else { return false };
        let (token, tag) = payload.split_at(token_bytes);
        let known = [&[first.len() as u8][..], first, header, token].concat();
        let Ok(key) = aead::UnboundKey::new(&aead::AES_128_GCM, &KEY) else { return false };
        let nonce = aead::Nonce::assume_unique_for_key(NONCE);
        let mut tag = tag.to_vec();
        let key = aead::LessSafeKey::new(key);
        let is_valid = key.open_in_place(nonce, aead::Aad::from(known), &mut tag).is_ok();
        self.line.told().retried |= is_valid;
        is_valid
    }

    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

fn keys(keys: rustls::quic::Keys) -> Keys {
    Keys {
        header: KeyPair {
            local: Box::new(keys.local.header),
            remote: Box::new(keys.remote.header),
        },
        packet: KeyPair {
            local: Box::new(keys.local.packet),
            remote: Box::new(keys.remote.packet),
        },
    }
}

/// A key of packets with requests, or of those with responses.
struct Watched {
    key: Key,
    line: Line,
}

impl PacketKey for Watched {
    fn encrypt(&self, packet: u64, bytes: &mut [u8], header_bytes: usize) {
        let mut told = self.line.told();
        let Told { left, bytes: at, tunnel, .. } = &mut *told;
        let frames = bytes.get(header_bytes..bytes.len() - self.key.tag_len());
        each_of_streams(frames.unwrap_or_default(), |stream, offset, length| match offset {
            0 if length > 0 => left.push((Left::First(stream), *at)),
            0 => {}
            _ if *tunnel == Some(stream) => left.push((Left::Through(offset + length), *at)),
            _ => {}
        });
        *at += bytes.len();
        drop(told);
        if let Some(first) = bytes.first_mut() {
            *first = self.line.with_phase(*first);
        }
        PacketKey::encrypt(&*self.key, packet, bytes, header_bytes);
    }

    fn decrypt(&self, packet: u64, header: &[u8], out: &mut BytesMut) -> Result<(), CryptoError> {
        // The first byte, an ID of up to 20 bytes, a number of up to 4.
        let mut theirs = [0; 1 + 20 + 4];
        let theirs = theirs.get_mut(..header.len()).ok_or(CryptoError)?;
        theirs.copy_from_slice(header);
        if let Some(first) = theirs.first_mut() {
            *first = self.line.with_phase(*first);
        }
        PacketKey::decrypt(&*self.key, packet, theirs, out)
    }

    fn tag_len(&self) -> usize {
        PacketKey::tag_len(&*self.key)
    }

    fn confidentiality_limit(&self) -> u64 {
        PacketKey::confidentiality_limit(&*self.key)
    }

    fn integrity_limit(&self) -> u64 {
        PacketKey::integrity_limit(&*self.key)
    }
}

/// The key of the headers of packets with responses.
struct Header {
    key: Box<dyn rustls::quic::HeaderProtectionKey>,
    line: Line,
}

impl HeaderKey for Header {
    fn decrypt(&self, number_at: usize, packet: &mut [u8]) {
        HeaderKey::decrypt(&self.key, number_at, packet);
        if let Some(first) = packet.first_mut() {
            *first = self.line.with_phase(*first);
        }
    }

    fn encrypt(&self, number_at: usize, packet: &mut [u8]) {
        HeaderKey::encrypt(&self.key, number_at, packet);
    }

    fn sample_size(&self) -> usize {
        HeaderKey::sample_size(&self.key)
    }
}

/// Finds the bytes of streams in a packet with these frames (RFC 9000 12.4 and 19): the stream, where in it they begin, how
/// many there are. Those of other sides and other directions are told of too. Frames are our own side's, so that one which
/// is not understood ends the search.
fn each_of_streams(mut frames: &[u8], mut found: impl FnMut(u64, u64, u64)) {
    let rest = &mut frames;
    while let Some(kind) = varint(rest) {
        let known = match kind {
            // PADDING, PING, IMMEDIATE_ACK.
            0x00 | 0x01 | 0x1f => Some(()),
            0x02 | 0x03 => skip_ack(rest, kind == 0x03),
            0x08..=0x0f => {
                stream(rest, kind).map(|(stream, offset, length)| found(stream, offset, length))
            }
            // RESET_STREAM.
            0x04 => skip(rest, 3),
            // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED.
            0x05 | 0x11 | 0x15 => skip(rest, 2),
            // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID.
            0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => skip(rest, 1),
            // CRYPTO.
            0x06 => {
                varint(rest).and_then(|_| varint(rest)).and_then(|length| skip_bytes(rest, length))
            }
            // NEW_CONNECTION_ID, and its token of 16 bytes.
            0x18 => skip(rest, 2).and_then(|()| {
                let length = u64::from(*rest.first()?);
                skip_bytes(rest, 1 + length + 16)
            }),
            // PATH_CHALLENGE, PATH_RESPONSE.
            0x1a | 0x1b => skip_bytes(rest, 8),
            _ => None,
        };
        if known.is_none() {
            return;
        }
    }
}

/// Reads a STREAM frame (RFC 9000 19.8): the stream, the offset, the length.
fn stream(rest: &mut &[u8], kind: u64) -> Option<(u64, u64, u64)> {
    let id = varint(rest)?;
    let offset = if kind & 0x04 == 0 { 0 } else { varint(rest)? };
    let length = if kind & 0x02 == 0 { rest.len() as u64 } else { varint(rest)? };
    skip_bytes(rest, length)?;
    Some((id, offset, length))
}

/// RFC 9000 19.3.
fn skip_ack(rest: &mut &[u8], has_marks: bool) -> Option<()> {
    skip(rest, 2)?;
    let ranges = varint(rest)?;
    skip(rest, 1)?;
    for _ in 0..ranges {
        skip(rest, 2)?;
    }
    if has_marks { skip(rest, 3) } else { Some(()) }
}

fn skip(rest: &mut &[u8], integers: u32) -> Option<()> {
    (0..integers).try_for_each(|_| varint(rest).map(drop))
}

fn skip_bytes(rest: &mut &[u8], length: u64) -> Option<()> {
    *rest = rest.get(usize::try_from(length).ok()?..)?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::each_of_streams;

    fn found(frames: &[u8]) -> Vec<(u64, u64, u64)> {
        let mut all = Vec::new();
        each_of_streams(frames, |stream, offset, length| all.push((stream, offset, length)));
        all
    }

    #[test]
    fn bytes_of_streams_are_found_whatever_stands_before_them_9000_19() {
        let before: [&[u8]; 9] = [
            &[0x00, 0x00, 0x01, 0x1f],
            &[0x02, 0x10, 0x01, 0x01, 0x02, 0x00, 0x01],
            &[0x03, 0x10, 0x01, 0x00, 0x02, 0x01, 0x02, 0x03],
            &[0x04, 0x04, 0x41, 0x0c, 0x09],
            &[0x05, 0x04, 0x41, 0x0c, 0x11, 0x04, 0x7f, 0xff],
            &[0x10, 0x05, 0x12, 0x05, 0x19, 0x01],
            &[0x06, 0x00, 0x02, 0xaa, 0xbb],
            &[0x18, 1, 0, 4, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
            &[0x1b, 1, 2, 3, 4, 5, 6, 7, 8],
        ];
        for before in before {
            // The first byte of 8; more of 4; the first byte of 12, to the end of the packet.
            let streams = [0x0a, 8, 2, 1, 1, 0x0e, 4, 5, 1, 1, 0x09, 12, 7, 7, 7];
            let all = [(8, 0, 2), (4, 5, 1), (12, 0, 3)];
            assert_eq!(found(&[before, &streams].concat()), all, "{before:?}");
        }
        assert_eq!(found(&[0x09, 0]), [(0, 0, 0)], "no byte of it");
        assert_eq!(found(&[0x3f, 0x09, 0, 1]), [], "a type that is not known");
    }
}
