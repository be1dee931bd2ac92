//! The terminal of a live view: takes it, writes to it without waiting, and restores it.
//!
//! The view is on the alternate screen, so that it disappears without a trace. Other output is held
//! back until the terminal is restored, because it would disappear with the view. The terminal is
//! restored at the end of the view, on a panic, or by `signals` before a signal ends the process,
//! whichever comes first.
//!
//! A terminal may stop reading. This module never waits for it: it opens the terminal a second
//! time, so that only its own writes are non-blocking, and not those of other processes that share
//! our standard error.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::panic;
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcgetpgrp, tcgetwinsize, tcsetattr,
};

/// Switches to the alternate screen and hides the cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l";
/// Switches back. The first byte ends a sequence that may have been cut off.
const LEAVE: &[u8] = b"\x18\x1b[0m\x1b[?25h\x1b[?1049l";
/// The most text to hold back; beyond it, only the last text is kept.
const MOST_HELD: usize = 1 << 20;
/// A control character that no key sends.
const DISABLED: u8 = 0;
/// The number of attempts, and the time between them, to restore a terminal that has stopped reading.
const TRIES: u32 = 40;
const AGAIN: Duration = Duration::from_millis(5);

/// The destination of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// A terminal taken by the view.
struct Taken {
    tty: File,
    before: Termios,
    held: Vec<(Stream, String)>,
    held_bytes: usize,
}

static TAKEN: Mutex<Option<Taken>> = Mutex::new(None);

/// Whether a view is possible: the standard error is a terminal that supports control sequences, and
/// this process is in its foreground.
pub(crate) fn is_possible() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    io::stderr().is_terminal() && !is_dumb && is_foreground(io::stderr().as_fd())
}

/// A process in the background would be stopped for changing its terminal or reading from it.
fn is_foreground(tty: BorrowedFd<'_>) -> bool {
    match tcgetpgrp(tty) {
        Ok(group) => group == getpgrp(),
        // It is not the terminal of our session, so job control does not apply.
        Err(errno) => errno == Errno::NOTTY,
    }
}

/// Keys and size of the taken terminal.
pub(crate) struct Keyboard(File);

/// Takes the terminal. Keys arrive one by one and are not echoed. Keys for signals keep working, except
/// for the one that suspends, which the view handles.
pub(crate) fn take() -> io::Result<Keyboard> {
    let tty = open()?;
    if !is_foreground(tty.as_fd()) {
        return Err(io::Error::other("it is not in the foreground"));
    }
    let before = tcgetattr(&tty)?;
    let mut modes = before.clone();
    modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    modes.special_codes[SpecialCodeIndex::VSUSP] = DISABLED;
    let keyboard = Keyboard(tty.try_clone()?);
    restore_on_panic();
    let mut taken = lock();
    tcsetattr(&tty, OptionalActions::Now, &modes)?;
    let taken = taken.insert(Taken { tty, before, held: Vec::new(), held_bytes: 0 });
    write_all(&taken.tty, ENTER);
    Ok(keyboard)
}

/// Opens the terminal of the standard error a second time, so that only our writes are
/// non-blocking.
fn open() -> io::Result<File> {
    let mut options = OpenOptions::new();
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    options.read(true).write(true).custom_flags(flags.bits().cast_signed());
    // Another user's terminal (after su) can only be opened as /dev/tty.
    let tty = options.open("/proc/self/fd/2").or_else(|_| options.open("/dev/tty"))?;
    match tty.is_terminal() {
        true => Ok(tty),
        false => Err(io::Error::other("it is no terminal")),
    }
}

/// Restores the terminal, if taken, and prints the output held back.
pub(crate) fn leave() {
    let taken = lock().take();
    for (stream, text) in taken.map_or_else(Vec::new, Taken::restore) {
        let _ = match stream {
            Stream::Out => io::stdout().lock().write_all(text.as_bytes()),
            Stream::Err => io::stderr().lock().write_all(text.as_bytes()),
        };
    }
}

/// Restores the terminal before the process ends at once. Does not print the output held back,
/// which the terminal may not accept.
pub(crate) fn restore() {
    let taken = lock().take();
    drop(taken.map(Taken::restore));
}

impl Taken {
    /// Returns the output held back.
    fn restore(self) -> Vec<(Stream, String)> {
        if !write_all(&self.tty, LEAVE) {
            // The terminal has stopped reading: dropping the unread part of the pictures makes
            // room.
            let _ = tcflush(&self.tty, QueueSelector::OFlush);
            write_all(&self.tty, LEAVE);
        }
        if is_foreground(self.tty.as_fd()) {
            let _ = tcsetattr(&self.tty, OptionalActions::Now, &self.before);
        }
        self.held
    }
}

/// Holds text back if a view has its terminal; returns whether it did.
pub(crate) fn hold(stream: Stream, text: &str) -> bool {
    let mut taken = lock();
    let Some(taken) = &mut *taken else { return false };
    if stream == Stream::Out && !io::stdout().is_terminal() {
        return false;
    }
    taken.held.push((stream, text.to_owned()));
    taken.held_bytes += text.len();
    while taken.held_bytes > MOST_HELD && taken.held.len() > 1 {
        taken.held_bytes -= taken.held.remove(0).1.len();
    }
    true
}

/// Writes as many of the bytes as the terminal accepts now; `None` if the view no longer has it.
pub(crate) fn write(bytes: &[u8]) -> Option<usize> {
    let taken = lock();
    Some((&taken.as_ref()?.tty).write(bytes).unwrap_or(0))
}

impl Keyboard {
    /// Waits for keys, at most for `patience`, and returns them.
    pub(crate) fn keys(&self, patience: Duration) -> Vec<u8> {
        let mut ready = [PollFd::new(&self.0, PollFlags::IN)];
        let wait = Timespec { tv_sec: 0, tv_nsec: patience.as_nanos() as _ };
        let seen = poll(&mut ready, Some(&wait)).unwrap_or(0);
        if seen == 0 {
            return Vec::new();
        }
        let mut bytes = [0; 64];
        let flags = ready[0].revents();
        match flags.contains(PollFlags::IN) && is_foreground(self.0.as_fd()) {
            true => {
                let count = (&self.0).read(&mut bytes).unwrap_or(0);
                bytes[..count].to_vec()
            }
            false => {
                // The terminal hung up, or another process is in the foreground: poll would keep
                // returning at once.
                thread::sleep(patience);
                Vec::new()
            }
        }
    }

    /// As [`size`].
    pub(crate) fn size(&self) -> (u16, u16) {
        size(&self.0)
    }
}

/// Columns and rows of a terminal; 80 and 24 if unknown.
pub(crate) fn size(terminal: impl AsFd) -> (u16, u16) {
    let known = tcgetwinsize(terminal).ok().map(|size| (size.ws_col, size.ws_row));
    let or = |size: u16, usual: u16| if size == 0 { usual } else { size };
    known.map_or((80, 24), |(columns, rows)| (or(columns, 80), or(rows, 24)))
}

/// Writes a few bytes, waiting a little if necessary; returns whether it wrote them all.
fn write_all(mut tty: &File, mut bytes: &[u8]) -> bool {
    for _ in 0..TRIES {
        match tty.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(AGAIN),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
        if bytes.is_empty() {
            return true;
        }
    }
    false
}

fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            // The panicking thread may hold the lock in the middle of a write.
            for _ in 0..TRIES {
                let taken = match TAKEN.try_lock() {
                    Ok(mut taken) => taken.take(),
                    Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().take(),
                    Err(TryLockError::WouldBlock) => {
                        thread::sleep(AGAIN);
                        continue;
                    }
                };
                drop(taken.map(Taken::restore));
                break;
            }
            usual(what);
        }));
    });
}

fn lock() -> MutexGuard<'static, Option<Taken>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}
