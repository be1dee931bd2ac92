//! Streams of events: flags and keys, what is taken from the top level, and errors in one sentence.

use crate::common::Memory;
use candor_plan::{Options, Plan, PlanError, StreamForm, Streaming, Tokens};

fn plan(arguments: &[&str]) -> Result<Plan, PlanError> {
    crate::common::try_build(&[arguments, &["http://h/"]].concat()).map(|(plan, _)| plan)
}

fn from_toml(text: &str) -> Result<Plan, PlanError> {
    let options = Options::from_toml("plan.toml", text)?;
    options.build(&Memory::default()).map(|(plan, _)| plan)
}

#[test]
fn a_stream_is_asked_for_by_flags() {
    assert_eq!(plan(&[]).unwrap().work.requests()[0].stream, None);
    let plain = Streaming::new(StreamForm::Chunks);
    assert_eq!(plan(&["--stream", "chunks"]).unwrap().work.requests()[0].stream, Some(plain));
    let all = plan(&[
        "--stream",
        "sse",
        "--stream-error",
        "^event: error",
        "--stream-end",
        "[DONE]",
        "--tokens",
        "json:$.usage.completion_tokens",
    ]);
    let expected = Streaming {
        error: Some("^event: error".to_owned()),
        end: Some("[DONE]".to_owned()),
        tokens: Some(Tokens::At("json:$.usage.completion_tokens".to_owned())),
        ..Streaming::new(StreamForm::Sse)
    };
    assert_eq!(all.unwrap().work.requests()[0].stream, Some(expected));
}

#[test]
fn a_request_has_its_own_stream_or_that_of_the_top_level() {
    let text = "url = \"http://h/\"\nstream-end = \"[DONE]\"\n[[request]]\nname = \"a\"\n\
                [[request]]\nname = \"b\"\nstream = \"ndjson\"\ntokens = \"events\"\n";
    let plan = from_toml(text).unwrap();
    let [a, b] = plan.work.requests() else { panic!("two requests") };
    assert_eq!(a.stream, None);
    let expected = Streaming {
        end: Some("[DONE]".to_owned()),
        tokens: Some(Tokens::Events),
        ..Streaming::new(StreamForm::Ndjson)
    };
    assert_eq!(b.stream, Some(expected));
}

#[test]
fn event_streams_are_asked_for_as_such() {
    let headers = |flags: &[&str]| plan(flags).unwrap().work.requests()[0].headers.clone();
    let accept = ("Accept".to_owned(), "text/event-stream".to_owned());
    assert_eq!(headers(&["--stream", "sse"]), [accept]);
    assert_eq!(headers(&["--stream", "ndjson"]), []);
    let own = ("accept".to_owned(), "*/*".to_owned());
    assert_eq!(headers(&["--stream", "sse", "-H", "accept: */*"]), [own]);
}

#[test]
fn the_streams_of_an_interface_are_known_and_what_is_given_beside_goes_before() {
    let chat = plan(&["--llm", "openai-chat"]).unwrap().work.requests()[0].stream.clone().unwrap();
    assert_eq!((chat.form, chat.end.as_deref()), (StreamForm::Sse, Some("[DONE]")));
    assert_eq!(chat.token[0], "json:$.choices[0].delta.content");
    assert_eq!(chat.tokens, Some(Tokens::At("json:$.usage.completion_tokens".to_owned())));
    assert_eq!(chat.input_tokens.as_deref(), Some("json:$.usage.prompt_tokens"));
    let own = ["--llm", "openai-chat", "--tokens", "events", "--token", "json:$.t"];
    let own = plan(&own).unwrap().work.requests()[0].stream.clone().unwrap();
    assert_eq!((own.tokens, own.token), (Some(Tokens::Events), vec!["json:$.t".to_owned()]));
    assert_eq!((own.end, own.input_tokens), (chat.end, chat.input_tokens));
    let text =
        "url = \"http://h/\"\n[[request]]\nllm = \"anthropic-messages\"\ntoken = \"json:$.a\"\n";
    let of_request = from_toml(text).unwrap().work.requests()[0].stream.clone().unwrap();
    assert_eq!((of_request.token, of_request.end), (vec!["json:$.a".to_owned()], None));
}

#[test]
fn what_cannot_be_a_stream_is_refused_with_a_remedy() {
    let none = "there is no stream of events; add --stream sse, ndjson or chunks";
    let sse = ["--stream", "sse"];
    let table: [(&[&str], &[&str], String); 13] = [
        (&[], &["--stream-error", "x"], format!("--stream-error: {none}")),
        (&[], &["--stream-end", "x"], format!("--stream-end: {none}")),
        (&[], &["--tokens", "events"], format!("--tokens: {none}")),
        (&[], &["--token", "json:$.t"], format!("--token: {none}")),
        (&[], &["--input-tokens", "json:$.t"], format!("--input-tokens: {none}")),
        (&sse, &["--token", "cookie:X"], "--token: \"cookie:X\": tokens are counted".to_owned()),
        (
            &sse,
            &["--input-tokens", "events"],
            "--input-tokens: \"events\": \"events\" is not".to_owned(),
        ),
        (&sse, &["--stream-error", ""], "--stream-error: the expression is empty".to_owned()),
        (&sse, &["--stream-error", "a(b"], "--stream-error: \"a(b\": unclosed group at".to_owned()),
        (&sse, &["--stream-end", " "], "--stream-end: no event has an empty text".to_owned()),
        (&sse, &["--tokens", "header:X"], "--tokens: \"header:X\": tokens are counted".to_owned()),
        (&sse, &["--tokens", "tokens"], "--tokens: \"tokens\": \"tokens\" is not a".to_owned()),
        (&sse, &["--h2c-upgrade"], "--h2c-upgrade cannot be used with --stream".to_owned()),
    ];
    for (stream, rest, message) in table {
        let error = plan(&[stream, rest].concat()).expect_err(&message).to_string();
        assert!(error.starts_with(&message), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let own = from_toml("url = \"http://h/\"\n[[request]]\nstream-end = \"x\"\n").unwrap_err();
    assert_eq!(own.to_string(), format!("--stream-end: {none}"));
}
