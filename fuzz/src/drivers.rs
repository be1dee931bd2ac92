//! Output of programs that Candor starts: drivers' lines, targets' port files, and STATS.

use candor_lab::fuzzing;

/// A line of a driver.
pub(crate) fn line(bytes: &[u8]) {
    let line = String::from_utf8_lossy(bytes);
    if let Err(error) = fuzzing::described(&line) {
        assert!(!error.is_empty());
    }
    match fuzzing::answered(&line) {
        Ok(answer) => {
            assert_eq!(answer.latency.count(), answer.inside.ok);
            assert!(answer.total().answered() <= answer.total().all());
        }
        Err(error) => assert!(!error.is_empty()),
    }
}

/// A target's port file.
pub(crate) fn port_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match fuzzing::port_file(&text) {
        Ok(url) => assert!(url.starts_with("http://") || url.starts_with("https://")),
        Err(error) => assert!(!error.is_empty()),
    }
}

/// The response of a target to a request for its figures, head and all.
pub(crate) fn stats(bytes: &[u8]) {
    if let Err(error) = fuzzing::stats(bytes) {
        assert!(!error.is_empty());
    }
}
