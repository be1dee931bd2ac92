//! The opening over HTTP/1.1 (RFC 6455 4): the request, and the check of the response.

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_plan::Request;
use memchr::memmem;

use super::deflate::Agreed;
use super::mask::Masks;
use super::settings::Limits;
use super::{Error, Settings, Unnegotiated};
use crate::capture::Capture;
use crate::h1;
use crate::h2::is_left_out;
use crate::session::Malformed;

/// The request that opens a WebSocket, complete but for the key.
#[derive(Debug, Clone, PartialEq)]
pub struct Opening {
    head: Vec<u8>,
    /// Where the key stands in it.
    key_at: usize,
}

/// A key: 16 bytes in base64 (RFC 6455 4.1).
pub(super) type Key = [u8; KEY_BYTES];

const KEY_BYTES: usize = 24;
const NO_KEY: &str = "========================";

/// Fields that are ours alone.
const OURS: [&str; 8] = [
    "Connection",
    "Upgrade",
    "Content-Length",
    "Sec-WebSocket-Key",
    "Sec-WebSocket-Version",
    "Sec-WebSocket-Protocol",
    "Sec-WebSocket-Extensions",
    "Transfer-Encoding",
];

/// `request` as the one that opens: GET, with its path and fields, those of [`OURS`] left out, and ours; no body.
fn asking(request: &Request) -> Request {
    let mut asking = request.clone();
    "GET".clone_into(&mut asking.method);
    asking.body = [].into();
    asking.delivery = candor_plan::Delivery::default();
    asking.headers.retain(|(name, _)| !OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)));
    asking
}

/// The fields that say what the WebSocket is to be; the same over each version of HTTP.
fn offers(settings: &Settings) -> impl Iterator<Item = (String, String)> {
    let subprotocols =
        (!settings.subprotocols.is_empty()).then(|| settings.subprotocols.join(", "));
    let extensions = settings.deflate.map(|deflate| deflate.offer());
    [
        ("Sec-WebSocket-Version", Some("13".to_owned())),
        ("Sec-WebSocket-Protocol", subprotocols),
        ("Sec-WebSocket-Extensions", extensions),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
}

/// The fields of an extended CONNECT that opens a WebSocket (RFC 8441 4 and 5, RFC 9220 3). Of `request` its path and
/// fields count, its method and body do not.
pub(crate) fn extended(
    request: &Request,
    scheme: &str,
    authority: &str,
    settings: &Settings,
) -> Vec<(String, String)> {
    let mut asking = asking(request);
    asking.headers.extend(offers(settings));
    let host = asking.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let authority = host.map_or(authority, |(_, value)| value).to_owned();
    let pseudo = [
        (":method", "CONNECT"),
        (":protocol", "websocket"),
        (":scheme", scheme),
        (":path", &asking.path),
        (":authority", &authority),
    ];
    let pseudo = pseudo.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let others = asking.headers.iter().filter_map(|(name, value)| {
        let value = value.trim_ascii();
        let is_sent = !is_left_out(name.as_bytes(), value.as_bytes());
        is_sent.then(|| (name.to_ascii_lowercase(), value.to_owned()))
    });
    pseudo.into_iter().chain(others).collect()
}

impl Opening {
    /// Of `request`: its path and fields count, its method and body do not. `authority` goes into Host, unless the
    /// request has a Host of its own.
    pub fn new(request: &Request, authority: &str, settings: &Settings) -> Self {
        let mut asking = asking(request);
        let fixed = [("Connection", "Upgrade"), ("Upgrade", "websocket")];
        asking.headers.extend(fixed.map(|(name, value)| (name.to_owned(), value.to_owned())));
        asking.headers.extend(offers(settings));
        asking.headers.push(("Sec-WebSocket-Key".to_owned(), NO_KEY.to_owned()));
        let head = h1::prepare(&asking, authority).head;
        // It is the last field.
        let key_at = head.len().saturating_sub(KEY_BYTES + 4);
        Opening { head, key_at }
    }

    /// The bytes that open with a fresh key, and the key.
    pub(super) fn ask(&self, masks: &mut Masks) -> (Vec<u8>, Key) {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&masks.next_number().to_be_bytes());
        bytes[8..].copy_from_slice(&masks.next_number().to_be_bytes());
        let mut key = [0; KEY_BYTES];
        // 16 bytes are 24 characters.
        let _ = STANDARD.encode_slice(bytes, &mut key);
        let mut head = self.head.clone();
        head[self.key_at..self.key_at + KEY_BYTES].copy_from_slice(&key);
        (head, key)
    }
}

/// The Sec-WebSocket-Accept that belongs to a Sec-WebSocket-Key (RFC 6455 4.2.2).
pub fn accept_of(key: &[u8]) -> String {
    let text = [key, b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"].concat();
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &text))
}

/// What a valid response has agreed to; `None`: no compression.
pub(crate) type Opened = Option<Agreed>;

/// The response to an opening, as it comes.
#[derive(Debug, Default)]
pub(super) struct Answer {
    head: Vec<u8>,
    interim_answers: u32,
}

impl Answer {
    /// Reads on, up to the end of the header block. `None`: the end has not come.
    pub(super) fn handle(
        &mut self,
        input: &mut &[u8],
        key: &Key,
        settings: &Settings,
    ) -> Result<Option<Opened>, Malformed> {
        let Limits { header_block_bytes, interim_answers, .. } = settings.limits;
        while !input.is_empty() {
            let before = self.head.len();
            // A block within the limit is not longer than this.
            let most = (header_block_bytes + 1).saturating_sub(before);
            self.head.extend_from_slice(&input[..input.len().min(most)]);
            if !h1::may_be_status_line(&self.head) {
                return Err(h1::Error::StatusLine.into());
            }
            let from = before.saturating_sub(3);
            let Some(end) = memmem::find(&self.head[from..], b"\r\n\r\n") else {
                if self.head.len() > header_block_bytes {
                    return Err(Error::HeaderBlockTooLarge.into());
                }
                *input = &[];
                return Ok(None);
            };
            let end = from + end + 4;
            *input = &input[end - before..];
            self.head.truncate(end);
            match h1::status_of(&self.head)? {
                101 => return read(&self.head, key, settings).map(Some),
                100..200 if self.interim_answers < interim_answers => {
                    self.interim_answers += 1;
                    self.head.clear();
                }
                100..200 => return Err(Error::TooManyInterimAnswers.into()),
                status => return Err(Error::Status(status).into()),
            }
        }
        Ok(None)
    }
}

/// Checks the header block of a 101 (RFC 6455 4.1).
fn read(head: &[u8], key: &Key, settings: &Settings) -> Result<Opened, Malformed> {
    let mut upgrades = false;
    let mut connects = false;
    let mut accept = None;
    let mut offered = Offered::default();
    for line in head.split(|&byte| byte == b'\n').skip(1) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let (name, value) = h1::field(line)?;
        let mut list = value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
        if name.eq_ignore_ascii_case(b"upgrade") {
            upgrades |= value.eq_ignore_ascii_case(b"websocket");
        } else if name.eq_ignore_ascii_case(b"connection") {
            connects |= list.any(|option| option.eq_ignore_ascii_case(b"upgrade"));
        } else if name.eq_ignore_ascii_case(b"sec-websocket-accept") {
            if accept.replace(value).is_some() {
                return Err(Error::Accept.into());
            }
        } else {
            offered.handle(name, value, settings)?;
        }
    }
    match (upgrades, connects) {
        (false, _) => Err(Error::Upgrade.into()),
        (_, false) => Err(Error::Connection.into()),
        _ if accept != Some(accept_of(key).as_bytes()) => Err(Error::Accept.into()),
        _ => Ok(offered.agreed),
    }
}

/// What a server chose of what was offered; the same over each version of HTTP.
#[derive(Debug, Default)]
pub(crate) struct Offered {
    has_subprotocol: bool,
    agreed: Opened,
}

impl Offered {
    /// What the fields of a response say that were kept.
    pub(crate) fn read(fields: Option<&Capture>, settings: &Settings) -> Result<Opened, Error> {
        let mut offered = Offered::default();
        let lines = fields.map_or(&[][..], |fields| fields.get().fields);
        for line in lines.split(|&byte| byte == b'\n') {
            let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
            let (name, value) = line.split_at(colon);
            let value = value.get(1..).unwrap_or_default().trim_ascii();
            offered.handle(name, value, settings)?;
        }
        Ok(offered.agreed)
    }

    /// Takes a field of the response, if it is one of these.
    fn handle(&mut self, name: &[u8], value: &[u8], settings: &Settings) -> Result<(), Error> {
        if name.eq_ignore_ascii_case(b"sec-websocket-protocol") {
            let is_offered = settings.subprotocols.iter().any(|one| one.as_bytes() == value);
            if !is_offered || std::mem::replace(&mut self.has_subprotocol, true) {
                return Err(Error::Subprotocol);
            }
        } else if name.eq_ignore_ascii_case(b"sec-websocket-extensions") {
            self.extensions(value, settings).map_err(Error::Extensions)?;
        }
        Ok(())
    }

    /// RFC 6455 9.1. No parameter's value has a comma or a semicolon: where it is quoted, it is a token.
    fn extensions(&mut self, value: &[u8], settings: &Settings) -> Result<(), Unnegotiated> {
        let value = std::str::from_utf8(value).map_err(|_| Unnegotiated::Syntax)?;
        for extension in value.split(',').map(str::trim).filter(|one| !one.is_empty()) {
            let mut parts = extension.split(';').map(str::trim);
            let deflate = match (parts.next(), settings.deflate) {
                (Some(""), _) => return Err(Unnegotiated::Syntax),
                (Some("permessage-deflate"), Some(deflate)) => deflate,
                _ => return Err(Unnegotiated::Extension),
            };
            if self.agreed.replace(deflate.agree(parts)?).is_some() {
                return Err(Unnegotiated::Twice);
            }
        }
        Ok(())
    }
}
