//! Rules for the sources that the compiler does not check. Modules of cli: commands are independent
//! of each other, and there are no cycles. Library crates: no text names a flag.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules that each module names. `command/run` with its whole folder is one module; so is
/// `files`.
type Uses = BTreeMap<String, BTreeSet<String>>;

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// The names after each `path` in the text, including those of `path{a, b::c}`.
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/src");
    let mut uses = Uses::new();
    for file in sources(&root).iter().filter(|file| file.extension().unwrap() == "rs") {
        let path = file.strip_prefix(&root).unwrap().with_extension("");
        let parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap()).collect();
        let module = match parts.as_slice() {
            ["lib"] | ["command", "mod"] => continue,
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
            // Its siblings; in a folder of a command, `super` is the command itself.
            let beside = named(text, "super::").into_iter().map(|name| format!("command/{name}"));
            known.extend(beside);
        }
        known.remove(&module);
    }
    let modules: BTreeSet<String> = uses.keys().cloned().collect();
    uses.values_mut().for_each(|known| known.retain(|name| modules.contains(name)));
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

#[test]
fn commands_are_independent() {
    let uses = uses();
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
    let uses = uses();
    let mut done = BTreeSet::new();
    for module in uses.keys() {
        let found = cycle(&uses, &mut vec![module.clone()], &mut done);
        assert_eq!(found, None, "each of these uses the next");
    }
}

/// The crates that know no command line. The others: plan has its grammar, report has remedies with its
/// flags, testkit is for tests.
const LIBRARIES: [&str; 13] = [
    "engine",
    "files",
    "fleet",
    "fleet-nats",
    "import",
    "lab",
    "memory",
    "pace",
    "protocol",
    "record",
    "script",
    "serve",
    "stats",
];

/// The string literals of Rust's text, without comments.
fn literals(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(at) = rest.find(['"', '/', '\'', 'r']) {
        let begins = !rest[..at].ends_with(is_word);
        rest = &rest[at..];
        let raw = rest.strip_prefix('r').filter(|_| begins).map(|rest| {
            let hashes = rest.len() - rest.trim_start_matches('#').len();
            (&rest[hashes..], format!("\"{}", &rest[..hashes]))
        });
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if let Some((body, end)) = raw.filter(|(body, _)| body.starts_with('"')) {
            let length = body[1..].find(&end).unwrap();
            found.push(&body[1..1 + length]);
            rest = &body[1 + length + end.len()..];
        } else if let Some(body) = rest.strip_prefix('"') {
            let mut escaped = false;
            let is_end = |c: char| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            };
            let length = body.find(is_end).unwrap();
            found.push(&body[..length]);
            rest = &body[length + 1..];
        } else if let Some(quoted) =
            ["'\"'", "'\\''", "'\\\\'", "'\\\"'"].iter().find(|one| rest.starts_with(**one))
        {
            rest = &rest[quoted.len()..];
        } else {
            rest = &rest[1..];
        }
    }
    found
}

/// Whether a word of this text is a flag, such as `--cacert` or `-c`.
fn names_a_flag(text: &str) -> bool {
    let is_edge = |c: char| !c.is_alphanumeric() && c != '-';
    text.split(|c: char| c.is_whitespace() || "`'\"()[],;:|=".contains(c)).any(|word| {
        let word = word.trim_matches(is_edge);
        match word.strip_prefix("--") {
            Some(name) => name.starts_with(|c: char| c.is_ascii_lowercase()),
            None => {
                word.len() == 2
                    && word.starts_with('-')
                    && !word.ends_with(is_edge)
                    && !word.ends_with(|c: char| c.is_ascii_digit())
            }
        }
    })
}

/// Whether the text is a list of arguments for a program, and not a sentence: each word is a flag or
/// the value of one.
fn is_arguments(text: &str) -> bool {
    let is_flag = |word: &str| word.starts_with('-') && !word.ends_with([':', ',']);
    let words: Vec<&str> = text.split_whitespace().filter(|word| !word.starts_with('{')).collect();
    let begins = words.first().is_some_and(|word| is_flag(word));
    begins && words.windows(2).all(|pair| is_flag(pair[0]) || is_flag(pair[1]))
}

#[test]
fn texts_of_libraries_name_no_flags() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut seen = 0;
    for name in LIBRARIES {
        let is_source =
            |path: &PathBuf| path.extension().unwrap() == "rs" && !path.ends_with("tests.rs");
        for file in sources(&crates.join(name).join("src")).into_iter().filter(is_source) {
            let text = fs::read_to_string(&file).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            let literals = literals(text);
            seen += literals.len();
            for literal in literals.into_iter().filter(|one| names_a_flag(one)) {
                // Only lab starts programs.
                assert!(
                    name == "lab" && is_arguments(literal),
                    "{}: {literal:?} names a flag; a library says what is wrong and where, and cli's \
                     remedy.rs says what to do",
                    file.display()
                );
            }
        }
    }
    assert!(seen > 1000, "only {seen} texts were seen");
}

#[test]
fn flags_in_texts_are_found() {
    let source = "let a = \"see --sni\"; // \"--no\"\nlet b = ('\"', \"\\\"-c\", r#\"a \"--x\"\"#); \"ask -c\"";
    assert_eq!(literals(source), ["see --sni", "\\\"-c", "a \"--x\"", "ask -c"]);
    for flagged in ["see --sni", "(--insecure)", "fewer with -c", "`-c 0`: too few", "--cert: bad"]
    {
        assert!(names_a_flag(flagged) && !is_arguments(flagged), "{flagged}");
    }
    for plain in ["1 -- 2", "a-b", "from -1 to", "{:-^9}", "-", "--", "x---y"] {
        assert!(!names_a_flag(plain), "{plain}");
    }
    for arguments in ["--tls", "--truth fifo --service-time {ms}ms", "{load} -c 50", "-R 1 {end}"] {
        assert!(names_a_flag(arguments) && is_arguments(arguments), "{arguments}");
    }
    assert!(!is_arguments("-c must be at least 1"));
}
