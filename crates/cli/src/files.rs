//! Files that a plan reads. `outputs` writes files of results.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use candor_plan::DataFormat;
use candor_plan::options::ReadFile;

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
        candor_data::columns_of(path, format).map_err(|fault| fault.to_string())
    }

    fn origin(&self, path: &Path) -> Result<Option<String>, String> {
        let site = candor_data::site_of(path).map_err(|fault| fault.to_string())?;
        Ok(site.map(|site| site.shown()))
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}
