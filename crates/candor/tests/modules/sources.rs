//! Rust's text as the rules see it: files, code without comments, literals and tests, and the paths in it.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of all crates.
pub(super) fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// All files below a folder.
pub(super) fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The code of a text without its comments, and with empty literals in the place of strings; and those strings.
pub(super) fn lex(text: &str) -> (String, Vec<&str>) {
    let (mut code, mut strings) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(at) = rest.find(['"', '/', '\'', 'r']) {
        let prefixed = rest[..at].strip_suffix('b').unwrap_or(&rest[..at]);
        let begins = !prefixed.ends_with(is_word);
        code.push_str(&rest[..at]);
        rest = &rest[at..];
        let raw = rest.strip_prefix('r').filter(|_| begins).map(|rest| {
            let hashes = rest.len() - rest.trim_start_matches('#').len();
            (&rest[hashes..], format!("\"{}", &rest[..hashes]))
        });
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some((body, end)) = raw.filter(|(body, _)| body.starts_with('"')) {
            let length = body[1..].find(&end).unwrap();
            strings.push(&body[1..1 + length]);
            code.push_str("\"\"");
            rest.len() - body.len() + 1 + length + end.len()
        } else if let Some(body) = rest.strip_prefix('"') {
            let mut escaped = false;
            let is_end = |c: char| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            };
            let length = body.find(is_end).unwrap();
            strings.push(&body[..length]);
            code.push_str("\"\"");
            length + 2
        } else if let Some(length) = character(rest) {
            code.push_str("' '");
            length
        } else {
            code.push_str(&rest[..1]);
            1
        };
        rest = &rest[length..];
    }
    code.push_str(rest);
    (code, strings)
}

/// The length of the character literal that a text begins with, such as `'"'`; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let body = text.strip_prefix('\'')?;
    let length = match body.strip_prefix('\\') {
        Some(escape) => 1 + escape.chars().next()?.len_utf8(),
        None => body.chars().next()?.len_utf8(),
    };
    // `'\x7f'` and `'\u{7f}'` are longer.
    let rest = &body[length..];
    let more = if body.starts_with('\\') { rest.find('\'')? } else { 0 };
    rest[more..].starts_with('\'').then_some(1 + length + more + 1)
}

/// Takes the items behind `#[cfg(test)]` out of code, and returns the modules among them that are files.
pub(super) fn without_tests(code: &str) -> (String, Vec<String>) {
    let (mut kept, mut modules) = (String::new(), Vec::new());
    let mut rest = code;
    while let Some((before, item)) = rest.split_once("#[cfg(test)]") {
        kept.push_str(before);
        let end = item.find([';', '{']).unwrap_or(item.len());
        rest = match item[end..].starts_with('{') {
            true => &item[end + braced(&item[end..])..],
            false => {
                let words: Vec<&str> = item[..end].split_whitespace().collect();
                if let [.., "mod", name] = words[..] {
                    modules.push(name.to_owned());
                }
                &item[end..]
            }
        };
    }
    kept.push_str(rest);
    (kept, modules)
}

/// The length of the block that code begins with, with its braces.
fn braced(code: &str) -> usize {
    let mut depth = 0;
    let end = code.find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0
    });
    end.map_or(code.len(), |end| end + 1)
}

/// A path in code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named<'t> {
    pub(super) path: Vec<&'t str>,
    /// The name that it gets in a `use`; `*` if it is all names in it.
    pub(super) name: &'t str,
}

/// The paths of a tree such as `a::{b, c::d as e}`, which code begins with.
pub(super) fn tree<'t>(code: &'t str) -> Vec<Named<'t>> {
    let code = code.trim_start();
    if code.starts_with('{') {
        return elements(&code[1..braced(code) - 1]).into_iter().flat_map(tree).collect();
    }
    if code.starts_with('*') {
        return vec![Named { path: Vec::new(), name: "*" }];
    }
    let (word, rest) = code.split_at(code.find(|c| !is_word(c)).unwrap_or(code.len()));
    if word.is_empty() {
        return Vec::new();
    }
    let rest = rest.trim_start();
    let below = rest.strip_prefix("::").map(tree).unwrap_or_default();
    if below.is_empty() {
        let alias = rest.strip_prefix("as ").map(tree).unwrap_or_default();
        let name = alias.first().map_or(word, |alias| alias.name);
        return vec![Named { path: vec![word], name }];
    }
    let with_word = |one: Named<'t>| Named { path: [&[word], &one.path[..]].concat(), ..one };
    below.into_iter().map(with_word).collect()
}

/// The elements of a list, between the commas that are in no braces.
fn elements(list: &str) -> Vec<&str> {
    let mut depth = 0;
    let between = |c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    };
    list.split(between).collect()
}

/// The paths in code that begin with `crate` or `super`.
pub(super) fn paths(code: &str) -> Vec<Vec<&str>> {
    let begins = ["crate::", "super::"].into_iter().flat_map(|start| code.match_indices(start));
    let begins = begins.filter(|(at, _)| !code[..*at].ends_with(|c| is_word(c) || c == ':'));
    begins.flat_map(|(at, _)| tree(&code[at..])).map(|named| named.path).collect()
}

#[test]
fn code_is_without_comments_and_literals() {
    let source =
        "a(\"x\\\"{\", '{', '\\'', '\\u{7d}', r#\"a \"b\"#, br\"\\\"); // crate::c\nfn f<'a>() {}";
    let (code, strings) = lex(source);
    assert_eq!(code, "a(\"\", ' ', ' ', ' ', \"\", b\"\"); \nfn f<'a>() {}");
    assert_eq!(strings, ["x\\\"{", "a \"b", "\\"]);
}

#[test]
fn tests_are_taken_out_of_code() {
    let code = "a; #[cfg(test)] use b::{c}; d #[cfg(test)]\n#[allow(x)]\npub mod e;\nf\n#[cfg(test)]\nmod t { g {} } h";
    let (code, modules) = without_tests(code);
    assert_eq!(code, "a; ; d ;\nf\n h");
    assert_eq!(modules, ["e"]);
}

#[test]
fn paths_are_found_in_code() {
    let code = "use crate::{A, b::{self, C as D}, e::*};\nsuper::super::f::g::<T>(); x::super::y; $crate::h!();";
    let expected: [&[&str]; 6] = [
        &["crate", "A"],
        &["crate", "b", "self"],
        &["crate", "b", "C"],
        &["crate", "e"],
        &["crate", "h"],
        &["super", "super", "f", "g"],
    ];
    assert_eq!(paths(code), expected);
    let names: Vec<_> = tree("{b::C as D, e::{f, *}}").iter().map(|one| one.name).collect();
    assert_eq!(names, ["D", "f", "*"]);
}
