//! A command as typed in one argument, to words: blanks part, quotes and backslashes hold
//! together, as in a shell. There is no shell: nothing is expanded, nothing is redirected.

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
                        None => return Err(format!("a {quote} is not closed in: {text}")),
                        Some(end) if end == quote => break,
                        Some('\\') if quote == '"' => word.extend(letters.next()),
                        Some(other) => word.push(other),
                    }
                }
            }
            '\\' => match letters.next() {
                Some(next) => word.get_or_insert_default().push(next),
                None => return Err(format!("a backslash has nothing behind it in: {text}")),
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

#[cfg(test)]
mod tests {
    use super::split;

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
