//! ghz's data and metadata: JSON, with calls of Go's templates in it.

use candor_plan::values::CallName;
use serde_json::Value;

use crate::getopt::Refusal;

/// What templates can say of the run.
#[derive(Debug, Default)]
pub(super) struct Known<'a> {
    pub(super) call: Option<&'a CallName>,
    /// The name of the run, for the names of its workers.
    pub(super) name: Option<&'a str>,
    pub(super) workers: u32,
    pub(super) connections: u32,
}

/// A text with ghz's `{{…}}` as holes of ours.
pub(super) fn holes(text: &str, is_literal: bool, of: &Known<'_>) -> Result<String, Refusal> {
    let text = text.replace("${", "$${");
    if is_literal {
        return Ok(text);
    }
    let mut out = String::new();
    let mut rest = &text[..];
    while let Some((before, after)) = rest.split_once("{{") {
        // In JSON, `{{` can also be the beginning of an object within one; then no template follows.
        let Some((inner, behind)) = after.split_once("}}") else { break };
        out.push_str(before);
        out.push_str(&hole(inner, of)?);
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

fn hole(inner: &str, of: &Known<'_>) -> Result<String, Refusal> {
    let words: Vec<&str> = inner.trim_matches(['-', ' ']).split_whitespace().collect();
    // `package.Service/Method`.
    let full = of.call.map(|call| call.path().trim_start_matches('/')).unwrap_or_default();
    let (service, method) = full.split_once('/').unwrap_or_default();
    let wrong = |what: &str| Err(Refusal(format!("{{{{{inner}}}}}: {what}")));
    let known = match &words[..] {
        [".RequestNumber"] => "${seq}".to_owned(),
        [".WorkerID"] => workers(of),
        [".FullyQualifiedName"] => full.replace('/', "."),
        [".MethodName"] => method.to_owned(),
        [".ServiceName"] => service.rsplit('.').next().unwrap_or_default().to_owned(),
        [".UUID"] | ["newUUID" | "uuidv4"] => "${uuid}".to_owned(),
        [".Timestamp"] => "${now}".to_owned(),
        [".TimestampUnix"] => "${now_s}".to_owned(),
        [".TimestampUnixMilli"] => "${now_ms}".to_owned(),
        [".TimestampUnixNano"] => "${now_ns}".to_owned(),
        ["randomString" | "randAlphaNum", length] => match length.parse::<i64>() {
            Ok(..=0) if words[0] == "randomString" => "${chars 2..16}".to_owned(),
            Ok(length @ 1..) => format!("${{chars {length}}}"),
            _ => return wrong("a length is a number above zero; write e.g. 8"),
        },
        ["randomInt" | "randInt", low, high] => match (low.parse::<i64>(), high.parse::<i64>()) {
            // Go's upper end is not included.
            (Ok(low), Ok(high)) if low < high => format!("${{random {low}..{}}}", high - 1),
            _ => return wrong("it takes two numbers, the lower first"),
        },
        _ => {
            return Err(Refusal(format!(
                "{{{{{inner}}}}} is not supported; use .RequestNumber, .WorkerID, .UUID, .Timestamp, .TimestampUnix, newUUID, randomString or randomInt, or ${{…}} of candor grpc"
            )));
        }
    };
    Ok(known)
}

/// One of the workers' names: which of ours sends a call is not known when it is written.
fn workers(of: &Known<'_>) -> String {
    /// More make the choice no better.
    const MOST: u32 = 10_000;
    let prefix = of.name.map(|name| format!("{name}:")).unwrap_or_default();
    let connections = of.connections.max(1);
    let one = |number| format!("{prefix}g{number}c{}", number % connections);
    let all: Vec<String> = (0..of.workers.clamp(1, MOST)).map(one).collect();
    format!("${{choice {}}}", all.join(","))
}

/// The messages of data: the elements of an array, or one. Holes outside of strings are no JSON, so brackets are
/// counted.
pub(super) fn messages(text: &str) -> Vec<String> {
    let Some(inner) = text.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        return vec![text.to_owned()];
    };
    let (mut all, mut depth, mut start) = (Vec::new(), 0u32, 0);
    let (mut is_text, mut is_escaped) = (false, false);
    for (at, c) in inner.char_indices() {
        match c {
            _ if std::mem::take(&mut is_escaped) => {}
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            _ if is_text => {}
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                all.push(inner[start..at].trim().to_owned());
                start = at + 1;
            }
            _ => {}
        }
    }
    all.push(inner[start..].trim().to_owned());
    all
}

/// Messages that stand one after the other, each with its length in front.
pub(super) fn counted(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let mut length = 0u64;
        for shift in (0..).step_by(7) {
            let (byte, rest) = bytes.split_first()?;
            length |= u64::from(byte & 0x7f).checked_shl(shift)?;
            bytes = rest;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let (message, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
        all.push(message);
        bytes = rest;
    }
    Some(all)
}

/// Metadata: names and texts.
pub(super) fn metadata(text: &str) -> Result<Vec<(String, String)>, Refusal> {
    let wrong = |problem: String| Refusal(format!("error unmarshaling metadata: {problem}"));
    match serde_json::from_str(text) {
        Ok(Value::Object(all)) => all
            .into_iter()
            .map(|(name, value)| match value {
                Value::String(text) => Ok((name, text)),
                _ => Err(wrong(format!("the value of {name} is no text; write a text in quotes"))),
            })
            .collect(),
        Ok(_) => Err(wrong("write an object, such as {\"name\":\"text\"}".to_owned())),
        // A message of the reader does not repeat a value.
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// A file of options as words of a command line.
pub(super) fn config(name: &str, text: &str) -> Result<Vec<String>, Refusal> {
    let wrong = |problem: String| Refusal(format!("--config {name}: {problem}"));
    let is_toml = name.ends_with(".toml");
    let read: Value = match is_toml {
        true => toml::from_str(text).map_err(|error| wrong(error.message().to_owned()))?,
        false => serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?,
    };
    let Value::Object(options) = read else {
        return Err(wrong("write an object of options".to_owned()));
    };
    let mut words = Vec::new();
    for (key, value) in options {
        let as_json = matches!(key.as_str(), "data" | "metadata" | "tags");
        let text = match value {
            Value::Null | Value::Bool(false) => continue,
            Value::Bool(true) => {
                words.push(format!("--{key}"));
                continue;
            }
            Value::String(text) => text,
            Value::Array(all) if !as_json => {
                let texts: Option<Vec<&str>> = all.iter().map(Value::as_str).collect();
                texts.ok_or_else(|| wrong(format!("{key} is a list of texts")))?.join(",")
            }
            // Go's durations are nanoseconds where they are numbers.
            Value::Number(ns) if key.ends_with("duration") || key.ends_with("timeout") => {
                format!("{ns}ns")
            }
            value => value.to_string(),
        };
        match key.as_str() {
            "host" => words.push(text),
            _ => words.push(format!("--{key}={text}")),
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_become_holes_and_ours_stay_text() {
        let text = r#"{"id": {{.RequestNumber}}, "u": "{{ newUUID }}", "n": {{randomInt 1 4}}, "x": "${y}"}"#;
        let ours = r#"{"id": ${seq}, "u": "${uuid}", "n": ${random 1..3}, "x": "$${y}"}"#;
        let call: CallName = "a.b.S.One".parse().unwrap();
        let of = Known { call: Some(&call), name: None, workers: 3, connections: 2 };
        assert_eq!(holes(text, false, &of).unwrap(), ours);
        assert_eq!(holes("{{.X}}", true, &of).unwrap(), "{{.X}}");
        assert_eq!(holes(r#"{"a":{"b":{}}"#, false, &of).unwrap(), r#"{"a":{"b":{}}"#);
        let table = [
            (
                "{{.TimestampUnix}} {{.Timestamp}} {{.TimestampUnixNano}}",
                "${now_s} ${now} ${now_ns}",
            ),
            (
                "{{randomString 8 }} {{randomString 0}} {{randomString -1}}",
                "${chars 8} ${chars 2..16} ${chars 2..16}",
            ),
            ("{{.FullyQualifiedName}} {{.ServiceName}} {{.MethodName}}", "a.b.S.One S One"),
            ("{{.WorkerID}}", "${choice g0c0,g1c1,g2c0}"),
        ];
        for (theirs, ours) in table {
            assert_eq!(holes(theirs, false, &of).unwrap(), ours);
        }
        let named = Known { name: Some("n"), workers: 1, ..of };
        assert_eq!(holes("{{ .WorkerID }}", false, &named).unwrap(), "${choice n:g0c0}");
        let refused = holes("{{.InputName}}", false, &named).unwrap_err().0;
        assert!(refused.starts_with("{{.InputName}} is not supported"), "{refused}");
        assert!(holes("{{randomInt 4 1}}", false, &named).is_err());
        assert!(holes("{{randAlphaNum 0}}", false, &named).is_err());
    }

    #[test]
    fn an_array_is_several_messages() {
        assert_eq!(messages("{}"), ["{}"]);
        assert_eq!(
            messages(r#" [{"a": "],\"{"}, {"b": [1, ${seq}]}, {}] "#),
            [r#"{"a": "],\"{"}"#, r#"{"b": [1, ${seq}]}"#, "{}"]
        );
    }

    #[test]
    fn a_file_of_options_is_words() {
        let json = r#"{"proto": "a.proto", "total": 10, "insecure": true, "async": false,
            "import-paths": ["a", "b"], "data": {"id": 1}, "host": "h:1", "duration": "5s", "timeout": 1000}"#;
        let mut words = config("c.json", json).unwrap();
        words.sort();
        assert_eq!(
            words,
            [
                "--data={\"id\":1}",
                "--duration=5s",
                "--import-paths=a,b",
                "--insecure",
                "--proto=a.proto",
                "--timeout=1000ns",
                "--total=10",
                "h:1"
            ]
        );
        assert_eq!(config("c.toml", "total = 3\nhost = 'h'").unwrap().len(), 2);
        assert!(config("c.json", "[]").is_err() && config("c.toml", "=").is_err());
    }

    #[test]
    fn messages_with_their_lengths() {
        let long = vec![7; 300];
        let bytes = [&[2, 1, 2, 0, 0xac, 2][..], &long].concat();
        assert_eq!(counted(&bytes).unwrap(), [&[1, 2][..], &[], &long]);
        assert_eq!(counted(&[]).unwrap().len(), 0);
        for wrong in [&[2, 1][..], &[0x80], &[0xff; 11]] {
            assert_eq!(counted(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn metadata_are_texts() {
        let told = metadata(r#"{"a": "b"}"#).unwrap();
        assert_eq!(told, [("a".to_owned(), "b".to_owned())]);
        for wrong in ["", "[]", r#"{"a": 1}"#] {
            assert!(metadata(wrong).is_err(), "{wrong}");
        }
    }
}
