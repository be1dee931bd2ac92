//! Descriptions of interfaces made at random, each with values that it accepts.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A version, the parameters with their styles, and the schema of a JSON body.
#[derive(Debug, Clone)]
pub(crate) struct Description {
    pub(crate) is_31: bool,
    pub(crate) parameters: Vec<Value>,
    pub(crate) body: Value,
    pub(crate) components: Value,
}

impl Description {
    /// The document: one operation with all of it.
    pub(crate) fn document(&self) -> Value {
        json!({
            "openapi": if self.is_31 { "3.1.0" } else { "3.0.3" },
            "info": {"title": "t", "version": "1"},
            "servers": [{"url": "http://h/v1"}],
            "paths": {"/a/{id}": {"post": {
                "parameters": self.parameters,
                "requestBody": {"required": true, "content": {"application/json": {"schema": self.body}}},
                "responses": {"200": {"description": "ok"}},
            }}},
            "components": {"schemas": self.components},
        })
    }
}

pub(crate) fn description() -> impl Strategy<Value = Description> {
    any::<bool>().prop_flat_map(|is_31| {
        let styles = (parameter("path"), vec(parameter("query"), 0..4), parameter("header"));
        let parts = (styles, schema(is_31, 3), scalar(is_31), scalar(is_31));
        parts.prop_map(move |((path, query, header), body, leaf, node)| {
            let mut parameters = vec![path, header];
            parameters.extend(query);
            for (at, parameter) in parameters.iter_mut().enumerate() {
                let name = if at == 0 { "id".to_owned() } else { format!("p{at}") };
                parameter["name"] = name.into();
            }
            // A schema may contain itself, where it need not.
            let node = json!({
                "type": "object",
                "required": ["own"],
                "properties": {
                    "own": node,
                    "next": {"$ref": "#/components/schemas/Node"},
                    "more": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
                },
            });
            let components = json!({"Leaf": leaf, "Node": node});
            Description { is_31, parameters, body, components }
        })
    })
}

fn number(low: i32, high: i32) -> impl Strategy<Value = Value> {
    (low..high).prop_map(Value::from)
}

fn text() -> BoxedStrategy<Value> {
    const FORMATS: &[&str] =
        &["date", "date-time", "uuid", "email", "uri", "ipv4", "byte", "int-unknown"];
    const PATTERNS: &[&str] = &[
        "^[a-z]{3,5}$",
        r"^\d{2}-[A-F]+$",
        "^(red|green|blue)$",
        r"^(?=.*\d)[a-z0-9]{4,}$",
        "[^x]$",
        r"^[^\s/]+/[^\s/]+$",
    ];
    let example =
        prop_oneof![Just(json!("example")), Just(json!(7)), Just(json!(null)), Just(json!({}))];
    prop_oneof![
        Just(json!({"type": "string"})),
        (0usize..9, 0usize..9).prop_map(|(low, more)| {
            json!({"type": "string", "minLength": low, "maxLength": low + more})
        }),
        proptest::sample::select(FORMATS)
            .prop_map(|format| json!({"type": "string", "format": format})),
        proptest::sample::select(PATTERNS)
            .prop_map(|pattern| json!({"type": "string", "pattern": pattern})),
        proptest::sample::select(&PATTERNS[..2]).prop_map(
            |pattern| json!({"type": "string", "pattern": pattern, "minLength": 5, "maxLength": 5})
        ),
        Just(json!({"type": "string", "enum": ["b", "a", "c"]})),
        example.prop_map(|one| json!({"type": "string", "minLength": 3, "example": one})),
        example_of_enum(),
    ]
    .boxed()
}

fn example_of_enum() -> impl Strategy<Value = Value> {
    prop_oneof![Just("a"), Just("z")]
        .prop_map(|one| json!({"type": "string", "enum": ["a", "b"], "default": one}))
}

fn numeric(is_31: bool) -> BoxedStrategy<Value> {
    let exclusive = move |key: &str, bound: i32, mut schema: Value| {
        match is_31 {
            true => schema[format!("exclusive{key}")] = bound.into(),
            false => {
                schema[key.to_lowercase()] = bound.into();
                schema[format!("exclusive{key}")] = true.into();
            }
        }
        schema
    };
    prop_oneof![
        (-9..9, 0..9).prop_map(
            |(low, more)| json!({"type": "integer", "minimum": low, "maximum": low + more})
        ),
        (-50..50).prop_map(move |bound| exclusive("Minimum", bound, json!({"type": "integer"}))),
        (-50..50).prop_map(move |bound| exclusive("Maximum", bound, json!({"type": "number"}))),
        (1..9, -9..9).prop_map(
            |(step, low)| json!({"type": "integer", "multipleOf": step, "minimum": low})
        ),
        (-9..9).prop_map(
            |low| json!({"type": "number", "minimum": f64::from(low) + 0.5, "maximum": f64::from(low) + 0.9})
        ),
        Just(json!({"type": "number", "multipleOf": 0.25, "minimum": 0.3})),
        Just(json!({"type": "integer", "format": "int32"})),
        Just(json!({"type": "integer", "example": "12"})),
        Just(json!({"type": "integer", "example": 0, "minimum": 5})),
    ]
    .boxed()
}

fn scalar(is_31: bool) -> BoxedStrategy<Value> {
    let plain =
        prop_oneof![4 => text(), 3 => numeric(is_31), 1 => Just(json!({"type": "boolean"}))];
    (plain, 0..5)
        .prop_map(move |(mut schema, kind)| {
            match kind {
                0 if is_31 => schema["type"] = json!([schema["type"], "null"]),
                0 => schema["nullable"] = true.into(),
                1 => return json!({"allOf": [schema], "description": "x"}),
                _ => {}
            }
            schema
        })
        .boxed()
}

fn object(is_31: bool, depth: u32) -> BoxedStrategy<Value> {
    let property = (schema(is_31, depth), any::<bool>(), 0..8);
    (vec(property, 0..4), 0..4, any::<bool>())
        .prop_map(move |(properties, others, is_typed)| {
            let mut made = json!({"properties": {}, "required": []});
            for (at, (mut schema, is_required, kind)) in properties.into_iter().enumerate() {
                let name = format!("n{at}");
                let is_read_only =
                    kind == 0 && schema.get("$ref").is_none() && !(is_31 && is_required);
                if is_read_only {
                    schema["readOnly"] = true.into();
                }
                if is_required {
                    made["required"].as_array_mut().unwrap().push(name.as_str().into());
                }
                made["properties"][name] = schema;
            }
            match others {
                0 => made["additionalProperties"] = false.into(),
                1 => {
                    made["additionalProperties"] = json!({"type": "integer", "minimum": 3});
                    made["minProperties"] = 2.into();
                }
                _ => {}
            }
            if is_typed || !is_31 {
                made["type"] = "object".into();
            }
            if made["required"].as_array().unwrap().is_empty() {
                made.as_object_mut().unwrap().remove("required");
            }
            made
        })
        .boxed()
}

fn schema(is_31: bool, depth: u32) -> BoxedStrategy<Value> {
    if depth == 0 {
        return scalar(is_31);
    }
    let below = || schema(is_31, depth - 1);
    let reference = |name: &str| Just(json!({"$ref": format!("#/components/schemas/{name}")}));
    prop_oneof![
        3 => scalar(is_31),
        4 => object(is_31, depth - 1),
        2 => (below(), 0..3, 0..3).prop_map(|(items, least, more)| {
            json!({"type": "array", "items": items, "minItems": least, "maxItems": least + more + 1})
        }),
        1 => (3..9).prop_map(|most| {
            json!({"type": "array", "uniqueItems": true, "minItems": 3, "items": {"type": "integer", "minimum": 1, "maximum": most}})
        }),
        1 => Just(json!({"type": "array", "uniqueItems": true, "minItems": 2, "items": {"type": "string", "pattern": "^[a-z]{2}$"}})),
        1 => (below(), below()).prop_map(|(one, other)| json!({
            "oneOf": [
                {"type": "object", "required": ["kind", "v"], "properties": {"kind": {"enum": ["one"]}, "v": one}},
                {"type": "object", "required": ["kind", "v"], "properties": {"kind": {"enum": ["other"]}, "v": other}},
            ],
        })),
        1 => Just(json!({"oneOf": [{"type": "integer"}, {"type": "number"}, {"type": "string", "minLength": 2}]})),
        1 => Just(json!({"anyOf": [{"type": "string", "enum": []}, {"type": "integer", "maximum": 3}]})),
        1 => (below(), text()).prop_map(|(one, other)| json!({
            "allOf": [
                {"type": "object", "required": ["left"], "properties": {"left": one}},
                {"type": "object", "required": ["right"], "properties": {"right": other, "left": {}}},
            ],
        })),
        1 => Just(json!({"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 9, "multipleOf": 4}]})),
        1 => reference("Leaf"),
        1 => reference("Node"),
    ]
    .boxed()
}

/// A required parameter whose value can be told from its style.
fn parameter(place: &'static str) -> BoxedStrategy<Value> {
    let styles = match place {
        "path" => vec![
            ("simple", false),
            ("simple", true),
            ("label", false),
            ("label", true),
            ("matrix", false),
            ("matrix", true),
        ],
        "query" => vec![
            ("form", true),
            ("form", false),
            ("pipeDelimited", false),
            ("spaceDelimited", false),
            ("deepObject", true),
        ],
        _ => vec![("simple", false), ("simple", true)],
    };
    let items = prop_oneof![
        Just(json!({"type": "integer", "minimum": 1, "maximum": 40})),
        Just(json!({"type": "string", "enum": ["x+y", "z"]})),
        Just(json!({"type": "string", "pattern": "^[a-z]{2,3}$"})),
    ];
    let values = prop_oneof![
        3 => items.clone(),
        3 => (items, 1..4).prop_map(|(items, least)| json!({"type": "array", "items": items, "minItems": least})),
        2 => (number(1, 9)).prop_map(|low| json!({
            "type": "object",
            "required": ["a", "b"],
            "properties": {"a": {"type": "integer", "minimum": low}, "b": {"type": "string", "minLength": 6}},
        })),
    ];
    (proptest::sample::select(styles), values)
        .prop_map(move |((style, explode), schema)| {
            let is_object = schema["type"] == "object";
            // Styles are for some types only.
            let (style, explode) = match (style, is_object, schema["type"] == "array") {
                ("deepObject", false, _) => ("form", true),
                ("pipeDelimited" | "spaceDelimited", _, false) => ("form", true),
                _ => (style, explode),
            };
            json!({"in": place, "required": true, "style": style, "explode": explode, "schema": schema})
        })
        .boxed()
}
