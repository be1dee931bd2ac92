//! What is imported: recordings, descriptions and commands that somebody else made.

use std::io::{Error, ErrorKind, Result};
use std::path::Path;

use candor_import::{Imported, Options, access_log, curl, har, openapi, postman};
use candor_plan::ReadFile;

/// An environment that has every variable, and files that all exist, but for certificates.
struct Everything;

impl ReadFile for Everything {
    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        match path.extension() {
            Some(end) if end == "pem" => Err(Error::new(ErrorKind::NotFound, "no such file")),
            _ => Ok(b"file".to_vec()),
        }
    }

    fn variable(&self, _: &str) -> Option<String> {
        Some("value-of-a-variable".to_owned())
    }
}

/// The first byte chooses the format. Any input ends in a sentence, or in a plan that is one and hides nothing.
pub(crate) fn import(bytes: &[u8]) {
    let [choice, bytes @ ..] = bytes else { return };
    let import = match choice {
        b'c' => curl,
        b'h' => har,
        b'o' => openapi,
        b'p' => postman,
        b'a' => access_log,
        _ => return,
    };
    let Imported { plan, notes, files: _ } = match import(bytes, &Options::default()) {
        Ok(imported) => imported,
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
            return;
        }
    };
    assert!(!plan.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{plan:?}");
    assert!(!notes.iter().any(|note| note.contains(char::is_control)), "{notes:?}");
    let built = candor_plan::Options::from_toml("plan.toml", &plan);
    let built = built.and_then(|options| options.build(&Everything));
    if let Err(error) = built {
        panic!("{error}\n{plan}");
    }
}
