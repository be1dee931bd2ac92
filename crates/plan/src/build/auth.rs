//! Credentials: one that never changes becomes a header field of its target's requests, any other is taken anew while
//! the plan is carried out.

use super::Files;
use crate::error::{PlanError, value};
use crate::escape::base64;
use crate::holes::{self, Part};
use crate::options::Options;
use crate::redact::Secrets;
use crate::targets::{Credential, CredentialSource, SigV4, Target};
use crate::url::HttpUrl;
use crate::values::{Auth, AuthWay, Header, PositiveNanos};
use crate::words;

const OPTION: &str = "--auth";
/// The variables of the environment with a client's id and secret.
const ID: &str = "CANDOR_AUTH_ID";
const SECRET: &str = "CANDOR_AUTH_SECRET";
/// Those with a key of AWS.
const KEY_ID: &str = "AWS_ACCESS_KEY_ID";
const KEY: &str = "AWS_SECRET_ACCESS_KEY";
const SESSION: &str = "AWS_SESSION_TOKEN";

/// Makes a target of an authorization server's URL.
pub(super) type Server = fn(&Options, &HttpUrl, &mut Files<'_>) -> Result<Target, PlanError>;

/// What an option says of the credential of a target.
pub(super) enum Meant {
    /// It never changes.
    Field(Header),
    /// It is taken.
    Taken(Credential),
}

pub(super) fn meant(
    auth: &Auth,
    options: &Options,
    server: Server,
    files: &mut Files<'_>,
) -> Result<Meant, PlanError> {
    let is_literal = options.requests.literal;
    let has_holes = |text: &str| !is_literal && holes::has_holes(text);
    let field = |text: String| {
        let field = Header::new("Authorization", &text);
        field.map(Meant::Field).map_err(|error| value(OPTION, error.to_string()))
    };
    let from = match &auth.way {
        AuthWay::Basic(user) if has_holes(user) => {
            return field(format!("Basic ${{base64 {user}}}"));
        }
        AuthWay::Basic(user) => {
            let user = if is_literal { user.clone() } else { holes::plain(user) };
            return field(format!("Basic {}", base64(user.as_bytes())));
        }
        AuthWay::Bearer(token) => return field(format!("Bearer {token}")),
        AuthWay::Oauth2(url) => oauth2(auth, url, options, server, files)?,
        AuthWay::Command(text) => {
            let command = words::split(text).map_err(|why| value(OPTION, format!("cmd: {why}")))?;
            CredentialSource::Command(command)
        }
        AuthWay::File(path) => CredentialSource::File(path.clone()),
        AuthWay::SigV4(scope) => CredentialSource::AwsSigv4(key(auth, scope, files)?),
    };
    Ok(Meant::Taken(Credential { from, every_ns: auth.every.map(PositiveNanos::get) }))
}

/// A token is asked for on behalf of the client itself.
fn oauth2(
    auth: &Auth,
    text: &str,
    options: &Options,
    server: Server,
    files: &mut Files<'_>,
) -> Result<CredentialSource, PlanError> {
    let shown = Secrets::Hidden.url(text);
    let wrong = |why: String| value(OPTION, format!("oauth2: {shown:?}: {why}"));
    let url = HttpUrl::parse(text).map_err(|error| match text.contains('@') {
        true => value(OPTION, "oauth2: not a URL; write https://HOST[:PORT]/PATH"),
        false => wrong(error.to_string()),
    })?;
    if url.is_websocket || url.authorization.is_some() {
        return Err(wrong(format!(
            "a token is asked for by http:// or https://, and id and secret are no part of the URL; give them as \
             {ID} and {SECRET}"
        )));
    }
    if holes::has_holes(text) {
        return Err(wrong("it is the same each time; leave ${…} out".to_owned()));
    }
    let id = said(&auth.id, "oauth2: it has no client id", ("id", ID), files)?;
    let secret = said(&auth.secret, "oauth2: it has no client secret", ("secret", SECRET), files)?;
    let scope = auth.scope.as_ref().map(|text| fixed(text, files)).transpose()?;
    let server = server(options, &url, files)?;
    Ok(CredentialSource::Oauth2 { server: Box::new(server), id, secret, scope })
}

/// Requests are signed with a key, by default the one that other programs find in the environment.
fn key(auth: &Auth, scope: &str, files: &Files<'_>) -> Result<SigV4, PlanError> {
    let (region, service) = scope.split_once(':').unwrap_or((scope, ""));
    let id = said(&auth.id, "aws-sigv4: it has no key id", ("id", KEY_ID), files)?;
    let secret = said(&auth.secret, "aws-sigv4: it has no key", ("secret", KEY), files)?;
    let session_token = match &auth.session_token {
        Some(text) => Some(fixed(text, files)?),
        // It belongs to the key of the environment.
        None if auth.id.is_none() => files.files.variable(SESSION),
        None => None,
    };
    let session_token = session_token.filter(|token| !token.is_empty());
    let (region, service) = (region.to_owned(), service.to_owned());
    Ok(SigV4 { region, service, id, secret, session_token })
}

/// The value of a key of the table, or of a variable.
fn said(
    given: &Option<String>,
    missing: &str,
    (key, variable): (&str, &str),
    files: &Files<'_>,
) -> Result<String, PlanError> {
    match given {
        Some(text) => fixed(text, files),
        None => files.files.variable(variable).ok_or_else(|| {
            value(OPTION, format!("{missing}; set {variable}, or give the key `{key}`"))
        }),
    }
}

/// A text that is the same each time, with variables of the environment.
fn fixed(text: &str, files: &Files<'_>) -> Result<String, PlanError> {
    let wrong = |why: String| value(OPTION, why);
    let part = |part: Part<'_>| match part {
        Part::Hole(inner) => match inner.trim().strip_prefix("env:") {
            Some(name) => files.files.variable(name.trim()).ok_or_else(|| {
                wrong(format!("the environment has no variable {:?}; set it", name.trim()))
            }),
            None => Err(wrong("of templates only ${env:NAME} can stand in it".to_owned())),
        },
        fixed => Ok(fixed.text().unwrap_or_default().to_owned()),
    };
    holes::split(text).map_err(wrong)?.into_iter().map(part).collect()
}
