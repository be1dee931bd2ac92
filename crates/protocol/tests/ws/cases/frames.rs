//! Groups 1 to 5: framing, pings, reserved bits, opcodes, fragmentation.

use candor_protocol::ws::Error;

use super::{Case, Ending};
use crate::support::*;

fn octets(frame: &[u8]) -> Vec<Vec<u8>> {
    frame.chunks(1).map(<[u8]>::to_vec).collect()
}

fn text_frame(payload: &[u8]) -> Vec<u8> {
    frame(FIN | TEXT, payload)
}

fn ping(payload: &[u8]) -> Vec<u8> {
    frame(FIN | PING, payload)
}

pub(super) fn framing() -> Vec<Case> {
    let lengths = [0, 125, 126, 127, 128, 65_535, 65_536, 65_536];
    let mut cases = Vec::new();
    for (group, fill, opcode) in [(1, b'*', TEXT), (2, 0xfe, BINARY)] {
        for (number, length) in (1..).zip(lengths) {
            let payload = vec![fill; length];
            let frame = frame(FIN | opcode, &payload);
            // The last of them in pieces of 997 bytes.
            let script = match number {
                8 => frame.chunks(997).map(<[u8]>::to_vec).collect(),
                _ => vec![frame],
            };
            let case = Case::new(&format!("1.{group}.{number}"), script, Ending::Open);
            let case = case.echoes([&payload]);
            cases.push(if opcode == BINARY { case.binary() } else { case });
        }
    }
    cases
}

pub(super) fn pings() -> Vec<Case> {
    let binary = [0x00, 0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0x00, 0xff];
    let long = [0xfe; 125];
    let payloads: Vec<String> = (0..10).map(|n| format!("payload-{n}")).collect();
    let payloads: [&[u8]; 10] = std::array::from_fn(|n| payloads[n].as_bytes());
    let ten: Vec<Vec<u8>> = payloads.iter().map(|one| ping(one)).collect();
    let one =
        |id, payload: &[u8]| Case::new(id, vec![ping(payload)], Ending::Open).pongs([payload]);
    let pong = frame(FIN | PONG, b"unsolicited pong payload");
    vec![
        one("2.1", b""),
        one("2.2", b"Hello, world!"),
        one("2.3", &binary),
        one("2.4", &long),
        Case::new("2.5", vec![ping(&[0xfe; 126])], Ending::Failed(Error::ControlLength, 0)),
        Case::new("2.6", octets(&ping(&long)), Ending::Open).pongs([&long]),
        Case::new("2.7", vec![frame(FIN | PONG, b"")], Ending::Open),
        Case::new("2.8", vec![pong.clone()], Ending::Open),
        Case::new("2.9", vec![pong, ping(b"ping payload")], Ending::Open).pongs([b"ping payload"]),
        Case::new("2.10", ten.clone(), Ending::Open).pongs(payloads),
        Case::new("2.11", octets(&ten.concat()), Ending::Open).pongs(payloads),
    ]
}

pub(super) fn reserved_bits() -> Vec<Case> {
    let hello: &[u8] = b"Hello, world!";
    let with = |rsv: u8, opcode: u8| frame(FIN | rsv << 4 | opcode, hello);
    let alone = |id, frame| Case::new(id, vec![frame], Ending::Failed(Error::ReservedBits, 0));
    let second = |id, rsv| {
        let script = vec![text_frame(hello), with(rsv, TEXT), ping(b"")];
        Case::new(id, script, Ending::Failed(Error::ReservedBits, 1)).echoes([hello])
    };
    let script = [octets(&text_frame(hello)), octets(&with(4, TEXT)), octets(&ping(b""))].concat();
    // At the second byte of the second frame, after 15 of the first.
    let in_octets = Case::new("3.4", script, Ending::Failed(Error::ReservedBits, 16));
    vec![
        alone("3.1", with(1, TEXT)),
        second("3.2", 2),
        second("3.3", 3),
        in_octets.echoes([hello]),
        alone("3.5", with(5, BINARY)),
        alone("3.6", with(6, PING)),
        alone("3.7", with(7, CLOSE)),
    ]
}

pub(super) fn opcodes() -> Vec<Case> {
    let hello: &[u8] = b"Hello, world!";
    let mut cases = Vec::new();
    for (group, first) in [(1, 3), (2, 11)] {
        for number in 1..=5 {
            let opcode = first + number - 1;
            let id = format!("4.{group}.{number}");
            let payload: &[u8] =
                if matches!(number, 2 | 4 | 5) { b"reserved opcode payload" } else { b"" };
            let wrong = frame(FIN | opcode, payload);
            let error = Error::Opcode(opcode);
            cases.push(match number {
                1 | 2 => Case::new(&id, vec![wrong], Ending::Failed(error, 0)),
                3 | 4 => {
                    let script = vec![text_frame(hello), wrong, ping(b"")];
                    Case::new(&id, script, Ending::Failed(error, 1)).echoes([hello])
                }
                _ => {
                    let script =
                        [vec![text_frame(hello)], octets(&wrong), vec![ping(b"")]].concat();
                    Case::new(&id, script, Ending::Failed(error, 2)).echoes([hello])
                }
            });
        }
    }
    cases
}

pub(super) fn fragmentation() -> Vec<Case> {
    let (one, two): (&[u8], &[u8]) = (b"fragment1", b"fragment2");
    let both: &[u8] = b"fragment1fragment2";
    let text = fragments(TEXT, [one, two]);
    let with_ping = vec![text[0].clone(), ping(b"ping payload"), text[1].clone()];
    let lonely =
        |fin: u8| vec![frame(fin, b"non-continuation payload"), text_frame(b"Hello, world!")];
    let twice = |fin: u8| {
        vec![
            frame(fin, b"fragment1"),
            text_frame(b"fragment2"),
            frame(fin, b"fragment3"),
            text_frame(b"fragment4"),
        ]
    };
    let whole = |script: &[Vec<u8>]| vec![script.concat()];
    let split = |script: &[Vec<u8>]| octets(&script.concat());
    let echo = |id, script| Case::new(id, script, Ending::Open).echoes([both]);
    let pinged = |id, script| echo(id, script).pongs([b"ping payload"]);
    let fails = |id, script, error, at| Case::new(id, script, Ending::Failed(error, at));
    let control = |opcode| vec![frame(opcode, one), frame(FIN, two)];
    let five: [&[u8]; 5] = [b"fragment1", b"fragment2", b"fragment3", b"fragment4", b"fragment5"];
    let mut long = fragments(TEXT, five);
    long.insert(2, ping(b"pongme 1!"));
    long.insert(5, ping(b"pongme 2!"));
    let long_of = |id, script| {
        Case::new(id, script, Ending::Open)
            .echoes([five.concat().as_slice()])
            .pongs([b"pongme 1!", b"pongme 2!"])
    };
    let left_over =
        [text.clone(), vec![frame(CONTINUATION, b"fragment3"), text_frame(b"fragment4")]].concat();
    let unfinished = vec![frame(TEXT, one), frame(FIN | TEXT, two)];
    vec![
        fails("5.1", control(PING), Error::ControlFragmented, 0),
        fails("5.2", control(PONG), Error::ControlFragmented, 0),
        echo("5.3", whole(&text)),
        echo("5.4", text.clone()),
        echo("5.5", split(&text)),
        pinged("5.6", whole(&with_ping)),
        pinged("5.7", with_ping.clone()),
        pinged("5.8", split(&with_ping)),
        fails("5.9", whole(&lonely(FIN)), Error::Continuation, 0),
        fails("5.10", lonely(FIN), Error::Continuation, 0),
        fails("5.11", split(&lonely(FIN)), Error::Continuation, 1),
        fails("5.12", whole(&lonely(0)), Error::Continuation, 0),
        fails("5.13", lonely(0), Error::Continuation, 0),
        fails("5.14", split(&lonely(0)), Error::Continuation, 1),
        fails("5.15", left_over, Error::Continuation, 2).echoes([both]),
        fails("5.16", twice(0), Error::Continuation, 0),
        fails("5.17", twice(FIN), Error::Continuation, 0),
        fails("5.18", unfinished, Error::Interleaved, 1),
        long_of("5.19", whole(&long)),
        long_of("5.20", long),
    ]
}
