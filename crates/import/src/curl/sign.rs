//! `--aws-sigv4`: requests that are signed. A plan has a key for all of them, and signs each when it is written.

use candor_plan::values::Auth;
use toml_edit::{InlineTable, Value};

use super::arguments::Command;
use crate::secrets::Secrets;

/// The fields that a signature brings, each with its own time and body.
const MADE: [&str; 2] = ["x-amz-date", "x-amz-content-sha256"];
/// That of a temporary key.
const SESSION: &str = "x-amz-security-token";

/// The variables that other programs have the key in.
const KEY_ID: &str = "AWS_ACCESS_KEY_ID";
const KEY: &str = "AWS_SECRET_ACCESS_KEY";
const SESSION_TOKEN: &str = "AWS_SESSION_TOKEN";

/// Takes what signs requests out of a command, as the value of `auth`. `scope` is the option's value, `host` that of the
/// URL, whose first two labels are the service and the region where the option does not name them, as in curl.
pub(super) fn auth(
    command: &mut Command,
    scope: &str,
    host: &str,
    secrets: &mut Secrets,
) -> Result<Value, String> {
    let mut names = scope.split(':');
    let mut name = || names.next().unwrap_or_default();
    let provider = [name(), name()];
    if !provider[0].eq_ignore_ascii_case("aws") || !provider[1].eq_ignore_ascii_case("amz") {
        return Err(
            "requests are signed for aws:amz alone; write aws:amz:REGION:SERVICE".to_owned()
        );
    }
    let (region, service) = (name(), name());
    let mut labels = host.split('.');
    let [first, second] = [(); 2].map(|()| labels.next().unwrap_or_default());
    let (region, service) = match (region, service) {
        (region, service) if !region.is_empty() && !service.is_empty() => (region, service),
        ("", _) => (second, first),
        (region, _) => (region, first),
    };
    let scope = format!("{region}:{service}");
    if format!("aws-sigv4:{scope}").parse::<Auth>().is_err() {
        return Err(
            "neither the option nor the host names region and service; write aws:amz:REGION:SERVICE"
                .to_owned(),
        );
    }
    let (id, key) = match command.user.take() {
        Some(user) => {
            let (id, key) = user.split_once(':').unwrap_or((&user, ""));
            (secrets.named(KEY_ID, id), secrets.named(KEY, key))
        }
        None => (secrets.variable(KEY_ID), secrets.variable(KEY)),
    };
    let session = command.take_field(SESSION).map(|token| secrets.named(SESSION_TOKEN, &token));
    for name in MADE {
        command.take_field(name);
    }
    let holes = [("id", Some(id)), ("secret", Some(key)), ("session-token", session)];
    let holes = holes.into_iter().filter_map(|(key, hole)| Some((key, format!("${{{}}}", hole?))));
    let mut table = InlineTable::new();
    table.insert("aws-sigv4", scope.into());
    for (key, hole) in holes {
        table.insert(key, hole.into());
    }
    Ok(table.into())
}
