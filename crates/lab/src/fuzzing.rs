//! The entry for fuzzing: parsers of other programs' output, as functions of text. Not part of the
//! crate's interface.

use std::time::Duration;

use crate::clients::protocol::{self, Answer, Ask, Described};
use crate::target::{http, ready};

/// Parses a driver's description of itself.
pub fn described(line: &str) -> Result<Described, String> {
    protocol::described(line)
}

/// The command whose replies are mutated.
pub(crate) const ASK: Ask<'_> = Ask {
    what: "run",
    url: "http://h/",
    pool: 5,
    concurrency: 4,
    warm_up_ms: 10,
    duration_ms: 100,
    timeout_ms: 1000,
    expect_status: 200,
    expect_body_bytes: None,
};

/// Parses a driver's counts after a second.
pub fn answered(line: &str) -> Result<Answer, String> {
    protocol::answered(line, &ASK, Duration::from_secs(1))
}

/// The URL in this port file.
pub fn port_file(text: &str) -> Result<String, String> {
    ready::announced(&ready::lines(text)).map(|announced| announced.url)
}

/// The count in a target's whole response.
pub fn stats(bytes: &[u8]) -> Result<u64, String> {
    let answer = http::parse(bytes).ok_or_else(|| "this is no response of HTTP".to_owned())?;
    Ok(http::counted("http://h/", &answer.body)?.0)
}
