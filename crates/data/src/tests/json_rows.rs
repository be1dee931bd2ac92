//! JSON lines.

use candor_plan::DataFormat::JsonLines;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{SMALL, fault, rows_within, texts};

#[test]
fn values_are_texts() {
    let table: [(&str, &[&[&str]]); 9] = [
        (r#"{"a":"x","b":1}"#, &[&["x", "1"]]),
        ("{\"a\":1}\r\n\n  \r\n{\"a\":2}\r\n", &[&["1"], &["2"]]),
        ("\u{feff}{\"a\":1}\n", &[&["1"]]),
        (
            r#"{"a":1.50e+2,"b":-0,"c":123456789012345678901234567890}"#,
            &[&["1.50e+2", "-0", "123456789012345678901234567890"]],
        ),
        (r#"{"a":null,"b":true,"c":""}"#, &[&["", "true", ""]]),
        (r#"{"a":{"x": [1, {"y":"z"}]},"b":[ ]}"#, &[&[r#"{"x": [1, {"y":"z"}]}"#, "[ ]"]]),
        (
            r#"{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é"}"#,
            &[&["\"\\/\u{8}\u{c}\n\r\té\u{1f600}é"]],
        ),
        (
            "{\"a\":1,\"b\":2}\n { \"new\" : [[[{}]]] , \"b\" : 4 , \"\\u0061\" : 3 } \n",
            &[&["1", "2"], &["3", "4"]],
        ),
        ("{\"a\":1}\n{\"a\":2,\"x\":1,\"x\":2}", &[&["1"], &["2"]]),
    ];
    for (text, rows) in table {
        assert_eq!(texts(JsonLines, text), rows, "{text}");
    }
}

#[test]
fn broken_lines_are_named() {
    let one = "write one JSON object in each line";
    let table = [
        ("{\"a\":1}\n\n[1]\n", format!("FILE:3: the line is not a JSON object; {one}")),
        ("1\n", format!("FILE:1: the line is not a JSON object; {one}")),
        (
            "{\"a\":1}\n{\"a\":}\n",
            format!("FILE:2: the line is not valid JSON: expected value at byte 6; {one}"),
        ),
        (
            "{\"a\":1}\n{\"a\":1} x\n",
            format!("FILE:2: the line is not valid JSON: trailing characters at byte 9; {one}"),
        ),
        (
            "{\"a\":1}\n{\"a\":\n1}\n",
            format!(
                "FILE:2: the line is not valid JSON: EOF while parsing a value at byte 5; {one}"
            ),
        ),
        (
            "{\"a\":1,\"b\":2}\n{\"a\":1}\n",
            "FILE:2: the object has no member \"b\"; add it to every object, as null if it has no \
             value"
                .to_owned(),
        ),
        (
            "{\"a\":1}\n{\"a\":1,\"b\":3,\"a\":2}\n",
            "FILE:2: the object has two members \"a\"; remove one of them".to_owned(),
        ),
        (
            "{\"a\":1}\n{\"a\":\"\\ud800x\"}\n",
            "FILE:2: the value of \"a\" has half of a surrogate pair; write both halves, or the \
             character itself"
                .to_owned(),
        ),
        (
            "{}\n",
            "FILE:1: the first object has no member, and so the file no column; add members, or \
             remove the line"
                .to_owned(),
        ),
        (
            "\n{\"a\":1,\"a\":2}\n",
            "FILE:2: columns 1 and 2 are both named \"a\"; rename one of them".to_owned(),
        ),
        (
            "{\"a b \":1}\n",
            "FILE:1: the name of column 1, \"a b \", has the character ' '; use letters, digits, \
             `_`, `-`, `.`, and blanks between them"
                .to_owned(),
        ),
        ("{\"\":1}\n", "FILE:1: column 1 has no name; name it in the first row".to_owned()),
        ("\n \n", "FILE: the file has no row; add one".to_owned()),
    ];
    for (text, sentence) in table {
        assert_eq!(fault(JsonLines, text.as_bytes()), sentence, "{text}");
    }
    assert!(fault(JsonLines, b"{\"a\":1}\n{\"a\":\"\xff\"}\n").starts_with("FILE:2: the line is"));
}

#[test]
fn both_halves_of_a_pair_are_needed() {
    let halves = [r"\ud800", r"\udc00", r"\ud800\ud800", r"\ud800\n", r"\ud800A", r"\udc00\ud800"];
    for half in halves {
        let text = format!("{{\"a\":\"{half}\"}}");
        assert!(rows_within(JsonLines, text.as_bytes(), SMALL).is_err(), "{half}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::hash_map(".{0,3}", inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// JSON text with every character of its strings, but for escapes, as `\u`.
fn escaped(text: &str) -> String {
    let units = |c: char| c.encode_utf16(&mut [0; 2]).to_vec();
    let unit = |unit: u16| format!("\\u{unit:04X}");
    text.chars().map(|c| units(c).into_iter().map(unit).collect::<String>()).collect()
}

proptest! {
    #[test]
    fn any_value_is_its_text(rows in prop::collection::vec((any_json(), any_json()), 1..8)) {
        let mut file = String::new();
        let mut expected = Vec::new();
        let text = |value: &Value| match value {
            Value::Null => Vec::new(),
            Value::String(text) => text.clone().into_bytes(),
            other => other.to_string().into_bytes(),
        };
        for (a, b) in rows {
            expected.push(vec![text(&a), text(&b)]);
            file += &format!("{}\n", json!({"a": a, "b": b}));
        }
        prop_assert_eq!(rows_within(JsonLines, file.as_bytes(), SMALL), Ok(expected));
    }

    #[test]
    fn escapes_are_what_serde_json_takes_them_for(text in any::<String>(), odd in "([a-c]|\\\\[\"\\\\/bfnrtu]|\\\\u[0-9d][89c-e][0-9a-f]{2}){0,8}") {
        for string in [format!("\"{}\"", escaped(&text)), format!("\"{odd}\"")] {
            let file = format!("{{\"a\":{string}}}");
            let expected = serde_json::from_str::<String>(&string).ok();
            let rows = rows_within(JsonLines, file.as_bytes(), SMALL).ok();
            prop_assert_eq!(rows, expected.map(|text| vec![vec![text.into_bytes()]]), "{}", string);
        }
    }
}
