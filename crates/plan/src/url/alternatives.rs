//! The Alt-Svc field of an origin: where else it can be reached, and by which protocol (RFC 7838 3).
//!
//! The value was written by a server that may be malicious: reading it is bounded by its length, and never panics.
//! Whether anything is sent to the places that it names is not decided here.

use super::parse_host_port;
use crate::escape::percent_decoded;

/// The longest value, in bytes, all fields of a response together.
const MOST_BYTES: usize = 8000;

/// One alternative of an origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternative {
    /// The name of its protocol in ALPN; bytes that are no text are replaced.
    pub protocol: String,
    /// Its host, IPv6 without brackets; `None`: the origin's.
    pub host: Option<String>,
    /// Its port.
    pub port: u16,
    /// Whether it may be used: it is not, if it lives for no second.
    pub is_fresh: bool,
}

/// Why a value is not one of Alt-Svc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// It is too long.
    #[error("is longer than {MOST_BYTES} bytes")]
    TooLong,
    /// Its grammar is wrong.
    #[error("is not valid at byte {0}")]
    At(usize),
    /// The host or the port of an alternative is none.
    #[error("has no valid host and port in its alternative {0}")]
    Authority(usize),
}

/// Reads the value of Alt-Svc; several fields are joined by commas before. Alternatives come in the order of the
/// origin's preference, none if it says `clear`.
///
/// # Errors
/// The value is not one of Alt-Svc.
pub fn alternatives(value: &str) -> Result<Vec<Alternative>, Invalid> {
    if value.len() > MOST_BYTES {
        return Err(Invalid::TooLong);
    }
    let mut all = Vec::new();
    let mut reader = Reader { text: value.as_bytes(), at: 0 };
    reader.skip(b" \t,");
    if value[reader.at..].trim_end_matches([' ', '\t', ',']) == "clear" {
        return Ok(all);
    }
    while !reader.is_over() {
        let protocol = reader.token()?;
        let protocol = String::from_utf8_lossy(&percent_decoded(protocol)).into_owned();
        reader.expect(b'=')?;
        let authority = reader.quoted()?;
        let mut one =
            authority_of(&authority, protocol).ok_or(Invalid::Authority(all.len() + 1))?;
        reader.skip(b" \t");
        while reader.take(b';') {
            reader.skip(b" \t");
            let name = reader.token()?;
            reader.expect(b'=')?;
            let value = match reader.peek() {
                Some(b'"') => reader.quoted()?,
                _ => reader.token()?.to_owned(),
            };
            // Unknown parameters are passed over.
            if name == "ma" && !value.is_empty() && value.bytes().all(|byte| byte == b'0') {
                one.is_fresh = false;
            }
            reader.skip(b" \t");
        }
        all.push(one);
        if !reader.is_over() {
            reader.expect(b',')?;
            reader.skip(b" \t,");
        }
    }
    match all.is_empty() {
        true => Err(Invalid::At(value.len())),
        false => Ok(all),
    }
}

fn authority_of(text: &str, protocol: String) -> Option<Alternative> {
    let (host, port) = match text.strip_prefix(':') {
        Some(port) => (None, parse_host_port(&format!("h:{port}")).ok()?.1?),
        None => {
            let (host, port) = parse_host_port(text).ok()?;
            (Some(host), port?)
        }
    };
    (port > 0).then_some(Alternative { protocol, host, port, is_fresh: true })
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn is_over(&self) -> bool {
        self.at == self.text.len()
    }

    fn skip(&mut self, which: &[u8]) {
        while self.peek().is_some_and(|byte| which.contains(&byte)) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, byte: u8) -> Result<(), Invalid> {
        if self.take(byte) { Ok(()) } else { Err(Invalid::At(self.at)) }
    }

    /// RFC 9110 5.6.2.
    fn token(&mut self) -> Result<&'t str, Invalid> {
        let is_token =
            |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|byte| !is_token(byte)).unwrap_or(rest.len());
        let token = std::str::from_utf8(&rest[..length]).unwrap_or_default();
        if token.is_empty() {
            return Err(Invalid::At(self.at));
        }
        self.at += length;
        Ok(token)
    }

    /// RFC 9110 5.6.4.
    fn quoted(&mut self) -> Result<String, Invalid> {
        self.expect(b'"')?;
        let mut bytes = Vec::new();
        loop {
            let byte = match self.peek() {
                Some(b'\\') => {
                    self.at += 1;
                    self.peek()
                }
                Some(b'"') => {
                    self.at += 1;
                    return String::from_utf8(bytes).map_err(|_| Invalid::At(self.at));
                }
                other => other,
            };
            match byte {
                Some(byte) if byte == b'\t' || !byte.is_ascii_control() => bytes.push(byte),
                _ => return Err(Invalid::At(self.at)),
            }
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Protocol, host, port, and whether it is fresh.
    type Read = (String, Option<String>, u16, bool);

    fn read(value: &str) -> Result<Vec<Read>, Invalid> {
        let all = alternatives(value)?;
        Ok(all.into_iter().map(|one| (one.protocol, one.host, one.port, one.is_fresh)).collect())
    }

    #[test]
    fn alternatives_in_the_order_of_preference_rfc_7838_3() {
        let one = |protocol: &str, host: Option<&str>, port, is_fresh| {
            (protocol.to_owned(), host.map(str::to_owned), port, is_fresh)
        };
        for (value, expected) in [
            ("h3=\":443\"", vec![one("h3", None, 443, true)]),
            (
                "h2=\"alt.example.com:8000\", h2=\":443\"",
                vec![one("h2", Some("alt.example.com"), 8000, true), one("h2", None, 443, true)],
            ),
            ("h3=\":50781\"; ma=3600 ; persist=1", vec![one("h3", None, 50781, true)]),
            ("h3=\":1\";ma=0,", vec![one("h3", None, 1, false)]),
            ("h3=\"[::1]:9\";x=\"a\\\"b, c\"", vec![one("h3", Some("::1"), 9, true)]),
            (",, w%3Dx%3Ay#z=\":443\"", vec![one("w=x:y#z", None, 443, true)]),
            ("clear", vec![]),
            (" clear ,", vec![]),
        ] {
            assert_eq!(read(value), Ok(expected), "{value}");
        }
    }

    #[test]
    fn other_values_are_refused_with_their_place() {
        for (value, why) in [
            ("", Invalid::At(0)),
            (" , ", Invalid::At(3)),
            ("Clear", Invalid::At(5)),
            ("clear, h3=\":1\"", Invalid::At(5)),
            ("h3", Invalid::At(2)),
            ("h3=:443", Invalid::At(3)),
            ("h3=\":443", Invalid::At(8)),
            ("h3=\":443\\", Invalid::At(9)),
            ("h3=\":443\" h2=\":1\"", Invalid::At(10)),
            ("h3=\":443\"; ma", Invalid::At(13)),
            ("h3=\":443\"; ma=\u{1}", Invalid::At(14)),
            ("h3=\"a\u{7f}:443\"", Invalid::At(5)),
            ("h3=\":0\"", Invalid::Authority(1)),
            ("h3=\":1\", h3=\":65536\"", Invalid::Authority(2)),
            ("h3=\"host\"", Invalid::Authority(1)),
            ("h3=\"a@b:1\"", Invalid::Authority(1)),
            ("h3=\"\"", Invalid::Authority(1)),
        ] {
            assert_eq!(read(value), Err(why), "{value}");
        }
        assert_eq!(read(&"h3=\":1\",".repeat(1001)), Err(Invalid::TooLong));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(value in "[ -~\t\u{80}\u{2028}\u{1}]{0,60}", grammar in "(h3|=|\"|:|[0-9]|;|,| |ma|clear|\\\\){0,20}") {
            for value in [value, grammar] {
                if let Ok(all) = alternatives(&value) {
                    prop_assert!(all.iter().all(|one| one.port > 0));
                }
            }
        }
    }
}
