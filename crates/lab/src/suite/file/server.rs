//! Servers of a suite file: how to start or reach each, and its abilities.

use std::path::{Component, Path};
use std::time::Duration;

use candor_plan::suggest::did_you_mean;
use toml::Spanned;

use super::super::model::{Command, Protocol, ReadyWhen, Scenario, Server, ServerKind, Urls};
use super::tables::ServerTable;
use crate::error::LabError;
use crate::matrix::file::{CommandWords, Reader, time};

const READY_TIMEOUT: Duration = Duration::from_secs(10);

impl Reader<'_> {
    pub(super) fn server(
        &self,
        table: ServerTable,
        known: &[Scenario],
    ) -> Result<Server, LabError> {
        let kind = self.kind(&table)?;
        let is_embedded = matches!(kind, ServerKind::Embedded { .. });
        let mut scenarios = match &table.scenarios {
            Some(names) => self.named(names, known)?,
            None if is_embedded => known.iter().map(|one| one.name.clone()).collect(),
            None => {
                return Err(self.wrong(
                    &table.name,
                    "name the scenarios that the server supports: `scenarios = [\"hello\", …]`, or [\"all\"]",
                ));
            }
        };
        let except = self.named(&table.except, known)?;
        scenarios.retain(|one| !except.contains(one));
        let protocols = match &table.protocols {
            Some(names) => self.protocols(names)?,
            None if is_embedded => Protocol::ALL.to_vec(),
            None => match table.urls() {
                Urls { url: None, h2_url: None, tls_url: Some(_) } => vec![Protocol::H1Tls],
                Urls { h2_url: Some(_), .. } => vec![Protocol::H1, Protocol::H2],
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
        let urls = table.urls();
        let has_url = urls.all().next().is_some();
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
            (false, None) if has_url => Ok(ServerKind::Url(urls)),
            (false, None) => Err(self.wrong(
                &table.name,
                "there is no way to start or reach the server; write `embedded = true`, a `command`, or a `url`",
            )),
            (false, Some(command)) => self.command(table, command),
        }
    }

    fn command(
        &self,
        table: &ServerTable,
        command: &Spanned<CommandWords>,
    ) -> Result<ServerKind, LabError> {
        let urls = table.urls();
        let has_url = urls.all().next().is_some();
        let ready = match &table.ready {
            None if has_url => ReadyWhen::Tcp,
            None => ReadyWhen::PortFile,
            Some(ready) => {
                match (ready.get_ref().as_str(), ready.get_ref().strip_prefix("http ")) {
                    ("port-file", _) => ReadyWhen::PortFile,
                    ("tcp", _) => ReadyWhen::Tcp,
                    ("http", _) => ReadyWhen::Http(200),
                    (_, Some(status))
                        if status.parse::<u16>().is_ok_and(|s| (100..600).contains(&s)) =>
                    {
                        ReadyWhen::Http(status.parse().unwrap_or(200))
                    }
                    (word, _) => {
                        let hint = did_you_mean(word, ["port-file", "tcp", "http"]);
                        let message = format!(
                            "ready = \"{word}\": write \"port-file\", \"tcp\", \"http\" or \"http 404\"{hint}"
                        );
                        return Err(self.wrong(ready, message));
                    }
                }
            }
        };
        if ready != ReadyWhen::PortFile && !has_url {
            return Err(self.wrong(
                &table.name,
                "the server's address is unknown; write `url = \"http://127.0.0.1:{port}\"`, or let it write a port file",
            ));
        }
        let mut files = Vec::new();
        for (file, text) in &table.files {
            let inside = !file.is_empty()
                && Path::new(file).components().all(|part| matches!(part, Component::Normal(_)));
            if !inside {
                return Err(self.wrong(text, format!("the file \"{file}\" would be outside of the work directory; write a plain name")));
            }
            files.push((file.clone(), text.get_ref().clone()));
        }
        Ok(ServerKind::Command(Command {
            command: command.get_ref().0.clone(),
            profile_arguments: table.profile_arguments.clone(),
            files,
            env: table.env.clone().into_iter().collect(),
            urls,
            ready,
            ready_timeout: time(table.ready_timeout, READY_TIMEOUT),
        }))
    }
}
