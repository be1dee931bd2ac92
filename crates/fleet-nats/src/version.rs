//! Versions of nats-server: which of them have known vulnerabilities.
//!
//! An outdated broker is reported and used all the same: whether it is to be replaced is its owner's decision.

/// Supported lines, as major and minor number, with the first patch of each that has no known vulnerability. Older lines
/// get no repairs any more.
const REPAIRED: [([u32; 2], u32); 3] = [([2, 11], 16), ([2, 12], 7), ([2, 14], 0)];

/// Whether a version has known vulnerabilities. One that cannot be read is not judged.
pub(crate) fn is_outdated(version: &str) -> bool {
    let (number, _) = version.split_once('-').unwrap_or((version, ""));
    let mut parts = number.trim_start_matches('v').split('.').map(str::parse::<u32>);
    let mut next = || parts.next().and_then(Result::ok);
    let (Some(major), Some(minor), Some(patch)) = (next(), next(), next()) else { return false };
    let line = [major, minor];
    match REPAIRED.iter().find(|(repaired, _)| *repaired == line) {
        Some((_, first)) => patch < *first,
        None => REPAIRED.iter().any(|(repaired, _)| line < *repaired),
    }
}

#[cfg(test)]
mod tests {
    use super::is_outdated;

    #[test]
    fn each_line_has_its_first_repaired_version() {
        for old in ["1.4.1", "2.9.10", "2.10.99", "2.11.15", "2.12.6", "2.13.0", "v2.11.0-RC.2"] {
            assert!(is_outdated(old), "{old}");
        }
        for new in ["2.11.16", "2.12.7", "2.14.0", "2.14.0-RC.1", "2.15.0", "3.0.0", "", "dev", "2"]
        {
            assert!(!is_outdated(new), "{new}");
        }
    }
}
