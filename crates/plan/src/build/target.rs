//! The target of a plan: the URL, and where connections really go.

use std::net::IpAddr;

use super::{Files, conflict, tls};
use crate::allow::AllowList;
use crate::error::PlanError;
use crate::model::{Endpoint, Target};
use crate::options::Options;
use crate::redact::{REDACTED, Secrets};
use crate::units::fmt_count;
use crate::url::{HttpUrl, UrlError};

pub(super) fn target(
    options: &Options,
    files: &mut Files<'_>,
) -> Result<(Target, HttpUrl), PlanError> {
    let text = options.url.as_deref().ok_or(PlanError::NoUrl)?;
    let url = HttpUrl::parse(text).map_err(|error| unusable(text, error))?;
    let endpoint = endpoint(options, &url)?;
    let resolved = resolved(options, &endpoint)?;
    check_sources(options, &endpoint, &resolved)?;
    let http = tls::http(options, &url)?;
    let target = Target {
        url: url.shown(),
        authority: url.authority.clone(),
        endpoint,
        resolved,
        allow: AllowList::of_option(&options.connecting.allow),
        tls: tls::tls(options, &url, http, files)?,
        http,
    };
    Ok((target, url))
}

/// An invalid URL may contain a password anywhere before the last `@`.
fn unusable(text: &str, error: UrlError) -> PlanError {
    let Some(at) = text.rfind('@') else {
        return PlanError::Url { url: Secrets::Hidden.url(text), error };
    };
    let scheme = text.find("://").map_or("", |end| &text[..end + 3]);
    let rest = Secrets::Hidden.url(&text[at + 1..]);
    let error = match error {
        UrlError::Port(_) => UrlError::Port(REDACTED.to_owned()),
        UrlError::Host(_) => UrlError::Host(REDACTED.to_owned()),
        other => other,
    };
    PlanError::Url { url: format!("{scheme}{REDACTED}@{rest}"), error }
}

fn endpoint(options: &Options, url: &HttpUrl) -> Result<Endpoint, PlanError> {
    let Some(path) = &options.connecting.unix_socket else {
        let (host, port) = match &options.connecting.connect_to {
            Some(other) => (other.host.clone(), other.port),
            None => (url.host.clone(), url.port),
        };
        return Ok(Endpoint::Tcp { host, port });
    };
    let tcp_only = [
        ("--connect-to", options.connecting.connect_to.is_some()),
        ("--resolve", !options.connecting.resolve.is_empty()),
        ("--source", options.connecting.source.is_some()),
        ("--no-nodelay", options.connecting.no_nodelay),
    ];
    match tcp_only.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            Err(conflict(option, "--unix-socket", "that is for TCP only; leave one of them out"))
        }
        None => Ok(Endpoint::Unix { path: path.clone() }),
    }
}

/// The addresses of the endpoint by `--resolve`. An entry for another host is an error of the user.
fn resolved(options: &Options, endpoint: &Endpoint) -> Result<Vec<IpAddr>, PlanError> {
    let Endpoint::Tcp { host, port } = endpoint else { return Ok(Vec::new()) };
    let mut addresses = Vec::new();
    for one in &options.connecting.resolve {
        if one.from.port != *port || !one.from.host.eq_ignore_ascii_case(host) {
            return Err(PlanError::Value {
                option: "--resolve",
                problem: format!(
                    "connections go to {host}:{port}, not to {}:{}; write {host}:{port}:ADDR",
                    one.from.host, one.from.port
                ),
            });
        }
        addresses.extend(&one.addresses);
    }
    Ok(addresses)
}

/// A source can only reach an address of its own family. This is checked before the run if the
/// target is given as an address.
fn check_sources(
    options: &Options,
    endpoint: &Endpoint,
    resolved: &[IpAddr],
) -> Result<(), PlanError> {
    let (Some(sources), Endpoint::Tcp { host, .. }) = (&options.connecting.source, endpoint) else {
        return Ok(());
    };
    let sources = sources.clone().into_vec();
    let literal: Vec<IpAddr> = host.parse().into_iter().collect();
    let goals = if resolved.is_empty() { &literal } else { resolved };
    let unreachable = |goal: &&IpAddr| sources.iter().all(|one| one.is_ipv4() != goal.is_ipv4());
    match goals.iter().find(unreachable) {
        Some(goal) => Err(PlanError::Value {
            option: "--source",
            problem: format!(
                "none of {} addresses can reach {goal}; give one of the same family, IPv4 or IPv6",
                fmt_count(sources.len() as u64)
            ),
        }),
        None => Ok(()),
    }
}
