//! Where the kernel forbids io_uring, a run that asks for it is made with epoll, and says so when
//! asked. In a process of its own, because the pretence holds for a whole process.

mod common;

use candor_engine::reactor::uring;
use candor_engine::{Control, probe_uring, run};
use candor_plan::{Endpoint, ReactorChoice};
use candor_testkit::peer::{Peer, Script};
use common::*;

#[test]
fn a_forbidden_uring_falls_back_to_epoll() {
    uring::pretend_forbidden();
    assert!(probe_uring().unwrap_err().contains("forbidden"));
    let peer = Peer::start(Script::answers());
    let mut plan = plan(2, closed(0), 100 * MS);
    let port = peer.addr().port();
    plan.target.endpoint = Endpoint::Tcp { host: "127.0.0.1".to_owned(), port };
    plan.threads.reactor = ReactorChoice::Uring;
    let record = run(&checked(&plan), &Control::default(), &mut ()).unwrap();
    let ledger = &record.total.ledger;
    assert!(ledger.balances() && ledger.ok > 0, "{ledger:?}");
    assert_eq!(ledger.sent, peer.requests());
}
