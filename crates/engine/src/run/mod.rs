//! A run: what it needs is had before it begins, so that one that cannot be made says so at once.
//!
//! Data is opened, names are looked up, limits are checked and reactors made; [`threads`] does the rest. The worker is
//! compiled for epoll, which most runs have, and once for all other reactors.

pub(crate) mod drive;
mod names;
pub(crate) mod observer;
pub(crate) mod resolve;
mod threads;

use std::sync::Arc;

use candor_plan::{AltSvc, Credential, Plan, ReactorChoice, Target};
use candor_protocol::Transport;
use candor_record::{CollectorSettings, RunRecord, Workers};
use rustix::io::Errno;

use self::names::Resolving;
use self::observer::Observer;
use self::resolve::Addresses;
use self::threads::{Begin, Opened, run_on};
use crate::author::filling::Tables;
use crate::author::script::{Destination, Scripts};
use crate::control::Control;
use crate::error::EngineError;
use crate::load::share;
use crate::machine::{check_ports, core_count, reserve_files};
use crate::reactor::choice::{ReactorKind, decide, probe_uring};
use crate::reactor::socket::{Address, Dialer, Listed, Lists};
use crate::reactor::{chosen, dozing, epoll, stamped, uring};
use crate::sessions::{Spoken, Use};

/// What one process does of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Its workers.
    pub workers: Workers,
    /// Time does not begin before this, on the system's monotonic clock. Zero: it begins as soon as
    /// all connections are made.
    pub begins_at_ns: u64,
}

impl Part {
    /// All of a run of `plan`, as soon as it can begin.
    pub fn whole(plan: &Plan) -> Self {
        Part { workers: Workers::all(workers(plan)), begins_at_ns: 0 }
    }
}

/// Runs `plan` on the reactor of its choice and returns what happened. `observer` is called on this
/// thread while the run goes on.
pub fn run(
    plan: &Plan,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<RunRecord, EngineError> {
    run_scripted(plan, &Scripts::default(), control, observer)
}

/// How many threads a run of `plan` has on this machine.
pub fn workers(plan: &Plan) -> u32 {
    plan.threads_of(core_count() / 2)
}

/// The same as [`run`], with a script for each of the run's [`workers`], or none at all.
pub fn run_scripted(
    plan: &Plan,
    scripts: &Scripts,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<RunRecord, EngineError> {
    run_part(plan, Part::whole(plan), scripts, control, observer)
}

/// The same for `part` of the run. The records of all parts come to that of the run
/// ([`candor_record::merge`]).
pub fn run_part(
    plan: &Plan,
    part: Part,
    scripts: &Scripts,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<RunRecord, EngineError> {
    observer.prepares(plan);
    let is_taken = |one: &Target| one.auth.as_ref().is_some_and(Credential::is_taken);
    if plan.targets().any(is_taken) && control.credentials().is_none() {
        let reason = "none was taken before the run".to_owned();
        return Err(EngineError::System { what: "send a credential", reason });
    }
    if plan.targets().any(|one| one.alt_svc == Some(AltSvc::Asked)) {
        let reason = "no origin was asked before the run".to_owned();
        return Err(EngineError::System { what: "follow Alt-Svc", reason });
    }
    let tables = Tables::open(plan, control)?;
    tables.unusable(plan).for_each(|(file, lines)| observer.leaves_out(file, lines));
    let plan = &*tables.limited(plan)?;
    let spoken = Spoken::all(plan)?;
    let Workers { count: workers, of, .. } = part.workers;
    let least = plan.targets().map(|one| plan.connections_to(one).0).min().unwrap_or_default();
    if of > least {
        return Err(EngineError::Workers { workers: of, connections: least });
    }
    let own: Vec<Option<Destination>> =
        part.workers.indices().map(|one| scripts.destination(one)).collect();
    let given: Vec<Destination> = own.iter().flatten().cloned().collect();
    let Addresses { targets, public } = Addresses::of(plan.targets(), &given)?;
    check_ports(plan, &targets)?;
    let is_local = targets.iter().flat_map(|one| &**one).any(Address::is_local);
    let opened = Opened { plan, tables: &tables, is_local };
    let (_, most) = plan.connections_in_all();
    reserve_files(share::of_all(most, part.workers), workers)?;
    public.iter().for_each(|(host, addresses)| observer.goes_public(host, addresses));
    let listed = |one: &Arc<[Address]>| one.iter().cloned().map(Listed::from).collect();
    let lists: Lists = targets.iter().map(listed).collect();
    let resolving = Resolving::begin(plan, &lists)?;
    let dialer = Dialer {
        targets: lists,
        names: resolving.as_ref().map(Resolving::names),
        sources: plan.connections.sources.clone().into(),
        nodelay: plan.connections.nodelay,
        transports: spoken.iter().map(Spoken::transport).collect(),
    };
    let dialer_of = |worker: u32| match &own[(worker - part.workers.first) as usize] {
        None => dialer.clone(),
        Some(Destination { address, .. }) => {
            let targets = [[Address::Tcp(*address).into()].into()].into();
            Dialer { targets, names: None, ..dialer.clone() }
        }
    };
    let has_datagrams = dialer.transports.contains(&Transport::Datagrams);
    let with_stamps = |address: &Address| !has_datagrams && matches!(address, Address::Tcp(_));
    let stamps = plan.recording.kernel_timestamps;
    let stamps = stamps.filter(|_| targets.iter().flat_map(|one| &**one).any(with_stamps));
    let choice = match has_datagrams {
        false => plan.threads.reactor,
        // Only epoll has datagrams.
        true => ReactorChoice::Epoll,
    };
    let dozes = plan.dozes();
    let kind = match stamps {
        None if !dozes => decide(choice, &plan.load, plan.connections.pipeline, probe_uring),
        _ => ReactorKind::Epoll,
    };
    let epoll = |errno: Errno| refused("make an epoll instance", errno.into());
    let uring = |error| refused("make an io_uring instance for each thread", error);
    let spoken = &spoken;
    let begin = |worker| -> Result<Begin<'_>, EngineError> {
        let dialer = dialer_of(worker);
        let reactor = match (stamps, kind) {
            (Some(stamps), _) => {
                chosen(stamped::Unstarted::new(dialer, stamps.one_in).map_err(epoll)?)
            }
            (None, _) if dozes => chosen(dozing::Unstarted::new(dialer).map_err(epoll)?),
            (None, ReactorKind::Uring) => chosen(uring::Unstarted::new(dialer).map_err(uring)?),
            (None, ReactorKind::Epoll) => {
                let reactor = epoll::Unstarted::new(dialer).map_err(epoll)?;
                return Ok(Box::new(move |recipe, thread| recipe.with(spoken, thread.on(reactor))));
            }
        };
        Ok(Box::new(move |recipe, thread| thread.on(reactor).with(recipe.boxed(spoken))))
    };
    // Reactors are made here, so that one that cannot be made ends the run before it begins.
    let begins = part.workers.indices().map(begin).collect::<Result<_, _>>()?;
    let mut record = run_on(begins, opened, part, scripts, control, observer)?;
    if let (Some(resolving), [machine]) = (resolving, &mut record.machines[..]) {
        machine.names = resolving.end();
    }
    Ok(record)
}

fn refused(what: &'static str, error: std::io::Error) -> EngineError {
    EngineError::System { what, reason: error.to_string() }
}

/// What collects a whole run of `plan` on this machine.
pub fn collecting(plan: &Plan) -> CollectorSettings {
    collecting_part(plan, Workers::all(workers(plan)))
}

/// What collects `workers` of a run of `plan`.
pub(crate) fn collecting_part(plan: &Plan, workers: Workers) -> CollectorSettings {
    CollectorSettings {
        digits: plan.recording.digits,
        requests: plan.work.requests().len(),
        journeys: plan.work.journeys().len(),
        warm_up_ns: plan.recording.warm_up_ns,
        connections_asked: share::of_all(plan.connections_in_all().0, workers).into(),
        workers,
    }
}
