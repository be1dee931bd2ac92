//! Refuses options about bodies without a body. In a plan with tables of requests, they apply to
//! the requests with a body. If no request has one, the run would silently ignore the options of
//! the suite.

use candor_plan::Options;
use candor_plan::options::RequestOptions;
use toml::de::{DeTable, DeValue};

use super::super::model::{Scenario, Suite};
use crate::error::LabError;
use crate::matrix::file::Reader;

impl Reader<'_> {
    /// Refuses them in every `run` table. `known` are all scenarios, even those that are not
    /// measured.
    pub(super) fn check_bodies(&self, suite: &Suite, known: &[Scenario]) -> Result<(), LabError> {
        let runs = suite.servers.iter().map(|one| &one.run).chain([&suite.run]);
        let mut runs = runs.chain(suite.loads.iter().map(|one| &one.run));
        let is_inherited = runs.any(has_body);
        let sends_one = |one: &Scenario| sends_a_body(one, is_inherited);
        for one in known.iter().filter(|one| one.unsupported.is_none() && !sends_one(one)) {
            let whose = format!("of the scenario \"{}\"", one.name);
            self.check_run(&one.run, Some(("scenario", &one.name)), &whose)?;
        }
        let measured = || suite.scenarios.iter();
        for one in &suite.servers {
            if !measured().any(|it| one.scenarios.contains(&it.name) && sends_one(it)) {
                let whose = format!("of the scenarios of the server \"{}\"", one.name);
                self.check_run(&one.run, Some(("server", &one.name)), &whose)?;
            }
        }
        if measured().any(sends_one) {
            return Ok(());
        }
        for one in &suite.loads {
            self.check_run(&one.run, Some(("load", &one.name)), "of the suite's scenarios")?;
        }
        self.check_run(&suite.run, None, "of the suite's scenarios")
    }

    /// Refuses options about bodies in the `run` table of `table`, or in that of the suite.
    fn check_run(
        &self,
        run: &Options,
        table: Option<(&str, &str)>,
        whose: &str,
    ) -> Result<(), LabError> {
        let of_bodies = [
            ("chunked", run.requests.chunked.is_some()),
            ("expect-continue", run.requests.expect_continue),
            ("break-off-after", run.requests.break_off_after.is_some()),
        ];
        let Some((key, _)) = of_bodies.into_iter().find(|(_, given)| *given) else {
            return Ok(());
        };
        let message = format!(
            "{key}: no request {whose} has a body, so it has no effect; give one of them `body` or \
             `body-file`, or leave `{key}` out"
        );
        Err(self.wrong_at(self.place_in_run(table, key).unwrap_or(0), message))
    }

    /// The place of a key in a `run` table: in that of the table with this kind and name, or in
    /// that of the suite.
    fn place_in_run(&self, table: Option<(&str, &str)>, key: &str) -> Option<usize> {
        let document = DeTable::parse(self.text).ok()?;
        let table = match table {
            None => document.get_ref(),
            Some((kind, name)) => {
                let (_, list) = entry(document.get_ref(), kind)?;
                let mut tables = list.as_array()?.iter().filter_map(|one| one.get_ref().as_table());
                tables.find(|one| {
                    entry(one, "name").is_some_and(|(_, it)| it.as_str() == Some(name))
                })?
            }
        };
        let (_, run) = entry(table, "run")?;
        entry(run.as_table()?, key).map(|(at, _)| at)
    }
}

/// The place of a key in the text, and its value.
fn entry<'t>(table: &'t DeTable<'_>, key: &str) -> Option<(usize, &'t DeValue<'t>)> {
    let found = table.iter().find(|(known, _)| known.get_ref() == key);
    found.map(|(known, value)| (known.span().start, value.get_ref()))
}

/// Whether any request of a scenario has a body, of its own or from a `run` table.
fn sends_a_body(scenario: &Scenario, is_inherited: bool) -> bool {
    let run = &scenario.run;
    let of_request = |one: &RequestOptions| match &one.body {
        None if !one.has_body() => is_inherited || has_body(run),
        None => true,
        Some(text) => !text.is_empty(),
    };
    // A script sets its own bodies, so options about bodies are refused together with it.
    run.script.script.is_some() || run.requests.request.iter().any(of_request)
}

fn has_body(run: &Options) -> bool {
    run.requests.body_file.is_some()
        || !run.requests.form.is_empty()
        || run.requests.body.as_ref().is_some_and(|text| !text.is_empty())
}
