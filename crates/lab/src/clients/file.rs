//! Files of client suites: from TOML to a checked [`Suite`]. Errors name the fault, its place and
//! the remedy, like those of other suites.

use std::collections::BTreeMap;
use std::time::Duration;

use candor_plan::plan_file::keys_of;
use candor_plan::suggest::did_you_mean;
use candor_plan::values::{Nanos, PositiveNanos, RequestPath};
use serde::Deserialize;
use toml::Spanned;

use super::model::{Asked, Client, PoolRule, Pools, Server, Suite, check_size};
use crate::error::LabError;
use crate::matrix::file::{CommandWords, FNV_START, HeadKeys, Reader, time};

/// The default server: the Erlang kit's own, which responds like the httpc benchmark's.
const DEFAULT_SERVER: [&str; 5] =
    ["beam/bin/target", "--server", "raw", "--scenario", "httpc_bench"];
/// The path of the embedded target with the same response.
pub(crate) const EMBEDDED_PATH: &str = "/httpc-bench";
/// The length of their body: `httpc_bench!`.
const BODY_BYTES: u64 = 12;
const WARM_UP: Duration = Duration::from_secs(1);
const DURATION: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(20);
/// Long, because a language runtime has to start.
const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// The suite in `text`, the content of the file `name`.
pub fn parse(name: &str, text: &str) -> Result<Suite, LabError> {
    let reader = Reader { name, text };
    reader.client_suite(reader.table(&keys)?)
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct SuiteTable {
    name: Option<Spanned<String>>,
    about: String,
    rounds: Option<Spanned<u64>>,
    seed: Option<u64>,
    warm_up: Option<Nanos>,
    duration: Option<PositiveNanos>,
    timeout: Option<PositiveNanos>,
    grace: Option<PositiveNanos>,
    concurrencies: Option<Spanned<Vec<Spanned<u64>>>>,
    pool: Option<Spanned<String>>,
    pools: Option<Spanned<Vec<Spanned<u64>>>>,
    server: Option<ServerTable>,
    client: Vec<ClientTable>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct ServerTable {
    embedded: bool,
    arguments: Option<Spanned<Vec<String>>>,
    command: Option<Spanned<CommandWords>>,
    env: BTreeMap<String, String>,
    ready_timeout: Option<PositiveNanos>,
    path: Option<Spanned<String>>,
    expect_status: Option<Spanned<u64>>,
    expect_body_bytes: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ClientTable {
    name: Spanned<String>,
    #[serde(default)]
    about: String,
    command: Spanned<CommandWords>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    needs: String,
    #[serde(default)]
    null: bool,
    null_client: Option<Spanned<String>>,
}

/// The keys of each table, for suggestions.
fn keys(path: &str) -> &'static [&'static str] {
    match path {
        "server" => keys_of::<ServerTable>(),
        "client" => keys_of::<ClientTable>(),
        _ => keys_of::<SuiteTable>(),
    }
}

impl Reader<'_> {
    fn client_suite(&self, table: SuiteTable) -> Result<Suite, LabError> {
        let SuiteTable { name, about, rounds, seed, .. } = table;
        let head = self.head(HeadKeys { name, about, rounds, seed }, FNV_START)?;
        let concurrencies = match &table.concurrencies {
            Some(list) => self.sizes("concurrencies", list)?,
            None => {
                return Err(self.missing(
                    "the number of callers is missing; write e.g. `concurrencies = [4, 64, 256]`",
                ));
            }
        };
        let pools = self.pools(table.pool.as_ref(), table.pools.as_ref())?;
        let (server, path, expect_status, expect_body_bytes) = self.client_server(table.server)?;
        let asked = Asked {
            warm_up: table.warm_up.map_or(WARM_UP, |Nanos(ns)| Duration::from_nanos(ns)),
            duration: time(table.duration, DURATION),
            timeout: time(table.timeout, TIMEOUT),
            grace: time(table.grace, GRACE),
            path,
            expect_status,
            expect_body_bytes,
        };
        Ok(Suite {
            head,
            asked,
            concurrencies,
            pools,
            server,
            clients: self.clients(table.client)?,
        })
    }

    fn sizes(&self, key: &str, list: &Spanned<Vec<Spanned<u64>>>) -> Result<Vec<u64>, LabError> {
        if list.get_ref().is_empty() {
            return Err(self.wrong(list, format!("{key} is empty; write e.g. [4, 64, 256]")));
        }
        let mut sizes = Vec::new();
        for one in list.get_ref() {
            let size = *one.get_ref();
            check_size(size).map_err(|wrong| self.wrong(one, format!("{key}: {wrong}")))?;
            if sizes.contains(&size) {
                return Err(self.wrong(one, format!("{key}: {size} occurs twice; leave one out")));
            }
            sizes.push(size);
        }
        Ok(sizes)
    }

    fn pools(
        &self,
        rule: Option<&Spanned<String>>,
        sizes: Option<&Spanned<Vec<Spanned<u64>>>>,
    ) -> Result<Pools, LabError> {
        match (rule, sizes) {
            (Some(_), Some(sizes)) => Err(self.wrong(
                sizes,
                "`pool` is a rule and `pools` a list of sizes; leave one of them out",
            )),
            (Some(rule), None) => {
                let parsed: Result<PoolRule, String> = rule.get_ref().parse();
                parsed.map(Pools::Rule).map_err(|wrong| self.wrong(rule, format!("pool: {wrong}")))
            }
            (None, Some(sizes)) => self.sizes("pools", sizes).map(Pools::Sizes),
            (None, None) => Ok(Pools::Rule(PoolRule::Plus(1))),
        }
    }

    /// The server, its path, and the expected response.
    fn client_server(
        &self,
        table: Option<ServerTable>,
    ) -> Result<(Server, Option<String>, u16, Option<u64>), LabError> {
        let Some(table) = table else {
            let (path, status, body_bytes) = of_embedded();
            return Ok((default_server(), path, status, body_bytes));
        };
        let server = match (table.embedded, &table.command, &table.arguments) {
            (true, Some(command), _) => {
                let message = "a server with a command is not the embedded one; leave one of `embedded` and `command` out";
                return Err(self.wrong(command, message));
            }
            (true, None, arguments) => Server::Embedded {
                arguments: arguments.as_ref().map(|one| one.get_ref().clone()).unwrap_or_default(),
            },
            (false, Some(_), Some(arguments)) | (false, None, Some(arguments)) => {
                let message = "arguments are for the embedded target; write `embedded = true`, or put them into `command`";
                return Err(self.wrong(arguments, message));
            }
            (false, Some(command), None) => Server::Command {
                command: command.get_ref().0.clone(),
                env: table.env.clone().into_iter().collect(),
                ready_timeout: time(table.ready_timeout, READY_TIMEOUT),
            },
            (false, None, None) => default_server(),
        };
        let path = match &table.path {
            None => None,
            Some(path) => {
                let checked: Result<RequestPath, _> = path.get_ref().parse();
                let checked =
                    checked.map_err(|error| self.wrong(path, format!("path: {error}")))?;
                Some(checked.into_string())
            }
        };
        let expect_status = match &table.expect_status {
            None => 200,
            Some(status) => match u16::try_from(*status.get_ref()) {
                Ok(code @ 100..=599) => code,
                _ => {
                    let message = format!("expect-status = {}: write 100 to 599", status.get_ref());
                    return Err(self.wrong(status, message));
                }
            },
        };
        // The response of another server, or of another path, is not known.
        let is_known = path.is_none() && table.command.is_none();
        let expect_body_bytes = table.expect_body_bytes.or(is_known.then_some(BODY_BYTES));
        Ok((server, path, expect_status, expect_body_bytes))
    }

    fn clients(&self, tables: Vec<ClientTable>) -> Result<Vec<Client>, LabError> {
        if tables.is_empty() {
            let remedy = "write a [[client]] table with a name and the `command` of its driver";
            return Err(self.missing(format!("there is no client; {remedy}")));
        }
        let nulls: Vec<String> =
            tables.iter().filter(|one| one.null).map(|one| one.name.get_ref().clone()).collect();
        let mut clients: Vec<Client> = Vec::new();
        for one in tables {
            self.check_name(&one.name, "client", clients.iter().map(|known| known.name.as_str()))?;
            if let Some(partner) = &one.null_client
                && !nulls.contains(partner.get_ref())
            {
                let hint = did_you_mean(partner.get_ref(), nulls.iter().map(String::as_str));
                let message = format!(
                    "null-client: no client \"{}\" with `null = true`{hint}",
                    partner.get_ref()
                );
                return Err(self.wrong(partner, message));
            }
            clients.push(Client {
                name: one.name.into_inner(),
                about: one.about,
                command: one.command.get_ref().0.clone(),
                env: one.env.into_iter().collect(),
                needs: one.needs,
                is_null: one.null,
                null_client: one.null_client.map(Spanned::into_inner),
            });
        }
        Ok(clients)
    }
}

/// Path, status and length of the body, with the embedded target.
pub(super) fn of_embedded() -> (Option<String>, u16, Option<u64>) {
    (None, 200, Some(BODY_BYTES))
}

fn default_server() -> Server {
    Server::Command {
        command: DEFAULT_SERVER.map(str::to_owned).into(),
        env: Vec::new(),
        ready_timeout: READY_TIMEOUT,
    }
}
