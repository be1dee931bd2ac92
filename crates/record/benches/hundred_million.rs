//! The cost of a sample, and a check that memory stays flat over 100 million of them.
//!
//! ```text
//! cargo bench -p candor-record --bench hundred_million
//! ```
//!
//! A simulated run of 100 s at a million requests a second goes through recorder and collector, as
//! a real run does. It prints the resident memory after the first intervals and at the end, and the
//! time per request. It fails if memory grew by more than the summaries of the intervals explain.
//! If not started by `cargo bench`, it does one per cent of the work.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use candor_record::{
    Collector, CollectorSettings, EndReason, Machine, Phase, Recorder, RecorderSettings, Sample,
    WorkerReport, Workers,
};

const GAP_NS: u64 = 1000;
const INTERVAL_NS: u64 = 1_000_000_000;
/// Each interval keeps a summary with an encoded histogram: a few KiB.
const GROWTH_LIMIT_KIB: u64 = 4096;

fn main() -> ExitCode {
    let whole = std::env::args().any(|argument| argument == "--bench");
    let samples: u64 = if whole { 100_000_000 } else { 1_000_000 };
    let mut recorder = Recorder::new(RecorderSettings {
        digits: 3,
        interval_ns: INTERVAL_NS,
        warm_up_ns: 0,
        window_end_ns: None,
        drain_ns: u64::MAX,
        requests: 1,
        journeys: 0,
    });
    let mut collector = Collector::new(CollectorSettings {
        digits: 3,
        requests: 1,
        journeys: 0,
        warm_up_ns: 0,
        connections_asked: 1,
        workers: Workers::all(1),
    });
    // Three intervals, so that every histogram and every spare has been touched.
    let warm = (3 * INTERVAL_NS / GAP_NS).min(samples / 10);
    record(0..warm, &mut recorder, &mut collector);
    let before_kib = resident_kib();
    let begin = Instant::now();
    record(warm..samples, &mut recorder, &mut collector);
    let elapsed = begin.elapsed();
    let after_kib = resident_kib();

    recorder.finish(samples * GAP_NS + 1_000_000, 0);
    deliver(&mut recorder, &mut collector);
    collector.worker_ended(0, WorkerReport::new(samples * GAP_NS, EndReason::Count));
    let record = collector.finish(Machine::default(), Default::default());
    let ns_per_sample = elapsed.as_nanos() as f64 / (samples - warm) as f64;
    println!("samples            {samples}");
    println!("per sample         {ns_per_sample:.1} ns (sent and ok, five histograms)");
    println!("intervals          {}", record.intervals.len());
    let complete = record.total.ledger.ok == samples && record.total.ledger.balances();
    println!("ledger             {}", if complete { "balances" } else { "DOES NOT BALANCE" });
    let grown_kib = match (before_kib, after_kib) {
        (Some(before), Some(after)) => {
            println!("resident before    {before} KiB");
            println!("resident after     {after} KiB");
            after.saturating_sub(before)
        }
        _ => {
            println!("resident memory    not known on this system");
            0
        }
    };
    if complete && grown_kib <= GROWTH_LIMIT_KIB {
        ExitCode::SUCCESS
    } else {
        println!("grew by {grown_kib} KiB, allowed are {GROWTH_LIMIT_KIB} KiB");
        ExitCode::FAILURE
    }
}

fn record(indices: std::ops::Range<u64>, recorder: &mut Recorder, collector: &mut Collector) {
    for index in indices {
        let due_ns = index * GAP_NS;
        let service_ns = 100 + index.wrapping_mul(2_654_435_761) % 800;
        recorder.sent(due_ns + 20, Phase::Measured, 0);
        recorder.ok(black_box(&Sample {
            due_ns,
            ready_ns: due_ns + 10,
            sent_ns: due_ns + 20,
            first_byte_ns: due_ns + 20 + service_ns / 2,
            done_ns: due_ns + 20 + service_ns,
            request: 0,
            status: 200,
            body_bytes: 12,
            phase: Phase::Measured,
        }));
        if index % 1024 == 0 {
            deliver(recorder, collector);
        }
    }
}

fn deliver(recorder: &mut Recorder, collector: &mut Collector) {
    while let Some(interval) = recorder.take_finished() {
        if let Some(used) = collector.deliver(0, interval) {
            recorder.recycle(used);
        }
    }
    collector.settle();
}

/// Resident memory of this process, if the system reports it.
fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
