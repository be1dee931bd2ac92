//! Which modules of a crate use which: what their code names by `crate::` and `super::`, with the names that the crate's
//! root has of other modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::sources::{lex, paths, sources, tree, without_tests};

/// The modules that each module names. `command/run` with its whole folder is one module; so is
/// `files`.
pub(super) type Uses = BTreeMap<String, BTreeSet<String>>;

/// The code of each file of a crate without its tests, by the path of its module; the crate's root has an empty one.
type Files = BTreeMap<Vec<String>, String>;

fn files(root: &Path) -> Files {
    let (mut files, mut tests) = (Files::new(), Vec::new());
    for file in sources(root).iter().filter(|file| file.extension().unwrap() == "rs") {
        let path = file.strip_prefix(root).unwrap().with_extension("");
        let mut path: Vec<String> =
            path.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
        let is_root = path == ["lib"] || path == ["main"];
        if is_root || path.last().is_some_and(|name| name == "mod") {
            path.pop();
        }
        let text = fs::read_to_string(file).unwrap();
        let (code, modules) = without_tests(&lex(&text).0);
        tests.extend(modules.into_iter().map(|name| [&path[..], &[name]].concat()));
        files.entry(path).or_default().push_str(&code);
    }
    files.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
    files
}

/// The module that a path is in.
fn module(path: &[String]) -> Option<String> {
    match path {
        [] => None,
        // Commands are modules each, and the module that they are in has only their list.
        [first, rest @ ..] if first == "command" => Some(format!("command/{}", rest.first()?)),
        [first, ..] => Some(first.clone()),
    }
}

/// The words before the name of an item.
const ITEMS: [&str; 6] = ["struct", "enum", "fn", "const", "type", "trait"];

/// The names in the crate's root that are of its modules, with the paths that they stand for.
fn names_of_root(files: &Files) -> BTreeMap<String, Vec<String>> {
    let mut names = BTreeMap::new();
    let root = files.get(&[][..]).map_or("", String::as_str);
    for after in root.split("use ").skip(1) {
        for one in tree(after) {
            let path = one.path.iter().filter(|word| !["crate", "self"].contains(word));
            let path: Vec<String> = path.map(|word| (*word).to_owned()).collect();
            if one.name == "*" {
                let code = files.get(&path).map_or("", String::as_str);
                let words: Vec<&str> =
                    code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
                let items =
                    words.windows(3).filter(|words| words[0] == "pub" && ITEMS.contains(&words[1]));
                names.extend(items.map(|words| (words[2].to_owned(), path.clone())));
            } else if path.len() > 1 {
                names.insert(one.name.to_owned(), path);
            }
        }
    }
    names
}

/// The modules of the crate whose sources are in a folder.
pub(super) fn uses(root: &Path) -> Uses {
    let files = files(root);
    let names = names_of_root(&files);
    let modules: BTreeSet<String> = files.keys().filter_map(|path| module(path)).collect();
    let mut uses = Uses::new();
    for (path, code) in &files {
        let Some(own) = module(path) else { continue };
        let known = uses.entry(own.clone()).or_default();
        for named in paths(code) {
            let ups = named.iter().take_while(|word| **word == "super").count();
            let base = if ups == 0 { &[][..] } else { &path[..path.len().saturating_sub(ups)] };
            let below = named[ups.max(1)..].iter().map(|word| (*word).to_owned());
            let mut absolute: Vec<String> = base.iter().cloned().chain(below).collect();
            if let Some(other) = absolute.first().and_then(|first| names.get(first))
                && !module(&absolute).is_some_and(|name| modules.contains(&name))
            {
                absolute.clone_from(other);
            }
            known.extend(module(&absolute).filter(|name| modules.contains(name) && *name != own));
        }
    }
    uses
}

/// A path from the last module of `way` back to one that is already on it.
fn cycle(uses: &Uses, way: &mut Vec<String>, done: &mut BTreeSet<String>) -> Option<Vec<String>> {
    let here = way.last().unwrap().clone();
    for next in &uses[&here] {
        if let Some(at) = way.iter().position(|one| one == next) {
            return Some(way[at..].to_vec());
        }
        if !done.contains(next) {
            way.push(next.clone());
            if let Some(found) = cycle(uses, way, done) {
                return Some(found);
            }
            way.pop();
        }
    }
    done.insert(here);
    None
}

/// Modules of which each uses the next, and the last one the first.
pub(super) fn cycle_of(uses: &Uses) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    uses.keys().find_map(|module| cycle(uses, &mut vec![module.clone()], &mut done))
}

#[test]
fn uses_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "lib.rs",
        "mod a;\nmod b;\nmod c;\n#[cfg(test)]\nmod t;\npub use c::{C as Shown, d::D};\npub use b::*;\nconst OWN: u8 = 0;\n",
    );
    write(
        "a.rs",
        "use crate::{OWN, b::{self, B}};\n#[cfg(test)]\nmod tests { use crate::c::C; }\n",
    );
    write("b.rs", "// crate::a\npub struct B; const TEXT: &str = \"crate::a\";\n");
    write("c/mod.rs", "mod d;\nuse super::B;\n");
    write("c/d.rs", "use super::super::b;\nuse super::C;\n");
    write("t.rs", "use crate::a;\n");
    let known = |uses: &Uses, name: &str| uses[name].iter().cloned().collect::<Vec<_>>();
    let found = uses(folder.path());
    assert_eq!(found.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(
        [known(&found, "a"), known(&found, "b"), known(&found, "c")].map(|all| all.join(" ")),
        ["b", "", "b"]
    );
    assert_eq!(cycle_of(&found), None);
    // Through names of the root.
    for text in ["pub struct B; fn f(_: &crate::Shown) {}", "pub struct B(super::D);"] {
        write("b.rs", text);
        assert_eq!(cycle_of(&uses(folder.path())).unwrap(), ["b", "c"]);
    }
}
