//! Values from schemas: examples and defaults where the schema accepts them, otherwise by its keywords.
//!
//! A value has to be one of several schemas at the same time, e.g. of all parts of `allOf` that name a property. Of the
//! kinds of a choice it is the first with a value that the whole accepts. The depth, the number of values and the work
//! are bounded; below the bound only required properties are made, then none. So a schema that contains itself ends.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use candor_plan::redact::SecretKind;

use super::budget::take;
use super::check::{Fault, MAX_LISTED, count, item_schema, kind_name, kinds, property_of};
use super::document::Document;
use super::number::number;
use super::pattern::MAX_TEXT;
use crate::json::Json;
use crate::made;
use crate::template::Template;

/// Levels of objects in a body.
const MAX_DEPTH: usize = 12;
/// Levels at which fields are made that are not required.
const FULL_DEPTH: usize = 3;
/// Values of one body, and of one example.
const MAX_VALUES: usize = 500;
const MAX_EXAMPLE: usize = 2000;
/// Bytes of the texts and the names in one body, and in one parameter.
pub(super) const MAX_BODY: usize = 256 * 1024;
pub(super) const MAX_PARAMETER: usize = 1024;
/// Schemas and properties that are looked at for one value.
const MAX_LOOKS: usize = 10_000;
/// How many of them a pattern counts as.
const PATTERN: usize = 100;
/// Schemas that one is composed of, and how deep they are in each other.
const MAX_PARTS: usize = 500;
const MAX_COMPOSED: usize = 16;
/// Kinds of choices that are tried for one value.
const MAX_CHOICES: usize = 16;

/// A value that was made.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) value: Json<Template>,
    /// Not from an example, a default or an enumeration.
    pub(super) is_guess: bool,
    is_valid: bool,
}

impl<'d> Document<'d> {
    /// A value of a schema, from examples of it if there are any, and what it does not satisfy.
    pub(super) fn make(
        &self,
        schema: &'d Json,
        examples: &[&Json],
        bytes: usize,
    ) -> (Made, Option<Fault>) {
        let maker = Maker {
            document: self,
            left: Cell::new(MAX_VALUES),
            bytes: Cell::new(bytes),
            looks: Cell::new(MAX_LOOKS),
            variant: Cell::default(),
            open: RefCell::default(),
        };
        let made = maker.value(&[schema], examples, 0);
        let fault = self.fault(schema, &made.value);
        (made, fault)
    }
}

struct Maker<'d, 'r> {
    document: &'r Document<'d>,
    /// Values that may still be made.
    left: Cell<usize>,
    /// Bytes of texts that may still be made.
    bytes: Cell<usize>,
    /// Schemas and properties that may still be looked at.
    looks: Cell<usize>,
    /// The number of a value that has to differ from others, from 0.
    variant: Cell<Option<usize>>,
    /// Values that are being made, by their first schema and the kind of it: one within itself is left out.
    open: RefCell<Vec<(*const Json, usize)>>,
}

/// A schema with all that it is composed of, of choices one kind.
struct Parts<'d> {
    list: Vec<&'d Json>,
    /// Properties that name the kind that was chosen.
    names: Vec<(&'d str, &'d str)>,
    /// Schemas that a reference led to, and their names.
    through: Vec<(&'d Json, &'d str)>,
    /// Which kinds to choose, as the digits of a number.
    choice: usize,
    /// How many choices of all kinds there are.
    choices: usize,
    /// Whether a value has to be compared with the whole.
    is_composite: bool,
}

impl Parts<'_> {
    fn choose(&mut self, kinds: usize) -> usize {
        let chosen = self.choice % kinds;
        self.choice /= kinds;
        self.choices = self.choices.saturating_mul(kinds);
        self.is_composite = true;
        chosen
    }
}

impl<'d> Maker<'d, '_> {
    /// A value that all of the schemas accept, if one is found.
    fn value(&self, schemas: &[&'d Json], examples: &[&Json], depth: usize) -> Made {
        let start = (self.left.get(), self.bytes.get());
        let mut first: Option<(Made, (usize, usize))> = None;
        let mut may_be_null = false;
        'tries: for is_full in [true, false] {
            let mut choices = 1;
            let mut choice = 0;
            while choice < choices.min(MAX_CHOICES) {
                if depth > MAX_DEPTH || !self.look() {
                    break 'tries;
                }
                let parts = self.parts(schemas, choice);
                choices = parts.choices;
                // What says nothing of its type is not meant to be null.
                let is_typed = |part: &&Json| part.get("enum").is_some() || kinds(part).is_some();
                may_be_null |= parts.list.iter().any(is_typed);
                let made = self.made(schemas, &parts, (choice, is_full), examples, depth);
                let is_new = !parts.is_composite || self.accept(schemas, &made.value);
                if made.is_valid && is_new {
                    return made;
                }
                let end = (self.left.replace(start.0), self.bytes.replace(start.1));
                first.get_or_insert((made, end));
                choice += 1;
            }
        }
        if may_be_null && self.accept(schemas, &Json::Null) {
            return Made { value: Json::Null, is_guess: true, is_valid: true };
        }
        match first {
            Some((made, end)) => {
                self.left.set(end.0);
                self.bytes.set(end.1);
                Made { is_valid: false, ..made }
            }
            None => Made { value: Json::Null, is_guess: true, is_valid: false },
        }
    }

    fn look(&self) -> bool {
        take(&self.looks, 1) && take(&self.document.work, 1)
    }

    fn accept(&self, schemas: &[&'d Json], value: &Json<Template>) -> bool {
        schemas.iter().all(|schema| self.document.fault(schema, value).is_none())
    }

    fn made(
        &self,
        schemas: &[&'d Json],
        parts: &Parts<'d>,
        (choice, is_full): (usize, bool),
        examples: &[&Json],
        depth: usize,
    ) -> Made {
        let list = &parts.list;
        let invalid = Made { value: Json::Null, is_guess: true, is_valid: false };
        let Some(&whole) = list.first() else { return invalid };
        if *whole == Json::Null || !take(&self.left, 1) {
            return invalid;
        }
        let allowed = allowed(list);
        let given = list.iter().flat_map(|part| {
            let own = self.document.examples_of(part).into_iter();
            part.get("const").into_iter().chain(own).chain(part.get("default"))
        });
        let given: Vec<&Json> = examples.iter().copied().chain(given).collect();
        let listed = list.iter().filter_map(|part| part.get("enum"));
        let listed = listed.flat_map(|all| all.items().iter().take(MAX_LISTED));
        // An example that lacks a part of an object, or has one that is only for responses, is a beginning.
        let mut partial = Vec::new();
        let mut others = self.variant.get().unwrap_or(0);
        for one in given.into_iter().chain(listed) {
            if *one == Json::Null || !self.look() {
                continue;
            }
            let accepted = |one: &Json| {
                let value = self.copied(one)?;
                self.accept(schemas, &value).then_some(value)
            };
            let value = accepted(one).or_else(|| accepted(&coerced(one, &allowed)?));
            match value {
                Some(value) if others == 0 => {
                    return Made { value, is_guess: false, is_valid: true };
                }
                Some(_) => others -= 1,
                None if matches!(one, Json::Object(_)) => partial.push(one),
                None => {}
            }
        }
        let is_given = list.iter().any(|part| part.get("enum").or(part.get("const")).is_some());
        let kind = match allowed.as_slice() {
            [] => return invalid,
            kinds => kinds[choice / (parts.choices / kinds.len()).max(1) % kinds.len()],
        };
        let (value, is_valid) = match kind {
            "object" | "array" => {
                let key = (std::ptr::from_ref(whole), choice);
                if self.open.borrow().contains(&key) {
                    return invalid;
                }
                self.open.borrow_mut().push(key);
                let made = match kind {
                    "object" => self.object(parts, &partial, is_full, depth),
                    _ => self.list(list, depth),
                };
                self.open.borrow_mut().pop();
                made
            }
            "integer" | "number" => {
                let value = number(list, kind == "integer", self.variant.get());
                let is_valid = self.accept(list, &value);
                (value, is_valid)
            }
            "boolean" => (Json::Bool(self.variant.get().unwrap_or(0).is_multiple_of(2)), true),
            "null" => (Json::Null, true),
            _ => self.text(list),
        };
        Made { value, is_guess: true, is_valid: is_valid && !is_given }
    }

    /// An example of the document; none if it is larger than a body may be.
    fn copied(&self, given: &Json) -> Option<Json<Template>> {
        fn fits(value: &Json, values: &Cell<usize>, bytes: &Cell<usize>) -> bool {
            let fits = |value: &Json| fits(value, values, bytes);
            take(values, 1)
                && take(bytes, value.as_str().map_or(0, str::len))
                && value.items().iter().all(fits)
                && value.fields().iter().all(|(name, value)| take(bytes, name.len()) && fits(value))
        }
        let values = Cell::new(MAX_EXAMPLE);
        let bytes = Cell::new(self.bytes.get());
        if !fits(given, &values, &bytes) {
            return None;
        }
        self.bytes.set(bytes.get());
        self.left.set(self.left.get().saturating_sub(MAX_EXAMPLE - values.get()));
        Some(given.clone().into_template())
    }

    /// The properties of an object, and whether it has all that it needs.
    fn object(
        &self,
        parts: &Parts<'d>,
        examples: &[&Json],
        is_full: bool,
        depth: usize,
    ) -> (Json<Template>, bool) {
        let list = &parts.list;
        let most = least_of(list, "maxProperties").unwrap_or(usize::MAX);
        let least = most_of(list, "minProperties").unwrap_or(0);
        let required = list.iter().filter_map(|part| part.get("required"));
        let required = required.flat_map(|names| names.items().iter().filter_map(Json::as_str));
        let kinds = parts.names.iter().map(|(name, _)| *name);
        let required: HashSet<&str> = required.take_while(|_| self.look()).chain(kinds).collect();
        let properties = list.iter().filter_map(|part| part.get("properties"));
        let names = properties.flat_map(|all| all.fields().iter().map(|(name, _)| name.as_str()));
        // In the order of the description; those that nothing describes come last.
        let mut known: HashMap<&str, usize> = HashMap::new();
        for name in names.take_while(|_| self.look()) {
            let number = known.len();
            known.entry(name).or_insert(number);
        }
        let mut beyond: Vec<&str> =
            required.iter().copied().filter(|name| !known.contains_key(name)).collect();
        beyond.sort_unstable();
        for name in beyond {
            known.insert(name, known.len());
        }
        let mut order: Vec<&str> = known.keys().copied().collect();
        order.sort_unstable_by_key(|name| (!required.contains(name), known[name]));
        let mut fields: Vec<(usize, String, Json<Template>)> = Vec::new();
        let mut is_valid = true;
        for name in order {
            let is_required = required.contains(name);
            let example = examples.iter().find_map(|one| one.get(name));
            let is_wanted = is_full && depth < FULL_DEPTH || example.is_some();
            let is_missing = fields.len() < least;
            if !is_required && (fields.len() >= most || !is_wanted && !is_missing) {
                continue;
            }
            match self.field(parts, name, example, depth) {
                Some(made) if made.is_valid || is_required => {
                    is_valid &= made.is_valid;
                    if made.value != Json::Null || is_required {
                        fields.push((known[name], name.to_owned(), made.value));
                    }
                }
                // What is only in responses is not lacking.
                Some(_) | None => {}
            }
        }
        fields.sort_unstable_by_key(|(number, ..)| *number);
        let mut fields: Vec<_> = fields.into_iter().map(|(_, name, value)| (name, value)).collect();
        // Names of the example that nothing forbids, and of the writer's choice.
        for (name, value) in examples.iter().flat_map(|one| one.fields()).take(MAX_LISTED) {
            let is_new =
                !known.contains_key(name.as_str()) && fields.iter().all(|(other, _)| other != name);
            if is_new && fields.len() < most && !self.is_closed(list, name) {
                fields.extend(self.copied(value).map(|value| (name.clone(), value)));
            }
        }
        let is_map = is_full && depth < FULL_DEPTH && known.is_empty() && most > 0;
        let wanted = least.max(usize::from(is_map && fields.is_empty() && is_open(list)));
        let patterns = list.iter().filter_map(|part| part.get("patternProperties"));
        let patterns =
            patterns.flat_map(|all| all.fields().iter().map(|(pattern, _)| pattern.as_str()));
        let rules = list.iter().filter_map(|part| part.get("propertyNames")?.str("pattern"));
        let mut pool: Vec<String> = Vec::new();
        for pattern in patterns.chain(rules).take(8) {
            pool.extend(
                self.document.pattern(pattern).map_or(Vec::new(), |one| one.texts(1, 99, 16)),
            );
        }
        pool.extend((0..wanted.min(MAX_VALUES)).map(|n| match n {
            0 => "key".to_owned(),
            n => format!("key{}", n + 1),
        }));
        for name in pool {
            if fields.len() >= wanted || !self.look() {
                break;
            }
            let is_new = fields.iter().all(|(other, _)| *other != name);
            if is_new && !self.is_closed(list, &name) {
                let made = self.field(parts, &name, None, depth).filter(|made| made.is_valid);
                fields.extend(made.map(|made| (name, made.value)));
            }
        }
        is_valid &= (least..=most).contains(&fields.len());
        (Json::Object(fields), is_valid)
    }

    /// The value of a property; none if it is not for requests.
    fn field(
        &self,
        parts: &Parts<'d>,
        name: &str,
        example: Option<&Json>,
        depth: usize,
    ) -> Option<Made> {
        let schemas = parts.list.iter().flat_map(|part| self.document.parts_of_name(part, name));
        let schemas: Vec<&Json> = schemas.collect();
        if schemas.iter().any(|schema| self.document.is_read_only(schema, 0))
            || !take(&self.bytes, name.len())
        {
            return None;
        }
        let kind = parts.names.iter().find(|(property, _)| *property == name);
        if let Some((_, kind)) = kind {
            let value = Json::Text(Template::text(*kind));
            if self.accept(&schemas, &value) {
                return Some(Made { value, is_guess: false, is_valid: true });
            }
        }
        let examples: Vec<&Json> = example.into_iter().collect();
        let anything = [&Json::Bool(true)];
        let schemas = if schemas.is_empty() { &anything[..] } else { &schemas };
        let mut made = self.value(schemas, &examples, depth + 1);
        // A made text is no password: the user has one. A name that only looks like a secret's has a pattern: `TrunkSid`.
        let has_pattern = |one: &'d Json| self.document.resolve(one).get("pattern").is_some();
        if let Json::Text(text) = &made.value
            && made.is_guess
            && let Some(kind) = SecretKind::of(name, &text.render())
            && (kind == SecretKind::Password || !schemas.iter().copied().any(has_pattern))
        {
            made.value = Json::Text(Template::hole(format!("env:{}", kind.variable())));
        }
        made.is_valid &= !self.is_closed(&parts.list, name);
        Some(made)
    }

    /// Whether an object may not have a name.
    fn is_closed(&self, list: &[&'d Json], name: &str) -> bool {
        let refuses = |part: &&'d Json| {
            self.document.parts_of_name(part, name).contains(&&Json::Bool(false))
                || part.get("unevaluatedProperties") == Some(&Json::Bool(false))
                    && list.iter().all(|part| self.document.parts_of_name(part, name).is_empty())
        };
        list.iter().any(refuses)
    }

    fn list(&self, list: &[&'d Json], depth: usize) -> (Json<Template>, bool) {
        let least = most_of(list, "minItems").unwrap_or(0);
        let most = least_of(list, "maxItems").unwrap_or(usize::MAX);
        let holds = list.iter().find(|part| part.get("contains").is_some());
        let held = holds.map_or(0, |part| count(part, "minContains").unwrap_or(1));
        let wanted = least.max(held).max(1).min(most);
        let is_unique = list.iter().any(|part| part.get("uniqueItems") == Some(&Json::Bool(true)));
        let outer = self.variant.get();
        let mut items: Vec<Json<Template>> = Vec::new();
        let mut seen = HashSet::new();
        for number in 0..wanted.saturating_mul(4).min(4 * MAX_VALUES) {
            if items.len() >= wanted || self.left.get() == 0 {
                break;
            }
            let mut schemas: Vec<&Json> =
                list.iter().filter_map(|part| item_schema(part, items.len())).collect();
            schemas
                .extend(holds.filter(|_| items.len() < held).and_then(|part| part.get("contains")));
            if is_unique && wanted > 1 {
                self.variant.set(Some(outer.unwrap_or(0) + number));
            }
            let anything = [&Json::Bool(true)];
            let schemas = if schemas.is_empty() { &anything[..] } else { &schemas };
            let made = self.value(schemas, &[], depth + 1);
            if !made.is_valid && !is_unique {
                // Best effort, where something has to be there.
                if items.len() < least && made.value != Json::Null {
                    items.push(made.value);
                }
                self.variant.set(outer);
                return (Json::List(items), least == 0);
            }
            if made.is_valid && (!is_unique || seen.insert(made.value.to_text().render())) {
                items.push(made.value);
            }
        }
        self.variant.set(outer);
        let is_valid = items.len() >= least.max(held);
        (Json::List(items), is_valid)
    }

    /// By patterns, or by format, and of the length that the schemas ask for.
    fn text(&self, list: &[&'d Json]) -> (Json<Template>, bool) {
        let least = most_of(list, "minLength").unwrap_or(0);
        let most = least_of(list, "maxLength").unwrap_or(usize::MAX);
        let format = list.iter().find_map(|part| part.str("format")).unwrap_or_default();
        let pattern = list.iter().find_map(|part| part.str("pattern"));
        let variant = self.variant.get();
        let has_bounds = least > 0 || most < usize::MAX || pattern.is_some();
        let mut candidates = Vec::new();
        if variant.is_none() {
            candidates.extend(
                made::of_format(format)
                    .filter(|made| !has_bounds || made.as_text().is_some() || format == "uuid"),
            );
        }
        for number in variant.unwrap_or(0)..variant.map_or(1, |number| number + 4) {
            candidates.extend(made::literal_of_format(format, number).map(Template::text));
        }
        if let Some(pattern) = pattern.and_then(|pattern| self.document.pattern(pattern)) {
            let least = least.max(1).min(most);
            take(&self.document.work, PATTERN);
            let texts = pattern.texts(least, most, variant.unwrap_or(0) + 4);
            let first = variant.map_or(0, |variant| variant.min(texts.len()));
            candidates.extend(texts.into_iter().skip(first).map(Template::text));
            if least == 1 {
                candidates.extend(pattern.texts(0, 0, 1).into_iter().map(Template::text));
            }
        }
        // Of the length, and in a form that formats have: base64 has four letters for three bytes.
        let suffix = variant.map_or(String::new(), |variant| variant.to_string());
        let least = least.min(MAX_TEXT * 4);
        let mut text = match format {
            "byte" => "dGV4".repeat(least.div_ceil(4).max(1)),
            "uri" | "url" => "https://example.com/".to_owned(),
            _ => "text".to_owned(),
        };
        if format != "byte" {
            let stem = most.saturating_sub(suffix.len());
            text.extend(std::iter::repeat_n('x', least.saturating_sub(text.len() + suffix.len())));
            text.truncate(stem);
            text += &suffix;
            text.truncate(most);
        }
        candidates.push(Template::text(text));
        let mut is_first = None;
        for candidate in candidates {
            let value = Json::Text(candidate);
            if self.look() && self.accept(list, &value) {
                let length = value.to_text().render().len();
                return (value, take(&self.bytes, length));
            }
            is_first.get_or_insert(value);
        }
        (is_first.unwrap_or(Json::Null), false)
    }

    /// Schemas with the parts that they are composed of, each once; of choices, the kinds of this number.
    fn parts(&self, schemas: &[&'d Json], choice: usize) -> Parts<'d> {
        let mut parts = Parts {
            list: Vec::new(),
            names: Vec::new(),
            through: Vec::new(),
            choice,
            choices: 1,
            is_composite: false,
        };
        schemas.iter().for_each(|schema| self.add(schema, 0, &mut parts));
        let kinds = allowed(&parts.list).len();
        if kinds > 1 {
            parts.choices = parts.choices.saturating_mul(kinds);
        }
        parts
    }

    fn add(&self, schema: &'d Json, depth: usize, parts: &mut Parts<'d>) {
        let resolved = self.document.resolve(schema);
        let is_known = |one: &Json| parts.list.iter().any(|part| std::ptr::eq(*part, one));
        if is_known(resolved)
            || depth > MAX_COMPOSED
            || parts.list.len() > MAX_PARTS
            || !self.look()
        {
            return;
        }
        if let Some(reference) = schema.str("$ref") {
            parts.through.push((resolved, reference));
            if self.document.has_siblings() && schema.fields().len() > 1 {
                self.compose(schema, depth, parts);
            }
        }
        self.compose(resolved, depth, parts);
    }

    fn compose(&self, schema: &'d Json, depth: usize, parts: &mut Parts<'d>) {
        parts.list.push(schema);
        let all = |key: &str| schema.get(key).map_or(&[][..], Json::items).iter().take(MAX_PARTS);
        all("allOf").for_each(|part| self.add(part, depth + 1, parts));
        let discriminator = schema.get("discriminator");
        let property = discriminator.and_then(property_of);
        let mut has_kinds = false;
        for key in ["oneOf", "anyOf"] {
            let is_null = |one: &&Json| one.str("type") == Some("null");
            let kinds: Vec<&Json> = all(key).filter(|one| !is_null(one)).collect();
            let kinds = if kinds.is_empty() { all(key).collect() } else { kinds };
            if kinds.is_empty() {
                continue;
            }
            has_kinds = true;
            let kind = kinds[parts.choose(kinds.len())];
            if let (Some(property), Some(reference)) = (property, kind.str("$ref")) {
                parts.names.push((property, kind_name(discriminator, reference)));
            }
            let through = std::mem::take(&mut parts.through);
            self.add(kind, depth + 1, parts);
            parts.through.splice(0..0, through);
        }
        if let (Some(property), false) = (property, has_kinds) {
            self.inherit(schema, property, depth, parts);
        }
        if let Some(condition) = schema.get("if") {
            match parts.choose(2) {
                0 => {
                    self.add(condition, depth + 1, parts);
                    schema
                        .get("then")
                        .into_iter()
                        .for_each(|part| self.add(part, depth + 1, parts));
                }
                _ => {
                    schema.get("else").into_iter().for_each(|part| self.add(part, depth + 1, parts))
                }
            }
        }
        parts.is_composite |=
            ["not", "dependentRequired"].iter().any(|key| schema.get(key).is_some());
    }

    /// The kind of an object whose base has the discriminator: that of the schema which led to it, or the first.
    fn inherit(&self, base: &'d Json, property: &'d str, depth: usize, parts: &mut Parts<'d>) {
        let discriminator = base.get("discriminator");
        let others = parts.through.iter().filter(|(schema, _)| !std::ptr::eq(*schema, base));
        let child = others.map(|(_, reference)| kind_name(discriminator, reference)).next_back();
        if let Some(name) = child {
            return parts.names.push((property, name));
        }
        let mapping = discriminator.and_then(|one| one.get("mapping"));
        let kinds = mapping.map_or(&[][..], Json::fields);
        if let (Some(mapping), false) = (mapping, kinds.is_empty()) {
            let (name, to) = &kinds[parts.choose(kinds.len())];
            parts.names.push((property, name));
            if let Some(kind) = to.as_str().and_then(|to| self.document.mapped(mapping, to)) {
                self.add(kind, depth + 1, parts);
            }
        } else if let Some((_, reference)) = parts.through.last() {
            parts.names.push((property, kind_name(None, reference)));
        }
    }
}

/// The types that all parts allow, null only if it is the only one; by their other keywords if they name none.
fn allowed<'d>(list: &[&'d Json]) -> Vec<&'d str> {
    let mut all: Option<Vec<&str>> = None;
    for own in list.iter().filter_map(|part| kinds(part)) {
        all = Some(match all {
            None => own,
            Some(all) => {
                let both = |kind: &&str| match *kind {
                    "integer" => own.contains(&"integer") || own.contains(&"number"),
                    kind => own.contains(&kind),
                };
                let narrowed = own.contains(&"integer") && !own.contains(&"number");
                all.into_iter()
                    .map(|kind| if kind == "number" && narrowed { "integer" } else { kind })
                    .filter(both)
                    .collect()
            }
        });
    }
    if let Some(mut all) = all {
        if all.iter().any(|kind| *kind != "null") {
            all.retain(|kind| *kind != "null");
        }
        return all;
    }
    let has =
        |keys: &[&str]| list.iter().any(|part| keys.iter().any(|key| part.get(key).is_some()));
    let is_list = |one: &Json| matches!(one, Json::List(_));
    vec![match () {
        () if has(&[
            "properties",
            "additionalProperties",
            "patternProperties",
            "minProperties",
        ]) =>
        {
            "object"
        }
        () if list.iter().filter_map(|part| part.get("required")).any(is_list) => "object",
        () if has(&["items", "prefixItems", "minItems", "contains"]) => "array",
        () if has(&[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ]) =>
        {
            "number"
        }
        () => "string",
    }]
}

/// An example of another type than the schema's as it is meant: YAML takes 12.34 for a number.
fn coerced(one: &Json, allowed: &[&str]) -> Option<Json> {
    let is = |kind: &str| allowed.contains(&kind);
    match one {
        Json::Number(_) | Json::Bool(_) if is("string") => one.scalar().map(Json::Text),
        Json::Text(text) if is("array") => {
            let item = |text: &str| match Json::parse(text) {
                Some(one @ (Json::Number(_) | Json::Bool(_))) => one,
                _ => Json::Text(text.to_owned()),
            };
            let list = Json::parse(text).filter(|list| matches!(list, Json::List(_)));
            Some(list.unwrap_or_else(|| Json::List(text.split(',').map(item).collect())))
        }
        Json::Text(text) if !is("string") => Json::parse(text),
        _ => None,
    }
}

/// Whether a map says what its values are.
fn is_open(list: &[&Json]) -> bool {
    list.iter().any(|part| {
        let others = part.get("additionalProperties").map_or(&[][..], Json::fields);
        !others.is_empty() || part.get("patternProperties").is_some()
    })
}

fn most_of(list: &[&Json], key: &str) -> Option<usize> {
    list.iter().filter_map(|part| count(part, key)).max()
}

fn least_of(list: &[&Json], key: &str) -> Option<usize> {
    list.iter().filter_map(|part| count(part, key)).min()
}
