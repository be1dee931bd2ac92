//! The rules for a stream of events.

use candor_memory::{Pattern, Source};

use crate::build::conflict;
use crate::error::PlanError;
use crate::model::{HttpVersion, Parts};
use crate::redact::without_refused;
use crate::stream::{Streaming, Tokens};

pub(super) fn check(parts: &Parts, stream: &Streaming) -> Result<(), PlanError> {
    let wrong = |option, problem| Err(PlanError::Value { option, problem });
    if parts.target.http == HttpVersion::Upgrade {
        let why = "the first response is not read as a stream there; use --h2c";
        return Err(conflict("--h2c-upgrade", "--stream", why));
    }
    if let Some(expression) = &stream.error {
        if expression.is_empty() {
            let problem =
                "the expression is empty and matches every event; write e.g. '^event: error'";
            return wrong("--stream-error", problem.to_owned());
        }
        if let Err(problem) = Pattern::new(expression) {
            return wrong(
                "--stream-error",
                without_refused(&format!("{expression:?}: {problem}"), expression),
            );
        }
    }
    if stream.end.as_ref().is_some_and(|text| text.trim().is_empty()) {
        let problem = "no event has an empty text; write e.g. '[DONE]'";
        return wrong("--stream-end", problem.to_owned());
    }
    let counted = match &stream.tokens {
        Some(Tokens::At(place)) => Some(place),
        Some(Tokens::Events) | None => None,
    };
    place("--tokens", counted, "; or use events")?;
    stream.token.iter().try_for_each(|rule| place("--token", Some(rule), ""))?;
    place("--input-tokens", stream.input_tokens.as_ref(), "")
}

/// A rule that looks into events.
fn place(option: &'static str, rule: Option<&String>, or: &str) -> Result<(), PlanError> {
    let Some(rule) = rule else { return Ok(()) };
    let problem = match Source::compile(rule) {
        Ok(source) if source.is_in_body() => return Ok(()),
        Ok(_) => format!("tokens are counted in events; use json: or regex:{or}"),
        Err(problem) => format!("{problem}{or}"),
    };
    let problem = without_refused(&format!("{rule:?}: {problem}"), rule);
    Err(PlanError::Value { option, problem })
}
