//! YAML to the same values as JSON, with bounds: values stay below [`MAX_VALUES`], nesting below
//! [`MAX_DEPTH`], and all that anchors and aliases repeat below a small multiple of the text.
//!
//! The parser gives events one by one and does not recurse. Of YAML 1.2's core schema it has what
//! descriptions of interfaces use: plain scalars are null, booleans, numbers or text.

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::Number;

use crate::error::Position;
use crate::json::{Json, MAX_VALUES};

/// What a value takes in memory besides its text, in bytes.
const VALUE: usize = 64;
/// Levels of nesting.
const MAX_DEPTH: usize = 100;

/// Why YAML is refused, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct YamlError {
    pub(crate) at: Position,
    pub(crate) problem: String,
}

/// The first document of a text.
pub(crate) fn parse(text: &str) -> Result<Json, YamlError> {
    // Of documents for people: an alias stands for a few lines, here and there.
    let mut builder = Builder { may_repeat: text.len() * 4 + (1 << 20), ..Builder::default() };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| YamlError {
            at: position(error.marker().line(), error.marker().col()),
            problem: error.info().to_owned(),
        })?;
        let done = builder.take(event).map_err(|problem| YamlError {
            at: position(span.start.line(), span.start.col()),
            problem,
        })?;
        if done {
            break;
        }
    }
    Ok(builder.root.unwrap_or(Json::Null))
}

fn position(line: usize, column: usize) -> Position {
    Position { line, column: column + 1 }
}

/// Open lists and objects, and the values that aliases may name.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    /// By the parser's number of the anchor.
    anchors: HashMap<usize, Anchored>,
    values: usize,
    /// Bytes that copies of values may still take.
    may_repeat: usize,
    root: Option<Json>,
}

#[derive(Clone)]
struct Anchored {
    value: Json,
    /// What it takes in memory, in bytes.
    bytes: usize,
    /// Levels in it.
    depth: usize,
}

struct Open {
    anchor: usize,
    /// What it takes in memory so far, in bytes.
    bytes: usize,
    /// Levels of the deepest value in it so far.
    depth: usize,
    value: Json,
    key: Option<String>,
    /// What `<<` names.
    merged: Vec<Json>,
}

impl Builder {
    /// Takes an event; true at the end of the first document.
    fn take(&mut self, event: Event<'_>) -> Result<bool, String> {
        match event {
            Event::DocumentEnd => return Ok(true),
            Event::Scalar(text, style, anchor, _) => {
                let value = match style {
                    ScalarStyle::Plain => plain(&text),
                    _ => Json::Text(text.into_owned()),
                };
                let bytes = VALUE + value.as_str().map_or(0, str::len);
                self.count()?;
                self.add(Anchored { value, bytes, depth: 0 }, anchor)?;
            }
            Event::Alias(anchor) => {
                let Some(known) = self.anchors.get(&anchor) else {
                    return Err("an alias inside of its own anchor".to_owned());
                };
                self.check_depth(known.depth)?;
                self.may_repeat = less(self.may_repeat, known.bytes)?;
                let copy = known.clone();
                self.add(copy, 0)?;
            }
            Event::SequenceStart(anchor, _) => self.begin(Json::List(Vec::new()), anchor)?,
            Event::MappingStart(anchor, _) => self.begin(Json::Object(Vec::new()), anchor)?,
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(mut open) = self.open.pop() {
                    open.merge();
                    let Open { value, bytes, depth, anchor, .. } = open;
                    self.add(Anchored { value, bytes, depth: depth + 1 }, anchor)?;
                }
            }
            _ => {}
        }
        Ok(false)
    }

    fn begin(&mut self, value: Json, anchor: usize) -> Result<(), String> {
        self.check_depth(1)?;
        self.count()?;
        let merged = Vec::new();
        self.open.push(Open { anchor, bytes: VALUE, depth: 0, value, key: None, merged });
        Ok(())
    }

    /// Whether a value with this many levels may come here.
    fn check_depth(&self, levels: usize) -> Result<(), String> {
        match self.open.len() + levels > MAX_DEPTH {
            true => Err(format!("nested deeper than {MAX_DEPTH} levels")),
            false => Ok(()),
        }
    }

    fn count(&mut self) -> Result<(), String> {
        self.values += 1;
        match self.values > MAX_VALUES {
            true => Err(format!("more than {MAX_VALUES} values")),
            false => Ok(()),
        }
    }

    fn add(&mut self, new: Anchored, anchor: usize) -> Result<(), String> {
        if anchor > 0 {
            self.may_repeat = less(self.may_repeat, new.bytes)?;
            self.anchors.insert(anchor, new.clone());
        }
        let Anchored { value, bytes, depth } = new;
        let Some(open) = self.open.last_mut() else {
            self.root.get_or_insert(value);
            return Ok(());
        };
        open.bytes += bytes;
        open.depth = open.depth.max(depth);
        match &mut open.value {
            Json::List(items) => items.push(value),
            Json::Object(fields) => match open.key.take() {
                None => {
                    let key = value.scalar().or((value == Json::Null).then(|| "null".to_owned()));
                    open.key = Some(key.ok_or("a key that is not a scalar")?);
                }
                Some(key) if key == "<<" => match value {
                    Json::List(all) => open.merged.extend(all),
                    one => open.merged.push(one),
                },
                Some(key) => fields.push((key, value)),
            },
            _ => {}
        }
        Ok(())
    }
}

impl Open {
    /// Adds the keys of the merged objects that are not there, the first ones first.
    fn merge(&mut self) {
        let Json::Object(fields) = &mut self.value else { return };
        if self.merged.is_empty() {
            return;
        }
        let mut known: HashSet<String> = fields.iter().map(|(key, _)| key.clone()).collect();
        for one in self.merged.drain(..) {
            let Json::Object(more) = one else { continue };
            fields.extend(more.into_iter().filter(|(key, _)| known.insert(key.clone())));
        }
    }
}

/// What is left when copies of this many bytes are made.
fn less(left: usize, bytes: usize) -> Result<usize, String> {
    left.checked_sub(bytes).ok_or_else(|| "aliases that repeat too much".to_owned())
}

/// A plain scalar by YAML 1.2's core schema.
fn plain(text: &str) -> Json {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Json::Null,
        "true" | "True" | "TRUE" => return Json::Bool(true),
        "false" | "False" | "FALSE" => return Json::Bool(false),
        _ => {}
    }
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
        && text.bytes().any(|byte| byte.is_ascii_digit());
    let number = match text.strip_prefix('+').unwrap_or(text) {
        _ if !is_number => None,
        text => (text.parse::<i64>().map(Number::from).ok())
            .or_else(|| text.parse::<u64>().map(Number::from).ok())
            .or_else(|| text.parse::<f64>().ok().and_then(Number::from_f64)),
    };
    number.map_or_else(|| Json::Text(text.to_owned()), Json::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        parse(text).unwrap().into_template().to_text().render()
    }

    #[test]
    fn values_of_the_core_schema() {
        let text = "a: 1\nb: [x, 'y', \"1\", 1.5, +3, 1.2.3, ~, true, no]\n404: z\nc:\n  - d: |\n      e\n      f\n";
        assert_eq!(
            json(text),
            r#"{"a":1,"b":["x","y","1",1.5,3,"1.2.3",null,true,"no"],"404":"z","c":[{"d":"e\nf\n"}]}"#
        );
        assert_eq!(json("a: 1\n---\nb: 2\n"), r#"{"a":1}"#);
        assert_eq!(json(""), "null");
        assert_eq!(json(r#"{"a": [1, {"b": "c"}]}"#), r#"{"a":[1,{"b":"c"}]}"#);
    }

    #[test]
    fn aliases_and_merged_keys() {
        let text = "a: &x {p: 1, q: 2}\nb: *x\nc:\n  q: 3\n  <<: *x\n";
        assert_eq!(json(text), r#"{"a":{"p":1,"q":2},"b":{"p":1,"q":2},"c":{"q":3,"p":1}}"#);
        let text = "- &x {p: 1}\n- &y {p: 2, q: 3}\n- {<<: [*x, *y], q: 4, r: 5}\n";
        assert_eq!(json(text), r#"[{"p":1},{"p":2,"q":3},{"q":4,"r":5,"p":1}]"#);
    }

    #[test]
    fn aliases_that_double_end_at_the_bound() {
        let mut text = "a0: &a0 [lol, lol]\n".to_owned();
        for level in 1..64 {
            let before = level - 1;
            text += &format!("a{level}: &a{level} [*a{before}, *a{before}]\n");
        }
        let error = parse(&text).unwrap_err();
        assert_eq!(error.problem, "aliases that repeat too much");
        assert!(error.at.line > 5 && error.at.line < 20, "{error:?}");
    }

    #[test]
    fn nesting_and_cycles_are_refused_with_the_place() {
        assert_eq!(parse(&"[".repeat(100_000)).unwrap_err().problem, "recursion limit exceeded");
        let error = parse(&"[".repeat(150)).unwrap_err();
        assert_eq!((error.at.line, error.problem.as_str()), (1, "nested deeper than 100 levels"));
        let mut deep = "a0: &a0 [".to_owned() + &"[".repeat(40) + &"]".repeat(40) + "]\n";
        for level in 1..500 {
            deep += &format!("a{level}: &a{level} [*a{}]\n", level - 1);
        }
        let error = parse(&deep).unwrap_err();
        assert_eq!((error.at.line, error.problem.as_str()), (60, "nested deeper than 100 levels"));
        let error = parse("a: &x\n  b: *x\n").unwrap_err();
        assert_eq!(error.at, Position { line: 2, column: 6 });
        assert_eq!(error.problem, "an alias inside of its own anchor");
        assert_eq!(parse("a: [1\nb: 2").unwrap_err().at.line, 2);
    }
}
