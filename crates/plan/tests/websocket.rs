//! Known protocols over WebSocket: what they set, and what of it can be set otherwise.

use candor_plan::{Plan, PlanError, Replies, StreamForm, WebSocket};

fn plan(arguments: &[&str], url: &str) -> Result<Plan, PlanError> {
    crate::common::try_build(&[arguments, &[url]].concat()).map(|(plan, _)| plan)
}

fn socket(plan: &Plan) -> &WebSocket {
    plan.wire.websocket().unwrap()
}

fn field(prefix: &str, delimiter: u8) -> Replies {
    Replies::Field { prefix: prefix.to_owned(), delimiter: Some(delimiter) }
}

#[test]
fn a_known_protocol_sets_what_is_not_given() {
    let known = plan(&["--protocol", "graphql-ws"], "ws://h/graphql").unwrap();
    let own = socket(&known);
    assert_eq!(own.subprotocols, ["graphql-transport-ws"]);
    assert_eq!(own.hello.whole(), br#"{"type":"connection_init"}"#);
    assert_eq!(own.replies, field("\"id\":\"", b'"'));
    let stream = known.work.requests()[0].stream.as_ref().unwrap();
    assert_eq!(stream.form, StreamForm::Messages);
    let given = ["--protocol", "graphql-ws", "--hello", "init", "--reply-field", "n=*;"];
    let more = ["--subprotocol", "x", "--answer", "a=b", "--stream-end", "END"];
    let given = plan(&[&given[..], &more].concat(), "ws://h/").unwrap();
    let own = socket(&given);
    assert_eq!(own.subprotocols, ["x", "graphql-transport-ws"]);
    assert_eq!(own.hello.whole(), b"init");
    assert_eq!(own.replies, field("n=", b';'));
    assert_eq!(own.answers.len(), 2);
    let stream = given.work.requests()[0].stream.as_ref().unwrap();
    assert_eq!(stream.end.as_deref(), Some("END"));
}

#[test]
fn a_greeting_has_values_of_the_environment() {
    let hello = |text: &str| {
        plan(&["--hello", text], "ws://h/").map(|plan| socket(&plan).hello.whole().to_vec())
    };
    let json = hello(r#"{"type":"connection_init","payload":{"t":"${env:QUOTED}"}}"#).unwrap();
    assert_eq!(json, br#"{"type":"connection_init","payload":{"t":"a\"b\\"}}"#);
    assert_eq!(hello("AUTH ${env:TOKEN}").unwrap(), b"AUTH hunter2");
    for (text, words) in [("${seq}", "only ${env:NAME}"), ("${env:NONE}", "NONE")] {
        let said = hello(text).unwrap_err().to_string();
        assert!(said.starts_with("--hello: ") && said.contains(words), "{said}");
    }
}

#[test]
fn feeds_of_known_protocols_have_no_replies() {
    for name in ["graphql-ws", "socketio", "actioncable", "stomp"] {
        let feed = plan(&["--protocol", name, "--no-reply"], "ws://h/x").unwrap();
        assert_eq!(socket(&feed).replies, Replies::Nothing, "{name}");
        assert!(socket(&feed).ready.is_some(), "{name}");
        assert_eq!(feed.work.requests()[0].stream, None, "{name}");
    }
}

#[test]
fn socket_io_has_a_path_of_its_own_unless_the_url_has_one() {
    let path = |url: &str| {
        let plan = plan(&["--protocol", "socketio"], url).unwrap();
        plan.work.requests()[0].path.clone()
    };
    for url in ["ws://h", "ws://h:1/"] {
        assert_eq!(path(url), "/socket.io/?EIO=4&transport=websocket");
    }
    assert_eq!(path("ws://h/own?EIO=4"), "/own?EIO=4");
    let plan = plan(&["--protocol", "socketio"], "ws://h").unwrap();
    assert_eq!(socket(&plan).message_field, Some(field("42", b'[')));
}

#[test]
fn a_frame_of_stomp_ends_with_its_byte_once() {
    let body = |text: &str| {
        let plan = plan(&["--protocol", "stomp", "--message", text], "ws://h/").unwrap();
        plan.work.requests()[0].body.whole().to_vec()
    };
    assert_eq!(body("SEND\n\nx"), b"SEND\n\nx\0");
    assert_eq!(body("SEND\n\nx\0"), b"SEND\n\nx\0");
}
