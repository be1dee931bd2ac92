//! Credentials that are taken while the plan is carried out: where from, and how often. One that never changes is a
//! header field, and is not here; nor is how one is taken.

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
}

impl Credential {
    /// The word for its source.
    pub fn kind(&self) -> &'static str {
        match self.from {
            CredentialSource::Oauth2 { .. } => "oauth2",
            CredentialSource::Command(_) => "cmd",
            CredentialSource::File(_) => "file",
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
            CredentialSource::Command(_) => {}
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
    }
}
