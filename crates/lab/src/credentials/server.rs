//! A token server, asked for a token on behalf of the client itself (RFC 6749 4.4), or with a refresh token (6).
//!
//! Redirects are not followed, and nothing that the server says is repeated but the codes of RFC 6749.

use std::sync::Arc;

use candor_engine::{Control, Response};
use candor_plan::escape::Escape;
use candor_plan::{Plan, PlanError, Target};
use serde::Deserialize;

use super::value::{Fault, Taken};
use super::{PATIENCE, Shared};
use crate::question;

/// The codes of RFC 6749 5.2.
const CODES: [&str; 6] = [
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
];

/// A token server, and what it is asked.
pub(super) struct Server {
    /// A plan with the question, whose body is another each time.
    question: Plan,
    scope: Option<String>,
    refresh: Option<String>,
}

impl Server {
    /// A server that is asked as parts of `plan` say.
    pub(super) fn new(
        plan: &Plan,
        server: &Target,
        id: &str,
        secret: &str,
        scope: Option<&str>,
    ) -> Result<Self, PlanError> {
        // Both are encoded as in a form before (RFC 6749 2.3.1).
        let user = format!("{}:{}", form(id), form(secret));
        let mut basic = b"Basic ".to_vec();
        Escape::Base64.write(user.as_bytes(), &mut basic);
        let fields = [
            ("Authorization", String::from_utf8_lossy(&basic).into_owned()),
            ("Content-Type", "application/x-www-form-urlencoded".to_owned()),
            ("Accept", "application/json".to_owned()),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let question = question::plan(plan, server.clone(), "POST", fields)?;
        Ok(Server { question, scope: scope.map(str::to_owned), refresh: None })
    }

    /// Takes a token: with the refresh token of the last response, if there was one and it is still good.
    pub(super) fn take(&mut self, shared: &Shared) -> Result<Taken, Fault> {
        if let Some(token) = self.refresh.take() {
            let body = format!("grant_type=refresh_token&refresh_token={}", form(&token));
            if let Ok(taken) = self.ask(&body, shared) {
                // The old one is good for the next time too, unless there is another (RFC 6749 6).
                self.refresh = taken.refresh.clone().or(Some(token));
                return Ok(taken);
            }
        }
        let scope = self.scope.as_ref().map(|scope| format!("&scope={}", form(scope)));
        let body = format!("grant_type=client_credentials{}", scope.unwrap_or_default());
        let taken = self.ask(&body, shared)?;
        self.refresh.clone_from(&taken.refresh);
        Ok(taken)
    }

    fn ask(&self, body: &str, shared: &Shared) -> Result<Taken, Fault> {
        let question = self.question.with(|parts| {
            parts.work.requests_mut().iter_mut().for_each(|one| one.body = body.as_bytes().into());
        });
        let question = question.map_err(|error| error.to_string())?;
        let control: Arc<Control> = shared.begin_to_ask().ok_or("the run is over".to_owned())?;
        let exchange = question::ask(&question, &control).map_err(Fault::Engine)?;
        let url = &self.question.secrets.url(&self.question.target.url);
        let because = |why: String| Fault::from(format!("{url} {why}"));
        let problem = exchange.as_ref().and_then(|one| one.problem.clone());
        match (exchange.and_then(|one| one.response), problem) {
            (Some(response), _) => read(&response).map_err(|fault| because(fault.to_string())),
            (None, Some(problem)) => Err(because(format!("has no response: {problem}"))),
            (None, None) => Err(because(format!("has no complete response within {PATIENCE:?}"))),
        }
    }
}

fn read(response: &Response) -> Result<Taken, Fault> {
    match response.status {
        _ if response.body.is_cut() => Err("responds with more than 64 KiB".to_owned().into()),
        200 => Taken::of_json(&response.body.bytes)
            .map_err(|fault| format!("responds with 200, but {fault}").into()),
        status @ 300..400 => {
            let why = "which is not followed; name the URL that it leads to";
            Err(format!("redirects ({status}), {why}").into())
        }
        status => {
            #[derive(Deserialize)]
            struct Refused {
                error: String,
            }
            let refused = serde_json::from_slice::<Refused>(&response.body.bytes).ok();
            let known = refused.filter(|one| CODES.contains(&one.error.as_str()));
            let code = known.map(|one| format!(" {}", one.error)).unwrap_or_default();
            let remedy = match status {
                400 | 401 | 403 => "check id, secret and scope",
                _ => "check the URL, and that the server is well",
            };
            Err(format!("responds with {status}{code}; {remedy}").into())
        }
    }
}

/// As in a form.
fn form(text: &str) -> String {
    let mut out = Vec::new();
    Escape::Form.write(text.as_bytes(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
