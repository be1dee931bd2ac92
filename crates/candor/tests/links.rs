//! Links of the documentation: files and headings that pages refer to exist, and every page is in the
//! site's table of contents.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Pages beside those in docs/.
const AT_THE_ROOT: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];
const CONTENTS: &str = "docs/SUMMARY.md";
const GROUPS: [&str; 4] = ["Start", "Guides", "Reference", "Method"];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn markdown_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let pages = entries.flat_map(|path| match path.is_dir() {
        true => markdown_below(&path),
        false => vec![path],
    });
    pages.filter(|path| path.extension().is_some_and(|end| end == "md")).collect()
}

/// Every page by its path from the root.
pub(crate) fn pages() -> BTreeMap<PathBuf, String> {
    let root = root();
    let paths = markdown_below(&root.join("docs")).into_iter();
    let paths = paths.chain(AT_THE_ROOT.iter().map(|name| root.join(name)));
    paths
        .map(|path| {
            (path.strip_prefix(&root).unwrap().to_owned(), fs::read_to_string(&path).unwrap())
        })
        .collect()
}

fn events(page: &str) -> impl Iterator<Item = Event<'_>> {
    Parser::new_ext(page, Options::ENABLE_TABLES)
}

/// The targets of its links and pictures.
fn links(page: &str) -> Vec<String> {
    let target = |event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some(dest_url.into_string())
        }
        _ => None,
    };
    events(page).filter_map(target).collect()
}

/// The anchors of its headings, as GitHub and mdBook make them: in lower case, with hyphens for blanks,
/// and only letters, digits, hyphens and underscores; repeated ones get a number.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in events(page) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
                let text: String = heading.take().unwrap().chars().filter(kept).collect();
                let anchor = text.to_lowercase().replace(' ', "-");
                let numbered = (1..).map(|n| format!("{anchor}-{n}"));
                let mut free = std::iter::once(anchor.clone()).chain(numbered);
                all.insert(free.find(|one| !all.contains(one)).unwrap());
            }
            _ => {}
        }
    }
    all
}

/// Normalises a path: `docs/../README.md` becomes `README.md`.
fn straight(path: &Path) -> PathBuf {
    let mut way = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(way.pop(), "{} leaves the project", path.display()),
            part => way.push(part),
        }
    }
    way
}

/// Resolves a link on the page at `from`: the file, from the root, and the heading in it.
fn target(from: &Path, link: &str) -> Option<(PathBuf, Option<String>)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) =
        link.split_once('#').map_or((link, None), |(p, a)| (p, Some(a.to_owned())));
    let path = match path {
        "" => from.to_owned(),
        path => straight(&from.parent().unwrap().join(path)),
    };
    Some((path, anchor))
}

#[test]
fn links_lead_somewhere() {
    let (root, pages) = (root(), pages());
    let mut wrong = Vec::new();
    let mut checked = 0;
    for (from, page) in &pages {
        for link in links(page) {
            let Some((path, anchor)) = target(from, &link) else { continue };
            checked += 1;
            let known = |anchor: &String| match pages.get(&path) {
                Some(page) => anchors(page).contains(anchor),
                None => false,
            };
            if !root.join(&path).exists() || !anchor.as_ref().is_none_or(known) {
                wrong.push(format!("{}: {link}", from.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "these lead nowhere: {wrong:#?}");
    assert!(checked > 150, "only {checked} links were found");
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let pages = pages();
    let contents = &pages[Path::new(CONTENTS)];
    let listed: Vec<PathBuf> =
        links(contents).iter().map(|link| target(Path::new(CONTENTS), link).unwrap().0).collect();
    let once: BTreeSet<_> = listed.iter().collect();
    assert_eq!(once.len(), listed.len(), "a page is listed twice");
    let missing: Vec<_> = pages
        .keys()
        .filter(|path| path.as_path() != Path::new(CONTENTS) && !once.contains(path))
        .collect();
    assert!(missing.is_empty(), "not in {CONTENTS}: {missing:?}");
    let groups: Vec<_> = contents.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    assert_eq!(groups, GROUPS);
}

#[test]
fn anchors_are_made_as_on_the_web() {
    let page = "# The `port` file: a, b\n## Two\n## Two\n### a_b – c\n```\n# no\n```\n";
    assert_eq!(
        anchors(page).into_iter().collect::<Vec<_>>(),
        ["a_b--c", "the-port-file-a-b", "two", "two-1"]
    );
    assert_eq!(links("[a](b.md#c) ![d](e.svg) `[f](g)`"), ["b.md#c", "e.svg"]);
    let from = Path::new("docs/x.md");
    assert_eq!(target(from, "#a"), Some((from.to_owned(), Some("a".to_owned()))));
    assert_eq!(target(from, "../README.md"), Some(("README.md".into(), None)));
    assert_eq!(target(from, "https://a/b"), None);
}
