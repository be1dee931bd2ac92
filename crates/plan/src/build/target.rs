//! The targets of a plan: their URLs, and where connections really go.

use std::borrow::Cow;
use std::net::IpAddr;

use super::auth::{self, Meant};
use super::{Files, proxy, tls};
use crate::error::{PlanError, conflict, exclude, value};
use crate::options::{
    Http2Options, Options, RequestOptions, RequestsOptions, TargetOptions, TlsOptions, headers_over,
};
use crate::redact::{REDACTED, Secrets};
use crate::suggest::did_you_mean;
use crate::targets::allow::AllowList;
use crate::targets::{AltSvc, CredentialSource, Endpoint, HaproxyProtocol, MAIN_TARGET, Target};
use crate::units::fmt_count;
use crate::url::{HttpUrl, UrlError};
use crate::values::{Header, HostPort, RequestPath, Resolve, SmallCount};

/// The targets of a plan: that of its URL, those of its tables, and those that requests name by a URL.
pub(super) struct Targets(Vec<Goal>);

/// One target, and what its requests have from it.
struct Goal {
    target: Target,
    url: HttpUrl,
    headers: Vec<Header>,
}

/// Where a request goes.
pub(super) struct Way<'t> {
    /// Its target's number.
    pub(super) target: u32,
    /// The URL whose path it has, unless it has one of its own.
    pub(super) url: Cow<'t, HttpUrl>,
    /// The header fields of all requests to the target.
    pub(super) headers: &'t [Header],
}

impl Targets {
    pub(super) fn new(options: &Options, files: &mut Files<'_>) -> Result<Self, PlanError> {
        let text = options.url.as_deref().ok_or(PlanError::NoUrl)?;
        let mut all = Targets(Vec::new());
        let is_auth = |one: &Header| one.name().eq_ignore_ascii_case("authorization");
        if options.requests.auth.is_some() && options.requests.header.iter().any(is_auth) {
            let why = "both are the value of Authorization; leave one of them out";
            return Err(conflict("--auth", "--header", why));
        }
        let own = TargetOptions { auth: options.requests.auth.clone(), ..TargetOptions::default() };
        let tables = &options.connecting.target;
        let is_mixed = match options.http2.is_h3() {
            true => tables.iter().any(|one| one.h1 || one.h2),
            false => tables.iter().any(|one| one.h3 || one.alt_svc),
        };
        let mut of_main = Cow::Borrowed(options);
        if is_mixed {
            of_version(of_main.to_mut());
        }
        all.add(MAIN_TARGET, text, &of_main, &own, files)?;
        for table in &options.connecting.target {
            let name = table.name.as_str();
            let wrong = |problem: &str| PlanError::Target {
                name: name.to_owned(),
                problem: problem.to_owned(),
            };
            let text =
                table.url.as_deref().ok_or_else(|| wrong("it has no url; add url = \"…\""))?;
            let added = all.add(name, text, &of_table(options, table, text), table, files);
            added.map_err(|error| wrong(&error.to_string()))?;
        }
        for one in &options.connecting.resolve {
            let is_at = |target: &Target| matches!(&target.endpoint, Endpoint::Tcp { host, port } if is_of(one, host, *port));
            let is_of = |goal: &Goal| match goal.target.auth.as_ref().map(|auth| &auth.from) {
                Some(CredentialSource::Oauth2 { server, .. }) if is_at(server) => true,
                _ => is_at(&goal.target),
            };
            if !all.0.iter().any(is_of) {
                return Err(foreign(one, &all.0[0].target.endpoint));
            }
        }
        Ok(all)
    }

    fn add(
        &mut self,
        name: &str,
        text: &str,
        options: &Options,
        table: &TargetOptions,
        files: &mut Files<'_>,
    ) -> Result<(), PlanError> {
        let url = HttpUrl::parse(text).map_err(|error| unusable(text, error))?;
        let http = tls::http(options, &url)?;
        let own = endpoint(options, &url)?;
        let (endpoint, proxy) = proxy::through(options, &url, http, own, files)?;
        let resolved = resolved(options, &endpoint);
        let is_own = |one: &&Resolve| matches!(&endpoint, Endpoint::Tcp { host, port } if is_of(one, host, *port));
        if let Some(other) = table.resolve.iter().find(|one| !is_own(one)) {
            return Err(foreign(other, &endpoint));
        }
        check_sources(options, &endpoint, &resolved)?;
        let (mut headers, mut credential) = (table.header.clone(), None);
        match table
            .auth
            .as_ref()
            .map(|auth| auth::meant(auth, options, server, files))
            .transpose()?
        {
            None => {}
            Some(_) if url.authorization.is_some() => {
                let why = "the user in the URL is a credential too; leave one of them out";
                return Err(conflict("--auth", "USER@HOST", why));
            }
            Some(Meant::Field(field)) => headers = headers_over(vec![field], headers),
            Some(Meant::Taken(taken)) => credential = Some(taken),
        }
        let target = Target {
            name: name.to_owned(),
            url: url.shown(),
            authority: url.authority.clone(),
            endpoint,
            proxy,
            haproxy_protocol: options.connecting.haproxy_protocol.unwrap_or_default(),
            resolved,
            allow: AllowList::of_option(&options.connecting.allow),
            tls: tls::tls(options, &url, http, files)?,
            http,
            connections: table.connections.map(SmallCount::get),
            auth: credential,
            alt_svc: options.http2.alt_svc.then_some(AltSvc::Asked),
        };
        self.0.push(Goal { target, url, headers });
        Ok(())
    }

    /// The URL of the plan itself.
    pub(super) fn url(&self) -> &HttpUrl {
        &self.0[0].url
    }

    /// Where the request of `table` goes. A URL with another origin than all targets is one more.
    pub(super) fn way(
        &mut self,
        options: &Options,
        table: &RequestOptions,
        files: &mut Files<'_>,
    ) -> Result<Way<'_>, PlanError> {
        let mut of_request = None;
        let at = match (&table.target, &table.url) {
            (Some(_), Some(_)) => {
                let why = "a URL says itself where it goes; give a path in its place";
                return Err(conflict("url", "target", why));
            }
            (None, Some(_)) if table.path.is_some() => {
                let why = "a URL has a path; leave one of them out";
                return Err(conflict("url", "path", why));
            }
            (None, None) => 0,
            (Some(name), None) => self.named(name.as_str())?,
            (None, Some(text)) => {
                let (origin, path) = divide(text);
                let url = HttpUrl::parse(origin).map_err(|error| unusable(text, error))?;
                let at = match self.0.iter().position(|goal| goal.url.has_origin_of(&url)) {
                    Some(at) => at,
                    None => self.add_origin(origin, &url, options, files)?,
                };
                let path = path.parse::<RequestPath>();
                let path = path.map_err(|error| value("url", error.to_string()))?;
                of_request = Some(HttpUrl { path: path.into_string(), ..url });
                at
            }
        };
        let goal = &self.0[at];
        let url = of_request.map_or(Cow::Borrowed(&goal.url), Cow::Owned);
        Ok(Way { target: at as u32, url, headers: &goal.headers })
    }

    fn named(&self, name: &str) -> Result<usize, PlanError> {
        let names = || self.0.iter().map(|goal| goal.target.name.as_str());
        names().position(|one| one == name).ok_or_else(|| {
            let hint = did_you_mean(name, names());
            let hint = if hint.is_empty() { "; add a [target.NAME] table" } else { &hint };
            PlanError::Target { name: name.to_owned(), problem: format!("there is none{hint}") }
        })
    }

    fn add_origin(
        &mut self,
        text: &str,
        url: &HttpUrl,
        options: &Options,
        files: &mut Files<'_>,
    ) -> Result<usize, PlanError> {
        let table = TargetOptions::default();
        let taken = |name: &str| self.0.iter().any(|goal| goal.target.name == name);
        // A host may be there twice, with and without TLS.
        let name = match taken(&url.authority) {
            true => format!("{}:{}", url.host, url.port),
            false => url.authority.clone(),
        };
        self.add(&name, text, &of_table(options, &table, text), &table, files)?;
        Ok(self.0.len() - 1)
    }

    /// Their names, and the header fields of all requests to each.
    pub(super) fn names(&self) -> impl ExactSizeIterator<Item = (&str, &[Header])> {
        self.0.iter().map(|goal| (goal.target.name.as_str(), &goal.headers[..]))
    }

    /// The targets: the plan's own, and the others.
    pub(super) fn into_parts(self) -> (Target, Vec<Target>) {
        let mut all = self.0.into_iter().map(|goal| goal.target);
        let first = all.next().expect("new() adds the plan's own");
        (first, all.collect())
    }
}

/// The name of an authorization server, which has no row in reports.
const SERVER: &str = "auth";

/// An authorization server is reached as the targets are: by the same CAs, through the same proxy.
fn server(options: &Options, url: &HttpUrl, files: &mut Files<'_>) -> Result<Target, PlanError> {
    let mut own = of_table(options, &TargetOptions::default(), &url.shown());
    (own.http2, own.requests) = (Http2Options::default(), RequestsOptions::default());
    (own.script.script, own.calls.call, own.websocket.protocol) = (None, None, None);
    (own.tls.early_data, own.tls.alpn) = (false, None);
    let http = tls::http(&own, url)?;
    let (host, port) = (url.host.clone(), url.port);
    let (endpoint, proxy) = proxy::through(&own, url, http, Endpoint::Tcp { host, port }, files)?;
    Ok(Target {
        name: SERVER.to_owned(),
        url: url.shown(),
        authority: url.authority.clone(),
        resolved: resolved(&own, &endpoint),
        endpoint,
        proxy,
        haproxy_protocol: HaproxyProtocol::Off,
        allow: AllowList::of_option(&own.connecting.allow),
        tls: tls::tls(&own, url, http, files)?,
        http,
        connections: None,
        auth: None,
        alt_svc: None,
    })
}

/// In a plan with HTTP/3 and others, what is of one of them alone is for the targets that have it.
fn of_version(own: &mut Options) {
    let http2 = &mut own.http2;
    if http2.is_h3() {
        (http2.max_frame_size, http2.encoder_header_table_size) = (None, None);
    } else {
        (http2.cc, http2.mtu) = (None, None);
    }
}

/// The plan's options as they are for the target of a table: where connections go is its own affair.
fn of_table(options: &Options, table: &TargetOptions, url: &str) -> Options {
    let is_https = url.starts_with("https") || url.starts_with("wss");
    let mut own = options.clone();
    own.connecting.connect_to.clone_from(&table.connect_to);
    own.connecting.unix_socket.clone_from(&table.unix_socket);
    if table.proxy.is_some() {
        own.connecting.proxy.clone_from(&table.proxy);
    }
    if table.haproxy_protocol.is_some() {
        own.connecting.haproxy_protocol = table.haproxy_protocol;
    }
    if !table.resolve.is_empty() || table.unix_socket.is_some() {
        own.connecting.resolve.clone_from(&table.resolve);
    }
    if table.h1 || table.h2 || table.h3 || table.alt_svc {
        own.http2 = Http2Options {
            h1: table.h1,
            h2: table.h2,
            h3: table.h3,
            alt_svc: table.alt_svc,
            h2c: false,
            h2c_upgrade: false,
            ..own.http2
        };
    } else if is_https {
        (own.http2.h2c, own.http2.h2c_upgrade) = (false, false);
    } else {
        (own.http2.h3, own.http2.alt_svc) = (false, false);
    }
    of_version(&mut own);
    let below = match is_https {
        true => std::mem::take(&mut own.tls),
        false => TlsOptions::default(),
    };
    own.tls = TlsOptions {
        tls: false,
        insecure: table.insecure || below.insecure && table.cacert.is_none(),
        cacert: table.cacert.clone().or(below.cacert.filter(|_| !table.insecure)),
        key: table.key.clone().or(below.key.filter(|_| table.cert.is_none())),
        cert: table.cert.clone().or(below.cert),
        sni: table.sni.clone(),
        ..below
    };
    own
}

/// A URL as its origin and its path with query, which may have holes.
fn divide(text: &str) -> (&str, String) {
    let text = text.split('#').next().unwrap_or_default();
    let host_at = text.find("://").map_or(0, |at| at + 3);
    // A whole path may be a hole, such as the one that a redirect names.
    const PATH: &str = "${path ";
    let rest = &text[host_at..];
    let path_at = rest.find(['/', '?']).into_iter().chain(rest.find(PATH)).min();
    let (origin, path) = text.split_at(path_at.map_or(text.len(), |at| host_at + at));
    let slash = if path.starts_with('/') || path.starts_with(PATH) { "" } else { "/" };
    (origin, format!("{slash}{path}"))
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
    exclude(tcp_only, "--unix-socket", "that is for TCP only; leave one of them out")?;
    Ok(Endpoint::Unix { path: path.clone() })
}

/// The addresses of the endpoint by `--resolve`.
fn resolved(options: &Options, endpoint: &Endpoint) -> Vec<IpAddr> {
    let Endpoint::Tcp { host, port } = endpoint else { return Vec::new() };
    let own = options.connecting.resolve.iter().filter(|one| is_of(one, host, *port));
    own.flat_map(|one| &one.addresses).copied().collect()
}

fn is_of(one: &Resolve, host: &str, port: u16) -> bool {
    one.from.port == port && one.from.host.eq_ignore_ascii_case(host)
}

/// An entry of `--resolve` for a host that nothing connects to is an error of the user.
fn foreign(one: &Resolve, endpoint: &Endpoint) -> PlanError {
    let HostPort { host: other, port: other_port } = &one.from;
    let problem = match endpoint {
        Endpoint::Tcp { host, port } => format!(
            "connections go to {host}:{port}, not to {other}:{other_port}; write {host}:{port}:ADDR"
        ),
        Endpoint::Unix { .. } => {
            format!("no connection goes to {other}:{other_port}; leave it out")
        }
    };
    value("--resolve", problem)
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
        Some(goal) => Err(value(
            "--source",
            format!(
                "none of {} addresses can reach {goal}; give one of the same family, IPv4 or IPv6",
                fmt_count(sources.len() as u64)
            ),
        )),
        None => Ok(()),
    }
}
