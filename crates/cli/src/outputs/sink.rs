//! Writes bytes during a run: in a thread of its own, behind a bounded channel.
//!
//! A disk may be full, and the reader of a pipe may have stopped. Then the channel fills up, and
//! further bytes are dropped and counted. Offering bytes never blocks.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// The longest wait at the end for unwritten bytes. A reader that accepts nothing for longer has
/// stopped.
const PATIENCE: Duration = Duration::from_secs(2);
/// The time between two attempts while the channel is full at the end.
const AGAIN: Duration = Duration::from_millis(1);
/// The time between two looks at whether to wait at all.
const LOOK: Duration = Duration::from_millis(20);

/// Some bytes, and the number of their items.
type Piece = (Vec<u8>, u64);

/// What a sink writes to.
pub(super) trait Target: Send + 'static {
    /// Takes a piece with `items` items.
    fn put(&mut self, bytes: &[u8], items: u64) -> io::Result<()>;

    /// A piece failed, after `bytes` that stand in whole pieces: removes the rest, where there is a way.
    fn cut(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// There are no more pieces.
    fn finish(&mut self) {}
}

fn write(mut to: impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}

impl Target for io::Stdout {
    fn put(&mut self, bytes: &[u8], _: u64) -> io::Result<()> {
        write(self, bytes)
    }
}

impl Target for File {
    fn put(&mut self, bytes: &[u8], _: u64) -> io::Result<()> {
        write(self, bytes)
    }

    fn cut(&mut self, bytes: u64) {
        // A pipe or a device cannot, and what was read of it is read.
        let _ = self.set_len(bytes);
    }
}

/// A writer to a file, a pipe or a terminal.
pub(super) struct Sink {
    out: SyncSender<Piece>,
    ended: Receiver<Option<io::Error>>,
    /// Items that were written.
    written: Arc<AtomicU64>,
    /// Items dropped for lack of room.
    dropped: u64,
}

/// The fate of the items offered to a sink.
#[derive(Debug)]
pub(super) struct Drained {
    /// Items that were written.
    pub(super) written: u64,
    /// Why some accepted items were not written.
    pub(super) error: Option<io::Error>,
}

impl Sink {
    /// Writes to `to`, with room for `pieces` pieces.
    pub(super) fn new(mut to: impl Target, pieces: usize) -> io::Result<Self> {
        let (out, pending) = sync_channel::<Piece>(pieces);
        let (end, ended) = sync_channel(1);
        let written = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&written);
        thread::Builder::new().name("output".to_owned()).spawn(move || {
            let mut whole = 0;
            let mut write = |to: &mut dyn Target| -> io::Result<()> {
                for (bytes, items) in &pending {
                    to.put(&bytes, items)?;
                    whole += bytes.len() as u64;
                    counted.fetch_add(items, Ordering::Relaxed);
                }
                Ok(())
            };
            let error = write(&mut to).err();
            match &error {
                Some(_) => to.cut(whole),
                None => to.finish(),
            }
            let _ = end.send(error);
        })?;
        Ok(Sink { out, ended, written, dropped: 0 })
    }

    /// Offers bytes with `items` items. Without room, they are dropped.
    pub(super) fn offer(&mut self, bytes: Vec<u8>, items: u64) {
        if self.out.try_send((bytes, items)).is_err() {
            self.dropped += items;
        }
    }

    /// Items that were dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Offers the `last` bytes, and waits until everything is written, but not forever.
    pub(super) fn end(self, last: Vec<u8>) -> Drained {
        self.end_unless(last, || false)
    }

    /// The same, and waits no longer once `stopped`.
    pub(super) fn end_unless(self, last: Vec<u8>, stopped: impl Fn() -> bool) -> Drained {
        let Sink { out, ended, written, .. } = self;
        let until = Instant::now() + PATIENCE;
        let mut piece = (last, 0);
        while let Err(TrySendError::Full(again)) = out.try_send(piece) {
            if Instant::now() >= until || stopped() {
                break;
            }
            piece = again;
            thread::sleep(AGAIN);
        }
        drop(out);
        let error = loop {
            let left = until.saturating_duration_since(Instant::now());
            match ended.recv_timeout(left.min(LOOK)) {
                Ok(error) => break error,
                Err(RecvTimeoutError::Timeout) if stopped() => {
                    break Some(io::Error::other("a signal ended the wait"));
                }
                Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
                Err(RecvTimeoutError::Timeout) => {
                    let why = format!("it accepted nothing for {} s", PATIENCE.as_secs());
                    break Some(io::Error::other(why));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    break Some(io::Error::other("its thread failed"));
                }
            }
        };
        Drained { written: written.load(Ordering::Relaxed), error }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// Writes nothing until it is allowed to.
    struct Gate(Receiver<()>);

    impl Target for Gate {
        fn put(&mut self, _: &[u8], _: u64) -> io::Result<()> {
            self.0.recv().map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
        }
    }

    #[test]
    fn who_offers_does_not_wait_and_what_is_dropped_is_counted() {
        let (open, gate) = channel();
        let mut sink = Sink::new(Gate(gate), 4).unwrap();
        (0..1000).for_each(|_| sink.offer(b"line\n".to_vec(), 3));
        let dropped = sink.dropped();
        // Four, and one more if the thread has already taken it.
        assert!((3 * 995..=3 * 996).contains(&dropped), "{dropped}");
        (0..10).for_each(|_| open.send(()).unwrap());
        let Drained { written, error } = sink.end(b"end\n".to_vec());
        assert!(error.is_none() && written == 3000 - dropped, "{written} {error:?}");
    }

    #[test]
    fn it_ends_whoever_reads() {
        let (open, gate) = channel();
        let mut sink = Sink::new(Gate(gate), 1).unwrap();
        (0..5).for_each(|_| sink.offer(b"line\n".to_vec(), 1));
        let begun = Instant::now();
        let Drained { written, error } = sink.end(b"end\n".to_vec());
        assert!(error.is_some() && written == 0);
        assert!(begun.elapsed() < PATIENCE + Duration::from_secs(1));
        drop(open);
    }

    #[test]
    fn who_is_stopped_does_not_wait() {
        let (open, gate) = channel();
        let mut sink = Sink::new(Gate(gate), 1).unwrap();
        (0..3).for_each(|_| sink.offer(b"line\n".to_vec(), 1));
        let Drained { written, error } = sink.end_unless(b"end\n".to_vec(), || true);
        assert_eq!(
            (written, error.unwrap().to_string()),
            (0, "a signal ended the wait".to_owned())
        );
        drop(open);
    }

    /// A file that may not grow beyond a length, as on a full disk.
    struct Full(File, usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.1);
            self.1 -= count;
            match count {
                0 => Err(io::ErrorKind::StorageFull.into()),
                _ => self.0.write(&bytes[..count]),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Target for Full {
        fn put(&mut self, bytes: &[u8], _: u64) -> io::Result<()> {
            write(self, bytes)
        }

        fn cut(&mut self, bytes: u64) {
            self.0.cut(bytes);
        }
    }

    #[test]
    fn what_could_be_written_stands_in_whole_pieces_and_the_rest_is_counted_with_its_cause() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lines");
        let full = Full(File::create(&path).unwrap(), 13);
        let mut sink = Sink::new(full, 100).unwrap();
        (0..9).for_each(|_| sink.offer(b"line\n".to_vec(), 1));
        let Drained { written, error } = sink.end(b"end\n".to_vec());
        assert_eq!(std::fs::read(&path).unwrap(), b"line\nline\n");
        assert_eq!(written, 2);
        assert_eq!(error.map(|error| error.kind()), Some(io::ErrorKind::StorageFull));
    }

    #[test]
    fn a_reader_that_is_gone_is_told_of() {
        let (open, gate) = channel::<()>();
        let mut sink = Sink::new(Gate(gate), 4).unwrap();
        sink.offer(b"line\n".to_vec(), 1);
        drop(open);
        let Drained { written, error } = sink.end(Vec::new());
        let gone = error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        assert!(gone && written == 0);
    }
}
