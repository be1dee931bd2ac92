//! The text that wrk and wrk2 print: the first two lines, wrk2's calibration, and the report.

use std::fmt::Write;

use candor_stats::Quantile;
use hdrhistogram::Histogram as Hdr;

use super::figures::{Errors, NS_PER_US, Traffic, in_microseconds, latency};
use super::{spectrum, units};
use crate::hgrm::near_mean;
use candor_report::document::Document;
use candor_report::document::latency::{DecodeError, Distribution};

/// Which distribution follows the thread stats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Percentiles {
    /// None.
    #[default]
    None,
    /// `--latency`: four percentiles in a closed load, the spectrum in an open one.
    Recorded,
    /// `--u_latency`: the same, and the spectrum of service times.
    Both,
}

/// The first lines.
pub fn opening(document: &Document) -> String {
    let plan = &document.plan;
    let seconds = plan.stop.duration_ns.unwrap_or(document.time.window_ns) as f64 / 1e9;
    format!(
        "Running {} test @ {}\n  {} threads and {} connections\n",
        units::time_s(seconds),
        url(document),
        threads(document),
        plan.connections.count
    )
}

/// wrk2's lines about its calibration, which Candor does not need: the mean of each thread so far,
/// and the interval at which its rate is sampled.
pub fn calibration(document: &Document) -> String {
    let sampling_ms = document.thread_rate.map_or(0, |rate| rate.slot_ns / 1_000_000);
    let mut text = String::new();
    for worker in &document.workers {
        let mean_ms = worker.response_mean_ns.unwrap_or(0.0) / 1e6;
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(
            text,
            "  Thread calibration: mean lat.: {mean_ms:.3}ms, rate sampling interval: {sampling_ms}ms"
        );
    }
    text
}

/// The report, from the thread stats to the transfer rate.
pub fn report(document: &Document, percentiles: Percentiles) -> Result<String, DecodeError> {
    let mut text =
        format!("  Thread Stats{:>6}{:>11}{:>8}{:>12}\n", "Avg", "Stdev", "Max", "+/- Stdev");
    let latency = latency(document);
    let hdr = latency.decode()?;
    let open = document.plan.load.is_open();
    latency_row(&mut text, latency, &hdr, open);
    rate_row(&mut text, document, open);
    match (open, percentiles) {
        (_, Percentiles::None) => {}
        (false, _) => distribution(&mut text, latency, &hdr),
        (true, _) => {
            let us = in_microseconds(latency, &hdr)?;
            text.push_str(&spectrum::render("Recorded Latency", latency, &us));
        }
    }
    if percentiles == Percentiles::Both {
        let service = &document.latencies.service;
        let us = in_microseconds(service, &service.decode()?)?;
        text.push('\n');
        text.push_str(&spectrum::render(UNCORRECTED, service, &us));
    }
    totals(&mut text, document);
    Ok(text)
}

const UNCORRECTED: &str =
    "Uncorrected Latency (measured without taking delayed starts into account)";

/// The typed URL: the plan's has a path even if none was typed.
fn url(document: &Document) -> &str {
    let url = document.plan.target.url.as_str();
    let without_path = url.strip_suffix('/');
    let typed = document.arguments.iter().find(|one| Some(one.as_str()) == without_path);
    typed.map_or(url, String::as_str)
}

fn threads(document: &Document) -> u64 {
    let asked = document.plan.threads.count.map(u64::from);
    asked.unwrap_or(document.workers.len() as u64)
}

fn latency_row(text: &mut String, latency: &Distribution, hdr: &Hdr<u64>, open: bool) {
    let figures = [latency.mean_ns, latency.stdev_ns, latency.max_ns.map(|ns| ns as f64)];
    let figures = figures.map(|ns| units::time_us(ns.unwrap_or(0.0) / NS_PER_US));
    let middle = |value| hdr.median_equivalent(value);
    row(text, "Latency", &figures, share(near_mean(latency, hdr, (middle, middle)), open));
}

fn rate_row(text: &mut String, document: &Document, open: bool) {
    let rate = document.thread_rate.as_ref();
    let figures =
        rate.map_or([None; 3], |rate| [rate.mean_per_s, rate.stdev_per_s, rate.max_per_s]);
    let figures = figures.map(|of| units::metric(of.unwrap_or(0.0)));
    row(text, "Req/Sec", &figures, share(rate.and_then(|rate| rate.within_stdev), open));
}

fn row(text: &mut String, name: &str, [mean, stdev, max]: &[String; 3], share: String) {
    let (mean, stdev, max) =
        (units::column(mean, 8), units::column(stdev, 10), units::column(max, 9));
    let _ = writeln!(text, "    {name:<10}{mean}{stdev}{max}{share}%");
}

/// Without samples wrk divides zero by zero, and wrk2 writes 0.
fn share(of: Option<f64>, open: bool) -> String {
    match (of, open) {
        (Some(share), _) => format!("{:8.2}", share * 100.0),
        (None, true) => format!("{:8.2}", 0.0),
        (None, false) => format!("{:>8}", "-nan"),
    }
}

/// wrk's own percentiles, which are printed with any number of samples.
fn distribution(text: &mut String, latency: &Distribution, hdr: &Hdr<u64>) {
    text.push_str("  Latency Distribution\n");
    for percent in [50, 75, 90, 99] {
        let ns = latency.at_rank(hdr, Quantile::new(percent, 100).rank(latency.count));
        let value = units::column(&units::time_us(ns as f64 / 1e3), 10);
        let _ = writeln!(text, "{percent:7}%{value}");
    }
}

fn totals(text: &mut String, document: &Document) {
    let traffic = Traffic::of(document);
    let _ = writeln!(
        text,
        "  {} requests in {}, {}B read",
        traffic.answers,
        units::time_us(traffic.seconds * 1e6),
        units::binary(traffic.bytes as f64)
    );
    let errors = Errors::of(document);
    if errors.has_socket_errors() {
        let Errors { connect, read, write, timeout, .. } = errors;
        let _ = writeln!(
            text,
            "  Socket errors: connect {connect}, read {read}, write {write}, timeout {timeout}"
        );
    }
    if errors.status > 0 {
        let _ = writeln!(text, "  Non-2xx or 3xx responses: {}", errors.status);
    }
    let _ = writeln!(text, "Requests/sec: {:9.2}", traffic.answers_per_s());
    let _ = writeln!(text, "Transfer/sec: {:>10}B", units::binary(traffic.bytes_per_s()));
}
