//! Files that a plan reads. `outputs` writes files of results.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use candor_plan::options::ReadFile;
use candor_plan::{DataFormat, DataOrder, DataSet};

/// Files on the disk; `-` is the standard input.
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

    fn columns(&self, path: &Path, format: DataFormat) -> Result<Vec<String>, String> {
        let unreadable = |error| {
            format!("cannot read {}: {error}; check its name and permissions", path.display())
        };
        let mut head = Vec::new();
        let file = fs::File::open(path).map_err(unreadable)?;
        file.take(candor_data::HEAD_BYTES as u64).read_to_end(&mut head).map_err(unreadable)?;
        candor_data::columns(format, &head).map_err(|fault| fault.of(path).to_string())
    }

    fn origin(&self, path: &Path) -> Option<String> {
        let set = DataSet {
            name: String::new(),
            file: path.to_owned(),
            format: DataFormat::Urls,
            order: DataOrder::default(),
            columns: self.columns(path, DataFormat::Urls).ok()?,
        };
        Some(candor_data::Table::open(&set).ok()?.site()?.shown())
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}
