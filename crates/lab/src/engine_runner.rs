//! The real runner: the engine makes the run, on the loader's cores, and a managed target is
//! looked at meanwhile.

use std::sync::Arc;

use candor_engine::{Control, Observer};
use candor_plan::{Plan, PlanError};
use candor_record::RunRecord;
use candor_report::{Document, Facts};

use crate::error::LabError;
use crate::interrupt::Interrupt;
use crate::site::Site;
use crate::target::cores::Split;
use crate::trial::Runner;

/// Makes one run of a plan with the engine. Whoever knows scripts loads the plan's before it: this
/// crate does not.
pub type Make = fn(&Plan, &Control, &mut dyn Observer) -> Result<RunRecord, LabError>;

/// Makes runs with the engine.
pub struct EngineRunner<'a> {
    /// One for each variant.
    pub sites: Vec<Site>,
    /// What is known of every run, but for when it began.
    pub facts: Facts,
    /// How the experiment is told to stop.
    pub interrupt: Arc<Interrupt>,
    /// Sees every run while it goes on.
    pub observer: &'a mut dyn Observer,
    /// How a run is made.
    pub make: Make,
}

impl Runner for EngineRunner<'_> {
    fn run(&mut self, variant: usize, plan: &Plan) -> Result<Document, LabError> {
        if self.interrupt.is_asked() {
            return Err(LabError::Interrupted);
        }
        let Some(site) = self.sites.get_mut(variant) else {
            return Err(LabError::Usage(format!("there is no variant {variant}")));
        };
        let facts = Facts {
            started_unix_ms: unix_ms(),
            target_note: site.note.clone(),
            ..self.facts.clone()
        };
        site.check_alive()?;
        let control = self.interrupt.next_run();
        let own = with_own_threads(plan, site.split.as_ref())?;
        let beside = site.begin(plan, &control);
        let record = match (self.make)(&own, &control, self.observer) {
            Ok(record) => record,
            Err(_) if self.interrupt.is_asked() => return Err(LabError::Interrupted),
            Err(error) => {
                // That nobody listens has a reason if the target has ended.
                site.check_alive()?;
                return Err(error);
            }
        };
        let mut document = Document::new(&facts, plan, &record);
        beside.finish(site, &record, &mut document, self.interrupt.is_asked());
        Ok(document)
    }
}

/// On cores of its own the loader has a thread for each of them, unless the user says otherwise.
pub fn with_own_threads(plan: &Plan, split: Option<&Split>) -> Result<Plan, PlanError> {
    plan.with(|parts| {
        if let Some(split) = split {
            parts.threads.count = Some(parts.threads_of(split.loader.len()));
        }
    })
}

fn unix_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}
