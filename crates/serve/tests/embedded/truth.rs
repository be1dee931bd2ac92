//! The truth server over real sockets. Its arithmetic is tested on simulated time; here, its log
//! must match the client's view. No test depends on the lateness of a busy machine.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

use candor_serve::PlannedStall;
use candor_serve::truth::{Config, Discipline, Fate, Record, Running, Server, now_ns};
use candor_stats::closed_form::FifoPath;
use candor_testkit::client::Client;

const MS: u64 = 1_000_000;

fn config(discipline: Discipline) -> Config {
    Config {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        h3: None,
        discipline,
        queues: NonZeroUsize::MIN,
        stalls: vec![],
        spin: false,
        port_file: None,
        log: None,
        log_capacity: 1000,
    }
}

fn start(discipline: Discipline) -> Running {
    Server::bind(config(discipline)).unwrap().start().unwrap()
}

/// Checks that no response left before its time, and that each completed one has its departure.
fn check(record: &Record) {
    for entry in record.entries.iter().filter(|entry| entry.fate == Fate::Answered) {
        assert!(entry.arrival_ns <= entry.computed_ns, "{entry:?}");
        assert!(entry.computed_ns <= entry.departed_ns, "{entry:?}");
    }
}

#[test]
fn answers_leave_when_they_were_computed_to_leave() {
    let server = start(Discipline::Fifo { service_ns: 20 * MS });
    let mut clients: Vec<Client> = (0..3).map(|_| Client::connect(server.address())).collect();
    let before_ns = now_ns();
    for client in &mut clients {
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    for (n, client) in clients.iter_mut().enumerate() {
        let answer = client.read_answer();
        assert_eq!((answer.status, answer.text()), (200, "truth\n"));
        assert!(now_ns() - before_ns >= (n as u64 + 1) * 20 * MS, "one after the other");
    }
    let record = server.stop().unwrap();
    check(&record);
    let mut path = FifoPath::new(20 * MS);
    for entry in &record.entries {
        assert_eq!(entry.computed_ns, path.departure_ns(entry.arrival_ns), "{entry:?}");
    }
    assert_eq!(record.lateness().answers, 3);
}

#[test]
fn who_finds_no_place_is_refused_at_once() {
    let server = start(Discipline::Capped { service_ns: 1000 * MS, places: 1 });
    let (mut first, mut second) =
        (Client::connect(server.address()), Client::connect(server.address()));
    first.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    // The first request has arrived when the server has counted it.
    let mut asker = Client::connect(server.address());
    while !asker.get("/__stats").text().contains("\"requests_accepted\":1,") {}
    for _ in 0..3 {
        assert_eq!(second.get("/").status, 503);
    }
    assert_eq!(first.read_answer().status, 200);
    let record = server.stop().unwrap();
    check(&record);
    let refused = record.entries.iter().filter(|entry| entry.fate == Fate::Refused);
    assert_eq!((record.entries.len(), refused.count()), (4, 3));
}

#[test]
fn requests_come_in_pieces_with_bodies_and_ahead_of_time() {
    let server = start(Discipline::Delay { service_ns: MS });
    let mut client = Client::connect(server.address());
    for byte in b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" {
        client.send([*byte]);
    }
    assert_eq!(client.read_answer().status, 200);
    client.send(
        "GET / HTTP/1.1\r\n\r\nHEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n",
    );
    assert_eq!(client.read_answer().text(), "truth\n");
    assert_eq!(client.read_head_answer().header("Content-Length"), Some("6"));
    assert_eq!(client.read_answer().status, 200);
    assert!(client.read_to_end().unwrap().is_empty());
    let mut wrong = Client::connect(server.address());
    wrong.send("nonsense\r\n\r\n");
    assert!(String::from_utf8(wrong.read_to_end().unwrap()).unwrap().starts_with("HTTP/1.1 400 "));
    // The client leaves before its response: the log says so, and the server continues.
    let mut gone = Client::connect(server.address());
    gone.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert_eq!(gone.read_answer().status, 200);
    let record = server.stop().unwrap();
    check(&record);
    assert_eq!(record.entries.len(), 5);
    // A request sent ahead arrives when the response before it has left.
    for two in record.entries[1..4].windows(2) {
        assert!(two[0].departed_ns <= two[1].arrival_ns, "{two:?}");
    }
}

#[test]
fn a_client_that_is_gone_is_abandoned() {
    let server = start(Discipline::Delay { service_ns: 100 * MS });
    let mut gone = Client::connect(server.address());
    gone.send("GET / HTTP/1.1\r\n\r\n");
    let mut asker = Client::connect(server.address());
    while !asker.get("/__stats").text().contains("\"requests_accepted\":1,") {}
    // Closed with an unread response to come: the next thing that the server sees is a reset or an
    // end, and neither stops it.
    drop(gone);
    assert_eq!(asker.get("/").status, 200);
    let record = server.stop().unwrap();
    assert_eq!(record.entries.len(), 2);
    assert_eq!(record.entries[1].fate, Fate::Answered);
}

#[test]
fn stalls_hold_answers_and_are_written_down() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log.csv");
    let stalls = vec![PlannedStall { at: Duration::ZERO, lasts: Duration::from_millis(60) }];
    let server =
        Config { stalls, log: Some(log.clone()), ..config(Discipline::Delay { service_ns: 0 }) };
    let server = Server::bind(server).unwrap().start().unwrap();
    let mut client = Client::connect(server.address());
    client.get("/");
    assert_eq!(client.ask("POST", "/__stall?for=40ms", &[], b"").status, 204);
    assert_eq!(client.ask("POST", "/__stall?for=x", &[], b"").status, 400);
    client.get("/");
    let record = server.stop().unwrap();
    check(&record);
    let lengths = record.stalls_ns.iter().map(|(from_ns, to_ns)| to_ns - from_ns);
    assert_eq!(lengths.collect::<Vec<_>>(), [60 * MS, 40 * MS]);
    for (entry, (from_ns, to_ns)) in record.entries.iter().zip(&record.stalls_ns) {
        let in_stall = (*from_ns..*to_ns).contains(&entry.arrival_ns);
        assert_eq!(entry.computed_ns, if in_stall { *to_ns } else { entry.arrival_ns });
    }
    // The file on the disk equals the returned record.
    let text = std::fs::read_to_string(log).unwrap();
    assert_eq!(Record::from_csv(&text), Ok(record));
}

#[test]
fn what_has_no_room_in_the_log_is_served_and_counted() {
    let server = Config { log_capacity: 2, ..config(Discipline::Delay { service_ns: 0 }) };
    let server = Server::bind(server).unwrap().start().unwrap();
    let mut client = Client::connect(server.address());
    for _ in 0..5 {
        assert_eq!(client.get("/").status, 200);
    }
    let record = server.stop().unwrap();
    assert_eq!((record.entries.len(), record.unlogged), (2, 3));
}
