//! Sentences about the connections of a run: how many, their handshakes, bytes, datagrams and paths.

use candor_plan::units::{fmt_bytes, fmt_count, fmt_duration_ns, fmt_plural};
use candor_report::document::Document;
use candor_report::document::counts::HandshakeCount;
use candor_report::document::latency::Distribution;

use super::words::{cell, counted, figures};

/// The numbers of connections.
pub(super) fn counts(document: &Document) -> String {
    let connections = &document.connections;
    let mut parts = vec![
        format!("{} asked", fmt_count(connections.asked)),
        format!("at least {} at a time", fmt_count(connections.least)),
        format!("{} opened", fmt_count(connections.opened)),
    ];
    parts.extend(counted([
        (connections.closed_by_server, "closed by the server"),
        (connections.retired, "retired"),
        (connections.lost, "lost"),
    ]));
    parts.join(", ")
}

/// The parameters of handshakes.
pub(super) fn handshakes(one: &HandshakeCount) -> String {
    let mut parts = vec![one.version.clone(), one.cipher.clone()];
    parts.extend(one.group.clone());
    parts.push(one.alpn.clone().unwrap_or_else(|| "no ALPN".to_owned()));
    let mut counts = vec![fmt_plural(one.full, "full handshake")];
    let refused =
        if one.early_data_accepted > 0 { "with it refused" } else { "with 0-RTT refused" };
    counts.extend(counted([
        (one.resumed, "resumed"),
        (one.early_data_accepted, "with 0-RTT"),
        (one.early_data_rejected, refused),
        (one.retried, "after a Retry"),
    ]));
    format!("{}: {}", parts.join(", "), counts.join(", "))
}

/// How long handshakes took; `None` without TLS.
pub(super) fn handshake_time(document: &Document) -> Option<String> {
    let handshake = document.latencies.handshake.as_ref()?;
    Some(format!("handshake {}", figures(handshake, ["p50", "p99", "mean", "max"])))
}

/// The numbers of bytes.
pub(super) fn bytes(document: &Document) -> String {
    let elapsed_s = document.time.elapsed_ns as f64 / 1e9;
    let per_s = |number: u64| fmt_bytes((number as f64 / elapsed_s) as u64);
    let one = |name: &str, number: u64| match elapsed_s > 0.0 {
        true => format!("{name} {} ({}/s)", fmt_bytes(number), per_s(number)),
        false => format!("{name} {}", fmt_bytes(number)),
    };
    let all = &document.bytes;
    [one("sent", all.sent), one("received", all.received), one("bodies", all.bodies)].join(", ")
}

/// The numbers of datagrams; `None` where connections had none.
pub(super) fn datagrams(document: &Document) -> Option<String> {
    let all = &document.datagrams;
    let requests = document.ledger.sent.saturating_add(document.warm_up.sent);
    let one = |name: &str, count: u64| match requests {
        0 => format!("{name} {}", fmt_count(count)),
        _ => {
            let each = count as f64 / requests as f64;
            format!("{name} {} ({each:.2} a request)", fmt_count(count))
        }
    };
    let mut parts = vec![one("sent", all.sent), one("received", all.received)];
    parts.extend(counted([
        (all.congested, "marked for congestion"),
        (all.dropped, "dropped here because the receive buffer was full"),
    ]));
    (!all.is_empty()).then(|| parts.join(", "))
}

/// The paths of connections over QUIC; `None` where there were none.
pub(super) fn paths(document: &Document) -> Option<String> {
    let paths = document.paths.as_ref()?;
    let counts = &paths.counts;
    let each = |sum: u64| sum / counts.connections.max(1);
    let mean = |one: &Distribution| cell(one, "mean");
    let mut parts = vec![
        format!("RTT {}, at the least {}", mean(&paths.rtt), cell(&paths.least_rtt, "min")),
        format!("congestion window {}", fmt_bytes(each(counts.window_bytes))),
        format!("datagrams up to {}", fmt_bytes(each(counts.datagram_bytes))),
        format!("{} of {} packets lost", fmt_count(counts.lost), fmt_count(counts.packets)),
    ];
    parts.extend(counted([
        (counts.congestion_events, "reductions of the window"),
        (counts.probe_timeouts, "probe timeouts"),
        (counts.black_holes, "shrunk paths"),
        (counts.stopped_by_window, "stops by our receive windows"),
    ]));
    Some(parts.join(", "))
}

/// Blocked time by cause; `None` where nothing was blocked.
pub(super) fn blocked(document: &Document) -> Option<String> {
    let blocked = document.latencies.blocked.as_ref()?;
    let mut parts = vec![fmt_plural(blocked.time.count, "request")];
    for (sum_ns, cause) in [
        (blocked.by.congestion_ns, "by the congestion window and pacing"),
        (blocked.by.flow_control_ns, "by the server's flow control"),
    ] {
        if sum_ns > 0 {
            parts.push(format!("{} {cause}", fmt_duration_ns(sum_ns)));
        }
    }
    Some(parts.join(", "))
}
