//! A connection that is over at a time: whatever the other side does, no read and no write ends later.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

pub(super) struct Timed {
    stream: TcpStream,
    until: Instant,
}

impl Timed {
    pub(super) fn new(stream: TcpStream, until: Instant) -> Self {
        Timed { stream, until }
    }

    /// No more is written.
    pub(super) fn shut(&self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }
}

/// The time until then; an error if there is none.
pub(super) fn left(until: Instant) -> io::Result<Duration> {
    match until.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        left => Ok(left),
    }
}

/// A call that the kernel gave up in time has the name that says so.
fn named(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}

impl Read for Timed {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        loop {
            self.stream.set_read_timeout(Some(left(self.until)?))?;
            match self.stream.read(part) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done.map_err(named),
            }
        }
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.until)?))?;
        self.stream.write(bytes).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
