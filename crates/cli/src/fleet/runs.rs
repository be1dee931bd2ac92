//! The plans of runs that are going on, and the shares of their agents, in the operator's folder: what
//! `candor fleet report` needs of a run whose coordinator died, besides its results.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use candor_files::{Limits, Store};
use candor_fleet::{RunId, RunKey, Shares};
use candor_plan::Plan;
use candor_record::wire;

use super::folder;
use crate::exit::UserError;

/// Agents keep the results of fewer runs.
const LIMITS: Limits = Limits { files: 16, bytes: 256 << 20 };
/// The folder's name.
const FOLDER: &str = "runs";

/// The plan of a run that is going on. Its file is removed with this value, unless the process dies or it is to stay.
#[derive(Debug)]
pub(super) struct Kept(PathBuf);

impl Kept {
    /// Keeps a plan, how many of its requests have rows, and its shares.
    pub(super) fn keep(
        operator: &Path,
        key: RunKey,
        plan: &Plan,
        rows: Option<u64>,
        shares: &Shares,
    ) -> std::io::Result<Kept> {
        let directory = operator.join(FOLDER);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{:013}-{}", since.as_millis(), key.run);
        let bytes = wire::to_bytes(&(key.epoch, plan, rows, shares));
        Store::create(&directory)?.add(&name, &bytes, LIMITS)?;
        Ok(Kept(directory.join(name)))
    }

    /// Leaves the file there: the result of the run lacks something.
    pub(super) fn stay(self) {
        std::mem::forget(self);
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // One that stays is the oldest at some time, and goes then.
        let _ = fs::remove_file(&self.0);
    }
}

/// A run whose coordinator has no outcome.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) key: RunKey,
    pub(crate) plan: Plan,
    /// How many measured requests, or users, have a row of data; `None`: all.
    pub(crate) rows: Option<u64>,
    pub(crate) shares: Shares,
    file: PathBuf,
}

impl Open {
    /// The run with this identity, or the last one.
    pub(crate) fn find(operator: &Path, run: Option<RunId>) -> Result<Open, UserError> {
        let directory = operator.join(FOLDER);
        let none = || {
            let which = run.map_or("no run".to_owned(), |run| format!("no run {run}"));
            UserError::could_not_run(format!(
                "{which} in {} is without a result; `candor fleet report` is for runs whose `candor run` was killed",
                directory.display()
            ))
        };
        let files = Store::open(&directory).and_then(|store| store.files()).map_err(|_| none())?;
        let named = |file: &PathBuf| {
            let (_, id) = file.file_name()?.to_str()?.split_once('-')?;
            folder::from_hex(id).map(RunId)
        };
        let found = files.into_iter().find_map(|file| {
            let id = named(&file)?;
            run.is_none_or(|run| run == id).then_some((id, file))
        });
        let (run, file) = found.ok_or_else(none)?;
        let damaged = |why: String| {
            UserError::could_not_run(format!(
                "the plan in {} cannot be read: {why}",
                file.display()
            ))
        };
        let bytes = fs::read(&file).map_err(|error| damaged(error.to_string()))?;
        let (epoch, plan, rows, shares) =
            wire::from_bytes(&bytes).map_err(|error| damaged(error.to_string()))?;
        Ok(Open { key: RunKey { run, epoch }, plan, rows, shares, file })
    }

    /// It has a result now.
    pub(crate) fn close(self) {
        let _ = fs::remove_file(self.file);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]
mod tests {
    use super::*;
    use candor_plan::options::Options;

    #[test]
    fn a_plan_is_there_as_long_as_its_run() {
        let operator = tempfile::tempdir().unwrap();
        let options = Options { url: Some("http://127.0.0.1:1/".to_owned()), ..Options::default() };
        let (plan, _) = options.build(&crate::files::Disk).unwrap();
        let [one, two] = [1, 2].map(|byte| RunId([byte; 16]));
        assert!(Open::find(operator.path(), None).is_err());
        let shares = vec![("a0".parse().unwrap(), 7, candor_record::Workers::all(2))];
        let keep = |run| {
            Kept::keep(operator.path(), RunKey { run, epoch: 3 }, &plan, None, &shares).unwrap()
        };
        let (first, second) = (keep(one), keep(two));
        let found = |run| Open::find(operator.path(), run).map(|open| open.key.run).ok();
        assert_eq!((found(Some(one)), found(Some(two))), (Some(one), Some(two)));
        let open = Open::find(operator.path(), Some(one)).unwrap();
        assert_eq!((open.key.epoch, open.plan, open.shares), (3, plan.clone(), shares.clone()));
        drop(second);
        assert_eq!((found(None), found(Some(two))), (Some(one), None));
        fs::write(&first.0, b"damaged").unwrap();
        let why = Open::find(operator.path(), None).unwrap_err().to_string();
        assert!(why.contains("cannot be read"), "{why}");
        drop(first);
        assert_eq!(found(None), None);
        keep(two).stay();
        assert_eq!(found(None), Some(two));
    }
}
