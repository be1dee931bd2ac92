//! The bytes that a request line can have, whichever format a row comes from.

/// A byte that would end a request line, or a part of it, early.
pub(crate) fn is_blank(byte: u8) -> bool {
    byte <= b' ' || byte == 0x7f
}

/// RFC 9110 section 5.6.2.
pub(crate) fn is_token(word: &[u8]) -> bool {
    let is_tchar = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !word.is_empty() && word.iter().all(is_tchar)
}
