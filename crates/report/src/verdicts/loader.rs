//! Whether the loader, and not the server, made the numbers.

use candor_plan::units::{fmt_duration_ns, fmt_share};

use super::{Finding, Severity};
use crate::document::Document;

/// A worker that uses more of its core than this has nothing left for a peak.
const CPU_SHARE_LIMIT: f64 = 0.9;
/// Our lag may be this share of the response time that is reported.
const LAG_SHARE_LIMIT: f64 = 0.1;
/// Lag below this is the cost of a system call, whatever its share.
const LAG_FLOOR_NS: u64 = 100_000;

/// A worker was above 90 % of its core.
pub(super) fn cpu(document: &Document) -> Option<Finding> {
    let shares = || document.workers.iter().filter_map(|worker| worker.cpu_share);
    let busiest = shares().max_by(f64::total_cmp)?;
    let busy = shares().filter(|&share| share > CPU_SHARE_LIMIT).count();
    (busy > 0).then(|| Finding {
        severity: Severity::Warning,
        sentence: format!(
            "{busy} of {} engine threads used more than {} of a core (the busiest {}): the loader \
             may have been the limit.",
            document.workers.len(),
            fmt_share(CPU_SHARE_LIMIT),
            fmt_share(busiest)
        ),
        evidence: vec![
            ("busiest_cpu_share", busiest),
            ("busy_workers", busy as f64),
            ("workers", document.workers.len() as f64),
        ],
        remedy: "Give it more cores with --threads, or run it on another machine than the target.",
    })
}

/// Our lag is a material share of the percentile being reported.
pub(super) fn send_lag(document: &Document) -> Option<Finding> {
    let lag_ns = document.latencies.send_lag.percentile_ns("p99")?;
    let response_ns = document.latencies.response.percentile_ns("p99")?;
    let material = lag_ns > LAG_FLOOR_NS && lag_ns as f64 > response_ns as f64 * LAG_SHARE_LIMIT;
    material.then(|| Finding {
        severity: Severity::Warning,
        sentence: format!(
            "The loader was late: its p99 send lag of {} is a material part of the p99 response \
             time of {}.",
            fmt_duration_ns(lag_ns),
            fmt_duration_ns(response_ns)
        ),
        evidence: vec![("send_lag_p99_ns", lag_ns as f64), ("response_p99_ns", response_ns as f64)],
        remedy: "Lower the rate, add --threads, or keep the target off the loader's cores.",
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use crate::testing;

    #[test]
    fn a_busy_worker() {
        let mut document = testing::healthy_open();
        document.workers[1].cpu_share = Some(0.9);
        assert!(found(&document, "loader-cpu").is_none());
        document.workers[1].cpu_share = Some(0.93);
        let verdict = found(&document, "loader-cpu").unwrap();
        assert!(verdict.sentence.starts_with("1 of 2"), "{}", verdict.sentence);
        assert_eq!(verdict.evidence["busiest_cpu_share"], 0.93);
    }

    #[test]
    fn lag_counts_when_it_is_large_and_a_large_share() {
        let mut document = testing::healthy_open();
        let mut set = |lag_ns, response_ns| {
            document.latencies.send_lag.percentiles_ns.insert("p99".into(), Some(lag_ns));
            document.latencies.response.percentiles_ns.insert("p99".into(), Some(response_ns));
            found(&document, "send-lag").is_some()
        };
        assert!(set(200_000, 1_000_000));
        assert!(!set(90_000, 100_000), "below the floor");
        assert!(!set(200_000, 3_000_000), "a small share");
    }
}
