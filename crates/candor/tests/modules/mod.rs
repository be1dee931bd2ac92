//! Rules for the sources that the compiler does not check. Modules: commands are independent of each other, and no crate
//! has a cycle. Library crates: no text names a flag.

mod flags;
mod sources;
mod uses;

use std::fs;

use sources::crates;
use uses::{cycle_of, uses};

#[test]
fn commands_are_independent() {
    let uses = uses(&crates().join("cli/src"));
    let is_command = |name: &&String| name.starts_with("command/");
    assert!(uses.keys().filter(is_command).count() >= 12 && uses["arguments"].len() > 8);
    for (module, known) in uses.iter().filter(|(module, _)| is_command(module)) {
        let others: Vec<_> = known.iter().filter(is_command).collect();
        assert!(
            others.is_empty(),
            "{module} uses {others:?}; move the shared part out of command/"
        );
    }
}

#[test]
fn there_are_no_cycles() {
    let all = fs::read_dir(crates()).unwrap().map(|entry| entry.unwrap().path());
    let mut seen = 0;
    for path in all.chain([crates().join("../fuzz")]) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let uses = uses(&path.join("src"));
        seen += uses.len();
        let found = cycle_of(&uses);
        assert_eq!(found, None, "{name}: each of these uses the next");
    }
    assert!(seen > 250, "only {seen} modules were seen");
}
