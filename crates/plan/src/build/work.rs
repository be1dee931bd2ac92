//! Which kind of work the options ask for, and what the kinds refuse of each other.

use super::target::Targets;
use super::{Files, journeys, requests, script};
use crate::error::{PlanError, conflict, value};
use crate::options::Options;
use crate::values::SmallCount;
use crate::work::{Journeys, Work};

/// Refuses options of two kinds.
pub(super) fn check(options: &Options) -> Result<(), PlanError> {
    let own = &options.requests;
    let (requests, journeys) = (!own.request.is_empty(), !own.journey.is_empty());
    let script = options.script.script.is_some();
    let refused = [
        (
            requests && journeys,
            ["[[request]]", "[[journey]]"],
            "a plan has requests or users; make each request a [[journey]] of one step",
        ),
        (
            script && requests,
            ["--script", "[[request]]"],
            "the script makes the requests; leave one of them out",
        ),
        (
            script && journeys,
            ["--script", "[[journey]]"],
            "the script decides what is sent; leave one of them out",
        ),
    ];
    if let Some((_, [one, other], why)) = refused.into_iter().find(|(is_so, ..)| *is_so) {
        return Err(conflict(one, other, why));
    }
    let of_users = [
        (
            options.load.users.is_some(),
            "--users",
            "only a plan with a [[journey]] has users; use --connections",
        ),
        (
            options.load.rate_of.is_some(),
            "--rate-of",
            "only a plan with a [[journey]] has users; leave it out",
        ),
    ];
    match of_users.into_iter().find(|(given, ..)| *given && !journeys) {
        Some((_, option, problem)) => Err(value(option, problem)),
        None => Ok(()),
    }
}

/// The work. `own`: each user has a connection.
pub(super) fn work(
    options: &Options,
    targets: &mut Targets,
    own: bool,
    files: &mut Files<'_>,
) -> Result<Work, PlanError> {
    if !options.requests.journey.is_empty() {
        let (list, requests) = journeys::journeys(options, targets, files)?;
        let users = match own {
            true => Some(options.own_connections()),
            false => options.load.users.map(SmallCount::get),
        };
        return Ok(Work::Journeys(Journeys { list, requests, users, order: None }));
    }
    let mut requests = requests::requests(options, targets, files)?;
    Ok(match script::script(options, files)? {
        Some(script) => Work::Script { request: Box::new(requests.list.swap_remove(0)), script },
        None => Work::Requests(requests),
    })
}
