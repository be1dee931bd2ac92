//! Files of due offsets for `replay FILE`: one a line, in ascending order.
//!
//! An offset counts from the beginning of the segment: a number of seconds, or a number with a
//! unit. Blank lines, and everything after a `#`, are skipped. The caller supplies the bytes; the
//! offsets go into a segment.

use std::sync::Arc;

use crate::error::PlanError;
use crate::redact;
use crate::units::{parse_duration_ns, print_duration_ns};

/// Parses the bytes of `file` into ascending offsets in nanoseconds. Equal ones are allowed.
pub fn parse_offsets(file: &str, bytes: &[u8]) -> Result<Arc<[u64]>, PlanError> {
    let wrong = |place: String, problem: String| PlanError::Offsets { place, problem };
    let mut offsets_ns: Vec<u64> = Vec::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        // Lines are counted from 1.
        let wrong = |problem| wrong(format!("{file}:{}", index + 1), problem);
        let text = std::str::from_utf8(line).map_err(|_| {
            wrong("not UTF-8 text; write one due offset on each line, in seconds".to_owned())
        })?;
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        let offset_ns = parse_duration_ns(text).map_err(|error| {
            let shown: String = text.chars().take(40).collect();
            let error = redact::without_refused(&error.to_string(), &shown);
            wrong(format!("\"{}\": {error}", redact::refused(&shown)))
        })?;
        if let Some(previous_ns) = offsets_ns.last()
            && offset_ns < *previous_ns
        {
            return Err(wrong(format!(
                "{} is before {} in the line above; sort the offsets",
                print_duration_ns(offset_ns),
                print_duration_ns(*previous_ns)
            )));
        }
        offsets_ns.push(offset_ns);
    }
    match offsets_ns.is_empty() {
        true => Err(wrong(
            file.to_owned(),
            "no due offset; write one on each line, in seconds".to_owned(),
        )),
        false => Ok(offsets_ns.into()),
    }
}
