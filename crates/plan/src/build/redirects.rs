//! Redirects: each hop that a request may have is a request of the plan, a step that only a redirect leads to.
//!
//! So a hop has a row, a ledger and an expected response like every other. Where a redirect goes is known when it
//! comes; what may be sent to each target is decided here: the credentials of one are not those of another.

use std::collections::HashSet;

use super::target::Targets;
use super::{calls, once};
use crate::error::{PlanError, exclude, value};
use crate::holes;
use crate::options::{Options, headers_over};
use crate::redact::SecretKind;
use crate::redact::Secrets;
use crate::values::{Header, SmallCount};
use crate::work::journey::{Journey, OnFailure, Redirect, Step};
use crate::work::{Journeys, Request, Requests, StatusSet, Work, fits};

/// The statuses of redirects that are followed (RFC 9110 15.4).
const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

/// The work with the redirects that it may have.
pub(super) fn follow(options: &Options, work: Work, targets: &Targets) -> Result<Work, PlanError> {
    let Some(most) = options.requests.location.map(SmallCount::get) else { return Ok(work) };
    check(options, &work, targets, most)?;
    let mut all = match work {
        Work::Journeys(journeys) => journeys,
        Work::Requests(requests) => each_by_itself(requests),
        Work::Script { .. } => return Ok(work),
    };
    let targets: Vec<(&str, &[Header])> = targets.names().collect();
    let hops = targets.len() * 2 * most as usize;
    fits(all.requests.len().saturating_mul(hops + 1))?;
    let mut firsts = std::mem::take(&mut all.requests).into_iter();
    for journey in &mut all.list {
        for step in std::mem::take(&mut journey.steps) {
            let Some(mut first) = firsts.next() else { continue };
            first.expect.status = expected(&first)?;
            first.delivery.check_redirected()?;
            let redirects = redirects(&first, most, targets.len() as u32);
            let steps = redirects.map(|(redirect, target)| {
                (Some(redirect), hop(options, &first, redirect, target, &targets))
            });
            let steps: Vec<_> = std::iter::once((None, first.clone())).chain(steps).collect();
            for (redirect, request) in steps {
                let (captures, once, ending) = (step.captures.clone(), step.once, step.ending);
                let number = all.requests.len() as u32;
                journey.steps.push(match redirect {
                    None => Step { request: number, ..step.clone() },
                    Some(_) => Step { redirect, captures, once, ending, ..Step::plain(number) },
                });
                all.requests.push(request);
            }
        }
    }
    Ok(Work::Journeys(all))
}

fn check(options: &Options, work: &Work, targets: &Targets, most: u32) -> Result<(), PlanError> {
    const OPTION: &str = "--location";
    if most > Redirect::MOST {
        return Err(value(
            OPTION,
            format!(
                "{most} redirects are more than are followed in a row; write at most {}",
                Redirect::MOST
            ),
        ));
    }
    let has_streams = work.requests().iter().any(|one| one.stream.is_some());
    let has_sequence = matches!(work, Work::Requests(one) if !one.sequence.whole().is_empty());
    let refused = [
        (
            "--script",
            work.script().is_some(),
            "the script decides what is sent; leave one of them out",
        ),
        ("ws://", targets.url().is_websocket, "messages are not redirected; leave it out"),
        ("--call", calls::are_asked(options), "calls are not redirected; leave it out"),
        (
            "--stream",
            has_streams,
            "the times of events count from one request; name the URL that has them, or leave it out",
        ),
        (
            "--once",
            once::count(options).is_some(),
            "each connection has one request; leave one of them out",
        ),
        (
            "--early-data",
            options.tls.early_data,
            "a redirected request is made anew; leave one of them out",
        ),
        (
            "--h2c-upgrade",
            options.http2.h2c_upgrade,
            "a redirected request needs a connection of HTTP/2; use --h2c",
        ),
        (
            "a sequence of requests",
            has_sequence,
            "each request may become several; leave one of them out",
        ),
    ];
    let mut all = refused.into_iter();
    all.try_for_each(|(other, is_so, why)| exclude([(OPTION, is_so)], other, why))
}

/// Requests as journeys, each by itself.
fn each_by_itself(Requests { list: requests, order, .. }: Requests) -> Journeys {
    let mut names = HashSet::new();
    let journey = |(number, one): (usize, &Request)| Journey {
        name: match names.insert(one.name.clone()) {
            true => format!("{}, including redirects", one.name),
            false => format!("{} ({}), including redirects", one.name, number + 1),
        },
        weight: one.weight,
        steps: vec![Step::plain(number as u32)],
        cookies: false,
        on_failure: OnFailure::End,
    };
    let list = requests.iter().enumerate().map(journey).collect();
    Journeys { list, requests, users: None, order: Some(order) }
}

/// What is right for the last response: a redirect that is not followed never is.
fn expected(request: &Request) -> Result<StatusSet, PlanError> {
    let status = &request.expect.status;
    if *status == StatusSet::below_400() {
        return Ok(StatusSet::where_redirects_are_followed());
    }
    let left = STATUSES.iter().try_fold(status.clone(), |left, one| left.without(*one));
    left.ok_or_else(|| {
        let problem = format!(
            "{status} is a redirect, which --location follows; name the status of the last response"
        );
        value("--expect-status", problem)
    })
}

/// All redirects that a request may have, each with its target.
fn redirects(first: &Request, most: u32, targets: u32) -> impl Iterator<Item = (Redirect, u32)> {
    // A GET stays one.
    let keeps = if is_safe(first) { &[true][..] } else { &[false, true] };
    (1..=most).flat_map(move |number| {
        (0..targets).flat_map(move |target| {
            keeps.iter().map(move |&keeps| (Redirect { number, keeps }, target))
        })
    })
}

fn is_safe(request: &Request) -> bool {
    matches!(request.method.as_str(), "GET" | "HEAD")
}

/// The request that follows a redirect of `first` to a target.
fn hop(
    options: &Options,
    first: &Request,
    redirect: Redirect,
    target: u32,
    targets: &[(&str, &[Header])],
) -> Request {
    let Redirect { number, keeps } = redirect;
    let mut name = format!("{}, redirect {number}", first.name);
    let (of_target, own) = targets[target as usize];
    if targets.len() > 1 {
        name += &format!(" to {of_target}");
    }
    if keeps && !is_safe(first) {
        name += &match first.method.starts_with('$') {
            true => " with its method".to_owned(),
            false => format!(" as {}", first.method),
        };
    }
    // What a template would take for a hole.
    let literal = |text: &str| text.replace("${", "$${");
    let text = |text: &str| if first.holes { text.to_owned() } else { literal(text) };
    let is_elsewhere = target != first.target;
    let of_first = |name: &str, value: &str| {
        let is_it = |one: &&Header| {
            one.name() == name && (one.value() == value || holes::plain(one.value()) == value)
        };
        targets[first.target as usize].1.iter().any(|one| is_it(&one))
    };
    let stays = |(name, value): &&(String, String)| {
        let is_of_body = !keeps && is_of_body(name);
        let is_length = name.eq_ignore_ascii_case("content-length");
        let is_own = is_elsewhere && (is_of_origin(name, value) || of_first(name, value));
        !(is_of_body || is_length || is_own)
    };
    let headers = first.headers.iter().filter(stays);
    let headers = headers.filter_map(|(name, value)| Header::new(name, &text(value)).ok());
    let mut headers: Vec<Header> = headers.collect();
    if is_elsewhere {
        let own = own.iter().cloned();
        let own = own.filter_map(|one| match options.requests.literal {
            true => Header::new(one.name(), &literal(one.value())).ok(),
            false => Some(one),
        });
        headers = headers_over(headers, own.collect());
    }
    let pair = |one: Header| (one.name().to_owned(), one.value().to_owned());
    Request {
        name,
        target,
        path: Redirect::PATH.to_owned(),
        method: if keeps { first.method.clone() } else { "GET".to_owned() },
        headers: headers.into_iter().map(pair).collect(),
        body: if keeps { first.body.clone() } else { Vec::new().into() },
        literal_body: keeps && (first.literal_body || !first.holes),
        holes: true,
        weight: 1,
        ..first.clone()
    }
}

/// Whether a field says something of the body, which a request that became a GET does not have (RFC 9110 15.4).
fn is_of_body(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("content-") || matches!(name.as_str(), "digest" | "last-modified" | "expect")
}

/// Whether a field is for the origin alone that it was sent to: its name, and all that is a secret.
fn is_of_origin(name: &str, value: &str) -> bool {
    name.eq_ignore_ascii_case("host")
        || SecretKind::of_field(name, value).is_some()
        || Secrets::Hidden.hides(name, value)
}
