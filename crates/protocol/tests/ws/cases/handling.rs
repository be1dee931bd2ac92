//! Groups 7 and 10: closing, and fragments of ours.

use std::num::NonZeroUsize;

use candor_protocol::ws::{Error, Settings};

use super::{Case, Ending, expect};
use crate::support::*;

pub(super) fn closing() -> Vec<Case> {
    let hello: &[u8] = b"Hello World!";
    let text_frame = |payload: &[u8]| frame(FIN | TEXT, payload);
    let normal = || close(1000, b"");
    let ping = || frame(FIN | PING, b"");
    let closed = |id, script| Case::new(id, script, Ending::Closed(1000));
    let large = b"BAsd7&jh23".repeat(26_215);
    let large = &large[..256 << 10];
    let broken = |id: &str, payload: &[u8], error| {
        Case::new(id, vec![frame(FIN | CLOSE, payload)], Ending::Failed(error, 0))
    };
    let invalid = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited";
    let reason = |bytes: &[u8]| [&1000u16.to_be_bytes()[..], bytes].concat();
    let parts = fragments(TEXT, [&b"fragment1"[..], b"fragment2"]);
    let mut cases = vec![
        closed("7.1.1", vec![text_frame(hello), normal()]).echoes([hello]),
        closed("7.1.2", vec![normal(), normal()]),
        closed("7.1.3", vec![normal(), ping()]),
        closed("7.1.4", vec![normal(), text_frame(hello)]),
        closed("7.1.5", vec![parts[0].clone(), normal(), parts[1].clone()]),
        closed("7.1.6", vec![text_frame(large), text_frame(hello), normal(), ping()])
            .echoes([large, hello]),
        Case::new("7.3.1", vec![frame(FIN | CLOSE, b"")], Ending::Closed(1005)),
        broken("7.3.2", b"a", Error::CloseLength),
        closed("7.3.3", vec![normal()]),
        closed("7.3.4", vec![close(1000, b"Hello World!")]),
        closed("7.3.5", vec![close(1000, &[b'*'; 123])]),
        broken("7.3.6", &reason(&[b'*'; 124]), Error::ControlLength),
        broken("7.5.1", &reason(invalid), Error::CloseReason),
    ];
    let valid = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999];
    for (number, code) in (1..).zip(valid) {
        cases.push(Case::new(
            &format!("7.7.{number}"),
            vec![close(code, b"")],
            Ending::Closed(code),
        ));
    }
    for (number, code) in (1..).zip([0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999]) {
        let id = format!("7.9.{number}");
        cases.push(broken(&id, &u16::to_be_bytes(code), Error::CloseCode(code)));
    }
    // Not defined by the RFC: refused.
    for (number, code) in [(1, 5000), (2, 65_535)] {
        let id = format!("7.13.{number}");
        cases.push(broken(&id, &u16::to_be_bytes(code), Error::CloseCode(code)));
    }
    cases
}

/// 10.1.1: 65,536 bytes in fragments of 1300, in both directions.
pub(super) fn fragments_of_ours() -> Vec<(String, Result<(), String>)> {
    let payload = vec![b'*'; 65_536];
    let mut message = message(candor_protocol::ws::Kind::Text, &payload);
    message.fragment_bytes = NonZeroUsize::new(1300);
    let mut session = open(&[message], Settings::default());
    let sent = send_all(&mut session, 1);
    let lengths: Vec<usize> = sent.iter().map(|frame| frame.payload.len()).collect();
    let firsts: Vec<u8> = sent.iter().map(|frame| frame.first).collect();
    let (full, rest) = (65_536 / 1300, 65_536 % 1300);
    let wanted_lengths = [vec![1300; full], vec![rest]].concat();
    let wanted_firsts = [vec![TEXT], vec![CONTINUATION; full - 1], vec![FIN]].concat();
    let echo = fragments(TEXT, payload.chunks(1300)).concat();
    let result = expect("lengths", &lengths, &wanted_lengths)
        .and_then(|()| expect("frames", &firsts, &wanted_firsts))
        .and_then(|()| expect("message", &messages(&sent), &vec![(TEXT, payload.clone())]))
        .and_then(|()| expect("events", &feed(&mut session, &echo), &vec![done(0, 65_536)]));
    vec![("10.1.1".to_owned(), result)]
}
