//! Checks that the run was stationary from its beginning to its end.

use candor_plan::units::{fmt_duration_ns, fmt_share};
use candor_stats::stationary;

use super::{Finding, Severity};
use crate::document::Document;
use candor_plan::Load;
use candor_record::Brief;

/// The rate of false alarms among steady runs, at most: a change must also be large.
const FALSE_ALARMS: f64 = 0.01;
/// Smaller changes do not matter.
const CHANGE: f64 = 0.2;
/// Nor do changes of less than this.
const CHANGE_FLOOR_NS: f64 = 20_000.0;

/// The typical latency of the second half differs from that of the first.
pub(super) fn not_stationary(document: &Document) -> Option<Finding> {
    let brief = |one: &Brief| one.p50_ns.map(|ns| ns as f64).or(one.mean_ns);
    let rows = document.window_intervals();
    let series: Vec<f64> = match document.plan.load {
        Load::Open(_) => rows.filter_map(|row| brief(&row.response)).collect(),
        Load::Closed { .. } => rows.filter_map(|row| brief(&row.service)).collect(),
    };
    let found = stationary::judge(&series)?;
    let moved_ns = (found.second - found.first).abs();
    // A change over the whole run, or a change and its reversal.
    let material = found.change().abs() > CHANGE && moved_ns > CHANGE_FLOOR_NS;
    if found.p() >= FALSE_ALARMS || !material {
        return None;
    }
    let way = if found.second > found.first { "rose" } else { "fell" };
    Some(Finding {
        severity: Severity::Warning,
        sentence: format!(
            "Latency drifted: the median of intervals {way} from {} in the first half to {} in the second \
             ({}; {} intervals, p = {:.1e}).",
            fmt_duration_ns(found.first as u64),
            fmt_duration_ns(found.second as u64),
            fmt_share(found.change().abs()),
            series.len(),
            found.p()
        ),
        evidence: vec![
            ("first_half_ns", found.first),
            ("second_half_ns", found.second),
            ("change", found.change()),
            ("p", found.p()),
            ("intervals", series.len() as f64),
        ],
        remedy: "Use a longer --warm-up, or find what changes; these percentiles depend on the run's length.",
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use crate::testing;

    #[test]
    fn a_step_is_found_and_noise_is_not() {
        let with = |intervals: usize, p50: &dyn Fn(u64) -> u64| {
            found(&testing::with_medians(intervals, p50), "not-stationary")
        };
        let noise = |i: u64| i * 7919 % 50 * 1000;
        let verdict = with(20, &|i| 500_000 * (1 + i / 10) + noise(i)).unwrap();
        assert!(verdict.sentence.contains("rose from"), "{}", verdict.sentence);
        assert!((verdict.evidence["change"] - 1.0).abs() < 0.1, "{verdict:?}");
        assert!(with(20, &|i| 1_000_000 / (1 + i / 10) + noise(i)).is_some(), "it fell");
        assert!(with(20, &|i| 500_000 + noise(i)).is_none(), "noise");
        assert!(with(20, &|i| 500_000 + i * 2000 + noise(i)).is_none(), "a few per cent");
        assert!(with(8, &|i| 500_000 * (1 + i / 4)).is_none(), "too short to say");
        assert!(with(20, &|i| if i == 15 { 90_000_000 } else { 500_000 + noise(i) }).is_none());
    }
}
