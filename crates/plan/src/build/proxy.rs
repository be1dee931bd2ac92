//! Which proxy a target is reached through, and how that is asked for it.
//!
//! An option comes before the environment. What the environment says never holds for this machine: a proxy elsewhere
//! would reach its own.

use std::net::IpAddr;

use super::Files;
use crate::error::{PlanError, conflict, value};
use crate::options::Options;
use crate::targets::allow::{Allowed, Asked};
use crate::targets::{Endpoint, HttpVersion, Proxy, ProxyWay};
use crate::url::HttpUrl;
use crate::values::{self, Direct};

/// Where connections go, and the proxy if they go to one; `own` is the target's endpoint.
pub(super) fn through(
    options: &Options,
    url: &HttpUrl,
    http: HttpVersion,
    own: Endpoint,
    files: &Files<'_>,
) -> Result<(Endpoint, Option<Proxy>), PlanError> {
    let Endpoint::Tcp { host, port } = &own else {
        return match options.connecting.proxy {
            None => Ok((own, None)),
            Some(_) => {
                let why = "no proxy reaches a socket of this machine; leave one of them out";
                Err(conflict("--proxy", "--unix-socket", why))
            }
        };
    };
    if options.connecting.noproxy.iter().any(|one| one.has(host)) {
        return Ok((own, None));
    }
    let (proxy, variable) = match &options.connecting.proxy {
        Some(proxy) => (proxy.clone(), None),
        None => match of_environment(url, host, files)? {
            Some((proxy, variable)) => (proxy, Some(variable)),
            None => return Ok((own, None)),
        },
    };
    let whole_url = !url.is_https && !url.is_websocket && http == HttpVersion::H1;
    let way = match (proxy.is_socks, whole_url) {
        (true, _) => ProxyWay::Socks5,
        (false, true) => ProxyWay::Forward,
        (false, false) => ProxyWay::Connect,
    };
    let to = Proxy { way, host: host.clone(), port: *port, user: proxy.user, variable };
    Ok((Endpoint::Tcp { host: proxy.at.host, port: proxy.at.port }, Some(to)))
}

/// The proxy that the environment names for a URL, and the variable that does. Lower case comes first, as in curl.
fn of_environment(
    url: &HttpUrl,
    host: &str,
    files: &Files<'_>,
) -> Result<Option<(values::Proxy, String)>, PlanError> {
    if is_here(host) {
        return Ok(None);
    }
    let said = |name: &str| {
        let names = [name.to_owned(), name.to_ascii_uppercase()];
        let mut found =
            names.into_iter().filter_map(|one| Some((files.files.variable(&one)?, one)));
        found.find(|(value, _)| !value.trim().is_empty())
    };
    let own = if url.is_https { "https_proxy" } else { "http_proxy" };
    let Some((text, name)) = said(own).or_else(|| said("all_proxy")) else { return Ok(None) };
    let without = said("no_proxy").map(|(value, _)| value).unwrap_or_default();
    let asked = host.parse().map(|address| Asked::Tcp { name: None, address });
    let is_direct = |one: &str| match (one.parse::<Direct>(), one.parse::<Allowed>(), &asked) {
        (Ok(one), ..) => one.has(host),
        (_, Ok(network), Ok(asked)) => network.has(asked),
        _ => false,
    };
    if without.split([',', ' ']).any(is_direct) {
        return Ok(None);
    }
    match text.trim().parse() {
        Ok(proxy) => Ok(Some((proxy, name))),
        Err(error) => {
            let problem = format!("of the environment: {error}; or give --noproxy '*'");
            Err(value("HTTP_PROXY", problem))
        }
    }
}

/// Whether a host is this machine by its name.
fn is_here(host: &str) -> bool {
    let address = host.parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|one| one.is_loopback() || one.is_unspecified())
}
