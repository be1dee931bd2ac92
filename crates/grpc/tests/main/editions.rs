//! Schemas of editions, as protoc compiled them, beside the bytes that protobuf's own library for Python makes of the
//! same JSON:
//!
//! ```text
//! protoc --include_imports --descriptor_set_out=orders.binpb orders.proto
//! ```

use candor_grpc::{Codec, Encoder, Piece, Reflection, Schema, SchemaError, show};
use prost::Message;

use crate::memory;

const ORDERS: &[u8] = include_bytes!("../protos/editions/orders.binpb");
const GROUPS: &[u8] = include_bytes!("../protos/editions/groups.binpb");

/// A set whose files are still bytes.
#[derive(Clone, PartialEq, Message)]
struct Raw {
    #[prost(bytes = "vec", repeated, tag = "1")]
    file: Vec<Vec<u8>>,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of a message; it is read as JSON again, and those are its bytes too.
fn written(schema: &Schema, method: &str, json: &str) -> String {
    let method = schema.method(method).unwrap();
    let body = |json: &str| {
        let encoder = Encoder::compile(&method, Codec::Proto, &[Piece::Text(json)]).unwrap();
        // After the prefix of a message.
        encoder.fixed().unwrap()[5..].to_vec()
    };
    let bytes = body(json);
    let again = show(&method.output, Codec::Proto, &bytes, usize::MAX).unwrap();
    assert_eq!(hex(&body(&again)), hex(&bytes), "{again}");
    hex(&bytes)
}

/// Required fields, lists apart, groups, maps, enums without 0, a oneof.
const ORDER: (&str, &str, &str) = (
    "edition.Orders/Get",
    r#"{"id":"a","count":7,"must":"m","packed":[1,300],"apart":[1,300],"part":{"name":"p"},
        "parts":{"k":{"name":"q"}},"state":"STATE_SECOND","at":"1970-01-01T00:00:05Z","piece":{"name":"r"}}"#,
    "0a016110071a016d220301ac02280128ac02330a0170343a080a016b12030a017140044a0208055a030a0172",
);
/// Everything the other way round by the options of the file, of edition 2024, but in a map.
const TREE: (&str, &str, &str) = (
    "edition.groups.Trees/Get",
    r#"{"packed":[-1,1],"children":[{"packed":[2]},{}],"named":{"4":{"packed":[3]}},
        "leaf":{"apart":[true,false],"packed":[1,2]}}"#,
    "0a020102130a01041413141a07080412030a0106220e0801080012080100000002000000",
);

#[test]
fn messages_of_editions_have_the_bytes_that_protobuf_makes() {
    for (set, (method, json, bytes)) in [(ORDERS, ORDER), (GROUPS, TREE)] {
        let schema = Schema::from_protoset(set).unwrap();
        assert_eq!(written(&schema, method, json), bytes, "{method}");
        // What the plan keeps of the schema is the same.
        let kept = Schema::from_protoset(&schema.protoset(&[method]).unwrap()).unwrap();
        assert_eq!(written(&kept, method, json), bytes, "{method}");
    }
}

#[test]
fn a_server_that_reflects_an_edition_is_understood() {
    for (set, (method, json, bytes)) in [(ORDERS, ORDER), (GROUPS, TREE)] {
        let mut reflection = Reflection::of([method]).unwrap();
        reflection.poll_question().unwrap();
        // Everything at once, with files that are built in; field 4 of a response has them.
        let files = Raw { file: vec![set.to_vec()] }.encode_to_vec();
        let response = [&[4 << 3 | 2][..], &files[1..]].concat();
        reflection.handle_response(&response).unwrap();
        assert_eq!(reflection.poll_question(), None);
        assert_eq!(written(&reflection.finish().unwrap(), method, json), bytes);
    }
}

#[test]
fn other_editions_and_texts_are_refused_by_name() {
    let mut raw = Raw::decode(ORDERS).unwrap();
    // The edition is the last field of the last file: 1000, as a varint.
    let edition = raw.file.last_mut().unwrap();
    let at = edition.len() - 2;
    assert_eq!(edition[at..], [0xe8, 0x07]);
    edition[at..].copy_from_slice(&[0xff, 0x07]);
    let refused = Schema::from_protoset(&raw.encode_to_vec()).unwrap_err();
    assert!(matches!(&refused, SchemaError::Syntax { file, .. } if file == "orders.proto"));
    for (text, said) in [
        ("edition = \"2023\"; message M {}", "2023"),
        ("\u{feff}// edition = \"1\"\n/* x\n*/ edition='2024';", "2024"),
    ] {
        let refused =
            Schema::from_protos(&["a.proto".to_owned()], &[], memory(&[("a.proto", text)]));
        let syntax = format!("edition {said}");
        let is_named = |error: &SchemaError| matches!(error, SchemaError::Syntax { syntax: of, .. } if *of == syntax);
        assert!(refused.as_ref().is_err_and(is_named), "{refused:?}");
        let words = refused.unwrap_err().to_string();
        assert!(words.contains("--descriptor_set_out"), "{words}");
    }
    // A message of this name is no edition.
    let text = "// edition = \"2023\"\nsyntax = \"proto3\"; message edition {}";
    let files = memory(&[("a.proto", text)]);
    assert!(Schema::from_protos(&["a.proto".to_owned()], &[], files).is_ok());
}
