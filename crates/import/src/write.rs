//! The TOML text of a draft. Everything of an input passes through `toml_edit`, as a key or a value, or
//! through [`one_line`], as a comment; neither can be left. Nothing in a plan is invisible.

use candor_plan::values::FORM_BOUNDARY;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Key, Table, Value};

use crate::draft::{Body, Draft, Journey, Step};
use crate::json::Json;
use crate::template::{Template, escaped};

/// A longer comment is cut.
const MAX_COMMENT: usize = 400;
/// Width of a comment's line.
const COMMENT_WIDTH: usize = 98;
/// Tables up to this width stand in one line.
const INLINE_WIDTH: usize = 90;
/// JSON bodies up to this width are written as TOML, longer ones as text.
const JSON_WIDTH: usize = 400;

/// The whole plan.
pub(crate) fn plan(draft: &Draft) -> String {
    let mut document = DocumentMut::new();
    let root = document.as_table_mut();
    put(root, "url", shown(&draft.url));
    for (key, value) in &draft.settings {
        let value = value.as_str().map_or_else(|| value.clone(), |text| shown(text).into());
        put(root, key, value);
    }
    if !draft.header.is_empty() {
        put(root, "header", header(&draft.header));
    }
    // The comment of the first table stands below the settings, so it has the suggestions too.
    let mut below = comment(&draft.suggestions);
    if !draft.requests.is_empty() {
        let mut tables = ArrayOfTables::new();
        for one in &draft.requests {
            tables.push(with_comment(step(one), &std::mem::take(&mut below), &one.remarks));
        }
        root.insert("request", Item::ArrayOfTables(tables));
    }
    if !draft.journeys.is_empty() {
        let mut tables = ArrayOfTables::new();
        for one in &draft.journeys {
            tables.push(with_comment(journey(one), &std::mem::take(&mut below), &one.remarks));
        }
        root.insert("journey", Item::ArrayOfTables(tables));
    }
    let head = comment(&draft.remarks);
    let gap = if head.is_empty() { "" } else { "\n" };
    let document = document.to_string().replace(WRITTEN, "\\U");
    format!("{head}{gap}{document}{below}")
}

/// One line without control characters, so that a comment ends where it should.
pub(crate) fn one_line(text: &str) -> String {
    let mut line: String =
        text.chars().take(MAX_COMMENT).map(|c| if is_hidden(c) { '·' } else { c }).collect();
    if text.chars().nth(MAX_COMMENT).is_some() {
        line.push('…');
    }
    line
}

/// Controls, separators of lines, marks that change the direction of text, and all else that is not seen. Of
/// letters, these are the blanks of Hangul.
fn is_hidden(c: char) -> bool {
    let is_plain = matches!(c, '"' | '\'' | '\\') || c.escape_debug().len() == 1;
    !is_plain || matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
}

/// Stands before the number of a character that is not seen. A control character has only one form in TOML, an
/// escape; and the one behind it is not seen either, so no text of an input has it.
const NUMBER: &str = "\u{1}\u{fdd0}";
/// The same as TOML has it.
const WRITTEN: &str = "\\u0001\u{fdd0}";

/// The text of a key or a value, with numbers for what is not seen.
fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => shown.push(c),
            c if is_hidden(c) => shown += &format!("{NUMBER}{:08X}", u32::from(c)),
            c => shown.push(c),
        }
    }
    shown
}

/// Comment lines for texts, each beginning on a line of its own.
pub(crate) fn comment(texts: &[String]) -> String {
    let mut lines = String::new();
    for text in texts {
        let mut width = 0;
        for word in one_line(text).split(' ') {
            let length = word.chars().count() + 1;
            if width == 0 || width + length > COMMENT_WIDTH {
                lines += if width == 0 { "# " } else { "\n#   " };
                width = 2;
            } else {
                lines.push(' ');
            }
            lines += word;
            width += length;
        }
        lines.push('\n');
    }
    lines
}

fn with_comment(mut table: Table, below: &str, remarks: &[String]) -> Table {
    let gap = if below.is_empty() { "" } else { "\n" };
    table.decor_mut().set_prefix(format!("{gap}{below}\n{}", comment(remarks)));
    table
}

fn journey(journey: &Journey) -> Table {
    let mut table = Table::new();
    put(&mut table, "name", shown(&journey.name));
    if journey.cookies {
        put(&mut table, "cookies", true);
    }
    let mut steps = ArrayOfTables::new();
    for one in &journey.steps {
        steps.push(with_comment(step(one), "", &one.remarks));
    }
    table.insert("step", Item::ArrayOfTables(steps));
    table
}

/// A step of a journey, or an independent request: they have the same keys.
fn step(step: &Step) -> Table {
    let mut table = Table::new();
    put(&mut table, "name", shown(&step.name));
    match step.method.as_str() {
        "" | "GET" if step.body.is_none() => {}
        // A request with a body is a POST if nothing says otherwise.
        "" => put(&mut table, "method", "GET"),
        method => put(&mut table, "method", method),
    }
    let path = step.target.to_template().render();
    match &step.origin {
        None => put(&mut table, "path", shown(&path)),
        Some(origin) => put(&mut table, "url", shown(&format!("{origin}{path}"))),
    }
    let mut fields = step.header.clone();
    let mut long = Vec::new();
    match &step.body {
        Some(Body::File(name)) => put(&mut table, "body-file", shown(name)),
        Some(Body::Parts(form)) if !step.files().is_empty() => {
            let own = form.fields().map(|field| shown(&field.to_string()));
            put(&mut table, "form", Value::Array(own.collect::<Array>()));
            // A plan chooses a boundary that is in none of its files.
            let made = format!("; boundary={FORM_BOUNDARY}");
            for (name, value) in &mut fields {
                if name.eq_ignore_ascii_case("content-type") {
                    *value = value.map_text(|text| text.trim_end_matches(&made).to_owned());
                }
            }
            fields.retain(|(name, value)| {
                let is_usual = value.as_text() == Some("multipart/form-data");
                !(is_usual && name.eq_ignore_ascii_case("content-type"))
            });
        }
        Some(body) => {
            let value = match body {
                Body::Json { value, written: None } => as_toml(value),
                _ => None,
            };
            if let Some(value) = value {
                // `json` sends this header by itself.
                fields.retain(|(name, value)| {
                    let is_plain = value.as_text().is_some_and(is_plain_json);
                    !(name.eq_ignore_ascii_case("content-type") && is_plain)
                });
                put(&mut table, "json", value);
            } else {
                put(&mut table, "body", shown(&step.body_text().unwrap_or_default().render()));
            }
        }
        None => {}
    }
    if !fields.is_empty() {
        short_or_long(&mut table, "header", header(&fields), &mut long);
    }
    if !step.capture.is_empty() {
        let pairs = step.capture.iter().map(|(name, from)| (name.as_str(), shown(from)));
        let captures = Value::InlineTable(pairs.collect::<InlineTable>());
        short_or_long(&mut table, "capture", captures, &mut long);
    }
    if let Some(think) = &step.think {
        put(&mut table, "think", think.as_str());
    }
    if let Some(weight) = step.weight {
        put(&mut table, "weight", i64::try_from(weight).unwrap_or(i64::MAX));
    }
    if let Some(status) = step.expect_status {
        put(&mut table, "expect-status", i64::from(status));
    }
    // Tables come after the keys of the table that they are in.
    for (key, value) in long {
        table.insert(key, value);
    }
    table
}

fn is_plain_json(content_type: &str) -> bool {
    let content_type = content_type.to_ascii_lowercase().replace(' ', "");
    ["application/json", "application/json;charset=utf-8"].contains(&content_type.as_str())
}

fn put(table: &mut Table, key: &str, value: impl Into<Value>) {
    table.insert(key, Item::Value(value.into()));
}

/// A table that fits on a line, or one for below.
fn short_or_long(
    table: &mut Table,
    key: &'static str,
    value: Value,
    long: &mut Vec<(&'static str, Item)>,
) {
    match value {
        Value::InlineTable(inline) if inline.to_string().chars().count() > INLINE_WIDTH => {
            long.push((key, Item::Table(inline.into_table())));
        }
        value => put(table, key, value),
    }
}

/// A table, or a list if a name is there twice.
fn header(fields: &[(String, Template)]) -> Value {
    let is_twice = fields.iter().enumerate().any(|(index, (name, _))| {
        fields[..index].iter().any(|(other, _)| other.eq_ignore_ascii_case(name))
    });
    if is_twice {
        let lines = fields.iter().map(|(name, value)| format!("{name}: {}", value.render()));
        let lines = lines.map(|line| shown(&line));
        return Value::Array(lines.collect::<Array>());
    }
    let pairs = fields.iter().map(|(name, value)| (Key::new(name), shown(&value.render())));
    Value::InlineTable(pairs.collect::<InlineTable>())
}

/// A short object or list as TOML, if TOML has all of its values. TOML has no null and no integer above 2^63.
fn as_toml(json: &Json<Template>) -> Option<Value> {
    let is_short = |value: &Value| value.to_string().chars().count() <= JSON_WIDTH;
    match json {
        Json::Object(_) | Json::List(_) if json.to_text().render().len() <= 2 * JSON_WIDTH => {
            toml_value(json, 0).filter(is_short)
        }
        _ => None,
    }
}

fn toml_value(json: &Json<Template>, depth: usize) -> Option<Value> {
    if depth > 16 {
        return None;
    }
    Some(match json {
        Json::Null | Json::Raw(_) => return None,
        Json::Bool(is) => Value::from(*is),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Value::from(integer),
            None if number.is_u64() => return None,
            None => Value::from(number.as_f64()?),
        },
        Json::Text(text) => shown(&text.render()).into(),
        Json::List(items) => {
            let values: Option<Array> =
                items.iter().map(|item| toml_value(item, depth + 1)).collect();
            Value::Array(values?)
        }
        Json::Object(fields) => {
            let mut table = InlineTable::new();
            for (key, value) in fields {
                // A key twice has no form in TOML; whether keys are templates is left open.
                if escaped(key) != *key
                    || table.insert(shown(key), toml_value(value, depth + 1)?).is_some()
                {
                    return None;
                }
            }
            Value::InlineTable(table)
        }
    })
}
