//! One line: `host ident user [time] "METHOD path HTTP/x" status bytes`, and whatever stands behind; or Apache's
//! ssl_request_log, `[time] host TLSv1.3 CIPHER "METHOD path HTTP/x" bytes`, which has no status.

use std::borrow::Cow;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// What counts of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'t> {
    pub(super) method: &'t str,
    pub(super) path: Cow<'t, str>,
    pub(super) status: u16,
    /// In seconds since 1970.
    pub(super) at_s: Option<i64>,
}

/// Reads a line of the Common Log Format. Combined has two more fields, others have more in front.
pub(super) fn parse(line: &str) -> Option<Line<'_>> {
    let (_, rest) = line.split_once('[')?;
    let (time, rest) = rest.split_once(']')?;
    let (between, rest) = rest.split_once('"')?;
    let end = end_of_quoted(rest)?;
    let mut words = rest[..end].split(' ');
    let (method, path, version) = (words.next()?, words.next()?, words.next());
    let is_version = version.is_none_or(|version| version.starts_with("HTTP/"));
    let mut behind = rest[end + 1..].split_whitespace();
    let status = behind.next()?.parse().ok().filter(|status| (100..600).contains(status));
    let is_tls = |word: &str| word.starts_with("TLSv") || word.starts_with("SSLv");
    // The number behind is that of bytes.
    let is_without = between.split_whitespace().any(is_tls) && behind.next().is_none();
    let status = if is_without { 200 } else { status? };
    let path = origin_form(path)?;
    (is_version && words.next().is_none()).then(|| Line {
        method,
        path: unescaped(path),
        status,
        at_s: seconds(time),
    })
}

/// Quotation marks in a request are escaped by a backslash.
fn end_of_quoted(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| match byte {
        _ if std::mem::take(&mut is_escaped) => false,
        b'\\' => {
            is_escaped = true;
            false
        }
        byte => byte == b'"',
    })
}

/// Servers escape bytes that could break the line as `\xHH`, a quotation mark as `\"`: in a path they are
/// percent-encoded.
fn unescaped(path: &str) -> Cow<'_, str> {
    if !path.contains('\\') {
        return path.into();
    }
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('\\') {
        plain += before;
        let hex = after.strip_prefix('x').and_then(|hex| hex.get(..2));
        match hex.filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            Some(hex) => {
                plain.push('%');
                plain += hex;
                rest = &after[3..];
            }
            None => {
                // The byte behind stands for itself.
                let escaped = after.chars().next();
                match escaped {
                    Some('"') => plain += "%22",
                    Some('\\') | None => plain += "%5C",
                    Some(c) => plain.push(c),
                }
                rest = &after[escaped.map_or(0, char::len_utf8)..];
            }
        }
    }
    (plain + rest).into()
}

/// Path and query; those of proxies are whole URLs (RFC 9112 section 3.2.2).
fn origin_form(path: &str) -> Option<&str> {
    if path.starts_with('/') {
        return Some(path);
    }
    let (_, rest) = path.split_once("://")?;
    rest.find('/').map(|at| &rest[at..])
}

/// `10/Oct/2000:13:55:36 -0700`
fn seconds(text: &str) -> Option<i64> {
    let (time, zone) = text.split_once(' ').unwrap_or((text, "+0000"));
    let mut parts = time.split(['/', ':']);
    let day = parts.next()?.parse().ok()?;
    let month = parts.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? as i64 + 1;
    let mut number = || parts.next()?.parse::<i64>().ok();
    let (year, hour, minute, second) = (number()?, number()?, number()?, number()?);
    let zone: i64 = zone.parse().ok()?;
    let offset_s = (zone / 100 * 60 + zone % 100) * 60;
    let is_date = (1970..=9999).contains(&year) && (1..=31).contains(&day);
    let is_time =
        (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
    let is_zone = (-2400..=2400).contains(&zone);
    (is_date && is_time && is_zone)
        .then(|| ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second - offset_s)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
pub(crate) fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_formats() {
        let common = r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326"#;
        let line = |method, path: &'static str, status, at_s| Line {
            method,
            path: path.into(),
            status,
            at_s,
        };
        assert_eq!(parse(common), Some(line("GET", "/apache_pb.gif", 200, Some(971_211_336))));
        let combined = r#"::1 - - [29/Feb/2024:00:00:00 +0000] "HEAD /a?q=\"x\" HTTP/2.0" 304 - "http://r/" "agent [x] \"y\"""#;
        assert_eq!(parse(combined), Some(line("HEAD", "/a?q=%22x%22", 304, Some(1_709_164_800))));
        let of_tls = r#"[10/Oct/2000:13:55:36 -0700] 192.0.2.1 TLSv1.3 TLS_AES_128_GCM_SHA256 "GET /b HTTP/1.1" 404"#;
        assert_eq!(parse(of_tls), Some(line("GET", "/b", 200, Some(971_211_336))));
        assert_eq!(parse(&format!("{of_tls} 77")), Some(line("GET", "/b", 404, Some(971_211_336))));
        let empty = of_tls.replace(" 404", " -");
        assert_eq!(parse(&empty), Some(line("GET", "/b", 200, Some(971_211_336))));
        let proxy = r#"h - - [x] "GET http://h:80/a HTTP/1.1" 200 1"#;
        assert_eq!(parse(proxy), Some(line("GET", "/a", 200, None)));
    }

    #[test]
    fn escapes_of_servers_are_percent_encoded() {
        let table = [
            ("/a", "/a"),
            (r"/\x22a\x5C\xe9", "/%22a%5C%e9"),
            (r#"/\"\\\"#, "/%22%5C%5C"),
            (r"/\xg0\x", "/xg0x"),
            (r"/\é", "/é"),
        ];
        for (logged, path) in table {
            assert_eq!(unescaped(logged), path, "{logged}");
        }
    }

    #[test]
    fn lines_that_are_broken() {
        for line in [
            "",
            "hello",
            r#"h - - [t] "GET / HTTP/1.1"#,
            r#"h - - [t] "GET / HTTP/1.1" 20 1"#,
            r#"h - - [t] "-" 400 0"#,
            r#"h - - [t] "GET /a b HTTP/1.1" 200 1"#,
            r#"h - - [t] "\x16\x03\x01" 400 1"#,
            r#"h - - [t] "OPTIONS * HTTP/1.1" 200 1"#,
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
