//! Inputs that are made to take time or memory, and broken ones: each ends in a plan or in one sentence
//! with the place and the remedy.

use candor_import::{AccessLog, Options, access_log, curl, har, openapi, postman};

fn options() -> Options {
    Options::default()
}

fn spec(rest: &str) -> String {
    format!(
        r##"{{"openapi":"3.0.0","paths":{{"/a":{{"post":{{"requestBody":{{"content":{{"application/json":{{"schema":{{"$ref":"#/components/schemas/A"}}}}}}}}}}}}}},"components":{{"schemas":{rest}}}}}"##
    )
}

fn plan_of(text: &str) -> String {
    let plan = openapi(text.as_bytes(), &options()).unwrap().plan;
    crate::common::check(&plan);
    plan
}

#[test]
fn references_in_circles_end() {
    let to_itself = plan_of(&spec(r##"{"A":{"$ref":"#/components/schemas/A"}}"##));
    assert!(to_itself.contains("body = \"null\""), "{to_itself}");
    let in_a_circle =
        r##"{"A":{"$ref":"#/components/schemas/B"},"B":{"$ref":"#/components/schemas/A"}}"##;
    assert_eq!(plan_of(&spec(in_a_circle)), to_itself);
    let required = r##"{"A":{"required":["a","b"],"properties":{"a":{"$ref":"#/components/schemas/A"},"b":{"type":"string"}}}}"##;
    assert!(plan_of(&spec(required)).contains(r#"body = '{"a":null,"b":"text"}'"#));
    let composed = r##"{"A":{"allOf":[{"$ref":"#/components/schemas/A"},{"properties":{"b":{"type":"string"}}},{"$ref":"#/components/schemas/A"}]}}"##;
    assert!(plan_of(&spec(composed)).contains("b = \"text\""));
    let listed = r##"{"A":{"type":"array","items":{"$ref":"#/components/schemas/A"}}}"##;
    assert!(plan_of(&spec(listed)).len() < 1000);
}

#[test]
fn schemas_that_multiply_end() {
    // Each level has ten of the next one: 10^20 values without a bound.
    let level = |n: usize| {
        let property =
            |p: usize| format!("\"p{p}\":{{\"$ref\":\"#/components/schemas/L{}\"}}", n + 1);
        let properties: Vec<_> = (0..10).map(property).collect();
        let required: Vec<_> = (0..10).map(|p| format!("\"p{p}\"")).collect();
        format!(
            "\"L{n}\":{{\"required\":[{}],\"properties\":{{{}}}}}",
            required.join(","),
            properties.join(",")
        )
    };
    let levels: Vec<_> = (0..20).map(level).collect();
    let text =
        spec(&format!("{{\"A\":{{\"$ref\":\"#/components/schemas/L0\"}},{}}}", levels.join(",")));
    assert!(plan_of(&text).len() < 100_000);
    let all_of = |n: usize| {
        let part = format!("{{\"$ref\":\"#/components/schemas/M{}\"}}", n + 1);
        format!("\"M{n}\":{{\"allOf\":[{part},{part},{part}]}}")
    };
    let levels: Vec<_> = (0..16).map(all_of).collect();
    let text =
        spec(&format!("{{\"A\":{{\"$ref\":\"#/components/schemas/M0\"}},{}}}", levels.join(",")));
    assert!(plan_of(&text).len() < 100_000);
}

#[test]
fn schemas_that_ask_for_too_much_end() {
    let kinds =
        |name: &str| vec![format!("{{\"$ref\":\"#/components/schemas/{name}\"}}"); 40].join(",");
    let choices: Vec<_> = (0..20)
        .map(|n| format!("\"C{n}\":{{\"oneOf\":[{}],\"not\":{{}}}}", kinds(&format!("C{}", n + 1))))
        .collect();
    let names: Vec<_> = (0..5000).map(|n| format!("\"^(a+)+{n}$\":{{}}")).collect();
    for schema in [
        r#"{"type":"array","minItems":1000000000000,"items":{"type":"string"}}"#.to_owned(),
        r#"{"type":"array","minItems":1000000000000,"uniqueItems":true,"items":{"type":"integer"}}"#.to_owned(),
        r#"{"type":"string","minLength":1000000000000}"#.to_owned(),
        r#"{"type":"string","pattern":"^a{1000000000}$","minLength":99999999}"#.to_owned(),
        r#"{"type":"string","pattern":"^((((a|b)*c?)*d?)*e?)*$","example":"abababababababababababababababababababx"}"#.to_owned(),
        r#"{"type":"object","minProperties":1000000000000}"#.to_owned(),
        r#"{"type":"number","multipleOf":1e-300,"minimum":1e300}"#.to_owned(),
        r#"{"type":"integer","minimum":-1e308,"maximum":1e308,"multipleOf":1e308}"#.to_owned(),
        r#"{"type":"integer","minimum":18446744073709551615}"#.to_owned(),
        r#"{"type":"string","maxLength":-1,"minLength":-1.5,"format":"byte"}"#.to_owned(),
        format!(r#"{{"type":"object","minProperties":3,"patternProperties":{{{}}}}}"#, names.join(",")),
        format!(r##"{{"$ref":"#/components/schemas/C0"}},{}"##, choices.join(",")),
        r##"{"discriminator":{"propertyName":"k","mapping":{"a":"#/components/schemas/A","b":"x"}},"oneOf":[{"$ref":"#/components/schemas/A"}]}"##.to_owned(),
        r##"{"if":{"$ref":"#/components/schemas/A"},"then":{"$ref":"#/components/schemas/A"},"not":{"$ref":"#/components/schemas/A"}}"##.to_owned(),
    ] {
        let plan = plan_of(&spec(&format!("{{\"A\":{schema}}}")));
        assert!(plan.len() < 400_000, "{schema:.200}: {}", plan.len());
    }
}

#[test]
fn a_billion_laughs_are_refused() {
    let mut text =
        "openapi: 3.0.0\na0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        text += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    text += "paths: {}\n";
    assert_eq!(
        openapi(text.as_bytes(), &options()).unwrap_err().to_string(),
        "not an OpenAPI document: line 5, column 53: aliases that repeat too much; import a \
         description of OpenAPI 3 or Swagger 2.0, in JSON or YAML"
    );
}

#[test]
fn deep_nesting_is_refused_by_every_format() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = open.repeat(200_000) + "1" + &close.repeat(200_000);
        assert!(har(deep.as_bytes(), &options()).is_err());
        assert!(openapi(deep.as_bytes(), &options()).is_err());
        assert!(postman(deep.as_bytes(), &options()).is_err());
        // Where the format allows any value.
        let text = format!(r#"{{"log":{{"entries":[],"x":{deep}}}}}"#);
        assert!(har(text.as_bytes(), &options()).is_err());
        // A longer body is left out, and its request with it.
        let deep = open.repeat(80_000) + "1" + &close.repeat(80_000);
        let body = serde_json::Value::from(deep).to_string();
        let entry = format!(
            r#"{{"request":{{"method":"POST","url":"http://h/","headers":[],"postData":{{"mimeType":"application/json","text":{body}}}}},"response":{{"status":200,"content":{{"mimeType":"application/json","text":{body}}}}}}}"#
        );
        let recording = format!(r#"{{"log":{{"entries":[{entry},{entry}]}}}}"#);
        crate::common::check(&har(recording.as_bytes(), &options()).unwrap().plan);
    }
    let folders = "{\"item\":[".repeat(60) + &"]}".repeat(60);
    assert!(postman(folders.as_bytes(), &options()).is_err());
}

#[test]
fn variables_in_variables_end() {
    let many = "{{a}}".repeat(2000);
    let text = format!(
        r#"{{"variable":[{{"key":"a","value":"{many}"}},{{"key":"h","value":"{{{{h}}}}{{{{h}}}}"}}],
        "item":[{{"request":{{"url":"http://h/{{{{a}}}}"}}}},{{"request":{{"url":"{{{{h}}}}/x"}}}}]}}"#
    );
    let plan = postman(text.as_bytes(), &options()).unwrap().plan;
    assert!(plan.len() < 10_000_000, "{}", plan.len());
}

#[test]
fn a_line_without_end_is_one_broken_line() {
    let mut log = AccessLog::default();
    let long = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        log.feed(&long);
    }
    log.feed(b"\nh - - [x] \"GET /a HTTP/1.1\" 200 1\n");
    // What the line begins with is not taken for a request, however it goes on.
    log.feed(b"h - - [x] \"GET /b HTTP/1.1\" 200 1");
    log.feed(&long);
    let imported = log.finish(&options()).unwrap();
    assert!(imported.plan.contains("path = \"/a\"") && !imported.plan.contains("/b"));
    let broken = "Left out: 2 lines not in the format, the first at line 1";
    assert!(imported.notes.iter().any(|note| note == broken), "{:?}", imported.notes);
}

#[test]
fn ten_thousand_secrets_take_no_square_of_time() {
    let pairs: Vec<_> = (0..10_000).map(|n| format!("password{n}=secret-number-{n}")).collect();
    let text = format!("curl http://h/ -d '{}'", pairs.join("&"));
    let plan = curl(text.as_bytes(), &options()).unwrap().plan;
    assert!(plan.contains("${env:PASSWORD_10000}") && !plan.contains("secret-number"));
}

#[test]
fn errors_say_what_where_and_the_remedy() {
    let table = [
        (har(b"", &options()), "HAR file: it is empty; name a file with content"),
        (
            har(b"{\"log\":{\"entries\":[{]}}", &options()),
            "not a HAR file: line 1, column 21: key must be a string; export it again from the network panel of the browser (\"Save all as HAR\")",
        ),
        (
            har(b"{\"log\":{\"entries\":3}}", &options()),
            "not a HAR file: line 1, column 19: invalid type: integer `3`, expected a list of entries; export it again from the network panel of the browser (\"Save all as HAR\")",
        ),
        (
            har(b"{}", &options()),
            "not a HAR file: it has no log.entries; export it again from the network panel of the browser (\"Save all as HAR\")",
        ),
        (
            openapi(b"\xff", &options()),
            "not an OpenAPI document: byte 0 is not UTF-8; save the file as UTF-8",
        ),
        (
            openapi(b"a: b\n", &options()),
            "not an OpenAPI document: it has neither `openapi` nor `swagger`; import a description of OpenAPI 3 or Swagger 2.0, in JSON or YAML",
        ),
        (
            openapi(b"openapi: 3.0.0\npaths: {}\n", &options()),
            "OpenAPI document: it describes no operation; import one with methods under paths",
        ),
        (
            openapi(b"swagger: '1.2'\npaths: {}\n", &options()),
            "not an OpenAPI document: its version is 1.2; import a description of OpenAPI 3 or Swagger 2.0, in JSON or YAML",
        ),
        (
            postman(b"[]", &options()),
            "not a Postman collection: it has no `item`; export the collection from Postman as v2.1",
        ),
        (
            postman(b"{\"item\":[]}", &options()),
            "Postman collection: the collection has no requests; export one with requests",
        ),
        (
            curl(b"ls -l\n", &options()),
            "curl command: there is no curl command in the text; begin with `curl` and a URL",
        ),
        (
            curl(b"curl 'http://h/\n", &options()),
            "curl command: line 1, column 6: the quotation mark ' is not closed; add it at the end of the text",
        ),
        (
            curl(b"curl http://h/ \\\n  --unknown x", &options()),
            "curl command: line 2, column 3: the option --unknown is not known; remove it",
        ),
        (
            curl(b"curl '--pass=a\nb' http://h/", &options()),
            "curl command: line 1, column 6: the option --pass is not known; remove it",
        ),
        (
            curl("curl -\u{9b} http://h/".as_bytes(), &options()),
            "curl command: line 1, column 6: the option -\\u{9b} is not known; remove it",
        ),
        (
            openapi(b"openapi: \"9\\n9\"\npaths: {}\n", &options()),
            "not an OpenAPI document: its version is 9·9; import a description of OpenAPI 3 or Swagger 2.0, in JSON or YAML",
        ),
        (
            curl(b"curl -X", &options()),
            "curl command: line 1, column 6: the last option has no value; add it",
        ),
        (curl(b"curl -s", &options()), "curl command: line 1, column 1: there is no URL; add one"),
        (
            curl(b"curl ftp://h/", &options()),
            "curl command: line 1, column 6: scheme \"ftp\" is not supported; write http://HOST[:PORT]/PATH or https://",
        ),
        (access_log(b"", &options()), "access log: it has no lines; import a log with requests"),
        (
            access_log(b"x\ny\n", &options()),
            "access log: none of its 2 lines is in the Common or Combined Log Format; import lines like: 192.0.2.1 - - [01/Jan/2024:00:00:00 +0000] \"GET / HTTP/1.1\" 200 12",
        ),
    ];
    for (result, message) in table {
        assert_eq!(result.unwrap_err().to_string(), message);
    }
    let options = Options { host: Some("other.example.com".to_owned()), ..Options::default() };
    let text =
        r#"{"log":{"entries":[{"request":{"method":"GET","url":"https://h.example.com/"}}]}}"#;
    assert_eq!(
        har(text.as_bytes(), &options).unwrap_err().to_string(),
        "HAR file: there is no request to other.example.com, but to h.example.com (1)"
    );
}
