//! The lines of h2load's output, in the order in which they are printed.

use candor_plan::HttpVersion;
use candor_record::IntervalSummary;
use std::fmt::Write;

use super::figures::{self, Mode, Pace};
use super::units;
use crate::hgrm::near_mean;
use candor_report::document::Document;
use candor_report::document::latency::{DecodeError, Distribution};

// Writing to a string cannot fail, here and below.

/// The first lines.
pub fn opening(document: &Document) -> String {
    let plan = &document.plan;
    let threads = threads(document);
    let mut text = "starting benchmark...\n".to_owned();
    for thread in 0..threads {
        let clients = share(u64::from(plan.connections.count), thread, threads);
        let _ = write!(text, "spawning thread #{thread}: {clients} total client(s). ");
        if Mode::of(document) == Mode::Timed {
            let seconds = |ns: u64| ns as f64 / 1e9;
            let _ = writeln!(
                text,
                "Timing-based test with {}s of warm-up time and {}s of main duration for measurements.",
                seconds(plan.recording.warm_up_ns),
                seconds(plan.stop.duration_ns.unwrap_or(0)),
            );
            continue;
        }
        if let Some(rate) =
            plan.connections.connect_rate.filter(|_| figures::is_rate_mode(document))
        {
            let per_thread = rate.per_s_f64() / threads as f64;
            let (each, period_s) = match per_thread {
                rate if rate >= 1.0 => (rate, 1.0),
                rate => (1.0, 1.0 / rate),
            };
            if clients as f64 > each {
                let _ = write!(
                    text,
                    "Up to {each:.0} client(s) will be created every {} ",
                    units::period_s(period_s)
                );
            }
        }
        let requests = share(figures::total(document), thread, threads);
        let _ = writeln!(text, "{requests} total requests");
    }
    text + &of_threads(document, |n| format!("Warm-up started for thread #{n}.\n"))
}

/// Whether this document has enough for [`connected`].
pub fn knows_what_is_spoken(document: &Document) -> bool {
    document.plan.target.tls.is_none() || !document.connections.handshakes.is_empty()
}

/// The protocol; in a run for a duration also that the measurement has begun.
pub fn connected(document: &Document) -> String {
    let mut text = String::new();
    if Mode::of(document) == Mode::Timed || figures::is_rate_mode(document) {
        let clients = share(u64::from(document.plan.connections.count), 0, threads(document));
        text += &steps("% of clients started", 0, clients, clients);
    }
    match document.connections.handshakes.first() {
        Some(handshake) => {
            let cipher = handshake.cipher.replace("TLS13_", "TLS_");
            let _ = writeln!(text, "TLS Protocol: {}", version(&handshake.version));
            let _ = writeln!(text, "Cipher: {cipher}");
            if let Some(group) = &handshake.group {
                let _ = writeln!(text, "Server Temp Key: {}", temporary_key(group));
            }
            let spoken = handshake.alpn.as_deref().unwrap_or("http/1.1");
            let _ = writeln!(text, "Application protocol: {spoken}");
        }
        None => {
            let spoken = match document.plan.target.http {
                HttpVersion::H1 => "http/1.1",
                _ => "h2c",
            };
            let _ = writeln!(text, "Application protocol: {spoken}");
        }
    }
    let begun = |n| {
        format!(
            "Warm-up phase is over for thread #{n}.\n\
             Main benchmark duration is started for thread #{n}.\n"
        )
    };
    text + &of_threads(document, begun)
}

/// The number of completed requests.
pub fn done(document: &Document) -> u64 {
    document.ledger.ok + document.ledger.errors
}

/// Progress of a run with a number of requests, from `before` to `now`.
pub fn progress(document: &Document, before: u64, now: u64) -> String {
    match Mode::of(document) {
        Mode::Count | Mode::Script if !figures::is_rate_mode(document) => {
            steps("% done", before, now, figures::total(document))
        }
        _ => String::new(),
    }
}

/// The rate of an interval that ended at this time, in nanoseconds since 1970: a line of a fork, of which scripts draw
/// graphs. The fork has the mean since the run began in it.
pub fn rate(interval: &IntervalSummary, now_unix_ns: u128) -> String {
    let length_ns = interval.end_ns.saturating_sub(interval.start_ns).max(1);
    format!("RPSI {now_unix_ns} {:.2}\n", interval.answered as f64 * 1e9 / length_ns as f64)
}

/// A line for each tenth of `total` between two counts.
fn steps(what: &str, before: u64, now: u64, total: u64) -> String {
    let step = (total / 10).max(1);
    let mut text = String::new();
    for count in (before / step + 1)..=(now.min(total) / step) {
        let percent = u128::from(count * step) * 100 / u128::from(total);
        let _ = writeln!(text, "progress: {percent}{what}");
    }
    text
}

/// The end of a run for a duration.
pub fn closing(document: &Document) -> String {
    of_threads(document, |n| {
        format!(
            "Main benchmark duration is over for thread #{n}. Stopping all clients.\n\
             Stopped all clients for thread #{n}\n"
        )
    })
}

/// A line for each thread of a run for a duration.
fn of_threads(document: &Document, say: impl Fn(u64) -> String) -> String {
    match Mode::of(document) {
        Mode::Timed => (0..threads(document)).map(say).collect(),
        Mode::Count | Mode::Script => String::new(),
    }
}

/// The summary; `plots`: with a histogram below each line of times.
pub fn summary(document: &Document, plots: bool) -> Result<String, DecodeError> {
    let pace = Pace::of(document);
    let mut text = format!(
        "\nfinished in {}, {:.2} req/s, {}B/s\n",
        units::duration_ns(pace.run_s * 1e9),
        pace.answers_per_s,
        units::size(pace.bytes_per_s as u64)
    );
    text += &figures::requests(document);
    let [_, _, c2, c3, c4, c5, ..] = figures::status_classes(document);
    let _ = writeln!(text, "status codes: {c2} 2xx, {c3} 3xx, {c4} 4xx, {c5} 5xx");
    text += &figures::traffic(document);
    text += "                     min         max         mean         sd        +/- sd\n";
    let latencies = &document.latencies;
    let request = if figures::is_open(document) { &latencies.response } else { &latencies.service };
    times(&mut text, "time for request:", request, plots)?;
    times(
        &mut text,
        "time for connect:",
        latencies.secured.as_ref().unwrap_or(&latencies.connect),
        plots,
    )?;
    times(&mut text, "time to 1st byte:", &latencies.first_byte, plots)?;
    rates(&mut text, document);
    Ok(text)
}

fn times(
    text: &mut String,
    label: &str,
    of: &Distribution,
    plots: bool,
) -> Result<(), DecodeError> {
    let hdr = of.decode()?;
    let figures = [of.min_ns, of.max_ns].map(|ns| ns.map(|ns| ns as f64));
    let [min, max, mean, sd] = [figures[0], figures[1], of.mean_ns, of.stdev_ns];
    let figures = [min, max, mean, sd].map(|ns| units::duration_ns(ns.unwrap_or(0.0)));
    // A step of the histogram is a range of values: it counts if any of them is inside.
    let ends = (|highest| highest, |highest| hdr.lowest_equivalent(highest));
    row(text, label, figures, near_mean(of, &hdr, ends));
    if let (true, Some(min_ns), Some(max_ns)) = (plots, of.min_ns, of.max_ns) {
        let steps =
            hdr.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()));
        plot(text, min_ns, max_ns, steps);
    }
    Ok(())
}

/// Ten ranges of equal width from the least to the largest value, each with a bar of at most forty characters, its share
/// and that of all up to its end: `plot_histogram` of h2load.cc. A step of our histogram is in the range of its value.
fn plot(text: &mut String, min_ns: u64, max_ns: u64, steps: impl Iterator<Item = (u64, u64)>) {
    const RANGES: usize = 10;
    const LONGEST: u64 = 40;
    let width_ns = (max_ns.saturating_sub(min_ns)) as f64 / RANGES as f64;
    if width_ns == 0.0 {
        return;
    }
    let mut counts = [0u64; RANGES];
    for (value_ns, count) in steps {
        let range = (value_ns.saturating_sub(min_ns) as f64 / width_ns) as usize;
        counts[range.min(RANGES - 1)] += count;
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let all = counts.iter().sum::<u64>().max(1) as f64;
    let mut before = 0;
    for (range, count) in counts.into_iter().enumerate() {
        before += count;
        let bar = match count {
            0 => 0,
            count => (count * LONGEST / most).max(1) as usize,
        };
        let [from, to] = [range, range + 1]
            .map(|edge| units::duration_ns(min_ns as f64 + edge as f64 * width_ns));
        let [share, up_to] = [count, before].map(|count| count as f64 * 100.0 / all);
        let bar = "/".repeat(bar);
        let _ = writeln!(text, "{from:>10}-{to:>10} [{bar:<40}]({share:6.2}/{up_to:6.2}%)");
    }
}

fn rates(text: &mut String, document: &Document) {
    let rate = document.connection_rate;
    let figures = rate.map_or([0.0; 4], |rate| {
        [rate.min_per_s, rate.max_per_s, rate.mean_per_s, rate.stdev_per_s]
    });
    let figures = figures.map(|per_s| format!("{per_s:.2}"));
    row(text, "req/s           :", figures, rate.map(|rate| rate.within_stdev));
}

fn row(text: &mut String, label: &str, [min, max, mean, sd]: [String; 4], within: Option<f64>) {
    let within = within.unwrap_or(0.0) * 100.0;
    let _ = writeln!(text, "{label} {min:>10}  {max:>10}  {mean:>10}  {sd:>10}{within:>9.2}%");
}

fn threads(document: &Document) -> u64 {
    let asked = document.plan.threads.count.map(u64::from);
    asked.unwrap_or(document.workers.len() as u64).max(1)
}

/// The share of thread `thread` in a total that is divided as evenly as possible.
fn share(total: u64, thread: u64, threads: u64) -> u64 {
    total / threads + u64::from(thread < total % threads)
}

/// OpenSSL's name of a version.
fn version(version: &str) -> String {
    match version.strip_prefix("TLSv1_") {
        Some(minor) => format!("TLSv1.{minor}"),
        None => version.to_owned(),
    }
}

/// OpenSSL's name of a key exchange group.
fn temporary_key(group: &str) -> String {
    match group {
        "X25519" => "X25519 253 bits".to_owned(),
        "secp256r1" => "ECDH P-256 256 bits".to_owned(),
        "secp384r1" => "ECDH P-384 384 bits".to_owned(),
        other => other.to_owned(),
    }
}
