//! Requests that are made of a description of an interface satisfy its own schemas, and are written in its styles. What
//! they are compared with is not the importer's own code: `jsonschema`, and values that are known.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;

use candor_import::{ImportError, Imported, Options, openapi, openapi_of_files};
use percent_encoding::percent_decode_str;
use proptest::prelude::*;
use serde_json::{Value, json};
use toml::Table;

use crate::common::description::{Description, description};

/// The requests of a plan, and its text.
fn requests(imported: Result<Imported, ImportError>) -> (Vec<Table>, String) {
    let plan = imported.unwrap().plan;
    crate::common::check(&plan);
    let table: Table = toml::from_str(&plan).unwrap();
    let list = table["request"].as_array().unwrap();
    (list.iter().map(|one| one.as_table().unwrap().clone()).collect(), plan)
}

fn described(text: &str) -> (Vec<Table>, String) {
    requests(openapi(text.as_bytes(), &Options::default()))
}

fn text<'t>(request: &'t Table, key: &str) -> &'t str {
    request.get(key).map_or("-", |value| value.as_str().unwrap())
}

fn field<'t>(request: &'t Table, name: &str) -> &'t str {
    request["header"].as_table().unwrap()[name].as_str().unwrap()
}

/// A text of a plan with values in its holes.
fn filled(text: &str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, hole)) = rest.split_once("${") {
        filled += before;
        let (hole, after) = hole.split_once('}').unwrap();
        rest = after;
        match hole.split_once(' ').unwrap_or((hole, "")) {
            ("random", range) => filled += range.split("..").last().unwrap(),
            ("uuid", _) => filled += "b9c5cf9e-3f0c-4d23-9f3a-6d5f4c2b1a00",
            ("seq", _) => filled += "7",
            _ => panic!("{text}"),
        }
    }
    filled + rest
}

/// The JSON that a request sends.
fn body(request: &Table) -> Value {
    fn value(toml: &toml::Value) -> Value {
        match toml {
            toml::Value::String(text) => filled(text).into(),
            toml::Value::Array(items) => items.iter().map(value).collect(),
            toml::Value::Table(table) => {
                table.iter().map(|(name, one)| (name.clone(), value(one))).collect()
            }
            other => serde_json::to_value(other).unwrap(),
        }
    }
    match request.get("json") {
        Some(json) => value(json),
        None => serde_json::from_str(&filled(text(request, "body"))).unwrap(),
    }
}

/// The only request of a description in 3.1 with this schema of a JSON body.
fn body_of(schema: &str) -> (Value, String) {
    let (list, plan) = described(&format!(
        r##"{{"openapi":"3.1.0","servers":[{{"url":"http://h"}}],"paths":{{"/a":{{"post":{{"requestBody":{{"content":
        {{"application/json":{{"schema":{schema}}}}}}}}}}}}},"components":{{"schemas":{{
        "Pet":{{"type":"object","required":["kind"],"properties":{{"kind":{{"type":"string"}}}},"discriminator":
        {{"propertyName":"kind","mapping":{{"meow":"#/components/schemas/Cat","woof":"Dog"}}}}}},
        "Cat":{{"allOf":[{{"$ref":"#/components/schemas/Pet"}},{{"required":["lives"],"properties":{{"lives":{{"const":9}}}}}}]}},
        "Dog":{{"allOf":[{{"$ref":"#/components/schemas/Pet"}},{{"required":["bark"],"properties":{{"bark":{{"type":"boolean"}}}}}}]}},
        "Expression":{{"oneOf":[{{"$ref":"#/components/schemas/Sum"}},{{"type":"integer"}}]}},
        "Sum":{{"type":"object","required":["left","right"],"properties":{{"left":{{"$ref":"#/components/schemas/Expression"}},
        "right":{{"$ref":"#/components/schemas/Expression"}}}}}}}}}}}}"##
    ));
    (body(&list[0]), plan)
}

#[test]
fn bodies_have_values_of_their_schemas() {
    for (schema, expected) in [
        // Numbers.
        (r#"{"type":"number","minimum":0.5,"maximum":0.9}"#, json!(0.7)),
        (r#"{"type":"number","exclusiveMinimum":1,"maximum":1.5}"#, json!(1.25)),
        (r#"{"type":"number","exclusiveMaximum":1}"#, json!(0.0)),
        (r#"{"type":"number","multipleOf":0.25,"minimum":0.3}"#, json!(0.5)),
        (r#"{"type":"integer","multipleOf":5,"minimum":7}"#, json!(10)),
        (r#"{"type":"integer","multipleOf":7,"maximum":-3}"#, json!(-7)),
        (r#"{"type":"integer","minimum":3,"exclusiveMaximum":4}"#, json!(3)),
        (r#"{"type":"integer","maximum":-5,"minimum":-5}"#, json!(-5)),
        (r#"{"allOf":[{"type":"number","minimum":2},{"type":"integer","maximum":2}]}"#, json!(2)),
        // Texts.
        (r#"{"type":"string","minLength":6}"#, json!("textxx")),
        (r#"{"type":"string","maxLength":2}"#, json!("te")),
        (r#"{"type":"string","pattern":"^[a-z]+$","minLength":3}"#, json!("aaa")),
        (r#"{"type":"string","pattern":"^(?=.*\\d)(?=.*[A-Z]).{6}$"}"#, json!("0Aaaaa")),
        (r#"{"type":"string","format":"date","maxLength":10}"#, json!("2024-01-01")),
        (r#"{"type":"string","format":"byte","minLength":9}"#, json!("dGV4dGV4dGV4")),
        (r#"{"type":["null","string"],"enum":[null,"b"]}"#, json!("b")),
        (r#"{"const":{"a":[1]}}"#, json!({"a": [1]})),
        (r#"{"type":"null"}"#, json!(null)),
        // Examples, if the schema has them as values.
        (r#"{"type":"string","example":12.5}"#, json!("12.5")),
        (r#"{"type":"integer","example":"12"}"#, json!(12)),
        (r#"{"type":"integer","minimum":9,"maximum":9,"example":0,"default":8}"#, json!(9)),
        (r#"{"type":"array","items":{"type":"integer"},"example":"1,2"}"#, json!([1, 2])),
        (r#"{"examples":[{"a":1},{"a":2}],"properties":{"b":{"type":"string"}}}"#, json!({"a": 1})),
        (
            r#"{"example":{"a":1,"id":7,"x":[2]},"required":["b"],"properties":{"a":{"type":"integer"},"b":{"const":"c"},
            "id":{"type":"integer","readOnly":true}}}"#,
            json!({"a": 1, "b": "c", "x": [2]}),
        ),
        // Lists and objects.
        (r#"{"type":"array","minItems":2,"items":{"enum":["b"]}}"#, json!(["b", "b"])),
        (r#"{"type":"array","maxItems":0,"items":{"type":"string"}}"#, json!([])),
        (
            r#"{"type":"array","minItems":3,"uniqueItems":true,"items":{"enum":["b","a","c"]}}"#,
            json!(["b", "a", "c"]),
        ),
        (
            r#"{"prefixItems":[{"const":1},{"const":"a"}],"items":false,"minItems":2}"#,
            json!([1, "a"]),
        ),
        (
            r#"{"type":"array","items":{"type":"array","items":{"type":"array","items":{"const":1}}}}"#,
            json!([[[1]]]),
        ),
        (r#"{"type":"object","additionalProperties":{"const":1}}"#, json!({"key": 1})),
        (
            r#"{"patternProperties":{"^x-[a-c]$":{"const":1}},"additionalProperties":false,"minProperties":1}"#,
            json!({"x-a": 1}),
        ),
        (
            r#"{"required":["id","z","b"],"properties":{"id":{"readOnly":true},"a":{"writeOnly":true,"const":1},"b":{"const":2}}}"#,
            json!({"a": 1, "b": 2, "z": "text"}),
        ),
        // Compositions.
        (
            r#"{"properties":{"a":{"const":1},"b":{"const":2}},"oneOf":[{"required":["a"]},{"required":["b"]}]}"#,
            json!({"a": 1}),
        ),
        (r#"{"oneOf":[{"type":"integer"},{"type":"number"},{"type":"boolean"}]}"#, json!(true)),
        (r#"{"anyOf":[{"type":"null"},{"enum":["a"]}]}"#, json!("a")),
        (r#"{"allOf":[{"oneOf":[{"const":"a"},{"const":"b"}]},{"enum":["b","c"]}]}"#, json!("b")),
        (
            r#"{"if":{"properties":{"a":{"const":1}}},"then":{"required":["a"]},"properties":{"a":{"enum":[1]}}}"#,
            json!({"a": 1}),
        ),
        (
            r#"{"example":{"a":1},"allOf":[{"properties":{"a":{"type":"integer"}}},{"required":["b"],"properties":{"b":{"type":"boolean"}}}]}"#,
            json!({"a": 1, "b": true}),
        ),
        // Kinds with names, and kinds within themselves.
        (r##"{"$ref":"#/components/schemas/Cat"}"##, json!({"kind": "meow", "lives": 9})),
        (r##"{"$ref":"#/components/schemas/Pet"}"##, json!({"kind": "meow", "lives": 9})),
        (
            r##"{"oneOf":[{"$ref":"#/components/schemas/Dog"},{"$ref":"#/components/schemas/Cat"}],"discriminator":
            {"propertyName":"kind","mapping":{"hound":"#/components/schemas/Dog"}}}"##,
            json!({"kind": "hound", "bark": true}),
        ),
        (
            r##"{"$ref":"#/components/schemas/Sum"}"##,
            json!({"left": {"left": 100, "right": 100}, "right": {"left": 100, "right": 100}}),
        ),
    ] {
        let (sent, plan) = body_of(schema);
        assert_eq!(sent, expected, "{schema}\n{plan}");
        assert!(!plan.contains("# invalid"), "{schema}: {plan}");
    }
}

#[test]
fn what_cannot_be_satisfied_is_said() {
    for (schema, keyword) in [
        (
            r#"{"properties":{"a":{"type":"string","pattern":"(a)\\1"}},"required":["a"]}"#,
            "`pattern` at /a",
        ),
        (r#"{"type":"integer","minimum":3,"maximum":2}"#, "`maximum`"),
        (
            r#"{"type":"array","items":{"type":"string","minLength":3,"maxLength":2},"minItems":1}"#,
            "`minLength` at /0",
        ),
        (
            r#"{"type":"array","uniqueItems":true,"minItems":3,"items":{"type":"boolean"}}"#,
            "`minItems`",
        ),
        (r#"{"type":"object","not":{}}"#, "`not`"),
        (
            r#"{"type":"object","required":["a"],"additionalProperties":false}"#,
            "`additionalProperties` at /a",
        ),
        (r##"{"$ref":"#/components/schemas/Nothing"}"##, "`$ref`"),
    ] {
        let (_, plan) = body_of(schema);
        let remark = format!("# invalid: the body does not satisfy {keyword} of its schema");
        assert!(plan.contains(&remark), "{schema}: {plan}");
        let note =
            "# Requests that do not satisfy their own schemas: 1; their comments say where\n";
        assert!(plan.contains(note), "{plan}");
    }
    let (_, plan) = body_of(r##"{"$ref":"#/components/schemas/Nothing"}"##);
    assert!(plan.contains("# guess: nothing is at #/components/schemas/Nothing"), "{plan}");
    // What need not be there is left out without a word.
    let (sent, plan) = body_of(r#"{"properties":{"a":{"pattern":"(a)\\1"},"b":{"const":1}}}"#);
    assert_eq!(sent, json!({"b": 1}));
    assert!(!plan.contains("# invalid"), "{plan}");
}

#[test]
fn older_versions_have_their_own_words() {
    let (list, plan) = described(
        "openapi: 3.0.3\nservers: [{url: 'http://h'}]\npaths: {/a: {post: {requestBody: {content: {'application/json; \
         charset=utf-8': {schema: {type: object, required: [n, x, t], properties: {n: {type: number, minimum: 1, \
         exclusiveMinimum: true, maximum: 1.5}, x: {nullable: true, allOf: [{type: string, enum: [a]}]}, t: {$ref: \
         '#/components/schemas/T', description: ignored, enum: [z]}}}}}}}}}\ncomponents: {schemas: {T: {enum: [t]}}}\n",
    );
    assert_eq!(body(&list[0]), json!({"n": 1.25, "x": "a", "t": "t"}));
    assert!(!plan.contains("# invalid"), "{plan}");
    let (list, plan) = described(
        "swagger: '2.0'\nhost: h\nbasePath: /v2\nschemes: [http]\nconsumes: [application/xml, application/json]\npaths: \
         {'/a/{ids}': {post: {parameters: [{name: ids, in: path, required: true, type: array, items: {type: integer}, \
         x-example: [1, 2]}, {name: csv, in: query, required: true, type: array, items: {enum: [a]}, minItems: 2}, \
         {name: multi, in: query, required: true, type: array, collectionFormat: multi, items: {enum: [b]}, minItems: 2}, \
         {name: pipes, in: query, required: true, type: array, collectionFormat: pipes, items: {enum: [c]}, minItems: 2}, \
         {name: body, in: body, schema: {discriminator: kind, properties: {kind: {type: string}}, $ref: '#/definitions/P'}}]}, \
         put: {schemes: [https], parameters: [{name: ids, in: path, required: true, type: string}]}}, /f: {post: {consumes: \
         [multipart/form-data], parameters: [{name: f, in: formData, type: file}, {name: n, in: formData, type: integer, \
         default: 3}]}}}\ndefinitions: {P: {required: [kind], discriminator: kind, properties: {kind: {type: string}}}}\n",
    );
    assert_eq!(text(&list[0], "path"), "/v2/a/1,2?csv=a,a&multi=b&multi=b&pipes=c%7Cc");
    assert_eq!(body(&list[0]), json!({"kind": "P"}));
    assert_eq!(text(&list[1], "url"), "https://h/v2/a/text");
    let parts = text(&list[2], "body");
    assert!(parts.contains(
        "name=\"f\"; filename=\"f\"\r\nContent-Type: application/octet-stream\r\n\r\ntext"
    ));
    assert!(parts.contains("name=\"n\"\r\n\r\n3\r\n"), "{parts}");
    assert!(!plan.contains("# invalid"), "{plan}");
}

#[test]
fn values_are_written_in_their_style() {
    let styles = |place: &str, style: &str, value: &str| {
        let path = if place == "path" { "{p}" } else { "" };
        let (list, _) = described(&format!(
            "openapi: 3.0.0\nservers: [{{url: 'http://h'}}]\npaths: {{'/{path}': {{get: {{parameters: [{{name: p, in: {place}, \
             required: true, {style} example: {value}}}]}}}}}}\n"
        ));
        match place {
            "header" => field(&list[0], "p").to_owned(),
            "cookie" => field(&list[0], "Cookie").to_owned(),
            _ => text(&list[0], "path").to_owned(),
        }
    };
    for (place, style, value, written) in [
        ("query", "", "[1, 2]", "/?p=1&p=2"),
        ("query", "explode: false,", "[1, 'a,b']", "/?p=1,a%2Cb"),
        ("query", "style: pipeDelimited, explode: false,", "[1, 2]", "/?p=1%7C2"),
        ("query", "style: pipeDelimited, explode: true,", "[1, 2]", "/?p=1&p=2"),
        ("query", "style: spaceDelimited,", "[1, 2]", "/?p=1%202"),
        ("query", "", "{a: 1, b: x y}", "/?a=1&b=x%20y"),
        ("query", "explode: false,", "{a: 1, b: x}", "/?p=a,1,b,x"),
        (
            "query",
            "style: deepObject,",
            "{a: 1, b: {c: [2]}}",
            "/?p%5Ba%5D=1&p%5Bb%5D%5Bc%5D%5B0%5D=2",
        ),
        ("query", "allowReserved: true,", "'a/b?c=d&e#f +é'", "/?p=a/b?c=d%26e%23f%20%2B%C3%A9"),
        ("query", "content: {application/json: {}},", "{a: [1]}", "/?p=%7B%22a%22%3A%5B1%5D%7D"),
        ("path", "style: label,", "[1, 'a b']", "/.1,a%20b"),
        ("path", "style: label, explode: true,", "[1, 2]", "/.1.2"),
        ("path", "style: label, explode: true,", "{a: 1, b: 2}", "/.a=1.b=2"),
        ("path", "style: matrix,", "[1, 2]", "/;p=1,2"),
        ("path", "style: matrix, explode: true,", "[1, 2]", "/;p=1;p=2"),
        ("path", "style: matrix, explode: true,", "{a: 1, b: 2}", "/;a=1;b=2"),
        ("path", "style: matrix,", "7", "/;p=7"),
        ("path", "", "{a: 1, b: 2}", "/a,1,b,2"),
        ("path", "explode: true,", "{a: 1, b: 2}", "/a=1,b=2"),
        ("path", "", "a/b", "/a%2Fb"),
        ("path", "", "''", "/${random 1..100}"),
        ("header", "", "[1, a b]", "1,a b"),
        ("header", "explode: true,", "{a: 1, b: 2}", "a=1,b=2"),
        ("cookie", "", "a b", "p=a%20b"),
        ("cookie", "explode: false,", "[1, 2]", "p=1,2"),
    ] {
        assert_eq!(styles(place, style, value), written, "{place} {style} {value}");
    }
    let (list, _) = described(
        "openapi: 3.0.0\nservers: [{url: 'http://h'}]\npaths: {/: {get: {security: [{k: []}], parameters: [{name: c, in: \
         cookie, required: true, example: 1}]}}}\ncomponents: {securitySchemes: {k: {type: apiKey, in: cookie, name: k}}}\n",
    );
    assert_eq!(field(&list[0], "Cookie"), "c=1; k=${env:API_KEY}");
}

#[test]
fn forms_are_written_by_their_encoding() {
    let form = |kind: &str, encoding: &str| {
        let (list, plan) = described(&format!(
            "openapi: 3.0.0\nservers: [{{url: 'http://h'}}]\npaths: {{/: {{post: {{requestBody: {{content: {{{kind}: {{encoding: \
             {{{encoding}}}, schema: {{type: object, properties: {{a: {{type: array, items: {{type: integer}}, example: [1, 2]}}, \
             o: {{type: object, properties: {{x: {{type: string, example: 'y z'}}}}}}, f: {{type: string, format: binary}}}}}}}}}}}}}}}}}}\n"
        ));
        (text(&list[0], "body").to_owned(), field(&list[0], "Content-Type").to_owned(), plan)
    };
    for (encoding, written) in [
        ("", "a=1&a=2&o=%7B%22x%22%3A%22y%20z%22%7D&f=text"),
        ("a: {explode: false}, o: {style: deepObject}", "a=1,2&o%5Bx%5D=y%20z&f=text"),
        ("a: {style: pipeDelimited}, o: {explode: true}", "a=1%7C2&x=y%20z&f=text"),
        (
            "a: {contentType: application/json}",
            "a=%5B1%2C2%5D&o=%7B%22x%22%3A%22y%20z%22%7D&f=text",
        ),
    ] {
        let (body, kind, _) = form("application/x-www-form-urlencoded", encoding);
        assert_eq!(body, written, "{encoding}");
        assert_eq!(kind, "application/x-www-form-urlencoded");
    }
    let (body, kind, plan) =
        form("multipart/form-data", "f: {contentType: 'image/png, image/jpeg'}");
    let boundary = kind.split_once("boundary=").unwrap().1;
    let part = |head: &str, value: &str| {
        format!("--{boundary}\r\nContent-Disposition: form-data; name={head}\r\n\r\n{value}\r\n")
    };
    let expected = [
        part("\"a\"", "1"),
        part("\"a\"", "2"),
        part("\"o\"\r\nContent-Type: application/json", r#"{"x":"y z"}"#),
        part("\"f\"; filename=\"f\"\r\nContent-Type: image/png", "text"),
        format!("--{boundary}--\r\n"),
    ];
    assert_eq!(body, expected.concat());
    assert!(plan.contains("# guess: the content of the file f"), "{plan}");
}

#[test]
fn examples_of_media_types_and_parameters_are_sent() {
    let (list, _) = described(
        "openapi: 3.0.0\nservers: [{url: 'http://h'}]\npaths: {/: {post: {parameters: [{name: q, in: query, required: true, \
         schema: {type: string}, examples: {one: {value: A B}, two: {value: C}}}, {name: r, in: query, required: true, schema: \
         {type: string, maxLength: 1}, example: too long}], requestBody: {content: {application/json: {examples: {refers: {$ref: \
         '#/components/examples/E'}}, schema: {type: object, properties: {id: {type: integer, readOnly: true}}}}}}}}}\n\
         components: {examples: {E: {value: {b: 1, id: 3, a: [2]}}}}\n",
    );
    assert_eq!(text(&list[0], "path"), "/?q=A%20B&r=t");
    assert_eq!(list[0]["json"].to_string(), "{ b = 1, a = [2] }");
}

#[test]
fn paths_and_operations_have_servers() {
    let document = "openapi: 3.0.0\nservers: [{url: 'http://h/v1'}, {url: 'http://second'}]\npaths:\n  /a: {get: {}}\n  /b: \
                    {servers: [{url: 'http://h/v2'}], get: {}, put: {servers: [{url: /v3/}]}, post: {servers: [{url: \
                    'https://{name}.example.com:{port}/up', variables: {name: {default: files}, port: {enum: ['8443'], default: \
                    '8443'}}}]}}\n";
    let (list, _) = described(document);
    let places: Vec<_> = list
        .iter()
        .map(|one| if one.contains_key("url") { text(one, "url") } else { text(one, "path") })
        .collect();
    assert_eq!(places, ["/v1/a", "/v2/b", "/v3/b", "https://files.example.com:8443/up/b"]);
    // With a server of the user's own no request goes elsewhere.
    let options = Options { url: Some("http://localhost:1".to_owned()), ..Options::default() };
    let (list, plan) = requests(openapi(document.as_bytes(), &options));
    assert_eq!(text(&list[3], "path"), "/up/b");
    assert!(!plan.contains("example.com"), "{plan}");
    let note = "# Requests that the document has for other servers, and the plan for this one: 1\n";
    assert!(plan.contains(note), "{plan}");
    // A document without servers, and operations with them.
    let (_, plan) = described(
        "openapi: 3.0.0\npaths: {/a: {servers: [{url: 'http://x/1'}], get: {}, put: {}}, /b: {servers: [{url: 'http://y'}], get: {}}}\n",
    );
    assert!(
        plan.contains("url = \"http://x\"\n") && plan.contains("url = \"http://y/b\""),
        "{plan}"
    );
}

/// Imports a description whose other files are these; also the paths that it read.
fn with_files(root: &str, files: &[(&str, &str)]) -> (Result<Imported, ImportError>, Vec<String>) {
    let files: HashMap<_, _> = files.iter().copied().collect();
    let seen = RefCell::new(Vec::new());
    let read = |path: &str, most: usize| {
        seen.borrow_mut().push(path.to_owned());
        let file = files.get(path).ok_or(io::Error::from(io::ErrorKind::NotFound))?;
        Ok(file.as_bytes()[..file.len().min(most)].to_vec())
    };
    let imported = openapi_of_files(root.as_bytes(), &Options::default(), &read);
    (imported, seen.into_inner())
}

#[test]
fn other_files_are_read_below_the_folder() {
    let root = "openapi: 3.0.3\nservers: [{url: 'http://h'}]\npaths:\n  /droplets: {post: {$ref: 'resources/create.yml'}}\n  \
                /keys/{id}: {$ref: 'keys.json#/paths/~1keys'}\ncomponents: {schemas: {$ref: 'models/all.yml'}}\n";
    let create = "parameters: [{$ref: '../shared.yml#/page'}]\nrequestBody: {content: {application/json: {schema: {$ref: \
                  '../models/droplet.yml'}}}}\nresponses: {'200': {$ref: 'missing.yml'}}\n";
    let files = [
        ("resources/create.yml", create),
        (
            "shared.yml",
            "page: {name: page, in: query, required: true, schema: {$ref: '#/number'}}\nnumber: {type: integer, enum: [4]}\n",
        ),
        (
            "models/droplet.yml",
            "type: object\nrequired: [name, size]\nproperties: {name: {$ref: '#/$defs/name'}, size: {$ref: \
                                './size.yml'}, parent: {$ref: 'droplet.yml'}}\n$defs: {name: {type: string, example: web}}\n",
        ),
        (
            "models/size.yml",
            "oneOf: [{$ref: 'all.yml#/Small'}]\ndiscriminator: {propertyName: kind, mapping: {small: 'all.yml#/Small'}}\n",
        ),
        (
            "models/all.yml",
            "Small: {type: object, required: [kind], properties: {kind: {type: string}}}\n",
        ),
        (
            "keys.json",
            r##"{"paths":{"/keys":{"get":{"parameters":[{"name":"id","in":"path","required":true,"schema":{"$ref":"#/id"}}]}}},"id":{"enum":["k"]}}"##,
        ),
    ];
    let (imported, seen) = with_files(root, &files);
    let (list, plan) = requests(imported);
    assert_eq!(text(&list[0], "path"), "/droplets?page=4", "{plan}");
    assert_eq!(body(&list[0]), json!({"name": "web", "size": {"kind": "small"}}));
    assert_eq!(text(&list[1], "path"), "/keys/k");
    // Each is read once, and what no request needs is not.
    assert_eq!(seen.len(), 6, "{seen:?}");
    assert!(!seen.contains(&"resources/missing.yml".to_owned()));
}

#[test]
fn references_out_of_the_folder_are_refused_by_name() {
    let not_below = "which is not a path below the folder of the description";
    for (reference, why) in [
        ("../secret.yml", not_below),
        ("a/../../secret.yml", not_below),
        ("/etc/passwd", not_below),
        ("file:///etc/passwd", not_below),
        ("https://example.com/a.yml#/x", not_below),
        ("//example.com/a.yml", not_below),
        ("%2e%2e/secret.yml", not_below),
        ("none.yml", "which cannot be read: entity not found"),
        ("broken.yml", "which cannot be read: line 2, column 1: while parsing a node"),
    ] {
        let root = format!("openapi: 3.0.3\npaths: {{/a: {{post: {{$ref: '{reference}'}}}}}}\n");
        let (imported, seen) = with_files(&root, &[("broken.yml", "a: [")]);
        let error = imported.unwrap_err().to_string();
        let path = reference.split('#').next().unwrap();
        let begin = format!("not an OpenAPI document: it refers to another file, {path}, {why}");
        assert!(error.starts_with(&begin) && error.contains("redocly bundle"), "{error}");
        assert_eq!(seen.is_empty(), why == not_below, "{reference}");
    }
}

#[test]
fn files_that_refer_to_each_other_end() {
    let root = "openapi: 3.0.3\npaths: {/a: {post: {requestBody: {content: {application/json: {schema: {$ref: 'a.yml'}}}}}}}\n";
    let (imported, _) = with_files(root, &[("a.yml", "$ref: b.yml\n"), ("b.yml", "$ref: a.yml\n")]);
    let (_, plan) = requests(imported);
    assert!(plan.contains("# guess: nothing is at"), "{plan}");
    // Each of very many refers to the next one.
    let count = RefCell::new(0);
    let read = |path: &str, _: usize| {
        *count.borrow_mut() += 1;
        let next = path.trim_end_matches(".yml").parse::<usize>().unwrap_or(0) + 1;
        Ok(format!("allOf: [{{$ref: {next}.yml}}, {{$ref: {}.yml}}]\n", next * 2).into_bytes())
    };
    let imported = openapi_of_files(root.as_bytes(), &Options::default(), &read);
    assert!(count.into_inner() <= 4096);
    drop(imported);
    // A file that does not end, and one of very many values.
    let read = |_: &str, most: usize| Ok(vec![b'#'; most + 1]);
    assert!(openapi_of_files(root.as_bytes(), &Options::default(), &read).is_err());
}

/// The value of a parameter, as its style is read by others.
fn read(parameter: &Value, request: &Table) -> Value {
    let name = parameter["name"].as_str().unwrap();
    let style = parameter["style"].as_str().unwrap();
    let explode = parameter["explode"].as_bool().unwrap();
    let kind = parameter["schema"]["type"].as_str().unwrap();
    let decoded = |text: &str| percent_decode_str(text).decode_utf8().unwrap().into_owned();
    let typed = |text: &str, schema: &Value| match schema["type"].as_str() {
        Some("integer") => json!(decoded(text).parse::<i64>().unwrap()),
        _ => json!(decoded(text)),
    };
    let object = |pairs: Vec<(String, String)>| -> Value {
        let one = |(name, text): (String, String)| {
            let value = typed(&text, &parameter["schema"]["properties"][&name]);
            (name, value)
        };
        pairs.into_iter().map(one).collect()
    };
    let list = |items: Vec<String>| -> Value {
        items.iter().map(|item| typed(item, &parameter["schema"]["items"])).collect()
    };
    let path = filled(text(request, "path"));
    let (path, query) = path.split_once('?').unwrap_or((&path, ""));
    let pairs = |text: &str, separator: &str| -> Vec<(String, String)> {
        let pair = |text: &str| {
            let (name, value) = text.split_once('=').unwrap();
            (decoded(name), value.to_owned())
        };
        text.split(separator).filter(|text| !text.is_empty()).map(pair).collect()
    };
    if parameter["in"] == "query" {
        let own = pairs(query, "&").into_iter();
        if style == "deepObject" {
            let key = |name: &str, own: &str| {
                Some(own.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')?.to_owned())
            };
            return object(
                own.filter_map(|(own, value)| Some((key(name, &own)?, value))).collect(),
            );
        }
        if explode && kind == "object" {
            return object(own.filter(|(own, _)| own == "a" || own == "b").collect());
        }
        let values: Vec<String> =
            own.filter(|(own, _)| own == name).map(|(_, value)| value).collect();
        return read_flat(&values, style, explode, kind, &object, &list, &|text| {
            typed(text, &parameter["schema"])
        });
    }
    let text = match parameter["in"].as_str().unwrap() {
        "path" => path.rsplit('/').next().unwrap().to_owned(),
        _ => filled(field(request, name)),
    };
    let text = match (style, explode && kind != "string" && kind != "integer") {
        ("label", _) => text.strip_prefix('.').unwrap().to_owned(),
        ("matrix", false) => text.strip_prefix(&format!(";{name}=")).unwrap().to_owned(),
        _ => text,
    };
    if explode && kind == "object" {
        let separator = match style {
            "label" => ".",
            "matrix" => ";",
            _ => ",",
        };
        return object(pairs(&text, separator));
    }
    if explode && kind == "array" && style == "matrix" {
        return list(pairs(&text, ";").into_iter().map(|(_, value)| value).collect());
    }
    let style = if explode && style == "label" { "dots" } else { style };
    read_flat(&[text], style, false, kind, &object, &list, &|text| {
        typed(text, &parameter["schema"])
    })
}

/// A value that is one text, or one for each item.
fn read_flat(
    values: &[String],
    style: &str,
    explode: bool,
    kind: &str,
    object: &dyn Fn(Vec<(String, String)>) -> Value,
    list: &dyn Fn(Vec<String>) -> Value,
    scalar: &dyn Fn(&str) -> Value,
) -> Value {
    let separator = match style {
        "pipeDelimited" => "%7C",
        "spaceDelimited" => "%20",
        "dots" => ".",
        _ => ",",
    };
    let words = || values[0].split(separator).map(str::to_owned).collect::<Vec<_>>();
    match kind {
        "array" if explode => list(values.to_vec()),
        "array" => list(words()),
        "object" => {
            object(words().chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
        }
        _ => scalar(&values[0]),
    }
}

/// A schema of OpenAPI as one of JSON Schema 2020-12, for requests.
fn translated(schema: &Value, is_31: bool) -> Value {
    match schema {
        Value::Array(items) => items.iter().map(|item| translated(item, is_31)).collect(),
        Value::Object(fields) => {
            let mut made: serde_json::Map<String, Value> = fields
                .iter()
                .filter(|(key, _)| *key != "nullable" && *key != "example")
                .map(|(key, value)| (key.clone(), translated(value, is_31)))
                .collect();
            if let (Some(Value::Object(properties)), Some(Value::Array(required))) =
                (fields.get("properties"), fields.get("required"))
            {
                let is_read = |name: &Value| properties[name.as_str().unwrap()]["readOnly"] == true;
                let kept = required.iter().filter(|name| !is_read(name)).cloned().collect();
                made["required"] = kept;
            }
            if fields.get("readOnly") == Some(&true.into()) {
                return false.into();
            }
            if is_31 {
                return made.into();
            }
            if fields.get("nullable") == Some(&true.into()) {
                made["type"] = json!([fields["type"], "null"]);
            }
            for key in ["Minimum", "Maximum"] {
                if made.get(&format!("exclusive{key}")) == Some(&true.into()) {
                    let bound = made.remove(&key.to_lowercase()).unwrap();
                    made.insert(format!("exclusive{key}"), bound);
                }
            }
            made.into()
        }
        other => other.clone(),
    }
}

/// The values of the request that is made of a description, each with its schema.
pub(crate) fn values(description: &Description) -> Vec<(Value, Value)> {
    let document = description.document().to_string();
    let (list, plan) = described(&document);
    assert!(!plan.contains("# invalid"), "{document}\n{plan}");
    let components = translated(&description.components, description.is_31);
    let whole = |schema: &Value| {
        let mut whole = translated(schema, description.is_31);
        if let Value::Object(whole) = &mut whole {
            whole.insert("components".to_owned(), json!({"schemas": components}));
        }
        whole
    };
    let objects = |one: &&Value| {
        one["in"] == "query"
            && one["explode"] == true
            && one["style"] == "form"
            && one["schema"]["type"] == "object"
    };
    let is_mixed = description.parameters.iter().filter(objects).count() > 1;
    // The names of two objects in one query are the same.
    let told = description.parameters.iter().filter(|one| !(is_mixed && objects(one)));
    let of_parameters = told.map(|one| (whole(&one["schema"]), read(one, &list[0])));
    let mut all = vec![(whole(&description.body), body(&list[0]))];
    all.extend(of_parameters);
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn requests_of_any_description_are_valid(description in description()) {
        for (schema, value) in values(&description) {
            let options = jsonschema::draft202012::options().should_validate_formats(true);
            let is_valid = options.build(&schema).unwrap().is_valid(&value);
            prop_assert!(is_valid, "{}\n{}\n{}", schema, value, description.document());
        }
    }
}
