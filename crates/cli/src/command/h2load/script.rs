//! h2load's timing scripts: an offset in milliseconds, a tab and a URI in each line. Every client
//! follows the script, so each line means one request from each client.

use candor_plan::units;
use candor_plan::values::Count;

use super::arguments::Asked;
use crate::getopt::Refusal;

/// A parsed script.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Script {
    /// The distinct URIs in the order of their first use.
    pub(super) uris: Vec<String>,
    /// Offset from the beginning, and index of the URI.
    lines: Vec<(u64, u32)>,
}

/// Parses a script, at most `most` lines of it.
pub(super) fn parse(text: &str, most: Option<&Count>) -> Result<Script, Refusal> {
    let mut script = Script { uris: Vec::new(), lines: Vec::new() };
    let limit = most.map_or(usize::MAX, |most| usize::try_from(most.get()).unwrap_or(usize::MAX));
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    for (index, line) in lines.take(limit) {
        let number = index + 1;
        let (offset, uri) = line.split_once('\t').ok_or_else(|| {
            Refusal(format!("Invalid line format detected, no tab character at line {number}"))
        })?;
        let offset_ns = units::parse_duration_ns(&format!("{}ms", offset.trim())).map_err(|_| {
            Refusal(format!(
                "Invalid time value detected, {offset:?} at line {number} is not a number of milliseconds"
            ))
        })?;
        let uri = uri.trim();
        let known = script.uris.iter().position(|known| known == uri);
        let index = known.unwrap_or_else(|| {
            script.uris.push(uri.to_owned());
            script.uris.len() - 1
        });
        script.lines.push((offset_ns, index as u32));
    }
    // Clients follow the lines in order; a line with an earlier time than the one before is late.
    script.lines.sort_by_key(|&(offset_ns, _)| offset_ns);
    match script.lines.is_empty() {
        true => Err(Refusal::new("No URI given")),
        false => Ok(script),
    }
}

impl Script {
    /// All due offsets, as a replay reads them.
    pub(super) fn schedule(&self, asked: &Asked) -> String {
        let each = |&(offset_ns, _): &(u64, u32)| {
            format!("{offset_ns}ns\n").repeat(asked.clients.get() as usize)
        };
        self.lines.iter().map(each).collect()
    }

    /// The URI of each request; empty if there is only one URI.
    pub(super) fn sequence(&self, asked: &Asked) -> Vec<u32> {
        if self.uris.len() < 2 {
            return Vec::new();
        }
        let clients = asked.clients.get() as usize;
        self.lines.iter().flat_map(|&(_, uri)| std::iter::repeat_n(uri, clients)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_wrong_are_named() {
        for (text, part) in [
            ("0\thttp://h/\n1 http://h/\n", "no tab character at line 2"),
            ("x\thttp://h/\n", "line 1 is not a number of milliseconds"),
            ("\n", "No URI given"),
        ] {
            assert!(parse(text, None).unwrap_err().0.contains(part), "{text:?}");
        }
    }
}
