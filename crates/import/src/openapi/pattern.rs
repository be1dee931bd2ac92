//! Regular expressions of schemas (`pattern`, ECMA 262): whether a text matches, and texts that do.
//!
//! A pattern is anybody's, so its length, its steps and its depth have bounds. What is not known here (references to
//! groups, lookbehind) makes no [`Pattern`], and a search that reaches a bound says so: [`Pattern::matches`] is none.

use std::cell::Cell;

use super::budget::take;

/// The longest pattern, in characters.
const MAX_PATTERN: usize = 2000;
/// Groups within groups.
const MAX_GROUPS: usize = 32;
/// Steps of one search, and its depth.
const MAX_STEPS: usize = 50_000;
const MAX_DEPTH: usize = 400;
/// The longest text that is searched or made, in characters.
pub(super) const MAX_TEXT: usize = 16 * 1024;
/// Characters that a made text has if it may, the first of which is best.
const LIKED: [&str; 4] = [
    "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_. /:@,;+!#$%&*=?~^|()[]{}<>'\"\\`\t\n\r",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    "123456789abcdefABCDEF0",
    "xyzXYZ987",
];

/// A regular expression.
#[derive(Debug)]
pub(super) struct Pattern(Node);

#[derive(Debug)]
enum Node {
    Class(Class),
    All(Vec<Node>),
    Any(Vec<Node>),
    Repeat(Box<Node>, usize, usize),
    Start,
    End,
    /// `\b`, or `\B` if it is false.
    Edge(bool),
    /// `(?=…)`, or `(?!…)` if it is false.
    Ahead(Box<Node>, bool),
}

type Kind = fn(char) -> bool;

#[derive(Debug, Default)]
struct Class {
    ranges: Vec<(char, char)>,
    /// Kinds of characters, and whether those of the kind are meant or all others.
    kinds: Vec<(Kind, bool)>,
    is_negated: bool,
}

impl Class {
    fn has(&self, c: char) -> bool {
        let is_in = self.ranges.iter().any(|(low, high)| (*low..=*high).contains(&c))
            || self.kinds.iter().any(|(kind, is)| kind(c) == *is);
        is_in != self.is_negated
    }

    /// The liked character of this number, or any.
    fn pick(&self, variant: usize) -> Option<char> {
        let liked = LIKED[variant % LIKED.len()].chars().chain(LIKED[0].chars());
        let liked: Vec<char> = liked.filter(|c| self.has(*c)).collect();
        if let Some(last) = liked.len().checked_sub(1) {
            return Some(liked[(variant / LIKED.len()).min(last)]);
        }
        let first = self.ranges.first().map(|(low, _)| *low).filter(|c| self.has(*c));
        first.or_else(|| ('\u{1}'..='\u{2fff}').find(|c| self.has(*c)))
    }
}

impl Pattern {
    /// The pattern of a text, if all of it is known here.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.chars().nth(MAX_PATTERN).is_some() {
            return None;
        }
        let chars: Vec<char> = text.chars().collect();
        let mut parser = Parser { chars: &chars, at: 0, groups: 0 };
        let node = parser.alternatives()?;
        (parser.at == chars.len()).then_some(Pattern(node))
    }

    /// Whether the pattern is found in a text; none if that takes too long.
    pub(super) fn matches(&self, text: &str) -> Option<bool> {
        let text: Vec<char> = text.chars().take(MAX_TEXT + 1).collect();
        if text.len() > MAX_TEXT {
            return None;
        }
        let search = Search { text: &text, steps: Cell::new(MAX_STEPS), is_over: Cell::new(false) };
        let is_found = (0..=text.len()).any(|at| search.run(&self.0, at, 0, &mut |_| true));
        (!search.is_over.get()).then_some(is_found)
    }

    /// Texts of such a number of characters that match, each another one, up to a count.
    pub(super) fn texts(&self, least: usize, most: usize, wanted: usize) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        let is_fit = |text: &str| {
            let length = text.chars().count();
            least <= length && length <= most && self.matches(text) == Some(true)
        };
        for variant in 0..LIKED.len() * 8 {
            let made = |least: usize| {
                let mut text = String::new();
                write(&self.0, variant, &mut 0, &mut text);
                let mut more = least.saturating_sub(text.chars().count());
                text.clear();
                write(&self.0, variant, &mut more, &mut text);
                text
            };
            let plain = made(least.min(MAX_TEXT));
            // What lookaheads want, and something behind it.
            let mut ahead = String::new();
            of_aheads(&self.0, variant, &mut ahead);
            let tail: String = plain.chars().skip(ahead.chars().count()).collect();
            let fill = "x".repeat(least.min(MAX_TEXT).saturating_sub(plain.chars().count()));
            let candidates =
                [plain.clone(), ahead.clone() + &tail, plain.clone() + &fill, fill + &plain];
            let fit = candidates.into_iter().find(|text| !texts.contains(text) && is_fit(text));
            texts.extend(fit);
            if texts.len() >= wanted {
                break;
            }
        }
        texts
    }
}

/// The shortest text of a node, with so many characters more where it may repeat.
fn write(node: &Node, variant: usize, more: &mut usize, to: &mut String) {
    if to.len() > 4 * MAX_TEXT {
        return;
    }
    match node {
        Node::Class(class) => to.extend(class.pick(variant)),
        Node::All(nodes) => nodes.iter().for_each(|node| write(node, variant, more, to)),
        Node::Any(nodes) => {
            // The first that is not empty, so that a text says more; another one each time.
            let at = variant % nodes.len();
            write(&nodes[at], variant, more, to);
        }
        Node::Repeat(node, low, high) => {
            for _ in 0..*low {
                let before = to.len();
                write(node, variant, more, to);
                if to.len() == before || to.len() > 4 * MAX_TEXT {
                    break;
                }
            }
            let mut count = *low;
            while *more > 0 && count < *high {
                let before = to.len();
                write(node, variant, &mut 0, to);
                if to.len() == before {
                    break;
                }
                *more = more.saturating_sub(to[before..].chars().count());
                count += 1;
            }
        }
        Node::Start | Node::End | Node::Edge(_) | Node::Ahead(..) => {}
    }
}

/// The texts that lookaheads of a node want.
fn of_aheads(node: &Node, variant: usize, to: &mut String) {
    match node {
        Node::Ahead(node, true) => write(node, variant, &mut 0, to),
        Node::All(nodes) => nodes.iter().for_each(|node| of_aheads(node, variant, to)),
        _ => {}
    }
}

/// A search by trying, which every node continues with the rest.
struct Search<'t> {
    text: &'t [char],
    steps: Cell<usize>,
    is_over: Cell<bool>,
}

impl Search<'_> {
    fn spend(&self, steps: usize) -> bool {
        let is_over = self.is_over.get() || !take(&self.steps, steps);
        self.is_over.set(is_over);
        !is_over
    }

    fn run(
        &self,
        node: &Node,
        at: usize,
        depth: usize,
        then: &mut dyn FnMut(usize) -> bool,
    ) -> bool {
        if depth > MAX_DEPTH || !self.spend(1) {
            self.is_over.set(true);
            return false;
        }
        let is_word = |at: usize| self.text.get(at).copied().is_some_and(is_word);
        match node {
            Node::Class(class) => self.text.get(at).is_some_and(|c| class.has(*c)) && then(at + 1),
            Node::All(nodes) => self.sequence(nodes, at, depth, then),
            Node::Any(nodes) => nodes.iter().any(|node| self.run(node, at, depth + 1, then)),
            Node::Repeat(node, low, high) => match &**node {
                Node::Class(class) => {
                    let most = self.text[at..].iter().take(*high);
                    let most = most.take_while(|c| class.has(**c)).count();
                    self.spend(most / 16) && (*low..=most).rev().any(|count| then(at + count))
                }
                node => self.repeat(node, *low, *high, at, depth, then),
            },
            Node::Start => at == 0 && then(at),
            Node::End => at == self.text.len() && then(at),
            Node::Edge(is) => {
                let is_edge = (at > 0 && is_word(at - 1)) != is_word(at);
                is_edge == *is && then(at)
            }
            Node::Ahead(node, is) => {
                self.run(node, at, depth + 1, &mut |_| true) == *is && then(at)
            }
        }
    }

    fn sequence(
        &self,
        nodes: &[Node],
        at: usize,
        depth: usize,
        then: &mut dyn FnMut(usize) -> bool,
    ) -> bool {
        match nodes.split_first() {
            None => then(at),
            Some((first, rest)) => {
                self.run(first, at, depth + 1, &mut |at| self.sequence(rest, at, depth + 1, then))
            }
        }
    }

    fn repeat(
        &self,
        node: &Node,
        low: usize,
        high: usize,
        at: usize,
        depth: usize,
        then: &mut dyn FnMut(usize) -> bool,
    ) -> bool {
        let is_more = high > 0
            && self.run(node, at, depth + 1, &mut |next| {
                // A round without a character ends the rounds.
                (next > at || low > 0)
                    && self.repeat(node, low.saturating_sub(1), high - 1, next, depth + 1, then)
            });
        is_more || low == 0 && then(at)
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_space(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

struct Parser<'p> {
    chars: &'p [char],
    at: usize,
    groups: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }

    fn eat(&mut self, text: &str) -> bool {
        let is_next =
            text.chars().enumerate().all(|(n, c)| self.chars.get(self.at + n) == Some(&c));
        self.at += if is_next { text.chars().count() } else { 0 };
        is_next
    }

    fn alternatives(&mut self) -> Option<Node> {
        let mut all = vec![self.sequence()?];
        while self.eat("|") {
            all.push(self.sequence()?);
        }
        Some(if all.len() == 1 { all.pop()? } else { Node::Any(all) })
    }

    fn sequence(&mut self) -> Option<Node> {
        let mut nodes = Vec::new();
        while self.peek().is_some_and(|c| c != '|' && c != ')') {
            let node = self.atom()?;
            nodes.push(self.repeated(node)?);
        }
        Some(Node::All(nodes))
    }

    fn repeated(&mut self, node: Node) -> Option<Node> {
        let begin = self.at;
        let (low, high) = match self.next() {
            Some('*') => (0, usize::MAX),
            Some('+') => (1, usize::MAX),
            Some('?') => (0, 1),
            Some('{') => match self.braces() {
                Some(bounds) => bounds,
                None => {
                    self.at = begin;
                    return Some(node);
                }
            },
            _ => {
                self.at = begin;
                return Some(node);
            }
        };
        self.eat("?");
        (low <= high).then(|| Node::Repeat(Box::new(node), low, high))
    }

    /// `2}`, `2,}` or `2,3}`.
    fn braces(&mut self) -> Option<(usize, usize)> {
        let end = self.chars[self.at..].iter().position(|c| *c == '}')?;
        let text: String = self.chars[self.at..self.at + end].iter().collect();
        let bounds = match text.split_once(',') {
            None => (text.parse().ok()?, text.parse().ok()?),
            Some((low, "")) => (low.parse().ok()?, usize::MAX),
            Some((low, high)) => (low.parse().ok()?, high.parse().ok()?),
        };
        self.at += end + 1;
        Some(bounds)
    }

    fn atom(&mut self) -> Option<Node> {
        let one = |c: char| Class { ranges: vec![(c, c)], ..Class::default() };
        Some(match self.next()? {
            '^' => Node::Start,
            '$' => Node::End,
            '.' => Node::Class(Class {
                ranges: vec![('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')],
                is_negated: true,
                ..Class::default()
            }),
            '(' => {
                self.groups += 1;
                let ahead = match () {
                    () if self.eat("?=") => Some(true),
                    () if self.eat("?!") => Some(false),
                    () if self.eat("?:") => None,
                    () if self.eat("?<") || self.eat("?P<") => {
                        let end = self.chars[self.at..].iter().position(|c| *c == '>')?;
                        if ['=', '!'].contains(&self.peek()?) {
                            return None;
                        }
                        self.at += end + 1;
                        None
                    }
                    () if self.peek() == Some('?') => return None,
                    () => None,
                };
                let inner = (self.groups <= MAX_GROUPS).then(|| self.alternatives())??;
                self.groups -= 1;
                if !self.eat(")") {
                    return None;
                }
                match ahead {
                    Some(is) => Node::Ahead(Box::new(inner), is),
                    None => inner,
                }
            }
            '[' => Node::Class(self.class()?),
            '*' | '+' | '?' => return None,
            '\\' => match self.peek()? {
                'b' | 'B' => Node::Edge(self.next() == Some('b')),
                // The anchors of other dialects, which descriptions have too.
                'A' => {
                    self.at += 1;
                    Node::Start
                }
                'z' | 'Z' => {
                    self.at += 1;
                    Node::End
                }
                '1'..='9' | 'k' => return None,
                _ => {
                    let mut class = Class::default();
                    self.escape(&mut class)?;
                    Node::Class(class)
                }
            },
            c => Node::Class(one(c)),
        })
    }

    /// What stands behind `[`.
    fn class(&mut self) -> Option<Class> {
        let mut class = Class { is_negated: self.eat("^"), ..Class::default() };
        while !self.eat("]") {
            let low = self.of_class(&mut class)?;
            let is_range = self.peek() == Some('-')
                && self.chars.get(self.at + 1).is_some_and(|next| *next != ']');
            match low {
                Some(low) if is_range => {
                    self.at += 1;
                    match self.of_class(&mut class)? {
                        Some(high) if low <= high => class.ranges.push((low, high)),
                        Some(_) => return None,
                        None => class.ranges.extend([(low, low), ('-', '-')]),
                    }
                }
                Some(low) => class.ranges.push((low, low)),
                None => {}
            }
        }
        Some(class)
    }

    /// A character of a class; none if it was a kind of characters.
    fn of_class(&mut self, class: &mut Class) -> Option<Option<char>> {
        match self.next()? {
            '\\' if self.eat("b") => Some(Some('\u{8}')),
            '\\' => {
                let before = (class.ranges.len(), class.kinds.len());
                self.escape(class)?;
                match class.kinds.len() == before.1 && class.ranges.len() == before.0 + 1 {
                    true => Some(class.ranges.pop().map(|(low, _)| low)),
                    false => Some(None),
                }
            }
            c => Some(Some(c)),
        }
    }

    /// What stands behind `\`.
    fn escape(&mut self, class: &mut Class) -> Option<()> {
        let digit: Kind = |c| c.is_ascii_digit();
        let c = match self.next()? {
            kind @ ('d' | 'D' | 'w' | 'W' | 's' | 'S') => {
                let is = kind.is_ascii_lowercase();
                let kind = match kind.to_ascii_lowercase() {
                    'd' => digit,
                    'w' => is_word,
                    _ => is_space,
                };
                class.kinds.push((kind, is));
                return Some(());
            }
            kind @ ('p' | 'P') => {
                let end = self.chars[self.at..].iter().position(|c| *c == '}')?;
                let name: String = self.chars.get(self.at..self.at + end)?.iter().collect();
                self.at += end + 1;
                let named: Kind = match name.strip_prefix('{')? {
                    "L" | "Letter" | "Alphabetic" | "IsAlphabetic" | "Alpha" => char::is_alphabetic,
                    "Lu" | "Upper" => char::is_uppercase,
                    "Ll" | "Lower" => char::is_lowercase,
                    "N" | "Nd" | "Digit" | "IsDigit" => char::is_numeric,
                    "Alnum" => char::is_alphanumeric,
                    "Cc" | "Cntrl" => char::is_control,
                    "Z" | "Zs" | "Space" => char::is_whitespace,
                    "ASCII" => |c| c.is_ascii(),
                    "P" | "Punct" => |c| c.is_ascii_punctuation(),
                    _ => return None,
                };
                class.kinds.push((named, kind == 'p'));
                return Some(());
            }
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '0' => '\0',
            'c' => char::from_u32(u32::from(self.next()?) % 32)?,
            'x' => self.number(2)?,
            'u' if self.eat("{") => {
                let end = self.chars[self.at..].iter().position(|c| *c == '}')?;
                let c = self.number(end)?;
                self.at += 1;
                c
            }
            'u' => self.number(4)?,
            c if c.is_ascii_alphanumeric() => return None,
            c => c,
        };
        class.ranges.push((c, c));
        Some(())
    }

    fn number(&mut self, digits: usize) -> Option<char> {
        let text: String = self.chars.get(self.at..self.at + digits)?.iter().collect();
        self.at += digits;
        char::from_u32(u32::from_str_radix(&text, 16).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_match_as_in_ecma_262() {
        for (pattern, matching, others) in [
            ("^[a-z]+$", &["abc"][..], &["", "aB", "a1"][..]),
            ("b", &["abc", "b"], &["", "ac"]),
            (r"^\d{3}-\d{2,4}$", &["123-45", "123-4567"], &["123-4", "12-345", "१२३-45"]),
            (r"^(?=.*[A-Z])(?=.*\d).{6,}$", &["aaaaA1"], &["aaaaaa", "A1", "aaaaa1"]),
            (r"^(?!0)[0-9]+$", &["10"], &["01", ""]),
            (r"^[^/\s]+(/[^/\s]+)*$", &["a/b/c", "a"], &["/a", "a//b", "a b"]),
            (r"^[\w.+\-[]+$", &["a[b", "a-b.c"], &["a b", "a]b"]),
            (r"^(a|bc)*?d{2}$", &["dd", "abcdd"], &["d", "bdd"]),
            (r"^{x}$", &["{x}"], &["x"]),
            (r"^\u00e9\x41[\u0061-\u007A]$", &["éAb"], &["éAB"]),
            (r"^[a-]$", &["a", "-"], &["b"]),
            (r"\bcat\b", &["a cat!"], &["concat"]),
            ("", &["", "a"], &[]),
            ("^$|^a$", &["", "a"], &["b"]),
            (r"^\p{Lu}[\p{L}\d]*$", &["Éa1"], &["éa"]),
        ] {
            let pattern_of = Pattern::parse(pattern).unwrap();
            for text in matching {
                assert_eq!(pattern_of.matches(text), Some(true), "{pattern} {text}");
            }
            for text in others {
                assert_eq!(pattern_of.matches(text), Some(false), "{pattern} {text}");
            }
        }
        for pattern in [r"(a)\1", "(?<=a)b", "(", "a)", "[a", "*a", r"\q", "[z-a]", "a{3,2}"] {
            assert!(Pattern::parse(pattern).is_none(), "{pattern}");
        }
    }

    #[test]
    fn made_texts_match_and_have_the_length() {
        for (pattern, least, most) in [
            ("^[a-z]+$", 3, 9),
            (r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}Z$", 0, 99),
            (r"^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*[!@#]).{8,}$", 8, 72),
            (r"^(?!xn--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", 3, 63),
            ("^(foo|bar)+$", 7, 9),
            ("abc", 10, 10),
            (r"^[^a-zA-Z0-9]$", 1, 1),
            (r"^arn:aws:[a-z]+:::\w+/.*$", 40, 2048),
            (r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$", 8, 8),
            (r"^\S+@\S+\.\S+$", 12, 12),
            ("^[\u{3b1}-\u{3b9}]{2}$", 2, 2),
            (r"^a{300}$", 300, 300),
        ] {
            let texts = Pattern::parse(pattern).unwrap().texts(least, most, 16);
            assert!(!texts.is_empty(), "{pattern}");
            for text in texts {
                assert!((least..=most).contains(&text.chars().count()), "{pattern} {text}");
            }
        }
        assert!(Pattern::parse("^a{3}$").unwrap().texts(4, 9, 16).is_empty());
        assert_eq!(Pattern::parse("^[ab]$").unwrap().texts(0, 9, 16).len(), 2);
    }

    #[test]
    fn searches_end() {
        let pattern = Pattern::parse("^(a+)+(b|c)*(a*)*$").unwrap();
        assert_eq!(pattern.matches(&("a".repeat(5000) + "!")), None);
        assert_eq!(Pattern::parse("^(?:ab)*$").unwrap().matches(&"ab".repeat(5000)), None);
        let deep = "(".repeat(3000) + &")".repeat(3000);
        assert!(Pattern::parse(&deep).is_none());
        let wide = Pattern::parse("^((a{9999}){9999}){9999}$").unwrap();
        assert!(wide.texts(0, usize::MAX, 16).is_empty());
    }
}
