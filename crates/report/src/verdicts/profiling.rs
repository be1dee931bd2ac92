//! Targets that were profiled during the measurement.

use super::{Finding, Severity};
use crate::document::Document;

/// Every figure includes the cost of the profiler.
pub(super) fn profiled(document: &Document) -> Option<Finding> {
    let profiler = document.profiler()?;
    let profile = document.profile.as_ref();
    let at = |pick: fn(&crate::document::profile::Profile) -> Option<f64>| profile.and_then(pick);
    let window_s = document.time.window_ns as f64 / 1e9;
    Some(Finding {
        severity: Severity::Warning,
        sentence: format!(
            "The target was profiled during the run ({profiler}): do not compare its figures."
        ),
        evidence: vec![
            ("from_s", at(|one| one.from_s).unwrap_or(0.0)),
            ("to_s", at(|one| one.to_s).unwrap_or(window_s)),
        ],
        remedy: "Read the profile; run again without a profiler for figures to compare.",
    })
}

/// The profile is missing or incomplete.
pub(super) fn profile_failed(document: &Document) -> Option<Finding> {
    let profile = document.profile.as_ref()?;
    let problem = profile.problem.as_ref()?;
    let said = match profile.log_tail.last() {
        Some(last) => format!(" Its last line: {}", last.trim_end_matches('.')),
        None => String::new(),
    };
    let sentence = format!("The profiler failed: {problem}.{said}");
    Some(Finding {
        severity: Severity::Warning,
        sentence: sentence.trim_end_matches('.').to_owned() + ".",
        evidence: vec![
            ("profiled_s", profile.to_s.zip(profile.from_s).map_or(0.0, |(to, from)| to - from)),
            ("file_bytes", profile.file_bytes.unwrap_or(0) as f64),
        ],
        remedy: "Try the command by hand on another process, as the user that runs the loader.",
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use crate::document::target::{Resources, StatsSample};
    use crate::testing;

    #[test]
    fn a_profiler_of_ours_and_one_of_the_targets_own() {
        let mut document = testing::healthy_open();
        assert!(found(&document, "profiled").is_none());
        document.set_profile(testing::profile(None));
        let verdict = found(&document, "profiled").unwrap();
        assert!(verdict.sentence.contains("(perf): do not compare"));
        assert_eq!(verdict.evidence["to_s"], 3.001);
        assert!(found(&document, "profile-failed").is_none());

        let mut document = testing::healthy_open();
        let with = |kind: &str| Resources {
            stats: vec![StatsSample { at_s: 1.0, json: serde_json::json!({ "profile": kind }) }],
            ..testing::watched()
        };
        document.set_target(with("none"), false);
        assert_eq!(document.profiler(), None);
        document.set_target(with("eprof"), false);
        assert!(found(&document, "profiled").unwrap().sentence.contains("(eprof, its own)"));
    }

    #[test]
    fn one_that_failed_says_why_and_the_figures_stay_what_they_are_if_it_never_began() {
        let mut document = testing::healthy_open();
        let mut profile = testing::profile(Some("it could not be started: no such file"));
        (profile.from_s, profile.to_s, profile.file_bytes) = (None, None, None);
        profile.log_tail.clear();
        document.set_profile(profile);
        let sentence = found(&document, "profile-failed").unwrap().sentence;
        assert!(sentence.ends_with("it could not be started: no such file."), "{sentence}");
        assert!(found(&document, "profiled").is_none());
        document.set_profile(testing::profile(Some("it ended by itself, with exit status 1")));
        let sentence = found(&document, "profile-failed").unwrap().sentence;
        assert!(sentence.ends_with("exit status 1. Its last line: Permission denied."));
        assert!(found(&document, "profiled").is_some());
    }
}
