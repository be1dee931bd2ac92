//! Calls of gRPC: what becomes of a method, a schema and a message, and errors in one sentence.

use crate::common::{Memory, PROTO};
use candor_plan::options::Unanswered;
use candor_plan::{
    CallKind, DataFormat, HttpVersion, Kept, Options, Parts, Plan, PlanError, ReadFile, Wire,
};

const FIXED: [&str; 4] = ["--proto", "a.proto", "--call", "a.S.One"];

fn plan(arguments: &[&str]) -> Result<Plan, PlanError> {
    crate::common::try_build(&[&FIXED[..], arguments, &["http://h/"]].concat())
        .map(|(plan, _)| plan)
}

fn says(arguments: &[&str]) -> String {
    plan(arguments).unwrap_err().to_string()
}

#[test]
fn a_call_is_a_post_over_http_2_with_its_message_encoded() {
    let plan =
        plan(&["-b", "{\"id\": 300, \"s\": \"$${x}\"}", "--deadline", "1500ms", "-H", "X-Id: 7"]);
    let plan = plan.unwrap();
    let request = &plan.work.requests()[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/a.S/One"));
    assert_eq!((request.name.as_str(), plan.target.http), ("a.S/One", HttpVersion::H2));
    let headers = [
        ("X-Id", "7"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("grpc-timeout", "1500000u"),
    ];
    let owned = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(request.headers, owned);
    assert_eq!(request.body.whole(), b"\0\0\0\0\x09\x08\xac\x02\x12\x04${x}");
    let call = request.call.unwrap();
    assert_eq!((call.kind, call.messages), (CallKind::Unary, 1));
    assert!(!request.holes && !request.has_parts());
}

#[test]
fn grpc_web_and_connect_are_calls_over_either_http() {
    let web =
        plan(&["--protocol", "grpc-web", "--deadline", "1500ms", "-b", "{\"id\": 1}"]).unwrap();
    let request = &web.work.requests()[0];
    let field = |name: &str| {
        request.headers.iter().find(|(own, _)| own == name).map(|(_, value)| &value[..])
    };
    assert_eq!(web.target.http, HttpVersion::H1);
    assert_eq!(field("content-type"), Some("application/grpc-web+proto"));
    assert_eq!((field("grpc-timeout"), field("te")), (Some("1500000u"), None));
    assert_eq!(request.body.whole(), b"\0\0\0\0\x02\x08\x01");
    let over_2 =
        plan(&["--protocol", "connect", "--h2", "--deadline", "1500001us", "-b", "{\"id\": 1}"])
            .unwrap();
    let request = &over_2.work.requests()[0];
    let field = |name: &str| {
        request.headers.iter().find(|(own, _)| own == name).map(|(_, value)| &value[..])
    };
    assert_eq!(over_2.target.http, HttpVersion::H2);
    assert_eq!(field("content-type"), Some("application/proto"));
    assert_eq!(field("connect-protocol-version"), Some("1"));
    assert_eq!((field("connect-timeout-ms"), field("grpc-timeout")), (Some("1501"), None));
    assert_eq!(request.body.whole(), b"\x08\x01");
    let text = plan(&["--protocol", "grpc-web-text", "-b", "{\"id\": 1}"]).unwrap();
    let request = &text.work.requests()[0];
    let field = |name: &str| {
        request.headers.iter().find(|(own, _)| own == name).map(|(_, value)| &value[..])
    };
    assert_eq!(field("content-type"), Some("application/grpc-web-text+proto"));
    assert_eq!(field("accept"), Some("application/grpc-web-text"));
    assert_eq!(request.body.whole(), b"AAAAAAIIAQ==");
    assert!(says(&["--protocol", "stomp"]).contains("it is for WebSocket"));
    assert!(says(&["--protocol", "connect", "--h2c-upgrade"]).contains("--h2c-upgrade"));
}

#[test]
fn messages_are_json_in_that_codec() {
    let table = [
        ("grpc", "a.S/One", "application/grpc+json", &b"\0\0\0\0\x08{\"id\":1}"[..]),
        ("grpc-web", "a.S/One", "application/grpc-web+json", b"\0\0\0\0\x08{\"id\":1}"),
        ("connect", "a.S/One", "application/json", b"{\"id\":1}"),
        ("connect", "a.S/Watch", "application/connect+json", b"\0\0\0\0\x08{\"id\":1}"),
    ];
    for (protocol, call, kind, body) in table {
        let plan = crate::common::plan(&[
            "--proto",
            "a.proto",
            "--codec",
            "json",
            "-b",
            "{\"id\": 1}",
            "--protocol",
            protocol,
            "--call",
            call,
            "http://h/",
        ]);
        let request = &plan.work.requests()[0];
        let kinds = request.headers.iter().filter(|(name, _)| name == "content-type");
        let kinds: Vec<&str> = kinds.map(|(_, kind)| &kind[..]).collect();
        assert_eq!((&kinds[..], request.body.whole()), (&[kind][..], body), "{protocol} {call}");
    }
    let own =
        plan(&["--protocol", "connect", "-H", "Content-Type: application/x", "--codec", "json"]);
    assert_eq!(own.unwrap().work.requests()[0].headers[0].1, "application/x");
    assert!(says(&["--codec", "json", "-b", "{\"idd\": 1}"]).contains("no field \"idd\""));
    let other = crate::common::try_build(&["--codec", "json", "http://h/"]).unwrap_err();
    assert!(other.to_string().contains("--codec"), "{other}");
}

#[test]
fn a_message_with_holes_stays_json_and_the_plan_has_the_schema() {
    let plan = plan(&["-b", "{\"id\": ${seq}, \"m\": {\"s\": \"n${seq}\"}}"]).unwrap();
    let request = &plan.work.requests()[0];
    assert!(request.holes && !request.literal_body);
    assert!(request.body.whole().starts_with(b"{\"id\""));
    let schema = plan.wire.calls().unwrap().schema().unwrap();
    assert!(schema.method("a.S/One").is_ok());
    // Without messages, the body may be empty.
    let empty = self::plan(&[]).unwrap();
    assert_eq!(empty.work.requests()[0].body.whole(), [0; 5]);
}

#[test]
fn steps_may_be_calls_where_the_top_level_has_none() {
    let text =
        "url = 'http://h/'\nproto = 'a.proto'\n[[journey]]\n[[journey.step]]\ncall = 'a.S/One'\n";
    let options = Options::from_toml("plan.toml", text).unwrap();
    let (plan, _) = options.build(&Memory::with(&[("a.proto", PROTO)])).unwrap();
    assert!(plan.work.has_users() && plan.wire.calls().is_some());
    assert_eq!(plan.work.requests()[0].path, "/a.S/One");
}

#[test]
fn a_value_of_the_environment_cannot_break_the_json() {
    let plan = plan(&["-b", "{\"s\": \"${env:QUOTED}\", \"id\": ${seq}}"]).unwrap();
    assert_eq!(plan.work.requests()[0].call.unwrap().messages, 1);
}

#[test]
fn streams_of_the_client_have_several_messages() {
    let options =
        ["--proto", "a.proto", "--call", "a.S/Many", "-b", "{} [{\"id\": 1}, {}]", "http://h/"];
    let plan = crate::common::plan(&options);
    let call = plan.work.requests()[0].call.unwrap();
    assert_eq!((call.kind, call.messages), (CallKind::ClientStreaming, 3));
    let options = ["--proto", "a.proto", "--call", "a.S/Watch", "https://h/"];
    let plan = crate::common::plan(&options);
    assert!(plan.work.requests()[0].has_parts());
    assert_eq!(plan.target.tls.clone().unwrap().alpn, ["h2"]);
}

#[test]
fn requests_of_a_plan_are_calls_of_their_own_or_of_the_top() {
    let text = "url = 'http://h/'\ncall = 'a.S/One'\nproto = 'a.proto'\n[[request]]\njson = { id = 1 }\n\
                [[request]]\nname = 'watch'\ncall = 'a.S/Watch'\n";
    let files = Memory::with(&[("x/a.proto", PROTO)]);
    let options = Options::from_toml("x/plan.toml", text).unwrap();
    let (plan, _) = options.build(&files).unwrap();
    let paths: Vec<&str> = plan.work.requests().iter().map(|one| one.path.as_str()).collect();
    assert_eq!(paths, ["/a.S/One", "/a.S/Watch"]);
    let one = text.replace("call = 'a.S/One'\n", "").replace("json", "#");
    let error = Options::from_toml("x/plan.toml", &one).unwrap().build(&files).unwrap_err();
    assert!(error.to_string().contains("give each of its requests a call"), "{error}");
}

#[test]
fn the_schema_is_left_out_of_results_and_such_parts_cannot_run() {
    let plan = plan(&[]).unwrap();
    let redacted = plan.redacted();
    let protoset = &redacted.wire.calls().unwrap().protoset;
    assert!(protoset.is_left_out() && protoset.count() > 100);
    assert!(matches!(Plan::try_from(redacted), Err(PlanError::LeftOut)));
    let broken = |change: fn(&mut Parts)| plan.with(change).unwrap_err().to_string();
    let says = [
        broken(|parts| parts.wire = Wire::Http),
        broken(|parts| parts.work.requests_mut()[0].call = None),
        broken(|parts| parts.work.requests_mut()[0].body = b"\0\0\0\0\x09"[..].into()),
        broken(|parts| parts.target.http = HttpVersion::H1),
        broken(|parts| parts.work.requests_mut()[0].path = "/a.S/Two".to_owned()),
        broken(|parts| {
            if let Wire::Grpc(calls) = &mut parts.wire {
                calls.protoset = Kept::from(vec![0xff; 9]);
            }
        }),
    ];
    let parts = [
        "calls has the schema",
        "a call is of",
        "the body of a call is its messages",
        "is HTTP/2",
        "\"Two\"",
        "protoset",
    ];
    for (said, part) in says.iter().zip(parts) {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// A server without reflection, or with one that answers this.
struct Server(Result<Vec<u8>, Unanswered>);

impl ReadFile for Server {
    fn read(&self, _: &std::path::Path) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }

    fn columns(&self, _: &std::path::Path, _: DataFormat) -> Result<Vec<String>, String> {
        Ok(vec!["id".to_owned()])
    }

    fn ask(&self, plan: &Plan) -> Result<Vec<u8>, Unanswered> {
        let [request] = plan.work.requests() else { panic!("one question at a time") };
        assert!(request.path.ends_with("ServerReflectionInfo"), "{}", request.path);
        assert_eq!((plan.stop.count, plan.connections.count), (Some(1), 1));
        self.0.clone()
    }
}

#[test]
fn a_server_that_says_nothing_is_named_with_the_remedy() {
    let table = [
        (
            Err(Unanswered::NoMethod),
            "the server has no reflection; give the schema with --proto FILE",
        ),
        (
            Err(Unanswered::Because("it is away".to_owned())),
            "(reflection): it is away; or give the schema",
        ),
        (Ok(b"\0\0\0\0".to_vec()), "its response is not one message"),
        (Ok(b"\0\0\0\0\x01\xff".to_vec()), "server reflection: the response cannot be read"),
    ];
    let typed = [
        "--call",
        "a.S/One",
        "-R",
        "5",
        "-c",
        "9",
        "--data",
        "u=x",
        "-H",
        "x: ${u.id}",
        "http://h/",
    ];
    let own =
        "url = 'http://h/'\ncall = 'a.S/One'\n[[journey]]\nconnection = 'own'\n[[journey.step]]\n";
    let error = Options::from_toml("plan.toml", own).unwrap().build(&Server(table[0].0.clone()));
    assert!(error.unwrap_err().to_string().contains("the server has no reflection"));
    for (answer, part) in table {
        let error =
            crate::common::flags(&typed).unwrap().build(&Server(answer)).unwrap_err().to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let table: [(&[&str], &str); 12] = [
        (&["-b", "{\"idd\": 1}"], "has no field \"idd\"; did you mean \"id\"?"),
        (&["-b", "{"], "EOF"),
        (&["-b", "{} {}"], "takes one message, and there are 2"),
        (&["-b", "{\"id\": \"x${seq}\"}"], "message 1"),
        (&["-b", "{\"${seq}\": 1}"], "the message"),
        (&["--stream", "sse"], "the messages of a call are its events already"),
        (&["--expect-status", "200"], "the status of the call decides"),
        (&["--expect-body-bytes", "2"], "the status of the call decides"),
        (&["-X", "GET"], "--method cannot be used with --call"),
        (&["--h1"], "calls go over HTTP/2 from the start"),
        (&["--protoset", "body"], "leave the other out"),
        (&["--max-message", "0"], "a message has from 1 byte to 4 GiB"),
    ];
    for (arguments, part) in table {
        let said = says(arguments);
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
    let other = |arguments: &[&str]| crate::common::try_build(arguments).unwrap_err().to_string();
    assert!(
        other(&["--call", "a.S/One", "--protoset", "body", "http://h/"]).contains("not a protoset")
    );
    assert!(other(&["--proto", "a.proto", "http://h/"]).contains("add --call"));
    assert!(
        other(&["--call", "a.S/One", "--proto", "none.proto", "http://h/"])
            .contains("no such file")
    );
    assert!(
        other(&["--call", "a.S/One", "--proto", "a.proto", "ws://h/"])
            .contains("write http:// or https://")
    );
    assert!(
        crate::common::flags(&["--call", "a b/c"])
            .unwrap_err()
            .to_string()
            .contains("is not the name of a method")
    );
}
