//! `candor --version --json`: what this program is, for other programs.

use candor_report::document;
use serde_json::json;

/// Whether these words ask for it.
pub(crate) fn is_asked(words: &[String]) -> bool {
    let is = |word: &str, names: &[&str]| names.contains(&word);
    match words {
        [_, one, other] => [(one, other), (other, one)]
            .iter()
            .any(|(one, other)| is(one, &["-V", "--version"]) && is(other, &["--json"])),
        _ => false,
    }
}

/// One value of JSON, in one line. The revision is that of the release's source, and null in other builds.
pub(crate) fn json() -> String {
    let features = [("fleet", cfg!(feature = "fleet")), ("script", cfg!(feature = "script"))];
    let features: Vec<&str> =
        features.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect();
    let about = json!({
        "name": "candor",
        "version": env!("CARGO_PKG_VERSION"),
        "revision": option_env!("CANDOR_REVISION"),
        "features": features,
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "result": document::FORMAT,
    });
    format!("{about}\n")
}
