//! `--profile-command`: for commands whose runs can be profiled, and for those that explain why not.

use std::path::{Path, PathBuf};

use candor_lab::target::profiler::ProfileSpec;
use clap::Args;

use crate::exit::UserError;

const FLAG: &str = "--profile-command";

/// A profiler beside each run.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ProfileFlags {
    /// Start this command when the measured window begins, and interrupt it when the window ends,
    /// e.g. 'perf record -g -p {pid} -o {out}'; the figures are then not comparable
    ///
    /// Program and arguments in one word; there is no shell. {pid} is the target's process id,
    /// {out} the file of the profile, which is put beside the result; the profiler's output is kept
    /// there too, with .log appended. Candor must start the target itself.
    #[arg(long, value_name = "COMMAND", help_heading = "Managed target")]
    pub(crate) profile_command: Option<String>,
}

impl ProfileFlags {
    /// How to profile a single run whose document goes to `json`.
    pub(crate) fn spec(&self, json: Option<&Path>) -> Result<Option<ProfileSpec>, UserError> {
        let Some(command) = &self.profile_command else { return Ok(None) };
        spec(command, beside(json)).map(Some)
    }
}

/// How to profile a run into `out`.
pub(crate) fn spec(command: &str, out: PathBuf) -> Result<ProfileSpec, UserError> {
    ProfileSpec::new(command, out).map_err(|problem| UserError::usage(format!("{FLAG}: {problem}")))
}

/// `result.json` has its profile in `result.profile`; without a file the profile is
/// `candor.profile`.
fn beside(json: Option<&Path>) -> PathBuf {
    let is_file = |path: &&Path| path.metadata().map_or(true, |meta| meta.is_file());
    match json.filter(is_file) {
        Some(path) => path.with_extension("profile"),
        None => PathBuf::from("candor.profile"),
    }
}

/// Accepts the flag in commands for which it makes no sense, to explain why.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct NoProfile {
    #[arg(long, value_name = "COMMAND", hide = true)]
    profile_command: Option<String>,
}

impl NoProfile {
    /// Refuses it for this command.
    pub(crate) fn check(&self, command: &str) -> Result<(), UserError> {
        match self.profile_command {
            None => Ok(()),
            Some(_) => Err(UserError::usage(format!(
                "candor {command} has no {FLAG}: a profiled server is slower, so the results of \
                 {command} would be wrong; profile a single run at that load, with candor run {FLAG}"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_stands_beside_its_document() {
        let of = |json: &str| beside(Some(Path::new(json)));
        assert_eq!(of("runs/result.json"), Path::new("runs/result.profile"));
        assert_eq!(of("result"), Path::new("result.profile"));
        assert_eq!(of("/dev/null"), Path::new("candor.profile"));
        assert_eq!(beside(None), Path::new("candor.profile"));
    }
}
