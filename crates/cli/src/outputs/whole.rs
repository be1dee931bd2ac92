//! Outputs written at the end of a run: renderings of the document, to a file or the standard
//! output. Nothing is lost: an output that cannot be written to its place is saved elsewhere.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use candor_files::{refuge, write_atomically};
use candor_plan::Place;
use candor_report::Document;
use candor_report::document::latency::DecodeError;

use super::Output;
use crate::console;
use crate::exit::UserError;

type Render = Box<dyn Fn(&Document) -> Result<String, DecodeError>>;

struct Whole {
    place: Place,
    render: Render,
}

/// An output of this form.
pub(super) fn make(
    place: &Place,
    render: impl Fn(&Document) -> Result<String, DecodeError> + 'static,
) -> Result<Box<dyn Output>, UserError> {
    check_paths(place.file())?;
    Ok(Box::new(Whole { place: place.clone(), render: Box::new(render) }))
}

impl Output for Whole {
    fn end(self: Box<Self>, document: &Document) -> Result<(), UserError> {
        let text = (self.render)(document).map_err(|error| {
            UserError::could_not_run(format!("a histogram is damaged: {error}"))
        })?;
        write(&self.place, &text)
    }
}

/// Writes a rendering to its place.
pub(crate) fn write(place: &Place, text: &str) -> Result<(), UserError> {
    match place {
        Place::Stdout => console::print(text),
        Place::File(path) => write_one(path, text.as_bytes()),
    }
}

/// Refuses a file that cannot be written, before the run.
pub(crate) fn check_paths<'a>(
    paths: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), UserError> {
    for path in paths {
        let existed = fs::symlink_metadata(path).is_ok();
        let attempt = if path.is_dir() {
            Err(io::Error::other("it is a directory"))
        } else {
            candor_files::append(path).map(drop)
        };
        attempt.map_err(|error| cannot_write(path, &error))?;
        if !existed {
            // The attempt itself created the file. If it cannot be removed, the result will replace
            // it.
            let _ = fs::remove_file(path);
        }
    }
    Ok(())
}

/// The error for a file that cannot be written.
pub(super) fn cannot_write(path: &Path, error: &io::Error) -> UserError {
    let path = path.display();
    UserError::usage(format!("cannot write {path}: {error}; nothing was run, choose another path"))
}

/// Writes a file; if that fails, a new file in the temporary directory; if that fails too, the
/// standard output. The failure says where it is.
pub(crate) fn write_one(path: &Path, bytes: &[u8]) -> Result<(), UserError> {
    let Err(error) = write_atomically(path, bytes) else { return Ok(()) };
    if let Ok((mut file, place)) = refuge(path.file_name().unwrap_or_default()) {
        if file.write_all(bytes).and_then(|()| file.sync_all()).is_ok() {
            let place = place.display();
            return Err(UserError::could_not_run(format!("{error}. It is kept in {place}")));
        }
        // Half of a result is useless.
        let _ = fs::remove_file(place);
    }
    Err(match console::print(&String::from_utf8_lossy(bytes)) {
        Ok(()) => UserError::could_not_run(format!("{error}. It was printed instead")),
        Err(_) => UserError::could_not_run(format!("{error}. It could not be printed either")),
    })
}
