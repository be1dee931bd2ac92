//! The hot paths, one at a time, for counting their instructions.
//!
//! `bench/instructions` runs this under valgrind with two numbers of repetitions; the difference,
//! divided, is the cost of one. Counts do not depend on how busy the machine is, so that they can
//! be a gate where times cannot.
//!
//! ```text
//! hot_paths PATH REPETITIONS
//! ```
#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod mirror;

use std::hint::black_box;
use std::io::IoSlice;
use std::sync::Arc;

use candor_pace::{Limit, Schedule, Share};
use candor_plan::{Arrivals, BodyExpect, Expect, OpenLoad, Rate, Request, Segment, StatusSet};
use candor_protocol::{Input, Outgoing, Session, h1, h2};
use candor_record::{Phase, Recorder, RecorderSettings, Sample};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, repetitions] = &arguments[..] else { return usage() };
    let repetitions: u64 = repetitions.parse().unwrap();
    match path.as_str() {
        "parse" => answers(repetitions, true),
        "parse-again" => answers(repetitions, false),
        "encode" => encode(repetitions),
        "h2-encode" => h2_encode(repetitions),
        "h2-made" => h2_made(repetitions),
        "h2-exchange" => h2_exchanges(repetitions, false),
        "h2-exchange-new" => h2_exchanges(repetitions, true),
        "schedule-constant" => schedule(repetitions, Arrivals::Constant),
        "schedule-poisson" => schedule(repetitions, Arrivals::Poisson),
        "record" => record(repetitions),
        "exchange-closed" => mirror::exchanges(repetitions, "", answer(1).leak()),
        "exchange-open" => {
            mirror::exchanges(repetitions, "rate = '100k'\npacing = 'sleep'", answer(1).leak());
        }
        "exchange-hole" => {
            mirror::exchanges(repetitions, "[[request]]\npath = '/item/${seq}'", answer(1).leak());
        }
        // Sixteen to a write, and to a read.
        "exchange-pipelined" => {
            mirror::exchanges(repetitions, "pipeline = 16", answer(1).repeat(16).leak());
        }
        "ws-echo" => mirror::messages(repetitions, ""),
        "ws-echo-rules" => {
            let rules = r#"ignore = '"type":"(welcome|ping)"'"#.to_owned()
                + "\nreply = '\"type\":\"next\"'";
            mirror::messages(repetitions, &rules);
        }
        _ => usage(),
    }
}

fn usage() {
    println!(
        "parse parse-again encode h2-encode h2-made h2-exchange h2-exchange-new \
         schedule-constant schedule-poisson record exchange-closed exchange-open \
         exchange-hole exchange-pipelined ws-echo ws-echo-rules"
    );
}

fn request() -> Request {
    Request {
        target: 0,
        name: "hello".to_owned(),
        method: "GET".to_owned(),
        path: "/".to_owned(),
        headers: vec![],
        body: [].into(),
        delivery: candor_plan::Delivery::default(),
        expect: Expect { status: StatusSet::below_400(), body: BodyExpect::Any },
        stream: None,
        weight: 1,
        holes: false,
        literal_body: false,
        call: None,
        reply: None,
        redacted: None,
    }
}

fn session() -> h1::Session {
    let table: Arc<[h1::Prepared]> = [h1::prepare(&request(), "localhost:8080")].into();
    h1::Session::new(table, 1, h1::Limits::default())
}

fn write(session: &mut impl Session) {
    let mut slices = [IoSlice::new(&[]); 16];
    let used = session.poll_transmit(0, &mut slices).slices as usize;
    let bytes = slices[..used].iter().map(|slice| slice.len()).sum();
    session.handle_transmitted(0, bytes, &mut |id| {
        black_box(id);
    });
}

/// nginx's answer, in one of the seconds of a minute.
fn answer(second: u64) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 20:00:{:02} GMT\r\n\
         Content-Type: text/plain\r\nContent-Length: 7\r\nConnection: keep-alive\r\n\r\nalive\r\n",
        second % 60
    )
    .into_bytes()
}

/// An answer to a request, as one read brings it; with a new date each time, or the same.
fn answers(repetitions: u64, new_each_time: bool) {
    let answers = [answer(1), answer(u64::from(new_each_time) + 1)];
    let mut session = session();
    for n in 0..repetitions {
        session.handle_request(0, Outgoing::Listed(0));
        write(&mut session);
        let mut input = Input::Stream(&answers[n as usize % 2]);
        while let Some(event) = session.handle_input(0, &mut input) {
            black_box(&event);
        }
    }
}

/// A request handed in and written, on a session of its own.
fn encode(repetitions: u64) {
    let mut session = session();
    for _ in 0..repetitions {
        session.handle_request(0, Outgoing::Listed(0));
        write(&mut session);
        session.handle_end();
        black_box(session.poll_event());
        session = self::session();
    }
}

/// An HTTP/2 session that is ready for `streams` requests.
fn h2_session(streams: u32) -> h2::Session {
    let table: Arc<[h2::Prepared]> = [h2::prepare(&request(), "http", "localhost:8080")].into();
    let mut session = h2::Session::new(table, h2::Settings { streams, ..h2::Settings::default() });
    read(&mut session, &frame(4, 0, 0, b""));
    write(&mut session);
    session
}

fn read(session: &mut h2::Session, input: &[u8]) {
    let mut input = Input::Stream(input);
    while let Some(event) = session.handle_input(0, &mut input) {
        black_box(&event);
    }
}

/// An HTTP/2 frame.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A request on a stream of its own, handed in and written; the answers never come.
fn h2_encode(repetitions: u64) {
    let mut session = h2_session(16_384);
    for _ in 0..repetitions {
        session.handle_request(0, Outgoing::Listed(0));
        write(&mut session);
    }
}

/// The same for a request that a script makes as it is sent, with a path of its own.
fn h2_made(repetitions: u64) {
    let mut session = h2_session(16_384);
    let mut made = h2::prepare(&request(), "http", "localhost:8080");
    let mut path = "/item/0000000".to_owned();
    for n in 0..repetitions {
        path.truncate(6);
        std::fmt::Write::write_fmt(&mut path, format_args!("{n:07}")).unwrap();
        made.set_parts(&h2::Parts {
            method: "GET",
            scheme: "http",
            authority: "localhost:8080",
            path: &path,
            headers: &[("User-Agent", "candor"), ("Accept", "*/*")],
        });
        session.handle_prepared(0, 0, &made);
        write(&mut session);
    }
}

/// A request and its answer of nginx's shape, HEADERS and DATA, ten of them to a write and to a
/// read. With the same header block each time, or with one that puts a field into the table.
fn h2_exchanges(repetitions: u64, new_each_time: bool) {
    const BATCH: usize = 10;
    let mut block = vec![0x88];
    if new_each_time {
        block.extend_from_slice(b"\x40\x02id\x08--------");
    }
    for (name_index, value) in
        [(54, "nginx/1.22.1"), (33, "Sat, 21 Nov 2026 20:00:00 GMT"), (31, "text/plain"), (28, "7")]
    {
        // With incremental indexing, though nginx never refers to what it added.
        block.extend_from_slice(&[0x40 | name_index, value.len() as u8]);
        block.extend_from_slice(value.as_bytes());
    }
    let answer = [frame(1, 4, 1, &block), frame(0, 1, 1, b"alive\r\n")].concat();
    let data_at = answer.len() - 16;
    let mut input = answer.repeat(BATCH);
    let mut session = h2_session(BATCH as u32);
    let mut stream = 1u32;
    for batch in 0..repetitions / BATCH as u64 {
        for id in 0..BATCH as u32 {
            session.handle_request(id, Outgoing::Listed(0));
        }
        write(&mut session);
        for (answer, id) in input.chunks_exact_mut(answer.len()).zip(batch * 10..) {
            answer[5..9].copy_from_slice(&stream.to_be_bytes());
            answer[data_at + 5..data_at + 9].copy_from_slice(&stream.to_be_bytes());
            if new_each_time {
                answer[15..23].copy_from_slice(&(id | 0x4040_4040_4040_4040).to_be_bytes());
            }
            stream += 2;
        }
        read(&mut session, &input);
        assert_eq!(session.outstanding(), 0);
    }
}

fn schedule(repetitions: u64, arrivals: Arrivals) {
    let load = OpenLoad {
        segments: vec![Segment::Hold { rate: Rate::per_second(20_000), duration_ns: None }],
        arrivals,
        shed_after_ns: None,
    };
    let share = Share { worker: 0, workers: 1 };
    for due in Schedule::new(&load, 1, share, Limit::default()).take(repetitions as usize) {
        black_box(due);
    }
}

fn record(repetitions: u64) {
    let mut recorder = Recorder::new(RecorderSettings {
        digits: 3,
        interval_ns: 1_000_000_000,
        warm_up_ns: 0,
        window_end_ns: None,
        drain_ns: u64::MAX,
        requests: 1,
        journeys: 0,
    });
    for n in 0..repetitions {
        let due_ns = n * 1000;
        let sent_ns = due_ns + n % 977;
        recorder.sent(sent_ns, Phase::Measured, 0);
        recorder.ok(&Sample {
            due_ns,
            ready_ns: due_ns,
            sent_ns,
            first_byte_ns: sent_ns + 40_000 + n % 10_007,
            done_ns: sent_ns + 50_000 + n % 20_011,
            request: 0,
            status: 200,
            body_bytes: 7,
            phase: Phase::Measured,
        });
    }
    black_box(recorder.boundary_ns());
}
