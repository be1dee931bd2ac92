use candor_grpc::{Codec, Encoder, Kind, Piece, Schema, SchemaError, show};
use proptest::prelude::*;
use prost::Message;

use crate::{MONEY, Memory, ORDERS, descriptors, memory, shop};

fn from(proto: &str, roots: &[&str], files: &[(&str, &str)]) -> Result<Schema, SchemaError> {
    let roots: Vec<String> = roots.iter().map(|root| root.to_string()).collect();
    Schema::from_protos(&[proto.to_owned()], &roots, memory(files))
}

#[test]
fn methods_are_found_with_a_slash_and_with_a_dot() {
    let schema = shop();
    let table = [
        ("Get", Kind::Unary),
        ("Upload", Kind::ClientStreaming),
        ("Watch", Kind::ServerStreaming),
        ("Negotiate", Kind::Bidirectional),
    ];
    for (name, kind) in table {
        for form in ["shop.v1.Orders/", "/shop.v1.Orders/", "shop.v1.Orders.", "/shop.v1.Orders."] {
            let method = schema.method(&format!("{form}{name}")).unwrap();
            assert_eq!((method.kind, method.path), (kind, format!("/shop.v1.Orders/{name}")));
        }
    }
    let get = schema.method("shop.v1.Orders/Get").unwrap();
    assert_eq!(
        (get.input.full_name(), get.output.full_name()),
        ("shop.v1.GetOrder", "shop.v1.Order")
    );
    assert_eq!(schema.services().collect::<Vec<_>>(), ["shop.v1.Orders", "shop.v1.Stock"]);
}

#[test]
fn an_unknown_name_is_an_error_with_the_nearest() {
    let schema = shop();
    let table = [
        (
            "shop.v1.Order/Get",
            "there is no service \"shop.v1.Order\"; did you mean \"shop.v1.Orders\"?",
        ),
        ("x/Get", "there is no service \"x\"; there are shop.v1.Orders, shop.v1.Stock"),
        (
            "shop.v1.Orders/get",
            "the service shop.v1.Orders has no method \"get\"; did you mean \"Get\"?",
        ),
        (
            "shop.v1.Orders/Xyzzyx",
            "the service shop.v1.Orders has no method \"Xyzzyx\"; there are Get, Upload, Watch, Negotiate, Clear",
        ),
        ("Get", "\"Get\" is not the name of a method; write package.Service/Method"),
        ("", "\"\" is not the name of a method; write package.Service/Method"),
        ("a/b/c", "\"a/b/c\" is not the name of a method; write package.Service/Method"),
        ("a/", "\"a/\" is not the name of a method; write package.Service/Method"),
    ];
    for (name, message) in table {
        assert_eq!(schema.method(name).unwrap_err().to_string(), message, "{name}");
    }
}

#[test]
fn a_file_without_a_root_makes_its_folder_one() {
    let files = [("a/b/money.proto", MONEY)];
    for proto in ["a/b/money.proto", "./a/b/money.proto"] {
        assert!(from(proto, &[], &files).is_ok());
        assert!(from(proto, &["elsewhere/"], &files).is_ok());
    }
    assert!(from("../money.proto", &[""], &[("../money.proto", MONEY)]).is_ok());
    assert!(from("money.proto", &[], &[("money.proto", MONEY)]).is_ok());
    assert!(from("/money.proto", &[], &[("/money.proto", MONEY)]).is_ok());
}

#[test]
fn what_is_wrong_with_files_is_said_with_the_place() {
    let proto = "shop/v1/orders.proto";
    let missing = from(proto, &["", "lib/"], &[(proto, ORDERS)]).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "the import \"common/money.proto\" is below none of the import roots: ., lib; add the root that it is below"
    );
    let text = "syntax = \"proto3\";\nmessage A {\n  int32 x = 0;\n}\n";
    let error = from("a.proto", &[], &[("a.proto", text)]).unwrap_err().to_string();
    assert!(error.starts_with("a.proto:3:13: "), "{error}");
    let twice = "syntax = \"proto3\";\nmessage A {\n  Unknown x = 1;\n}\n";
    let error = from("a.proto", &[], &[("a.proto", twice)]).unwrap_err().to_string();
    assert!(error.contains("Unknown") && error.starts_with("a.proto:3"), "{error}");
    let up = "syntax = \"proto3\";\nimport \"../secret.proto\";\n";
    let error = from("a.proto", &[], &[("a.proto", up)]).unwrap_err().to_string();
    assert!(error.starts_with("a.proto:2:8: "), "{error}");
    let round = "syntax = \"proto3\";\nimport \"a.proto\";\n";
    let error = from("a.proto", &[], &[("a.proto", round)]).unwrap_err().to_string();
    assert_eq!(error, "a.proto: it imports itself, perhaps through others");
    let unread = "syntax = \"proto3\";\nimport \"forbidden.proto\";\n";
    let error = from("a.proto", &[], &[("a.proto", unread)]).unwrap_err().to_string();
    assert!(error == "forbidden.proto: it cannot be read: permission denied", "{error}");
    let error = from("x/a.proto", &[], &[]).unwrap_err().to_string();
    assert_eq!(error, "x/a.proto: there is no such file");
}

#[test]
fn files_that_nest_without_end_are_refused() {
    let deep =
        format!("syntax = \"proto3\";{}{}", "message A {".repeat(10_000), "}".repeat(10_000));
    assert!(from("a.proto", &[], &[("a.proto", &deep)]).is_err());
}

#[test]
fn options_that_nest_without_end_are_refused() {
    let option = format!(
        "syntax = \"proto3\";option (x) = {}{};",
        "{ a ".repeat(20_000),
        "}".repeat(20_000)
    );
    assert!(from("a.proto", &[], &[("a.proto", &option)]).is_err());
}

#[test]
fn imports_without_end_are_refused() {
    let names: Vec<String> = (0..2100).map(|n| format!("f{n}.proto")).collect();
    let text = |n: usize| format!("syntax = \"proto3\";import \"f{}.proto\";", n + 1);
    let texts: Vec<String> = (0..2100).map(text).collect();
    let files: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    let error = from("f0.proto", &[], &files).unwrap_err().to_string();
    assert_eq!(error, "the schema is larger than the limit: it has up to 2,000 files");
    // Nearly as deep is no trouble.
    assert!(
        from(
            "f200.proto",
            &[],
            &[files.clone(), vec![("f2100.proto", "syntax = \"proto3\";")]].concat()
        )
        .is_ok()
    );
}

/// Each of these takes kilobytes once its references are resolved, so they are counted before.
#[test]
fn a_schema_has_so_many_fields_and_no_more() {
    use prost_types::{
        DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet,
    };
    let field = |number: i32| FieldDescriptorProto {
        name: Some(format!("f{number}")),
        number: Some(number),
        r#type: Some(5),
        label: Some(1),
        ..FieldDescriptorProto::default()
    };
    let message = |number: usize| DescriptorProto {
        name: Some(format!("M{number}")),
        field: (1..=1001).map(field).collect(),
        nested_type: vec![DescriptorProto {
            name: Some("Inner".to_owned()),
            field: (1..=1001).map(field).collect(),
            ..DescriptorProto::default()
        }],
        ..DescriptorProto::default()
    };
    let file = FileDescriptorProto {
        name: Some("a.proto".to_owned()),
        syntax: Some("proto3".to_owned()),
        message_type: (0..50).map(message).collect(),
        ..FileDescriptorProto::default()
    };
    let refused = Schema::from_protoset(&FileDescriptorSet { file: vec![file] }.encode_to_vec());
    assert!(matches!(refused, Err(SchemaError::TooLarge(_))), "{refused:?}");
    let fields = |from: usize| -> String {
        (from..from + 1001).map(|at| format!("int32 f{at} = {};", at - from + 1)).collect()
    };
    let messages: String =
        (0..100).map(|at| format!("message M{at} {{ {} }}", fields(at))).collect();
    let text = format!("syntax = \"proto3\"; {messages}");
    let refused = from("a.proto", &[""], &[("a.proto", &text)]);
    assert!(matches!(refused, Err(SchemaError::TooLarge(_))), "{refused:?}");
}

#[test]
fn a_protoset_is_the_same_schema() {
    let set = prost_types::FileDescriptorSet { file: descriptors() };
    let schema = Schema::from_protoset(&set.encode_to_vec()).unwrap();
    assert_eq!(schema.method("shop.v1.Orders/Watch").unwrap().kind, Kind::ServerStreaming);
    let incomplete = prost_types::FileDescriptorSet {
        file: descriptors().into_iter().filter(|file| file.name().starts_with("shop")).collect(),
    };
    let error = Schema::from_protoset(&incomplete.encode_to_vec()).unwrap_err().to_string();
    assert!(error.contains("common/money.proto") && error.contains("--include_imports"), "{error}");
    let mut edition = set.clone();
    edition.file[0].syntax = Some("editions".to_owned());
    let error = Schema::from_protoset(&edition.encode_to_vec()).unwrap_err().to_string();
    assert!(error.contains("has the syntax \"editions\"; "), "{error}");
    for name in ["", "Get/All", "Get All"] {
        let mut odd = set.clone();
        let services = odd.file.iter_mut().flat_map(|file| &mut file.service);
        services.for_each(|service| service.method[0].name = Some(name.to_owned()));
        let refused = Schema::from_protoset(&odd.encode_to_vec());
        assert!(matches!(refused, Err(SchemaError::Descriptors(_))), "{name:?} {refused:?}");
    }
    assert!(matches!(Schema::from_protoset(b"\xff\xff"), Err(SchemaError::Protoset(_))));
    assert!(matches!(Schema::from_protoset(b""), Err(SchemaError::Protoset(_))));
}

/// `bytes` with some of them replaced, left out and doubled.
fn changed(mut bytes: Vec<u8>, changes: &[(usize, u8, u8)]) -> Vec<u8> {
    for &(at, what, byte) in changes {
        let at = at % bytes.len().max(1);
        match what % 3 {
            0 if at < bytes.len() => bytes[at] = byte,
            1 if at < bytes.len() => {
                bytes.remove(at);
            }
            _ => bytes.insert(at, byte),
        }
    }
    bytes
}

fn visit(schema: &Schema) {
    for service in schema.services() {
        for name in schema.methods(&service) {
            let method = schema.method(&format!("{service}/{name}")).unwrap();
            let _ = Encoder::compile(&method, Codec::Proto, &[Piece::Text("{\"orderId\": 1}")]);
            let _ =
                show(&method.output, Codec::Proto, b"\x0a\x00\x10\x01\x12\x03\x08\x01\x10", 100);
        }
    }
}

proptest! {
    /// Damaged descriptors and files: a schema that can be used, or an error.
    #[test]
    fn damaged_schemas_are_schemas_or_errors(
        changes in prop::collection::vec((any::<usize>(), any::<u8>(), any::<u8>()), 1..6),
    ) {
        let set = prost_types::FileDescriptorSet { file: descriptors() }.encode_to_vec();
        if let Ok(schema) = Schema::from_protoset(&changed(set, &changes)) {
            visit(&schema);
        }
        let text = changed(ORDERS.as_bytes().to_vec(), &changes);
        let files = Memory([("a.proto".to_owned(), text), ("common/money.proto".to_owned(), MONEY.into())].into());
        if let Ok(schema) = Schema::from_protos(&["a.proto".to_owned()], &[String::new()], files) {
            visit(&schema);
        }
    }
}
