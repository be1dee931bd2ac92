//! A directory of results that are kept: a file for each, compressed, and an index with a line for each.
//!
//! Everything in the index is in the results, too: one without a line is read and gets one, and a line without a result
//! means nothing. So several processes may keep results at once, and results that were put there by other means count as
//! well. Nothing here judges figures.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use candor_files::{append, create_directory, write_atomically};
use candor_plan::redact::{FNV_START, fnv};
use candor_report::experiment::history::Entry;
use candor_report::{Document, json, read};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::LabError;

/// The index: an [`Entry`] as JSON in each line.
const INDEX: &str = "index.ndjson";
/// What results end with; those without the last part are not compressed.
const ENDINGS: [&str; 2] = [".json.gz", ".json"];
/// The most of an index that is read.
const MOST_INDEX_BYTES: u64 = 256 << 20;
/// The most results in a directory.
const MOST_RESULTS: usize = 100_000;

/// The results in a directory.
#[derive(Debug)]
pub struct History {
    directory: PathBuf,
    /// Those that could be read, in the order of time.
    pub entries: Vec<Entry>,
    /// Names of files that are no results of runs, and why not.
    pub unread: Vec<(String, String)>,
}

/// Makes the directory, if it is not there: before a run whose result it has to take.
pub fn prepare(directory: &Path) -> Result<(), LabError> {
    create_directory(directory).map_err(failed("cannot keep results in", directory))
}

/// Keeps a result; the name of its file is returned.
pub fn keep(directory: &Path, document: &Document) -> Result<String, LabError> {
    let failed = failed("cannot keep the result in", directory);
    prepare(directory)?;
    let text = json::render(document);
    let began: String =
        document.started_at.chars().filter(|c| c.is_ascii_digit() || *c == 'T').take(15).collect();
    let name = format!("{began}-{:08x}{}", fnv(FNV_START, text.as_bytes()) >> 32, ENDINGS[0]);
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    let packed = packed.write_all(text.as_bytes()).and_then(|()| packed.finish());
    write_atomically(&directory.join(&name), &packed.map_err(&failed)?)
        .map_err(|error| failed(error.cause))?;
    add_lines(directory, [&Entry::of(&name, document)]).map_err(&failed)?;
    Ok(name)
}

impl History {
    /// The results in this directory. What the index lacks is added to it, if that can be done.
    pub fn open(directory: &Path) -> Result<Self, LabError> {
        let failed = failed("cannot read", directory);
        let names = names(directory).map_err(&failed)?;
        let mut known = lines(&directory.join(INDEX)).map_err(&failed)?;
        let (mut entries, mut unread, mut new) = (Vec::new(), Vec::new(), Vec::new());
        for name in names {
            if let Some(entry) = known.remove(&name) {
                entries.push(entry);
                continue;
            }
            match document(&directory.join(&name)) {
                Ok(document) => new.push(Entry::of(&name, &document)),
                Err(why) => unread.push((name, why)),
            }
        }
        // Without it they are read the next time.
        let _ = add_lines(directory, &new);
        entries.append(&mut new);
        entries.sort_by(|a, b| (a.started_unix_ms, a.file()).cmp(&(b.started_unix_ms, b.file())));
        Ok(History { directory: directory.to_owned(), entries, unread })
    }

    /// The result that is meant: `last`, `last-3`, or the beginning of its file's name.
    pub fn find(&self, meant: &str) -> Result<&Entry, LabError> {
        let none = |why: String| Err(LabError::Usage(format!("{meant}: {why}")));
        let back = match meant.strip_prefix("last") {
            Some("") => Some(0),
            Some(rest) => rest.strip_prefix('-').and_then(|number| number.parse::<usize>().ok()),
            None => None,
        };
        if let Some(back) = back {
            let count = self.entries.len();
            return match self.entries.iter().rev().nth(back) {
                Some(entry) => Ok(entry),
                None => none(format!("{} has {count} results", self.directory.display())),
            };
        }
        let mut fitting = self.entries.iter().filter(|one| one.file().starts_with(meant));
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => {
                none("there is no result of this name; candor history list has all".into())
            }
            (Some(one), Some(other)) => {
                none(format!("it is the beginning of {} and of {}", one.file(), other.file()))
            }
        }
    }

    /// The document of a result.
    pub fn read(&self, entry: &Entry) -> Result<Document, LabError> {
        let path = self.directory.join(entry.file());
        document(&path).map_err(|why| failed("cannot read", &path)(io::Error::other(why)))
    }

    /// The results that go if the last `last` of each plan and machine stay, and what began since a time.
    pub fn surplus<'h>(
        &'h self,
        last: Option<usize>,
        since_unix_ms: Option<u64>,
    ) -> Vec<&'h Entry> {
        let mut seen: BTreeMap<(&'h str, &'h str), usize> = BTreeMap::new();
        let goes = |entry: &&'h Entry| {
            let count = seen.entry((&entry.plan, &entry.machine)).or_default();
            *count += 1;
            last.is_some_and(|last| *count > last)
                || since_unix_ms.is_some_and(|since| entry.started_unix_ms < since)
        };
        let mut all: Vec<&'h Entry> = self.entries.iter().rev().filter(goes).collect();
        all.reverse();
        all
    }

    /// Removes a result. Its line in the index means nothing then.
    pub fn remove(&self, entry: &Entry) -> Result<(), LabError> {
        let path = self.directory.join(entry.file());
        fs::remove_file(&path).map_err(failed("cannot remove", &path))
    }
}

fn failed(what: &'static str, path: &Path) -> impl Fn(io::Error) -> LabError {
    let path = path.display().to_string();
    move |error| LabError::File { what, path: path.clone(), reason: error.to_string() }
}

/// The names of results, which are files and no links.
fn names(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if entry.file_type()?.is_file() && ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            names.push(name);
        }
        if names.len() > MOST_RESULTS {
            return Err(io::Error::other(format!("it has more than {MOST_RESULTS} results")));
        }
    }
    Ok(names)
}

/// The lines of an index by their files; of several for one, the last.
fn lines(index: &Path) -> io::Result<HashMap<String, Entry>> {
    let file = match fs::File::open(index) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(MOST_INDEX_BYTES).read_to_end(&mut bytes)?;
    // A line that was cut, or that another version wrote, is made again.
    let entry = |line| serde_json::from_slice::<Entry>(line).ok();
    let entries = bytes.split(|byte| *byte == b'\n').filter_map(entry);
    Ok(entries.map(|one| (one.file().to_owned(), one)).collect())
}

/// Adds lines in one write: those of another process come before or after them.
fn add_lines<'a>(directory: &Path, entries: impl IntoIterator<Item = &'a Entry>) -> io::Result<()> {
    let mut text = Vec::new();
    for entry in entries {
        // The line before may have been cut.
        text.push(b'\n');
        serde_json::to_writer(&mut text, entry)?;
    }
    if text.is_empty() {
        return Ok(());
    }
    text.push(b'\n');
    append(&directory.join(INDEX))?.write_all(&text)
}

fn document(path: &Path) -> Result<Document, String> {
    let text = read::text_of(path).map_err(|error| error.to_string())?;
    Document::from_json(&text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use candor_report::testing;

    use super::*;

    fn result(at_ms: u64) -> Document {
        let mut document = testing::healthy_closed();
        document.started_unix_ms = 1_750_000_000_000 + at_ms;
        document
    }

    fn files(history: &History) -> Vec<&str> {
        history.entries.iter().map(Entry::file).collect()
    }

    #[test]
    fn what_many_keep_at_once_is_there_and_can_be_read() {
        let directory = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let path = directory.path();
                scope.spawn(move || {
                    for n in 0..8 {
                        keep(path, &result(10 * n + thread)).unwrap();
                    }
                });
            }
        });
        let history = History::open(directory.path()).unwrap();
        assert_eq!(history.entries.len(), 32);
        assert!(history.entries.is_sorted_by_key(|one| one.started_unix_ms));
        assert_eq!(history.read(&history.entries[5]).unwrap(), result(11));
        assert_eq!(history.find("last").unwrap().started_unix_ms, 1_750_000_000_073);
        assert_eq!(history.find("last-31").unwrap().started_unix_ms, 1_750_000_000_000);
        assert!(history.find("last-32").is_err() && history.find("2").is_err());
        assert_eq!(history.find(files(&history)[9]).unwrap(), &history.entries[9]);
    }

    #[test]
    fn an_index_that_is_lost_or_damaged_is_made_again() {
        let directory = tempfile::tempdir().unwrap();
        for n in 0..3 {
            keep(directory.path(), &result(n)).unwrap();
        }
        let index = directory.path().join(INDEX);
        let before = History::open(directory.path()).unwrap().entries;
        let text = fs::read_to_string(&index).unwrap();
        for damaged in ["", "{}\n\0\n", &text[..text.len() / 2], &text.replace('"', "'")] {
            fs::write(&index, damaged).unwrap();
            assert_eq!(History::open(directory.path()).unwrap().entries, before);
            assert_eq!(lines(&index).unwrap().len(), 3, "{damaged}");
        }
    }

    #[test]
    fn other_files_are_named_and_links_are_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        keep(directory.path(), &result(0)).unwrap();
        fs::write(path("old.json"), json::render(&result(1))).unwrap();
        fs::write(path("other.json"), "{\"a\": 1}").unwrap();
        fs::write(path("cut.json.gz"), b"\x1f\x8b\x08").unwrap();
        fs::write(path("notes.txt"), "notes").unwrap();
        std::os::unix::fs::symlink(path("old.json"), path("link.json")).unwrap();
        let history = History::open(directory.path()).unwrap();
        assert_eq!(history.entries.len(), 2);
        assert_eq!(history.entries[1].file(), "old.json");
        let mut unread: Vec<&str> = history.unread.iter().map(|(name, _)| &name[..]).collect();
        unread.sort_unstable();
        assert_eq!(unread, ["cut.json.gz", "other.json"]);
    }

    #[test]
    fn the_last_of_each_plan_stay() {
        let directory = tempfile::tempdir().unwrap();
        for n in 0..6 {
            let mut document = result(n);
            document.plan.connections.count += u32::from(n % 2 == 0);
            keep(directory.path(), &document).unwrap();
        }
        let history = History::open(directory.path()).unwrap();
        let at = |all: Vec<&Entry>| -> Vec<u64> {
            all.iter().map(|one| one.started_unix_ms - 1_750_000_000_000).collect()
        };
        assert_eq!(at(history.surplus(Some(1), None)), [0, 1, 2, 3]);
        assert_eq!(at(history.surplus(None, Some(1_750_000_000_002))), [0, 1]);
        assert!(history.surplus(None, None).is_empty());
        history.remove(&history.entries[0]).unwrap();
        assert_eq!(History::open(directory.path()).unwrap().entries, history.entries[1..]);
    }
}
