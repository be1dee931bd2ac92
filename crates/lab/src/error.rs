//! What can stand in the way of an experiment, each with what, where and the remedy.

use candor_engine::EngineError;
use candor_plan::PlanError;

/// Why an experiment could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The engine could not run a plan.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No plan could be made of what the experiment is to change.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A signal came before there was anything to measure.
    #[error("interrupted")]
    Interrupted,
    /// A target could not be started, did not get ready, or is in the way of another.
    #[error("target {name}: {problem}{}", shown(log_tail))]
    Target {
        /// Its name.
        name: String,
        /// What is wrong and what to do.
        problem: String,
        /// The last lines of its log.
        log_tail: Vec<String>,
    },
    /// A script could not be loaded, or failed.
    #[error("{0}")]
    Script(String),
    /// An experiment of `verify` has not what it needs.
    #[error("{0}")]
    Verify(String),
    /// What was asked makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A file could not be read or written.
    #[error("{what} {path}: {reason}")]
    File {
        /// What was tried, such as `cannot read`.
        what: &'static str,
        /// The file.
        path: String,
        /// What the system said.
        reason: String,
    },
}

impl LabError {
    /// There is no place for what is temporary.
    pub(crate) fn no_temporary(error: std::io::Error) -> LabError {
        LabError::File {
            what: "cannot make",
            path: "a directory for temporary files".to_owned(),
            reason: error.to_string(),
        }
    }
}

/// The last lines of a log, below an error.
fn shown(log_tail: &[String]) -> String {
    match log_tail {
        [] => String::new(),
        lines => format!("\nThe last of its output:\n  {}", lines.join("\n  ")),
    }
}

#[cfg(test)]
mod tests {
    use super::LabError;

    #[test]
    fn a_target_in_trouble_is_told_with_its_last_words() {
        let error = |log_tail: &[&str]| {
            let log_tail = log_tail.iter().map(|&line| line.to_owned()).collect();
            LabError::Target { name: "t".into(), problem: "it ended".into(), log_tail }.to_string()
        };
        assert_eq!(error(&[]), "target t: it ended");
        assert_eq!(error(&["a", "b"]), "target t: it ended\nThe last of its output:\n  a\n  b");
    }
}
