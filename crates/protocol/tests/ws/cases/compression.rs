//! Groups 12 and 13: permessage-deflate by its defaults, and with parameters.
//!
//! The suite sends 1000 messages of its files; here a few of generated texts of the same kinds are sent, fewer where
//! they are long. The peer is flate2 by itself.

use candor_protocol::ws::{Deflate, Kind, Settings};
use candor_protocol::{Outgoing, Session as _};

use super::expect;
use crate::compression::Peer;
use crate::support::*;

/// Length of messages, and of the fragments in which they come back; 0: one frame.
const SIZES: [(usize, usize); 18] = [
    (16, 0),
    (64, 0),
    (256, 0),
    (1024, 0),
    (4096, 0),
    (8192, 0),
    (16_384, 0),
    (32_768, 0),
    (65_536, 0),
    (131_072, 0),
    (8192, 256),
    (16_384, 256),
    (32_768, 256),
    (65_536, 256),
    (131_072, 256),
    (131_072, 1024),
    (131_072, 4096),
    (131_072, 32_768),
];

/// What both sides agree on: parameters of the response, and whether we ask for them.
struct Agreement {
    no_context_takeover: bool,
    window_bits: Option<u8>,
}

const DEFAULTS: Agreement = Agreement { no_context_takeover: false, window_bits: None };

/// A number that looks random.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Text like JSON, a picture in grey, prose, HTML, and a document that is compressed in part.
fn content(kind: usize, length: usize) -> (Kind, Vec<u8>) {
    let mut state = kind as u64 + 1;
    let words =
        ["Habe", "nun", "ach", "Philosophie", "Juristerei", "und", "Medizin", "leider", "auch"];
    let mut out = Vec::new();
    while out.len() < length {
        let number = next(&mut state);
        match kind {
            0 => {
                out.extend(format!("{{\"id\": {number}, \"name\": \"n{}\"}}, ", number % 7).bytes())
            }
            1 => out.push((128 + (out.len() / 512 % 64) as u64 + number % 16) as u8),
            2 => out.extend(format!("{} ", words[number as usize % words.len()]).bytes()),
            3 => {
                out.extend(format!("<p class=\"c{}\">{}</p>\n", number % 9, number % 1000).bytes())
            }
            _ if out.len() / 4096 % 2 == 0 => {
                out.extend(format!("{} 0 obj <</Length {number}>> ", number % 99).bytes())
            }
            _ => out.push(number as u8),
        }
    }
    out.truncate(length);
    (if matches!(kind, 0 | 3) { Kind::Text } else { Kind::Binary }, out)
}

pub(super) fn defaults() -> Vec<(String, Result<(), String>)> {
    let mut results = Vec::new();
    for kind in 0..5 {
        for (number, (length, fragment)) in (1..).zip(SIZES) {
            let id = format!("12.{}.{number}", kind + 1);
            results.push((id, run(kind, length, fragment, &DEFAULTS)));
        }
    }
    results
}

pub(super) fn parameters() -> Vec<(String, Result<(), String>)> {
    let agreements = [
        (false, None),
        (true, None),
        (false, Some(9)),
        (false, Some(15)),
        (true, Some(9)),
        (true, Some(15)),
        // The suite's seventh offers three of these; a server takes the first.
        (true, Some(9)),
    ];
    let mut results = Vec::new();
    for (group, (no_context_takeover, window_bits)) in (1..).zip(agreements) {
        let agreement = Agreement { no_context_takeover, window_bits };
        for (number, (length, fragment)) in (1..).zip(SIZES) {
            let result = run(0, length, fragment, &agreement);
            results.push((format!("13.{group}.{number}"), result));
        }
    }
    results
}

fn run(kind: usize, length: usize, fragment: usize, agreement: &Agreement) -> Result<(), String> {
    let count = (65_536 / length).clamp(2, 20) as u32;
    let (kind, all) = content(kind, length + count as usize * 13);
    let table: Vec<_> =
        (0..count as usize).map(|n| message(kind, &all[n * 13..][..length])).collect();
    let Agreement { no_context_takeover, window_bits } = *agreement;
    let deflate = Deflate {
        server_no_context_takeover: no_context_takeover,
        server_max_window_bits: window_bits,
        ..Deflate::default()
    };
    let mut response = "permessage-deflate".to_owned();
    if no_context_takeover {
        response.push_str("; client_no_context_takeover; server_no_context_takeover");
    }
    if let Some(bits) = window_bits {
        response =
            format!("{response}; client_max_window_bits={bits}; server_max_window_bits={bits}");
    }
    let lines = format!("Sec-WebSocket-Extensions: {response}\r\n");
    let settings = Settings { deflate: Some(deflate), ..Settings::default() };
    let mut session = open_with(&table, settings, &lines);
    let mut peer = Peer::new(no_context_takeover);
    for (id, message) in (0..).zip(&table) {
        session.handle_request(id, Outgoing::Listed(id));
        let sent = messages(&frames(&transmit(&mut session)));
        let [(first, payload)] = &sent[..] else { return Err(format!("{} messages", sent.len())) };
        expect("is compressed", &(first & RSV1), &RSV1)?;
        let inflated = peer.inflate(payload);
        expect("sent", &inflated, &message.payload.to_vec())?;
        let echo = peer.echo(first & !RSV1, &inflated, fragment);
        let mut events = Vec::new();
        for piece in echo.chunks(997 + id as usize) {
            events.extend(feed(&mut session, piece));
        }
        events.retain(|event| !matches!(event, candor_protocol::Event::FirstByte(_)));
        expect("events", &events, &vec![done(id, length as u64)])?;
    }
    Ok(())
}
