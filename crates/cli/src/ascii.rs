//! Plain ASCII for terminals with no other encoding.
//!
//! Our own characters become similar ones of the same width, if there are any; all others, e.g. in texts of
//! servers and files, become question marks.

/// Whether the user's locale names an encoding other than UTF-8, e.g. `C`, `POSIX` or `de_DE.ISO-8859-1`.
/// Without a locale, UTF-8 is assumed: containers often have none, but their output appears on a terminal
/// with one.
pub(crate) fn is_asked_for() -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(std::env::var_os);
    set.map(|value| value.to_string_lossy().into_owned())
        .find(|value| !value.is_empty())
        .is_some_and(|locale| is_other(&locale))
}

fn is_other(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    !locale.contains("utf-8") && !locale.contains("utf8")
}

/// `text` in ASCII.
pub(crate) fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            sign if sign.is_ascii() => plain.push(sign),
            'µ' => plain.push('u'),
            '·' => plain.push('-'),
            '–' | '─' => plain.push('-'),
            '…' => plain.push_str("..."),
            '→' => plain.push_str("->"),
            '±' => plain.push_str("+-"),
            '×' => plain.push('x'),
            '≥' => plain.push_str(">="),
            '≤' => plain.push_str("<="),
            '≠' => plain.push_str("!="),
            '†' => plain.push('+'),
            '●' => plain.push('*'),
            '░' => plain.push('.'),
            '▶' => plain.push('>'),
            '✓' => plain.push('+'),
            '✗' => plain.push('x'),
            '│' | '┆' | '┤' => plain.push('|'),
            '└' => plain.push('+'),
            '▁' => plain.push('_'),
            '▂' => plain.push('.'),
            '▃' => plain.push('-'),
            '▄' => plain.push('='),
            '▅' => plain.push('+'),
            '▆' => plain.push('*'),
            '▇' => plain.push('%'),
            '█' => plain.push('#'),
            '\u{a0}' | '\u{202f}' => plain.push(' '),
            _ => plain.push('?'),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_ours_have_a_likeness() {
        assert_eq!(ascii("p50 84–94 µs · ± 95 % → ▁▂▃▄▅▆▇█"), "p50 84-94 us - +- 95 % -> _.-=+*%#");
        assert_eq!(ascii("größer"), "gr??er");
    }

    #[test]
    fn an_encoding_is_read_from_the_locale() {
        assert!(["C", "POSIX", "de_DE.ISO-8859-1", "en_US"].into_iter().all(is_other));
        assert!(["C.UTF-8", "en_US.utf8"].into_iter().all(|locale| !is_other(locale)));
    }
}
