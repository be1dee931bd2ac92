//! A server's side of AWS Signature Version 4: whether a request is signed with a key.
//!
//! Written by itself, from the description, so that a mistake of the client is not repeated here. It takes paths without
//! relative segments and queries in which every name has a value.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::{digest, hmac};

/// Services refuse a request whose time is another one.
const MOST_AWAY: Duration = Duration::from_secs(15 * 60);

/// Says why a request is not signed with the key `secret`; `Ok`: the key's id and the scope of its signature.
pub fn check(head: &str, body: &[u8], secret: &str) -> Result<String, String> {
    let mut lines = head.split("\r\n");
    let line: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let &[method, uri, _] = &line[..] else { return Err(format!("{line:?}")) };
    let mut fields = BTreeMap::<String, Vec<String>>::new();
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        fields.entry(name.to_lowercase()).or_default().push(value);
    }
    let field = |name: &str| match fields.get(name).map(Vec::as_slice) {
        Some([one]) => Ok(one.as_str()),
        other => Err(format!("{name}: {other:?}")),
    };
    let authorization = field("authorization")?;
    let rest = authorization.strip_prefix("AWS4-HMAC-SHA256 ").ok_or("another algorithm")?;
    let parts: BTreeMap<&str, &str> =
        rest.split(", ").filter_map(|part| part.split_once('=')).collect();
    let part = |name: &str| parts.get(name).copied().ok_or_else(|| format!("no {name}"));
    let (credential, names) = (part("Credential")?, part("SignedHeaders")?);
    let signed: Vec<&str> = names.split(';').collect();
    let is_needed =
        |name: &str| name == "host" || name == "content-type" || name.starts_with("x-amz-");
    if let Some(name) = fields.keys().find(|name| is_needed(name) && !signed.contains(&&***name)) {
        return Err(format!("{name} is not signed"));
    }
    let date = field("x-amz-date")?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    if seconds(date).is_none_or(|at| now.abs_diff(Duration::from_secs(at)) > MOST_AWAY) {
        return Err(format!("{date} is long ago"));
    }
    let (id, scope) = credential.split_once('/').ok_or("no scope")?;
    let &[day, region, service, end] = &scope.split('/').collect::<Vec<_>>()[..] else {
        return Err(format!("the scope {scope}"));
    };
    if !date.starts_with(day) {
        return Err(format!("{day} is not the day of {date}"));
    }
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let is_s3 = service == "s3";
    let path = if is_s3 { path.to_owned() } else { path.replace('%', "%25") };
    let mut pairs: Vec<&str> = query.split('&').collect();
    pairs.sort_unstable();
    let payload = hex(digest::digest(&digest::SHA256, body).as_ref());
    if is_s3 && field("x-amz-content-sha256")? != payload {
        return Err("the body has another hash".to_owned());
    }
    let mut canonical = format!("{method}\n{path}\n{}\n", pairs.join("&"));
    for name in &signed {
        let values = fields.get(*name).ok_or_else(|| format!("{name} is not there"))?;
        canonical += &format!("{name}:{}\n", values.join(","));
    }
    canonical += &format!("\n{names}\n{payload}");
    let hash = hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
    let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{hash}");
    let mut key = format!("AWS4{secret}").into_bytes();
    for step in [day, region, service, end, &text] {
        let step = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), step.as_bytes());
        key = step.as_ref().to_vec();
    }
    if hex(&key) != part("Signature")? {
        return Err(format!("another signature than of {canonical:?}"));
    }
    Ok(format!("{id} {region} {service}"))
}

/// Seconds since 1970 of a time such as `20150830T123600Z` (the days from civil of Howard Hinnant).
fn seconds(date: &str) -> Option<u64> {
    let number = |at: std::ops::Range<usize>| date.get(at)?.parse::<u64>().ok();
    let (year, month, day) = (number(0..4)?, number(4..6)?, number(6..8)?);
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468;
    Some(((days * 24 + number(9..11)?) * 60 + number(11..13)?) * 60 + number(13..15)?)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
