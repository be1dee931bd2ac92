//! What a managed target used, how it ended if it did, and who profiled it.

use candor_plan::units::{fmt_bytes, fmt_count, fmt_per_second, fmt_share};

use super::super::style::Tone;
use super::super::words;
use super::page::Page;
use crate::document::Document;
use crate::document::target::Resources;

/// The target's resources in the measured window.
pub(super) fn resources(page: &mut Page, document: &Document) {
    let Some(target) = &document.target else { return };
    page.entry("Target", &used(target));
    if let Some(last) = target.samples.last() {
        let highest = |figure: fn(&crate::document::target::ResourceSample) -> u64| {
            fmt_count(target.samples.iter().map(figure).max().unwrap_or(0))
        };
        page.entry(
            "",
            &format!(
                "at most {} processes, {} threads, {} open files; {} voluntary and {} involuntary \
                 context switches",
                highest(|one| one.processes),
                highest(|one| one.threads),
                highest(|one| one.open_files),
                fmt_count(last.voluntary_switches),
                fmt_count(last.involuntary_switches)
            ),
        );
    }
    if !target.cores.is_empty() && !target.loader_cores.is_empty() {
        let list = |cores: &[u64]| cores.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let (its, ours) = (list(&target.cores), list(&target.loader_cores));
        page.toned_entry("", Some(Tone::Faint), &format!("on cores {its}; loader on {ours}"));
    }
    if let Some(how) = &target.ended {
        page.toned_entry("", Some(Tone::Bad), &format!("it ended {how}; its log ends:"));
        for line in &target.log_tail {
            page.entry("", &format!("  {line}"));
        }
    }
    page.blank();
}

/// The profiler and its files.
pub(super) fn profile(page: &mut Page, document: &Document) {
    let parts = words::profile(document);
    for (at, part) in parts.iter().enumerate() {
        page.entry(if at == 0 { "Profile" } else { "" }, part);
    }
    if !parts.is_empty() {
        page.blank();
    }
}

fn used(target: &Resources) -> String {
    let mut parts = Vec::new();
    match (target.cpu_share_mean, target.cpu_share_max) {
        (Some(mean), Some(max)) => {
            parts.push(format!("CPU {} of a core (at most {})", fmt_share(mean), fmt_share(max)));
        }
        (Some(mean), None) => parts.push(format!("CPU {} of a core", fmt_share(mean))),
        _ => parts.push("too short a time to see what it used".to_owned()),
    }
    if let Some(rss_bytes) = target.rss_peak_bytes {
        parts.push(format!("memory at most {}", fmt_bytes(rss_bytes)));
    }
    if let Some(per_cpu_s) = target.requests_per_cpu_s {
        parts.push(format!("{} of its CPU time", fmt_per_second(per_cpu_s)));
    }
    parts.join(", ")
}
