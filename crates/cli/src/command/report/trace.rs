//! `candor report` of a trace: as CSV, or as a summary. Only one block at a time is in memory.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use candor_record::trace::format::{FRAME_HEAD_BYTES, Frame, FrameHead, MAGIC};
use candor_render::trace::{CSV_COLUMNS, Summary, csv_rows};

use super::Format;
use crate::console;
use crate::exit::UserError;

/// A trace's file, read past its magic bytes; `None` if it is something else.
pub(super) fn open(path: &Path) -> io::Result<Option<BufReader<File>>> {
    let mut file = BufReader::new(File::open(path)?);
    let mut magic = [0; MAGIC.len()];
    match file.read_exact(&mut magic) {
        Ok(()) if &magic == MAGIC => Ok(Some(file)),
        Ok(()) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Prints the trace. A truncated trace is printed as far as it goes, and then is a failure.
pub(super) fn print(file: impl Read, format: Format, path: &Path) -> Result<(), UserError> {
    if !matches!(format, Format::Text | Format::Csv) {
        return Err(UserError::usage(format!(
            "{} is a trace; it can be printed with --format csv or text",
            path.display()
        )));
    }
    let mut frames = Frames { file, at: MAGIC.len() as u64 };
    let mut summary = Summary::default();
    if format == Format::Csv {
        console::print(&format!("{CSV_COLUMNS}\n"))?;
    }
    let ending = loop {
        match frames.next() {
            Ok(Some(Frame::Requests(requests))) => {
                summary.add(&requests);
                if format == Format::Csv {
                    console::print(&csv_rows(&requests, summary.head()))?;
                }
            }
            Ok(Some(Frame::Head(head))) => summary.begin(head),
            Ok(Some(Frame::End(end))) => {
                summary.end(end);
                break Ok(());
            }
            Ok(None) => break Err("it ends in the middle of a block".to_owned()),
            Err(why) => break Err(why),
        }
    };
    if format == Format::Text {
        console::print(&summary.text())?;
    }
    ending.map_err(|why| {
        UserError::could_not_run(format!(
            "the trace {} is cut off: {why}, at byte {}; the {} requests before that are complete",
            path.display(),
            frames.at,
            summary.requests()
        ))
    })
}

struct Frames<R> {
    file: R,
    /// The offset of the next frame.
    at: u64,
}

impl<R: Read> Frames<R> {
    /// The next frame; `None` if there is no further complete one.
    fn next(&mut self) -> Result<Option<Frame>, String> {
        let mut head = [0; FRAME_HEAD_BYTES];
        if !self.fill(&mut head)? {
            return Ok(None);
        }
        let damaged = |_| "what follows is damaged".to_owned();
        let head = FrameHead::parse(head).map_err(damaged)?;
        let mut payload = vec![0; head.length];
        if !self.fill(&mut payload)? {
            return Ok(None);
        }
        let frame = head.frame(&payload).map_err(damaged)?;
        self.at += (FRAME_HEAD_BYTES + head.length) as u64;
        Ok(Some(frame))
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<bool, String> {
        match self.file.read_exact(bytes) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(format!("it cannot be read further ({error})")),
        }
    }
}
