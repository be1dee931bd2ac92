//! `prometheus:ADDRESS`: the totals of a run at an address where Prometheus scrapes them. They are those of the intervals
//! that are over, so a scrape that is lost loses nothing; at the end they are those of the result. With `--linger` they
//! stay until they were scraped once more.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use candor_record::{RunRecord, Stretch};
use candor_report::Document;
use candor_report::document::EndReason;

use super::scrape::{Board, serve};
use super::totals::Totals;
use super::{addresses, place};
use crate::exit::UserError;
use crate::outputs::{Making, Output};
use crate::{console, signals};

pub(in crate::outputs) const NAME: &str = "prometheus";
/// The time between two looks at whether the final values were scraped.
const LOOK: Duration = Duration::from_millis(20);

struct Prometheus {
    board: Arc<Board>,
    linger: Option<Duration>,
}

/// Listens at the place.
pub(in crate::outputs) fn make(to: &Making<'_>) -> Result<Box<dyn Output>, UserError> {
    let text = place(NAME, to.place, "127.0.0.1:9464")?;
    let failed = |error| {
        UserError::usage(format!(
            "--out {NAME}:{text}: cannot listen: {error}; nothing was run, choose another address"
        ))
    };
    let listener = TcpListener::bind(&addresses(NAME, text)?[..]).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let board = Arc::new(Board::new(to.tags.to_vec()));
    serve(listener, &board).map_err(failed)?;
    if text.rsplit(':').next() == Some("0") {
        console::say(format_args!("candor: the metrics are at http://{address}/metrics"));
    }
    Ok(Box::new(Prometheus { board, linger: to.linger_ns.map(Duration::from_nanos) }))
}

impl Output for Prometheus {
    fn stretch(&mut self, stretch: &Stretch<'_>) {
        self.board.totals().add(stretch.interval);
    }

    fn settle(&mut self, record: &mut RunRecord) {
        *self.board.totals() = Totals::whole(&record.total);
    }

    fn end(self: Box<Self>, document: &Document) -> Result<(), UserError> {
        self.board.totals().end(&document.expectations);
        if let Some(why) = self.board.given_up() {
            console::say(format_args!("candor: scrapes of the metrics were given up: {why}"));
        }
        Ok(())
    }

    fn lingering(&self) -> Option<Lingering> {
        Some(Lingering { board: Arc::clone(&self.board), at_most: self.linger? })
    }
}

/// Final values that stay until they were scraped.
pub(crate) struct Lingering {
    board: Arc<Board>,
    at_most: Duration,
}

impl Lingering {
    /// Waits for the scrape, but not beyond its limit, and not after a signal.
    pub(crate) fn wait(self, document: &Document) {
        if document.end.reason == EndReason::Interrupted {
            return;
        }
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopped);
        signals::on_signal(move || stop.store(true, Ordering::SeqCst));
        let until = Instant::now() + self.at_most;
        if !self.board.is_seen() {
            console::say("candor: waiting until the final metrics are scraped; a signal ends it");
        }
        while !self.board.is_seen() && !stopped.load(Ordering::SeqCst) && Instant::now() < until {
            thread::sleep(LOOK);
        }
        if !self.board.is_seen() {
            console::say("candor: the final metrics were not scraped");
        }
    }
}
