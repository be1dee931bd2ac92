//! Suite files: from TOML to a checked [`Suite`], with errors that say what, where and the remedy.
//!
//! The tables here are what may stand in a file. Options of runs are those of plans, read by the
//! same code ([`Options`]), so a flag has one name and one meaning everywhere. The built-in
//! scenarios are a file of the same form.

use std::path::{Path, PathBuf};
use std::time::Duration;

use candor_plan::options::RequestOptions;
use candor_plan::plan_file::{self, keys_of};
use candor_plan::suggest::did_you_mean;
use candor_plan::units::parse_share;
use candor_plan::values::PositiveNanos;
use candor_plan::{Options, PlanError};
use serde::Deserialize;
use toml::Spanned;

use super::content;
use super::each;
use super::model::{Command, Load, Protocol, ReadyWhen, Scenario, Server, ServerKind, Suite};
use crate::error::LabError;

/// The built-in scenarios.
const SCENARIOS: &str = include_str!("scenarios.toml");
/// Rounds, if nothing is said.
const DEFAULT_ROUNDS: u64 = 3;
/// All scenarios, as a set.
const ALL: &str = "all";
const READY_TIMEOUT: Duration = Duration::from_secs(10);

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct SuiteTable {
    name: Option<Spanned<String>>,
    about: String,
    rounds: Option<Spanned<u64>>,
    seed: Option<u64>,
    scenarios: Vec<Spanned<String>>,
    protocols: Vec<Spanned<String>>,
    run: Options,
    server: Vec<ServerTable>,
    scenario: Vec<ScenarioTable>,
    load: Vec<LoadTable>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ServerTable {
    name: Spanned<String>,
    #[serde(default)]
    about: String,
    #[serde(default)]
    embedded: bool,
    #[serde(default)]
    arguments: Vec<String>,
    command: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    files: std::collections::BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    env: std::collections::BTreeMap<String, String>,
    url: Option<Spanned<String>>,
    tls_url: Option<Spanned<String>>,
    ready: Option<Spanned<String>>,
    ready_timeout: Option<PositiveNanos>,
    scenarios: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    except: Vec<Spanned<String>>,
    protocols: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    run: Options,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ScenarioTable {
    name: Spanned<String>,
    #[serde(default)]
    about: String,
    #[serde(default)]
    sets: Vec<String>,
    protocols: Option<Vec<Spanned<String>>>,
    unsupported: Option<String>,
    each: Option<Spanned<String>>,
    #[serde(default)]
    embedded_arguments: Vec<String>,
    #[serde(default)]
    request: Vec<RequestOptions>,
    #[serde(default)]
    run: Options,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct LoadTable {
    name: Spanned<String>,
    #[serde(default)]
    of_peak: Vec<Spanned<String>>,
    peak_load: Option<Spanned<String>>,
    #[serde(default)]
    run: Options,
}

/// The keys of each table, for suggestions.
fn keys(path: &str) -> &'static [&'static str] {
    match path {
        "" => keys_of::<SuiteTable>(),
        "server" => keys_of::<ServerTable>(),
        "scenario" => keys_of::<ScenarioTable>(),
        "load" => keys_of::<LoadTable>(),
        "scenario.request" | "run.request" | "scenario.run.request" => keys_of::<RequestOptions>(),
        _ => keys_of::<Options>(),
    }
}

/// The suite in `text`, which stands in the file `name`.
pub fn parse(name: &str, text: &str) -> Result<Suite, LabError> {
    let table: SuiteTable = toml::from_str(text)
        .map_err(|error| LabError::Usage(plan_file::explain(name, text, &error, &keys).to_string()))?;
    Reader { name, text }.suite(table)
}

/// The built-in scenarios, in order.
pub fn built_in() -> Result<Vec<Scenario>, LabError> {
    let reader = Reader { name: "scenarios.toml", text: SCENARIOS };
    let table: SuiteTable = toml::from_str(SCENARIOS).map_err(|error| {
        LabError::Usage(plan_file::explain(reader.name, SCENARIOS, &error, &keys).to_string())
    })?;
    table.scenario.into_iter().map(|one| reader.scenario(one)).collect()
}

/// What errors need: the file and its text.
struct Reader<'a> {
    name: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn wrong<T>(&self, at: &Spanned<T>, message: impl Into<String>) -> LabError {
        let (line, column) = plan_file::position(self.text, at.span().start);
        LabError::Usage(
            PlanError::PlanFile {
                file: self.name.to_owned(),
                line,
                column,
                message: message.into(),
            }
            .to_string(),
        )
    }

    fn missing(&self, message: impl Into<String>) -> LabError {
        LabError::Usage(format!("{}: {}", self.name, message.into()))
    }

    fn suite(&self, table: SuiteTable) -> Result<Suite, LabError> {
        let scenarios = self.scenarios(table.scenario)?;
        let chosen = match table.scenarios.as_slice() {
            [] => scenarios.iter().map(|one| one.name.clone()).collect(),
            names => self.named(names, &scenarios)?,
        };
        let rounds = match &table.rounds {
            Some(rounds) if !(1..=1000).contains(rounds.get_ref()) => {
                let message = format!("rounds = {}: write 1 to 1000", rounds.get_ref());
                return Err(self.wrong(rounds, message));
            }
            Some(rounds) => *rounds.get_ref(),
            None => DEFAULT_ROUNDS,
        };
        if table.server.is_empty() {
            let remedy = "write a [[server]] table with a name and `embedded = true`, a `command` or a `url`";
            return Err(self.missing(format!("there is no server; {remedy}")));
        }
        let mut servers: Vec<Server> = Vec::new();
        for one in table.server {
            self.check_name(&one.name, "server", servers.iter().map(|known| known.name.as_str()))?;
            servers.push(self.server(one, &scenarios)?);
        }
        let protocols = match table.protocols.as_slice() {
            [] => Protocol::ALL.into_iter().filter(|one| !one.is_tls() || needed(*one, &chosen, &scenarios)).collect(),
            names => self.protocols(names)?,
        };
        let loads = self.loads(table.load)?;
        let by_file = Path::new(self.name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = match &table.name {
            Some(name) => {
                self.check_name(name, "suite", std::iter::empty())?;
                name.get_ref().clone()
            }
            None => by_file.unwrap_or_else(|| "suite".to_owned()),
        };
        Ok(Suite {
            file: self.name.to_owned(),
            name,
            about: table.about,
            rounds,
            seed: table.seed.unwrap_or(1),
            run: self.found(table.run),
            servers,
            scenarios: scenarios.into_iter().filter(|one| chosen.contains(&one.name)).collect(),
            protocols,
            loads,
            fingerprint: fnv(fnv(FNV_START, SCENARIOS.as_bytes()), self.text.as_bytes()),
        })
    }

    /// The built-in scenarios, with those of the file in their place or behind them.
    fn scenarios(&self, own: Vec<ScenarioTable>) -> Result<Vec<Scenario>, LabError> {
        let mut all = built_in()?;
        let mut seen: Vec<String> = Vec::new();
        for one in own {
            self.check_name(&one.name, "scenario", seen.iter().map(String::as_str))?;
            if one.name.get_ref() == ALL {
                return Err(self.wrong(&one.name, "a scenario cannot be called \"all\": that is the set of every scenario"));
            }
            seen.push(one.name.get_ref().clone());
            let scenario = self.scenario(one)?;
            match all.iter_mut().find(|known| known.name == scenario.name) {
                Some(known) => *known = scenario,
                None => all.push(scenario),
            }
        }
        Ok(all)
    }

    fn scenario(&self, table: ScenarioTable) -> Result<Scenario, LabError> {
        let mut run = self.found(table.run);
        let requests = table.request.into_iter().map(|mut one| {
            self.find(&mut one.body_file);
            self.find(&mut one.expect_body);
            one
        });
        let requests: Vec<RequestOptions> = requests.collect();
        run.request = match &table.each {
            None => requests,
            Some(range) => each::repeat(range.get_ref(), &requests)
                .map_err(|problem| self.wrong(range, format!("each = \"{}\": {problem}", range.get_ref())))?,
        };
        if run.request.is_empty() && table.unsupported.is_none() {
            let message = "a scenario needs at least one [[scenario.request]] table";
            return Err(self.wrong(&table.name, message));
        }
        Ok(Scenario {
            name: table.name.into_inner(),
            about: table.about,
            sets: table.sets,
            protocols: match &table.protocols {
                None => Protocol::ALL.to_vec(),
                Some(names) => self.protocols(names)?,
            },
            unsupported: table.unsupported,
            embedded_arguments: table.embedded_arguments,
            run,
        })
    }

    fn server(&self, table: ServerTable, known: &[Scenario]) -> Result<Server, LabError> {
        let kind = self.kind(&table)?;
        let is_embedded = matches!(kind, ServerKind::Embedded { .. });
        let mut scenarios = match &table.scenarios {
            Some(names) => self.named(names, known)?,
            None if is_embedded => known.iter().map(|one| one.name.clone()).collect(),
            None => {
                return Err(self.wrong(
                    &table.name,
                    "say what the server can do: `scenarios = [\"hello\", …]`, or [\"all\"]",
                ));
            }
        };
        let except = self.named(&table.except, known)?;
        scenarios.retain(|one| !except.contains(one));
        let protocols = match &table.protocols {
            Some(names) => self.protocols(names)?,
            None if is_embedded => Protocol::ALL.to_vec(),
            None => match (&table.url, &table.tls_url) {
                (None, Some(_)) => vec![Protocol::H1Tls],
                (Some(_), Some(_)) => vec![Protocol::H1, Protocol::H1Tls],
                _ => vec![Protocol::H1],
            },
        };
        Ok(Server {
            name: table.name.into_inner(),
            about: table.about,
            kind,
            scenarios,
            protocols,
            run: self.found(table.run),
        })
    }

    fn kind(&self, table: &ServerTable) -> Result<ServerKind, LabError> {
        let has_url = table.url.is_some() || table.tls_url.is_some();
        match (table.embedded, &table.command) {
            (true, Some(command)) => Err(self.wrong(
                command,
                "a server with a command is not the embedded one; leave one of `embedded` and `command` out",
            )),
            (true, None) => match (&table.url, table.files.values().next()) {
                (Some(url), _) => {
                    Err(self.wrong(url, "the embedded target chooses its port itself; leave `url` out"))
                }
                (None, Some(file)) => {
                    Err(self.wrong(file, "the embedded target needs no files; leave `files` out"))
                }
                (None, None) => Ok(ServerKind::Embedded { arguments: table.arguments.clone() }),
            },
            (false, None) if has_url => Ok(ServerKind::Url {
                url: table.url.as_ref().map(|one| one.get_ref().clone()),
                tls_url: table.tls_url.as_ref().map(|one| one.get_ref().clone()),
            }),
            (false, None) => Err(self.wrong(
                &table.name,
                "the server cannot be had; write `embedded = true`, a `command`, or a `url`",
            )),
            (false, Some(command)) => self.command(table, command),
        }
    }

    fn command(
        &self,
        table: &ServerTable,
        command: &Spanned<Vec<String>>,
    ) -> Result<ServerKind, LabError> {
        if command.get_ref().first().is_none_or(String::is_empty) {
            return Err(self.wrong(command, "the command is empty; write [\"program\", \"argument\", …]"));
        }
        let has_url = table.url.is_some() || table.tls_url.is_some();
        let ready = match &table.ready {
            None if has_url => ReadyWhen::Tcp,
            None => ReadyWhen::PortFile,
            Some(ready) => match (ready.get_ref().as_str(), ready.get_ref().strip_prefix("http ")) {
                ("port-file", _) => ReadyWhen::PortFile,
                ("tcp", _) => ReadyWhen::Tcp,
                ("http", _) => ReadyWhen::Http(200),
                (_, Some(status)) if status.parse::<u16>().is_ok_and(|s| (100..600).contains(&s)) => {
                    ReadyWhen::Http(status.parse().unwrap_or(200))
                }
                (word, _) => {
                    let hint = did_you_mean(word, ["port-file", "tcp", "http"]);
                    let message = format!("ready = \"{word}\": write \"port-file\", \"tcp\", \"http\" or \"http 404\"{hint}");
                    return Err(self.wrong(ready, message));
                }
            },
        };
        if ready != ReadyWhen::PortFile && !has_url {
            return Err(self.wrong(
                &table.name,
                "where the server will be is not known; write `url = \"http://127.0.0.1:{port}\"`, or let it write a port file",
            ));
        }
        let mut files = Vec::new();
        for (file, text) in &table.files {
            let inside = !file.is_empty() && Path::new(file).components().all(|part| matches!(part, std::path::Component::Normal(_)));
            if !inside {
                return Err(self.wrong(text, format!("the file \"{file}\" would be outside of the work directory; write a plain name")));
            }
            files.push((file.clone(), text.get_ref().clone()));
        }
        let text = |one: &Option<Spanned<String>>| one.as_ref().map(|url| url.get_ref().clone());
        Ok(ServerKind::Command(Command {
            command: command.get_ref().clone(),
            files,
            env: table.env.clone().into_iter().collect(),
            url: text(&table.url),
            tls_url: text(&table.tls_url),
            ready,
            ready_timeout: table
                .ready_timeout
                .map_or(READY_TIMEOUT, |one| Duration::from_nanos(one.get())),
        }))
    }

    /// The loads; a closed one if there is none. Those that need a peak come last.
    fn loads(&self, tables: Vec<LoadTable>) -> Result<Vec<Load>, LabError> {
        let names: Vec<String> = tables.iter().map(|one| one.name.get_ref().clone()).collect();
        let first = tables
            .iter()
            .find(|one| one.of_peak.is_empty())
            .map(|one| one.name.get_ref().clone());
        let mut loads: Vec<Load> = Vec::new();
        for one in tables {
            self.check_name(&one.name, "load", loads.iter().map(|known| known.name.as_str()))?;
            let mut of_peak = Vec::new();
            for share in &one.of_peak {
                match parse_share(share.get_ref()) {
                    Ok(parsed) if parsed > 0.0 && parsed <= 2.0 => of_peak.push(parsed),
                    _ => {
                        let message = format!("of-peak: \"{}\" is no share; write such as \"90%\"", share.get_ref());
                        return Err(self.wrong(share, message));
                    }
                }
            }
            let peak_load = match (&one.peak_load, of_peak.is_empty()) {
                (Some(name), false) if names.contains(name.get_ref()) => Some(name.get_ref().clone()),
                (Some(name), false) => {
                    let hint = did_you_mean(name.get_ref(), names.iter().map(String::as_str));
                    return Err(self.wrong(name, format!("there is no load \"{}\"{hint}", name.get_ref())));
                }
                (Some(name), true) => {
                    return Err(self.wrong(name, "peak-load is for loads with of-peak; leave it out"));
                }
                (None, true) => None,
                (None, false) => match &first {
                    Some(first) => Some(first.clone()),
                    None => {
                        return Err(self.wrong(
                            &one.name,
                            "shares of a peak need a load that finds it; write a [[load]] without of-peak",
                        ));
                    }
                },
            };
            if !of_peak.is_empty() && (one.run.rate.is_some() || one.run.load.is_some()) {
                return Err(self.wrong(&one.name, "of-peak is the rate of this load; leave `rate` and `load` out"));
            }
            loads.push(Load { name: one.name.into_inner(), run: self.found(one.run), of_peak, peak_load });
        }
        if loads.is_empty() {
            let run = Options::default();
            loads.push(Load { name: "closed".to_owned(), run, of_peak: Vec::new(), peak_load: None });
        }
        loads.sort_by_key(|one| !one.of_peak.is_empty());
        Ok(loads)
    }

    /// Names of scenarios, with sets replaced by what is in them.
    fn named(&self, names: &[Spanned<String>], known: &[Scenario]) -> Result<Vec<String>, LabError> {
        let mut all: Vec<String> = Vec::new();
        for name in names {
            let found = of_name(name.get_ref(), known);
            if found.is_empty() {
                return Err(self.wrong(name, unknown_scenario(name.get_ref(), known)));
            }
            all.extend(found);
        }
        Ok(all)
    }

    fn protocols(&self, names: &[Spanned<String>]) -> Result<Vec<Protocol>, LabError> {
        names
            .iter()
            .map(|name| {
                Protocol::of_name(name.get_ref())
                    .ok_or_else(|| self.wrong(name, unknown_protocol(name.get_ref())))
            })
            .collect()
    }

    /// Names stand in file names and tables.
    fn check_name<'n>(
        &self,
        name: &Spanned<String>,
        what: &str,
        mut known: impl Iterator<Item = &'n str>,
    ) -> Result<(), LabError> {
        let text = name.get_ref();
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.+".contains(c);
        if text.is_empty() || text.len() > 64 || text.starts_with('.') || !text.chars().all(plain) {
            return Err(self.wrong(name, format!(
                "\"{text}\" cannot be the name of a {what}: it stands in the names of files; write letters, digits and _ - . +"
            )));
        }
        match known.any(|one| one == text) {
            true => Err(self.wrong(name, format!("there are two {what}s with the name \"{text}\"; rename one"))),
            false => Ok(()),
        }
    }

    /// Files are found from the suite's own directory, as those of a plan are from the plan's.
    fn find(&self, file: &mut Option<PathBuf>) {
        let directory = Path::new(self.name).parent().unwrap_or(Path::new(""));
        if let Some(path) = file
            && !path.to_string_lossy().starts_with(content::PREFIX)
            && path.as_os_str() != "-"
        {
            *path = directory.join(&*path);
        }
    }

    fn found(&self, mut run: Options) -> Options {
        for one in &mut run.request {
            self.find(&mut one.body_file);
            self.find(&mut one.expect_body);
        }
        for file in [
            &mut run.body_file,
            &mut run.expect_body,
            &mut run.cacert,
            &mut run.cert,
            &mut run.key,
        ] {
            self.find(file);
        }
        run
    }
}

/// The scenarios of a name: that one, or all of a set.
pub(crate) fn of_name(name: &str, known: &[Scenario]) -> Vec<String> {
    known
        .iter()
        .filter(|one| one.name == name || name == ALL || one.sets.iter().any(|set| set == name))
        .map(|one| one.name.clone())
        .collect()
}

pub(crate) fn unknown_scenario(name: &str, known: &[Scenario]) -> String {
    let mut words: Vec<&str> = known.iter().map(|one| one.name.as_str()).collect();
    words.extend(known.iter().flat_map(|one| &one.sets).map(String::as_str));
    words.push(ALL);
    let hint = did_you_mean(name, words.iter().copied());
    let hint = match hint.is_empty() {
        true => "; `candor bench --list-scenarios` prints them".to_owned(),
        false => hint,
    };
    format!("there is no scenario \"{name}\"{hint}")
}

pub(crate) fn unknown_protocol(name: &str) -> String {
    let names = Protocol::ALL.map(Protocol::name);
    let hint = did_you_mean(name, names);
    format!("there is no protocol \"{name}\"; write {}{hint}", names.join(", "))
}

/// Whether one of the chosen scenarios can be spoken over TLS only.
fn needed(protocol: Protocol, chosen: &[String], known: &[Scenario]) -> bool {
    known
        .iter()
        .filter(|one| chosen.contains(&one.name))
        .any(|one| one.protocols.iter().all(|p| p.is_tls()) && one.protocols.contains(&protocol))
}

pub(crate) const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, 64 bits: no secret depends on it, only whether two texts are the same.
pub(crate) fn fnv(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
