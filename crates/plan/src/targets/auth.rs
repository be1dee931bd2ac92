//! Credentials that are taken while the plan is carried out: where from, and how often; and keys that sign each request.
//! One that never changes is a header field, and is not here; nor is how one is taken, or how is signed.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Target;
use crate::error::{PlanError, need};
use crate::redact::{Hidden, REDACTED, Secrets};
use crate::units::is_time;

/// What requests to a target have as the value of `Authorization`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Credential {
    /// Where it comes from.
    pub from: CredentialSource,
    /// It is taken anew this long after the last time; null: when it says so itself.
    pub every_ns: Option<u64>,
}

/// Where a credential comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CredentialSource {
    /// An authorization server, by the client's own credentials (RFC 6749 4.4).
    Oauth2 {
        /// The server; its URL is that of the token endpoint.
        server: Box<Target>,
        /// The client's id; in a result: `[redacted]`.
        id: String,
        /// The client's secret; in a result: `[redacted]`.
        secret: String,
        /// What the token is asked for.
        scope: Option<String>,
    },
    /// What a command prints, in words.
    Command(Vec<String>),
    /// What a file has in it.
    File(PathBuf),
    /// A key that signs each request: it is not taken, it is here.
    AwsSigv4(SigV4),
}

/// With what requests are signed, by AWS Signature Version 4.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SigV4 {
    /// The region of the service.
    pub region: String,
    /// The service, as in the signature.
    pub service: String,
    /// The id of the key; in a result: `[redacted]`.
    pub id: String,
    /// The key; in a result: `[redacted]`.
    pub secret: String,
    /// What requests with a temporary key have as X-Amz-Security-Token; in a result: `[redacted]`.
    pub session_token: Option<String>,
}

impl Credential {
    /// Whether it is taken while the plan is carried out; else it signs.
    pub fn is_taken(&self) -> bool {
        self.signs().is_none()
    }

    /// The key that signs each request.
    pub fn signs(&self) -> Option<&SigV4> {
        match &self.from {
            CredentialSource::AwsSigv4(key) => Some(key),
            _ => None,
        }
    }

    /// The word for its source.
    pub fn kind(&self) -> &'static str {
        match self.from {
            CredentialSource::Oauth2 { .. } => "oauth2",
            CredentialSource::Command(_) => "cmd",
            CredentialSource::File(_) => "file",
            CredentialSource::AwsSigv4(_) => "aws-sigv4",
        }
    }

    /// Whether its values fit each other.
    pub(super) fn check(&self) -> Result<(), PlanError> {
        need(self.every_ns.is_none_or(is_time), "target.auth.every_ns", "is above zero")?;
        match &self.from {
            CredentialSource::Oauth2 { server, .. } => {
                need(server.auth.is_none(), "target.auth.server", "needs no credential")?;
                server.check()
            }
            CredentialSource::Command(words) => {
                need(!words.is_empty(), "target.auth.command", "has a program")
            }
            CredentialSource::File(_) => Ok(()),
            CredentialSource::AwsSigv4(key) => {
                let SigV4 { region, service, id, secret, session_token } = key;
                let names = [region, service, id].into_iter().chain(session_token);
                let is_word = |text: &String| {
                    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
                };
                let is_good = !secret.is_empty() && names.into_iter().all(is_word);
                need(is_good, "target.auth.aws-sigv4", "has words without spaces")
            }
        }
    }

    /// Leaves out what may be secret.
    pub(super) fn redact(&mut self, secrets: Secrets) {
        match &mut self.from {
            CredentialSource::Oauth2 { server, id, secret, scope: _ } => {
                server.redact(secrets);
                if secrets == Secrets::Hidden {
                    [id, secret].into_iter().for_each(|one| *one = REDACTED.to_owned());
                }
            }
            // An argument may be the credential itself.
            CredentialSource::Command(words) if secrets == Secrets::Hidden => {
                let has_more = words.len() > 1;
                *words = secrets.command(&words[..1]);
                words.extend(has_more.then(|| REDACTED.to_owned()));
            }
            CredentialSource::AwsSigv4(key) if secrets == Secrets::Hidden => {
                let secret =
                    [&mut key.id, &mut key.secret].into_iter().chain(&mut key.session_token);
                secret.for_each(|one| *one = REDACTED.to_owned());
            }
            CredentialSource::Command(_) | CredentialSource::AwsSigv4(_) => {}
            // A document can only contain text.
            CredentialSource::File(path) => *path = path.to_string_lossy().into_owned().into(),
        }
    }

    /// Whether something was left out of it.
    pub(super) fn is_left_out(&self) -> bool {
        match &self.from {
            CredentialSource::Oauth2 { server, secret, .. } => {
                secret == REDACTED || server.is_left_out()
            }
            CredentialSource::Command(words) => words.iter().any(|word| word == REDACTED),
            CredentialSource::File(_) => false,
            CredentialSource::AwsSigv4(key) => key.secret == REDACTED,
        }
    }

    /// What is known to be secret of it.
    pub(crate) fn hide(&self, hidden: &mut Hidden) {
        if let CredentialSource::Oauth2 { server, id, secret, .. } = &self.from {
            hidden.unnamed(id);
            hidden.add(secret.as_bytes());
            hidden.url(&server.url);
        }
        if let CredentialSource::Command(words) = &self.from {
            words.iter().skip(1).for_each(|word| hidden.unnamed(word));
        }
        if let Some(key) = self.signs() {
            hidden.unnamed(&key.id);
            [&key.secret]
                .into_iter()
                .chain(&key.session_token)
                .for_each(|one| hidden.add(one.as_bytes()));
        }
    }
}
