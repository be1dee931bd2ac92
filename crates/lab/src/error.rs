//! Errors of experiments: the fault, and its place. The command line adds remedies that name its
//! flags.

use std::path::PathBuf;
use std::time::Duration;

use candor_engine::EngineError;
use candor_plan::PlanError;

/// Why an experiment failed.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The engine could not run a plan.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The experiment's changes to the plan do not give a valid plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A signal came before there was anything to measure.
    #[error("interrupted")]
    Interrupted,
    /// A signal stopped a run of a fleet that has no result: this is known of it.
    #[error("interrupted: {0}")]
    Stopped(String),
    /// A target could not be started, did not get ready, or is in the way of another.
    #[error("target {name}: {problem}{}", shown(log_tail))]
    Target {
        /// Its name.
        name: String,
        /// The fault and its remedy.
        problem: String,
        /// The last lines of its log.
        log_tail: Vec<String>,
    },
    /// A target says that it, or a library that it needs, is not installed.
    #[error("target {name}: {said}")]
    NotInstalled {
        /// Its name.
        name: String,
        /// What it said.
        said: String,
    },
    /// A target's response is not what a scenario means.
    #[error("target {name}: {problem}")]
    Response {
        /// The target's name.
        name: String,
        /// Which response, and what is wrong in it.
        problem: String,
    },
    /// A target did not write its port file.
    #[error(
        "target {name}: it was not ready within {patience:?}: it wrote no port file; its output is in {}{}",
        log.display(),
        shown(log_tail)
    )]
    NoPortFile {
        /// The target's name.
        name: String,
        /// How long it had.
        patience: Duration,
        /// Where its output is.
        log: PathBuf,
        /// The last lines of it.
        log_tail: Vec<String>,
    },
    /// A core that this process may not use.
    #[error("there is no core {core} for {of}; the cores that this process may use are {usable}")]
    NoCore {
        /// The side that should have the core.
        of: Side,
        /// The core.
        core: usize,
        /// The usable cores.
        usable: String,
    },
    /// A load at a share of a peak that no load measures.
    #[error("the load {load} is a share of the peak of {peak}, which is not measured")]
    NoPeak {
        /// The load.
        load: String,
        /// The load that finds the peak.
        peak: String,
    },
    /// A scenario that no suite has.
    #[error("{place}: there is no scenario \"{name}\"{hint}")]
    UnknownScenario {
        /// Where it is named.
        place: String,
        /// The name.
        name: String,
        /// A suggestion of the nearest one; empty if none is near.
        hint: String,
    },
    /// Nothing to compare.
    #[error("{source_name} has no result documents")]
    NoResults {
        /// The source as given.
        source_name: String,
    },
    /// The directory of results belongs to something else.
    #[error("{}: {why}", path.display())]
    NotOurs {
        /// The directory.
        path: PathBuf,
        /// The fault in it.
        why: String,
    },
    /// Another process measures into the directory of results.
    #[error("{}: another {command} ({}) is measuring into it", path.display(), holder.map_or("another process".to_owned(), |pid| format!("process {pid}")))]
    Held {
        /// The directory.
        path: PathBuf,
        /// The command that measures.
        command: &'static str,
        /// Its process, if that is known.
        holder: Option<u32>,
    },
    /// The directory of results cannot be created.
    #[error("cannot make {}: {reason}", path.display())]
    NoDirectory {
        /// The directory.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// An error with a remedy, which the command line added where a document keeps the text.
    #[error("{error}; {remedy}")]
    Advised {
        /// The error.
        error: Box<LabError>,
        /// The remedy.
        remedy: String,
    },
    /// The credential of a target's requests cannot be taken.
    #[error("the credential of target {target} ({kind}): {problem}")]
    Credential {
        /// The target's name.
        target: String,
        /// Where the credential comes from.
        kind: &'static str,
        /// The fault and its remedy.
        problem: String,
    },
    /// The origin of a target does not respond, or names no alternative for HTTP/3.
    #[error("the origin of target {target}: {url} {problem}")]
    AltSvc {
        /// The target's name.
        target: String,
        /// The URL that was asked.
        url: String,
        /// The fault.
        problem: String,
    },
    /// The origin of a target names an alternative on another host, and no list of allowed hosts has it.
    #[error("the origin of target {target}: {url} leads by Alt-Svc to another host, {elsewhere}")]
    AltSvcElsewhere {
        /// The target's name.
        target: String,
        /// The URL that was asked.
        url: String,
        /// The alternative: host and port.
        elsewhere: String,
    },
    /// A script could not be loaded, or failed.
    #[error("{0}")]
    Script(String),
    /// A fleet has no result.
    #[error("the fleet has no result: {0}")]
    Fleet(String),
    /// An experiment of `verify` lacks something that it needs.
    #[error("{0}")]
    Verify(String),
    /// The settings contradict each other.
    #[error("{0}")]
    Usage(String),
    /// A file could not be read or written.
    #[error("{what} {path}: {reason}")]
    File {
        /// The failed operation, e.g. `cannot read`.
        what: &'static str,
        /// The file.
        path: String,
        /// The system's message.
        reason: String,
    },
}

/// The owner of cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The target.
    Target,
    /// The loader.
    Loader,
}

impl std::fmt::Display for Side {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Side::Target => "the target",
            Side::Loader => "the loader",
        })
    }
}

impl LabError {
    /// Whether the target is at fault: it did not start, did not get ready, accepts no connection.
    pub fn is_of_target(&self) -> bool {
        match self {
            LabError::Advised { error, .. } => error.is_of_target(),
            LabError::Engine(error) => matches!(error, EngineError::NoConnection { .. }),
            _ => matches!(
                self,
                LabError::Target { .. } | LabError::NoPortFile { .. } | LabError::Response { .. }
            ),
        }
    }

    /// No directory for temporary files.
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
        lines => format!("; the last lines of its output:\n  {}", lines.join("\n  ")),
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
        assert_eq!(
            error(&["a", "b"]),
            "target t: it ended; the last lines of its output:\n  a\n  b"
        );
    }
}
