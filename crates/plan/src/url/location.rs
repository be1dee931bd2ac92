//! The Location field of a redirect, resolved against the request that got it (RFC 9110 10.2.2, RFC 3986 5.2).
//!
//! The value was written by a server that may be malicious: every function is bounded by its length, and none panics.
//! Whether anything is sent to the place that it names is not decided here.

use super::parse_host_port;

/// The longest value, in bytes: as long as RFC 9110 4.1 wants URIs to be supported at least.
const MOST_BYTES: usize = 8000;

/// The place that an absolute Location names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Whether the scheme is https; the others are not followed.
    pub is_https: bool,
    /// Host name or address; IPv6 without brackets.
    pub host: String,
    /// The port, by default that of the scheme.
    pub port: u16,
}

/// Why a redirect cannot be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// There is no Location.
    #[error("there is no Location")]
    Missing,
    /// Several of them differ.
    #[error("there are several Location fields, and they differ")]
    Several,
    /// It is empty.
    #[error("its Location is empty")]
    Empty,
    /// It is too long.
    #[error("its Location is longer than {MOST_BYTES} bytes")]
    TooLong,
    /// It has a control character.
    #[error("its Location has a control character")]
    Character,
    /// Another scheme than http and https.
    #[error("its Location has another scheme than http and https")]
    Scheme,
    /// It has user information, which a recipient treats as an error (RFC 9110 4.2.4).
    #[error("its Location has a user or a password")]
    User,
    /// Its host or port is none.
    #[error("its Location has no valid host and port")]
    Host,
}

/// Resolves the values of the Location fields of a response to a request for `path`, which has a query or not, over
/// https or not. Path and query of the place come into `out`, without the fragment. `None`: at the same origin.
///
/// # Errors
/// The redirect cannot be followed.
pub fn resolve<'v>(
    mut values: impl Iterator<Item = &'v [u8]>,
    is_https: bool,
    path: &[u8],
    out: &mut Vec<u8>,
) -> Result<Option<Origin>, Unusable> {
    let value = values.next().ok_or(Unusable::Missing)?;
    if values.any(|other| other != value) {
        return Err(Unusable::Several);
    }
    match value {
        [] => return Err(Unusable::Empty),
        long if long.len() > MOST_BYTES => return Err(Unusable::TooLong),
        value if value.iter().any(u8::is_ascii_control) => return Err(Unusable::Character),
        _ => {}
    }
    let reference = split(value, b"#").0;
    let (is_https, rest) = match scheme(reference) {
        None => (is_https, reference),
        Some(scheme) => {
            let rest = &reference[scheme.len() + 1..];
            let is_https = match scheme {
                one if one.eq_ignore_ascii_case(b"http") => false,
                one if one.eq_ignore_ascii_case(b"https") => true,
                _ => return Err(Unusable::Scheme),
            };
            if !rest.starts_with(b"//") {
                return Err(Unusable::Host);
            }
            (is_https, rest)
        }
    };
    let (origin, rest) = match rest.strip_prefix(b"//") {
        None => (None, rest),
        Some(rest) => {
            let authority = split(rest, b"/?").0;
            (Some(origin(authority, is_https)?), &rest[authority.len()..])
        }
    };
    let (own, query) = split(rest, b"?");
    let (base, base_query) = split(path, b"?");
    out.clear();
    let query = match (origin.is_some(), own) {
        (false, []) => {
            out.extend_from_slice(base);
            if query.is_empty() { base_query } else { query }
        }
        (false, [first, ..]) if *first != b'/' => {
            let end = base.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
            out.extend_from_slice(&base[..end]);
            out.extend_from_slice(own);
            query
        }
        _ => {
            out.extend_from_slice(own);
            query
        }
    };
    remove_dots(out);
    out.extend_from_slice(query);
    Ok(origin)
}

/// A text up to the first of these bytes, and from there on.
fn split<'t>(text: &'t [u8], marks: &[u8]) -> (&'t [u8], &'t [u8]) {
    text.split_at(text.iter().position(|byte| marks.contains(byte)).unwrap_or(text.len()))
}

/// The scheme, if there is one (RFC 3986 3.1).
fn scheme(reference: &[u8]) -> Option<&[u8]> {
    let end = reference.iter().position(|byte| b":/?".contains(byte))?;
    let scheme = &reference[..end];
    let is_scheme = scheme.first().is_some_and(u8::is_ascii_alphabetic)
        && scheme.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte));
    (reference[end] == b':' && is_scheme).then_some(scheme)
}

fn origin(authority: &[u8], is_https: bool) -> Result<Origin, Unusable> {
    if authority.contains(&b'@') {
        return Err(Unusable::User);
    }
    let authority = std::str::from_utf8(authority).map_err(|_| Unusable::Host)?;
    let (host, port) = parse_host_port(authority).map_err(|_| Unusable::Host)?;
    Ok(Origin { is_https, host, port: port.unwrap_or(if is_https { 443 } else { 80 }) })
}

/// Removes the segments `.` and `..` of a path (RFC 3986 5.2.4), and begins it with a slash.
fn remove_dots(path: &mut Vec<u8>) {
    if path.first() != Some(&b'/') {
        path.insert(0, b'/');
    }
    let (mut read, mut write) = (0, 0);
    while read < path.len() {
        // Each segment with the slash before it.
        let end = path[read + 1..].iter().position(|byte| *byte == b'/');
        let end = end.map_or(path.len(), |at| read + 1 + at);
        let is_last = end == path.len();
        match &path[read + 1..end] {
            b"." | b".." => {
                if end - read == 3 {
                    write = path[..write].iter().rposition(|byte| *byte == b'/').unwrap_or(0);
                }
                // `/a/.` is `/a/`.
                if is_last {
                    path[write] = b'/';
                    write += 1;
                }
            }
            _ => {
                path.copy_within(read..end, write);
                write += end - read;
            }
        }
        read = end;
    }
    path.truncate(write);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(locations: &[&str]) -> Result<(Option<String>, String), Unusable> {
        let mut path = Vec::new();
        let values = locations.iter().map(|one| one.as_bytes());
        let origin = resolve(values, false, b"/a/b?q=1", &mut path)?;
        let scheme = |one: &Origin| if one.is_https { "https" } else { "http" };
        let origin = origin.map(|one| format!("{} {} {}", scheme(&one), one.host, one.port));
        Ok((origin, String::from_utf8(path).unwrap()))
    }

    #[test]
    fn references_are_resolved_3986_5_2() {
        let table = [
            ("/c", None, "/c"),
            ("c", None, "/a/c"),
            ("c?d=e/f#g", None, "/a/c?d=e/f"),
            ("?x", None, "/a/b?x"),
            ("#top", None, "/a/b?q=1"),
            ("./c/", None, "/a/c/"),
            ("../c", None, "/c"),
            ("../../../c/./d/../e", None, "/c/e"),
            ("..", None, "/"),
            (".", None, "/a/"),
            ("/a/b/..", None, "/a/"),
            ("//h", Some("http h 80"), "/"),
            ("//h:81/x?y", Some("http h 81"), "/x?y"),
            ("HTTPS://H.example?x", Some("https H.example 443"), "/?x"),
            ("http://[::1]:8080/../x", Some("http ::1 8080"), "/x"),
            ("a/b:c", None, "/a/a/b:c"),
            ("/x y/ä", None, "/x y/ä"),
            ("/c?u=http://h/../x", None, "/c?u=http://h/../x"),
            (r"/\h/", None, r"/\h/"),
        ];
        for (location, origin, path) in table {
            let expected = Ok((origin.map(str::to_owned), path.to_owned()));
            assert_eq!(resolved(&[location]), expected, "{location}");
        }
        assert_eq!(resolved(&["/c", "/c"]).unwrap().1, "/c");
    }

    #[test]
    fn what_cannot_be_followed_has_a_name() {
        let long = "/".repeat(MOST_BYTES + 1);
        let table: [(&[&str], Unusable); 15] = [
            (&[], Unusable::Missing),
            (&["/c", "/d"], Unusable::Several),
            (&[""], Unusable::Empty),
            (&[&long], Unusable::TooLong),
            (&["/c\r\nX: y"], Unusable::Character),
            (&["ftp://h/"], Unusable::Scheme),
            (&["file:///etc/passwd"], Unusable::Scheme),
            (&["javascript:alert(1)"], Unusable::Scheme),
            (&["ws://h/"], Unusable::Scheme),
            (&["http:/c"], Unusable::Host),
            (&["http:///c"], Unusable::Host),
            (&["http://h:0/"], Unusable::Host),
            (&["http://h h/"], Unusable::Host),
            (&["//u:p@h/"], Unusable::User),
            (&["http://good@evil/"], Unusable::User),
        ];
        for (locations, why) in table {
            assert_eq!(resolved(locations), Err(why), "{locations:?}");
        }
    }

    proptest::proptest! {
        /// Any bytes: no panic, a path that begins with a slash and has no segments of dots.
        #[test]
        fn a_path_has_no_dots(
            pieces in proptest::collection::vec(
                proptest::sample::select(vec!["/", ".", "..", "a", "//", "?", "#", ":", "@", "http:"]),
                0..12,
            ),
        ) {
            let mut path = Vec::new();
            let location = pieces.concat();
            if resolve([location.as_bytes()].into_iter(), true, b"/a/b", &mut path).is_ok() {
                let own = split(&path, b"?").0;
                assert_eq!(own.first(), Some(&b'/'));
                assert!(!own.split(|byte| *byte == b'/').any(|one| matches!(one, b"." | b"..")));
            }
        }
    }
}
