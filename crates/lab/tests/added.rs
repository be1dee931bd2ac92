//! Commands that select a part of a suite add to the directory: what is there already stays in tables and pages.

use crate::suite::{SMALL, Simulated, names, selected};
use candor_lab::suite::Selection;
use candor_report::experiment::suite::Suite;

fn trials(document: &Suite) -> Vec<(String, usize)> {
    document.cells.iter().map(|cell| (cell.name(), cell.trials.len())).collect()
}

#[test]
fn what_is_not_selected_stays() {
    let directory = tempfile::tempdir().unwrap();
    let run = |servers: &[&str], scenarios: &[&str], rounds| {
        let (servers, scenarios) = (names(servers), names(scenarios));
        let loads = names(&["closed"]);
        let selection = Selection { servers, scenarios, loads, rounds, ..Selection::default() };
        let mut bench = Simulated::new(None);
        let outcome = selected(SMALL, &selection, directory.path(), &mut bench).unwrap();
        assert!(outcome.stopped.is_none() && outcome.document.complete);
        (bench.made.len(), outcome.document)
    };
    let (made, first) = run(&["slow"], &["hello"], Some(2));
    assert_eq!((made, trials(&first)), (2, vec![("hello h1 slow closed".to_owned(), 2)]));
    // Another server: in the order of the suite, and what the first one announced and measured is as it was.
    let (made, both) = run(&["fast"], &["hello", "json"], Some(1));
    let all =
        [("hello h1 fast closed", 1), ("hello h1 slow closed", 2), ("json h1 fast closed", 1)];
    let all = all.map(|(name, count)| (name.to_owned(), count));
    assert_eq!((made, trials(&both)), (3 - 1, all.to_vec()));
    assert_eq!(both.cells[1], first.cells[0]);
    assert_eq!(both.servers.iter().map(|one| &*one.name).collect::<Vec<_>>(), ["fast", "slow"]);
    assert_eq!(both.scenarios.iter().map(|one| &*one.name).collect::<Vec<_>>(), ["hello", "json"]);
    assert_eq!(both.heading.started_at, first.heading.started_at);
    // Fewer rounds of what has more, and nothing to measure.
    let (made, again) = run(&["slow"], &["hello"], Some(1));
    assert_eq!((made, trials(&again)), (0, all.to_vec()));
    assert_eq!(again.cells, both.cells);
    // A trial whose file is gone is gone.
    for round in 1..=2 {
        let gone = format!("trials/hello.h1.slow.closed.r{round}.json");
        std::fs::remove_file(directory.path().join(gone)).unwrap();
    }
    let (_, left) = run(&["fast"], &["hello"], Some(1));
    assert_eq!(trials(&left), [all[0].clone(), all[2].clone()]);
}
