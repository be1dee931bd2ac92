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

use std::hint::black_box;
use std::io::IoSlice;
use std::sync::Arc;

use candor_pace::{Limit, Schedule, Share};
use candor_plan::{Arrivals, BodyExpect, Expect, OpenLoad, Rate, Request, Segment, StatusSet};
use candor_protocol::{Session as _, h1};
use candor_record::{Phase, Recorder, Sample, Settings};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, repetitions] = &arguments[..] else { return usage() };
    let repetitions: u64 = repetitions.parse().unwrap();
    match path.as_str() {
        "parse" => answers(repetitions, true),
        "parse-again" => answers(repetitions, false),
        "encode" => encode(repetitions),
        "schedule-constant" => schedule(repetitions, Arrivals::Constant),
        "schedule-poisson" => schedule(repetitions, Arrivals::Poisson),
        "record" => record(repetitions),
        _ => usage(),
    }
}

fn usage() {
    println!("parse parse-again encode schedule-constant schedule-poisson record");
}

fn session() -> h1::Session {
    let request = Request {
        name: "hello".to_owned(),
        method: "GET".to_owned(),
        path: "/".to_owned(),
        headers: vec![],
        body: [].into(),
        expect: Expect { status: StatusSet::below_400(), body: BodyExpect::Any },
        weight: 1,
    };
    let table: Arc<[h1::Prepared]> = [h1::prepare(&request, "localhost:8080")].into();
    h1::Session::new(table, 1, h1::Limits::default())
}

fn write(session: &mut h1::Session) {
    let mut slices = [IoSlice::new(&[]); 16];
    let used = session.poll_transmit(&mut slices);
    let bytes = slices[..used].iter().map(|slice| slice.len()).sum();
    session.handle_transmitted(bytes, &mut |id| {
        black_box(id);
    });
}

/// An nginx answer to a request, as one read brings it; with a new date each time, or the same.
fn answers(repetitions: u64, new_each_time: bool) {
    let answer = |second: u64| {
        format!(
            "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 20:00:{:02} GMT\r\n\
             Content-Type: text/plain\r\nContent-Length: 7\r\nConnection: keep-alive\r\n\r\nalive\r\n",
            second % 60
        )
        .into_bytes()
    };
    let answers = [answer(1), answer(u64::from(new_each_time) + 1)];
    let mut session = session();
    for n in 0..repetitions {
        session.handle_request(0, 0);
        write(&mut session);
        let mut input = &answers[n as usize % 2][..];
        while let Some(event) = session.handle_input(&mut input) {
            black_box(&event);
        }
    }
}

/// A request handed in and written, on a session of its own.
fn encode(repetitions: u64) {
    let mut session = session();
    for _ in 0..repetitions {
        session.handle_request(0, 0);
        write(&mut session);
        black_box(session.handle_end());
        session = self::session();
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
    let mut recorder = Recorder::new(Settings {
        digits: 3,
        interval_ns: 1_000_000_000,
        warm_up_ns: 0,
        window_end_ns: None,
        requests: 1,
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
