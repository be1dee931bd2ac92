//! One of the things that are measured, and what goes on beside a run of it: who has which cores,
//! and what a target of ours uses.

use std::sync::Arc;

use candor_engine::{Control, keep_to_cores, usable_cores};
use candor_record::RunRecord;
use candor_report::Document;

use crate::error::LabError;
use crate::target::Running;
use crate::target::cores::Split;
use crate::target::sampler::Sampler;

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

    /// A run is about to be made by `control`: begins what goes on beside it. From here
    /// on this thread has the loader's cores.
    pub fn begin(&self, control: &Arc<Control>) -> Beside {
        let all = usable_cores();
        let mut beside = Beside { sampler: None, cores: None };
        if let Some(running) = &self.running {
            let from = match &self.split {
                Some(split) => split.bystander(&all),
                None => running.cores().to_vec(),
            };
            beside.sampler = Some(Sampler::start(running, &from, control));
        }
        if let Some(split) = &self.split {
            keep_to_cores(&split.loader);
            beside.cores = Some(all);
        }
        beside
    }
}

/// What goes on beside a run.
pub struct Beside {
    sampler: Option<Sampler>,
    /// Those that this thread had before.
    cores: Option<Vec<usize>>,
}

impl Beside {
    /// The run is over: puts into its document what was seen of the target.
    pub fn finish(
        mut self,
        site: &Site,
        record: &RunRecord,
        document: &mut Document,
        interrupted: bool,
    ) {
        let Some(running) = &site.running else { return };
        if let Some(sampler) = self.sampler.take() {
            let mut resources = sampler.finish(record, running);
            let ours = site.split.iter().flat_map(|split| &split.loader);
            resources.loader_cores = ours.map(|&core| core as u64).collect();
            document.set_target(resources, interrupted);
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(cores) = &self.cores {
            keep_to_cores(cores);
        }
    }
}
