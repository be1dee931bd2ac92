use proptest::prelude::*;

use candor_plan::ModelApi;

use super::*;
use crate::capture::Resume;

/// What came of a body: the events of each piece, and what is known at its end.
#[derive(Debug, PartialEq)]
struct Outcome {
    count: u64,
    bytes: u64,
    verdict: Result<(), Mismatch>,
    /// Those that are tokens.
    told: u64,
    tokens: Option<u64>,
    input: Option<u64>,
    is_too_long: bool,
}

fn stream(form: StreamForm) -> Streaming {
    Streaming::new(form)
}

fn splitter(stream: &Streaming) -> Splitter {
    Splitter::new(Rc::new(Rules::new(stream).expect("rules that compile")))
}

fn split<'a>(stream: &Streaming, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let mut splitter = splitter(stream);
    let (mut count, mut bytes, mut told) = (0, 0, 0);
    let mut add = |ended: Ended| {
        count += u64::from(ended.count);
        bytes += ended.bytes;
        told += u64::from(ended.tokens);
    };
    for piece in pieces {
        splitter.feed(piece);
        add(splitter.take());
    }
    splitter.end();
    add(splitter.take());
    Outcome {
        count,
        bytes,
        verdict: splitter.verdict(),
        told,
        tokens: splitter.tokens(),
        input: splitter.input_tokens(),
        is_too_long: splitter.is_too_long(),
    }
}

/// How many events, and the bytes of their payload.
fn counted(form: StreamForm, body: &str) -> (u64, u64) {
    let Outcome { count, bytes, .. } = split(&stream(form), [body.as_bytes()]);
    (count, bytes)
}

#[test]
fn the_examples_of_the_standard() {
    // WHATWG HTML 9.2.6: each with its events and the lengths of their data.
    for (body, events) in [
        ("data: YHOO\ndata: +2\ndata: 10\n\n", (1, 10)),
        (
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
            (3, 35),
        ),
        ("data\n\ndata\ndata\n\ndata:", (2, 1)),
        ("data:test\n\ndata: test\n\n", (2, 8)),
    ] {
        assert_eq!(counted(StreamForm::Sse, body), events, "{body:?}");
    }
}

#[test]
fn what_is_no_event() {
    for body in [
        "",
        "\n\n\n",
        ": keep-alive\n\n:\n\n",
        "event: ping\n\n",
        "id: 7\nretry: 10\n\n",
        "data: without an end",
        "data: without an empty line\n",
        "Data: a\n\ndatas: b\n\nda: c\n\n data: d\n\n",
    ] {
        assert_eq!(counted(StreamForm::Sse, body), (0, 0), "{body:?}");
    }
    assert_eq!(counted(StreamForm::Ndjson, "\n\r\n\n"), (0, 0));
}

#[test]
fn line_ends_and_the_mark() {
    for body in [
        "data: a\rdata: b\r\r",
        "data: a\r\ndata: b\r\n\r\n",
        "data: a\ndata: b\n\n",
        "data: a\r\ndata: b\n\r",
        "\u{feff}data: a\ndata: b\n\n",
        ":\u{feff}\ndata: a\ndata: b\n\n",
    ] {
        assert_eq!(counted(StreamForm::Sse, body), (1, 3), "{body:?}");
    }
    // Only one mark, only at the beginning, and only whole.
    assert_eq!(counted(StreamForm::Sse, "\u{feff}\u{feff}data: a\n\n"), (0, 0));
    let half = split(&stream(StreamForm::Sse), [&b"\xef\xbbdata: a\n\ndata: b\n\n"[..]]);
    assert_eq!(half.count, 1);
}

#[test]
fn lines_and_chunks() {
    assert_eq!(counted(StreamForm::Ndjson, "{}\n\n[1]\r\nx\ry\r\r\nlast"), (4, 2 + 3 + 4 + 4));
    let mut chunks = splitter(&stream(StreamForm::Chunks));
    chunks.feed(b"ab");
    assert_eq!(chunks.take(), Ended::default());
    chunks.feed(b"c");
    chunks.end_chunk();
    chunks.end_chunk();
    assert_eq!(chunks.take(), Ended { count: 1, bytes: 3, tokens: 0 });
    chunks.feed(b"\n");
    chunks.end();
    assert_eq!(chunks.take(), Ended { count: 1, bytes: 1, tokens: 0 });
}

#[test]
fn an_error_is_found_by_its_name_or_its_data() {
    let asked =
        |error: &str| Streaming { error: Some(error.to_owned()), ..stream(StreamForm::Sse) };
    let body = &b"data: fine\n\nevent: error\ndata: a\n\ndata: event: error\n\n"[..];
    assert_eq!(split(&asked("^event: error\n"), [body]).verdict, Err(Mismatch::ErrorEvent(2)));
    assert_eq!(split(&asked("^a$"), [body]).verdict, Ok(()));
    assert_eq!(split(&asked("(?m)^a$"), [body]).verdict, Err(Mismatch::ErrorEvent(2)));
    assert_eq!(split(&asked("fine|(none)"), [body]).verdict, Err(Mismatch::ErrorEvent(1)));
    // The last name counts, and it ends with its event.
    let renamed =
        &b"event: error\nevent: ok\ndata: a\n\ndata: b\n\nevent: error\n\ndata: c\n\n"[..];
    assert_eq!(split(&asked("^event: error"), [renamed]).verdict, Ok(()));
}

#[test]
fn the_end_is_no_event_and_has_to_come() {
    let asked = |form| Streaming { end: Some("[DONE]".to_owned()), ..stream(form) };
    let sse = asked(StreamForm::Sse);
    let whole = split(&sse, [&b"data: a\n\ndata: [DONE]\n\n"[..]]);
    assert_eq!((whole.count, whole.verdict), (1, Ok(())));
    let cut = split(&sse, [&b"data: a\n\ndata: [DONE]\n"[..]]);
    assert_eq!((cut.count, cut.verdict), (1, Err(Mismatch::Unended(1))));
    assert_eq!(split(&asked(StreamForm::Ndjson), [&b"1\n[DONE]"[..]]).verdict, Ok(()));
    assert_eq!(split(&asked(StreamForm::Chunks), [&b"[DONE]\r\n"[..]]).verdict, Ok(()));
    assert_eq!(split(&sse, [&b"data: [DONE]\n\n"[..]]).verdict, Ok(()));
}

/// A page to log in, a body in gzip, and nothing at all, with status 200.
#[test]
fn what_has_no_event_is_no_stream_of_them() {
    let page =
        &b"<!DOCTYPE html>\n<form method=\"post\">\n\n<input name=\"user\">\n</form>\n\n"[..];
    let packed = &b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\x04\0\x43\xbe\xb7\xe8"[..];
    let comment = &b": keep-alive\n\nretry: 100\n\n"[..];
    for body in [page, packed, comment, &b""[..]] {
        for end in [None, Some("[DONE]".to_owned())] {
            let asked = Streaming { end, ..stream(StreamForm::Sse) };
            assert_eq!(split(&asked, [body]).verdict, Err(Mismatch::NoStream), "{body:?}");
        }
        assert_eq!(split(&stream(StreamForm::Ndjson), [body]).verdict, Ok(()));
    }
}

#[test]
fn tokens_are_events_or_the_last_number() {
    let asked = |tokens| Streaming { tokens: Some(tokens), ..stream(StreamForm::Sse) };
    let at = asked(Tokens::At("json:$.usage.n".to_owned()));
    let body = &b"data: {\"usage\":null}\n\ndata: {\"usage\":{\"n\":3}}\n\ndata: {\"usage\":{\"n\":8}}\n\n\
                 data: {}\n\ndata: [DONE]\n\n"[..];
    assert_eq!(split(&at, [body]).tokens, Some(8));
    assert_eq!(split(&at, [&b"data: {\"usage\":{\"n\":-3}}\n\n"[..]]).tokens, None);
    assert_eq!(split(&asked(Tokens::Events), [body]).tokens, Some(5));
    assert_eq!(split(&stream(StreamForm::Sse), [body]).tokens, None);
}

#[test]
fn a_rule_says_which_events_are_tokens() {
    let chat = ModelApi::OpenaiChat.streaming();
    let delta = |delta: &str| format!("data: {{\"choices\":[{{\"delta\":{delta}}}]}}\n\n");
    let texts = [
        "{\"role\":\"assistant\",\"content\":\"\"}",
        "{\"content\":null,\"reasoning_content\":\"hm\"}",
        "{\"content\":\"Hi\"}",
        "{\"content\":\"!\"}",
        "{}",
    ];
    let text: String = texts.into_iter().map(delta).collect();
    let usage =
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":9}}\n\n";
    let done = "data: [DONE]\n\n";
    let with = split(&chat, [(text.clone() + usage + done).as_bytes()]);
    assert_eq!((with.count, with.told, with.tokens, with.input), (6, 3, Some(9), Some(7)));
    assert_eq!(with.verdict, Ok(()));
    // A server that tells no usage: the tokens are the events that are some.
    let without = split(&chat, [(text + done).as_bytes()]);
    assert_eq!((without.told, without.tokens, without.input), (3, Some(3), None));
}

#[test]
fn streams_of_other_interfaces_are_known() {
    let responses = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"usage\":null}}\n\n\
                     event: response.output_text.delta\ndata: {\"delta\":\"In\",\"output_index\":0}\n\n\
                     event: response.output_text.delta\ndata: {\"delta\":\" a\"}\n\n\
                     event: response.completed\ndata: {\"response\":{\"usage\":{\"input_tokens\":37,\"output_tokens\":11}}}\n\n";
    let messages = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":25,\"output_tokens\":1}}}\n\n\
                    event: content_block_delta\ndata: {\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n\
                    event: ping\ndata: {\"type\": \"ping\"}\n\n\
                    event: content_block_delta\ndata: {\"delta\":{\"type\":\"text_delta\",\"text\":\"!\"}}\n\n\
                    event: message_delta\ndata: {\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":15}}\n\n\
                    event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let completions = "data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: {\"choices\":[{\"text\":\"\"}]}\n\ndata: [DONE]\n\n";
    for (api, body, told, output, input) in [
        (ModelApi::OpenaiResponses, responses, 2, 11, Some(37)),
        (ModelApi::AnthropicMessages, messages, 2, 15, Some(25)),
        (ModelApi::OpenaiCompletions, completions, 1, 1, None),
    ] {
        let outcome = split(&api.streaming(), [body.as_bytes()]);
        assert_eq!((outcome.told, outcome.tokens), (told, Some(output)), "{api:?}");
        assert_eq!((outcome.input, outcome.verdict), (input, Ok(())), "{api:?}");
    }
    let error = b"event: error\ndata: {\"error\":{\"type\":\"overloaded_error\"}}\n\n";
    let outcome = split(&ModelApi::AnthropicMessages.streaming(), [&error[..]]);
    assert_eq!(outcome.verdict, Err(Mismatch::ErrorEvent(1)));
}

#[test]
fn an_endless_event_takes_bounded_memory() {
    let piece = [b'x'; 4096];
    let mut plain = splitter(&stream(StreamForm::Sse));
    let read = Streaming { end: Some("end".to_owned()), ..stream(StreamForm::Sse) };
    let mut read = splitter(&read);
    for one in [&mut plain, &mut read] {
        one.feed(b"event: ");
        (0..64).for_each(|_| one.feed(&piece));
        one.feed(b"\ndata: ");
        (0..64).for_each(|_| one.feed(&piece));
        let Text { name, data, joined, .. } = &one.text;
        assert!(name.capacity() + data.capacity() + joined.capacity() <= 2 * MOST_TEXT_BYTES);
    }
    assert!(!plain.is_too_long() && read.is_too_long());
    plain.feed(b"\n\n");
    assert_eq!(plain.take(), Ended { count: 1, bytes: 64 * 4096, tokens: 0 });
    let rules = Rc::clone(&read.rules);
    read.again(rules);
    assert!(!read.is_too_long());
    assert!(read.text.name.capacity() <= KEPT_BYTES);
}

proptest! {
    /// Any bytes: whole, cut in two anywhere, and byte by byte they have the same events.
    #[test]
    fn pieces_make_no_difference(
        words in proptest::collection::vec(
            proptest::sample::select(vec![
                "\u{feff}", "data", "data:", "data: ", "event: error", "event", ":", " ", "\r", "\n", "\r\n", "\n\n",
                "x", "[DONE]", "{\"n\":7}", "id: 1", "retry", "datax: ",
            ]),
            0..24,
        ),
        form in proptest::sample::select(vec![StreamForm::Sse, StreamForm::Ndjson, StreamForm::Chunks]),
        at in 0..64usize,
    ) {
        let body = words.concat().into_bytes();
        let asked = Streaming {
            error: Some("^event: error".to_owned()),
            end: Some("[DONE]".to_owned()),
            token: vec!["json:$.t".to_owned(), "regex:[a-f]".to_owned()],
            tokens: Some(Tokens::At("json:$.n".to_owned())),
            input_tokens: Some("json:$.i".to_owned()),
            ..stream(form)
        };
        for stream in [asked, stream(form)] {
            let whole = split(&stream, [&body[..]]);
            let (first, second) = body.split_at(at.min(body.len()));
            prop_assert_eq!(&split(&stream, [first, second]), &whole);
            prop_assert_eq!(&split(&stream, body.chunks(1)), &whole);
        }
    }
}

/// Whole and byte by byte, what a stream says about the request that goes on with it.
#[test]
fn ids_and_times_are_noted_as_the_standard_says() {
    let stream = Streaming { reconnect: true, ..Streaming::new(StreamForm::Sse) };
    let id = |text: &str| Some(text.as_bytes().to_vec());
    let long = format!("id: 1\n\nid: {}\n\n", "x".repeat(1025));
    for (text, last, retry_ms) in [
        ("data: a\n\n", None, None),
        ("id: 1\ndata: a\n\n", id("1"), None),
        ("id:1\rdata: a\r\r", id("1"), None),
        ("id:  1 \r\n\r\n", id(" 1 "), None),
        ("id: 1\ndata: a\n", None, None),
        ("id: 1\n\nid: 2\n", id("1"), None),
        ("id: 1\n\nid: 2\n\nid: 3\n", id("2"), None),
        ("id: 1\n\nid\n\n", id(""), None),
        ("id: 1\n\nid:\n\n", id(""), None),
        ("id: 1\n\nid: a\0b\n\n", id("1"), None),
        ("ids: 1\n\nxid: 2\n\nID: 3\n\n", None, None),
        ("retry: 10\n", None, Some(10)),
        ("retry: 10", None, None),
        ("retry: 10\nretry: 1s\nretry: -1\nretry\nretry: 1.5\n", None, Some(10)),
        ("retry: 99999999999999999999999\n", None, Some(u64::MAX)),
        (long.as_str(), id("1"), None),
    ] {
        for piece in [1, 2, text.len()] {
            let room = CaptureRoom::new(0, 0);
            let rules = Rules::new(&stream).expect("rules that compile");
            let rules = Rules { resumes: Some(room.clone()), ..rules };
            let mut splitter = Splitter::new(Rc::new(rules));
            for bytes in text.as_bytes().chunks(piece) {
                splitter.feed(bytes);
                splitter.event(3);
            }
            let resume = room.take_resume(3);
            let retry_ns = retry_ms.map(|ms: u64| ms.saturating_mul(1_000_000));
            assert_eq!(
                (resume.id, resume.retry_ns),
                (last.clone(), retry_ns),
                "{text:?} by {piece}"
            );
            assert_eq!(room.take_resume(3), Resume::default(), "it is taken");
        }
    }
}
