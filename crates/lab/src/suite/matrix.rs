//! From a suite to its cells: the combinations to measure, and the reasons for leaving others out.
//!
//! An unsupported combination is a note if it comes from the matrix, and an error if the user named
//! it: silence would look like a result. Pure: nothing is started.

use std::path::Path;

use candor_plan::allow::Allowed;
use candor_plan::units::fmt_plural;
use candor_plan::values::{Nanos, PositiveNanos, SmallCount};
use candor_plan::{Options, ReadFile};
use candor_report::experiment::matrix::Note;

use super::file::{of_name, unknown_protocol, unknown_scenario};
use super::model::{Load, Protocol, Scenario, Server, ServerKind, Suite};
use crate::error::LabError;
use crate::matrix::names::pick;

/// The user's selection from a suite; `None`: everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// Servers by name.
    pub servers: Option<Vec<String>>,
    /// Scenarios by name or set.
    pub scenarios: Option<Vec<String>>,
    /// Protocols by name.
    pub protocols: Option<Vec<String>>,
    /// Loads by name.
    pub loads: Option<Vec<String>>,
    /// Rounds instead of the suite's.
    pub rounds: Option<u64>,
    /// The command that profiles servers while they are measured; overrides the suite's.
    pub profile_command: Option<String>,
    /// How servers profile themselves, if they are to.
    pub own_profile: Option<OwnProfile>,
    /// Length of each run instead of the suite's.
    pub duration: Option<PositiveNanos>,
    /// Warm-up of each run instead of the suite's.
    pub warm_up: Option<Nanos>,
    /// Connections of each run instead of the suite's.
    pub connections: Option<SmallCount>,
    /// Hosts that runs may send to; empty: any.
    pub allow: Vec<Allowed>,
    /// Whether results have values that may be secrets.
    pub show_secrets: bool,
}

/// A profile that a server makes of itself, in its own words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnProfile {
    /// The profiler: `{tool}` in a server's `profile-arguments`.
    pub tool: String,
    /// Whose time it is: `{scope}` there.
    pub scope: String,
}

impl Selection {
    /// Options of every run, before all others.
    fn run(&self) -> Options {
        let mut run = Options::default();
        (run.load.duration, run.load.warm_up) = (self.duration, self.warm_up);
        run.load.connections = self.connections;
        run.connecting.allow.clone_from(&self.allow);
        run.output.show_secrets = self.show_secrets;
        run
    }

    /// The command that profiles the servers of `suite`, if there is one.
    pub fn profiler<'s>(&'s self, suite: &'s Suite) -> Option<&'s str> {
        self.profile_command.as_deref().or(suite.profile_command.as_deref())
    }
}

/// One combination that is to be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct CellPlan {
    /// The server.
    pub server: Server,
    /// The scenario.
    pub scenario: Scenario,
    /// The protocol.
    pub protocol: Protocol,
    /// The load.
    pub load: Load,
    /// Share of the cell's peak.
    pub of_peak: Option<f64>,
    /// How often it is measured.
    pub rounds: u64,
    /// Options of its runs, all of them but the URL and, with a share of a peak, the rate.
    pub run: Options,
}

/// The cells of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// Cells in the order of tables; those with a share of a peak come last.
    pub cells: Vec<CellPlan>,
    /// Combinations that were left out.
    pub notes: Vec<Note>,
    /// Rounds of each cell whose load does not set them.
    pub rounds: u64,
    /// Whether the user named the servers: one that is not installed is a failure then.
    pub are_servers_named: bool,
}

impl CellPlan {
    /// The beginning of its trials' names, unique within a suite.
    pub fn key(&self) -> String {
        let share = match self.of_peak {
            Some(share) => format!("-{}pct", (share * 1e6).round() / 1e4),
            None => String::new(),
        };
        format!(
            "{}.{}.{}.{}{share}",
            self.scenario.name, self.protocol, self.server.name, self.load.name
        )
    }

    /// The key of the cell whose rate is this one's peak: it differs only in the load.
    pub fn peak_key(&self) -> Option<String> {
        let load = self.load.peak_load.as_ref()?;
        let Self { scenario, protocol, server, .. } = self;
        Some(format!("{}.{protocol}.{}.{load}", scenario.name, server.name))
    }
}

/// Combines the selection into cells. `missing` returns why a server is unavailable here, if it is.
pub fn expand(
    suite: &Suite,
    selection: &Selection,
    missing: &dyn Fn(&Server) -> Option<String>,
) -> Result<Matrix, LabError> {
    let servers = chosen_servers(suite, selection)?;
    let scenarios = chosen_scenarios(suite, selection)?;
    let protocols = chosen_protocols(suite, selection)?;
    let loads = chosen_loads(suite, selection)?;
    let by_name = ByName {
        server: selection.servers.is_some(),
        scenario: selection.scenarios.as_deref(),
        protocol: selection.protocols.is_some(),
    };
    let mut notes = Notes::default();
    let mut present: Vec<&Server> = Vec::new();
    let is_profiled = selection.profiler(suite).is_some();
    for server in servers {
        let not_ours = (is_profiled && matches!(server.kind, ServerKind::Url(_))).then(|| {
            "it is not managed: candor can only profile servers that it starts".to_owned()
        });
        let has_none = || match (&selection.own_profile, &server.kind) {
            (None, _) => None,
            (_, ServerKind::Command(command)) if !command.profile_arguments.is_empty() => None,
            _ => Some(
                "it does not profile itself: the suite has no `profile-arguments` for it"
                    .to_owned(),
            ),
        };
        match missing(server).or(not_ours).or_else(has_none) {
            None => present.push(server),
            Some(why) => notes.refuse(by_name.server, server.name.clone(), why)?,
        }
    }
    let mut cells = Vec::new();
    for scenario in scenarios {
        if let Some(why) = &scenario.unsupported {
            notes.refuse(by_name.has(scenario), scenario.name.clone(), why.clone())?;
            continue;
        }
        for &protocol in protocols.iter().filter(|one| scenario.protocols.contains(one)) {
            for &server in &present {
                if !server.scenarios.contains(&scenario.name) {
                    let asked = by_name.server && by_name.has(scenario);
                    notes.cannot(asked, server, &scenario.name)?;
                } else if !server.protocols.contains(&protocol) {
                    let asked = by_name.server && by_name.protocol;
                    notes.cannot(asked, server, protocol.name())?;
                } else {
                    for &load in loads.iter().filter(|load| load.has(&scenario.name)) {
                        if scenario.run.load.once && load.is_open() {
                            notes.burst(scenario, load);
                            continue;
                        }
                        add(&mut cells, suite, selection, (server, scenario, protocol, load));
                    }
                }
            }
        }
    }
    cells.sort_by_key(|one| one.of_peak.is_some());
    without_peak(&cells)?;
    if cells.is_empty() {
        return Err(LabError::Usage(format!(
            "nothing of the suite {} is left to measure: {}",
            suite.head.name,
            notes.told()
        )));
    }
    Ok(Matrix {
        cells,
        notes: notes.list(),
        rounds: selection.rounds.unwrap_or(suite.head.rounds),
        are_servers_named: by_name.server,
    })
}

/// Adds the cells of one combination: one, or one for each share of the peak.
fn add(
    cells: &mut Vec<CellPlan>,
    suite: &Suite,
    selection: &Selection,
    (server, scenario, protocol, load): (&Server, &Scenario, Protocol, &Load),
) {
    let mut run = selection.run().or(scenario.run.clone());
    // Typed headers replace those of the same name; the scenario's requests stay.
    run = run.or(load.run.clone()).or(server.run.clone()).or(suite.run.clone());
    (run.http2.h1, run.http2.h2, run.http2.h2c) = (protocol.is_h1(), protocol.is_h2(), false);
    (run.http2.h3, run.http2.alt_svc) = (protocol == Protocol::H3, false);
    if !run.http2.h3 {
        // Keys of QUIC are for the cells that have it.
        (run.http2.cc, run.http2.mtu) = (None, None);
    }
    if run.load.once {
        // A run of one burst has no warm-up.
        run.load.warm_up = None;
    }
    let shares: Vec<Option<f64>> = match load.of_peak.as_slice() {
        [] => vec![None],
        shares => shares.iter().copied().map(Some).collect(),
    };
    // The typed value overrides everything in the file.
    let rounds = selection.rounds.or(load.rounds).unwrap_or(suite.head.rounds);
    cells.extend(shares.into_iter().map(|of_peak| CellPlan {
        server: server.clone(),
        scenario: scenario.clone(),
        protocol,
        load: load.clone(),
        of_peak,
        rounds,
        run: run.clone(),
    }));
}

/// Refuses a share of a peak that no load measures.
fn without_peak(cells: &[CellPlan]) -> Result<(), LabError> {
    let lonely = cells
        .iter()
        .find(|one| one.peak_key().is_some_and(|key| cells.iter().all(|other| other.key() != key)));
    match lonely {
        None => Ok(()),
        Some(cell) => Err(LabError::NoPeak {
            load: cell.load.name.clone(),
            peak: cell.load.peak_load.clone().unwrap_or_default(),
        }),
    }
}

/// Trusts the certificate that a server announces, or any: servers of suites use self-signed
/// certificates. The suite's own TLS options take precedence.
pub(super) fn believe(run: &mut Options, protocol: Protocol, announced: Option<&Path>) {
    if protocol.is_tls() && run.tls.cacert.is_none() && !run.tls.insecure {
        run.tls.cacert = announced.map(Path::to_owned);
        run.tls.insecure = announced.is_none();
    }
}

/// Checks every cell's options before anything runs, with a made-up address.
pub fn check_plans(matrix: &Matrix, files: &dyn ReadFile) -> Result<(), LabError> {
    for cell in &matrix.cells {
        let mut run = cell.run.clone();
        let scheme = if cell.protocol.is_tls() { "https" } else { "http" };
        run.url = Some(cell.scenario.url(format!("{scheme}://127.0.0.1:9/")));
        believe(&mut run, cell.protocol, None);
        if cell.of_peak.is_some() {
            run.load.rate = Some(candor_plan::Rate::per_second(1));
        }
        run.build(files).map_err(|error| LabError::Usage(format!("{}: {error}", cell.key())))?;
    }
    Ok(())
}

fn chosen_servers<'s>(
    suite: &'s Suite,
    selection: &Selection,
) -> Result<Vec<&'s Server>, LabError> {
    let Some(names) = &selection.servers else { return Ok(suite.servers.iter().collect()) };
    pick(names, &suite.servers, |one| &one.name, "server")
}

fn chosen_loads<'s>(suite: &'s Suite, selection: &Selection) -> Result<Vec<&'s Load>, LabError> {
    let Some(names) = &selection.loads else { return Ok(suite.loads.iter().collect()) };
    let mut loads = pick(names, &suite.loads, |one| &one.name, "load")?;
    loads.sort_by_key(|one| !one.of_peak.is_empty());
    Ok(loads)
}

fn chosen_scenarios<'s>(
    suite: &'s Suite,
    selection: &Selection,
) -> Result<Vec<&'s Scenario>, LabError> {
    let Some(names) = &selection.scenarios else { return Ok(suite.scenarios.iter().collect()) };
    let mut wanted: Vec<String> = Vec::new();
    for name in names {
        let found = [&suite.scenarios, &suite.others].map(|known| of_name(name, known)).concat();
        if found.is_empty() {
            let place = format!("the suite {}", suite.head.name);
            return Err(unknown_scenario(place, name, &suite.scenarios));
        }
        wanted.extend(found);
    }
    let all = suite.scenarios.iter().chain(&suite.others);
    Ok(all.filter(|one| wanted.contains(&one.name)).collect())
}

fn chosen_protocols(suite: &Suite, selection: &Selection) -> Result<Vec<Protocol>, LabError> {
    let Some(names) = &selection.protocols else { return Ok(suite.protocols.clone()) };
    names
        .iter()
        .map(|name| Protocol::of_name(name).ok_or_else(|| LabError::Usage(unknown_protocol(name))))
        .collect()
}

/// The names that the user selected.
struct ByName<'a> {
    server: bool,
    scenario: Option<&'a [String]>,
    protocol: bool,
}

impl ByName<'_> {
    /// Whether the user named this scenario itself, and not a set with it.
    fn has(&self, scenario: &Scenario) -> bool {
        self.scenario.is_some_and(|names| names.contains(&scenario.name))
    }
}

/// Notes, grouped by kind: the unsupported scenarios of a server take only one line.
#[derive(Default)]
struct Notes {
    single: Vec<Note>,
    servers: Vec<(String, Vec<String>)>,
}

impl Notes {
    fn refuse(&mut self, asked: bool, what: String, why: String) -> Result<(), LabError> {
        if asked {
            return Err(LabError::Usage(format!("{what}: {why}")));
        }
        self.single.push(Note { what, why });
        Ok(())
    }

    fn burst(&mut self, scenario: &Scenario, load: &Load) {
        let what = scenario.name.clone();
        let why = format!("is one burst, so it has no rate for the load {}", load.name);
        let note = Note { what, why };
        if !self.single.contains(&note) {
            self.single.push(note);
        }
    }

    fn cannot(&mut self, asked: bool, server: &Server, what: &str) -> Result<(), LabError> {
        if asked {
            return Err(LabError::Usage(format!(
                "{}: by the suite it does not support {what}; leave one of them out",
                server.name
            )));
        }
        let lists = &mut self.servers;
        let at = lists.iter().position(|(name, _)| *name == server.name).unwrap_or_else(|| {
            lists.push((server.name.clone(), Vec::new()));
            lists.len() - 1
        });
        if !lists[at].1.iter().any(|known| known == what) {
            lists[at].1.push(what.to_owned());
        }
        Ok(())
    }

    fn list(self) -> Vec<Note> {
        let lists = self.servers.into_iter().map(|(server, what)| Note {
            what: server,
            why: format!("does not support {}{}", how_many(&what), what.join(", ")),
        });
        self.single.into_iter().chain(lists).collect()
    }

    fn told(self) -> String {
        let all: Vec<_> =
            self.list().into_iter().map(|one| format!("{}: {}", one.what, one.why)).collect();
        match all.is_empty() {
            true => "no server supports a protocol of the scenarios".to_owned(),
            false => all.join("; "),
        }
    }
}

/// How many scenarios and protocols a list has, if they are more than one sees at a glance.
fn how_many(names: &[String]) -> String {
    let protocols = names.iter().filter(|name| Protocol::of_name(name).is_some()).count();
    let kinds = [(names.len() - protocols, "scenario"), (protocols, "protocol")];
    let counts = kinds.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<_> = counts.map(|(count, what)| fmt_plural(*count as u64, what)).collect();
    if names.len() > 3 { format!("{}: ", counts.join(" and ")) } else { String::new() }
}
