//! Files of a run: what is read for a plan, and what is written of a result.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use candor_files::{refuge, write_atomically};
use candor_plan::Outputs;
use candor_plan::options::ReadFile;
use candor_report::Document;
use candor_report::render::{Depth, compose, csv, hgrm, hlog, json};

use crate::console;
use crate::exit::Failure;

/// Files as a plan sees them; `-` is the standard input.
pub(crate) struct Disk;

impl ReadFile for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
        fs::read(path)
    }
}

/// Every file that a run is asked to write.
fn wanted(outputs: &Outputs) -> impl Iterator<Item = &PathBuf> {
    let Outputs { json, csv, html, hgrm, hlog, trace, .. } = outputs;
    [json, csv, html, hgrm, hlog, trace].into_iter().flatten()
}

/// Refuses a file that cannot be written before a run is made for it.
pub(crate) fn check_writable(outputs: &Outputs) -> Result<(), Failure> {
    check_paths(wanted(outputs))
}

/// The same of any files.
pub(crate) fn check_paths<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<(), Failure> {
    for path in paths {
        let existed = fs::symlink_metadata(path).is_ok();
        let attempt = if path.is_dir() {
            Err(io::Error::other("it is a directory"))
        } else {
            candor_files::append(path).map(drop)
        };
        attempt.map_err(|error| {
            Failure::usage(format!(
                "cannot write {}: {error}; nothing was run, choose another path",
                path.display()
            ))
        })?;
        if !existed {
            // The file was made by the attempt alone. If it cannot be taken away again, the
            // result will replace it.
            let _ = fs::remove_file(path);
        }
    }
    Ok(())
}

/// Writes what was asked for. A result that cannot be written where it should be is written to
/// a new file in the temporary directory, and if not even there, to the standard output: nothing is
/// lost.
pub(crate) fn write(document: &Document, outputs: &Outputs) -> Result<(), Failure> {
    let mut failed = Vec::new();
    let mut keep = |path: &Option<PathBuf>, bytes: &dyn Fn() -> Result<String, Failure>| {
        if let Some(path) = path {
            match bytes() {
                Ok(text) => failed.extend(write_one(path, text.as_bytes())),
                Err(failure) => failed.push(failure),
            }
        }
    };
    let no_histogram = |error| Failure::could_not_run(format!("a histogram is damaged: {error}"));
    keep(&outputs.json, &|| Ok(json::render(document)));
    keep(&outputs.csv, &|| Ok(csv::run(document)));
    keep(&outputs.html, &|| Ok(compose::run(document, Depth::Full).html()));
    keep(&outputs.hgrm, &|| hgrm::response(document).map_err(no_histogram));
    keep(&outputs.hlog, &|| Ok(hlog::render(document)));
    failed.into_iter().next().map_or(Ok(()), Err)
}

/// Writes a file, or keeps what was to be in it elsewhere and says so.
pub(crate) fn write_one(path: &Path, bytes: &[u8]) -> Option<Failure> {
    let error = write_atomically(path, bytes).err()?;
    if let Ok((mut file, place)) = refuge(path.file_name().unwrap_or_default()) {
        if file.write_all(bytes).and_then(|()| file.sync_all()).is_ok() {
            let place = place.display();
            return Some(Failure::could_not_run(format!("{error}. It is kept in {place}")));
        }
        // Half of a result is of no use.
        let _ = fs::remove_file(place);
    }
    Some(match console::print(&String::from_utf8_lossy(bytes)) {
        Ok(()) => Failure::could_not_run(format!("{error}. It was printed instead")),
        Err(_) => Failure::could_not_run(format!("{error}. It could not be printed either")),
    })
}
