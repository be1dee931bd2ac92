//! Service time in three parts: exactly on simulated time, and with a real kernel on loopback.

use crate::common::trace::drive_traced;
use crate::common::*;
use candor_engine::{Control, run};
use candor_plan::{Arrivals, Endpoint, KernelTimestamps, Parts};
use candor_record::RunRecord;
use candor_record::kernel::KernelTimes;
use candor_testkit::peer::{Peer, Script};
use candor_testkit::sim::{Link, Reaction, SimReactor, ok_bytes};

const US: u64 = 1_000;

/// The parts of a run in which each request is answered 5 ms after it was sent.
fn simulated(plan: &Parts, link: Link) -> (RunRecord, KernelTimes) {
    let server =
        |at_ns: u64, _: u64, _: u64| Reaction::Answer { at_ns: at_ns + 5 * MS, bytes: ok_bytes() };
    let (record, _) = drive_traced(plan, SimReactor::new(server, link));
    let kernel = record.kernel.clone().expect("the simulated kernel stamps");
    assert_adds_up(&kernel);
    (record, kernel)
}

fn assert_adds_up(kernel: &KernelTimes) {
    let parts = [&kernel.send_delay, &kernel.outside, &kernel.receive_delay];
    let sum: u128 = parts.iter().map(|part| part.sum_ns()).sum();
    assert_eq!(kernel.service.sum_ns(), sum);
    assert!(parts.iter().all(|part| part.count() == kernel.service.count()));
    assert!(parts.iter().all(|part| part.max_ns() <= kernel.service.max_ns()));
}

#[test]
fn the_parts_are_exact_on_simulated_time() {
    let link = Link { left_after_ns: Some(2 * US), ..Link::default() };
    let plan = plan(50, open(1000, Arrivals::Constant), 2 * S);
    let (record, kernel) = simulated(&plan, link);
    assert_eq!(kernel.service.count(), record.total.ledger.ok);
    assert_eq!(kernel.send_delay.min_ns(), Some(2 * US));
    assert_eq!(kernel.send_delay.max_ns(), Some(2 * US));
    assert_eq!(kernel.outside.min_ns(), Some(5 * MS - 2 * US));
    assert_eq!(kernel.outside.max_ns(), Some(5 * MS - 2 * US));
    assert_eq!(kernel.receive_delay.max_ns(), Some(0));
}

/// A pause of the loader is in the histogram of service times, where it looks like the server's;
/// the stamps tell that the answers were there.
#[test]
fn our_own_pause_is_receive_delay_and_not_outside() {
    let pause = Some((S, 500 * MS));
    let link = Link { left_after_ns: Some(2 * US), pause, ..Link::default() };
    let (record, kernel) = simulated(&plan(50, open(1000, Arrivals::Constant), 3 * S), link);
    assert!(record.total.latencies.service.max_ns() >= Some(499 * MS));
    assert_eq!(kernel.outside.max_ns(), Some(5 * MS - 2 * US));
    // The first answer in the pause came at its beginning or up to 1 ms after it.
    let longest_ns = kernel.receive_delay.max_ns().unwrap();
    assert!((499 * MS..=500 * MS).contains(&longest_ns), "{longest_ns}");
}

/// Four requests leave in one call or in pieces of seven bytes, and their answers come in one
/// read or in many: what has both stamps for sure is timed, everything else is counted.
#[test]
fn pipelines_and_pieces_are_timed_or_counted() {
    for send_limit_bytes in [0, 7] {
        for piece_bytes in [0, 9] {
            let left_after_ns = Some(2 * US);
            let link = Link { left_after_ns, send_limit_bytes, piece_bytes, ..Link::default() };
            let mut plan = plan(3, closed(0), S);
            plan.connections.pipeline = 4;
            let (record, kernel) = simulated(&plan, link);
            let timed = kernel.service.count();
            let counted = kernel.without_send_stamp + kernel.without_receive_stamp;
            assert_eq!(timed + counted, record.total.ledger.ok);
            assert_eq!((kernel.without_send_stamp, kernel.out_of_order), (0, 0));
            assert!(timed >= record.total.ledger.ok / 4, "{timed}");
            assert_eq!(kernel.send_delay.max_ns(), Some(2 * US));
        }
    }
}

fn against(script: Script, plan: &mut Parts) -> (RunRecord, Peer) {
    let peer = Peer::start(script);
    let port = peer.addr().port();
    plan.target.endpoint = Endpoint::Tcp { host: "127.0.0.1".to_owned(), port };
    let record = run(&checked(plan), &Control::default(), &mut ()).expect("a run");
    assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
    (record, peer)
}

#[test]
fn a_real_kernel_stamps_nearly_every_request() {
    let mut plan = plan(4, closed(0), 500 * MS);
    plan.recording.kernel_timestamps = Some(KernelTimestamps { one_in: 1 });
    let (record, peer) = against(Script::answers(), &mut plan);
    let kernel = record.kernel.expect("Linux stamps TCP");
    assert_adds_up(&kernel);
    let ok = record.total.ledger.ok;
    assert_eq!(record.total.ledger.sent, peer.requests());
    assert_eq!(record.total.ledger.errors.total(), 0);
    assert_eq!((kernel.connections, kernel.refused, kernel.refusal.as_deref()), (4, 0, None));
    let timed = kernel.service.count();
    let missing = kernel.without_send_stamp + kernel.without_receive_stamp + kernel.out_of_order;
    assert_eq!(timed + missing, ok, "{kernel:?}");
    assert!(timed * 100 >= ok * 95, "{timed} of {ok}: {kernel:?}");
    assert!(kernel.send_delay.min_ns() > Some(0), "a stamp comes after the call");
    assert!(kernel.conversion_error_ns < MS, "{}", kernel.conversion_error_ns);
}

#[test]
fn one_connection_in_two_has_half_of_the_requests() {
    let mut plan = plan(4, open(400, Arrivals::Constant), 500 * MS);
    plan.recording.kernel_timestamps = Some(KernelTimestamps { one_in: 2 });
    let (record, _peer) = against(Script::answers(), &mut plan);
    let kernel = record.kernel.expect("Linux stamps TCP");
    assert_eq!((record.total.ledger.ok, kernel.connections), (200, 2));
    let timed = kernel.service.count();
    assert!((60..=140).contains(&timed), "places take turns: {timed} of 200");
}

#[test]
fn a_connection_that_breaks_is_noticed_in_spite_of_stamps() {
    for script in [Script::resets_mid_body(), Script::closes_unanswered()] {
        let mut plan = plan(2, closed(0), 300 * MS);
        plan.recording.kernel_timestamps = Some(KernelTimestamps { one_in: 1 });
        let (record, _peer) = against(script, &mut plan);
        let ledger = &record.total.ledger;
        assert!(ledger.errors.total() > 0 && ledger.unfinished == 0, "{ledger:?}");
    }
}
