use candor_grpc::{Codec, Encoder, Error, FillError, Method, Piece, show, show_response};
use proptest::prelude::*;
use prost::Message;
use prost_reflect::{DynamicMessage, Value};

use crate::shop;

fn method(name: &str) -> Method {
    shop().method(&format!("shop.v1.Orders/{name}")).unwrap()
}

/// A method that takes an Order.
fn takes_order() -> Method {
    let watch = method("Watch");
    Method { input: watch.output.clone(), ..watch }
}

fn body(method: &Method, json: &str) -> Result<Vec<u8>, Error> {
    let encoder = Encoder::compile(method, Codec::Proto, &[Piece::Text(json)])?;
    Ok(encoder.fixed().unwrap().to_vec())
}

/// Maps have no order.
fn parsed(json: &str) -> serde_json::Value {
    serde_json::from_str(json).unwrap()
}

fn error(method: &Method, json: &str) -> String {
    body(method, json).unwrap_err().to_string()
}

/// The pieces of a text with holes `${0}`, `${1}` …
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut parts = text.split("${");
    let mut all = vec![Piece::Text(parts.next().unwrap())];
    for part in parts {
        let (hole, text) = part.split_once('}').unwrap();
        all.extend([Piece::Hole(hole.parse().unwrap()), Piece::Text(text)]);
    }
    all
}

fn filled(
    method: &Method,
    codec: Codec,
    text: &str,
    values: &[&str],
) -> Result<Vec<u8>, FillError> {
    let mut encoder = Encoder::compile(method, codec, &pieces(text)).unwrap();
    let mut out = b"before".to_vec();
    let result = encoder.fill(&mut out, |hole, out| out.extend_from_slice(values[hole].as_bytes()));
    let rest = out.split_off(6);
    assert_eq!(out, b"before");
    result.map(|()| rest)
}

#[test]
fn a_message_to_the_byte() {
    let get = method("Get");
    let wanted = b"\0\0\0\0\x09\x08\x96\x01\x12\x04full";
    assert_eq!(body(&get, r#"{"orderId": 150, "view": "full"}"#).unwrap(), wanted);
    assert_eq!(body(&get, r#" {"order_id": "150", "view": "full"} "#).unwrap(), wanted);
    assert_eq!(body(&get, "{}").unwrap(), b"\0\0\0\0\0");
}

#[test]
fn holes_are_filled_to_the_byte() {
    let get = method("Get");
    let text = r#"{"orderId": ${0}, "view": "a${1}b${0}"}"#;
    assert_eq!(
        filled(&get, Codec::Proto, text, &["150", "xyz"]).unwrap(),
        b"\0\0\0\0\x0d\x08\x96\x01\x12\x08axyzb150"
    );
    assert_eq!(
        filled(&get, Codec::Proto, text, &["0", ""]).unwrap(),
        b"\0\0\0\0\x07\x08\0\x12\x03ab0"
    );
    let long = "l".repeat(300);
    let got = filled(&get, Codec::Proto, text, &["1", &long]).unwrap();
    assert_eq!(got[..10], *b"\0\0\0\x01\x34\x08\x01\x12\xaf\x02");
    assert_eq!(got.len(), 5 + 0x134);
}

/// Filled bytes are those of the text with its values.
#[test]
fn holes_of_every_kind_are_what_their_text_would_be() {
    let order = takes_order();
    let text = r#"{
        "orderId": ${0}, "lines": [{"sku": "s-${1}", "count": "${0}", "price": {"units": ${2}},
        "offsets": [1, ${2}, -3, ${0}], "replaces": {"replaces": {"sku": "${1}${1}"}}}, {"sku": "fixed"}],
        "labels": {"k${1}": "v${1}"}, "byPlace": {"${0}": {"sku": "${1}"}}, "extra": {"a": [${0}, "${1}"]},
        "limit": ${0}, "weight": ${0}, "ratio": ${3}, "f32": ${0}, "f64": ${0}, "s32": ${2}, "s64": ${2},
        "z32": ${2}, "z64": "${2}", "u32": ${0}, "u64": ${0}, "i32": ${2}, "prices": [${3}, 2], "codes": [${0}, 7],
        "card": "${1}", "state": ${4}}"#;
    let values = ["77", "grün", "-5", "0.25", "2"];
    let got = filled(&order, Codec::Proto, text, &values).unwrap();
    let mut plain = text.to_owned();
    for (hole, value) in values.iter().enumerate() {
        plain = plain.replace(&format!("${{{hole}}}"), value);
    }
    assert_eq!(got, body(&order, &plain).unwrap());
    let decoded = DynamicMessage::decode(order.input.clone(), &got[5..]).unwrap();
    assert_eq!(decoded.get_field_by_name("z32").unwrap().as_i32(), Some(-5));
}

#[test]
fn json_is_sent_as_it_was_written() {
    let get = method("Get");
    let text = r#" {"order_id": "${0}", "view": "a${1}\u0041"} "#;
    let got = filled(&get, Codec::Json, text, &["+7", "\"\n\u{e9}"]).unwrap();
    let wanted = r#"{"order_id":"7","view":"a\"\u000a\u{e9}A"}"#.replace("\\u{e9}", "\u{e9}");
    assert_eq!(got, candor_grpc::framed(wanted.as_bytes()));
    let got = filled(&get, Codec::Json, r#"{"orderId": ${0}}"#, &["07"]).unwrap();
    assert_eq!(&got[5..], br#"{"orderId":7}"#);
    let wrong = filled(&get, Codec::Json, r#"{"orderId": ${0}}"#, &["7,\"view\":\"x\""]);
    assert_eq!(wrong, Err(FillError::Number { hole: 0, kind: "int64" }));
    // A message that came may have more fields than the schema, and nothing behind it.
    let shows = |text: &[u8]| show(&get.input, Codec::Json, text, 100);
    assert_eq!(shows(br#" {"orderId": 7, "more": [1]} "#).as_deref(), Ok(r#"{"orderId":"7"}"#));
    for wrong in [&b"{} {}"[..], b"", b"[]", b"\xff", br#"{"orderId": "x"}"#] {
        assert!(shows(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn a_value_that_does_not_fit_is_named() {
    let order = takes_order();
    for (field, kind, bad) in [
        ("orderId", "int64", "x"),
        ("u32", "uint32", "-1"),
        ("i32", "int32", "2147483648"),
        ("f32", "fixed32", "1.5"),
        ("ratio", "double", ""),
        ("z32", "sint32", "99999999999"),
    ] {
        let got = filled(&order, Codec::Proto, &format!(r#"{{"{field}": ${{0}}}}"#), &[bad]);
        assert_eq!(got, Err(FillError::Number { hole: 0, kind }), "{field}");
    }
    let mut encoder =
        Encoder::compile(&order, Codec::Proto, &pieces(r#"{"card": "${9}"}"#)).unwrap();
    let mut out = Vec::new();
    assert_eq!(encoder.fill(&mut out, |_, out| out.push(0xff)), Err(FillError::Text { hole: 9 }));
    assert!(out.is_empty());
}

#[test]
fn a_hole_in_a_wrong_place_is_an_error() {
    let order = takes_order();
    for text in [
        r#"{"voucher": "${0}"}"#,
        r#"{"gift": ${0}}"#,
        r#"{"made": "${0}"}"#,
        r#"{"orderId": 1${0}}"#,
        r#"{"orderId": -${0}}"#,
        r#"{"orderId": ${0}.5}"#,
        r#"{"${0}": 1}"#,
        r#"{"detail": {"@type": "type.googleapis.com/common.Money", "currency": "${0}"}}"#,
        r#"{"state": "STATE_${0}"}"#,
        r#"{${0}}"#,
        r#"${0}"#,
    ] {
        let error = Encoder::compile(&order, Codec::Proto, &pieces(text))
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert!(!error.contains("10738"), "no number of ours is shown: {text}: {error}");
    }
    let many = format!("{{\"card\": \"{}\"}}", "${0}".repeat(701));
    assert!(matches!(
        Encoder::compile(&order, Codec::Proto, &pieces(&many)),
        Err(Error::TooManyHoles(701))
    ));
}

#[test]
fn numbers_in_the_text_are_never_taken_for_holes() {
    let order = takes_order();
    let text = r#"{"card": "1073800000 10738${0}00 107380${0}", "orderId": 1073800064, "u32": 1073800000}"#;
    let got = filled(&order, Codec::Proto, text, &["|"]).unwrap();
    let plain = text.replace("${0}", "|");
    assert_eq!(got, body(&order, &plain).unwrap());
}

#[test]
fn errors_name_the_place_and_the_nearest_field() {
    let order = takes_order();
    let table = [
        (
            r#"{"ordrId": 1}"#,
            "message 1: shop.v1.Order has no field \"ordrId\"; did you mean \"orderId\"?",
        ),
        (
            r#"{"lines": [{}, {"price": {"unit": 1}}]}"#,
            "common.Money has no field \"unit\"; did you mean \"units\"?",
        ),
        (
            r#"{"byPlace": {"3": {"skju": ""}}}"#,
            "shop.v1.Line has no field \"skju\"; did you mean \"sku\"?",
        ),
        (r#"{"lines": [{"count": -1}]}"#, "message 1, lines[0].count: "),
        (r#"{"u32": "abc"}"#, "message 1, u32: the value must be a number of type uint32"),
        (r#"{"u32": "4294967296"}"#, "message 1, u32: the value must be a number of type uint32"),
        (r#"{"state": "STATE_OPNE"}"#, "message 1, state: "),
        (r#"{"made": "yesterday"}"#, "message 1, made: "),
        (r#"{"voucher": "%"}"#, "message 1, voucher: "),
        (r#"{"orderId": 1"#, "the JSON: EOF while parsing"),
        ("", "the method takes one message, and there are 0"),
        ("{} {}", "the method takes one message, and there are 2"),
        ("[{}, {}]", "the method takes one message, and there are 2"),
    ];
    for (json, message) in table {
        let error = error(&order, json);
        assert!(error.contains(message), "{json}: {error}");
    }
    let upload = method("Upload");
    let error = error(&upload, r#"{} [{}, {"count": true}]"#);
    assert!(error.starts_with("message 3, count: "), "{error}");
    assert!(self::error(&order, &"[".repeat(100_000)).contains("recursion limit"));
    assert!(matches!(body(&order, &" ".repeat((4 << 20) + 1)), Err(Error::TooLong(_))));
}

#[test]
fn streams_take_several_messages() {
    let upload = method("Upload");
    let two = b"\0\0\0\0\x03\x0a\x01a\0\0\0\0\x03\x0a\x01b";
    for json in [
        r#"{"sku":"a"} {"sku":"b"}"#,
        r#"[{"sku":"a"},{"sku":"b"}]"#,
        "{\"sku\":\"a\"}\n[{\"sku\":\"b\"}]",
    ] {
        assert_eq!(body(&upload, json).unwrap(), two, "{json}");
    }
    assert_eq!(body(&upload, "").unwrap(), b"");
    let mut encoder =
        Encoder::compile(&upload, Codec::Proto, &pieces(r#"{"sku":"${0}"} {"sku":"b"}"#)).unwrap();
    assert_eq!(encoder.messages(), 2);
    let mut out = Vec::new();
    encoder.fill(&mut out, |_, out| out.push(b'a')).unwrap();
    assert_eq!(out, two);
}

#[test]
fn messages_are_shown_and_cut() {
    let order = method("Get").output;
    let json = r#"{"orderId":"7","lines":[{"sku":"ä"}],"made":"2026-01-02T03:04:05Z"}"#;
    let bytes = body(&takes_order(), json).unwrap();
    assert_eq!(show(&order, Codec::Proto, &bytes[5..], 1000).unwrap(), json);
    for most in 0..json.len() {
        let cut = show(&order, Codec::Proto, &bytes[5..], most).unwrap();
        let text = cut.strip_suffix('…').unwrap();
        assert!(json.starts_with(text) && text.len() + 2 > most, "{most}: {cut}");
    }
    let error = show(&order, Codec::Proto, b"\x08", 1000).unwrap_err().to_string();
    assert!(error.starts_with("not a message of type shop.v1.Order: "), "{error}");
    assert!(matches!(
        show(&order, Codec::Proto, &vec![0; (1 << 20) + 1], 10),
        Err(Error::NotShown(_))
    ));
    // A type that the schema does not have.
    let any = DynamicMessage::parse_any();
    assert!(show(&order, Codec::Proto, &any, 1000).is_err());
    // Nested without end.
    let mut nested = Vec::new();
    for _ in 0..5000 {
        let mut around = vec![0x2a];
        prost::encoding::encode_varint(nested.len() as u64, &mut around);
        around.extend_from_slice(&nested);
        nested = around;
    }
    let line = method("Negotiate").input;
    assert!(
        show(&line, Codec::Proto, &nested, 1000).unwrap_err().to_string().contains("recursion")
    );
}

trait UnknownAny {
    fn parse_any() -> Vec<u8>;
}

impl UnknownAny for DynamicMessage {
    /// An Order whose detail is of a type that nobody knows.
    fn parse_any() -> Vec<u8> {
        let any =
            prost_types::Any { type_url: "type.googleapis.com/no.Such".to_owned(), value: vec![1] };
        let any = any.encode_to_vec();
        let mut order = vec![0x4a, any.len() as u8];
        order.extend(any);
        order
    }
}

/// Orders as JSON.
fn orders() -> impl Strategy<Value = String> {
    let line = || {
        ("[a-z\u{e4}]{0,200}", any::<u32>(), any::<i64>(), prop::collection::vec(any::<i32>(), 0..4)).prop_map(
            |(sku, count, units, offsets)| {
                format!(
                    r#"{{"sku":"{sku}","count":{count},"price":{{"units":"{units}"}},"offsets":{offsets:?},"replaces":{{"sku":"{sku}"}}}}"#
                )
            },
        )
    };
    let labels = prop::collection::btree_map("[a-z]{0,3}", "[a-z]{0,3}", 0..4);
    let floats = (any::<f32>(), any::<f64>()).prop_map(|(a, b)| {
        (if a.is_finite() { a } else { 0.5 }, if b.is_finite() { b } else { 0.5 })
    });
    (prop::collection::vec(line(), 0..3), labels, floats, any::<(i64, u64, i32, bool)>()).prop_map(
        |(lines, labels, (weight, ratio), (a, b, c, gift))| {
            format!(
                r#"{{"orderId":"{a}","lines":[{}],"labels":{labels:?},"weight":{weight},"ratio":{ratio:e},"u64":{b},
                "z32":{c},"z64":{a},"f64":"{b}","s64":{a},"s32":{c},"gift":{gift},"voucher":"AAEC","state":"STATE_OPEN",
                "took":"1.5s","extra":{{"x":[null,true,{c}]}},"byPlace":{{"{c}":{{}}}},"limit":0,"codes":[1,2],
                "detail":{{"@type":"type.googleapis.com/common.Money","nanos":3}}}}"#,
                lines.join(",")
            )
        },
    )
}

proptest! {
    /// Our bytes are those that prost-reflect reads as the same message; its JSON gives the same bytes again.
    #[test]
    fn json_to_bytes_to_json(json in orders()) {
        let order = takes_order();
        let bytes = body(&order, &json).unwrap();
        let mut reader = serde_json::Deserializer::from_str(&json);
        let wanted = DynamicMessage::deserialize(order.input.clone(), &mut reader).unwrap();
        let got = DynamicMessage::decode(order.input.clone(), &bytes[5..]).unwrap();
        let wanted = DynamicMessage::decode(order.input.clone(), &*wanted.encode_to_vec()).unwrap();
        let shown = show(&order.input, Codec::Proto, &bytes[5..], usize::MAX).unwrap();
        // Types that have fields of themselves cannot be printed: no prop_assert_eq.
        let text = Encoder::compile(&order, Codec::Json, &[Piece::Text(&json)]).unwrap();
        let text = text.fixed().unwrap()[5..].to_vec();
        let shown_too = show(&order.input, Codec::Json, &text, usize::MAX).unwrap();
        prop_assert_eq!(parsed(&shown_too), parsed(&shown));
        prop_assert!(got == wanted, "{}", shown);
        prop_assert_eq!(body(&order, &shown).unwrap(), bytes);
    }

    /// Any values: in JSON it is the same message as in the binary form.
    #[test]
    fn values_in_json_are_what_they_were(
        id in any::<i64>(), text in ".{0,30}|[\"\\\\\x00-\x1f]{0,9}", ratio in any::<f64>(), weight in any::<f32>(),
    ) {
        let order = takes_order();
        let template = r#"{"orderId":"${0}","ratio":${2},"card":"<${1}>${0}","weight":${3},"u64":7,"lines":[{"sku":"${1}"}]}"#;
        let values = [id.to_string(), text, ratio.to_string(), format!(" {weight:e} ")];
        let values = values.each_ref().map(String::as_str);
        let fits = ratio.is_finite() && weight.is_finite();
        let in_json = filled(&order, Codec::Json, template, &values);
        prop_assert_eq!(in_json.is_ok(), fits);
        if let Ok(text) = in_json {
            let bytes = filled(&order, Codec::Proto, template, &values).unwrap();
            let shown = show(&order.input, Codec::Proto, &bytes[5..], usize::MAX).unwrap();
            prop_assert_eq!(show(&order.input, Codec::Json, &text[5..], usize::MAX).unwrap(), shown);
        }
    }

    /// Any values: what is filled is the message with these values.
    #[test]
    fn values_are_what_they_were(id in any::<i64>(), text in ".{0,300}", offset in any::<i32>()) {
        let order = takes_order();
        let template = r#"{"orderId":${0},"card":"<${1}>","lines":[{"offsets":[${2}],"sku":"${1}"}]}"#;
        let values = [id.to_string(), text.clone(), offset.to_string()];
        let bytes = filled(&order, Codec::Proto, template, &values.each_ref().map(String::as_str)).unwrap();
        let message = DynamicMessage::decode(order.input.clone(), &bytes[5..]).unwrap();
        prop_assert_eq!(u32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]) as usize, bytes.len() - 5);
        prop_assert_eq!(message.get_field_by_name("order_id").unwrap().as_i64(), Some(id));
        let card = format!("<{text}>");
        prop_assert_eq!(message.get_field_by_name("card").unwrap().into_owned(), Value::String(card));
        let lines = message.get_field_by_name("lines").unwrap();
        let line = lines.as_list().unwrap()[0].as_message().unwrap();
        prop_assert_eq!(line.get_field_by_name("sku").unwrap().into_owned(), Value::String(text));
        let offsets = Value::List(vec![Value::I32(offset)]);
        prop_assert_eq!(line.get_field_by_name("offsets").unwrap().into_owned(), offsets);
    }

    /// Any text: a body or an error, never a panic.
    #[test]
    fn any_text(json in "[{}\\[\\]\":,a-z0-9 .-]{0,60}") {
        let _ = body(&method("Upload"), &json);
    }
}

#[test]
fn a_response_is_its_message_or_a_list_with_every_field() {
    for (method, is_list) in [(method("Get"), false), (method("Watch"), true)] {
        let one = candor_grpc::framed(b"");
        let said = show_response(&method, Codec::Proto, &one).unwrap();
        assert_eq!(said.starts_with('['), is_list, "{said}");
        assert!(said.contains(':'), "fields without a value are there: {said}");
        let two = show_response(&method, Codec::Proto, &[&one[..], &one].concat());
        assert_eq!(two.is_ok(), is_list);
        let none = show_response(&method, Codec::Proto, b"");
        assert_eq!(none.ok().as_deref(), is_list.then_some("[]"));
        assert!(show_response(&method, Codec::Proto, &one[..4]).is_err());
    }
}
