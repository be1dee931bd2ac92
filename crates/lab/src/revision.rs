//! A revision of a git repository, checked out and built: what `git worktree` makes in the private directory, removed when
//! this is dropped.
//!
//! The build runs under a keeper as targets do, so that it does not outlive us. Nothing here prints: what a build that
//! fails had to say is in the error.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use candor_files::{Private, private};

use crate::error::LabError;
use crate::interrupt::Interrupt;
use crate::target::keeper::exit_status;
use crate::target::{Ready, Running, TargetSpec};

/// The time between two looks at a build.
const LOOK: Duration = Duration::from_millis(50);
/// Begins to build when this file is there: a build that ends at once would be taken for a target that did not get ready.
const WAIT: &str = "until true <\"$1\"; do sleep 0.02; done 2>/dev/null; eval \"$0\"";

/// The revision of the work tree around the current directory, in short; `None`: there is none, or no git.
pub fn here() -> Option<String> {
    let found =
        git(Path::new("."), &["rev-parse", "--short=12", "--verify", "--quiet", "HEAD"]).ok()?;
    let text = String::from_utf8(found.stdout).ok()?.trim().to_owned();
    (found.status.success() && !text.is_empty()).then_some(text)
}

/// A checked out revision.
#[derive(Debug)]
pub struct Revision {
    /// Its name, as the user wrote it.
    name: String,
    /// Its hash.
    commit: String,
    repository: PathBuf,
    path: PathBuf,
    private: Private,
}

impl Revision {
    /// Checks out a revision of the repository around this directory.
    pub fn check_out(name: &str, directory: &Path) -> Result<Revision, LabError> {
        let wrong = |why: &str| LabError::Usage(format!("the revision {name}: {why}"));
        // The hash of the commit is no option of git, whatever the name is.
        let commit = format!("{name}^{{commit}}");
        let parse = ["rev-parse", "--verify", "--quiet", "--end-of-options", &commit];
        let found = git(directory, &parse).map_err(|why| wrong(&why))?;
        let commit = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        if !found.status.success() {
            return Err(wrong(match trimmed(&found.stderr).as_str() {
                "" => "there is none of this name; give a branch, a tag or a commit",
                said => said,
            }));
        }
        let private = private().map_err(LabError::no_temporary)?;
        let path = private.name("revision");
        let target = path.to_string_lossy().into_owned();
        let made = Revision {
            name: name.to_owned(),
            commit,
            repository: directory.to_owned(),
            path,
            private,
        };
        let add = ["worktree", "add", "--quiet", "--detach", &target, &made.commit];
        let added = git(directory, &add).map_err(|why| wrong(&why))?;
        match added.status.success() {
            true => Ok(made),
            false => Err(wrong(&trimmed(&added.stderr))),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The beginning of its hash.
    pub fn short(&self) -> &str {
        self.commit.get(..10).unwrap_or(&self.commit)
    }

    /// Runs this command of a shell in it, to its end.
    pub fn build(&self, command: &str, interrupt: &Interrupt) -> Result<(), LabError> {
        let go = self.private.name("go");
        let words = ["sh", "-c", WAIT, command, &go.to_string_lossy()].map(str::to_owned);
        let mut spec = TargetSpec::new(format!("build of {}", self.name), words.to_vec());
        (spec.ready, spec.dir) = (Ready::Started, Some(self.path.clone()));
        spec.cores = Some(candor_engine::usable_cores());
        let mut building = Running::start(&spec)?;
        std::fs::write(&go, "").map_err(LabError::no_temporary)?;
        let how = loop {
            if interrupt.is_asked() {
                return Err(LabError::Interrupted);
            }
            match building.ended() {
                Some(how) => break how,
                None => std::thread::sleep(LOOK),
            }
        };
        if exit_status(&how) == Some(0) {
            return Ok(());
        }
        Err(LabError::Target {
            name: spec.name,
            problem: format!("it ended {how}; its output is in {}", building.keep_log().display()),
            log_tail: building.log_tail(),
        })
    }
}

impl Drop for Revision {
    fn drop(&mut self) {
        let path = self.path.to_string_lossy();
        let removed = git(&self.repository, &["worktree", "remove", "--force", "--force", &path]);
        if !removed.is_ok_and(|one| one.status.success()) {
            let _ = std::fs::remove_dir_all(&self.path);
            let _ = git(&self.repository, &["worktree", "prune"]);
        }
    }
}

fn git(directory: &Path, arguments: &[&str]) -> Result<Output, String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(directory).args(arguments).stdin(Stdio::null());
    command.output().map_err(|error| format!("git cannot be started: {error}; install it"))
}

fn trimmed(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let run = |arguments: &[&str]| {
            let made = git(directory.path(), arguments).unwrap();
            assert!(made.status.success(), "{arguments:?}: {}", trimmed(&made.stderr));
        };
        run(&["init", "--quiet"]);
        run(&["config", "user.email", "a@example.com"]);
        run(&["config", "user.name", "A"]);
        for content in ["one", "two"] {
            std::fs::write(directory.path().join("file"), content).unwrap();
            run(&["add", "file"]);
            run(&["commit", "--quiet", "--no-gpg-sign", "-m", content]);
        }
        directory
    }

    fn worktrees(directory: &Path) -> usize {
        trimmed(&git(directory, &["worktree", "list"]).unwrap().stdout).lines().count()
    }

    #[test]
    fn a_revision_is_what_it_was_and_leaves_nothing() {
        let directory = repository();
        let before = Revision::check_out("HEAD~1", directory.path()).unwrap();
        let now = Revision::check_out("HEAD", directory.path()).unwrap();
        let content = |of: &Revision| std::fs::read_to_string(of.path().join("file")).unwrap();
        assert_eq!((content(&before), content(&now)), ("one".to_owned(), "two".to_owned()));
        assert_eq!((worktrees(directory.path()), before.short().len()), (3, 10));
        let path = now.path().to_owned();
        drop((before, now));
        assert_eq!(worktrees(directory.path()), 1);
        assert!(!path.exists());
    }

    #[test]
    fn what_is_no_revision_is_refused() {
        let directory = repository();
        for name in ["no-such", "--upload-pack=x", ""] {
            let error = Revision::check_out(name, directory.path()).unwrap_err().to_string();
            assert!(error.contains("there is none of this name"), "{name}: {error}");
        }
        let elsewhere = tempfile::tempdir().unwrap();
        assert!(Revision::check_out("HEAD", elsewhere.path()).is_err());
        assert_eq!(worktrees(directory.path()), 1);
    }
}
