//! Alternatives of origins: where a plan's requests go by Alt-Svc (RFC 7838), asked before a run begins.
//!
//! The origin of each target that asks for it gets one HEAD request over TLS, and the run goes over HTTP/3 to the first
//! alternative of its Alt-Svc field that may be used. The certificate stays that of the origin, and so does the
//! authority. What a server says leads to another host than its own only if the user's lists allow that host. The frame
//! ALTSVC of HTTP/2 is not read.

use std::borrow::Cow;
use std::thread;
use std::time::Duration;

use candor_engine::{Control, Permission, Response};
use candor_plan::url::{Alternative, HttpUrl, alternatives};
use candor_plan::{AltSvc, Endpoint, HttpVersion, Plan, Target, TlsVersion};

use crate::error::LabError;
use crate::question;

/// From one look for a signal to the next.
const TURN: Duration = Duration::from_millis(2);
/// The protocol, by its name in ALPN (RFC 9114 3.1.1).
const H3: &str = "h3";
/// So many names of other protocols are told.
const MOST_TOLD: usize = 8;
/// And so many characters of each.
const MOST_NAME: usize = 20;

/// The plan with the endpoints that its targets' origins name; as it is, if it asks for none. `control` is the run's:
/// a stop of it ends the questions.
///
/// # Errors
/// An origin does not respond, or names no alternative that may be used.
pub fn follow<'p>(plan: &'p Plan, control: &Control) -> Result<Cow<'p, Plan>, LabError> {
    if plan.targets().all(|one| one.alt_svc != Some(AltSvc::Asked)) {
        return Ok(Cow::Borrowed(plan));
    }
    let led = |target: &Target| match target.alt_svc {
        Some(AltSvc::Asked) => led(plan, target, control),
        _ => Ok(target.clone()),
    };
    let mut all = plan.targets().map(led).collect::<Result<Vec<_>, _>>()?.into_iter();
    let plan = plan.with(|parts| {
        let each = std::iter::once(&mut parts.target).chain(&mut parts.others);
        each.zip(&mut all).for_each(|(target, led)| *target = led);
    })?;
    Ok(Cow::Owned(plan))
}

/// Where the targets of a plan were led.
pub fn found(plan: &Plan) -> Vec<candor_record::Alternative> {
    let led = |target: &Target| match &target.alt_svc {
        Some(AltSvc::Led { origin }) => Some(candor_record::Alternative {
            target: target.name.clone(),
            origin: origin.to_string(),
            endpoint: target.endpoint.to_string(),
        }),
        _ => None,
    };
    plan.targets().filter_map(led).collect()
}

/// The target at its alternative.
fn led(plan: &Plan, target: &Target, control: &Control) -> Result<Target, LabError> {
    let wrong = |problem: String| LabError::AltSvc {
        target: target.name.clone(),
        url: plan.secrets.url(&target.url).to_string(),
        problem,
    };
    let response = ask(plan, target, control, &wrong)?;
    let all = read(&response).map_err(&wrong)?;
    let has_lists = Permission::new(target.allow.as_ref())?.is_limited();
    let (own, endpoint) = match &target.endpoint {
        Endpoint::Tcp { host, .. } => {
            (HttpUrl::parse(&target.url).map_or(host.clone(), |url| url.host), host)
        }
        Endpoint::Unix { .. } => return Err(wrong("is a path".to_owned())),
    };
    let is_own = |host: &str| host.eq_ignore_ascii_case(&own);
    let (mut foreign, mut spoken) = (None, all.iter().filter(|one| one.protocol == H3).peekable());
    if spoken.peek().is_none() {
        return Err(wrong(without_h3(&response, &all)));
    }
    for Alternative { host, port, is_fresh, .. } in spoken {
        let host = host.as_deref().filter(|host| !is_own(host));
        let mut led = target.clone();
        match host {
            _ if !is_fresh => continue,
            Some(other) if !has_lists => {
                foreign.get_or_insert_with(|| {
                    let (host, port) = (other.to_owned(), *port);
                    Endpoint::Tcp { host, port }.to_string()
                });
                continue;
            }
            Some(other) => {
                led.resolved.clear();
                led.endpoint = Endpoint::Tcp { host: other.to_owned(), port: *port };
            }
            None => led.endpoint = Endpoint::Tcp { host: endpoint.clone(), port: *port },
        }
        led.alt_svc = Some(AltSvc::Led { origin: target.endpoint.clone() });
        return Ok(led);
    }
    Err(match foreign {
        Some(elsewhere) => {
            let (target, url) = (target.name.clone(), plan.secrets.url(&target.url).to_string());
            LabError::AltSvcElsewhere { target, url, elsewhere }
        }
        None => wrong("names an alternative for h3 that has expired (ma=0)".to_owned()),
    })
}

/// The response of the target's origin.
fn ask(
    plan: &Plan,
    target: &Target,
    control: &Control,
    wrong: &dyn Fn(String) -> LabError,
) -> Result<Response, LabError> {
    let mut origin = target.clone();
    (origin.http, origin.alt_svc, origin.auth) = (HttpVersion::Negotiated, None, None);
    origin.connections = None;
    if let Some(tls) = &mut origin.tls {
        tls.alpn = ["h2", "http/1.1"].map(str::to_owned).to_vec();
        // An origin over TCP may be older than QUIC permits.
        tls.min = TlsVersion::V12;
        (tls.resumption, tls.early_data) = (false, false);
    }
    let question = question::plan(plan, origin, "HEAD", Vec::new())?.with(|parts| {
        // A user's own limits may be shorter.
        let limits = &mut parts.timeouts;
        limits.connect_ns = limits.connect_ns.min(plan.timeouts.connect_ns);
        limits.request_ns = limits.request_ns.min(plan.timeouts.request_ns);
        parts.stop.give_up_ns = limits.connect_ns;
    })?;
    let asking = Control::default();
    let asked = thread::scope(|scope| {
        let asked = scope.spawn(|| question::ask(&question, &asking));
        while !asked.is_finished() {
            if control.is_stopping() {
                // The second stop is at once.
                (0..2).for_each(|_| asking.stop());
            }
            thread::sleep(TURN);
        }
        asked.join()
    });
    if control.is_stopping() {
        return Err(LabError::Interrupted);
    }
    let exchange = match asked {
        Ok(Ok(exchange)) => exchange,
        // That a host is not allowed is no affair of Alt-Svc.
        Ok(Err(error)) if error.is_usage() => return Err(error.into()),
        Ok(Err(error)) => return Err(wrong(format!("cannot be asked: {error}"))),
        // The panic was reported on the standard error.
        Err(_) => return Err(wrong("cannot be asked".to_owned())),
    };
    let problem = exchange.as_ref().and_then(|one| one.problem.clone());
    exchange.and_then(|one| one.response).ok_or_else(|| match problem {
        Some(problem) => wrong(format!("has no response: {problem}")),
        None => wrong(format!("has no complete response within {:?}", question::PATIENCE)),
    })
}

/// The alternatives that a response names.
fn read(response: &Response) -> Result<Vec<Alternative>, String> {
    if response.fields.is_cut() {
        return Err("responds with header fields of more than 64 KiB".to_owned());
    }
    let text = String::from_utf8_lossy(&response.fields.bytes);
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    let values = fields.filter(|(name, _)| name.eq_ignore_ascii_case("alt-svc"));
    let values: Vec<&str> = values.map(|(_, value)| value.trim()).collect();
    if values.is_empty() {
        return Ok(Vec::new());
    }
    alternatives(&values.join(", ")).map_err(|why| format!("has an Alt-Svc field that {why}"))
}

/// What a response says in the place of an alternative for HTTP/3.
fn without_h3(response: &Response, all: &[Alternative]) -> String {
    let text = String::from_utf8_lossy(&response.fields.bytes).to_ascii_lowercase();
    if !text.lines().any(|line| line.starts_with("alt-svc:")) {
        return format!("responds with {} and without an Alt-Svc field", response.status);
    }
    if all.is_empty() {
        return "says by Alt-Svc that it has no alternative (clear)".to_owned();
    }
    let mut names: Vec<String> =
        all.iter().map(|one| one.protocol.chars().take(MOST_NAME).collect()).collect();
    names.dedup();
    names.truncate(MOST_TOLD);
    format!("names no alternative for h3 by Alt-Svc, but for {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use candor_engine::Text;

    use super::*;

    fn response(fields: &str) -> Response {
        let fields = Text { bytes: fields.into(), length: fields.len() as u64 };
        Response { status: 404, fields, ..Response::default() }
    }

    #[test]
    fn fields_of_one_name_are_one_list_rfc_9110_5_3() {
        let both = response("A: b\r\nalt-svc: h2=\":1\"\r\nAlt-Svc:h3=\":2\"; ma=5\r\n");
        let ports: Vec<u16> = read(&both).unwrap().iter().map(|one| one.port).collect();
        assert_eq!(ports, [1, 2]);
        let cut = Text { length: 1 << 20, ..both.fields };
        assert!(read(&Response { fields: cut, ..response("") }).is_err());
        assert!(read(&response("Alt-Svc: clear\r\nAlt-Svc: h3=\":1\"\r\n")).is_err());
    }

    #[test]
    fn what_is_said_in_the_place_of_an_alternative() {
        let said = |fields: &str| {
            let response = response(fields);
            without_h3(&response, &read(&response).unwrap())
        };
        assert!(said("Server: x\r\n").contains("404"));
        assert!(said("Alt-Svc: clear\r\n").contains("clear"));
        let many = format!("Alt-Svc: {}h2=\":1\"\r\n", "h3-29=\":1\",".repeat(50));
        assert!(said(&many).ends_with("but for h3-29, h2"), "{}", said(&many));
    }
}
