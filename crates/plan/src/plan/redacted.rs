//! What of a plan may leave: its parts in the form for a result, and its secrets.

use super::Parts;
use crate::redact::{Hidden, Secrets};

impl Parts {
    /// These parts in the form for a result.
    ///
    /// Headers, URLs and arguments of scripts are shown as [`Secrets`] says. Long lists (bodies, due
    /// offsets, sources of scripts, the texts of PEM files) are left out in any case. No plan can be
    /// made of these parts.
    pub fn redacted(&self) -> Parts {
        let mut parts = self.clone();
        let secrets = parts.secrets;
        let targets = std::iter::once(&mut parts.target).chain(&mut parts.others);
        targets.for_each(|target| target.redact(secrets));
        for variable in &mut parts.environment {
            variable.value = variable.value.emptied();
        }
        let requests = self.work.requests();
        parts.data.iter_mut().for_each(|set| set.redact(secrets, requests));
        parts.work.redact(secrets);
        parts.wire.redact(secrets);
        parts.load.redact();
        parts
    }
}

impl Hidden {
    /// What is known to be secret of a plan: what its requests send in places with telling names, and the values of
    /// the environment.
    pub fn of(plan: &Parts) -> Self {
        let mut hidden = Hidden::default();
        if plan.secrets == Secrets::Shown {
            return hidden;
        }
        plan.environment.iter().for_each(|variable| hidden.add(variable.value.whole()));
        for user in plan.targets().filter_map(|one| one.proxy.as_ref()?.user.as_ref()) {
            hidden.url(&format!("{user}@"));
        }
        plan.targets().filter_map(|one| one.auth.as_ref()).for_each(|auth| auth.hide(&mut hidden));
        plan.work.hide(&mut hidden);
        plan.wire.hide(&mut hidden);
        hidden
    }
}
