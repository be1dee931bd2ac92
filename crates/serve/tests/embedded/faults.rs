//! Every fault from the client's view, with the server's count of it.

use std::io::ErrorKind;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use crate::{connect, start_with};
use candor_serve::{CloseAfter, Fault, Faults, PlannedStall};
use candor_testkit::process::wait_until;

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n")
}

#[test]
fn a_reset_comes_after_so_many_bytes() {
    let server = start_with(Faults::default());
    for bytes in [0, 1, 30, 500, 20_000] {
        let mut client = connect(&server);
        client.send(get(&format!("/fault/reset/{bytes}")));
        assert_eq!(client.read_exactly(bytes).unwrap().len(), bytes);
        let end = client.read_to_end().unwrap_err();
        assert_eq!(end.kind(), ErrorKind::ConnectionReset, "after {bytes}");
    }
    let stats = server.stop().unwrap();
    assert_eq!((stats.requests_accepted, stats.requests_answered), (5, 0));
}

#[test]
fn a_truncated_answer_ends_with_a_clean_close() {
    let server = start_with(Faults::default());
    for bytes in [0, 5, 1_000_000] {
        let mut client = connect(&server);
        client.send(get(&format!("/fault/truncate/{bytes}")));
        let all = client.read_to_end().unwrap();
        let head_end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8_lossy(&all[..head_end]).to_lowercase();
        assert!(head.contains(&format!("content-length: {}\r\n", 2 * bytes + 1)), "{head}");
        assert_eq!(all.len() - head_end, bytes);
    }
    assert_eq!(server.stop().unwrap().requests_answered, 0);
}

#[test]
fn a_close_comes_without_a_byte() {
    let server = start_with(Faults::default());
    let mut client = connect(&server);
    assert_eq!(client.get("/").status, 200);
    client.send(get("/fault/close"));
    assert_eq!(client.read_to_end().unwrap(), b"");
    let stats = server.stop().unwrap();
    assert_eq!((stats.requests_accepted, stats.requests_answered), (2, 1));
}

#[test]
fn a_hang_ends_when_the_client_goes() {
    let server = start_with(Faults::default());
    let mut client = connect(&server);
    client.send(get("/fault/hang"));
    client.set_patience(Duration::from_millis(100));
    assert_eq!(client.read_exactly(1).unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(client);
    let open = || {
        let answer = connect(&server).get("/__stats");
        serde_json::from_slice::<serde_json::Value>(&answer.body).unwrap()["connections_open"]
            .clone()
    };
    assert!(wait_until(Duration::from_secs(5), || open() == 0), "open: {}", open());
}

#[test]
fn a_fault_that_is_none_is_not_found() {
    let server = start_with(Faults::default());
    assert_eq!(connect(&server).get("/fault/explode").status, 404);
}

#[test]
fn a_standing_fault_meets_every_path_but_questions() {
    let every_answer = Some(Fault::Truncate(3));
    let server = start_with(Faults { every_answer, ..Faults::default() });
    let mut client = connect(&server);
    client.send(get("/large"));
    assert!(client.read_to_end().unwrap().ends_with(b"\r\n\r\nabc"));
    assert_eq!(connect(&server).get("/__stats").status, 200);
}

fn close_after(requests: u64, announced: bool) -> Faults {
    let requests = NonZeroU64::new(requests).unwrap();
    Faults { close_after: Some(CloseAfter { requests, announced }), ..Faults::default() }
}

#[test]
fn an_announced_close_is_in_the_last_answer() {
    let server = start_with(close_after(3, true));
    let mut client = connect(&server);
    let close = |_| client.get("/").header("connection").map(str::to_owned);
    let said: Vec<_> = (0..3).map(close).collect();
    assert_eq!(said, [None, None, Some("close".to_owned())]);
    assert_eq!(client.read_to_end().unwrap(), b"");
}

#[test]
fn a_silent_close_is_in_no_answer() {
    let server = start_with(close_after(3, false));
    let mut client = connect(&server);
    for path in ["/", "/small", "/large"] {
        let answer = client.get(path);
        assert_eq!((answer.status, answer.header("connection")), (200, None));
    }
    assert_eq!(client.read_to_end().unwrap(), b"");
    assert_eq!(server.stop().unwrap().requests_answered, 3);
}

#[test]
fn a_silent_close_leaves_pipelined_requests_unanswered() {
    let server = start_with(close_after(2, false));
    let mut client = connect(&server);
    client.send(get("/").repeat(4));
    let answers = client.read_to_end().unwrap();
    assert_eq!(String::from_utf8_lossy(&answers).matches("alive").count(), 2);
    assert_eq!(server.stop().unwrap().requests_answered, 2);
}

#[test]
fn a_planned_stall_holds_answers_to_its_end() {
    let stall = PlannedStall { at: Duration::ZERO, lasts: Duration::from_millis(300) };
    let begin = Instant::now();
    let server = start_with(Faults { stalls: vec![stall], ..Faults::default() });
    let mut clients: Vec<_> = (0..5).map(|_| connect(&server)).collect();
    clients.iter_mut().for_each(|client| client.send(get("/")));
    for client in &mut clients {
        assert_eq!(client.read_answer().status, 200);
    }
    // The plan counts from the server's start, which is a little after `begin`.
    assert!(begin.elapsed() >= Duration::from_millis(300), "{:?}", begin.elapsed());
    let after = Instant::now();
    clients[0].get("/");
    assert!(after.elapsed() < Duration::from_millis(200), "{:?}", after.elapsed());
}

#[test]
fn a_stall_on_demand_holds_all_but_questions() {
    let server = start_with(Faults::default());
    let begin = Instant::now();
    let mut control = connect(&server);
    assert_eq!(control.ask("POST", "/__stall?for=400ms", &[], b"").status, 204);
    let mut client = connect(&server);
    client.send(get("/"));
    assert_eq!(control.get("/__stats").status, 200);
    assert!(begin.elapsed() < Duration::from_millis(350), "{:?}", begin.elapsed());
    assert_eq!(client.read_answer().status, 200);
    assert!(begin.elapsed() >= Duration::from_millis(400), "{:?}", begin.elapsed());
    assert_eq!(control.ask("POST", "/__stall?for=ever", &[], b"").status, 400);
    assert_eq!(control.ask("POST", "/__stall", &[], b"").status, 400);
}

#[test]
fn connections_beyond_the_cap_are_closed_and_counted() {
    let server = start_with(Faults { max_connections: Some(2), ..Faults::default() });
    let mut admitted: Vec<_> = (0..2).map(|_| connect(&server)).collect();
    admitted.iter_mut().for_each(|client| assert_eq!(client.get("/").status, 200));
    assert_eq!(connect(&server).read_to_end().unwrap(), b"");
    drop(admitted.pop());
    // The server sees the close a moment later.
    let again = || {
        let mut client = connect(&server);
        client.send(get("/"));
        client.try_read_answer(false).is_ok()
    };
    assert!(wait_until(Duration::from_secs(5), again));
    let stats = server.stop().unwrap();
    assert_eq!(stats.connections_accepted, 3);
    assert!(stats.connections_refused >= 1, "{stats:?}");
}

/// Two writes or one, with or without Nagle: the responses are the same.
#[test]
fn answers_in_two_writes_are_whole() {
    for nagle in [false, true] {
        let server = start_with(Faults { split_writes: true, nagle, ..Faults::default() });
        let mut client = connect(&server);
        for path in ["/", "/json", "/large", "/streaming", "/status/204"] {
            let (whole, split) =
                (connect(&start_with(Faults::default())).get(path), client.get(path));
            assert_eq!((split.status, split.body), (whole.status, whole.body), "{path}");
        }
        assert_eq!(server.stop().unwrap().requests_answered, 5);
    }
}
