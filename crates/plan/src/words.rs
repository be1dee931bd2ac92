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
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%{}".contains(c);
    // Shells leave a placeholder such as {port} as it is, and expand {a,b} and {1..3}.
    let expands = argument.contains('{') && (argument.contains(',') || argument.contains(".."));
    if !argument.is_empty()
        && argument.chars().all(is_plain)
        && !expands
        && argument != "{"
        && argument != "}"
    {
        return argument.to_owned();
    }
    // Quotes keep an end of a line, which a reader could not see or paste.
    if argument.contains(is_hidden) {
        return format!("$'{}'", argument.chars().map(in_dollar_quotes).collect::<String>());
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

/// A character within `$'…'` (POSIX.1-2024, 2.2.4). Bytes are in octal, which cannot run into what follows.
fn in_dollar_quotes(c: char) -> String {
    match c {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        '\\' | '\'' => format!("\\{c}"),
        c if is_hidden(c) => {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().map(|byte| format!("\\{byte:03o}")).collect()
        }
        c => c.to_string(),
    }
}

/// Whether a character is invisible: controls (Cc), formats, e.g. of the direction of writing and of no
/// width (Cf), ends of lines and paragraphs (Zl, Zp), blanks whose category is letter, and unassigned
/// code points.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{600}'..='\u{605}'
                | '\u{61c}'
                | '\u{6dd}'
                | '\u{70f}'
                | '\u{890}'..='\u{891}'
                | '\u{8e2}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fdd0}'..='\u{fdef}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{110bd}'
                | '\u{110cd}'
                | '\u{13430}'..='\u{1345f}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
        || u32::from(c) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::{join, quoted, split};

    #[test]
    fn arguments_are_quoted_where_a_shell_would_take_them_apart() {
        for plain in [
            "-c",
            "--rate=20k/s",
            "http://host:80/a%20b",
            "10.0.0.1,10.0.0.2",
            "{port}",
            "-p{port}/{dir}",
        ] {
            assert_eq!(quoted(plain), plain);
        }
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("p99 < 5ms"), "'p99 < 5ms'");
        assert_eq!(quoted("http://h/?a=1&b=2"), "'http://h/?a=1&b=2'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("{a,b}"), "'{a,b}'");
        assert_eq!(quoted("f{1..3}"), "'f{1..3}'");
        assert_eq!(quoted("Cookie: [redacted]"), "'Cookie: [redacted]'");
        assert_eq!(quoted("$HOME ~ *"), "'$HOME ~ *'");
        assert_eq!(quoted("a\nb's \\ \u{1b}1"), r"$'a\nb\'s \\ \0331'");
        assert_eq!(quoted("\u{202e}"), r"$'\342\200\256'");
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
