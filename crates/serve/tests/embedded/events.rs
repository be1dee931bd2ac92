//! Streams of events: what is sent and when, how streams end, and that the counts and the log agree.

use candor_serve::truth::now_ns;
use candor_serve::{Config, PartLog};
use serde_json::{Value, json};

use crate::http2::{self, block_on};
use crate::{connect, start};

/// The data of the events of a stream, without comments.
fn data(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("data: ")).collect()
}

fn number(json: &str, field: &str) -> u64 {
    serde_json::from_str::<Value>(json).unwrap()[field].as_u64().unwrap()
}

#[test]
fn events_leave_at_computed_times_and_not_before() {
    let server = start(Config::default());
    let before_ns = now_ns();
    let answer = connect(&server).get("/sse/5/3ms?first=2ms&bytes=200");
    let after_ns = now_ns();
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events = data(answer.text());
    let due: Vec<_> = events.iter().map(|event| number(event, "due_ns")).collect();
    assert!(events.iter().all(|event| event.len() == 200));
    let expected: Vec<_> = (0..5).map(|k| due[0] + k * 3_000_000).collect();
    assert_eq!(due, expected);
    assert!(before_ns + 2_000_000 < due[0] && due[4] < after_ns);
    let seq: Vec<_> = events.iter().map(|event| number(event, "seq")).collect();
    assert_eq!(seq, [0, 1, 2, 3, 4]);
    for k in 0..5 {
        assert!(answer.text().contains(&format!("id: {k}\ndata: {{")), "{}", answer.text());
    }
    assert_eq!(server.stop().unwrap().parts_sent_by_scenario["sse_events"], 5);
}

#[test]
fn parts_due_in_a_stall_are_due_at_its_end() {
    let server = start(Config::default());
    let answer = connect(&server).get("/ndjson/5/2ms?stall=10ms@3ms");
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let due: Vec<_> = answer.text().lines().map(|line| number(line, "due_ns")).collect();
    let after: Vec<_> = due.iter().map(|one| (one - due[0]) / 1_000_000).collect();
    assert_eq!(after, [0, 2, 13, 13, 13]);
}

#[test]
fn comments_and_terminators_are_no_events() {
    let server = start(Config::default());
    let answer = connect(&server).get("/sse/2/10ms?comment=4ms&end=done");
    let lines: Vec<_> = answer.text().split("\n\n").map(|event| event.split('{').next()).collect();
    let comment = Some(": keep-alive");
    let expected = [
        Some("id: 0\ndata: "),
        comment,
        comment,
        Some("id: 1\ndata: "),
        Some("data: [DONE]"),
        Some(""),
    ];
    assert_eq!(lines, expected);
    let answer = connect(&server).get("/ndjson/1/0?end=done");
    assert_eq!(answer.text().lines().last(), Some(r#"{"done":true}"#));
    let stats = server.stop().unwrap();
    assert_eq!(
        stats.parts_sent_by_scenario.into_iter().collect::<Vec<_>>(),
        [("ndjson", 1), ("sse_events", 2)]
    );
}

#[test]
fn a_stream_ends_as_it_is_asked_to() {
    let server = start(Config::default());
    let mut client = connect(&server);
    let error = client.get("/sse/1/1ms?end=error");
    assert!(error.text().contains("\n\nevent: error\ndata: {\"error\":"), "{}", error.text());
    // The same connection goes on; then it breaks off within the chunks.
    client.send("GET /sse/3/1ms?end=cut HTTP/1.1\r\nHost: test\r\n\r\n");
    let all = client.read_to_end().unwrap();
    let all = String::from_utf8(all).unwrap();
    assert_eq!(data(&all).len(), 3);
    assert!(!all.ends_with("0\r\n\r\n"));
    let stats = server.stop().unwrap();
    assert_eq!((stats.requests_accepted, stats.requests_answered), (2, 1));
}

#[test]
fn over_http_2_a_cut_ends_one_stream_only() {
    let server = start(Config::default());
    block_on(async {
        let client = http2::connect(server.address()).await;
        let cut = http2::ask(&client, http2::get("/sse/3/1ms?end=cut"), &[]).await;
        let error = cut.body.unwrap_err();
        assert!(error.is_reset(), "{error}");
        let whole = http2::ask(&client, http2::get("/sse/100/0?end=done"), &[]).await;
        let text = String::from_utf8(whole.body.unwrap()).unwrap();
        assert_eq!(data(&text).len(), 101);
    });
    assert_eq!(server.stop().unwrap().parts_sent_by_scenario["sse_events"], 103);
}

#[test]
fn what_is_wrong_is_said() {
    let server = start(Config::default());
    let mut client = connect(&server);
    for (path, says) in [
        ("/sse/0/1ms", "from 1 to 1000000000"),
        ("/sse/10", "how far apart"),
        ("/ndjson/1/1", "`1` is not a time"),
        ("/sse/1/1ms?bytes=2g", "from 100 to 1m"),
        ("/sse/1/1ms?beginning=1ms", "`beginning` is not a parameter"),
        ("/ws/echo/soon", "this path is for WebSocket"),
    ] {
        let answer = client.get(path);
        assert!((400..500).contains(&answer.status), "{path}: {}", answer.status);
        assert!(answer.text().contains(says), "{path}: {}", answer.text());
    }
}

#[test]
fn the_log_has_each_part_and_when_it_left() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("parts.csv");
    let config = Config { log: Some(log.clone()), log_capacity: 5, ..Config::default() };
    let server = start(config);
    let first = connect(&server).get("/ndjson/3/2ms");
    connect(&server).get("/sse/4/1ms");
    let read_ns = now_ns();
    server.stop().unwrap();
    let log = PartLog::from_csv(&std::fs::read_to_string(log).unwrap()).unwrap();
    assert_eq!((log.entries.len(), log.unlogged), (5, 2));
    for (entry, line) in log.entries.iter().zip(first.text().lines()) {
        let said = ["stream", "seq", "due_ns"].map(|field| number(line, field));
        assert_eq!(said, [entry.stream, entry.index, entry.due_ns]);
        assert_eq!(entry.scenario, "ndjson");
    }
    for entry in &log.entries {
        assert!(entry.due_ns <= entry.departed_ns && entry.departed_ns <= read_ns, "{entry:?}");
    }
    assert_eq!(log.entries[3].scenario, "sse_events");
}

#[test]
fn the_end_does_not_wait_for_streams() {
    let server = start(Config { threads: 2, ..Config::default() });
    let mut clients: Vec<_> = (0..4).map(|_| connect(&server)).collect();
    for client in &mut clients {
        client.send("GET /sse/1000/1h?bytes=200 HTTP/1.1\r\nHost: test\r\n\r\n");
        // The first event is there: the stream is open.
        client.read_exactly(200).unwrap();
    }
    let (sender, stopped) = std::sync::mpsc::channel();
    std::thread::spawn(move || drop(sender.send(server.stop().unwrap())));
    let stats = stopped.recv_timeout(std::time::Duration::from_secs(5)).expect("a prompt end");
    assert_eq!(stats.parts_sent_by_scenario["sse_events"], 4);
    assert_eq!((stats.requests_accepted, stats.requests_answered), (4, 0));
}

fn completion(query: &str, body: &Value) -> (u16, String) {
    let server = start(Config::default());
    let path = format!("/v1/chat/completions?{query}");
    let fields = ["Content-Type: application/json"];
    let answer = connect(&server).ask("POST", &path, &fields, body.to_string().as_bytes());
    (answer.status, answer.text().to_owned())
}

#[test]
fn a_completion_streams_as_the_api_does() {
    let mut body = json!({
        "model": "m", "max_tokens": 3, "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": "one two"}],
    });
    let (status, text) = completion("first=1ms&every=1ms", &body);
    assert_eq!(status, 200);
    let mut events = data(&text);
    assert_eq!(events.pop(), Some("[DONE]"));
    let events: Vec<Value> =
        events.iter().map(|event| serde_json::from_str(event).unwrap()).collect();
    assert!(events.iter().all(|event| event["object"] == "chat.completion.chunk"));
    let deltas: Vec<_> = events.iter().map(|event| &event["choices"][0]["delta"]).collect();
    assert_eq!(
        deltas[..5],
        [
            &json!({"role": "assistant", "content": ""}),
            &json!({"content": " t0"}),
            &json!({"content": " t1"}),
            &json!({"content": " t2"}),
            &json!({}),
        ]
    );
    assert_eq!(events[3]["choices"][0]["finish_reason"], Value::Null);
    assert_eq!(events[4]["choices"][0]["finish_reason"], "length");
    let usage = json!({"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5});
    assert_eq!((&events[5]["choices"], &events[5]["usage"]), (&json!([]), &usage));
    assert!(events[..5].iter().all(|event| event["usage"].is_null()));
    assert_eq!(events.len(), 6);

    body["stream_options"] = Value::Null;
    let (_, text) = completion("", &body);
    assert_eq!(data(&text).len(), 6);
    assert!(!text.contains("usage"));
}

#[test]
fn a_completion_may_be_whole_or_wrong() {
    let body = json!({"model": "m", "max_completion_tokens": 2, "messages": []});
    let (status, text) = completion("every=1ms", &body);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &json["object"]), (200, &json!("chat.completion")));
    assert_eq!(json["choices"][0]["message"]["content"], " t0 t1");
    assert_eq!(json["usage"]["completion_tokens"], 2);
    let (status, text) = completion("", &json!({"model": "m", "max_tokens": 0, "messages": []}));
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &json["error"]["type"]), (400, &json!("invalid_request_error")));
    assert!(json["error"]["message"].as_str().unwrap().contains("from 1 to 100000"));
}
