//! Files that a plan reads. `outputs` writes files of results.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use candor_plan::options::{ReadFile, Unanswered};
use candor_plan::{DataFormat, Plan};

/// The longest file that a plan reads whole.
const MOST_BYTES: u64 = 1 << 30;

/// Files on the disk; `-` is the standard input.
pub(crate) struct Disk;

impl ReadFile for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path == Path::new("-") {
            return whole(io::stdin().lock(), MOST_BYTES);
        }
        read(path, MOST_BYTES)
    }

    fn columns(&self, path: &Path, format: DataFormat) -> Result<Vec<String>, String> {
        candor_data::columns_of(path, format).map_err(|fault| fault.to_string())
    }

    fn origin(&self, path: &Path) -> Result<Option<String>, String> {
        let site = candor_data::site_of(path).map_err(|fault| fault.to_string())?;
        Ok(site.map(|site| site.shown()))
    }

    fn ask(&self, plan: &Plan) -> Result<Vec<u8>, Unanswered> {
        crate::asking::ask(plan)
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

/// All of a file, if it is not longer than that.
fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = fs::File::open(path)?;
    match file.metadata()?.len() {
        length if length > most => Err(too_large(most)),
        // A device has no length, and may have no end.
        _ => whole(file, most),
    }
}

fn whole(source: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(bytes) }
}

fn too_large(most: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5).unwrap(), b"12345");
        for endless in [&file, Path::new("/dev/zero")] {
            let refused = read(endless, 4).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
        }
    }

    #[test]
    fn data_files_are_read_as_far_as_a_plan_needs_them() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let users = file("users.csv", "name,id\na,1\n");
        assert_eq!(Disk.columns(&users, DataFormat::Csv).unwrap(), ["name", "id"]);
        let urls = file("urls", "/a\nhttp://H:81/b?c\n");
        assert_eq!(Disk.origin(&urls).unwrap().as_deref(), Some("http://H:81/"));
        assert_eq!(Disk.origin(&file("paths", "/a\n")), Ok(None));
        let missing = Disk.columns(&directory.path().join("none.csv"), DataFormat::Csv);
        assert!(missing.unwrap_err().contains("none.csv: "), "the file is named");
        assert!(Disk.variable("PATH").is_some() && Disk.variable("CANDOR_NO_SUCH").is_none());
    }
}
