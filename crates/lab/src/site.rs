//! The site of a run: the target, its split of cores with the loader, the sampler of its resources,
//! and a profiler.

use std::sync::Arc;

use candor_engine::{Control, keep_to_cores, usable_cores, within_quota};
use candor_plan::{Plan, PlanError};
use candor_record::RunRecord;
use candor_report::Document;

use crate::error::LabError;
use crate::interrupt::Interrupt;
use crate::target::Running;
use crate::target::cores::Split;
use crate::target::profiler::{ProfileSpec, Profiler};
use crate::target::sampler::Sampler;

/// The site of one variant.
#[derive(Debug, Default)]
pub struct Site {
    /// A remark about the target, e.g. `embedded`.
    pub note: Option<String>,
    /// The target, if it is managed.
    pub running: Option<Running>,
    /// The split of cores; `None`: no cores were assigned.
    pub split: Option<Split>,
    /// How to profile the target; only for a managed one.
    pub profile: Option<ProfileSpec>,
}

impl Site {
    /// An error if the target has ended.
    fn check_alive(&mut self) -> Result<(), LabError> {
        let Some(running) = &mut self.running else { return Ok(()) };
        match running.ended() {
            None => Ok(()),
            Some(how) => Err(LabError::Target {
                name: running.name().to_owned(),
                problem: format!(
                    "it ended {how}; its output is in {}",
                    running.keep_log().display()
                ),
                log_tail: running.log_tail(),
            }),
        }
    }

    /// Makes one run of `plan` by `make`, on the loader's cores and with a thread for each of them. The
    /// sampler and the profiler run alongside.
    ///
    /// Errors: [`LabError::Interrupted`] if interrupted before there was a result; the end of the target,
    /// if it ended; otherwise the error of `make`.
    pub fn run<T>(
        &mut self,
        plan: &Plan,
        interrupt: &Interrupt,
        make: impl FnOnce(&Plan, &Control) -> Result<T, LabError>,
    ) -> Result<(T, Beside), LabError> {
        if interrupt.is_asked() {
            return Err(LabError::Interrupted);
        }
        self.check_alive()?;
        let control = interrupt.next_run();
        let own = with_own_threads(plan, self.split.as_ref())?;
        let beside = self.begin(&own, &control);
        match make(&own, &control) {
            Ok(made) => Ok((made, beside)),
            // Of all that makes runs a fleet alone knows whether requests may have been sent.
            Err(LabError::Fleet(why)) if interrupt.is_asked() => Err(LabError::Stopped(why)),
            Err(_) if interrupt.is_asked() => Err(LabError::Interrupted),
            Err(error) => {
                // If the target has ended, that explains a refused connection.
                self.check_alive()?;
                Err(error)
            }
        }
    }

    /// Starts the sampler and the profiler for a run. From here on this thread runs on the loader's
    /// cores.
    fn begin(&self, plan: &Plan, control: &Arc<Control>) -> Beside {
        let all = usable_cores();
        let mut beside = Beside { sampler: None, profiler: None, cores: None };
        if let Some(running) = &self.running {
            control.watch_target(running.cores());
            let from = match &self.split {
                Some(split) => split.bystander(&all),
                None => running.cores().to_vec(),
            };
            beside.sampler = Some(Sampler::start(running, &from, control, plan.secrets));
            beside.profiler = self
                .profile
                .as_ref()
                .map(|spec| Profiler::prepare(spec, running, &from, plan, control));
        }
        if let Some(split) = &self.split {
            keep_to_cores(&split.loader);
            beside.cores = Some(all);
        }
        beside
    }
}

/// If the loader has its own cores, it gets a thread for each, unless the user chose a number.
fn with_own_threads(plan: &Plan, split: Option<&Split>) -> Result<Plan, PlanError> {
    plan.with(|parts| {
        if let Some(split) = split {
            parts.threads.count = Some(parts.threads_of(within_quota(split.loader.len())));
        }
    })
}

/// The sampler and the profiler of one run.
pub struct Beside {
    sampler: Option<Sampler>,
    profiler: Option<Profiler>,
    /// The previous cores of this thread.
    cores: Option<Vec<usize>>,
}

impl Beside {
    /// Ends them after the run and enters the target's resources into its document.
    pub fn finish(
        mut self,
        site: &Site,
        record: &RunRecord,
        document: &mut Document,
        interrupted: bool,
    ) {
        let Some(running) = &site.running else { return };
        // The profile first: writing it does not affect the samples.
        let profile = self.profiler.take().map(|profiler| profiler.finish(record, running));
        if let Some(sampler) = self.sampler.take() {
            let mut resources = sampler.finish(record, running);
            let ours = site.split.iter().flat_map(|split| &split.loader);
            resources.loader_cores = ours.map(|&core| core as u64).collect();
            document.set_target(resources, interrupted);
        }
        if let Some(profile) = profile {
            document.set_profile(profile);
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
