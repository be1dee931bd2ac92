//! URLs as a load generator needs them: split into parts, but never rewritten.
//!
//! Path and query go to the server byte for byte as given: nothing is normalised, decoded or
//! encoded. Characters that a request line cannot have are refused. User information becomes an
//! `Authorization` header and a fragment is dropped, as RFC 9110 section 4.2.4 and RFC 3986 section
//! 3.5 ask of a client.

mod alternatives;
mod location;

pub use alternatives::{Alternative, Invalid, alternatives};
pub use location::{Origin, Unusable, resolve};

use std::net::Ipv6Addr;

use crate::escape::{base64, percent_decoded};
use crate::holes::without_holes;
use crate::redact::refused;

/// A parsed URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpUrl {
    /// Host name or address; IPv6 without brackets, with its zone as in `fe80::1%eth0`.
    pub host: String,
    /// 80 or, over TLS, 443 if none was given.
    pub port: u16,
    /// Whether the scheme is https or wss.
    pub is_https: bool,
    /// Whether the scheme is ws or wss (RFC 6455 3).
    pub is_websocket: bool,
    /// `host[:port]` as it was given, without a zone.
    pub authority: String,
    /// Path and query as given; `/` if there was no path.
    pub path: String,
    /// The value of the `Authorization` header that stands for the user information.
    pub authorization: Option<String>,
}

/// Why a text is not a URL to send requests to. A text that could contain a password is not
/// repeated in full.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// There is no host.
    #[error("no host in the URL; write http://HOST[:PORT]/PATH")]
    NoHost,
    /// Another scheme.
    #[error(
        "scheme \"{}\" is not supported; write http://HOST[:PORT]/PATH or https://",
        refused(_0)
    )]
    Scheme(String),
    /// `http//`, `http:/`, `http:`: otherwise a host of that name.
    #[error("the scheme has no ://; write {0}://HOST[:PORT]/PATH")]
    SchemeMark(&'static str),
    /// A blank or control character, which would end the request line early.
    #[error("blank or control character {character:?} at byte {at}; write it as {escaped}")]
    Character {
        /// The character.
        character: char,
        /// Its byte offset.
        at: usize,
        /// Its percent-encoding.
        escaped: String,
    },
    /// Not a port.
    #[error("\"{}\" is not a port; write a number from 1 to 65535", refused(_0))]
    Port(String),
    /// Not a host.
    #[error(
        "\"{}\" is not a host; write a name, an IPv4 address, or an IPv6 address in [ ]",
        refused(_0)
    )]
    Host(String),
    /// A path that does not begin with a slash.
    #[error("the path does not begin with /; write /PATH[?QUERY]")]
    Path,
}

impl HttpUrl {
    /// Parses `http[s]://[user@]host[:port][/path][?query][#fragment]`; without a scheme it is
    /// http. So are ws and wss.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        refuse_blanks(text)?;
        if let Some(scheme) = half_a_scheme(text) {
            return Err(UrlError::SchemeMark(scheme));
        }
        let (Scheme { is_https, is_websocket }, rest) = strip_scheme(text)?;
        let rest = rest.split('#').next().unwrap_or_default();
        let path_at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(path_at);
        let (user, authority) = match authority.rsplit_once('@') {
            Some((user, authority)) => (Some(user), authority),
            None => (None, authority),
        };
        let (host, port) = parse_host_port(authority)?;
        // A zone is a name of this machine's, and no server's business (RFC 6874 4).
        let zone = authority.split_once('%').zip(authority.split_once(']'));
        let authority = match zone {
            Some(((address, _), (_, port))) => format!("{address}]{port}"),
            None => authority.to_owned(),
        };
        Ok(HttpUrl {
            host,
            port: port.unwrap_or(if is_https { 443 } else { 80 }),
            is_https,
            is_websocket,
            authority: authority.strip_suffix(':').unwrap_or(&authority).to_owned(),
            path: if path.starts_with('/') { path.to_owned() } else { format!("/{path}") },
            authorization: user.map(basic_authorization),
        })
    }

    /// Whether the other goes to the same place in the same way.
    pub fn has_origin_of(&self, other: &HttpUrl) -> bool {
        self.host.eq_ignore_ascii_case(&other.host)
            && (self.port, self.is_https) == (other.port, other.is_https)
            && self.is_websocket == other.is_websocket
    }

    /// The authority with the zone, for this machine alone.
    pub fn authority_here(&self) -> String {
        match self.host.split_once('%') {
            Some((_, zone)) => self.authority.replace(']', &format!("%25{zone}]")),
            None => self.authority.clone(),
        }
    }

    /// The URL without user information and fragment.
    pub fn shown(&self) -> String {
        let scheme = match (self.is_websocket, self.is_https) {
            (false, false) => "http",
            (false, true) => "https",
            (true, false) => "ws",
            (true, true) => "wss",
        };
        format!("{scheme}://{}{}", self.authority_here(), self.path)
    }
}

/// Checks a path and query without a host, and drops the fragment.
pub fn parse_path(text: &str) -> Result<String, UrlError> {
    refuse_blanks(text)?;
    let path = text.split('#').next().unwrap_or_default();
    match path.starts_with('/') {
        true => Ok(path.to_owned()),
        false => Err(UrlError::Path),
    }
}

/// Splits `HOST[:PORT]`: IPv6 addresses have brackets, which are removed, and perhaps a zone after `%25` (RFC 6874), or
/// after `%` alone, as people write it.
pub fn parse_host_port(text: &str) -> Result<(String, Option<u16>), UrlError> {
    if let Some(rest) = text.strip_prefix('[') {
        let (address, rest) =
            rest.split_once(']').ok_or_else(|| UrlError::Host(text.to_owned()))?;
        let port = match rest {
            "" => "",
            rest => rest.strip_prefix(':').ok_or_else(|| UrlError::Host(text.to_owned()))?,
        };
        let (bare, zone) = match address.split_once('%') {
            Some((bare, zone)) => (
                bare,
                Some(zone.strip_prefix("25").filter(|zone| !zone.is_empty()).unwrap_or(zone)),
            ),
            None => (address, None),
        };
        let is_zone = |zone: &str| !zone.is_empty() && zone.bytes().all(is_unreserved);
        if bare.parse::<Ipv6Addr>().is_err() || !zone.is_none_or(is_zone) {
            return Err(UrlError::Host(format!("[{address}]")));
        }
        let host = zone.map_or(bare.to_owned(), |zone| format!("{bare}%{zone}"));
        return Ok((host, parse_port(port)?));
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Err(UrlError::Host(text.to_owned()));
    }
    let (host, port) = text.split_once(':').unwrap_or((text, ""));
    if host.is_empty() {
        return Err(UrlError::NoHost);
    }
    if !host.bytes().all(is_unreserved) {
        return Err(UrlError::Host(host.to_owned()));
    }
    Ok((host.to_owned(), parse_port(port)?))
}

/// RFC 3986 2.3.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// An empty port means the default one (RFC 3986 section 3.2.3).
fn parse_port(text: &str) -> Result<Option<u16>, UrlError> {
    if text.is_empty() {
        return Ok(None);
    }
    let port = match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse().ok().filter(|port| *port > 0),
        false => None,
    };
    port.map(Some).ok_or_else(|| UrlError::Port(text.to_owned()))
}

/// A scheme that is followed by a part of `://` alone. A host `http` with a port, or alone, is one.
fn half_a_scheme(text: &str) -> Option<&'static str> {
    let end = text.find([':', '/'])?;
    let (before, mark) = text.split_at(end);
    let scheme =
        ["http", "https", "ws", "wss"].into_iter().find(|one| one.eq_ignore_ascii_case(before))?;
    let begins_port = |c: char| c.is_ascii_digit();
    let is_half = match mark.strip_prefix(':') {
        Some(behind) => {
            !behind.starts_with("//") && !behind.is_empty() && !behind.starts_with(begins_port)
        }
        None => mark.starts_with("//"),
    };
    is_half.then_some(scheme)
}

/// What a scheme says.
#[derive(Default)]
struct Scheme {
    is_https: bool,
    is_websocket: bool,
}

/// The scheme, and the text after it.
fn strip_scheme(text: &str) -> Result<(Scheme, &str), UrlError> {
    // A `://` further on belongs to the path or the query.
    let end = text.find(['/', '?', '#', '@']).unwrap_or(text.len());
    match text.split_once("://") {
        Some((scheme, rest)) if scheme.len() < end => match scheme.to_ascii_lowercase().as_str() {
            "http" => Ok((Scheme::default(), rest)),
            "https" => Ok((Scheme { is_https: true, is_websocket: false }, rest)),
            "ws" => Ok((Scheme { is_https: false, is_websocket: true }, rest)),
            "wss" => Ok((Scheme { is_https: true, is_websocket: true }, rest)),
            "" => Err(UrlError::NoHost),
            _ => Err(UrlError::Scheme(scheme.to_owned())),
        },
        _ => Ok((Scheme::default(), text)),
    }
}

fn refuse_blanks(text: &str) -> Result<(), UrlError> {
    // Holes of a template may have blanks.
    let outside = without_holes(text);
    match outside.char_indices().find(|(_, c)| c.is_whitespace() || c.is_control()) {
        None => Ok(()),
        Some((at, character)) => {
            let mut buffer = [0; 4];
            let bytes = character.encode_utf8(&mut buffer).bytes();
            let escaped = bytes.map(|byte| format!("%{byte:02X}")).collect();
            Err(UrlError::Character { character, at, escaped })
        }
    }
}

/// RFC 7617 section 2: `user:password`, percent-decoded, in base64.
pub(crate) fn basic_authorization(user: &str) -> String {
    let mut bytes = percent_decoded(user);
    if !bytes.contains(&b':') {
        bytes.push(b':');
    }
    format!("Basic {}", base64(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(text: &str) -> (String, u16, String, String) {
        let url = HttpUrl::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        (url.host, url.port, url.authority, url.path)
    }

    fn expected(
        host: &str,
        port: u16,
        authority: &str,
        path: &str,
    ) -> (String, u16, String, String) {
        (host.to_owned(), port, authority.to_owned(), path.to_owned())
    }

    #[test]
    fn urls_are_taken_apart() {
        let table = [
            (
                "http://localhost:8080/a?b=c",
                expected("localhost", 8080, "localhost:8080", "/a?b=c"),
            ),
            ("http://example.com", expected("example.com", 80, "example.com", "/")),
            ("HTTP://Example.com/", expected("Example.com", 80, "Example.com", "/")),
            ("http://example.com?x=1", expected("example.com", 80, "example.com", "/?x=1")),
            ("http://example.com:/x", expected("example.com", 80, "example.com", "/x")),
            ("http://example.com#top", expected("example.com", 80, "example.com", "/")),
            ("http://example.com/a#b/c?d", expected("example.com", 80, "example.com", "/a")),
            ("http://[::1]:8080/x", expected("::1", 8080, "[::1]:8080", "/x")),
            ("http://[2001:db8::7]", expected("2001:db8::7", 80, "[2001:db8::7]", "/")),
            ("http://[fe80::1%25eth0]:81/x", expected("fe80::1%eth0", 81, "[fe80::1]:81", "/x")),
            ("http://[fe80::1%eth0]", expected("fe80::1%eth0", 80, "[fe80::1]", "/")),
            ("http://[fe80::1%25]/", expected("fe80::1%25", 80, "[fe80::1]", "/")),
            ("http://[::1]/a]%b", expected("::1", 80, "[::1]", "/a]%b")),
            ("localhost:8080/x", expected("localhost", 8080, "localhost:8080", "/x")),
            ("127.0.0.1", expected("127.0.0.1", 80, "127.0.0.1", "/")),
            ("localhost/?u=http://x", expected("localhost", 80, "localhost", "/?u=http://x")),
            ("http://a/@b", expected("a", 80, "a", "/@b")),
        ];
        for (text, wanted) in table {
            assert_eq!(parts(text), wanted, "{text}");
        }
        let zone = HttpUrl::parse("http://[fe80::1%eth0]:81/x").unwrap();
        assert_eq!(zone.shown(), "http://[fe80::1%25eth0]:81/x");
    }

    #[test]
    fn path_and_query_stay_as_given() {
        for path in
            ["/a/../b/./c//d", "/%7euser/%zz%", "/ä?ö=ü&x[]={\"a\":1}", "/?", "/a?b?c/d\\e|f"]
        {
            assert_eq!(parts(&format!("http://h{path}")).3, path);
            assert_eq!(parse_path(path).unwrap(), path);
        }
    }

    #[test]
    fn user_information_becomes_a_header_and_leaves_the_url() {
        let url = HttpUrl::parse("http://aladdin:open%20sesame@h:81/x").unwrap();
        // The example of RFC 7617 section 2, with its password.
        assert_eq!(url.authorization.as_deref(), Some("Basic YWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
        assert_eq!(url.shown(), "http://h:81/x");
        assert_eq!(url.authority, "h:81");
        let alone = HttpUrl::parse("me@h").unwrap();
        assert_eq!(alone.authorization.as_deref(), Some("Basic bWU6"));
        let odd = HttpUrl::parse("http://a@b:100%@h").unwrap();
        assert_eq!(odd.authorization, Some(format!("Basic {}", base64(b"a@b:100%"))));
    }

    #[test]
    fn bad_urls_are_refused_with_the_remedy() {
        let no_host = "no host in the URL; write http://HOST[:PORT]/PATH";
        let table = [
            ("", no_host),
            ("http://", no_host),
            ("http:///path", no_host),
            ("http://:8080/", no_host),
            ("/path", no_host),
            ("://x", no_host),
            ("http://user@/", no_host),
            (
                "ftp://x/",
                "scheme \"ftp\" is not supported; write http://HOST[:PORT]/PATH or https://",
            ),
            ("http://h:0/", "\"0\" is not a port; write a number from 1 to 65535"),
            ("http://h:65536/", "\"65536\" is not a port; write a number from 1 to 65535"),
            ("http://h:+80/", "\"+80\" is not a port; write a number from 1 to 65535"),
            (
                "http://::1/",
                "\"::1\" is not a host; write a name, an IPv4 address, or an IPv6 address in [ ]",
            ),
            (
                "http://[::1/",
                "\"[::1\" is not a host; write a name, an IPv4 address, or an IPv6 address in [ ]",
            ),
            (
                "http://[nope]/",
                "\"[nope]\" is not a host; write a name, an IPv4 address, or an IPv6 address in [ ]",
            ),
            (
                "http://[::1%]/",
                "\"[::1%]\" is not a host; write a name, an IPv4 address, or an IPv6 address in [ ]",
            ),
            (
                "http://bü.example/",
                "\"bü.example\" is not a host; write a name, an IPv4 address, or an IPv6 address \
                 in [ ]",
            ),
            ("http://h/a b", "blank or control character ' ' at byte 10; write it as %20"),
            ("http://h/a\r\nX: y", "blank or control character '\\r' at byte 10; write it as %0D"),
            ("http://h/\0", "blank or control character '\\0' at byte 9; write it as %00"),
        ];
        for (text, message) in table {
            assert_eq!(HttpUrl::parse(text).expect_err(text).to_string(), message, "{text}");
        }
        assert_eq!(
            parse_path("http://x/").unwrap_err().to_string(),
            "the path does not begin with /; write /PATH[?QUERY]"
        );
        assert!(HttpUrl::parse("http://[::1%a%b]/").is_err());
    }

    proptest! {
        #[test]
        fn what_is_shown_parses_to_the_same(host in "[a-z][a-z0-9.-]{0,20}", port in 1..=u16::MAX, path in "(/[!-\"$-~]{0,30})?") {
            let url = HttpUrl::parse(&format!("http://{host}:{port}{path}")).unwrap();
            prop_assert_eq!(HttpUrl::parse(&url.shown()).unwrap(), url.clone());
            prop_assert_eq!(url.port, port);
            prop_assert!(url.path == path || path.is_empty() && url.path == "/");
        }

        #[test]
        fn no_url_panics(text in ".{0,60}", shaped in "(http://)?[a@:%\\[\\]#?/0-9.]{0,30}") {
            for text in [text, shaped] {
                if let Ok(url) = HttpUrl::parse(&text) {
                    prop_assert!(url.path.starts_with('/') && !url.host.is_empty());
                }
                let _ = (parse_path(&text), parse_host_port(&text));
            }
        }
    }
}
