//! What requests of HTTP/2 have that are calls (gRPC's PROTOCOL-HTTP2, "Requests").

/// The header fields that every call has beside `:path`, which is `/package.Service/Method`; the method is POST.
pub const HEADERS: [(&str, &str); 2] = [("content-type", "application/grpc"), ("te", "trailers")];

/// The value of `grpc-timeout` for a deadline after `timeout_ns`: up to eight digits and a unit. A time that these
/// cannot say is rounded up.
pub fn timeout(timeout_ns: u64) -> String {
    const UNITS: [(u64, char); 6] = [
        (1, 'n'),
        (1_000, 'u'),
        (1_000_000, 'm'),
        (1_000_000_000, 'S'),
        (60_000_000_000, 'M'),
        (3_600_000_000_000, 'H'),
    ];
    const MOST: u64 = 99_999_999;
    let fits = |(unit_ns, _): &&(u64, char)| timeout_ns.div_ceil(*unit_ns) <= MOST;
    // Hours fit: 2^64 ns are 5,124,096 of them.
    let (unit_ns, unit) = UNITS.iter().find(fits).unwrap_or(&UNITS[5]);
    format!("{}{unit}", timeout_ns.div_ceil(*unit_ns))
}

/// A message with its prefix: a zero byte, as it is not compressed, and its length.
pub fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    [&[0], &length.to_be_bytes()[..], message].concat()
}

/// The first message of a body that is not compressed, and what comes after it; `None` if there is no whole one.
pub fn split_message(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[0, length @ ..], rest) = body.split_first_chunk::<5>()? else { return None };
    rest.split_at_checked(u32::from_be_bytes(length) as usize)
}

/// The messages of a whole body; `None` if it ends within one, or one is compressed.
pub fn messages(mut body: &[u8]) -> Option<Vec<&[u8]>> {
    let mut all = Vec::new();
    while !body.is_empty() {
        let (message, rest) = split_message(body)?;
        all.push(message);
        body = rest;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::timeout;

    #[test]
    fn timeouts_have_eight_digits() {
        let table = [
            (0, "0n"),
            (1, "1n"),
            (99_999_999, "99999999n"),
            (100_000_000, "100000u"),
            (100_000_001, "100001u"),
            (1_000_000_000, "1000000u"),
            (99_999_999_001, "100000m"),
            (3_600_000_000_000, "3600000m"),
            (u64::MAX, "5124096H"),
        ];
        for (ns, text) in table {
            assert_eq!(timeout(ns), text, "{ns}");
        }
    }
}
