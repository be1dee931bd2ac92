//! Lines of a header block, as a session keeps them: `Name: value` with a line end.
//!
//! The session has validated the block; this module nevertheless accepts any bytes. A line without a
//! colon is no field.

/// The values of the fields with this name, in order, without blanks around them.
pub fn values<'a>(fields: &'a [u8], name: &[u8]) -> impl Iterator<Item = &'a [u8]> {
    lines(fields).filter_map(move |line| {
        // The colon of most lines is elsewhere, which is cheaper to see than to compare names.
        if line.get(name.len()) != Some(&b':') {
            return None;
        }
        let (own, value) = line.split_at(name.len());
        own.eq_ignore_ascii_case(name).then(|| value[1..].trim_ascii())
    })
}

fn lines(fields: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = fields;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::values;

    fn all<'a>(fields: &'a str, name: &str) -> Vec<&'a str> {
        values(fields.as_bytes(), name.as_bytes())
            .map(|value| std::str::from_utf8(value).unwrap())
            .collect()
    }

    #[test]
    fn names_have_no_case_and_values_no_blanks() {
        let fields = "Date: x\r\nX-Id: \t a b \r\nx-ID:second\r\nX-Idle: no\r\n";
        assert_eq!(all(fields, "X-Id"), ["a b", "second"]);
        assert_eq!(all(fields, "date"), ["x"]);
        assert!(all(fields, "X-I").is_empty());
    }

    #[test]
    fn odd_blocks_are_read_as_far_as_they_have_fields() {
        assert!(all("", "a").is_empty());
        assert!(all("a", "a").is_empty());
        assert!(all("a : 1\r\n", "a").is_empty(), "RFC 9112 5.1: no blank before the colon");
        assert!(all(" a: 1\n", "a").is_empty());
        assert_eq!(all("\n\n\r\na:\n\na: 2", "a"), ["", "2"]);
        assert_eq!(values(b"\xff: 1\na: \xff\0\n", b"a").next(), Some(&b"\xff\0"[..]));
    }
}
