use proptest::prelude::*;

use super::*;

fn problem(text: &str) -> String {
    Source::parse(text).unwrap_err().to_string()
}

fn find(source: &str, fields: &str, body: &str) -> Result<String, Why> {
    let source = Source::parse(source).unwrap();
    let value = source.find(fields.as_bytes(), body.as_bytes())?;
    Ok(String::from_utf8(value.into_owned()).unwrap())
}

#[test]
fn each_kind_finds_its_value() {
    let fields =
        "Date: x\r\nX-Id: 42 \r\nSet-Cookie: s=1; Path=/\r\nx-id: 43\r\nset-cookie: s = 2\r\n";
    let body = r#"{"auth":{"token":"t0"}} name="csrf" value="c1""#;
    let found = |source| find(source, fields, body);
    assert_eq!(found("json:$.auth.token").unwrap(), "t0");
    assert_eq!(found("json: $.auth.token ").unwrap(), "t0");
    assert_eq!(found("header:x-ID").unwrap(), "42");
    assert_eq!(found(r#"regex:name="csrf" value="([^"]+)""#).unwrap(), "c1");
    assert_eq!(found("regex:::::").unwrap_err(), Why::NotFound);
    assert_eq!(found("cookie:s").unwrap(), "2");
    assert_eq!(found("body").unwrap(), body);
}

#[test]
fn nothing_is_not_found() {
    let found = |source| find(source, "Set-Cookie: session\r\nS: 1\r\n", "");
    for source in ["header:X-Id", "regex:x", "cookie:s", "cookie:session"] {
        assert_eq!(found(source), Err(Why::NotFound), "{source}");
    }
    assert_eq!(found("json:$.a"), Err(Why::NotJson));
    assert_eq!(found("body"), Ok(String::new()));
    assert_eq!(
        find("header:S", "S:\r\n", ""),
        Ok(String::new()),
        "a field without a value is there"
    );
}

#[test]
fn long_values_are_refused() {
    let most = "x".repeat(MOST_VALUE_BYTES);
    let over = "x".repeat(MOST_VALUE_BYTES + 1);
    for (source, fields, body) in [
        ("body", "", "@"),
        ("regex:^(.*)$", "", "@"),
        ("header:a", "a: @\r\n", ""),
        ("cookie:a", "Set-Cookie: a=@\r\n", ""),
        ("json:$.a", "", r#"{"a":"@"}"#),
        ("json:$..a", "", r#"{"a":"@"}"#),
    ] {
        let with =
            |value: &str| find(source, &fields.replace('@', value), &body.replace('@', value));
        assert_eq!(with(&most), Ok(most.clone()), "{source}");
        assert_eq!(with(&over), Err(Why::TooLong), "{source}");
    }
}

#[test]
fn errors_have_a_place_and_a_remedy() {
    for (text, expected) in [
        (
            "jsno:$.a",
            r#"capture "jsno:$.a": "jsno" is not a source; use json:, header:, regex:, cookie: or body; did you mean "json"?"#,
        ),
        (
            "xpath://a",
            r#"capture "xpath://a": "xpath" is not a source; use json:, header:, regex:, cookie: or body"#,
        ),
        ("", r#"capture "": "" is not a source; use json:, header:, regex:, cookie: or body"#),
        ("$.a", r#"capture "$.a": a JSON path needs its kind; write json:$.a"#),
        ("header", r#"capture "header": header needs a colon and a name, e.g. header:X-Id"#),
        ("json", r#"capture "json": json needs a colon and a path, e.g. json:$.token"#),
        ("body:x", r#"capture "body:x": body takes nothing after it; write body"#),
        ("header: ", r#"capture "header: ": the name is empty; write e.g. header:X-Id"#),
        (
            "header:X-Id:",
            r#"capture "header:X-Id:": a header name has no colon; write the name alone"#,
        ),
        (
            "header:X Id",
            r#"capture "header:X Id": ' ' at position 2 of the name cannot be in a header name; remove it"#,
        ),
        ("cookie:", r#"capture "cookie:": the name is empty; write e.g. cookie:session"#),
        (
            "cookie:a=b",
            r#"capture "cookie:a=b": '=' at position 2 of the name cannot be in a cookie name; remove it"#,
        ),
        ("regex:", r#"capture "regex:": the expression is empty; write e.g. regex:id=([0-9]+)"#),
        (
            "regex:a(b",
            r#"capture "regex:a(b": unclosed group at position 2 of the expression; correct it, or write \ before a character that is meant itself"#,
        ),
        ("json:", r#"capture "json:": the JSON path is empty; write e.g. json:$.token"#),
        ("json:token", r#"capture "json:token": a JSON path begins with $; put $. in front of it"#),
        ("json:[0]", r#"capture "json:[0]": a JSON path begins with $; put $ in front of it"#),
    ] {
        assert_eq!(problem(text), expected);
    }
}

#[test]
fn errors_are_short() {
    for text in [
        "x".repeat(10_000),
        format!("json:{}", "é".repeat(10_000)),
        format!("$.{}", "a".repeat(5000)),
    ] {
        assert!(problem(&text).len() < 500, "{}", problem(&text));
        assert!(problem(&text).contains('…'));
    }
}

proptest! {
    #[test]
    fn any_text_is_a_source_or_an_error(text in "(json:|header:|regex:|cookie:|body|)[$.\\[\\]'\"a-z0-9*?@:,()\\\\ é-]{0,30}") {
        if let Ok(source) = Source::parse(&text) {
            let _ = source.find(b"a: b\r\n", b"{\"a\":[1]}");
        }
    }

    #[test]
    fn any_bytes_have_a_value_or_none(
        fields in prop::collection::vec(any::<u8>(), 0..200),
        body in prop::collection::vec(prop::sample::select(&b"{}[]\":,\\utrfalsen0123-.eE \xff"[..]), 0..60),
    ) {
        for source in ["json:$", "json:$.a[0]", "json:$..*", "json:$[-1]", "header:a", "cookie:a", "body", "regex:(?-u:\\xff)(.*)"] {
            let source = Source::parse(source).unwrap();
            let _ = source.find(&fields, &body);
        }
    }
}
