//! h2load's timing scripts: an offset in milliseconds, a tab and a URI in each line. Every client
//! follows the script, so each line is as many requests as there are clients.

use candor_plan::units;
use candor_plan::values::Count;

use super::arguments::{Asked, Refusal};

/// A script, read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Script {
    /// Different URIs, in the order in which they come up.
    pub(super) uris: Vec<String>,
    /// When, from the beginning; and which of the URIs.
    lines: Vec<(u64, u32)>,
}

/// Reads a script, `most` lines of it at most.
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
                "Invalid time value detected, {offset:?} at line {number} is no number of milliseconds"
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
    // Clients take the lines in order; a line that is earlier than the one before is late then.
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

    /// Which URI each request has; nothing where there is only one.
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
            ("x\thttp://h/\n", "line 1 is no number of milliseconds"),
            ("\n", "No URI given"),
        ] {
            assert!(parse(text, None).unwrap_err().0.contains(part), "{text:?}");
        }
    }
}
