//! Whether a server's responses are what a scenario means: each request once, before and after a trial, looked at as a
//! whole.
//!
//! What can be held against every response for nearly nothing (status, length, bytes) is in the scenario's requests,
//! and each response of the trial is held against it. Header fields, members of JSON and what is compressed are looked
//! at here. Nothing is measured.

use candor_engine::{Control, Exchange, Exchanges, Observer};
use candor_plan::{Capture, Plan, PlanError};

use crate::alternatives;
use crate::credentials::Credentials;

/// What a response is held against: a source and the value that it must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Where the value is: a source as in captures (`header:Location`, `json:$.count`), or [`DECODED_BYTES`].
    pub source: String,
    /// The value, in which `*` stands for any text.
    pub value: String,
}

/// The length of a body when it is decoded.
pub(crate) const DECODED_BYTES: &str = "decoded-bytes";
/// The longest body that is looked at.
const MOST_BYTES: usize = 8 << 20;

/// Keeps the exchanges of a probe.
struct Looker(Exchanges);

impl Observer for Looker {
    fn exchanges(&self) -> Option<Exchanges> {
        Some(self.0.clone())
    }
}

/// Why a probe is not passed.
#[derive(Debug)]
pub(super) enum Fault {
    /// A request has no response.
    None(String),
    /// A response is not what the scenario means.
    Wrong(String),
}

/// Makes each request of a trial's plan once. The error says which response is wrong, and how.
pub(super) fn probe(plan: &Plan, checks: &[Check], control: &Control) -> Result<(), Fault> {
    let once = once(plan, checks).map_err(|error| Fault::None(error.to_string()))?;
    let once =
        &*alternatives::follow(&once, control).map_err(|error| Fault::None(error.to_string()))?;
    let exchanges = Exchanges::whole(MOST_BYTES);
    let mut looker = Looker(exchanges.clone());
    let _own =
        Credentials::take(once, control, |_| {}).map_err(|error| Fault::None(error.to_string()))?;
    candor_engine::run(once, control, &mut looker)
        .map_err(|error| Fault::None(error.to_string()))?;
    let all = exchanges.take();
    if all.len() < once.work.requests().len() && !control.is_stopping() {
        let (made, list) = (all.len(), once.work.requests().len());
        return Err(Fault::None(format!("only {made} of {list} requests could be made")));
    }
    all.iter().try_for_each(|one| {
        judged(one, checks).map_err(|why| {
            let name = &once.work.requests()[one.request as usize].name;
            match one.response {
                Some(_) => Fault::Wrong(format!("the response to {name} is wrong: {why}")),
                None => Fault::None(format!("{name} has no response: {why}")),
            }
        })
    })
}

/// The plan of one user who makes each request once, and captures what is checked.
fn once(plan: &Plan, checks: &[Check]) -> Result<Plan, PlanError> {
    let capture = |(at, one): (usize, &Check)| Capture {
        variable: format!("check{at}"),
        source: one.source.clone(),
    };
    let captures: Vec<Capture> = sources(checks).enumerate().map(capture).collect();
    plan.with(|parts| parts.walk_once(&captures))
}

/// Those whose values the engine captures.
fn sources(checks: &[Check]) -> impl Iterator<Item = &Check> {
    checks.iter().filter(|check| check.source != DECODED_BYTES)
}

fn judged(exchange: &Exchange, checks: &[Check]) -> Result<(), String> {
    if let Some(problem) = &exchange.problem {
        return Err(problem.to_string());
    }
    let Some(response) = &exchange.response else {
        return Err("there is none".to_owned());
    };
    for (check, captured) in sources(checks).zip(&response.captured) {
        let Check { source, value } = check;
        match captured {
            Ok(found) => held(source, value, &String::from_utf8_lossy(&found.bytes))?,
            Err(why) => return Err(format!("{source}: {why}")),
        }
    }
    for check in checks.iter().filter(|check| check.source == DECODED_BYTES) {
        let length = response.decoded_bytes.ok_or("its body has no content coding")?;
        held(&check.source, &check.value, &length.to_string())?;
    }
    Ok(())
}

fn held(source: &str, value: &str, found: &str) -> Result<(), String> {
    match matches(value, found) {
        true => Ok(()),
        false => {
            let found: String = found.chars().take(80).collect();
            Err(format!("{source} is {found:?} and not {value:?}"))
        }
    }
}

/// Whether a text is the pattern, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some(at) = text.find(piece) else { return false };
        text = &text[at + piece.len()..];
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use candor_engine::{Response, Text};

    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, is_so) in [
            ("/", "/", true),
            ("/", "/a", false),
            ("*POST*", "GET, POST, PUT", true),
            ("*POST*", "GET", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c", false),
            ("*", "", true),
            ("ab*b", "ab", false),
        ] {
            assert_eq!(matches(pattern, text), is_so, "{pattern} {text}");
        }
    }

    #[test]
    fn a_response_is_held_against_every_check() {
        let check =
            |source: &str, value: &str| Check { source: source.into(), value: value.into() };
        let checks = [check("decoded-bytes", "1024"), check("header:Location", "/in*")];
        let text = |bytes: &[u8]| Text { bytes: bytes.to_vec(), length: bytes.len() as u64 };
        let exchange = |location: Result<&str, &str>, decoded_bytes| Exchange {
            response: Some(Response {
                status: 200,
                decoded_bytes,
                captured: vec![location.map(|one| text(one.as_bytes())).map_err(str::to_owned)],
                ..Response::default()
            }),
            ..Exchange::default()
        };
        let judge = |one: Exchange| judged(&one, &checks).map_err(|why| why.to_string());
        assert_eq!(judge(exchange(Ok("/in/a"), Some(1024))), Ok(()));
        for (wrong, words) in [
            (exchange(Ok("/out"), Some(1024)), "header:Location is \"/out\" and not \"/in*\""),
            (exchange(Err("there is no such field"), Some(1024)), "there is no such field"),
            (exchange(Ok("/in"), Some(2048)), "decoded-bytes is \"2048\""),
            (exchange(Ok("/in"), None), "no content coding"),
            (Exchange::default(), "there is none"),
        ] {
            assert!(judge(wrong).unwrap_err().contains(words), "{words}");
        }
    }
}
