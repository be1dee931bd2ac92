//! What every version of HTTP writes in the same way (RFC 9110): tokens, numbers, which requests say their length.

/// RFC 9110 8.6: a method that gives content a meaning is sent with its length, even 0.
pub(crate) fn wants_length(method: &[u8]) -> bool {
    matches!(method, b"POST" | b"PUT" | b"PATCH")
}

/// How servers say in the body of a 400 that a port of HTTPS was asked in clear text: nginx, Go, Apache, Tomcat.
const ASKED_IN_CLEAR: [&[u8]; 4] = [
    b"plain HTTP request was sent to HTTPS port",
    b"Client sent an HTTP request to an HTTPS server",
    b"speaking plain HTTP to an SSL-enabled server port",
    b"combination of host and port requires TLS",
];
/// Their pages are shorter.
const ASKED_IN_CLEAR_BYTES: usize = 1 << 10;

/// Whether the body of a 400, or its beginning, says that.
#[cold]
pub(crate) fn says_asked_in_clear(body: &[u8]) -> bool {
    let body = &body[..body.len().min(ASKED_IN_CLEAR_BYTES)];
    ASKED_IN_CLEAR.iter().any(|words| body.windows(words.len()).any(|here| here == *words))
}

/// A number of digits only; `None` if there are none or too many.
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |sum, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

/// Whether a byte may be in a token (RFC 9110 5.6.2).
#[inline]
pub(crate) fn is_token_byte(byte: u8) -> bool {
    TOKEN[usize::from(byte)]
}

static TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'!' | b'#'
                    | b'$'
                    | b'%'
                    | b'&'
                    | b'\''
                    | b'*'
                    | b'+'
                    | b'-'
                    | b'.'
                    | b'^'
                    | b'_'
                    | b'`'
                    | b'|'
                    | b'~'
            );
        byte += 1;
    }
    table
};
