//! An opened file: all its rows have been checked, and any of them can be found.

use std::fs::{self, File, FileType};
use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use candor_plan::url::HttpUrl;
use candor_plan::{DataFormat, DataSet};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::fault::{Fault, Problem, Wrong, shown};
use crate::format::{self, Format};
use crate::index::Index;
use crate::reader::{Reader, Source, unreadable};
use crate::step::Step;
use crate::values::Values;
use crate::{HEAD_BYTES, urls};

/// A data file, opened and completely checked. Threads share it, and each reads it through
/// [`Rows`](crate::Rows) of its own.
///
/// It takes at most 8 MiB of memory: the decoded rows of a small file, or for a large file an index
/// of at most 4 MiB. While it is opened, at most 16 MiB are in use.
#[derive(Debug)]
pub struct Table {
    pub(crate) file: PathBuf,
    pub(crate) format: Format,
    pub(crate) store: Store,
    pub(crate) limits: Limits,
    rows: u64,
    unusable_lines: u64,
    site: Option<HttpUrl>,
}

/// Where rows are.
#[derive(Debug)]
pub(crate) enum Store {
    /// In memory, decoded.
    Held(Values),
    /// In the file.
    Filed(Source, Index),
}

/// How much memory is used. Tests set them low, so that small files meet what large ones do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The most bytes of a file that is held in memory, and of its decoded rows.
    pub(crate) held_bytes: usize,
    /// The most entries of an index.
    pub(crate) entries: usize,
    /// The bytes that are read at once.
    pub(crate) block_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { held_bytes: 8 << 20, entries: (4 << 20) / size_of::<u32>(), block_bytes: 64 << 10 }
    }
}

/// Bytes of a file from one look at the stop to the next: about a millisecond's work.
const LOOK_BYTES: u64 = 256 << 10;

impl Table {
    /// Opens the file and reads it once, from beginning to end.
    ///
    /// # Errors
    /// The file cannot be read or is no regular one, has no row, has other columns than the set, or
    /// a row is broken: the first such row, with its line. Or `is_stopped`, which is asked every few
    /// milliseconds: a file of gigabytes takes seconds.
    pub fn open(set: &DataSet, is_stopped: &dyn Fn() -> bool) -> Result<Table, Fault> {
        Table::open_within(set, Limits::default(), is_stopped)
    }

    pub(crate) fn open_within(
        set: &DataSet,
        limits: Limits,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Table, Fault> {
        let source = match &set.content {
            Some(content) if !content.is_left_out() => held(content.whole()),
            _ => open(&set.file),
        };
        let source = source.map_err(|problem| Fault::whole(&set.file, problem))?;
        let mut scan = Scan::begin(source, &set.file, set.format, limits)?;
        if scan.columns != set.columns {
            return Err(Fault::whole(&set.file, Problem::OtherColumns));
        }
        let mut look_at = 0;
        while scan.is_unfinished() {
            if scan.at >= look_at {
                if is_stopped() {
                    return Err(Fault::whole(&set.file, Problem::Stopped));
                }
                look_at = scan.at + LOOK_BYTES;
            }
            scan.next(&set.file)?;
        }
        scan.finish(set).map_err(|problem| Fault::whole(&set.file, problem))
    }

    /// The number of its rows, at least 1.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The server of the absolute URLs in a file of URLs, all of which have the same; its path is
    /// `/` and its host in lower case. None: there is no absolute URL.
    pub fn site(&self) -> Option<&HttpUrl> {
        self.site.as_ref()
    }

    /// Lines of an access log that are no rows, because the request in them cannot be repeated: it
    /// has no path, or was not HTTP. 0 for other files.
    pub fn unusable_lines(&self) -> u64 {
        self.unusable_lines
    }
}

/// The columns of a file, from its first [`HEAD_BYTES`] bytes.
///
/// # Errors
/// As [`columns`](crate::columns) has them, and those of a file that cannot be read.
pub fn columns_of(file: &Path, format: DataFormat) -> Result<Vec<String>, Fault> {
    let source = open(file).map_err(|problem| Fault::whole(file, problem))?;
    let scan = Scan::begin(source, file, format, Limits::default())?;
    Ok(scan.columns)
}

/// The server of the first absolute URL in a file of URLs, as [`Table::site`] has it. The file is
/// read up to there: as a whole if there is none.
///
/// # Errors
/// The file cannot be read, or a row up to that URL is broken.
pub fn site_of(file: &Path) -> Result<Option<HttpUrl>, Fault> {
    let limits = Limits { held_bytes: 0, ..Limits::default() };
    let source = open(file).map_err(|problem| Fault::whole(file, problem))?;
    let mut scan = Scan::begin(source, file, DataFormat::Urls, limits)?;
    while scan.site.is_none() && scan.is_unfinished() {
        scan.next(file)?;
    }
    Ok(scan.site.map(|(_, url)| url))
}

/// Opens a regular file and nothing else: opening a pipe would wait for a writer.
fn open(path: &Path) -> Result<Source, Problem> {
    if path == Path::new("-") {
        return Err(Problem::StandardInput);
    }
    check_kind(fs::metadata(path).map_err(unreadable)?.file_type())?;
    let file = File::open(path).map_err(unreadable)?;
    // The path may name something else by now.
    let metadata = file.metadata().map_err(unreadable)?;
    check_kind(metadata.file_type())?;
    let source = Source::new(file, &metadata);
    if source.length() == 0 {
        return Err(match source.read(&mut [0], 0) {
            Ok(()) => Problem::NoLength,
            Err(Problem::Changed) => Problem::Empty,
            Err(problem) => problem,
        });
    }
    Ok(source)
}

/// The bytes of a file of another machine, as a file without a name.
fn held(content: &[u8]) -> Result<Source, Problem> {
    let file = memfd_create("candor-data", MemfdFlags::CLOEXEC);
    let mut file = File::from(file.map_err(|errno| unreadable(errno.into()))?);
    file.write_all(content).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if content.is_empty() {
        return Err(Problem::Empty);
    }
    Ok(Source::new(file, &metadata))
}

fn check_kind(kind: FileType) -> Result<(), Problem> {
    let kind = match kind {
        _ if kind.is_file() => return Ok(()),
        _ if kind.is_dir() => "a directory",
        _ if kind.is_fifo() => "a pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(Problem::Special(kind))
}

/// The one reading of a whole file.
struct Scan {
    source: Source,
    columns: Vec<String>,
    format: Format,
    limits: Limits,
    reader: Reader,
    index: Index,
    /// The rows up to here, or the last one if they have become too large.
    values: Values,
    is_held: bool,
    /// The byte and the line breaks that it has come to.
    at: u64,
    lines: u64,
    unusable_lines: u64,
    /// The text and the meaning of the first absolute URL's server.
    site: Option<(Vec<u8>, HttpUrl)>,
}

impl Scan {
    fn begin(
        source: Source,
        file: &Path,
        format: DataFormat,
        limits: Limits,
    ) -> Result<Scan, Fault> {
        let whole = |problem| Fault::whole(file, problem);
        let size = source.length().min(HEAD_BYTES as u64) as usize;
        let mut head = vec![0; size];
        source.read(&mut head, 0).map_err(whole)?;
        let is_whole = size as u64 == source.length();
        let beginning = format::beginning(format, &head, is_whole);
        let beginning = beginning.map_err(|wrong| wrong.on_line(1).of(file))?;
        Ok(Scan {
            is_held: source.length() <= limits.held_bytes as u64,
            source,
            columns: beginning.columns,
            format: beginning.format,
            limits,
            reader: Reader::default(),
            index: Index::new(limits.entries),
            values: Values::default(),
            at: beginning.rows_at as u64,
            lines: beginning.lines,
            unusable_lines: 0,
            site: None,
        })
    }

    /// A step through this file.
    fn next(&mut self, file: &Path) -> Result<(), Fault> {
        self.step().map_err(|wrong| wrong.on_line(self.lines + 1).of(file))
    }

    fn is_unfinished(&self) -> bool {
        self.at < self.source.length()
    }

    /// One row, or one line that is no row.
    fn step(&mut self) -> Result<(), Wrong> {
        if !self.is_held {
            self.values.clear();
        }
        let (at, ahead) = (self.at, self.limits.block_bytes);
        let step = self.reader.step(&self.source, &self.format, at, ahead, &mut self.values)?;
        let length = match step {
            Step::Row { length, lines } => {
                if let Format::Urls = self.format {
                    check_site(&self.reader.from(at)[..length], &mut self.site)?;
                }
                self.index.push(at);
                if self.is_held && self.values.bytes() > self.limits.held_bytes {
                    self.is_held = false;
                    self.values = Values::default();
                }
                self.lines += lines;
                length
            }
            Step::Skip { length } | Step::Unusable { length } => {
                self.unusable_lines += u64::from(matches!(step, Step::Unusable { .. }));
                self.lines += 1;
                length
            }
            // The reader gives either more or a fault.
            Step::More => return Err(Problem::Long.into()),
        };
        self.at += length as u64;
        Ok(())
    }

    fn finish(mut self, set: &DataSet) -> Result<Table, Problem> {
        self.source.check()?;
        let rows = self.index.rows();
        if rows == 0 {
            return Err(match set.format {
                DataFormat::Csv => Problem::HeaderAlone,
                _ if self.unusable_lines > 0 => Problem::NoRequest,
                _ => Problem::Empty,
            });
        }
        self.values.shrink();
        Ok(Table {
            file: set.file.clone(),
            format: self.format,
            store: match self.is_held {
                true => Store::Held(self.values),
                false => Store::Filed(self.source, self.index),
            },
            limits: self.limits,
            rows,
            unusable_lines: self.unusable_lines,
            site: self.site.map(|(_, url)| url),
        })
    }
}

/// Compares the server of a row's absolute URL with that of the first one.
fn check_site(row: &[u8], first: &mut Option<(Vec<u8>, HttpUrl)>) -> Result<(), Problem> {
    let Some(site) = urls::site(row) else { return Ok(()) };
    let Some((text, expected)) = first else {
        *first = Some((site.to_vec(), urls::parse_site(site)?));
        return Ok(());
    };
    // Nearly always the same text.
    if text == site {
        return Ok(());
    }
    let found = urls::parse_site(site)?;
    let parts = |url: &HttpUrl| (url.is_https, url.host.clone(), url.port);
    match parts(&found) == parts(expected) {
        true => Ok(()),
        false => Err(Problem::Origin { found: shown(site), expected: shown(text) }),
    }
}
