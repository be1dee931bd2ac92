//! The system's nginx, started for a test and ended with it.

use candor_testkit::client::Client;
use candor_testkit::nginx::{BODY, Nginx};

#[test]
fn nginx_answers_counts_and_logs() {
    let nginx = Nginx::start(true).unwrap();
    let address = nginx.address();
    let before = nginx.counts().unwrap();
    let mut client = Client::connect(address);
    for _ in 0..10 {
        assert_eq!(client.get("/").text(), BODY);
    }
    assert_eq!(client.get("/large").body.len(), 65536);
    let after = nginx.counts().unwrap();
    // Ours, and the question itself.
    assert_eq!(after.requests - before.requests, 11 + 1);
    assert_eq!(after.accepts - before.accepts, 1 + 1);
    assert_eq!(nginx.stop().unwrap(), 11);
    assert!(std::net::TcpStream::connect(address).is_err());
}
