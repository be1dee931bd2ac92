//! Runs of single requests, to look at: what went over the connection, and how each request ended.

use std::net::IpAddr;
use std::path::Path;

use candor_engine::{Exchange, Exchanges, Observer};
use candor_record::Traced;

use crate::console;

/// Keeps the exchanges of a run, and how each request ended.
#[derive(Default)]
pub(crate) struct Onlooker {
    exchanges: Exchanges,
    traced: Vec<Traced>,
    is_silent: bool,
}

/// An exchange and its end.
pub(crate) struct Exchanged {
    pub(crate) exchange: Exchange,
    pub(crate) end: Traced,
}

impl Observer for Onlooker {
    fn goes_public(&mut self, host: &str, addresses: &[IpAddr]) {
        if !self.is_silent {
            console::public_target(host, addresses);
        }
    }

    fn leaves_out(&mut self, file: &Path, lines: u64) {
        console::lines_left_out(file, lines);
    }

    fn exchanges(&self) -> Option<Exchanges> {
        Some(self.exchanges.clone())
    }

    fn traced(&mut self, requests: &[Traced]) {
        self.traced.extend(requests.iter().filter(|one| one.was_sent()));
    }
}

impl Onlooker {
    /// Keeps bodies of up to this many bytes whole, and prints nothing.
    pub(crate) fn silent(most_body_bytes: usize) -> Self {
        let exchanges = Exchanges::whole(most_body_bytes);
        Onlooker { exchanges, traced: Vec::new(), is_silent: true }
    }

    /// The exchanges with their ends. One request at a time is under way, so both lists have the same order.
    pub(crate) fn exchanged(self) -> Vec<Exchanged> {
        let exchanges = self.exchanges.take().into_iter();
        exchanges.zip(self.traced).map(|(exchange, end)| Exchanged { exchange, end }).collect()
    }
}
