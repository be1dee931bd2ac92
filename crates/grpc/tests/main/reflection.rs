use candor_grpc::{Kind, MOST_REFLECTED_FILES, Reflection, SchemaError, Version};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};
use prost_types::FileDescriptorProto;

use crate::descriptors;

/// A field of bytes, by hand: the messages of the service are not those of the code under test.
fn field(number: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_key(number, WireType::LengthDelimited, &mut out);
    encode_varint(content.len() as u64, &mut out);
    out.extend_from_slice(content);
    out
}

fn files(files: &[FileDescriptorProto]) -> Vec<u8> {
    let files: Vec<u8> = files.iter().flat_map(|file| field(1, &file.encode_to_vec())).collect();
    [field(1, b"host"), field(4, &files)].concat()
}

fn services(names: &[&str]) -> Vec<u8> {
    let names: Vec<u8> =
        names.iter().flat_map(|name| field(1, &field(1, name.as_bytes()))).collect();
    field(6, &names)
}

fn error(message: &str) -> Vec<u8> {
    field(7, &[vec![8, 5], field(2, message.as_bytes())].concat())
}

fn named(name: &str) -> FileDescriptorProto {
    descriptors().into_iter().find(|file| file.name() == name).unwrap()
}

#[test]
fn imports_are_asked_for_until_nothing_is_missing() {
    let mut reflection = Reflection::of(["shop.v1.Orders/Get"]).unwrap();
    let first = reflection.poll_question().unwrap();
    assert_eq!(first, field(4, b"shop.v1.Orders"));
    assert_eq!(reflection.poll_question(), Some(first), "the same until it is answered");
    reflection.handle_response(&files(&[named("shop/v1/orders.proto")])).unwrap();
    assert_eq!(reflection.poll_question(), Some(field(3, b"common/money.proto")));
    reflection.handle_response(&files(&[named("common/money.proto")])).unwrap();
    assert_eq!(reflection.poll_question(), None);
    let schema = reflection.finish().unwrap();
    assert_eq!(schema.method("shop.v1.Orders/Get").unwrap().kind, Kind::Unary);
    assert!(Version::V1Alpha.path().contains("v1alpha"));
}

#[test]
fn a_server_that_gives_all_files_at_once_is_asked_once() {
    for reversed in [false, true] {
        let mut all = descriptors();
        if reversed {
            all.reverse();
        }
        let mut reflection = Reflection::of(["shop.v1.Orders/Get"]).unwrap();
        reflection.poll_question();
        reflection.handle_response(&files(&all)).unwrap();
        assert_eq!(reflection.poll_question(), None);
        assert!(reflection.finish().is_ok());
    }
}

#[test]
fn an_unknown_service_is_an_error_with_the_nearest() {
    let mut reflection = Reflection::of(["shop.v1.Order/Get"]).unwrap();
    reflection.poll_question();
    reflection.handle_response(&error("Symbol not found")).unwrap();
    assert_eq!(reflection.poll_question(), Some(field(7, b"")));
    let found = reflection.handle_response(&services(&["grpc.health.v1.Health", "shop.v1.Orders"]));
    let found = found.unwrap_err().to_string();
    assert_eq!(found, "there is no service \"shop.v1.Order\"; did you mean \"shop.v1.Orders\"?");
}

#[test]
fn hostile_servers_meet_bounds() {
    let asked = || {
        let mut reflection = Reflection::of(["a.B/C"]).unwrap();
        reflection.poll_question();
        reflection
    };
    // Imports without end.
    let mut reflection = asked();
    let mut questions = 0;
    let refused = loop {
        let file = FileDescriptorProto {
            name: Some(format!("{questions}")),
            dependency: vec![format!("{}", questions + 1)],
            ..FileDescriptorProto::default()
        };
        if let Err(error) = reflection.handle_response(&files(&[file])) {
            break error;
        }
        questions += 1;
        assert!(reflection.poll_question().is_some() && questions <= MOST_REFLECTED_FILES);
    };
    assert!(matches!(refused, SchemaError::TooLarge(_)), "{refused}");
    // A circle of imports ends, and is refused or harmless.
    let mut reflection = asked();
    let file = |name: &str, import: &str| FileDescriptorProto {
        name: Some(name.to_owned()),
        dependency: vec![import.to_owned()],
        ..FileDescriptorProto::default()
    };
    reflection.handle_response(&files(&[file("a", "b"), file("b", "a")])).unwrap();
    assert_eq!(reflection.poll_question(), None);
    let _ = reflection.finish().map(|schema| schema.method("a.B/C").unwrap_err());
    // Too much, unasked, of the wrong kind, not to be read.
    let large = field(4, &field(1, &vec![0; 17 << 20]));
    assert!(matches!(asked().handle_response(&large), Err(SchemaError::TooLarge(_))));
    let mut reflection = asked();
    reflection.handle_response(&files(&[named("common/money.proto")])).unwrap();
    assert!(reflection.handle_response(&files(&[])).is_err());
    assert!(asked().handle_response(&services(&["x"])).is_err());
    assert!(asked().handle_response(b"").is_err());
    assert!(asked().handle_response(&field(4, &field(1, b"\xff"))).is_err());
    assert!(asked().finish().is_err());
    let mut reflection = asked();
    reflection.handle_response(&files(&[file("a", "gone")])).unwrap();
    reflection.poll_question();
    let error = reflection.handle_response(&error("no\nsuch file")).unwrap_err().to_string();
    assert!(error.contains("\"gone\"") && !error.contains('\n'), "{error}");
}
