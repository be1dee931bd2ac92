//! A handshake in progress, on rustls' connection without buffers.
//!
//! Takes what came, gives what is to be written, and ends with the keys. What came after the
//! handshake is left in place for the record layer.

use std::sync::Arc;

use candor_record::Handshake;
use rustls::HandshakeKind;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::kernel::KernelConnection;
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, EncodeError, InsufficientSizeError};
use rustls::{ClientConfig, CommonState};

use super::HandshakeError;
use super::records::{DATA, HEADER_BYTES, MAX_PLAIN_BYTES, TAG_BYTES, record_length};

/// What goes on knowing the connection after the handshake: its tickets, its next keys.
pub(super) type Kernel = KernelConnection<ClientConnectionData>;

/// A handshake that is over.
pub(super) struct Established {
    pub(super) facts: Handshake,
    pub(super) secrets: rustls::ExtractedSecrets,
    pub(super) kernel: Kernel,
    /// Decrypted bytes that came with the last flight of the handshake.
    pub(super) early: Vec<u8>,
    /// After them the server said that it sends nothing more.
    pub(super) is_closed: bool,
}

/// A handshake that goes on.
pub(super) struct Ongoing {
    connection: UnbufferedClientConnection,
    early: Vec<u8>,
    /// The first flight may have requests in it, and is not closed yet.
    may_speak: bool,
    /// The server took it.
    was_heard: bool,
    /// The server said that it sends nothing more.
    is_closed: bool,
}

/// Where a handshake stands.
pub(super) enum Progress {
    /// More must come.
    Ongoing(Box<Ongoing>),
    /// More must come; meanwhile [`Ongoing::speak`].
    MaySpeak(Box<Ongoing>),
    /// It is over.
    Established(Box<Established>),
}

impl Ongoing {
    /// Begins one.
    pub(super) fn new(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> Result<Box<Self>, HandshakeError> {
        let may_speak = config.enable_early_data;
        let connection = UnbufferedClientConnection::new(config, name).map_err(HandshakeError)?;
        Ok(Box::new(Ongoing {
            connection,
            early: Vec::new(),
            may_speak,
            was_heard: false,
            is_closed: false,
        }))
    }

    /// Appends `plain` to the first flight (RFC 8446 2.3), as much as the ticket allows; returns
    /// how many bytes that is.
    #[cold]
    pub(super) fn speak(&mut self, plain: &[u8], outgoing: &mut Vec<u8>) -> usize {
        /// Header, kind and tag of a record; the tag of every suite of TLS 1.3 is as long.
        const AROUND: usize = HEADER_BYTES + 1 + TAG_BYTES;
        if !self.may_speak || plain.is_empty() {
            return 0;
        }
        let status = self.connection.process_tls_records(&mut []);
        let Ok(ConnectionState::TransmitTlsData(mut flight)) = status.state else { return 0 };
        let Some(mut early) = flight.may_encrypt_early_data() else { return 0 };
        // rustls counts what is allowed down before it looks at the room, so there is enough.
        let begin = outgoing.len();
        outgoing.resize(begin + plain.len() + AROUND * (plain.len() / MAX_PLAIN_BYTES + 2), 0);
        let written = early.encrypt(plain, &mut outgoing[begin..]).unwrap_or(0);
        outgoing.truncate(begin + written);
        // It does not say how much of `plain` that is; the records do.
        let mut records = &outgoing[begin..];
        let mut taken = 0;
        while let Ok(Some(length)) = record_length(records) {
            taken += length.saturating_sub(AROUND);
            records = records.get(length..).unwrap_or_default();
        }
        taken
    }

    /// Takes what is whole of `incoming`, and puts what is to be written into `outgoing`, also
    /// when it fails: the alert that says why.
    pub(super) fn proceed(
        mut self: Box<Self>,
        incoming: &mut Vec<u8>,
        outgoing: &mut Vec<u8>,
    ) -> Result<Progress, HandshakeError> {
        let mut failed = None;
        let mut is_over = false;
        let mut holds = false;
        loop {
            // After a failure only what rustls wants to say is asked for: it must not look at
            // the input again.
            if failed.is_some() && !self.connection.wants_write() {
                break;
            }
            let input = if failed.is_some() { &mut [][..] } else { &mut incoming[..] };
            let status = self.connection.process_tls_records(input);
            let discard = status.discard;
            let goes_on = match status.state {
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    let begin = outgoing.len();
                    encode(outgoing, |space| data.encode(space)).map_err(HandshakeError)?;
                    self.was_heard |= is_end_of_early_data(&outgoing[begin..]);
                    true
                }
                Ok(ConnectionState::TransmitTlsData(mut data)) => {
                    // What comes next is the server's, and after that nothing is early.
                    let may_speak = self.may_speak && data.may_encrypt_early_data().is_some();
                    self.may_speak = false;
                    if may_speak && failed.is_none() {
                        holds = true;
                        false
                    } else {
                        data.done();
                        true
                    }
                }
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        self.early.extend_from_slice(record.map_err(HandshakeError)?.payload);
                    }
                    true
                }
                Ok(ConnectionState::PeerClosed) => {
                    // Said once, and there may be our own last flight to come.
                    self.is_closed = true;
                    true
                }
                Ok(ConnectionState::WriteTraffic(_)) => {
                    is_over = true;
                    false
                }
                Ok(_) => false,
                Err(error) if failed.is_none() => {
                    failed = Some(HandshakeError(error));
                    true
                }
                Err(_) => false,
            };
            if failed.is_none() {
                incoming.drain(..discard);
            }
            if !goes_on {
                break;
            }
        }
        match failed {
            Some(error) => Err(error),
            None if is_over => self.finish(),
            None if holds => {
                self.may_speak = true;
                Ok(Progress::MaySpeak(self))
            }
            None => Ok(Progress::Ongoing(self)),
        }
    }

    fn finish(self: Box<Self>) -> Result<Progress, HandshakeError> {
        let Ongoing { connection, early, was_heard, is_closed, .. } = *self;
        // Only the session knows whether anything left early.
        let facts = Handshake { early_data: Some(was_heard), ..facts(&connection) };
        let (secrets, kernel) =
            connection.dangerous_into_kernel_connection().map_err(HandshakeError)?;
        Ok(Progress::Established(Box::new(Established {
            facts,
            secrets,
            kernel,
            early,
            is_closed,
        })))
    }
}

/// Makes room in `outgoing` for what `write` writes.
pub(super) fn encode(
    outgoing: &mut Vec<u8>,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>,
) -> Result<(), rustls::Error> {
    let end = outgoing.len();
    let mut needed = 0;
    for _ in 0..2 {
        outgoing.resize(end + needed, 0);
        match write(&mut outgoing[end..]) {
            Ok(written) => {
                outgoing.truncate(end + written);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) => {
                needed = required_size;
            }
            Err(EncodeError::AlreadyEncoded) => break,
        }
    }
    outgoing.truncate(end);
    Err(rustls::Error::General("a handshake record could not be encoded".to_owned()))
}

/// A client says where its early data ends if the server takes it, and only then (RFC 8446 4.5);
/// rustls does not tell it in another way. No other message of a handshake has no body: encrypted,
/// this one is four bytes, the kind and the tag.
fn is_end_of_early_data(record: &[u8]) -> bool {
    const LENGTH: usize = HEADER_BYTES + 4 + 1 + TAG_BYTES;
    record.len() == LENGTH && record[0] == DATA
}

/// What was negotiated.
pub(crate) fn facts(connection: &CommonState) -> Handshake {
    let version = match connection.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
        Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3",
        _ => "",
    };
    let group = connection.negotiated_key_exchange_group().map(|group| group.name());
    let suite = connection.negotiated_cipher_suite().map(|suite| suite.suite());
    Handshake {
        version: version.into(),
        cipher: suite.and_then(|suite| suite.as_str()).unwrap_or_default().into(),
        group: group.and_then(|group| group.as_str()).unwrap_or_default().into(),
        alpn: match connection.alpn_protocol() {
            Some(b"h3") => "h3".into(),
            Some(b"h2") => "h2".into(),
            Some(b"http/1.1") => "http/1.1".into(),
            Some(b"http/1.0") => "http/1.0".into(),
            _ => "".into(),
        },
        resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
        early_data: None,
        retried: false,
    }
}
