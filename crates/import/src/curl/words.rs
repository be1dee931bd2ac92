//! Words of a command line as a POSIX shell reads them, with `$'…'` of bash and the `^` of Windows'
//! cmd, which browsers use in "Copy as cURL (cmd)".
//!
//! Nothing is expanded: no variable, no command, no pattern. A `$NAME` stays as it is and is reported.

use crate::error::Position;

/// A word, and where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) at: Position,
    /// It has a `$NAME` or `$(…)` that a shell would expand.
    pub(crate) has_expansion: bool,
}

/// A quotation mark that is not closed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unclosed {
    pub(crate) mark: char,
    pub(crate) at: Position,
}

/// The commands of a text: words, separated by ends of lines, `;`, `&` and `|`.
pub(crate) fn commands(text: &str) -> Result<Vec<Vec<Word>>, Unclosed> {
    let mut lexer = Lexer::new(text);
    let mut commands = vec![Vec::new()];
    while let Some(c) = lexer.peek() {
        match c {
            '\n' | ';' | '&' | '|' => {
                lexer.next();
                commands.push(Vec::new());
            }
            '\\' | '^' if lexer.is_continued() => lexer.skip_line_end(),
            c if c.is_whitespace() => {
                lexer.next();
            }
            '#' => {
                while lexer.peek().is_some_and(|c| c != '\n') {
                    lexer.next();
                }
            }
            _ => {
                let word = lexer.word()?;
                commands.last_mut().expect("there is always one").push(word);
            }
        }
    }
    commands.retain(|words| !words.is_empty());
    Ok(commands)
}

struct Lexer<'t> {
    rest: std::str::Chars<'t>,
    at: Position,
    /// `^` escapes, as in Windows' cmd.
    is_cmd: bool,
}

impl<'t> Lexer<'t> {
    fn new(text: &'t str) -> Self {
        // Told by the first line, before any text that a POSIX shell would quote.
        let first = text.trim_start().lines().next().unwrap_or_default();
        let is_cmd = first.trim_end().ends_with(" ^")
            || first.split('\'').next().is_some_and(|begin| begin.contains(" ^\""));
        Lexer { rest: text.chars(), at: Position { line: 1, column: 1 }, is_cmd }
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn peek_second(&self) -> Option<char> {
        self.rest.clone().nth(1)
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        match c {
            '\n' => self.at = Position { line: self.at.line + 1, column: 1 },
            _ => self.at.column += 1,
        }
        Some(c)
    }

    /// Whether an escape here joins this line with the next.
    fn is_continued(&self) -> bool {
        let mut rest = self.rest.clone();
        let is_escape = match rest.next() {
            Some('\\') => true,
            Some('^') => self.is_cmd,
            _ => false,
        };
        is_escape
            && matches!((rest.next(), rest.next()), (Some('\n'), _) | (Some('\r'), Some('\n')))
    }

    fn skip_line_end(&mut self) {
        while self.next().is_some_and(|c| c != '\n') {}
    }

    fn word(&mut self) -> Result<Word, Unclosed> {
        let mut word = Word { text: String::new(), at: self.at, has_expansion: false };
        while let Some(c) = self.peek() {
            match c {
                _ if self.is_continued() => self.skip_line_end(),
                '\n' | ';' | '&' | '|' => break,
                c if c.is_whitespace() => break,
                '\'' if !self.is_cmd => self.single(&mut word)?,
                '"' => self.double(&mut word)?,
                '$' if self.peek_second() == Some('\'') => self.ansi(&mut word)?,
                // `$"…"` of bash is a translated string: the text itself.
                '$' if self.peek_second() == Some('"') => {
                    self.next();
                }
                '^' if self.is_cmd => {
                    self.next();
                    // An escaped quotation mark begins and ends a text all the same.
                    match self.peek() {
                        Some('"') => self.double(&mut word)?,
                        _ => word.text.extend(self.next()),
                    }
                }
                '\\' => {
                    self.next();
                    word.text.extend(self.next());
                }
                _ => {
                    word.has_expansion |= self.is_expansion();
                    word.text.extend(self.next());
                }
            }
        }
        Ok(word)
    }

    fn is_expansion(&self) -> bool {
        let second = self.peek_second();
        let begins = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '{' || c == '(';
        !self.is_cmd
            && (self.peek() == Some('$') && second.is_some_and(begins) || self.peek() == Some('`'))
    }

    /// `'…'`: nothing is special.
    fn single(&mut self, word: &mut Word) -> Result<(), Unclosed> {
        let at = self.at;
        self.next();
        loop {
            match self.next() {
                None => return Err(Unclosed { mark: '\'', at }),
                Some('\'') => return Ok(()),
                Some(c) => word.text.push(c),
            }
        }
    }

    /// `"…"`: a backslash escapes `"`, `\`, `$`, a backtick and the end of a line.
    fn double(&mut self, word: &mut Word) -> Result<(), Unclosed> {
        let at = self.at;
        self.next();
        loop {
            word.has_expansion |= self.is_expansion();
            match self.next() {
                None => return Err(Unclosed { mark: '"', at }),
                Some('"') => return Ok(()),
                Some('\\') => match self.peek() {
                    Some('\n') => {
                        self.next();
                    }
                    Some(c @ ('"' | '\\' | '$' | '`')) => {
                        self.next();
                        word.text.push(c);
                    }
                    _ => word.text.push('\\'),
                },
                // Of cmd: `^"` ends the text, `^%^` and the like stand for the character behind.
                Some('^') if self.is_cmd => match self.next() {
                    None => return Err(Unclosed { mark: '"', at }),
                    Some('"') => return Ok(()),
                    // `^\^"` is a quotation mark inside of the text.
                    Some('\\') if self.peek() == Some('^') && self.peek_second() == Some('"') => {
                        self.next();
                        word.text.extend(self.next());
                    }
                    // An empty line behind `^` is the end of a line in the text.
                    Some('\r') => {}
                    Some(c) => word.text.push(c),
                },
                Some(c) => word.text.push(c),
            }
        }
    }

    /// `$'…'` of bash: the escapes of C.
    fn ansi(&mut self, word: &mut Word) -> Result<(), Unclosed> {
        let at = self.at;
        self.next();
        self.next();
        let mut bytes = Vec::new();
        loop {
            match self.next() {
                None => return Err(Unclosed { mark: '\'', at }),
                Some('\'') => break,
                Some('\\') => match self.next() {
                    None => return Err(Unclosed { mark: '\'', at }),
                    Some(c) => self.escape(c, &mut bytes),
                },
                Some(c) => bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        word.text += &String::from_utf8_lossy(&bytes);
        Ok(())
    }

    fn escape(&mut self, c: char, to: &mut Vec<u8>) {
        let mut push = |c: char| to.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
        match c {
            'n' => push('\n'),
            't' => push('\t'),
            'r' => push('\r'),
            'a' => push('\x07'),
            'b' => push('\x08'),
            'e' | 'E' => push('\x1b'),
            'f' => push('\x0c'),
            'v' => push('\x0b'),
            'x' => to.push(self.number(16, 2, 0) as u8),
            '0'..='7' => to.push(self.number(8, 2, c as u32 - '0' as u32) as u8),
            'u' => push(self.unicode(4)),
            'U' => push(self.unicode(8)),
            '\'' | '"' | '\\' | '?' => push(c),
            c => {
                push('\\');
                push(c);
            }
        }
    }

    /// A code point; the two halves of one above U+FFFF belong together, as JavaScript writes them.
    fn unicode(&mut self, digits: usize) -> char {
        let code = self.number(16, digits, 0);
        let is_half = (0xd800..0xdc00).contains(&code);
        if is_half && self.peek() == Some('\\') && self.peek_second() == Some('u') {
            self.next();
            self.next();
            let low = self.number(16, 4, 0);
            let pair = char::decode_utf16([code as u16, low as u16]).next();
            return pair.and_then(Result::ok).unwrap_or(char::REPLACEMENT_CHARACTER);
        }
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    fn number(&mut self, radix: u32, most: usize, first: u32) -> u32 {
        let mut value = first;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(radix)) else { break };
            self.next();
            value = value.wrapping_mul(radix).wrapping_add(digit);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        let commands = commands(text).unwrap().into_iter();
        commands.map(|words| words.into_iter().map(|word| word.text).collect()).collect()
    }

    #[test]
    fn quoting_as_a_shell_reads_it() {
        let table: [(&str, &[&str]); 22] = [
            ("a b  c", &["a", "b", "c"]),
            ("'a b' \"c d\"", &["a b", "c d"]),
            ("a'b'\"c\"d", &["abcd"]),
            ("'' \"\"", &["", ""]),
            ("'it'\\''s'", &["it's"]),
            (r#"'\n\"'"#, &[r#"\n\""#]),
            (r#""\"\\\$\`\n""#, &[r#""\$`\n"#]),
            ("a\\ b", &["a b"]),
            ("a \\\n  b", &["a", "b"]),
            ("a \\\r\n  b", &["a", "b"]),
            ("a\\\nb", &["ab"]),
            ("\"a\\\nb\"", &["ab"]),
            ("'a\nb'", &["a\nb"]),
            (r"$'a\n\t\'\\b'", &["a\n\t'\\b"]),
            (r"$'\x41\101\u00e9\U0001F600'", &["AAé😀"]),
            (r"$'\ud83d\ude00\u0021'", &["😀!"]),
            (r"$'\xc3\xa9'", &["é"]),
            (r"$'\q\ud83d'", &["\\q\u{fffd}"]),
            ("$\"a b\"", &["a b"]),
            ("a#b # a comment 'open", &["a#b"]),
            ("\u{a0}a\u{3000}b", &["a", "b"]),
            ("a^b", &["a^b"]),
        ];
        for (text, expected) in table {
            assert_eq!(words(text), [expected], "{text}");
        }
    }

    #[test]
    fn commands_are_apart() {
        assert_eq!(
            words("a b\n\nc;d && e | f &\n"),
            [vec!["a", "b"], vec!["c"], vec!["d"], vec!["e"], vec!["f"]]
        );
        assert!(words(" \n # nothing\n").is_empty());
    }

    #[test]
    fn quoting_of_cmd() {
        let text = "curl ^\"http://h/?a=1^&b=%^20c^\" ^\r\n  -H ^\"a: \\\"b\\\"^\" ^\r\n  --data-raw ^\"^{^\\^\"k^\\^\":1^}^\"";
        assert_eq!(
            words(text),
            [vec!["curl", "http://h/?a=1&b=%20c", "-H", "a: \"b\"", "--data-raw", "{\"k\":1}"]]
        );
    }

    #[test]
    fn marks_that_are_not_closed_have_a_place() {
        for (text, mark, line, column) in [
            ("a 'b", '\'', 1, 3),
            ("a\n \"b\n", '"', 2, 2),
            ("$'\\'", '\'', 1, 1),
            ("\"\\", '"', 1, 1),
        ] {
            let at = Position { line, column };
            assert_eq!(commands(text), Err(Unclosed { mark, at }), "{text}");
        }
    }

    #[test]
    fn expansions_are_noticed() {
        for (text, expands) in [
            ("$A", true),
            ("\"x$(y)\"", true),
            ("'$A'", false),
            ("\\$A", false),
            ("$5", false),
            ("\"`a`\"", true),
        ] {
            assert_eq!(commands(text).unwrap()[0][0].has_expansion, expands, "{text}");
        }
    }
}
