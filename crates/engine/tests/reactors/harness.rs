//! The reactors that every behaviour is tested on, and runs over each of them.

use std::net::SocketAddr;

use candor_engine::reactor::socket::{Address, Dialer};
use candor_engine::reactor::uring::{Shape, TaskWork};
use candor_engine::reactor::{Reactor, Start, dozing, epoll, uring};
use candor_engine::{Control, drive, probe_uring, run};
use candor_plan::{Endpoint, Parts, ReactorChoice};
use candor_protocol::Transport;
use candor_record::RunRecord;

use crate::common::{checked, closed, plan};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    Epoll,
    Dozing,
    Uring,
    Cooperative,
    FewBuffers,
}

/// Something to do with a reactor of any kind.
pub(crate) trait With<T> {
    fn with<R: Reactor>(self, reactor: R) -> T;
}

impl On {
    pub(crate) fn is_possible(self) -> bool {
        match probe_uring() {
            Err(reason) if !matches!(self, On::Epoll | On::Dozing) => {
                println!("skipped: {reason}");
                false
            }
            _ => true,
        }
    }

    pub(crate) fn reactor<T>(self, dialer: Dialer, job: impl With<T>) -> T {
        let few = Shape { count: 4, bytes: 256 };
        let uring = |buffers, task_work| {
            uring::Unstarted::with(dialer.clone(), buffers, task_work).unwrap().start()
        };
        match self {
            On::Epoll => job.with(epoll::Unstarted::new(dialer).unwrap().start()),
            On::Dozing => job.with(dozing::Unstarted::new(dialer).unwrap().start()),
            On::Uring => job.with(uring::Unstarted::new(dialer).unwrap().start()),
            On::Cooperative => job.with(uring(uring::BUFFERS, TaskWork::Cooperative)),
            On::FewBuffers => {
                let reactor = uring::Unstarted::with(dialer, few, TaskWork::Deferred).unwrap();
                job.with(reactor.start())
            }
        }
    }

    /// A whole run against `address`. Over threads where `run` can choose this reactor.
    pub(crate) fn run(self, plan: &Parts, address: &Address) -> RunRecord {
        let mut plan = plan.clone();
        plan.target.endpoint = match address {
            Address::Tcp(address) => {
                Endpoint::Tcp { host: address.ip().to_string(), port: address.port() }
            }
            Address::Unix(path) => Endpoint::Unix { path: path.clone() },
        };
        plan.threads.count = Some(plan.connections.count.min(2));
        let control = Control::default();
        let over_threads = |choice| {
            let mut plan = plan.clone();
            plan.threads.reactor = choice;
            run(&checked(&plan), &control, &mut ()).unwrap()
        };
        let record = match self {
            On::Epoll => over_threads(ReactorChoice::Epoll),
            On::Uring => over_threads(ReactorChoice::Uring),
            _ => {
                struct Drive<'a>(&'a Parts);
                impl With<RunRecord> for Drive<'_> {
                    fn with<R: Reactor>(self, reactor: R) -> RunRecord {
                        drive(&checked(self.0), reactor, &Control::default())
                    }
                }
                self.reactor(dialer(address.clone()), Drive(&plan))
            }
        };
        assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
        record
    }
}

pub(crate) fn dialer(address: Address) -> Dialer {
    let transports = [Transport::Stream].into();
    let targets = [[address.into()].into()].into();
    Dialer { targets, names: None, sources: [].into(), nodelay: true, transports }
}

pub(crate) fn tcp(address: SocketAddr) -> Address {
    Address::Tcp(address)
}

/// A closed load of exactly `count` requests.
pub(crate) fn counted(connections: u32, count: u64) -> Parts {
    let mut plan = plan(connections, closed(0), 0);
    plan.stop.duration_ns = None;
    plan.stop.count = Some(count);
    plan
}

pub(crate) fn answer(body_bytes: usize) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {body_bytes}\r\n\r\n");
    [head.into_bytes(), vec![b'x'; body_bytes]].concat()
}

pub(crate) fn assert_all_ok(record: &RunRecord, requests: u64) {
    let ledger = &record.total.ledger;
    assert_eq!((ledger.sent, ledger.ok, ledger.unfinished), (requests, requests, 0), "{ledger:?}");
}
