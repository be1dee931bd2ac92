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
    let Some(Tokens::At(place)) = &stream.tokens else { return Ok(()) };
    match Source::compile(place) {
        Ok(source) if source.is_in_body() => Ok(()),
        Ok(_) => {
            let problem = "tokens are counted in events; use events, json: or regex:";
            wrong("--tokens", without_refused(&format!("{place:?}: {problem}"), place))
        }
        Err(problem) => wrong(
            "--tokens",
            without_refused(&format!("{place:?}: {problem}; or use events"), place),
        ),
    }
}
