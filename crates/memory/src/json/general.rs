//! Paths that need the whole body as a tree: wildcards, slices, filters, `..`.
//!
//! serde_json_path selects the nodes. It collects all of them, and the server decides how many there
//! are, so the cost is bounded in advance: by the form of the path when it is compiled, and by the
//! number of values in the body before it is read. Depth is bounded by serde_json, at 127 levels.

use serde_json::Value;
use serde_json_path::JsonPath;

use super::Step;
use crate::Why;

/// The longest path, in bytes.
const MOST_BYTES: usize = 1024;
/// The deepest brackets of a path: the parser of the library recurses.
const MOST_DEPTH: usize = 8;
/// The most `..` and inner `$`, each of which looks at the whole body for every node.
const MOST_SCANS: usize = 2;
/// The most commas: selectors of one pair of brackets can each select everything.
const MOST_COMMAS: usize = 4;
/// The most values in a body, for a path with up to one scan and with two. A tree takes some hundred
/// bytes for each value.
const MOST_VALUES: [usize; 2] = [1 << 16, 1 << 10];

/// A path, and how many values a body may have for it.
#[derive(Debug, Clone)]
pub(crate) struct General {
    path: JsonPath,
    most_values: usize,
}

impl General {
    /// Compiles a path within the bounds.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("the JSON path is empty; write e.g. json:$.token".to_owned());
        }
        if !text.starts_with('$') {
            let dot = if text.starts_with(['[', '.']) { "" } else { "." };
            return Err(format!("a JSON path begins with $; put ${dot} in front of it"));
        }
        let form = Form::of(text)?;
        let path = JsonPath::parse(text).map_err(|error| {
            let at = error.position().min(text.len());
            match text.get(at..).and_then(|rest| rest.chars().next()) {
                Some(found) => format!(
                    "the JSON path is not valid from {found:?} at position {} on; {}",
                    at + 1,
                    remedy(text, found)
                ),
                None => {
                    "the JSON path is not complete; write on after its end, e.g. $.token".to_owned()
                }
            }
        })?;
        Ok(General { path, most_values: MOST_VALUES[usize::from(form.scans > 1)] })
    }

    /// The way to the first node.
    pub(super) fn first(&self, body: &[u8]) -> Result<Vec<Step>, Why> {
        if most_values_of(body) > self.most_values {
            return Err(Why::TooManyValues);
        }
        let tree: Value = serde_json::from_slice(body).map_err(|_| Why::NotJson)?;
        let node = self.path.query(&tree).first().ok_or(Why::NotFound)?;
        let mut steps = Vec::new();
        match way_to(node, &tree, &mut steps) {
            true => Ok(steps),
            false => Err(Why::NotFound),
        }
    }

    /// The first node, as the library has it.
    #[cfg(test)]
    pub(super) fn node<'a>(&self, tree: &'a Value) -> Option<&'a Value> {
        self.path.query(tree).first()
    }
}

/// How a path is written, outside of its quotes.
struct Form {
    scans: usize,
}

impl Form {
    fn of(text: &str) -> Result<Self, String> {
        if text.len() > MOST_BYTES {
            return Err(format!(
                "the JSON path is longer than {MOST_BYTES} bytes; make it shorter"
            ));
        }
        let (mut depth, mut commas, mut scans) = (0usize, 0, 0);
        let mut quote = None;
        let mut bytes = text.bytes().skip(1).peekable();
        while let Some(byte) = bytes.next() {
            match (quote, byte) {
                (Some(_), b'\\') => drop(bytes.next()),
                (Some(open), _) if open == byte => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'[' | b'(') => depth += 1,
                (None, b']' | b')') => depth = depth.saturating_sub(1),
                (None, b',') => commas += 1,
                (None, b'$') => scans += 1,
                (None, b'.') if bytes.peek() == Some(&b'.') => scans += 1,
                (None, _) => {}
            }
            if depth > MOST_DEPTH {
                return Err(format!(
                    "the JSON path has brackets deeper than {MOST_DEPTH}; make it simpler"
                ));
            }
        }
        if scans > MOST_SCANS {
            return Err(format!(
                "the JSON path has more than {MOST_SCANS} of .. and $ after its first $; make it simpler"
            ));
        }
        if commas > MOST_COMMAS {
            return Err(format!(
                "the JSON path has more than {MOST_COMMAS} commas; make it simpler"
            ));
        }
        Ok(Form { scans })
    }
}

/// What to do about a path that is not valid from `found` on.
fn remedy(text: &str, found: char) -> &'static str {
    if ["match(", "search("].iter().any(|function| text.contains(function)) {
        return "match() and search() are not supported, remove them";
    }
    match found {
        '-' => "write a name with a hyphen as ['a-b']",
        _ => "correct it by RFC 9535, e.g. $.items[0]['a b']",
    }
}

/// No body has more values than one, and one for each of these bytes.
fn most_values_of(body: &[u8]) -> usize {
    1 + memchr::memchr3_iter(b',', b'[', b'{', body).count()
}

/// Finds a node in its tree, by its address.
fn way_to(node: &Value, tree: &Value, steps: &mut Vec<Step>) -> bool {
    if std::ptr::eq(node, tree) {
        return true;
    }
    let mut is_in = |inner: &Value, step: &dyn Fn() -> Step| {
        // The step is taken first, and made only where it leads there: names would be copied.
        steps.push(Step::Index(0));
        let at = steps.len() - 1;
        let found = way_to(node, inner, steps);
        match found {
            true => steps[at] = step(),
            false => steps.truncate(at),
        }
        found
    };
    match tree {
        Value::Array(elements) => {
            elements.iter().enumerate().any(|(index, inner)| is_in(inner, &|| Step::Index(index)))
        }
        Value::Object(members) => {
            members.iter().any(|(name, inner)| is_in(inner, &|| Step::Name(name.as_str().into())))
        }
        _ => false,
    }
}
