//! Every named peer does what its name says; peers count exactly and always end.
#![allow(clippy::unwrap_used, reason = "a panic is a failing test with a line number")]

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use candor_testkit::client::Client;
use candor_testkit::peer::{ANSWER, Peer, RefusingPort, Script, Step};
use candor_testkit::process::wait_until;

const GET: &str = "GET / HTTP/1.1\r\nHost: test\r\n\r\n";
const PATIENCE: Duration = Duration::from_secs(5);

/// What comes back for one request, up to the end; an error kind for a reset.
fn all_of(script: Script) -> Result<String, ErrorKind> {
    let peer = Peer::start(script);
    let mut client = Client::connect(peer.addr());
    client.send(GET);
    let all = client.read_to_end().map_err(|error| error.kind())?;
    assert_eq!((peer.requests(), peer.connections()), (1, 1));
    Ok(String::from_utf8(all).unwrap())
}

#[test]
fn right_answers_and_their_count() {
    let peer = Peer::start(Script::answers());
    let mut client = Client::connect(peer.addr());
    for _ in 0..100 {
        assert_eq!(client.get("/").text(), "hello");
    }
    client.ask("POST", "/x", &[], b"a body");
    assert!(peer.last_request().unwrap().ends_with(b"\r\n\r\na body"));
    // Half a request is none.
    client.send("GET / HTTP/1.1\r\n");
    assert_eq!((peer.requests(), peer.connections(), peer.open_connections()), (101, 1, 1));
    drop(client);
    assert!(wait_until(PATIENCE, || peer.open_connections() == 0));
    assert_eq!(peer.requests(), 101);
}

#[test]
fn a_function_plays_what_a_script_cannot_say() {
    let peer = Peer::start_with(|number, player| {
        player.read_request()?;
        player.write(format!("{number}"))?;
        player.end_sending()?;
        // The other direction is still open.
        player.read_request()
    });
    for number in ["0", "1"] {
        let mut client = Client::connect(peer.addr());
        client.send(GET);
        assert_eq!(client.read_to_end().unwrap(), number.as_bytes());
        client.send(GET);
    }
    assert!(wait_until(PATIENCE, || peer.requests() == 4));
}

#[test]
fn never_answers_but_counts() {
    let peer = Peer::start(Script::never_answers());
    let mut client = Client::connect(peer.addr());
    client.send(GET.repeat(3));
    assert!(wait_until(PATIENCE, || peer.requests() == 3));
    client.set_patience(Duration::from_millis(50));
    assert_eq!(client.read_exactly(1).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn resets_come_after_what_was_written() {
    for (script, end) in
        [(Script::resets_mid_header(), "Content-Le"), (Script::resets_mid_body(), "\r\n\r\nhello")]
    {
        let peer = Peer::start(script);
        let mut client = Client::connect(peer.addr());
        client.send(GET);
        let mut got = Vec::new();
        let error = loop {
            match client.read_exactly(1) {
                Ok(byte) => got.extend(byte),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        assert!(String::from_utf8_lossy(&got).ends_with(end), "{got:?}");
        assert_eq!(peer.requests(), 1);
    }
}

#[test]
fn wrong_answers_are_wrong_as_promised() {
    assert!(all_of(Script::truncates_body()).unwrap().ends_with("Length: 10\r\n\r\nhello"));
    assert!(all_of(Script::http_1_0()).unwrap().starts_with("HTTP/1.0 200 OK\r\n\r\nhello"));
    assert!(all_of(Script::closes_as_announced()).unwrap().contains("Connection: close"));
    assert_eq!(all_of(Script::closes_unanswered()), Ok(String::new()));
    assert_eq!(all_of(Script::closes_on_reuse()).unwrap().as_bytes(), ANSWER);

    let peer = Peer::start(Script::bad_chunk());
    let mut client = Client::connect(peer.addr());
    client.send(GET);
    assert_eq!(client.try_read_answer(false).unwrap_err().kind(), ErrorKind::Other);
}

#[test]
fn a_flood_of_1xx_stops_with_the_client() {
    let peer = Peer::start(Script::floods_with_1xx());
    let mut client = Client::connect(peer.addr());
    client.send(GET);
    for _ in 0..20 {
        assert_eq!(client.read_answer().status, 102);
    }
    drop(client);
    assert!(wait_until(PATIENCE, || peer.open_connections() == 0));
}

#[test]
fn a_1xx_may_come_before_the_answer() {
    let peer = Peer::start(Script::answers_after_1xx());
    let mut client = Client::connect(peer.addr());
    for _ in 0..2 {
        client.send(GET);
        assert_eq!(client.read_answer().status, 103);
        assert_eq!(client.read_answer().status, 200);
    }
}

#[test]
fn a_drip_takes_its_time() {
    let gap = Duration::from_millis(1);
    let peer = Peer::start(Script::drips(gap));
    let begin = Instant::now();
    assert_eq!(Client::connect(peer.addr()).get("/").text(), "hello");
    assert!(begin.elapsed() >= gap * (ANSWER.len() as u32 - 1));
}

#[test]
fn answers_that_nobody_asked_for() {
    let peer = Peer::start(Script::answers_before_request());
    assert_eq!(Client::connect(peer.addr()).read_answer().status, 200);
    assert_eq!(peer.requests(), 0);

    let peer = Peer::start(Script::answers_twice());
    let mut client = Client::connect(peer.addr());
    client.get("/");
    assert_eq!(client.read_answer().status, 200);
    assert_eq!(peer.requests(), 1);
}

#[test]
fn pairs_are_answered_together() {
    let peer = Peer::start(Script::answers_in_pairs());
    let mut client = Client::connect(peer.addr());
    client.send(GET.repeat(2));
    client.read_answer();
    client.read_answer();
    assert_eq!(peer.requests(), 2);
}

#[test]
fn head_and_body_may_come_apart() {
    for nodelay in [true, false] {
        let peer = Peer::start(Script::head_then_body(nodelay));
        let mut client = Client::connect(peer.addr());
        for _ in 0..3 {
            assert_eq!(client.get("/").text(), "hello");
        }
    }
}

#[test]
fn connections_can_have_a_script_each() {
    let peer = Peer::start_each([Script::closes_at_once(), Script::answers()]);
    assert_eq!(Client::connect(peer.addr()).read_to_end().unwrap(), b"");
    for _ in 0..2 {
        assert_eq!(Client::connect(peer.addr()).get("/").text(), "hello");
    }
    assert_eq!(peer.connections(), 3);
}

#[test]
fn a_script_can_be_composed() {
    let late = Script::after_answers(
        2,
        [Step::ReadRequest, Step::Sleep(Duration::from_millis(30)), Step::write(ANSWER)],
    );
    let peer = Peer::start(late);
    let mut client = Client::connect(peer.addr());
    client.get("/");
    client.get("/");
    let begin = Instant::now();
    client.get("/");
    assert!(begin.elapsed() >= Duration::from_millis(30));
    assert_eq!(client.read_to_end().unwrap(), b"");
}

#[test]
fn a_peer_can_die_and_come_back_on_its_port() {
    let mut peer = Peer::start(Script::answers());
    let mut client = Client::connect(peer.addr());
    client.get("/");
    peer.stop_listening_and_drop_all();
    assert_eq!(client.read_to_end().unwrap(), b"");
    assert_eq!(peer.open_connections(), 0);
    for _ in 0..3 {
        let refused = TcpStream::connect(peer.addr()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    }
    peer.resume();
    assert_eq!(Client::connect(peer.addr()).get("/").text(), "hello");
    assert_eq!((peer.requests(), peer.connections()), (2, 2));
}

#[test]
fn a_refusing_port_refuses() {
    let port = RefusingPort::new();
    let refused = TcpStream::connect(port.addr()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_peer_ends_whatever_it_is_doing() {
    let forever = Duration::from_secs(3600);
    for step in [
        Step::ReadRequest,
        Step::Hang,
        Step::Sleep(forever),
        Step::Drip(ANSWER.into(), forever),
        // Nobody reads: this blocks in a write.
        Step::WriteForever(vec![0; 1 << 20].into(), Duration::ZERO),
        Step::Loop,
    ] {
        let peer = Peer::start(Script::new([step.clone()]));
        let _client = Client::connect(peer.addr());
        assert!(wait_until(PATIENCE, || peer.connections() == 1));
        std::thread::sleep(Duration::from_millis(20));
        let begin = Instant::now();
        drop(peer);
        assert!(begin.elapsed() < Duration::from_secs(2), "{step:?}: {:?}", begin.elapsed());
    }
}
