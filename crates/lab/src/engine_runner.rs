//! The real runner: the engine makes the run, on the loader's cores, and a managed target is
//! looked at meanwhile.

use std::sync::Arc;

use candor_engine::{Observer, keep_to_cores, usable_cores};
use candor_plan::Plan;
use candor_report::{Document, Facts};

use crate::error::LabError;
use crate::interrupt::Interrupt;
use crate::target::Running;
use crate::target::cores::Split;
use crate::target::sampler::Sampler;
use crate::trial::Runner;

/// One of the things that are measured.
#[derive(Debug, Default)]
pub struct Site {
    /// What is worth knowing of it, such as `embedded`.
    pub note: Option<String>,
    /// The target, if it is ours.
    pub running: Option<Running>,
    /// Who has which cores; `None`: nobody was told.
    pub split: Option<Split>,
}

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
        let all = usable_cores();
        let watched = site.running.as_ref().map(|running| {
            let from = match &site.split {
                Some(split) => split.bystander(&all),
                None => running.cores().to_vec(),
            };
            (Sampler::start(running, &from, &control), running)
        });
        let own = with_own_threads(plan, site.split.as_ref());
        if let Some(split) = &site.split {
            keep_to_cores(&split.loader);
        }
        let record = candor_engine::run(&own, &control, self.observer);
        if site.split.is_some() {
            keep_to_cores(&all);
        }
        let record = match record {
            Ok(record) => record,
            Err(_) if self.interrupt.is_asked() => return Err(LabError::Interrupted),
            Err(error) => {
                // That nobody listens has a reason if the target has ended.
                site.check_alive()?;
                return Err(error.into());
            }
        };
        let mut document = Document::new(&facts, plan, &record);
        if let Some((sampler, running)) = watched {
            let mut resources = sampler.finish(&record, running);
            if let Some(split) = &site.split {
                resources.loader_cores = split.loader.iter().map(|&core| core as u64).collect();
            }
            document.set_target(resources, self.interrupt.is_asked());
        }
        Ok(document)
    }
}

impl Site {
    /// An error if the target has ended.
    pub fn check_alive(&mut self) -> Result<(), LabError> {
        let Some(running) = &mut self.running else { return Ok(()) };
        match running.ended() {
            None => Ok(()),
            Some(how) => Err(LabError::Target {
                name: running.name().to_owned(),
                problem: format!(
                    "it ended {how}; its output is in {}",
                    running.log_path().display()
                ),
                log_tail: running.log_tail(),
            }),
        }
    }
}

/// On cores of its own the loader has a thread for each of them, unless the user says otherwise.
pub fn with_own_threads(plan: &Plan, split: Option<&Split>) -> Plan {
    let mut own = plan.clone();
    if let (None, Some(split)) = (plan.threads.count, split) {
        let cores = u32::try_from(split.loader.len()).unwrap_or(u32::MAX);
        own.threads.count = Some(cores.clamp(1, plan.connections.count));
    }
    own
}

fn unix_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}
