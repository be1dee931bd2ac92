//! Answers scrapes: a few threads of the lowest priority, each with one connection at a time, and little time and memory
//! for it. Whoever connects can delay other scrapers, by no more than that time for each thread, and nothing else.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use candor_plan::Tag;
use rustix::process::setpriority_process;
use rustix::thread::gettid;

use super::timed::Timed;
use super::totals::Totals;
use super::{NICEST, protobuf, text};

/// Connections that are served at the same time.
const THREADS: usize = 4;
/// The most time for a scrape, from its connection to its end.
const LIMIT: Duration = Duration::from_secs(2);
/// The most bytes of its request.
const REQUEST_BYTES: usize = 8192;
/// The wait before the next connection, if one could not be taken.
const AGAIN: Duration = Duration::from_millis(20);

/// What collector and scrapers share.
#[derive(Debug)]
pub(super) struct Board {
    totals: Mutex<Totals>,
    tags: Vec<Tag>,
    is_seen: AtomicBool,
    slow: AtomicU64,
    long: AtomicU64,
}

impl Board {
    pub(super) fn new(tags: Vec<Tag>) -> Self {
        Board {
            totals: Mutex::default(),
            tags,
            is_seen: AtomicBool::new(false),
            slow: AtomicU64::new(0),
            long: AtomicU64::new(0),
        }
    }

    /// The totals; only copied and added to while they are held.
    pub(super) fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the final totals reached a scraper.
    pub(super) fn is_seen(&self) -> bool {
        self.is_seen.load(Ordering::SeqCst)
    }

    /// Scrapes that were given up, in words; `None`: there were none.
    pub(super) fn given_up(&self) -> Option<String> {
        let of = |count: &AtomicU64, why: String| {
            let count = count.load(Ordering::Relaxed);
            (count > 0).then(|| format!("{count} {why}"))
        };
        let slow = of(&self.slow, format!("took longer than {} s", LIMIT.as_secs()));
        let long = of(&self.long, format!("had more than {REQUEST_BYTES} bytes"));
        let all: Vec<String> = slow.into_iter().chain(long).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

/// Answers until the process ends.
pub(super) fn serve(listener: TcpListener, board: &Arc<Board>) -> io::Result<()> {
    let listener = Arc::new(listener);
    for _ in 0..THREADS {
        let (listener, board) = (Arc::clone(&listener), Arc::clone(board));
        let thread = thread::Builder::new().name("metrics".to_owned());
        thread.spawn(move || {
            // If the priority cannot be lowered, it stays.
            let _ = setpriority_process(Some(gettid()), NICEST);
            loop {
                match listener.accept() {
                    Ok((stream, _)) => {
                        answer(Scrape(Timed::new(stream, Instant::now() + LIMIT)), &board)
                    }
                    Err(_) => thread::sleep(AGAIN),
                }
            }
        })?;
    }
    Ok(())
}

fn answer(mut scrape: Scrape, board: &Board) {
    let done = match scrape.request() {
        Ok(Some(request)) => scrape.respond(&request, board),
        Ok(None) => {
            board.long.fetch_add(1, Ordering::Relaxed);
            // It need not read the response.
            let _ = scrape.send("431 Request Header Fields Too Large", text::TYPE, b"");
            return;
        }
        Err(error) => Err(error),
    };
    if done.is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
        board.slow.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether the scraper asks for protobuf: one that stores native histograms does.
fn takes_protobuf(request: &[u8]) -> bool {
    let request = String::from_utf8_lossy(request).to_ascii_lowercase();
    let mut fields = request.lines().filter_map(|line| line.strip_prefix("accept:"));
    fields.any(|value| value.contains("application/vnd.google.protobuf"))
}

struct Scrape(Timed);

impl Scrape {
    /// The head of the request; `None` if it is too long.
    fn request(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut request = Vec::new();
        let mut part = [0; 1024];
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            if request.len() > REQUEST_BYTES {
                return Ok(None);
            }
            match self.0.read(&mut part)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => request.extend_from_slice(&part[..count]),
            }
        }
        Ok(Some(request))
    }

    fn respond(&mut self, request: &[u8], board: &Board) -> io::Result<()> {
        let mut words = request.split(|byte| b" \r".contains(byte));
        let (method, target) = (words.next(), words.next().unwrap_or_default());
        let path = target.split(|byte| *byte == b'?').next();
        if path != Some(b"/metrics") {
            return self.send("404 Not Found", text::TYPE, b"the metrics are at /metrics\n");
        }
        if method != Some(b"GET") {
            return self.send("405 Method Not Allowed\r\nAllow: GET", text::TYPE, b"");
        }
        let totals = board.totals().clone();
        let (families, tags) = (totals.families(), &board.tags[..]);
        match takes_protobuf(request) {
            true => self.send("200 OK", protobuf::TYPE, &protobuf::bytes(&families, tags))?,
            false => self.send("200 OK", text::TYPE, text::text(&families, tags).as_bytes())?,
        }
        if totals.are_final() {
            board.is_seen.store(true, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Sends a response, and waits until the other side has closed the connection, so has read it.
    fn send(&mut self, status: &str, kind: &str, body: &[u8]) -> io::Result<()> {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        self.0.write_all(&[head.as_bytes(), body].concat())?;
        self.0.shut()?;
        let mut part = [0; 1024];
        while self.0.read(&mut part)? > 0 {}
        Ok(())
    }
}
