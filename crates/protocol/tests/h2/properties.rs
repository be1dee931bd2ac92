//! What holds for any bytes and any order of calls.

use std::collections::HashSet;

use candor_protocol::h2::{Prepared, Session, Settings};
use candor_protocol::{Event, Outgoing, Session as _};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::*;

/// What a server or an engine may do.
#[derive(Debug, Clone)]
enum Step {
    /// A request is handed in, if there is a place.
    Request,
    /// Everything is written.
    Transmit,
    /// So many bytes are written.
    TransmitSome(usize),
    /// The oldest request but this many is cancelled.
    Cancel(usize),
    Input(Vec<u8>),
}

/// Header blocks: good ones, ones that use the dynamic table, and bad ones.
fn block() -> impl Strategy<Value = Vec<u8>> {
    let fields = prop_oneof![
        4 => Just(vec![0x88]),
        2 => Just(vec![0x8b]),
        1 => Just(vec![0x08, 3, b'1', b'0', b'3']),
        2 => Just(vec![0x40, 1, b'x', 1, b'y']),
        1 => Just(vec![0xbe]),
        1 => Just(vec![0x0f, 0x0d, 1, b'3']),
        1 => Just(vec![0x0f, 0x0d, 1, b'0']),
        1 => Just(vec![0x20]),
        1 => vec(any::<u8>(), 0..8),
        1 => Just(literal("x", "a\nb")),
    ];
    vec(fields, 0..4).prop_map(|parts| parts.concat())
}

/// A frame on one of the first streams: mostly of right form, sometimes not.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let stream = prop_oneof![8 => (0u32..6).prop_map(|n| 2 * n + 1), 1 => 0u32..8];
    let payload = prop_oneof![
        vec(any::<u8>(), 0..12),
        Just(vec![0; 4]),
        Just(vec![0, 0, 0, 9]),
        Just(vec![0; 8]),
    ];
    prop_oneof![
        6 => (stream.clone(), block(), 0u8..2)
            .prop_map(|(stream, block, end)| frame(HEADERS, END_HEADERS | end, stream, &block)),
        2 => (stream.clone(), block(), 0u8..2)
            .prop_map(|(stream, block, end)| [
                frame(HEADERS, end, stream, b""),
                frame(CONTINUATION, END_HEADERS, stream, &block),
            ].concat()),
        4 => (stream.clone(), vec(any::<u8>(), 0..6), 0u8..2)
            .prop_map(|(stream, content, end)| frame(DATA, end, stream, &content)),
        1 => (stream.clone(), 0u8..2)
            .prop_map(|(stream, end)| frame(DATA, PADDED | end, stream, &[2, b'a', b'b', 0, 0])),
        2 => (stream.clone(), 0u32..9).prop_map(|(stream, code)| number(RST_STREAM, stream, code)),
        1 => (stream.clone(), 0u32..9).prop_map(|(stream, by)| number(WINDOW_UPDATE, stream, by)),
        1 => (0u16..7, 0u32..9).prop_map(|(id, value)| setting(id, value)),
        1 => (0u32..12).prop_map(|last| goaway(last, 0)),
        1 => Just(frame(PING, 0, 0, &[0; 8])),
        1 => Just(frame(SETTINGS, ACK, 0, &[])),
        1 => (0u8..12, any::<u8>(), stream, payload)
            .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Request),
        4 => Just(Step::Transmit),
        1 => (0usize..200).prop_map(Step::TransmitSome),
        1 => (0usize..3).prop_map(Step::Cancel),
        8 => any_frame().prop_map(Step::Input),
        1 => vec(any::<u8>(), 0..20).prop_map(Step::Input),
    ]
}

fn requests() -> [Prepared; 3] {
    [prepared("GET", b""), prepared("POST", &[b'b'; 70_000]), prepared("HEAD", b"")]
}

/// Everything a session said, and wrote, when `steps` were done to it; input comes in pieces of
/// `piece` bytes.
fn run(steps: &[Step], piece: usize) -> (Vec<Event>, Vec<u8>) {
    let settings = Settings { streams: 4, stream_window_bits: 4, ..Settings::default() };
    let mut session = ready_with(&requests(), settings);
    let (mut events, mut written) = (Vec::new(), Vec::new());
    let mut open: Vec<u32> = Vec::new();
    let mut next = 0;
    for step in steps {
        match step {
            Step::Request if session.free_places() > 0 => {
                session.handle_request(next, Outgoing::Listed(next % 3));
                open.push(next);
                next += 1;
            }
            Step::Request => {}
            Step::Transmit => written.extend(transmit(&mut session)),
            Step::TransmitSome(most) => written.extend(transmit_some(&mut session, *most)),
            Step::Cancel(back) => {
                if let Some(id) = open.get(*back).copied() {
                    assert!(session.cancel(id));
                    open.remove(*back);
                }
            }
            Step::Input(bytes) => {
                for part in bytes.chunks(piece) {
                    for event in feed(&mut session, part) {
                        settle(&mut open, &event);
                        events.push(event);
                    }
                }
            }
        }
        if matches!(events.last(), Some(Event::Failed { .. })) {
            written.extend(transmit(&mut session));
            return (events, written);
        }
        assert_eq!(session.outstanding() as usize, open.len());
        assert!(session.outstanding() + session.free_places() <= 4);
    }
    written.extend(transmit(&mut session));
    for event in end(&mut session) {
        settle(&mut open, &event);
        events.push(event);
    }
    assert!(open.is_empty(), "without an outcome: {open:?}");
    (events, written)
}

fn transmit_some(session: &mut Session, most: usize) -> Vec<u8> {
    let mut slices = [std::io::IoSlice::new(&[]); 1];
    if session.poll_transmit(0, &mut slices).slices == 0 {
        return Vec::new();
    }
    let bytes = slices[0][..slices[0].len().min(most)].to_vec();
    session.handle_transmitted(0, bytes.len(), &mut |_| {});
    bytes
}

/// An outcome must be that of a request which has none yet.
fn settle(open: &mut Vec<u32>, event: &Event) {
    let id = match event {
        Event::Done(answer) => answer.id,
        Event::RequestFailed { id, .. } | Event::Failed { id: Some(id), .. } => *id,
        Event::FirstByte(id) => return assert!(open.contains(id), "{id} is not outstanding"),
        _ => return,
    };
    let at = open.iter().position(|other| *other == id);
    open.remove(at.unwrap_or_else(|| panic!("{id} has an outcome twice, or never was")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_request_has_one_outcome_and_cuts_mean_nothing(
        steps in vec(step(), 0..60),
        piece in 2usize..40,
    ) {
        let whole = run(&steps, usize::MAX);
        prop_assert_eq!(&run(&steps, 1), &whole);
        prop_assert_eq!(&run(&steps, piece), &whole);
        let first_bytes: Vec<u32> = whole.0.iter().filter_map(|event| match event {
            Event::FirstByte(id) => Some(*id),
            _ => None,
        }).collect();
        let different: HashSet<u32> = first_bytes.iter().copied().collect();
        prop_assert_eq!(first_bytes.len(), different.len());
        // What was written is whole frames, whatever happened.
        let whole_frames = frames(&whole.1);
        // Streams only grow, and nobody sends on one after its end.
        let mut last = 0;
        let mut ended = HashSet::new();
        for frame in whole_frames {
            if frame.kind == HEADERS {
                prop_assert!(frame.stream > last && frame.stream % 2 == 1);
                last = frame.stream;
            }
            if matches!(frame.kind, DATA | HEADERS) {
                prop_assert!(!ended.contains(&frame.stream), "sent on {}", frame.stream);
            }
            if frame.kind == RST_STREAM || (frame.kind < 2 && frame.flags & END_STREAM != 0) {
                ended.insert(frame.stream);
            }
        }
    }

    #[test]
    fn any_bytes_at_the_beginning_are_read_without_harm(bytes in vec(any::<u8>(), 0..100)) {
        let events = |piece: usize| {
            let mut session = session(&requests(), Settings::default());
            transmit(&mut session);
            bytes.chunks(piece).flat_map(|part| feed(&mut session, part)).collect::<Vec<_>>()
        };
        prop_assert_eq!(events(1), events(usize::MAX));
    }
}
