//! The trace's format: a written trace can be read, and cuts and damage are detected.

use candor_record::trace::format::*;
use candor_record::{Outcome, Phase, TraceCounts, Traced};
use proptest::prelude::*;

fn any_traced() -> impl Strategy<Value = Traced> {
    let outcomes: Vec<Outcome> = Outcome::all().collect();
    let time = || prop_oneof![0..10_000_000u64, any::<u64>()];
    let times = (time(), time(), time(), time(), time());
    let rest = (any::<u64>(), any::<u32>(), any::<u32>(), any::<u16>(), any::<bool>());
    (times, rest, prop::sample::select(outcomes)).prop_map(
        |((due_ns, ready_ns, sent_ns, first_byte_ns, done_ns), rest, outcome)| {
            let (index, request, connection, status, warm_up) = rest;
            let phase = if warm_up { Phase::WarmUp } else { Phase::Measured };
            let one = Traced {
                index,
                due_ns,
                ready_ns,
                sent_ns,
                first_byte_ns,
                done_ns,
                request,
                connection,
                outcome,
                status,
                phase,
            };
            if one.was_sent() {
                return one;
            }
            // Requests that were never sent have none of these times.
            let (ready_ns, sent_ns, first_byte_ns) = (0, 0, 0);
            let (request, connection, status) = (0, 0, 0);
            Traced { ready_ns, sent_ns, first_byte_ns, request, connection, status, ..one }
        },
    )
}

/// Frames until the bytes end, and whether they end with a whole frame.
fn read(bytes: &[u8]) -> (Vec<Frame>, bool) {
    let mut rest = bytes.strip_prefix(MAGIC).expect("the beginning");
    let mut frames = Vec::new();
    while let Some((head, after)) = rest.split_first_chunk::<FRAME_HEAD_BYTES>() {
        let Ok(head) = FrameHead::parse(*head) else { return (frames, false) };
        let Some((payload, after)) = after.split_at_checked(head.length) else {
            return (frames, false);
        };
        let Ok(frame) = head.frame(payload) else { return (frames, false) };
        frames.push(frame);
        rest = after;
    }
    (frames, rest.is_empty())
}

/// The bytes of a written head frame.
fn head_bytes(head: &Head) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_head(&mut bytes, head);
    bytes
}

#[test]
fn a_head_or_a_block_that_would_take_much_memory_is_damaged() {
    // A payload of two million empty names: kind, seed, rule, count, names.
    let mut payload = vec![0, 7, 0, 0x80, 0x89, 0x7a];
    payload.resize(payload.len() + 2_000_000, 0);
    assert_eq!(parse_payload(&payload), None);
    // 4,097 requests of four bytes: never sent, all steps zero.
    let mut block = vec![1, 0x81, 0x20];
    // The number of a request that was shed.
    let shed = 13;
    block.extend([shed, 0, 0, 0].repeat(4097));
    assert_eq!(parse_payload(&block), None);
    block.truncate(block.len() - 4);
    block[1] = 0x80;
    assert!(matches!(parse_payload(&block), Some(Frame::Requests(all)) if all.len() == 4096));
    // A long name is cut, so that the trace can be read.
    let names = vec!["ä".repeat(5000)];
    let (frames, _) = read(&head_bytes(&Head { seed: 7, rule: "all".to_owned(), names }));
    assert!(matches!(&frames[..], [Frame::Head(head)] if head.names[0].len() == 4096));
}

fn written(requests: &[Vec<Traced>]) -> (Vec<u8>, Vec<Frame>) {
    let head = Head { seed: 7, rule: "1/100".to_owned(), names: vec!["GET /ä".to_owned()] };
    let counts = TraceCounts { traced: 3, not_traced: u64::MAX, dropped: 1 };
    let end = End { origin_monotonic_ns: 123_456_789_012, counts };
    let mut bytes = Vec::new();
    put_head(&mut bytes, &head);
    let mut frames = vec![Frame::Head(head)];
    for some in requests {
        put_requests(&mut bytes, some);
        frames.extend((!some.is_empty()).then(|| Frame::Requests(some.clone())));
    }
    put_end(&mut bytes, &end);
    frames.push(Frame::End(end));
    (bytes, frames)
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        requests in prop::collection::vec(prop::collection::vec(any_traced(), 0..20), 0..4)
    ) {
        let (bytes, frames) = written(&requests);
        prop_assert_eq!(read(&bytes), (frames, true));
    }

    /// A cut at any place keeps every frame before it, and no other.
    #[test]
    fn a_cut_loses_what_comes_after_it(
        requests in prop::collection::vec(prop::collection::vec(any_traced(), 1..20), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let (bytes, frames) = written(&requests);
        let cut = MAGIC.len() + cut.index(bytes.len() - MAGIC.len());
        let (found, _) = read(&bytes[..cut]);
        prop_assert!(found.len() < frames.len());
        prop_assert_eq!(&frames[..found.len()], found.as_slice());
    }

    /// A flipped bit is noticed and no frame is misread.
    #[test]
    fn damage_is_noticed(
        requests in prop::collection::vec(prop::collection::vec(any_traced(), 1..20), 1..4),
        at in any::<prop::sample::Index>(),
        bit in 0u32..8,
    ) {
        let (mut bytes, frames) = written(&requests);
        let at = MAGIC.len() + at.index(bytes.len() - MAGIC.len());
        bytes[at] ^= 1u8 << bit;
        let (found, whole) = read(&bytes);
        prop_assert!(!whole);
        prop_assert_eq!(&frames[..found.len()], found.as_slice());
    }

    /// No bytes make the reader panic, or allocate more than their own size.
    #[test]
    fn any_payload_is_taken_or_refused(payload in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = Vec::new();
        put_end(&mut bytes, &End::default());
        let mut framed = (payload.len() as u32).to_le_bytes().to_vec();
        framed.extend([0; 4]);
        framed.extend(&payload);
        let _ = read(&[MAGIC.as_slice(), &framed].concat());
        for kind in 0..4u8 {
            let _ = candor_record::trace::format::parse_payload(
                &[&[kind], payload.as_slice()].concat(),
            );
        }
    }
}

#[test]
fn a_quiet_run_costs_some_twenty_bytes_a_request() {
    let one = |n: u64| Traced {
        index: n,
        due_ns: n * 50_000,
        ready_ns: n * 50_000,
        sent_ns: n * 50_000 + 3_000,
        first_byte_ns: n * 50_000 + 80_000,
        done_ns: n * 50_000 + 80_000,
        request: 0,
        connection: (n % 50) as u32,
        outcome: Outcome::Ok,
        status: 200,
        phase: Phase::Measured,
    };
    let mut bytes = Vec::new();
    put_requests(&mut bytes, &(0..10_000).map(one).collect::<Vec<_>>());
    assert!(bytes.len() < 200_000, "{}", bytes.len());
}
