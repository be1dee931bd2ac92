//! What a user takes from a server's response: captured values and cookies.

use candor_plan::url::{Alternative, Origin, Unusable, alternatives, resolve};

use candor_memory::{Capture, Captures, MOST_COOKIES, MOST_USER_BYTES, Memory, Sites, Source};

/// A path, and behind a zero byte the value of a Location: whatever they are, a redirect that can be followed leads to
/// a path without segments of dots, of a host and a port, and the same place is reached again from its URL.
pub(crate) fn location(bytes: &[u8]) {
    let (base, value) = match bytes.iter().position(|byte| *byte == 0) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (&b"/a/b?c"[..], bytes),
    };
    let resolved = |value: &[u8], out: &mut Vec<u8>| resolve([value].into_iter(), true, base, out);
    let mut path = Vec::new();
    let Ok(origin) = resolved(value, &mut path) else { return };
    let end = path.iter().position(|byte| *byte == b'?').unwrap_or(path.len());
    assert_eq!(path.first(), Some(&b'/'));
    assert!(!path[..end].split(|byte| *byte == b'/').any(|one| matches!(one, b"." | b"..")));
    assert!(path.len() <= base.len() + value.len() + 1);
    let Some(Origin { is_https, host, port }) = &origin else { return };
    let scheme = if *is_https { "https" } else { "http" };
    let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    let url = [format!("{scheme}://{host}:{port}").as_bytes(), &path].concat();
    let mut again = Vec::new();
    match resolved(&url, &mut again) {
        Ok(other) => assert_eq!((other, again), (origin, path)),
        // With the port it may be longer than is read.
        Err(why) => assert_eq!(why, Unusable::TooLong),
    }
}

/// The value of an Alt-Svc field: whatever it is, its alternatives have ports, and are read again from what they are.
pub(crate) fn alt_svc(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(all) = alternatives(&text) else { return };
    for Alternative { host, port, is_fresh, .. } in &all {
        let host = host.clone().unwrap_or_default();
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        let life = if *is_fresh { "1" } else { "0" };
        let again =
            alternatives(&format!("h3=\"{host}:{port}\"; ma={life}")).expect("as it was read");
        assert_eq!((again[0].port, again[0].is_fresh), (*port, *is_fresh));
        assert_eq!(again[0].host.clone().unwrap_or_default(), host.trim_matches(['[', ']']));
    }
}

/// A source, header lines and a body, each up to a zero byte: whatever they are, what is remembered is bounded, is
/// the same each time, and can be sent back as one line.
pub(crate) fn response(bytes: &[u8]) {
    let mut parts = bytes.splitn(3, |byte| *byte == 0);
    let mut part = || parts.next().unwrap_or_default();
    let (source, fields, body) = (part(), part(), part());
    let mut memory = Memory::new(2);
    let Ok(source) = str::from_utf8(source) else { return };
    match Source::parse(source) {
        Ok(source) => {
            let capture = |variable| Capture { variable, name: "".into(), source: source.clone() };
            let captures = Captures::new(vec![capture(0), capture(1)]).expect("two variables");
            let taken = captures.take(200, fields, body, &mut memory);
            assert_eq!(taken.is_ok(), memory.value(0).is_some(), "{taken:?}");
            assert_eq!(memory.value(0), memory.value(1));
            let before = memory.value(0).map(<[u8]>::to_vec);
            assert_eq!(captures.take(200, fields, body, &mut memory), taken);
            assert_eq!(memory.value(0), before.as_deref(), "the same response has the same value");
        }
        Err(error) => assert!(!error.to_string().contains(char::is_control), "{error}"),
    }
    let sites = Sites::new([("shop.example.com", false), ("api.example.com", true)]);
    for site in [(&sites, 0), (&sites, 1)] {
        memory.take_cookies(site, b"/a/b?c", fields, 1_000_000_000, false);
        let mut line = Vec::new();
        let any = memory.write_cookies(site, b"/a/b", 1_000_000_000, &mut line);
        assert_eq!(any, !line.is_empty());
        assert!(!line.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)), "{line:?}");
    }
    assert!(memory.bytes() <= MOST_USER_BYTES && memory.cookies() <= MOST_COOKIES);
}
