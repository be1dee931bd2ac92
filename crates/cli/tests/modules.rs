//! Which module of the command knows of which: no command of another, and none, by whatever way, of
//! itself. Rust allows circles of modules, and so they come about unseen.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What each module names: `command/run` is one, with all of its folder, and so is `files`.
type Uses = BTreeMap<String, BTreeSet<String>>;

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// The names behind each `path` in the text, also those of `path{a, b::c}`.
fn named<'t>(text: &'t str, path: &str) -> Vec<&'t str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word = |text: &'t str| text.split(|c| !is_word(c)).next().unwrap();
    let after = text.match_indices(path).map(|(at, path)| &text[at + path.len()..]);
    let names = after.flat_map(|rest| match rest.strip_prefix('{') {
        Some(list) => list.split('}').next().unwrap().split(',').map(str::trim).map(word).collect(),
        None => vec![word(rest)],
    });
    names.filter(|name| !name.is_empty()).collect()
}

fn uses() -> Uses {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut uses = Uses::new();
    for file in sources(&root).iter().filter(|file| file.extension().unwrap() == "rs") {
        let path = file.strip_prefix(&root).unwrap().with_extension("");
        let parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap()).collect();
        let module = match parts.as_slice() {
            ["main"] | ["command", "mod"] => continue,
            ["command", name, ..] => format!("command/{name}"),
            [name, ..] => (*name).to_owned(),
            [] => unreachable!(),
        };
        let text = fs::read_to_string(file).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let known = uses.entry(module.clone()).or_default();
        let others = named(text, "crate::").into_iter().filter(|name| *name != "command");
        known.extend(others.map(str::to_owned));
        let commands = named(text, "crate::command::").into_iter();
        known.extend(commands.map(|name| format!("command/{name}")));
        if let ["command", _] = parts.as_slice() {
            // What is beside it; but for a module of its own folder.
            let beside = named(text, "super::").into_iter().map(|name| format!("command/{name}"));
            known.extend(beside);
        }
        known.remove(&module);
    }
    let modules: BTreeSet<String> = uses.keys().cloned().collect();
    uses.values_mut().for_each(|known| known.retain(|name| modules.contains(name)));
    uses
}

/// A way from the last of `way` back to a module that is on it.
fn circle(uses: &Uses, way: &mut Vec<String>, done: &mut BTreeSet<String>) -> Option<Vec<String>> {
    let here = way.last().unwrap().clone();
    for next in &uses[&here] {
        if let Some(at) = way.iter().position(|one| one == next) {
            return Some(way[at..].to_vec());
        }
        if !done.contains(next) {
            way.push(next.clone());
            if let Some(found) = circle(uses, way, done) {
                return Some(found);
            }
            way.pop();
        }
    }
    done.insert(here);
    None
}

#[test]
fn no_command_knows_of_another() {
    let uses = uses();
    let is_command = |name: &&String| name.starts_with("command/");
    assert!(uses.keys().filter(is_command).count() >= 12 && uses["arguments"].len() > 8);
    for (module, known) in uses.iter().filter(|(module, _)| is_command(module)) {
        let others: Vec<_> = known.iter().filter(is_command).collect();
        assert!(
            others.is_empty(),
            "{module} knows of {others:?}; move what they share beside command/"
        );
    }
}

#[test]
fn no_modules_know_of_each_other_in_a_circle() {
    let uses = uses();
    let mut done = BTreeSet::new();
    for module in uses.keys() {
        let found = circle(&uses, &mut vec![module.clone()], &mut done);
        assert_eq!(found, None, "each of these names the next");
    }
}
