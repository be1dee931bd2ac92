//! Comparisons of saved results: a group of result documents for each side.
//!
//! These runs were not interleaved, so they are two sets without pairs, and drift between them
//! looks like a difference. The documents have their time, load and machine; every difference in
//! these is reported.

use candor_plan::describe;
use std::collections::BTreeSet;

use candor_report::Document;
use candor_report::experiment::comparison::{Comparison, Trial, Variant};
use candor_report::experiment::figures::Figures;
use candor_report::experiment::history::machine_in_words;

use super::{About, Settings, Whole, check};
use crate::error::LabError;

/// One side: a name and its results.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its name in sentences.
    pub name: String,
    /// The source as given: files or a directory.
    pub source: String,
    /// Each result with its file.
    pub results: Vec<(String, Document)>,
}

/// Compares saved results; the first group is the baseline.
pub fn saved(groups: &[Group], settings: &Settings, about: About) -> Result<Comparison, LabError> {
    if let Some(empty) = groups.iter().find(|one| one.results.is_empty()) {
        return Err(LabError::NoResults { source_name: empty.source.clone() });
    }
    let mut results = groups.iter().flat_map(|one| &one.results);
    if let Some((file, by)) = results.find_map(|(file, one)| Some((file, one.profiler()?))) {
        return Err(LabError::Usage(format!(
            "{file}: its target was profiled ({by}), so its figures are not comparable; leave it out, \
             or run it again without a profiler"
        )));
    }
    let all: Vec<&(String, Document)> = groups.iter().flat_map(|one| &one.results).collect();
    for (at, (file, document)) in all.iter().enumerate() {
        if let Some((other, _)) = all[..at].iter().find(|(_, other)| other == document) {
            return Err(LabError::Usage(format!(
                "{file}: this is the same result as {other}, and has no difference from itself; give another one"
            )));
        }
    }
    // The number of results is the number of rounds; too few of them are a conclusion and not an
    // error.
    let most = groups.iter().map(|one| one.results.len() as u64).max().unwrap_or(0);
    check(groups.len(), &Settings { rounds: u64::MAX, ..settings.clone() })?;
    let variants: Vec<Variant> = groups.iter().map(variant).collect();
    let first = |document: &Document| document.started_unix_ms;
    let started = groups.iter().flat_map(|one| &one.results).min_by_key(|(_, one)| first(one));
    let whole = Whole {
        cautions: cautions(groups, &variants),
        about,
        started_at: started.map(|(_, one)| one.started_at.clone()).unwrap_or_default(),
        variants,
        interleaved: false,
        rounds_asked: most,
        expectations: Vec::new(),
        partial: false,
        interrupted: false,
    };
    Ok(whole.judged(settings))
}

fn variant(group: &Group) -> Variant {
    let trials = (1..).zip(&group.results).map(|(round, (file, document))| Trial {
        round,
        position: 0,
        file: Some(file.clone()),
        started_unix_ms: document.started_unix_ms,
        figures: Figures::of(document),
    });
    Variant {
        name: group.name.clone(),
        source: group.source.clone(),
        trials: trials.collect(),
        broken: None,
    }
}

fn cautions(groups: &[Group], variants: &[Variant]) -> Vec<String> {
    let mut all = Vec::new();
    for pair in variants.windows(2) {
        let span = |one: &Variant| {
            let times = || one.trials.iter().map(|trial| trial.started_unix_ms);
            (times().min().unwrap_or(0), times().max().unwrap_or(0))
        };
        let ((a_first, a_last), (b_first, b_last)) = (span(&pair[0]), span(&pair[1]));
        if a_last < b_first || b_last < a_first {
            all.push(format!(
                "the runs of {} and {} were made one after the other: the difference includes changes of the machine in between",
                pair[0].name, pair[1].name
            ));
        }
    }
    let differ = |what: &str, of: &dyn Fn(&Document) -> String, all: &mut Vec<String>| {
        let values: BTreeSet<String> =
            groups.iter().flat_map(|one| &one.results).map(|(_, one)| of(one)).collect();
        if values.len() > 1 {
            let values: Vec<_> = values.into_iter().collect();
            all.push(format!("{what} is not the same in all runs: {}", values.join(" | ")));
        }
    };
    differ("the load", &|one| describe::load(&one.plan), &mut all);
    let connections = |one: &Document| {
        let asked = &one.plan.connections;
        format!("{} × {}", asked.count, asked.pipeline.max(asked.streams))
    };
    differ("the number of connections", &connections, &mut all);
    let request = |one: &Document| {
        // Results have a hash of a query and of a body, which is enough to distinguish them.
        let texts = one.plan.work.requests().iter().take(3).map(|r| {
            let query = r.redacted.as_ref().and_then(|one| one.query_hash.as_deref());
            let hashes = query.into_iter().chain(r.body.hash()).map(|hash| format!(" #{hash}"));
            format!("{} {}{}", r.method, r.path, hashes.collect::<String>())
        });
        texts.collect::<Vec<_>>().join(", ")
    };
    differ("the request", &request, &mut all);
    let machine = |one: &Document| machine_in_words(one.machines.iter().map(|one| &one.host));
    differ("the loader's machine", &machine, &mut all);
    differ("the version of candor", &|one| one.tool.version.clone(), &mut all);
    all
}

#[cfg(test)]
mod tests {
    use candor_report::testing;

    use super::*;

    #[test]
    fn results_of_machines_that_differ_are_not_compared_unsaid() {
        let result = |at_ms: u64, change: &dyn Fn(&mut Document)| {
            let mut document = testing::healthy_closed();
            document.started_unix_ms += at_ms;
            change(&mut document);
            document
        };
        let compared = |change: &dyn Fn(&mut Document)| {
            let group = |name: &str, results: Vec<Document>| Group {
                name: name.to_owned(),
                source: name.to_owned(),
                results: results.into_iter().map(|one| (name.to_owned(), one)).collect(),
            };
            let groups = [
                group("old", vec![result(0, &|_| {}), result(2, &|_| {})]),
                group("new", vec![result(1, change), result(3, change)]),
            ];
            let variants: Vec<Variant> = groups.iter().map(variant).collect();
            cautions(&groups, &variants)
        };
        let none = compared(&|one| one.machines[0].host.kernel = Some("another".to_owned()));
        assert_eq!(none, Vec::<String>::new());
        let is_said = |change: &dyn Fn(&mut Document), word: &str| {
            let cautions = compared(change);
            let said = cautions.iter().any(|one| {
                one.starts_with("the loader's machine is not the same") && one.contains(word)
            });
            assert!(said, "{word}: {cautions:?}");
        };
        is_said(&|one| one.machines[0].host.cpu = Some("Z80".to_owned()), "Z80");
        is_said(&|one| one.machines[0].host.cores = Some(77), "77 cores");
        is_said(&|one| one.machines[0].host.memory_bytes = Some(99 << 30), "99 GiB");
        is_said(&|one| one.machines[0].host.governor = Some("powersave".to_owned()), "powersave");
        is_said(&|one| one.machines.push(one.machines[0].clone()), " + ");
    }
}
