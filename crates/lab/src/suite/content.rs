//! Bodies and files that a suite names instead of including them: `candor:letters/64Ki`.
//!
//! A body of a megabyte has no place in a TOML file. This content is the same on every machine, so
//! a suite is one file and its results can be repeated.
//!
//! | name | content |
//! |---|---|
//! | `candor:text/TEXT` | TEXT |
//! | `candor:letters/SIZE` | a to z, repeated |
//! | `candor:form/N` | N pairs `kNNN=` + 26 letters, joined by `&`; 4095 bytes for 128 |
//! | `candor:gzip/SIZE` | SIZE bytes of letters and numbers, in gzip |
//! | `candor:echo` | the schema of `candor.Echo`, as a protoset |

use std::io::{self, Write as _};
use std::path::Path;

use candor_plan::ReadFile;
use candor_plan::units::parse_size;
use flate2::Compression;
use flate2::write::GzEncoder;

/// The prefix of names that are not files.
pub(crate) const PREFIX: &str = "candor:";

/// The largest body.
const MOST_BYTES: u64 = 1 << 30;

/// Files of plans, including generated content.
pub struct Contents<'a> {
    /// Where real files come from.
    pub files: &'a dyn ReadFile,
}

impl ReadFile for Contents<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match path.to_str().and_then(|name| name.strip_prefix(PREFIX)) {
            Some(what) => make(what).map_err(io::Error::other),
            None => self.files.read(path),
        }
    }
}

/// Whether the file of a plan is a real one, rather than generated content or standard input.
pub(crate) fn is_a_file(name: &Path) -> bool {
    !name.to_string_lossy().starts_with(PREFIX) && name.as_os_str() != "-"
}

/// The content of this name, the prefix left out.
pub(crate) fn make(what: &str) -> Result<Vec<u8>, String> {
    let (kind, argument) = what.split_once('/').unwrap_or((what, ""));
    let size = || match parse_size(argument) {
        Ok(size) if size <= MOST_BYTES => Ok(size as usize),
        Ok(_) => Err(format!("{argument} is too much; write at most 1Gi")),
        Err(error) => Err(format!("{argument:?}: {error}")),
    };
    match kind {
        "text" => Ok(argument.as_bytes().to_vec()),
        "letters" => Ok(letters(size()?)),
        "form" => match argument.parse() {
            Ok(pairs @ 1..=1000) => Ok(form(pairs)),
            _ => Err(format!("{argument:?} is not a number of pairs; write 1 to 1000")),
        },
        "echo" => Ok(candor_serve::ECHO_PROTOSET.to_vec()),
        "gzip" => gzip(size()?).map_err(|error| error.to_string()),
        _ => Err(format!(
            "there is no content {PREFIX}{kind}; write text/TEXT, letters/SIZE, form/N, gzip/SIZE or echo"
        )),
    }
}

fn letters(size: usize) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(size).collect()
}

fn form(pairs: u32) -> Vec<u8> {
    let value = "abcdefghijklmnopqrstuvwxyz";
    let pairs: Vec<String> = (0..pairs).map(|n| format!("k{n:03}={value}")).collect();
    pairs.join("&").into_bytes()
}

fn gzip(size: usize) -> io::Result<Vec<u8>> {
    let text: String = (0u64..)
        .flat_map(|n| format!("item {n}\n").into_bytes())
        .take(size)
        .map(char::from)
        .collect();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn contents_are_what_scenarios_ask_for() {
        assert_eq!(make("text/alive\r\n").unwrap(), b"alive\r\n");
        assert_eq!(make("letters/64Ki").unwrap().len(), 65536);
        let form = make("form/128").unwrap();
        assert_eq!(form.len(), 4095);
        assert_eq!(form.split(|&byte| byte == b'&').count(), 128);
        let mut inflated = Vec::new();
        let packed = make("gzip/1Ki").unwrap();
        flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut inflated).unwrap();
        assert_eq!(inflated.len(), 1024);
        for (bad, word) in
            [("lettres/5", "letters/SIZE"), ("letters/x", "size"), ("form/0", "1 to 1000")]
        {
            assert!(make(bad).unwrap_err().contains(word), "{bad}");
        }
    }
}
