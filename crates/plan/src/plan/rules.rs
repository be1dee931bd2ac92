//! The one check of every plan: each part by its own rules, which stand with it, and here those between parts.
//!
//! A user can break some of these rules with options that are valid one by one; such an error names
//! the options. Only bytes that no [`Options`](crate::Options) made can break the others, and the
//! error names the part.

use std::collections::HashSet;

use super::Parts;
use crate::error::{PlanError, Refusal, conflict, need, value};
use crate::run::{Pacing, ReactorChoice};
use crate::targets::{HttpVersion, Target};
use crate::work::journey::Variables;
use crate::work::template::Names;
use crate::work::{DataOrder, DataSet, Request, Streaming};

/// The most targets of a plan.
const MOST_TARGETS: usize = 64;

/// The key of a step that a user makes when the run is over.
const ONCE_AT_END: &str = "once = \"end\"";

pub(super) fn check(parts: &Parts) -> Result<(), PlanError> {
    let Parts { work, connections, target, load, data, environment, .. } = parts;
    work.check_size()?;
    if parts.is_left_out() {
        return Err(PlanError::LeftOut);
    }
    targets(parts)?;
    let variables = Variables::of(work.journeys());
    let names = |request| Names { data, environment, captured: variables.before(request) };
    DataSet::check_all(data)?;
    work.check(&|one| parts.target_of(one), connections, load, &names)?;
    connections.check()?;
    if connections.dns_refresh_ns.is_some() && parts.targets().all(|one| one.looked_up().is_none())
    {
        target.check_refresh()?;
    }
    let least = parts.targets().map(|one| parts.connections_to(one).0).min();
    parts.threads.check(least.unwrap_or(connections.count), work.users())?;
    if target.has_early_data() {
        target.check_early_data()?;
        work.check_early_data()?;
    }
    parts.wire.check(work, target, connections, &names)?;
    if parts.targets().any(|one| one.http == HttpVersion::H3) {
        check_h3(parts)?;
    }
    let steps = || work.journeys().iter().flat_map(|one| &one.steps);
    if steps().any(|step| step.once) {
        once(parts, "once = true")?;
    }
    if steps().any(|step| step.ending) {
        once(parts, ONCE_AT_END)?;
        if connections.own {
            let why = "a user's own connection ends with each iteration; leave one of them out";
            return Err(conflict(ONCE_AT_END, "connection = \"own\"", why));
        }
    }
    load.check()?;
    parts.timeouts.check()?;
    parts.stop.check()?;
    if parts.threads.pacing == Pacing::Stamps
        && let Some((other, why)) = stamps_refused(parts)
    {
        return Err(conflict("--pacing stamps", other, why));
    }
    if let Some(limits) = parts.recording.goodput {
        let mut streams = work.requests().iter().filter_map(|one| one.stream.as_ref());
        let has_tokens = streams.any(Streaming::counts_tokens);
        limits.check(work.requests().iter().any(Request::has_parts), has_tokens)?;
    }
    parts.recording.check(&parts.stop, &parts.threads)
}

/// Whether users come again who have made a step once.
fn once(parts: &Parts, key: &'static str) -> Result<(), PlanError> {
    if parts.load.is_open() {
        let why = "each user comes once there; leave out --rate, --load and --once, or the key of the step";
        return Err(conflict(key, "an open load", why));
    }
    if parts.sets_of_users().into_iter().any(|set| parts.data[set].order == DataOrder::Once) {
        let why =
            "a user keeps its row; use order = \"rotation\", where the first users have one each";
        return Err(conflict(key, "order = \"once\"", why));
    }
    Ok(())
}

/// What of the other parts does not go with HTTP/3, or is not built for it.
fn check_h3(parts: &Parts) -> Result<(), PlanError> {
    need(parts.connections.pipeline == 1, "target.http", "is not HTTP/3 with a pipeline")?;
    let uring = parts.threads.reactor == ReactorChoice::Uring;
    let stamps = parts.recording.kernel_timestamps.is_some();
    let others = [
        ("--reactor uring", uring, "datagrams are read with epoll; leave one of them out"),
        (
            "--kernel-timestamps",
            stamps,
            "the kernel stamps only what comes over TCP; leave one of them out",
        ),
    ];
    match others.into_iter().find(|(_, is_so, _)| *is_so) {
        Some((other, _, why)) => Err(conflict("--h3", other, why)),
        None => Ok(()),
    }
}

fn targets(parts: &Parts) -> Result<(), PlanError> {
    let wrong = |target: &Target, problem: &str| {
        Err(PlanError::Target { name: target.name.clone(), problem: problem.to_owned() })
    };
    let mut names = HashSet::new();
    for one in parts.targets() {
        if !names.insert(&one.name) {
            return wrong(one, "two targets have this name; give one of them another");
        }
        one.check()?;
    }
    let count = names.len();
    if count > MOST_TARGETS {
        let problem =
            format!("{count} targets are more than the {MOST_TARGETS} that a plan may have");
        return Err(value("[target.NAME]", problem));
    }
    let requests = parts.work.requests();
    credentials(parts)?;
    let is_one = |one: &Request| (one.target as usize) < count;
    need(requests.iter().all(is_one), "a request's target", "is one of the targets")?;
    if parts.others.is_empty() {
        return Ok(());
    }
    let is_unused = |number| requests.iter().all(|one| one.target != number);
    match parts.targets().zip(0u32..).find(|(_, number)| is_unused(*number)) {
        Some((target, 0)) => {
            let why =
                "no request goes to the plan's own url; make it the url of a target that has some";
            return wrong(target, why);
        }
        Some((target, _)) => {
            return wrong(target, "no request goes to it; name it in one, or leave it out");
        }
        None => {}
    }
    let alone = parts.wire.alone().or_else(|| parts.work.alone());
    let alone = alone.or_else(|| parts.connections.alone());
    match alone.or_else(|| parts.targets().find_map(Target::alone)) {
        Some((option, why)) => Err(conflict(option, "several targets", why)),
        None => Ok(()),
    }
}

/// A credential that is taken is sent in some request.
fn credentials(parts: &Parts) -> Result<(), PlanError> {
    for (target, number) in parts.targets().zip(0..) {
        if target.auth.is_none() {
            continue;
        }
        if parts.wire.websocket().is_some() {
            let why =
                "a WebSocket is opened once and has no credential that changes; use bearer:TOKEN";
            return Err(conflict("--auth", "ws", why));
        }
        let mut requests = parts.work.requests().iter().filter(|one| one.target == number);
        if requests.all(|one| one.credential(target).is_none()) {
            let why = "each request has an Authorization of its own; leave one of them out";
            return Err(conflict("--auth", "--header", why));
        }
    }
    Ok(())
}

impl Parts {
    /// Whether threads may sleep through responses, whose times are then the kernel's stamps.
    pub fn dozes(&self) -> bool {
        matches!(self.threads.pacing, Pacing::Auto | Pacing::Stamps)
            && stamps_refused(self).is_none()
    }

    /// A result has the same parts, but some values are left out.
    fn is_left_out(&self) -> bool {
        self.targets().any(Target::is_left_out)
            || self.work.is_left_out()
            || self.wire.is_left_out()
            || self.load.is_left_out()
            || self.environment.iter().any(|one| one.value.is_left_out())
    }
}

/// What in a plan keeps threads from sleeping through responses, and why. Nothing may wait for a response, and a read
/// may have one alone.
fn stamps_refused(parts: &Parts) -> Option<Refusal> {
    let several = (
        "several targets",
        "a request may wait for a connection to its own; leave one of them out",
    );
    let uring = ("--reactor uring", "the stamps are read with epoll; leave one of them out");
    let stamps = ("--kernel-timestamps", "it has other stamps of its own; leave one of them out");
    let load = parts.load.unstamped().or_else(|| parts.work.unstamped());
    load.or_else(|| parts.wire.unstamped())
        .or_else(|| (!parts.others.is_empty()).then_some(several))
        .or_else(|| parts.target.unstamped())
        .or_else(|| parts.connections.unstamped())
        .or_else(|| (parts.threads.reactor == ReactorChoice::Uring).then_some(uring))
        .or_else(|| parts.recording.kernel_timestamps.map(|_| stamps))
}
