//! Text with holes: where `${…}` begins and ends, and which names are in it. What a hole means, templates of requests
//! know; this module knows text alone.

/// The most holes of one text.
const MOST_HOLES: usize = 10_000;

/// Whether `text` has a hole.
pub fn has_holes(text: &str) -> bool {
    text.match_indices("${").any(|(at, _)| !text[..at].ends_with('$'))
}

/// Text without holes, as it is meant: `$${` stands for `${`.
pub fn plain(text: &str) -> String {
    text.replace("$${", "${")
}

/// `text` with a letter for every byte of a hole; what cannot be read as holes stays as it is.
pub fn without_holes(text: &str) -> String {
    let Ok(parts) = split(text) else { return text.to_owned() };
    let shown = |part: &Part<'_>| match part {
        Part::Text(text) => (*text).to_owned(),
        Part::Literal => "$${".to_owned(),
        Part::Hole(inner) => "x".repeat(inner.len() + 3),
    };
    parts.iter().map(shown).collect()
}

/// The names of the environment's variables in the holes of `text`, at any depth.
pub fn variables(text: &str) -> Vec<&str> {
    let holes = split(text).unwrap_or_default().into_iter().filter_map(|part| match part {
        Part::Hole(inner) => Some(inner),
        Part::Text(_) | Part::Literal => None,
    });
    let names = holes.flat_map(|hole| hole.split("env:").skip(1));
    let is_of_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
    names.map(|name| &name[..name.find(|c| !is_of_name(c)).unwrap_or(name.len())]).collect()
}

/// A part of a text: fixed, or what stands between `${` and `}`.
pub(crate) enum Part<'a> {
    Text(&'a str),
    /// `$${`.
    Literal,
    Hole(&'a str),
}

impl Part<'_> {
    /// The fixed text.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Part::Text(text) => Some(text),
            Part::Literal => Some("${"),
            Part::Hole(_) => None,
        }
    }
}

/// Takes a text apart.
pub(crate) fn split(text: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    let mut holes = 0;
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if let Some(before) = rest[..at].strip_suffix('$') {
            parts.push(Part::Text(before));
            parts.push(Part::Literal);
            rest = &rest[at + 2..];
            continue;
        }
        parts.push(Part::Text(&rest[..at]));
        let inner = &rest[at + 2..];
        let Some(end) = end_of_hole(inner) else {
            let position = text[..text.len() - rest.len() + at].chars().count() + 1;
            return Err(format!(
                "the ${{ at character {position} has no closing brace; add }}, or write $${{ for the characters ${{"
            ));
        };
        parts.push(Part::Hole(&inner[..end]));
        rest = &inner[end + 1..];
        holes += 1;
        if holes > MOST_HOLES {
            return Err(format!("it has more than {MOST_HOLES} holes; use fewer"));
        }
    }
    parts.push(Part::Text(rest));
    Ok(parts)
}

/// The byte of the brace that closes the hole that `text` begins in.
fn end_of_hole(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '{' if before == '$' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_named_in_holes_alone() {
        assert_eq!(
            variables("env:A ${env:B} ${base64 ${env:C_1}:${seq}} $${env:D} ${base64 env:E}"),
            ["B", "C_1", "E"]
        );
        assert_eq!(variables("${env:A"), [""; 0]);
    }
}
