//! Effects of TCP: timers of the kernel that look like a slow server.

use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_share};
use candor_record::AckCounts;

use super::{Finding, Severity};
use crate::document::Document;
use crate::document::latency::Distribution;

/// The delays of acknowledgements: at least 40 ms on Linux, 200 ms elsewhere (RFC 1122, 4.2.3.2,
/// allows 500). Delayed responses end a little later.
const ACK_WINDOWS_NS: [(u64, u64); 2] = [(38_000_000, 49_000_000), (195_000_000, 215_000_000)];
/// At least one in this many early acknowledgements must have ended a wait.
const MOVED_PART: u64 = 4;
/// The least share of delayed responses to report.
const ACK_SHARE: f64 = 0.05;
/// The delays of a connect whose first packet was lost: a second, and then, depending on the
/// kernel, each further second or twice as long each time.
const SYN_SECONDS: [u64; 6] = [1, 2, 3, 4, 5, 7];
/// The delay by a lost packet is accurate to a tenth of a second.
const SYN_SLACK_NS: u64 = 100_000_000;

fn between(distribution: &Distribution, low_ns: u64, high_ns: u64) -> u64 {
    distribution.decode().map_or(0, |hdr| hdr.count_between(low_ns, high_ns.saturating_sub(1)))
}

/// A target without TCP_NODELAY writes in pieces, and its kernel holds a piece back until the one
/// before is acknowledged (Nagle, RFC 896), which the loader's kernel delays.
///
/// Times alone cannot tell this from a server that takes as long by itself. Early acknowledgements of some responses
/// can: the delay must have moved with them.
pub(super) fn nagle_delayed_ack(document: &Document) -> Option<Finding> {
    let AckCounts { tried, moved } = document.acks;
    if moved == 0 || moved < tried / MOVED_PART {
        return None;
    }
    let found = within_answers(document).or_else(|| between_answers(document))?;
    let evidence = vec![("acks_tried", tried as f64), ("acks_moved", moved as f64)];
    Some(Finding {
        sentence: format!(
            "{} {} of {} early acknowledgements ended the wait.",
            found.sentence,
            fmt_count(moved),
            fmt_count(tried)
        ),
        evidence: [found.evidence, evidence].concat(),
        ..found
    })
}

/// Responses that begin at once and end with the timer of a delayed acknowledgement: the server
/// writes them in two pieces.
///
/// A server that simply takes 40 ms is late with the first byte as well, which distinguishes the
/// two.
fn within_answers(document: &Document) -> Option<Finding> {
    let (service, first_byte) = (&document.latencies.service, &document.latencies.first_byte);
    let (timer_ns, delayed, begun) = ACK_WINDOWS_NS
        .iter()
        .map(|&(low_ns, high_ns)| {
            // First bytes well before the timer.
            (low_ns, between(service, low_ns, high_ns), between(first_byte, low_ns / 2, u64::MAX))
        })
        .max_by_key(|(_, delayed, _)| *delayed)?;
    // Responses with a late first byte were not delayed by this.
    let split = delayed.saturating_sub(begun);
    let first_ns = first_byte.interval_ns("p50").and_then(|one| one.low_ns).unwrap_or(0);
    let evidence = standing_out(timer_ns, split, service)?;
    Some(Finding {
        severity: Severity::Warning,
        sentence: format!(
            "Nagle and delayed acknowledgements: {} of {} responses ({}) began at once (median {}) and ended \
             about {} later. The target writes a response in pieces without TCP_NODELAY.",
            fmt_count(split),
            fmt_count(service.count),
            fmt_share(split as f64 / service.count.max(1) as f64),
            fmt_duration_ns(first_ns),
            in_words(timer_ns),
        ),
        evidence: [evidence, vec![("first_byte_p50_low_ns", first_ns as f64)]].concat(),
        remedy: "Set TCP_NODELAY on the target's sockets, or write header and body in one call. Its rate is now \
                 limited by that timer.",
    })
}

/// The first of several pipelined requests gets its response at once, and the others when the timer
/// of a delayed acknowledgement ends: the server writes each response separately.
///
/// A server that simply takes 40 ms also takes them for the first.
fn between_answers(document: &Document) -> Option<Finding> {
    let pipeline = u64::from(document.plan.connections.pipeline);
    let (service, first_byte) = (&document.latencies.service, &document.latencies.first_byte);
    let of = |&(low_ns, high_ns): &(u64, u64)| (low_ns, between(first_byte, low_ns, high_ns));
    let (timer_ns, delayed) = ACK_WINDOWS_NS.iter().map(of).max_by_key(|(_, delayed)| *delayed)?;
    // The first of each batch, or of half of them at least.
    let at_once = between(first_byte, 0, timer_ns / 4);
    if pipeline < 2 || at_once.saturating_mul(2 * pipeline) < service.count {
        return None;
    }
    let evidence = standing_out(timer_ns, delayed, service)?;
    Some(Finding {
        severity: Severity::Warning,
        sentence: format!(
            "Nagle and delayed acknowledgements: {} of {} pipelined responses ({}) came about {} after the \
             first on their connection. The target writes each response by itself without TCP_NODELAY.",
            fmt_count(delayed),
            fmt_count(service.count),
            fmt_share(delayed as f64 / service.count.max(1) as f64),
            in_words(timer_ns),
        ),
        evidence: [evidence, vec![("at_once", at_once as f64)]].concat(),
        remedy: "Set TCP_NODELAY on the target's sockets, or write the responses to requests that came together in \
                 one call. Its rate is now limited by that timer.",
    })
}

/// The timer with which `delayed` responses end; `None` if they do not stand out.
fn standing_out(
    timer_ns: u64,
    delayed: u64,
    service: &Distribution,
) -> Option<Vec<(&'static str, f64)>> {
    let share = delayed as f64 / service.count.max(1) as f64;
    // Values next to it are far rarer.
    let beside = between(service, timer_ns / 2, timer_ns - timer_ns / 20);
    (share >= ACK_SHARE && beside * 2 <= delayed).then(|| {
        vec![
            ("delayed", delayed as f64),
            ("delayed_share", share),
            ("timer_ns", timer_ns as f64),
            ("beside", beside as f64),
        ]
    })
}

fn in_words(timer_ns: u64) -> &'static str {
    if timer_ns < 100_000_000 { "40 ms" } else { "200 ms" }
}

/// Connections that took whole seconds: their first packet was lost.
pub(super) fn syn_retransmit(document: &Document) -> Option<Finding> {
    let connect = &document.latencies.connect;
    connect.max_ns.filter(|&max_ns| max_ns >= 1_000_000_000)?;
    let lost: u64 = SYN_SECONDS
        .iter()
        .map(|second| {
            let at_ns = second * 1_000_000_000;
            between(connect, at_ns - SYN_SLACK_NS / 10, at_ns + SYN_SLACK_NS)
        })
        .sum();
    (lost > 0).then(|| Finding {
        severity: Severity::Warning,
        sentence: format!(
            "SYN retransmits: {} of {} connections took whole seconds to establish, up to {}.",
            fmt_count(lost),
            fmt_count(connect.count),
            fmt_duration_ns(connect.max_ns.unwrap_or(0))
        ),
        evidence: vec![
            ("retransmitted", lost as f64),
            ("connections", connect.count as f64),
            ("connect_max_ns", connect.max_ns.unwrap_or(0) as f64),
        ],
        remedy: "Raise the target's listen backlog (and net.core.somaxconn), or open fewer \
                 connections at a time.",
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use crate::document::Document;
    use crate::testing;
    use candor_record::AckCounts;

    const MS: u64 = 1_000_000;

    fn with(service: &[u64], first_byte: &[u64]) -> Document {
        let mut document = testing::healthy_closed();
        document.latencies.service = testing::distribution(service);
        document.latencies.first_byte = testing::distribution(first_byte);
        document.acks = AckCounts { tried: 12, moved: 12 };
        document
    }

    #[test]
    fn an_answer_that_waits_for_an_acknowledgement() {
        let early = vec![MS / 5; 1000];
        for (timer_ms, words) in [(41, "40 ms later"), (201, "200 ms later")] {
            let late: Vec<u64> = (0..1000).map(|i| timer_ms * MS + i * 1000).collect();
            let verdict = found(&with(&late, &early), "nagle-delayed-ack").unwrap();
            assert!(verdict.sentence.contains(words), "{}", verdict.sentence);
            assert!(verdict.remedy.contains("TCP_NODELAY"));
            // The control: a server with that service time.
            assert!(found(&with(&late, &late), "nagle-delayed-ack").is_none());
        }
        // Servers that take as long as that timer by themselves.
        for timer_ms in [41, 201] {
            let late: Vec<u64> = (0..1000).map(|i| timer_ms * MS + i * 1000).collect();
            let mut document = with(&late, &early);
            for (moved, is_found) in [(0, false), (2, false), (3, true)] {
                document.acks.moved = moved;
                assert_eq!(found(&document, "nagle-delayed-ack").is_some(), is_found, "{moved}");
            }
            document.acks = AckCounts::default();
            assert!(found(&document, "nagle-delayed-ack").is_none(), "nothing was tried");
        }
        // Times all over, some of them within the window.
        let spread: Vec<u64> = (0..1000).map(|i| i * MS / 10).collect();
        assert!(found(&with(&spread, &early), "nagle-delayed-ack").is_none());
        assert!(found(&with(&early, &early), "nagle-delayed-ack").is_none());
    }

    #[test]
    fn pipelined_answers_that_wait_for_an_acknowledgement() {
        // One of four at once, three when the timer ends.
        let times = |timer_ms: u64| -> Vec<u64> {
            (0..1000).map(|i| if i % 4 == 0 { MS } else { timer_ms * MS + i * 1000 }).collect()
        };
        let pipelined = |times: &[u64], pipeline| {
            let mut document = with(times, times);
            document.plan.connections.pipeline = pipeline;
            found(&document, "nagle-delayed-ack")
        };
        for (timer_ms, words) in [(43, "40 ms after"), (201, "200 ms after")] {
            let verdict = pipelined(&times(timer_ms), 4).unwrap();
            assert!(verdict.sentence.contains("750 of 1,000 pipelined"), "{}", verdict.sentence);
            assert!(verdict.sentence.contains(words), "{}", verdict.sentence);
            assert_eq!((verdict.evidence["delayed"], verdict.evidence["at_once"]), (750.0, 250.0));
        }
        // Some or all responses of a server take 43 ms: no batch has an early first one.
        assert!(pipelined(&times(43), 1).is_none());
        assert!(pipelined(&[43 * MS; 1000], 4).is_none());
        // Response times all over.
        let spread: Vec<u64> = (0..1000).map(|i| i * MS / 10).collect();
        assert!(pipelined(&spread, 4).is_none());
    }

    #[test]
    fn connections_that_took_whole_seconds() {
        let mut document = testing::healthy_closed();
        let mut with = |connect: &[u64]| {
            document.latencies.connect = testing::distribution(connect);
            found(&document, "syn-retransmit")
        };
        let verdict = with(&[MS, MS, 1003 * MS, 3010 * MS]).unwrap();
        assert_eq!(verdict.evidence["retransmitted"], 2.0);
        assert!(with(&[MS, 900 * MS]).is_none());
        assert!(with(&[MS, 1500 * MS]).is_none(), "slow, but by no timer");
    }
}
