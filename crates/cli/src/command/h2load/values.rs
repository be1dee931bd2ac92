//! Values of h2load's options, parsed and refused as in h2load.

use std::fmt::Display;
use std::str::FromStr;

use candor_plan::values::{HostPort, Size, WindowBits};

use crate::getopt::Refusal;

/// h2load's message for an invalid value.
pub(super) fn bad_value(shown: &str, text: &str) -> Refusal {
    Refusal(format!("{shown}: bad option value: {text}"))
}

/// A value whose type checks its bounds.
pub(super) fn parsed<T: FromStr<Err: Display>>(shown: &str, text: &str) -> Result<T, Refusal> {
    text.parse().map_err(|error| Refusal(format!("{shown}: bad option value: {text}: {error}")))
}

/// A count; zero is refused in h2load's words.
pub(super) fn above_zero<T: FromStr<Err: Display>>(
    text: &str,
    shown: &str,
    what: &str,
) -> Result<T, Refusal> {
    let is_zero = !text.is_empty() && text.bytes().all(|byte| byte == b'0');
    match is_zero {
        true if what == "requests" => Err(Refusal(format!(
            "{shown}: the number of requests must be strictly greater than 0 if timing-based test is not being run."
        ))),
        true if what.starts_with("max") => {
            Err(Refusal(format!("{shown}: the {what} must be strictly greater than 0.")))
        }
        true => {
            Err(Refusal(format!("{shown}: the number of {what} must be strictly greater than 0.")))
        }
        false => parsed(shown, text),
    }
}

/// h2load's K, M and G are powers of 1024.
pub(super) fn size(shown: &str, text: &str) -> Result<Size, Refusal> {
    let (digits, factor) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1u64),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    bytes.map(Size).ok_or_else(|| bad_value(shown, text))
}

/// The size of a window, as a power of two.
pub(super) fn window_bits(shown: &str, text: &str) -> Result<WindowBits, Refusal> {
    let bits = text.parse().ok().and_then(WindowBits::of_any_size);
    bits.ok_or_else(|| {
        Refusal(format!("{shown}: specify the integer in the range [1, 30], inclusive"))
    })
}

/// The protocols to offer, in order: h3 alone where it is the first. h2load's default also contains old drafts, which no server
/// supports any more.
pub(super) fn alpn(shown: &str, list: &str) -> Result<Vec<String>, Refusal> {
    let mut names: Vec<String> = Vec::new();
    for name in list.split(',') {
        match name {
            "h2" | "http/1.1" | "h3" => {
                if !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
            "h2-16" | "h2-14" | "h3-29" => {}
            other => {
                return Err(Refusal(format!(
                    "{shown}: {other:?} is not supported; name h2, http/1.1 or h3"
                )));
            }
        }
    }
    match names.first().map(String::as_str) {
        None => {
            Err(Refusal(format!("{shown}: none of {list} is supported; name h2, http/1.1 or h3")))
        }
        // As in h2load, the first one says whether it is TCP or QUIC.
        Some("h3") => Ok(vec!["h3".to_owned()]),
        Some(_) => {
            names.retain(|name| name != "h3");
            Ok(names)
        }
    }
}

/// `HOST[:PORT]`; without a port, that of the URI.
pub(super) fn connect_to(text: &str, port: u16) -> Result<HostPort, Refusal> {
    let has_port = text.rsplit_once(':').is_some_and(|(host, port)| {
        !port.is_empty()
            && port.bytes().all(|byte| byte.is_ascii_digit())
            && (!host.contains(':') || host.ends_with(']'))
    });
    let whole = if has_port { text.to_owned() } else { format!("{text}:{port}") };
    whole.parse().map_err(|error| Refusal(format!("--connect-to: Invalid value {text}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_taken_from_the_uri_where_none_is_said() {
        let told = |text| connect_to(text, 8443).map(|one| (one.host, one.port)).unwrap();
        assert_eq!(told("elsewhere"), ("elsewhere".to_owned(), 8443));
        assert_eq!(told("elsewhere:1"), ("elsewhere".to_owned(), 1));
        assert_eq!(told("[::1]"), ("::1".to_owned(), 8443));
        assert_eq!(told("[::1]:2"), ("::1".to_owned(), 2));
    }
}
