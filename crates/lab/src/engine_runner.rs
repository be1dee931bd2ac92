//! The real runner: a [`Maker`] makes the run, with the engine on the loader's cores or elsewhere, while a managed
//! target is sampled.

use std::sync::Arc;
use std::time::Instant;

use candor_engine::{Control, Observer};
use candor_plan::Plan;
use candor_record::RunRecord;
use candor_report::{Document, Facts};

use crate::error::LabError;
use crate::interrupt::Interrupt;
use crate::site::Site;
use crate::trial::{Runner, unix_ms};

/// Makes one run. This crate knows neither scripts nor fleets; cli makes runs that have them.
pub trait Maker {
    /// A run of a plan: on this machine, with the engine and `own`, which is the plan with this machine's cores; or
    /// elsewhere, with the plan as it was asked for.
    fn make(
        &self,
        plan: &Plan,
        own: &Plan,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<RunRecord, LabError>;
}

/// Makes the runs of an experiment.
pub struct EngineRunner<'a> {
    /// One for each variant.
    pub sites: Vec<Site>,
    /// The facts about every run, except when it began.
    pub facts: Facts,
    /// Interrupts the experiment.
    pub interrupt: Arc<Interrupt>,
    /// Observes every run.
    pub observer: &'a mut dyn Observer,
    /// How a run is made.
    pub maker: &'a dyn Maker,
    /// When the experiment began.
    pub began: Instant,
}

impl Runner for EngineRunner<'_> {
    fn run(&mut self, variant: usize, plan: &Plan) -> Result<Document, LabError> {
        let Some(site) = self.sites.get_mut(variant) else {
            return Err(LabError::Usage(format!("there is no variant {variant}")));
        };
        let facts = Facts {
            started_unix_ms: unix_ms(),
            target_note: site.note.clone(),
            ..self.facts.clone()
        };
        let (record, beside) = site.run(plan, &self.interrupt, |own, control| {
            self.maker.make(plan, own, control, self.observer)
        })?;
        let mut document = Document::new(&facts, plan, &record);
        beside.finish(site, &record, &mut document, self.interrupt.is_asked());
        Ok(document)
    }

    fn elapsed_ns(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
