//! Text of a plan: literal parts, and holes such as `${token}` that Candor fills for each request.
//!
//! Literals and holes are kept apart until the plan is written, so recorded text cannot become a hole:
//! `${` in a literal is written as `$${`.

use aho_corasick::AhoCorasick;

/// A hole at the end of literal text that ends in `$` would read as `$${`, the literal.
const DOLLAR: &str = "${choice $}";

/// Literal parts and holes in order. Two literals are never neighbours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    /// What stands between `${` and `}`. It is made by this crate and never copied from an input.
    Hole(String),
}

impl Template {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        // Exactly one: bodies have very many values.
        let pieces = if text.is_empty() { Vec::new() } else { vec![Piece::Text(text)] };
        Template { pieces }
    }

    pub(crate) fn hole(hole: impl Into<String>) -> Self {
        Template { pieces: vec![Piece::Hole(hole.into())] }
    }

    pub(crate) fn push_text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    pub(crate) fn push_hole(&mut self, hole: impl Into<String>) {
        self.pieces.push(Piece::Hole(hole.into()));
    }

    pub(crate) fn push(&mut self, other: &Template) {
        for piece in &other.pieces {
            match piece {
                Piece::Text(text) => self.push_text(text),
                Piece::Hole(hole) => self.push_hole(hole),
            }
        }
    }

    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Calls `visit` with what stands in each hole.
    pub(crate) fn holes(&mut self, visit: &mut dyn FnMut(&mut String)) {
        for piece in &mut self.pieces {
            if let Piece::Hole(hole) = piece {
                visit(hole);
            }
        }
    }

    /// The text, if there is no hole.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The same with every literal part changed.
    pub(crate) fn map_text(&self, change: impl Fn(&str) -> String) -> Template {
        let mut changed = Template::default();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => changed.push_text(&change(text)),
                Piece::Hole(hole) => changed.push_hole(hole),
            }
        }
        changed
    }

    /// Puts holes in the place of all texts that `search` finds in literal text, as whole words: the one for its
    /// number.
    pub(crate) fn replace(&mut self, search: &AhoCorasick, hole: &dyn Fn(usize) -> String) {
        let is_in = |piece: &Piece| matches!(piece, Piece::Text(text) if search.is_match(text));
        if !self.pieces.iter().any(is_in) {
            return;
        }
        let mut replaced = Template::default();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => {
                    let mut end = 0;
                    for found in search.find_iter(text) {
                        if !is_whole(text, found.range()) {
                            continue;
                        }
                        replaced.push_text(&text[end..found.start()]);
                        replaced.push_hole(hole(found.pattern().as_usize()));
                        end = found.end();
                    }
                    replaced.push_text(&text[end..]);
                }
                Piece::Hole(hole) => replaced.push_hole(hole),
            }
        }
        *self = replaced;
    }

    /// As it stands in a plan.
    pub(crate) fn render(&self) -> String {
        let mut written = String::new();
        for (index, piece) in self.pieces.iter().enumerate() {
            match piece {
                Piece::Text(text) => {
                    let is_before_hole = index + 1 < self.pieces.len();
                    let plain = match is_before_hole {
                        true => text.trim_end_matches('$'),
                        false => text,
                    };
                    written += &escaped(plain);
                    written += &DOLLAR.repeat(text.len() - plain.len());
                }
                Piece::Hole(hole) => {
                    written += "${";
                    written += hole;
                    written.push('}');
                }
            }
        }
        written
    }
}

/// Whether a part of a text is no part of a longer word. Behind a percent escape a word begins.
fn is_whole(text: &str, part: std::ops::Range<usize>) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let (before, after) = (&text[..part.start], &text[part.end..]);
    let part = &text[part];
    let is_behind_escape = before
        .len()
        .checked_sub(3)
        .and_then(|at| before.get(at..))
        .is_some_and(|end| end.starts_with('%'));
    let joins_before = is_letter(before.chars().next_back()) && is_letter(part.chars().next());
    let joins_after = is_letter(part.chars().next_back()) && is_letter(after.chars().next());
    (!joins_before || is_behind_escape) && !joins_after
}

/// Literal text as it stands in a plan.
pub(crate) fn escaped(text: &str) -> String {
    text.replace("${", "$${")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_text_never_becomes_a_hole() {
        let table = [
            ("a ${b} c", "a $${b} c"),
            ("$${b}", "$$${b}"),
            ("$", "$"),
            ("${${", "$${$${"),
            ("", ""),
        ];
        for (text, written) in table {
            assert_eq!(Template::text(text).render(), written);
        }
        let mut split = Template::text("$");
        split.push_text("{x}");
        assert_eq!(split.render(), "$${x}");
    }

    #[test]
    fn a_dollar_before_a_hole_stays_a_dollar() {
        let mut price = Template::text("costs $");
        price.push_hole("price");
        assert_eq!(price.render(), "costs ${choice $}${price}");
        let mut two = Template::text("$$");
        two.push_hole("x");
        two.push_text("$");
        assert_eq!(two.render(), "${choice $}${choice $}${x}$");
    }

    #[test]
    fn replaces_in_literals_only() {
        let mut template = Template::text("a=s3cret&b=s3cret");
        template.push_hole("s3cret");
        template.push_text("%20s3cretly mys3cret");
        let search = AhoCorasick::new(["s3cret", "other"]).unwrap();
        template.replace(&search, &|number| format!("env:X{number}"));
        assert_eq!(template.render(), "a=${env:X0}&b=${env:X0}${s3cret}%20s3cretly mys3cret");
    }
}
