//! ARCHITECTURE.md and docs/internals.md name files and names of the code: each of them must exist. And
//! ARCHITECTURE.md must be short enough to read in one go.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const LONGEST_LINES: usize = 200;
const PAGES: [&str; 2] = ["ARCHITECTURE.md", "docs/internals.md"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the root")
}

/// Every file of the project, from its root, with `/` in front.
fn files(below: &Path, root: &Path, all: &mut Vec<String>) {
    for entry in fs::read_dir(below).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let is_built = (below == root && name == "target") || name == "_build";
        if is_built || (name.starts_with('.') && name != ".ci") {
            continue;
        }
        match path.is_dir() {
            true => files(&path, root, all),
            false => {
                all.push(format!("/{}", path.strip_prefix(root).expect("below the root").display()))
            }
        }
    }
}

/// The texts in backquotes outside of code blocks, and every word in code blocks.
fn named(text: &str) -> Vec<String> {
    let mut spans = Vec::new();
    for (nth, piece) in text.split("```").enumerate() {
        match nth % 2 {
            1 => spans.extend(
                piece.split_whitespace().filter(|word| word.ends_with(".rs")).map(str::to_owned),
            ),
            _ => spans
                .extend(piece.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " "))),
        }
    }
    spans
}

fn is_path(span: &str) -> bool {
    const ENDS: [&str; 9] = ["rs", "md", "toml", "lua", "css", "js", "erl", "py", "txt"];
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let ends = || span.rsplit_once('.').is_some_and(|(_, end)| ENDS.contains(&end));
    span.chars().all(plain) && (ends() || (span.contains('/') && !span.starts_with('/')))
}

/// A name of the code: of a type, a function or a constant, with or without its path.
fn is_name(span: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_:".contains(c);
    let has_shape = span.contains("::")
        || span.contains('_')
        || span.starts_with(|c: char| c.is_ascii_uppercase());
    span.chars().all(plain) && has_shape && span.len() > 1
}

#[test]
fn what_the_pages_name_is_there() {
    let root = root();
    let mut all = Vec::new();
    files(&root, &root, &mut all);
    let sources = all.iter().filter(|path| {
        [".rs", ".erl", ".lua", ".js", ".toml", ".sh"].iter().any(|end| path.ends_with(end))
            || path.starts_with("/scripts/")
    });
    let mut words = BTreeSet::new();
    for path in sources {
        let text = fs::read_to_string(root.join(&path[1..])).unwrap_or_default();
        let is_word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
        words.extend(text.split(is_word).map(str::to_owned));
    }
    let mut missing = Vec::new();
    let mut checked = 0;
    for page in PAGES {
        let text = fs::read_to_string(root.join(page)).unwrap();
        for span in named(&text) {
            let there = if is_path(&span) {
                let end = format!("/{}", span.trim_matches('/'));
                all.iter().any(|path| path.ends_with(&end) || path.contains(&format!("{end}/")))
            } else if is_name(&span) {
                // `candor_target_NAME` means any name with that beginning.
                let last = span.rsplit("::").next().unwrap();
                match last.strip_suffix("NAME").filter(|beginning| !beginning.is_empty()) {
                    Some(beginning) => words.iter().any(|word| word.starts_with(beginning)),
                    None => words.contains(last),
                }
            } else {
                continue;
            };
            checked += 1;
            if !there {
                missing.push(format!("{page}: `{span}`"));
            }
        }
    }
    assert!(checked > 150, "only {checked} names were found");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn the_first_page_is_short() {
    let lines = fs::read_to_string(root().join(PAGES[0])).unwrap().lines().count();
    assert!(lines <= LONGEST_LINES, "{lines} lines");
}

#[test]
fn what_is_not_there_is_found_missing() {
    assert!(is_path("engine/src/none.rs") && is_path("crates/plan") && is_path("run.rs"));
    assert!(!is_path("GET /") && !is_path("/metrics") && !is_path("a b.rs"));
    assert!(is_name("Reactor::end_sending") && is_name("CHECKS") && is_name("of_places"));
    assert!(!is_name("auto") && !is_name("-R 5"));
    assert_eq!(named("a `b` c\n```\nx.rs y\n```\n`d\ne`"), ["b", "x.rs", "d e"]);
}
