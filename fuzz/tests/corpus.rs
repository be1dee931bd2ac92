//! Every target on its corpus, on inputs that once crashed it, and on mutations of its corpus.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]
#![allow(clippy::print_stderr, reason = "the input that fails is worth more than the backtrace")]

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use candor_fuzz::{TARGETS, Target};
use candor_testkit::mutate::Mutations;

/// The files of a target in `folder`, by name.
fn files(folder: &str, target: &Target) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(target.name);
    let entries = fs::read_dir(&folder).into_iter().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Runs a target; if it panics, says on which input, and panics.
fn run(target: &Target, input: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.run)(input))) {
        let (_, path) = tempfile::NamedTempFile::new().unwrap().keep().unwrap();
        fs::write(&path, input).unwrap();
        eprintln!("{}: the input is in {}: {}", target.name, path.display(), input.escape_ascii());
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn every_target_has_a_corpus_and_passes_it() {
    for target in TARGETS {
        let corpus = files("corpus", target);
        assert!(corpus.len() >= 3, "{} has {} inputs", target.name, corpus.len());
        corpus.iter().for_each(|input| run(target, input));
    }
}

#[test]
fn what_once_crashed_does_not() {
    for target in TARGETS {
        files("regressions", target).iter().for_each(|input| run(target, input));
    }
}

/// `CANDOR_FUZZ_INPUTS` is how many for each target, and `CANDOR_FUZZ` names one of them.
#[test]
fn no_mutation_of_a_corpus_panics() {
    let inputs = std::env::var("CANDOR_FUZZ_INPUTS").ok().map(|count| count.parse().unwrap());
    let only = std::env::var("CANDOR_FUZZ").ok();
    for target in TARGETS.iter().filter(|one| only.as_deref().is_none_or(|name| name == one.name)) {
        let corpus = files("corpus", target);
        let mutations = Mutations::new(&corpus, 1);
        for input in mutations.take(inputs.unwrap_or(target.inputs as usize)) {
            run(target, &input);
        }
    }
}
