//! The server's own counts are exact, since a loader's figures are compared with them.

use crate::{connect, start};
use candor_serve::Config;

#[test]
fn counts_are_exact_over_several_threads() {
    let server = start(Config { threads: 3, ..Config::default() });
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let mut client = connect(&server);
            std::thread::spawn(move || {
                for _ in 0..250 {
                    assert_eq!(client.get("/").status, 200);
                    assert_eq!(client.get("/json").status, 200);
                }
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    let stats = server.stop().unwrap();
    assert_eq!((stats.requests_accepted, stats.requests_answered), (4000, 4000));
    assert_eq!(stats.connections_accepted, 8);
    assert_eq!(stats.connections_refused + stats.accept_errors, 0);
    let scenarios: Vec<_> = stats.requests_by_scenario.into_iter().collect();
    assert_eq!(scenarios, [("hello", 2000), ("json", 2000)]);
}

#[test]
fn heads_empty_bodies_and_errors_count_as_answers() {
    let server = start(Config::default());
    let mut client = connect(&server);
    client.ask("HEAD", "/large", &[], b"");
    client.ask("OPTIONS", "/api", &[], b"");
    for path in ["/status/304", "/bytes/0", "/small", "/nowhere", "/large"] {
        client.get(path);
    }
    drop(client);
    let stats = server.stop().unwrap();
    assert_eq!((stats.requests_accepted, stats.requests_answered), (7, 7));
}

#[test]
fn questions_about_the_server_do_not_count_themselves() {
    let server = start(Config::default());
    for _ in 0..3 {
        connect(&server).get("/__stats");
    }
    let mut client = connect(&server);
    client.get("/");
    let answer = client.get("/__stats");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let stats: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(stats["requests_accepted"], 1);
    assert_eq!(stats["requests_answered"], 1);
    assert_eq!(stats["connections_accepted"], 1);
    assert_eq!(stats["connections_open"], 1);
    assert_eq!(stats["requests_by_scenario"]["hello"], 1);
    drop(client);
    assert_eq!(server.stop().unwrap().requests_accepted, 1);
}

#[test]
fn what_is_not_http_is_no_request() {
    let server = start(Config::default());
    let mut client = connect(&server);
    client.send("nonsense\r\n\r\n");
    assert_eq!(client.read_answer().status, 400);
    assert_eq!(server.stop().unwrap().requests_accepted, 0);
}
