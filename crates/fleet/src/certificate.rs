//! Reads from when until when a certificate is valid, so that a member whose certificate has ended is told so: a broker
//! only closes its connection; and the names in it, which a renewed one has again.
//!
//! It proves nothing. What cannot be read has no times and no names, and the broker decides.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// When the first certificate in this text is valid, in seconds since 1970: from the first time until the second.
pub fn validity(pem: &str) -> Option<(u64, u64)> {
    let der = der(pem)?;
    let (_, times, _) = element(from_validity(&der)?)?;
    let (from_tag, from, rest) = element(times)?;
    let (to_tag, to, _) = element(rest)?;
    Some((time(from_tag, from)?, time(to_tag, to)?))
}

/// The names of hosts and the addresses that the first certificate in this text is for.
pub fn names(pem: &str) -> Option<Vec<String>> {
    // RFC 5280 section 4.2.1.6: the extension subjectAltName, 2.5.29.17.
    const OF_NAMES: [u8; 3] = [0x55, 0x1d, 0x11];
    const EXTENSIONS: u8 = 0xa3;
    let der = der(pem)?;
    let fields = elements(from_validity(&der)?);
    let (_, content) = fields.into_iter().find(|(tag, _)| *tag == EXTENSIONS)?;
    let (_, extensions, _) = element(content)?;
    let of_names = |(_, extension): (u8, &[u8])| {
        let parts = elements(extension);
        let (_, name) = parts.first()?;
        let (_, value) = parts.last()?;
        (*name == OF_NAMES).then(|| value.to_vec())
    };
    let value = elements(extensions).into_iter().find_map(of_names)?;
    let (_, names, _) = element(&value)?;
    Some(elements(names).into_iter().filter_map(|(tag, content)| name(tag, content)).collect())
}

/// A name of a host, or an address.
fn name(tag: u8, content: &[u8]) -> Option<String> {
    const HOST: u8 = 0x82;
    const ADDRESS: u8 = 0x87;
    match tag {
        HOST => String::from_utf8(content.to_vec()).ok(),
        ADDRESS => {
            let four = <[u8; 4]>::try_from(content).map(IpAddr::from);
            let address = four.or_else(|_| <[u8; 16]>::try_from(content).map(IpAddr::from));
            address.ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

/// The first certificate in this text.
fn der(pem: &str) -> Option<Vec<u8>> {
    let (_, rest) = pem.split_once("-----BEGIN CERTIFICATE-----")?;
    let (body, _) = rest.split_once("-----END CERTIFICATE-----")?;
    let text: String = body.split_ascii_whitespace().collect();
    STANDARD.decode(text).ok()
}

/// Its fields from the validity on.
fn from_validity(der: &[u8]) -> Option<&[u8]> {
    // RFC 5280 section 4.1: Certificate, TBSCertificate, version, serial number, signature, issuer, validity.
    let (_, certificate, _) = element(der)?;
    let (_, mut rest, _) = element(certificate)?;
    const VERSION: u8 = 0xa0;
    if rest.first() == Some(&VERSION) {
        rest = element(rest)?.2;
    }
    for _ in 0..3 {
        rest = element(rest)?.2;
    }
    Some(rest)
}

/// Tag and content of each element.
fn elements(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut all = Vec::new();
    while let Some((tag, content, rest)) = element(bytes) {
        all.push((tag, content));
        bytes = rest;
    }
    all
}

/// The first element of DER: its tag, its content, and what follows.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let mut length = usize::from(first);
    if first & 0x80 != 0 {
        let count = usize::from(first & 0x7f);
        if count > 4 {
            return None;
        }
        let (digits, behind) = rest.split_at_checked(count)?;
        length = digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit));
        rest = behind;
    }
    let (content, behind) = rest.split_at_checked(length)?;
    Some((tag, content, behind))
}

/// A time in seconds since 1970.
fn time(tag: u8, content: &[u8]) -> Option<u64> {
    const UTC_TIME: u8 = 0x17;
    let text = std::str::from_utf8(content).ok()?.strip_suffix('Z')?;
    let text = match tag {
        UTC_TIME if text.starts_with(['0', '1', '2', '3', '4']) => format!("20{text}"),
        UTC_TIME => format!("19{text}"),
        _ => text.to_owned(),
    };
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second) = (part(8, 10)?, part(10, 12)?, part(12, 14)?);
    // Years that begin in March, so that a leap day is the last one.
    let (year, month) =
        if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    let days = days.checked_sub(719_469)?;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_since_1970() {
        for (tag, text, seconds) in [
            (0x17, "700101000000Z", 0),
            (0x17, "261126062309Z", 1_795_674_189),
            (0x18, "20000229235959Z", 951_868_799),
            (0x18, "20500301000000Z", 2_529_705_600),
        ] {
            assert_eq!(time(tag, text.as_bytes()), Some(seconds), "{text}");
        }
        assert_eq!(time(0x17, b"7001"), None);
        for wrong in ["", "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----"] {
            assert_eq!((validity(wrong), names(wrong)), (None, None));
        }
    }
}
