//! The static table (RFC 7541 appendix A).

/// Entries 1 to 61; the first is `ENTRIES[0]`.
pub(super) static ENTRIES: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// How a field stands in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Name and value, at this index.
    Both(u8),
    /// The name, at this index.
    Name(u8),
    /// Not at all.
    Nothing,
}

/// The longest name.
const LONGEST: usize = 27;

/// Indices in the order of their names' lengths, and where those of each length begin.
static BY_LENGTH: ([u8; ENTRIES.len()], [u8; LONGEST + 2]) = {
    let mut indices = [0; ENTRIES.len()];
    let mut begins = [0; LONGEST + 2];
    let (mut length, mut at) = (0, 0);
    while length <= LONGEST {
        begins[length] = at as u8;
        let mut index = 0;
        while index < ENTRIES.len() {
            if ENTRIES[index].0.len() == length {
                indices[at] = index as u8 + 1;
                at += 1;
            }
            index += 1;
        }
        length += 1;
    }
    begins[length] = at as u8;
    assert!(at == ENTRIES.len());
    (indices, begins)
};

/// Looks a field up.
pub(super) fn find(name: &[u8], value: &[u8]) -> Found {
    let (indices, begins) = &BY_LENGTH;
    let Some(&[begin, end]) = begins.get(name.len()..name.len() + 2).and_then(<[u8]>::first_chunk)
    else {
        return Found::Nothing;
    };
    let mut found = Found::Nothing;
    for &index in &indices[usize::from(begin)..usize::from(end)] {
        let (known, known_value) = ENTRIES[usize::from(index) - 1];
        if known.as_bytes() != name {
            continue;
        }
        // RFC 7541 knows fields with an empty value as names only; matching one is right too.
        if known_value.as_bytes() == value {
            return Found::Both(index);
        }
        if found == Found::Nothing {
            found = Found::Name(index);
        }
    }
    found
}
