//! Where the kernel forbids io_uring, a run that asks for it is made with epoll, and says so when
//! asked; where its epoll waits by the millisecond, a run keeps its schedule. In a process of its own, because a
//! pretence holds for a whole process.

use crate::common::*;
use candor_engine::reactor::{epoll_wait, uring};
use candor_engine::{Control, probe_uring, run};
use candor_plan::{Arrivals, Endpoint, ReactorChoice};
use candor_record::Quantile;
use candor_testkit::peer::{Peer, Script};

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

#[test]
fn an_old_kernels_epoll_keeps_the_schedule() {
    epoll_wait::pretend_old_kernel();
    let peer = Peer::start(Script::answers());
    let mut plan = plan(40, open(4_000, Arrivals::Constant), 200 * MS);
    let port = peer.addr().port();
    plan.target.endpoint = Endpoint::Tcp { host: "127.0.0.1".to_owned(), port };
    plan.threads.reactor = ReactorChoice::Epoll;
    // 250 us between two of them: a wait by the millisecond sends three of four late, however quiet the machine is.
    let on_time = (1..=10).any(|runs| {
        let record = run(&checked(&plan), &Control::default(), &mut ()).unwrap();
        let ledger = &record.total.ledger;
        assert!(ledger.balances(), "{ledger:?}");
        assert_eq!((ledger.ok, peer.requests()), (800, 800 * runs));
        record.total.latencies.send_lag.quantile_ns(Quantile::nearest(0.5)) < Some(250_000)
    });
    assert!(on_time);
}
