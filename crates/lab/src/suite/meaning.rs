//! What the responses of a scenario's runs must be, besides what its requests say: asked of the server before and after
//! a run, in a suite and outside of one. Nothing is started or measured here.

use candor_engine::Control;
use candor_plan::{Options, Plan};
use candor_record::StatusCount;
use candor_report::Document;

use super::model::Scenario;
use super::probe::{Check, Fault, probe};
use crate::error::LabError;

/// What a server's responses are held against.
pub struct Meaning {
    /// The server's name, for errors.
    server: String,
    checks: Vec<Check>,
    /// Each of its requests is made once; `None`: there is nothing to ask.
    probed: Option<Plan>,
}

impl Meaning {
    /// The meaning of `scenario` for runs of `plan`, which `build` made of `options`.
    pub fn new<E>(
        scenario: &Scenario,
        server: &str,
        plan: &Plan,
        mut options: Options,
        build: impl FnOnce(Options) -> Result<Plan, E>,
    ) -> Result<Meaning, E> {
        let Scenario { checks, probe, .. } = scenario;
        let probed = match (probe.is_empty(), checks.is_empty()) {
            (true, true) => None,
            (true, false) => Some(plan.clone()),
            (false, _) => {
                options.requests.request.extend(probe.iter().cloned());
                Some(build(options)?)
            }
        };
        Ok(Meaning { server: server.to_owned(), checks: checks.clone(), probed })
    }

    /// Holds the server's responses against it.
    pub fn check(&self, when: &str, control: &Control) -> Result<(), LabError> {
        let Some(plan) = &self.probed else { return Ok(()) };
        probe(plan, &self.checks, control).map_err(|fault| {
            let name = self.server.clone();
            let problem = |why: String| format!("{when} {why}");
            match fault {
                Fault::Wrong(why) => LabError::Response { name, problem: problem(why) },
                Fault::None(why) => {
                    LabError::Target { name, problem: problem(why), log_tail: Vec::new() }
                }
            }
        })
    }

    /// The same after a run: what a run that was complete says, and the server again.
    pub fn check_after(
        &self,
        document: &Document,
        when: &str,
        control: &Control,
    ) -> Result<(), LabError> {
        if document.end.partial {
            return Ok(());
        }
        self.check_broken_off(document)?;
        self.check(when, control)
    }

    /// Holds responses to requests that were broken off, which a run does not judge, against it.
    fn check_broken_off(&self, document: &Document) -> Result<(), LabError> {
        let requests = document.plan.work.requests();
        let is_right = |status: u16| requests.iter().any(|one| one.expect.status.contains(status));
        match document.broken_off_statuses.iter().find(|one| !is_right(one.status)) {
            None => Ok(()),
            Some(StatusCount { status, count }) => Err(LabError::Response {
                name: self.server.clone(),
                problem: format!(
                    "{count} responses to requests that were broken off are wrong: status {status}"
                ),
            }),
        }
    }
}
