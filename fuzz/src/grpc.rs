//! gRPC: schemas, messages in JSON, and responses to calls.

use candor_grpc::{Codec, Encoder, Files, Piece, Reflection, Schema, messages, show};
use candor_plan::{CallForm, CallKind};
use candor_protocol::grpc::Limits;
use candor_protocol::h2::{Session, Settings, prepare};
use candor_protocol::{Event, Input, Outgoing, Session as _};

use crate::h1::request;
use crate::h2::{SETTINGS, written};
use crate::pieces::cuts;

/// One `.proto` file, which may import itself.
struct One(Vec<u8>);

impl Files for One {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, String> {
        Ok((path == "a.proto").then(|| self.0.clone()))
    }
}

/// A `.proto` file: a schema whose methods are found by their names, or an error.
pub(crate) fn proto(bytes: &[u8]) {
    if let Ok(schema) = Schema::from_protos(&["a.proto".to_owned()], &[], One(bytes.to_vec())) {
        methods(&schema);
    }
}

/// A protoset; and the response of a server's reflection.
pub(crate) fn protoset(bytes: &[u8]) {
    if let Ok(schema) = Schema::from_protoset(bytes) {
        methods(&schema);
    }
    let mut reflection = Reflection::of(["a.B/C"]).expect("a name");
    reflection.poll_question();
    if reflection.handle_response(bytes).is_ok() && reflection.poll_question().is_none() {
        let _ = reflection.finish();
    }
}

fn methods(schema: &Schema) {
    for service in schema.services() {
        for name in schema.methods(&service) {
            let method = schema.method(&format!("{service}/{name}")).expect("it is there");
            assert_eq!(method.path, format!("/{service}/{name}"));
            let _ = Encoder::compile(&method, Codec::Proto, &[Piece::Text("{}")]);
            let _ = show(&method.output, Codec::Proto, b"\x0a\x00\x10\x01", 100);
        }
    }
}

const PROTO: &str = include_str!("../corpus/protos/shop.proto");

/// JSON with holes (zero bytes) to a body; the messages of the body are shown, and read back they are the same, from JSON
/// too.
pub(crate) fn json(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let files = One(PROTO.as_bytes().to_vec());
    let schema = Schema::from_protos(&["a.proto".to_owned()], &[], files).expect("a schema");
    let method = schema.method("shop.Orders/Chat").expect("a method");
    let mut parts = text.split('\0');
    let mut pieces = vec![Piece::Text(parts.next().unwrap_or_default())];
    for (hole, part) in parts.enumerate() {
        pieces.extend([Piece::Hole(hole), Piece::Text(part)]);
    }
    let Ok(mut encoder) = Encoder::compile(&method, Codec::Proto, &pieces) else { return };
    let number =
        |hole: usize, out: &mut Vec<u8>| out.extend_from_slice(hole.to_string().as_bytes());
    let mut of_json = Encoder::compile(&method, Codec::Json, &pieces).expect("the same in JSON");
    let mut texts = Vec::new();
    let in_json = of_json.fill(&mut texts, number);
    let mut body = Vec::new();
    if encoder.fill(&mut body, number).is_err() {
        assert!(body.is_empty());
        return;
    }
    let all = messages(&body).expect("whole messages");
    assert_eq!(all.len(), encoder.messages());
    let texts = messages(&texts).expect("whole messages");
    assert_eq!((in_json.is_ok(), texts.len()), (true, all.len()));
    for (message, text) in all.into_iter().zip(texts) {
        let Ok(shown) = show(&method.input, Codec::Proto, message, usize::MAX) else { continue };
        // Maps have no order.
        let parsed = |json: &str| serde_json::from_str::<serde_json::Value>(json).expect("JSON");
        let shown_too = show(&method.input, Codec::Json, text, usize::MAX).expect("a message");
        assert_eq!(parsed(&shown_too), parsed(&shown));
        let again = Encoder::compile(&method, Codec::Proto, &[Piece::Text(&shown)])
            .expect("what was shown");
        let again = again.fixed().expect("no holes");
        let shown_again = show(&method.input, Codec::Proto, &again[5..], usize::MAX);
        assert_eq!(shown_again.as_deref(), Ok(&*shown));
    }
}

/// What follows the fields of a response to a call: whole and in pieces the same, parts added up.
pub(crate) fn call(bytes: &[u8]) {
    let forms = [CallForm::Grpc, CallForm::GrpcWeb, CallForm::GrpcWebText, CallForm::Connect];
    let all = forms.map(|form| (form, Codec::Proto)).into_iter();
    for (form, codec) in all.chain([(CallForm::Connect, Codec::Json)]) {
        let [whole, single, some] = cuts(bytes).map(|pieces| run(form, codec, &pieces));
        assert_eq!(whole, single, "whole and byte by byte");
        assert_eq!(whole, some, "whole and in pieces");
    }
}

fn run(form: CallForm, codec: Codec, pieces: &[&[u8]]) -> Vec<Event> {
    let table = [prepare(&request("POST", b"\0\0\0\0\0"), "http", "example")];
    let mut session = Session::new(table.as_slice().into(), Settings::default());
    session.calls(Limits { max_message_bytes: 100, one_message: false, form, codec });
    written(&mut session);
    let mut events: Vec<Event> = Vec::new();
    let mut feed = |session: &mut Session, input: &[u8]| {
        let mut input = Input::Stream(input);
        while let Some(event) = session.handle_input(0, &mut input) {
            match (events.last_mut(), event) {
                (Some(Event::Part(sum)), Event::Part(part)) => {
                    sum.bytes += part.bytes;
                    sum.count += part.count;
                }
                (_, event) => events.push(event),
            }
        }
    };
    feed(&mut session, SETTINGS);
    session.handle_request(0, Outgoing::Listed(0));
    written(&mut session);
    // HEADERS on stream 1: status 200 by the static table, and the content type.
    let mut head = b"\0\0\0\x01\x04\0\0\0\x01\x88\0\x0ccontent-type".to_vec();
    let kind = form.content_type(codec, CallKind::ServerStreaming);
    head.push(kind.len() as u8);
    head.extend_from_slice(kind.as_bytes());
    head[2] = (head.len() - 9) as u8;
    feed(&mut session, &head);
    for piece in pieces {
        feed(&mut session, piece);
    }
    session.handle_end();
    events.extend(std::iter::from_fn(|| session.poll_event()));
    events
}
