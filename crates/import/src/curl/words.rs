//! Words of a command line as a POSIX shell reads them, with `$'…'` and `<<<` of bash; or as Windows' cmd does, with
//! the `^` that browsers use in "Copy as cURL (cmd)".
//!
//! Nothing is expanded: no variable, no command, no pattern. A `$NAME` stays as it is and is reported.

use crate::error::Position;
use crate::write::one_line;

/// A word, and where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) at: Position,
    /// It has a `$NAME` or `$(…)` that a shell would expand.
    pub(crate) has_expansion: bool,
}

/// A command, and what it has as its standard input.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) words: Vec<Word>,
    pub(crate) input: Option<Input>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Text(Word),
    File(Word),
}

/// What a shell would not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: Position,
    pub(crate) problem: String,
}

impl Fault {
    fn unclosed<T>(mark: char, at: Position) -> Result<T, Fault> {
        let problem =
            format!("the quotation mark {mark} is not closed; add it at the end of the text");
        Err(Fault { at, problem })
    }
}

/// A `<<END` whose text begins in the next line.
struct HereDocument {
    line: usize,
    end: Word,
    is_literal: bool,
    /// `<<-`: without tabs at the beginnings of lines.
    is_indented: bool,
}

/// The commands of a text, separated by ends of lines, `;`, `&` and `|`.
pub(crate) fn commands(text: &str) -> Result<Vec<Line>, Fault> {
    let mut lexer = Lexer::new(text);
    let mut lines = vec![Line::default()];
    let mut documents = Vec::new();
    while let Some(c) = lexer.peek() {
        let number = lines.len() - 1;
        let line = &mut lines[number];
        match c {
            '\\' | '^' if lexer.is_continued() => lexer.skip_line_end(),
            '|' if line.is_cat() && lexer.peek_second() != Some('|') => {
                lexer.next();
                // The next command reads what `cat` has read.
                let file = line.words.drain(..).nth(1);
                line.input = line.input.take().or(file.map(Input::File));
            }
            '&' if lexer.peek_second() == Some('>') => {
                lexer.next();
            }
            '\n' | ';' | '&' | '|' if !(lexer.is_cmd && c == ';') => {
                lexer.next();
                if c == '\n' {
                    for document in documents.drain(..) {
                        let document: HereDocument = document;
                        let text = lexer.document(&document)?;
                        lines[document.line].input = Some(Input::Text(text));
                    }
                }
                lines.push(Line::default());
            }
            c if c.is_whitespace() => {
                lexer.next();
            }
            '#' if !lexer.is_cmd => {
                while lexer.peek().is_some_and(|c| c != '\n') {
                    lexer.next();
                }
            }
            _ => match lexer.redirection() {
                Some("<<" | "<<-") if lexer.is_cmd => {
                    lexer.word()?;
                }
                Some(mark @ ("<<" | "<<-")) => {
                    let is_quoted = |c| ['\'', '"', '\\', '$'].contains(&c);
                    let is_literal = lexer.rest.clone().find(|c| *c != ' ').is_some_and(is_quoted);
                    let end = lexer.next_word()?;
                    let is_indented = mark == "<<-";
                    documents.push(HereDocument { line: number, end, is_literal, is_indented });
                }
                Some("<<<") => {
                    let mut text = lexer.next_word()?;
                    text.text.push('\n');
                    line.input = Some(Input::Text(text));
                }
                Some("<") => line.input = Some(Input::File(lexer.next_word()?)),
                Some(_) => {
                    lexer.next_word()?;
                }
                None => line.words.push(lexer.word()?),
            },
        }
    }
    if let Some(document) = documents.pop() {
        return Err(lexer.open_document(&document));
    }
    lines.retain(|line| !line.words.is_empty());
    Ok(lines)
}

impl Line {
    fn is_cat(&self) -> bool {
        self.words.first().is_some_and(|word| word.text == "cat") && self.words.len() <= 2
    }
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
            || first.split(['\'', '"']).next().is_some_and(|begin| {
                begin.ends_with(" ^") && first[begin.len()..].starts_with('"')
            });
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
        let escape = if self.is_cmd { '^' } else { '\\' };
        let rest = self.rest.as_str().strip_prefix(escape);
        rest.is_some_and(|rest| rest.starts_with('\n') || rest.starts_with("\r\n"))
    }

    fn skip_line_end(&mut self) {
        while self.next().is_some_and(|c| c != '\n') {}
    }

    /// Takes the mark of a redirection, e.g. `2>&`: what follows is a file.
    fn redirection(&mut self) -> Option<&'static str> {
        let begin = self.rest.as_str();
        let text = begin.trim_start_matches(|c: char| c.is_ascii_digit());
        let marks = ["<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">"];
        let mark = marks.into_iter().find(|mark| text.starts_with(mark))?;
        for _ in 0..begin.len() - text.len() + mark.len() {
            self.next();
        }
        Some(mark)
    }

    /// The word behind a redirection.
    fn next_word(&mut self) -> Result<Word, Fault> {
        while self.peek().is_some_and(|c| c == ' ' || c == '\t') {
            self.next();
        }
        self.word()
    }

    fn open_document(&self, document: &HereDocument) -> Fault {
        let end: String = document.end.text.chars().take(40).collect();
        let end = one_line(&end);
        let problem = format!("the text for <<{end} has no end; add a line with {end}");
        Fault { at: document.end.at, problem }
    }

    /// The lines up to the end of a `<<END`.
    fn document(&mut self, document: &HereDocument) -> Result<Word, Fault> {
        let mut word = Word { text: String::new(), at: self.at, has_expansion: false };
        loop {
            if self.peek().is_none() {
                return Err(self.open_document(document));
            }
            let line = self.rest.as_str().split('\n').next().unwrap_or_default();
            let line = if document.is_indented { line.trim_start_matches('\t') } else { line };
            let is_end = line.trim_end_matches('\r') == document.end.text;
            while document.is_indented && self.peek() == Some('\t') {
                self.next();
            }
            loop {
                word.has_expansion |= !is_end && !document.is_literal && self.is_expansion();
                let Some(c) = self.next() else { break };
                let escaped = match self.peek() {
                    Some(next @ ('$' | '`' | '\\' | '\n')) if c == '\\' && !document.is_literal => {
                        next
                    }
                    _ => {
                        if !is_end {
                            word.text.push(c);
                        }
                        if c == '\n' {
                            break;
                        }
                        continue;
                    }
                };
                self.next();
                if escaped != '\n' {
                    word.text.push(escaped);
                }
            }
            if is_end {
                return Ok(word);
            }
        }
    }

    fn word(&mut self) -> Result<Word, Fault> {
        if self.is_cmd {
            return self.word_of_cmd();
        }
        let mut word = Word { text: String::new(), at: self.at, has_expansion: false };
        while let Some(c) = self.peek() {
            match c {
                _ if self.is_continued() => self.skip_line_end(),
                '\n' | ';' | '&' | '|' | '<' | '>' => break,
                c if c.is_whitespace() => break,
                '\'' => self.single(&mut word)?,
                '"' => self.double(&mut word)?,
                '$' if self.peek_second() == Some('\'') => self.ansi(&mut word)?,
                // `$"…"` of bash is a translated string: the text itself.
                '$' if self.peek_second() == Some('"') => {
                    self.next();
                }
                '\\' => {
                    self.next();
                    word.text.extend(self.next());
                }
                '`' => self.command(&mut word, '`')?,
                '$' if self.peek_second() == Some('(') => self.command(&mut word, ')')?,
                _ => {
                    word.has_expansion |= self.is_expansion();
                    word.text.extend(self.next());
                }
            }
        }
        Ok(word)
    }

    /// `` `…` `` and `$(…)`, as they stand: blanks within do not end the word.
    fn command(&mut self, word: &mut Word, end: char) -> Result<(), Fault> {
        let at = self.at;
        word.has_expansion = true;
        let mut depth = 0;
        word.text.extend(self.next());
        loop {
            let Some(c) = self.next() else { return Fault::unclosed(end, at) };
            word.text.push(c);
            match c {
                '(' => depth += 1,
                c if c == end && depth <= 1 => return Ok(()),
                ')' => depth -= 1,
                _ => {}
            }
        }
    }

    /// Two readers, one after the other. cmd removes `^` and takes the character behind as it is, between marks `"`
    /// without a `^` all; an end of a line behind `^` is dropped, and the next one kept. Then the program's C library
    /// reads quotation marks, of which those behind an odd number of backslashes are text.
    fn word_of_cmd(&mut self) -> Result<Word, Fault> {
        let mut word = Word { text: String::new(), at: self.at, has_expansion: false };
        let mut is_verbatim = false;
        let mut quoted_at = None;
        let mut backslashes = 0_usize;
        while let Some(mut c) = self.peek() {
            let at = self.at;
            let is_escaped = c == '^' && !is_verbatim;
            if self.is_continued() && !is_verbatim {
                self.skip_line_end();
                if self.rest.as_str().trim_start_matches('\r').starts_with('\n')
                    && quoted_at.is_some()
                {
                    self.skip_line_end();
                    word.text.push('\n');
                    backslashes = 0;
                }
                continue;
            }
            if is_escaped {
                self.next();
                let Some(escaped) = self.peek() else { break };
                c = escaped;
            }
            let ends = match c {
                '&' | '|' | '<' | '>' => !is_escaped && !is_verbatim,
                c => c.is_whitespace() && quoted_at.is_none(),
            };
            if ends {
                break;
            }
            self.next();
            if c == '"' {
                is_verbatim ^= !is_escaped;
                word.text.truncate(word.text.len() - backslashes.div_ceil(2));
                let is_text = backslashes % 2 == 1;
                let is_doubled = || self.rest.as_str().trim_start_matches('^').starts_with('"');
                if is_text {
                    word.text.push('"');
                } else if quoted_at.is_some() && is_doubled() {
                    while self.next() != Some('"') {}
                    is_verbatim ^= !is_escaped;
                    word.text.push('"');
                } else {
                    quoted_at = quoted_at.xor(Some(at));
                }
                backslashes = 0;
                continue;
            }
            backslashes = if c == '\\' { backslashes + 1 } else { 0 };
            word.text.push(c);
        }
        quoted_at.map_or(Ok(word), |at| Fault::unclosed('"', at))
    }

    fn is_expansion(&self) -> bool {
        let second = self.peek_second();
        let begins = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '{' || c == '(';
        self.peek() == Some('$') && second.is_some_and(begins) || self.peek() == Some('`')
    }

    /// `'…'`: nothing is special.
    fn single(&mut self, word: &mut Word) -> Result<(), Fault> {
        let at = self.at;
        self.next();
        loop {
            match self.next() {
                None => return Fault::unclosed('\'', at),
                Some('\'') => return Ok(()),
                Some(c) => word.text.push(c),
            }
        }
    }

    /// `"…"`: a backslash escapes `"`, `\`, `$`, a backtick and the end of a line.
    fn double(&mut self, word: &mut Word) -> Result<(), Fault> {
        let at = self.at;
        self.next();
        loop {
            word.has_expansion |= self.is_expansion();
            match self.next() {
                None => return Fault::unclosed('"', at),
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
                Some(c) => word.text.push(c),
            }
        }
    }

    /// `$'…'` of bash: the escapes of C.
    fn ansi(&mut self, word: &mut Word) -> Result<(), Fault> {
        let at = self.at;
        self.next();
        self.next();
        let mut bytes = Vec::new();
        loop {
            match self.next() {
                None => return Fault::unclosed('\'', at),
                Some('\'') => break,
                Some('\\') => match self.next() {
                    None => return Fault::unclosed('\'', at),
                    Some(c) => self.escape(c, &mut bytes),
                },
                Some(c) => bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        // A plan is text.
        word.text += std::str::from_utf8(&bytes).map_err(|_| Fault {
            at,
            problem: "the text has bytes that are not UTF-8; in a URL write them as e.g. %E9, or write the body to a \
                      file and give that to curl's option data-binary"
                .to_owned(),
        })?;
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
            'u' | 'U' => match self.unicode(if c == 'u' { 4 } else { 8 }) {
                Some(c) => push(c),
                // Half of a pair, which is no text.
                None => to.push(0xff),
            },
            '\'' | '"' | '\\' | '?' => push(c),
            c => {
                push('\\');
                push(c);
            }
        }
    }

    /// A code point; the two halves of one above U+FFFF belong together, as JavaScript writes them.
    fn unicode(&mut self, digits: usize) -> Option<char> {
        let code = self.number(16, digits, 0);
        let is_half = (0xd800..0xdc00).contains(&code);
        if is_half && self.peek() == Some('\\') && self.peek_second() == Some('u') {
            self.next();
            self.next();
            let low = self.number(16, 4, 0);
            return char::decode_utf16([code as u16, low as u16]).next()?.ok();
        }
        char::from_u32(code)
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
        commands.map(|line| line.words.into_iter().map(|word| word.text).collect()).collect()
    }

    #[test]
    fn quoting_as_a_shell_reads_it() {
        let table: [(&str, &[&str]); 23] = [
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
            (r"$'\q'", &["\\q"]),
            ("$\"a b\"", &["a b"]),
            ("a#b # a comment 'open", &["a#b"]),
            ("\u{a0}a\u{3000}b", &["a", "b"]),
            ("a^b", &["a^b"]),
            ("a \"b: ^\" ^\"c\"", &["a", "b: ^", "^c"]),
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

    /// Chromium's copies escape each special character, and write an end of a line as `^` and two of them.
    #[test]
    fn texts_of_cmd_are_as_a_program_gets_them() {
        for (text, expected) in [
            ("^\"a^\n\n^\n\nb^\"", "a\n\nb"),
            ("^\"a^\r\n\r\nb^\"", "a\nb"),
            (r#"^"^\^"a^\^"^""#, "\"a\""),
            (r#"^"^\^\^\^"^""#, "\\\""),
            (r#"^"a^\^\nb^""#, r"a\\nb"),
            (r#"^"a^\^\^""#, r"a\"),
            (r#""a^b" "#, "a^b"),
            (r#""a""b""#, "a\"b"),
            ("^\"100^% ^%^20 ^^ ^|^\"", "100% %20 ^ |"),
        ] {
            let all = words(&format!("curl ^\"x^\" {text}"));
            assert_eq!(all, [vec!["curl", "x", expected]], "{text}");
        }
    }

    #[test]
    fn redirections_are_no_words_and_give_inputs() {
        let input = |text: &str| {
            let mut lines = commands(text).unwrap();
            let line = lines.remove(0);
            let words: Vec<_> = line.words.into_iter().map(|word| word.text).collect();
            assert_eq!(words, ["c", "d"], "{text}");
            match line.input {
                Some(Input::Text(word)) => format!("{}{}", word.text, word.has_expansion),
                Some(Input::File(word)) => format!("<{}", word.text),
                None => "none".to_owned(),
            }
        };
        for (text, expected) in [
            ("c >out 2>&1 d >> x &> y", "none"),
            ("c d < f", "<f"),
            ("cat f | c d", "<f"),
            ("c d <<< 'a b'", "a b\nfalse"),
            ("c <<E d\na\nb\nE\nnext", "a\nb\nfalse"),
            ("cat <<E | c d\n$A\\$B\\\\\\\nc\nE", "$A$B\\c\ntrue"),
            ("c d <<'E'\n$A\\$B\nE", "$A\\$B\nfalse"),
            ("c d <<-\"E\"\n\t\ta\n\tE\n", "a\nfalse"),
        ] {
            assert_eq!(input(text), expected, "{text}");
        }
        for text in ["c <<E", "c <<E\na\nEE"] {
            let fault = commands(text).unwrap_err();
            assert_eq!(fault.problem, "the text for <<E has no end; add a line with E");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        for text in [r"a $'\xe9'", r"a $'\ud83d'"] {
            let Err(Fault { at, problem }) = commands(text) else { panic!("{text}") };
            assert_eq!(at, Position { line: 1, column: 3 });
            assert!(problem.starts_with("the text has bytes that are not UTF-8"), "{problem}");
        }
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
            assert_eq!(commands(text), Fault::unclosed(mark, at), "{text}");
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
            assert_eq!(commands(text).unwrap()[0].words[0].has_expansion, expands, "{text}");
        }
    }
}
