//! A command typed in one argument, to words and back: blanks separate words, quotes and
//! backslashes join them, as in a shell. No shell is involved: nothing is expanded or redirected.

/// The words of `text`, at least one.
pub fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            blank if blank.is_whitespace() => words.extend(word.take()),
            quote @ ('\'' | '"') => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        None => return Err(format!("a {quote} is not closed")),
                        Some(end) if end == quote => break,
                        Some('\\') if quote == '"' => word.extend(letters.next()),
                        Some(other) => word.push(other),
                    }
                }
            }
            '\\' => match letters.next() {
                Some(next) => word.get_or_insert_default().push(next),
                None => return Err("a backslash has nothing behind it".to_owned()),
            },
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    match words.first() {
        Some(program) if !program.is_empty() => Ok(words),
        _ => Err("a command is missing; write for example 'my-server --standalone'".to_owned()),
    }
}

/// The words as one text, each as a shell takes it.
pub fn join(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// An argument as a POSIX shell takes it.
pub fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::{join, quoted, split};

    #[test]
    fn arguments_are_quoted_where_a_shell_would_take_them_apart() {
        for plain in ["-c", "--rate=20k/s", "http://host:80/a%20b", "10.0.0.1,10.0.0.2"] {
            assert_eq!(quoted(plain), plain);
        }
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("p99 < 5ms"), "'p99 < 5ms'");
        assert_eq!(quoted("http://h/?a=1&b=2"), "'http://h/?a=1&b=2'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("Cookie: [redacted]"), "'Cookie: [redacted]'");
        assert_eq!(quoted("$HOME ~ *"), "'$HOME ~ *'");
        let words = ["a", "b c", "", "it's"].map(str::to_owned);
        assert_eq!(split(&join(&words)).unwrap(), words);
    }

    #[test]
    fn words_are_those_of_a_shell() {
        for (text, words) in [
            ("a b  c", &["a", "b", "c"][..]),
            (" a\t'b c' ", &["a", "b c"]),
            (r#"a "b \" c" d\ e"#, &["a", r#"b " c"#, "d e"]),
            ("a '' --x='1 2'", &["a", "", "--x=1 2"]),
            ("a '\\n' $HOME", &["a", "\\n", "$HOME"]),
        ] {
            assert_eq!(split(text).unwrap(), words, "{text}");
        }
    }

    #[test]
    fn what_has_no_end_or_no_beginning_is_refused() {
        for (text, part) in [
            ("a 'b", "not closed"),
            ("a \"b", "not closed"),
            ("a \\", "nothing behind"),
            ("", "missing"),
            ("  ", "missing"),
            ("'' a", "missing"),
        ] {
            assert!(split(text).unwrap_err().contains(part), "{text}");
        }
    }
}
