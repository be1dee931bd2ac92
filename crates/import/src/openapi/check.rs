//! Whether a value is one of a schema, and which keyword says that it is not.
//!
//! It is used to choose between values, and once more on every value before it is written. Schemas are JSON Schema as
//! OpenAPI has it: `nullable` and exclusive bounds that are true in 3.0, lists of types and `const` in 3.1. A property
//! that is read-only has no place in a request. Not looked at: `unevaluatedProperties`, `unevaluatedItems`,
//! `dependentSchemas`, and formats that have no form of their own.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::budget::take;
use super::document::Document;
use super::pattern::{MAX_TEXT, Pattern};
use crate::json::Json;
use crate::template::{Piece, Template};

/// Levels of schemas and values that are compared.
const MAX_COMPARED: usize = 64;
/// Items of a list in a schema: kinds of a choice, names, values of an enumeration.
pub(super) const MAX_LISTED: usize = 2000;
/// Compiled patterns that are kept.
const MAX_PATTERNS: usize = 1000;

/// What a value does not satisfy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    keyword: &'static str,
    /// Names and numbers of what it is in, the innermost first.
    within: Vec<String>,
}

impl Fault {
    fn of(keyword: &'static str) -> Option<Self> {
        Some(Fault { keyword, within: Vec::new() })
    }

    fn within(mut self, name: impl Into<String>) -> Self {
        self.within.push(name.into());
        self
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(formatter, "`{}`", self.keyword)?;
        if !self.within.is_empty() {
            formatter.write_str(" at ")?;
        }
        self.within.iter().rev().try_for_each(|name| write!(formatter, "/{name:.40}"))
    }
}

impl<'d> Document<'d> {
    /// What a value does not satisfy. A hole stands for all that it may become.
    pub(super) fn fault(&self, schema: &'d Json, value: &Json<Template>) -> Option<Fault> {
        self.fault_of(schema, value, schema, 0)
    }

    /// `whole` is the outermost schema of the same value.
    fn fault_of(
        &self,
        schema: &'d Json,
        value: &Json<Template>,
        whole: &'d Json,
        depth: usize,
    ) -> Option<Fault> {
        if !take(&self.checks, 1) || depth > MAX_COMPARED {
            return None;
        }
        let resolved = self.resolve(schema);
        if !std::ptr::eq(resolved, schema) {
            if *resolved == Json::Null {
                return Fault::of("$ref");
            }
            let of_siblings = || {
                let has = self.has_siblings() && schema.fields().len() > 1;
                has.then(|| self.own_fault(schema, value, whole, depth))?
            };
            return self.own_fault(resolved, value, whole, depth).or_else(of_siblings);
        }
        self.own_fault(schema, value, whole, depth)
    }

    fn own_fault(
        &self,
        schema: &'d Json,
        value: &Json<Template>,
        whole: &'d Json,
        depth: usize,
    ) -> Option<Fault> {
        let has = |part: &'d Json| self.fault_of(part, value, whole, depth + 1).is_none();
        let listed =
            |key: &str| schema.get(key).map_or(&[][..], Json::items).iter().take(MAX_LISTED);
        if *schema == Json::Bool(false) {
            return Fault::of("false");
        }
        if let Some(kinds) = kinds(schema)
            && !kinds.iter().any(|kind| is_kind(kind, value))
        {
            return Fault::of("type");
        }
        if schema.get("const").is_some_and(|one| !is_same(one, value)) {
            return Fault::of("const");
        }
        if schema.get("enum").is_some() && !listed("enum").any(|one| is_same(one, value)) {
            return Fault::of("enum");
        }
        match value {
            Json::Number(_) | Json::Raw(_) => number_fault(schema, value),
            Json::Text(text) => self.text_fault(schema, text),
            Json::List(items) => self.list_fault(schema, items, depth),
            Json::Object(fields) => self.object_fault(schema, fields, whole, depth),
            Json::Null | Json::Bool(_) => None,
        }
        .or_else(|| listed("allOf").find_map(|part| self.fault_of(part, value, whole, depth + 1)))
        .or_else(|| {
            schema.get("anyOf")?;
            if let Some(kind) = self.discriminated(schema, "anyOf", value) {
                return self.fault_of(kind, value, whole, depth + 1);
            }
            (!listed("anyOf").any(has)).then(|| Fault::of("anyOf"))?
        })
        .or_else(|| {
            schema.get("oneOf")?;
            if let Some(kind) = self.discriminated(schema, "oneOf", value) {
                return self.fault_of(kind, value, whole, depth + 1);
            }
            let count = listed("oneOf").filter(|part| has(part)).take(2).count();
            (count != 1).then(|| Fault::of("oneOf"))?
        })
        .or_else(|| schema.get("not").filter(|part| has(part)).and_then(|_| Fault::of("not")))
        .or_else(|| {
            let branch = if has(schema.get("if")?) { "then" } else { "else" };
            self.fault_of(schema.get(branch)?, value, whole, depth + 1)
        })
    }

    /// The kind of a choice that the value's own property names.
    fn discriminated(
        &self,
        schema: &'d Json,
        key: &str,
        value: &Json<Template>,
    ) -> Option<&'d Json> {
        let property = property_of(schema.get("discriminator")?)?;
        let Some(Json::Text(name)) = value.get(property) else { return None };
        let kinds = schema.get(key)?.items().iter().take(MAX_LISTED);
        kinds.into_iter().find(|kind| {
            kind.str("$ref").is_some_and(|reference| {
                Some(kind_name(schema.get("discriminator"), reference)) == name.as_text()
            })
        })
    }

    fn text_fault(&self, schema: &'d Json, text: &Template) -> Option<Fault> {
        const KEYWORDS: [&str; 4] = ["minLength", "maxLength", "pattern", "format"];
        let is_bound = KEYWORDS.iter().any(|key| schema.get(key).is_some());
        let text = is_bound.then(|| sample(text))??;
        let length = text.chars().count();
        if count(schema, "minLength").is_some_and(|least| length < least) {
            return Fault::of("minLength");
        }
        if count(schema, "maxLength").is_some_and(|most| length > most) {
            return Fault::of("maxLength");
        }
        if let Some(pattern) = schema.str("pattern") {
            take(&self.checks, 1 + text.len().min(MAX_TEXT) / 16);
            let is_match = self.pattern(pattern).and_then(|one| one.matches(&text));
            if is_match != Some(true) {
                // A search that reached its bound was long.
                take(&self.checks, is_match.map_or(1000, |_| 0));
                return Fault::of("pattern");
            }
        }
        let format = schema.str("format").unwrap_or_default();
        if is_format(format, &text) { None } else { Fault::of("format") }
    }

    /// The pattern, compiled; none if it is not known how to.
    pub(super) fn pattern(&self, text: &'d str) -> Option<Rc<Pattern>> {
        let mut patterns = self.patterns.borrow_mut();
        if patterns.len() >= MAX_PATTERNS && !patterns.contains_key(text) {
            patterns.clear();
        }
        patterns.entry(text).or_insert_with(|| Pattern::parse(text).map(Rc::new)).clone()
    }

    fn list_fault(
        &self,
        schema: &'d Json,
        items: &[Json<Template>],
        depth: usize,
    ) -> Option<Fault> {
        if let Some(fault) = count_fault(schema, items.len(), "minItems", "maxItems") {
            return Some(fault);
        }
        if schema.get("uniqueItems") == Some(&Json::Bool(true)) {
            let mut seen = std::collections::HashSet::new();
            if !items.iter().all(|item| seen.insert(item.to_text().render())) {
                return Fault::of("uniqueItems");
            }
        }
        let of_item = |(at, item): (usize, &Json<Template>)| {
            let part = item_schema(schema, at)?;
            self.fault_of(part, item, part, depth + 1).map(|fault| fault.within(at.to_string()))
        };
        items.iter().enumerate().find_map(of_item).or_else(|| {
            let part = schema.get("contains")?;
            let has = |item: &&Json<Template>| self.fault_of(part, item, part, depth + 1).is_none();
            let found = items.iter().filter(has).count();
            let least = count(schema, "minContains").unwrap_or(1);
            let most = count(schema, "maxContains").unwrap_or(usize::MAX);
            (found < least || found > most).then(|| Fault::of("contains"))?
        })
    }

    fn object_fault(
        &self,
        schema: &'d Json,
        fields: &[(String, Json<Template>)],
        whole: &'d Json,
        depth: usize,
    ) -> Option<Fault> {
        if let Some(fault) = count_fault(schema, fields.len(), "minProperties", "maxProperties") {
            return Some(fault);
        }
        let required = schema.get("required").map_or(&[][..], Json::items);
        let has = |name: &str| fields.iter().any(|(other, _)| other == name);
        let is_lacking = |name: &&str| {
            take(&self.checks, 1);
            !has(name) && !self.reads_only(schema, name, 0) && !self.reads_only(whole, name, 0)
        };
        let names = required.iter().take(MAX_LISTED).filter_map(Json::as_str);
        if let Some(name) = names.into_iter().find(is_lacking) {
            return Fault::of("required").map(|fault| fault.within(name));
        }
        let dependent = schema.get("dependentRequired").map_or(&[][..], Json::fields);
        for (_, names) in dependent.iter().take(MAX_LISTED).filter(|(name, _)| has(name)) {
            if !names.items().iter().filter_map(Json::as_str).take(MAX_LISTED).all(has) {
                return Fault::of("dependentRequired");
            }
        }
        fields.iter().find_map(|(name, value)| {
            take(&self.checks, 1);
            let named = Json::Text(Template::text(name.as_str()));
            let of_name = schema
                .get("propertyNames")
                .and_then(|part| self.fault_of(part, &named, part, depth + 1))
                .and_then(|_| Fault::of("propertyNames"));
            let parts = self.parts_of_name(schema, name);
            of_name
                .or_else(|| {
                    parts.iter().find_map(|part| match self.is_read_only(part, 0) {
                        true => Fault::of("readOnly"),
                        false if **part == Json::Bool(false) => Fault::of("additionalProperties"),
                        false => self.fault_of(part, value, part, depth + 1),
                    })
                })
                .map(|fault| fault.within(name.as_str()))
        })
    }

    /// The schemas that an object has for a name: its property, its pattern's, or what else it may have.
    pub(super) fn parts_of_name(&self, schema: &'d Json, name: &str) -> Vec<&'d Json> {
        let property = schema.get("properties").and_then(|all| self.get(all, name));
        let mut parts: Vec<&Json> = property.into_iter().collect();
        let patterns = schema.get("patternProperties").map_or(&[][..], Json::fields);
        for (pattern, part) in patterns.iter().take(MAX_LISTED) {
            if self.pattern(pattern).and_then(|one| one.matches(name)) == Some(true) {
                parts.push(part);
            }
        }
        if parts.is_empty() {
            parts.extend(schema.get("additionalProperties"));
        }
        parts
    }

    /// Whether a schema says that a value of it is not for requests.
    pub(super) fn is_read_only(&self, schema: &'d Json, depth: usize) -> bool {
        let is = |schema: &Json| schema.get("readOnly") == Some(&Json::Bool(true));
        let resolved = self.resolve(schema);
        let parts = resolved.get("allOf").map_or(&[][..], Json::items);
        is(schema)
            || is(resolved)
            || depth < 4 && parts.iter().take(8).any(|part| self.is_read_only(part, depth + 1))
    }

    /// Whether an object has a property that is read-only.
    fn reads_only(&self, schema: &'d Json, name: &str, depth: usize) -> bool {
        let schema = self.resolve(schema);
        let property = schema.get("properties").and_then(|all| self.get(all, name));
        let parts = schema.get("allOf").map_or(&[][..], Json::items);
        property.is_some_and(|one| self.is_read_only(one, 0))
            || depth < 4 && parts.iter().take(32).any(|part| self.reads_only(part, name, depth + 1))
    }
}

/// The schema of an item of this number.
pub(super) fn item_schema(schema: &Json, at: usize) -> Option<&Json> {
    let items = schema.get("items");
    let first = schema.get("prefixItems").or(items.filter(|items| matches!(items, Json::List(_))));
    match first.and_then(|all| all.items().get(at)) {
        Some(one) => Some(one),
        None => items.filter(|items| !matches!(items, Json::List(_))),
    }
}

/// The property that names the kind of an object; Swagger 2.0 has only its name.
pub(super) fn property_of(discriminator: &Json) -> Option<&str> {
    discriminator.str("propertyName").or(discriminator.as_str())
}

/// The name of the kind that a reference means.
pub(super) fn kind_name<'j>(discriminator: Option<&'j Json>, reference: &'j str) -> &'j str {
    fn last(text: &str) -> &str {
        text.rsplit('/').next().unwrap_or_default()
    }
    let mapping = discriminator.and_then(|one| one.get("mapping")).map_or(&[][..], Json::fields);
    let is_this =
        |(_, to): &&(String, Json)| to.as_str().is_some_and(|to| last(to) == last(reference));
    let mapped = mapping.iter().take(MAX_LISTED).find(is_this);
    mapped.map_or(last(reference), |(name, _)| name)
}

/// The types that a schema names, null among them if it may be null.
pub(super) fn kinds(schema: &Json) -> Option<Vec<&str>> {
    let mut kinds: Vec<&str> = match schema.get("type")? {
        Json::Text(kind) => vec![kind],
        kinds => kinds.items().iter().take(8).filter_map(Json::as_str).collect(),
    };
    if schema.get("nullable").or(schema.get("x-nullable")) == Some(&Json::Bool(true)) {
        kinds.push("null");
    }
    Some(kinds)
}

fn is_kind(kind: &str, value: &Json<Template>) -> bool {
    match (kind, value) {
        ("integer", Json::Number(number)) => {
            number.is_i64()
                || number.is_u64()
                || number.as_f64().is_some_and(|one| one.fract() == 0.0)
        }
        ("null", Json::Null)
        | ("boolean", Json::Bool(_))
        | ("object", Json::Object(_))
        | ("array", Json::List(_))
        | ("string" | "file", Json::Text(_))
        | ("number" | "integer", Json::Raw(_))
        | ("number", Json::Number(_)) => true,
        _ => false,
    }
}

/// Whether a value of a schema is this value. No hole is.
pub(super) fn is_same(one: &Json, value: &Json<Template>) -> bool {
    match (one, value) {
        (Json::Null, Json::Null) => true,
        (Json::Bool(one), Json::Bool(value)) => one == value,
        (Json::Number(one), Json::Number(value)) => one == value || one.as_f64() == value.as_f64(),
        (Json::Text(one), Json::Text(value)) => value.as_text() == Some(one),
        (Json::List(one), Json::List(value)) => {
            one.len() == value.len()
                && one.iter().zip(value).all(|(one, value)| is_same(one, value))
        }
        (Json::Object(one), Json::Object(value)) => {
            one.len() == value.len()
                && one.len() <= MAX_LISTED
                && one.iter().all(|(name, one)| {
                    value_of(value, name).is_some_and(|value| is_same(one, value))
                })
        }
        _ => false,
    }
}

fn value_of<'j>(fields: &'j [(String, Json<Template>)], name: &str) -> Option<&'j Json<Template>> {
    fields.iter().find(|(other, _)| other == name).map(|(_, value)| value)
}

/// A count that a schema asks for.
pub(super) fn count(schema: &Json, key: &str) -> Option<usize> {
    match schema.get(key)? {
        Json::Number(number) => {
            let whole = number.as_f64().filter(|number| *number >= 0.0);
            number.as_u64().map(|one| one as usize).or(whole.map(|one| one as usize))
        }
        _ => None,
    }
}

pub(super) fn float(schema: &Json, key: &str) -> Option<f64> {
    match schema.get(key)? {
        Json::Number(number) => number.as_f64(),
        _ => None,
    }
}

/// The bounds of a number, and whether each is no value itself: true or false beside the bound in 3.0, the bound since
/// 3.1.
pub(super) fn bounds(schema: &Json) -> [Option<(f64, bool)>; 2] {
    let of = |key: &str, exclusive: &str, is_low: bool| {
        let is_exclusive = schema.get(exclusive) == Some(&Json::Bool(true));
        let inner = float(schema, key).map(|bound| (bound, is_exclusive));
        match (inner, float(schema, exclusive)) {
            (Some((one, _)), Some(other)) if (other < one) == is_low && other != one => inner,
            (_, Some(other)) => Some((other, true)),
            (inner, None) => inner,
        }
    };
    let low = of("minimum", "exclusiveMinimum", true);
    let high = of("maximum", "exclusiveMaximum", false);
    match schema.str("format") {
        Some("int32") => [
            low.filter(|(low, _)| *low >= f64::from(i32::MIN))
                .or(Some((f64::from(i32::MIN), false))),
            high.filter(|(high, _)| *high <= f64::from(i32::MAX))
                .or(Some((f64::from(i32::MAX), false))),
        ],
        _ => [low, high],
    }
}

/// Whether a number is a multiple, also in the arithmetic of those who divide.
pub(super) fn is_multiple(number: f64, step: f64) -> bool {
    let count = number / step;
    (count - count.round()).abs() <= 1e-9 * count.abs().max(1.0)
}

/// Whether there are fewer or more than a schema asks for.
fn count_fault(
    schema: &Json,
    there: usize,
    least: &'static str,
    most: &'static str,
) -> Option<Fault> {
    if count(schema, least).is_some_and(|least| there < least) {
        return Fault::of(least);
    }
    count(schema, most).filter(|most| there > *most).and_then(|_| Fault::of(most))
}

fn number_fault(schema: &Json, value: &Json<Template>) -> Option<Fault> {
    let numbers = match value {
        Json::Number(number) => vec![number.as_f64()?],
        Json::Raw(text) => {
            let (low, high) = range(text)?;
            vec![low as f64, high as f64]
        }
        _ => return None,
    };
    let [low, high] = bounds(schema);
    let is_low =
        |bound: (f64, bool)| numbers.iter().any(|one| *one < bound.0 || bound.1 && *one == bound.0);
    let is_high =
        |bound: (f64, bool)| numbers.iter().any(|one| *one > bound.0 || bound.1 && *one == bound.0);
    if low.is_some_and(is_low) {
        return Fault::of("minimum");
    }
    if high.is_some_and(is_high) {
        return Fault::of("maximum");
    }
    let step = float(schema, "multipleOf").filter(|step| *step > 0.0)?;
    let mut steps = numbers.iter().chain((numbers.len() > 1).then_some(&1.0));
    (!steps.all(|number| is_multiple(*number, step))).then(|| Fault::of("multipleOf"))?
}

/// The ends of `${random 1..9}`.
fn range(text: &Template) -> Option<(i64, i64)> {
    let [Piece::Hole(hole)] = text.pieces() else { return None };
    let (low, high) = hole.strip_prefix("random ")?.split_once("..")?;
    Some((low.parse().ok()?, high.parse().ok()?))
}

/// A text as it may be sent; none if that is the user's.
pub(super) fn sample(text: &Template) -> Option<String> {
    let mut sample = String::new();
    for piece in text.pieces() {
        sample += match piece {
            Piece::Text(text) => text,
            Piece::Hole(hole) => match hole.as_str() {
                "uuid" => "00000000-0000-4000-8000-000000000000",
                "seq" => "12345",
                _ => return None,
            },
        };
    }
    Some(sample)
}

/// Whether a text has the form of a format. Other formats have none.
fn is_format(format: &str, text: &str) -> bool {
    let is_digits = |text: &str, count: usize| {
        text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_below = |text: &str, most: u32| {
        is_digits(text, 2) && text.parse::<u32>().is_ok_and(|number| number <= most)
    };
    let is_date = |text: &str| {
        let parts: Vec<&str> = text.split('-').collect();
        let [year, month, day] = parts[..] else { return false };
        let number = |text: &str| text.parse::<u32>().unwrap_or_default();
        let (year_number, month_number) = (number(year), number(month));
        let is_leap = year_number % 4 == 0 && (year_number % 100 != 0 || year_number % 400 == 0);
        let days = match month_number {
            2 => 28 + u32::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        is_digits(year, 4)
            && is_below(month, 12)
            && is_below(day, days)
            && month_number > 0
            && number(day) > 0
    };
    let is_time = |text: &str| {
        let zone = text.find(['Z', 'z', '+', '-']).unwrap_or(text.len());
        let (clock, zone) = text.split_at(zone);
        let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
        let parts: Vec<&str> = clock.split(':').collect();
        let [hour, minute, second] = parts[..] else { return false };
        let is_zone = zone.eq_ignore_ascii_case("z")
            || zone
                .get(1..)
                .and_then(|zone| zone.split_once(':'))
                .is_some_and(|(hour, minute)| is_below(hour, 23) && is_below(minute, 59));
        is_below(hour, 23)
            && is_below(minute, 59)
            && is_below(second, 60)
            && is_digits(fraction, fraction.len().max(1))
            && is_zone
    };
    let is_host = |text: &str| {
        let is_label = |label: &str| {
            (1..64).contains(&label.len())
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        text.len() < 254 && text.split('.').all(is_label)
    };
    match format {
        "date" => is_date(text),
        "date-time" => {
            text.is_char_boundary(10)
                && text.len() > 11
                && is_date(&text[..10])
                && matches!(text.as_bytes()[10], b'T' | b't')
                && is_time(&text[11..])
        }
        "time" => is_time(text),
        "uuid" => {
            let lengths = text.split('-').map(str::len);
            lengths.eq([8, 4, 4, 4, 12])
                && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
        }
        "email" => text.rsplit_once('@').is_some_and(|(user, host)| {
            !user.is_empty() && !user.contains([' ', '@']) && is_host(host)
        }),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "hostname" => is_host(text),
        "uri" | "url" => text.split_once(':').is_some_and(|(scheme, rest)| {
            let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(is_scheme)
                && !rest.is_empty()
                && !rest.contains(|c: char| {
                    c.is_whitespace() || c.is_control() || "<>\"{}|\\^`".contains(c)
                })
        }),
        "byte" => STANDARD.decode(text).is_ok(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_forms() {
        for (format, good, bad) in [
            (
                "date",
                &["2024-02-29"][..],
                &["2023-02-29", "2024-13-01", "2024-1-1", "24-01-01", ""][..],
            ),
            (
                "date-time",
                &["2024-01-01T00:00:00Z", "2024-01-01t23:59:60.5+01:30"],
                &[
                    "2024-01-01",
                    "2024-01-01 00:00:00Z",
                    "2024-01-01T00:00:00",
                    "2024-01-01T24:00:00Z",
                    "é2024-01-01T",
                ],
            ),
            (
                "uuid",
                &["00000000-0000-4000-8000-0000000000aF"],
                &["0000", "g0000000-0000-4000-8000-000000000000"],
            ),
            ("email", &["a@b.example"], &["a", "@b", "a b@c.d", "a@b c"]),
            ("uri", &["https://a/b?c=d#e", "urn:x:y"], &["a/b", "://x", "https://a b"]),
            ("byte", &["dGV4dA==", ""], &["dGV4dA", "é"]),
            ("ipv4", &["192.0.2.1"], &["192.0.2", "192.0.2.256"]),
            ("hostname", &["a-b.example"], &["-a", "a..b", ""]),
            ("anything", &["", "x"], &[]),
        ] {
            assert!(good.iter().all(|text| is_format(format, text)), "{format}");
            for text in bad {
                assert!(!is_format(format, text), "{format} {text}");
            }
        }
    }

    #[test]
    fn each_keyword_refuses() {
        for (schema, good, bad) in [
            (
                r#"{"type":"integer","minimum":1,"exclusiveMaximum":3}"#,
                "2",
                &["0", "3", "1.5", "\"1\"", "null"][..],
            ),
            (
                r#"{"type":"number","minimum":0.5,"exclusiveMinimum":true,"multipleOf":0.1}"#,
                "0.7",
                &["0.5", "0.75"],
            ),
            (r#"{"type":"integer","format":"int32"}"#, "2147483647", &["2147483648"]),
            (
                r#"{"type":["string","null"],"minLength":2,"maxLength":3,"pattern":"^a"}"#,
                "\"aé\"",
                &["\"a\"", "\"aaaa\"", "\"ba\"", "1"],
            ),
            (r#"{"type":"string","nullable":true}"#, "null", &["1"]),
            (r#"{"enum":[1,{"a":[2]}]}"#, r#"{"a":[2.0]}"#, &["2", r#"{"a":[3]}"#]),
            (r#"{"const":"x"}"#, "\"x\"", &["\"y\""]),
            (
                r#"{"items":{"type":"integer"},"minItems":1,"maxItems":2,"uniqueItems":true}"#,
                "[1,2]",
                &["[]", "[1,1]", "[1,2,3]", "[\"a\"]"],
            ),
            (
                r#"{"prefixItems":[{"const":1}],"items":false,"contains":{"const":1}}"#,
                "[1]",
                &["[1,2]", "[2]", "[]"],
            ),
            (
                r#"{"required":["a"],"properties":{"a":{"type":"string"},"b":{"readOnly":true}},"additionalProperties":false}"#,
                r#"{"a":""}"#,
                &["{}", r#"{"a":1}"#, r#"{"a":"","b":1}"#, r#"{"a":"","c":1}"#],
            ),
            (
                r#"{"required":["id"],"properties":{"id":{"readOnly":true}}}"#,
                "{}",
                &[r#"{"id":1}"#],
            ),
            (
                r#"{"minProperties":1,"maxProperties":1,"propertyNames":{"pattern":"^a"}}"#,
                r#"{"a":1}"#,
                &["{}", r#"{"a":1,"ab":2}"#, r#"{"b":1}"#],
            ),
            (
                r#"{"patternProperties":{"^n":{"type":"number"}},"additionalProperties":{"type":"string"}}"#,
                r#"{"n":1,"s":"x"}"#,
                &[r#"{"n":"x"}"#, r#"{"s":1}"#],
            ),
            (r#"{"allOf":[{"minimum":1},{"maximum":2}]}"#, "1", &["0", "3"]),
            (r#"{"oneOf":[{"minimum":1},{"maximum":2}]}"#, "0", &["1"]),
            (r#"{"anyOf":[{"minimum":3},{"maximum":2}]}"#, "2", &["2.5"]),
            (r#"{"not":{"type":"string"}}"#, "1", &["\"a\""]),
            (
                r#"{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}"#,
                r#"{"a":1,"b":1}"#,
                &[r#"{"a":1}"#, "{}"],
            ),
            (r#"{"dependentRequired":{"a":["b"]}}"#, "{}", &[r#"{"a":1}"#]),
        ] {
            let schema = Json::parse(schema).unwrap();
            let files = super::super::document::Files::new(None);
            let document = Document::new(&schema, &files);
            let fault =
                |text: &str| document.fault(&schema, &Json::parse(text).unwrap().into_template());
            assert_eq!(fault(good), None, "{schema:?}");
            for text in bad {
                assert!(fault(text).is_some(), "{schema:?} {text}");
            }
        }
    }
}
