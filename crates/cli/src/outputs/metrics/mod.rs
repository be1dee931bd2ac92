//! A run as metrics while it goes on: `prometheus`, which is asked, and the others, which send.
//!
//! All take finished intervals from the collecting thread; the names, units and kinds of their metrics are in one table, in
//! `totals`. Workers know nothing of them, and no reader or receiver can delay the run: who asks meets threads of the lowest
//! priority, and what is sent waits in a bounded queue or not at all.

mod call;
pub(super) mod influx;
mod message;
pub(super) mod otlp;
mod post;
pub(super) mod prometheus;
mod protobuf;
mod pushed;
pub(super) mod remote_write;
mod scrape;
pub(super) mod statsd;
mod text;
mod timed;
mod totals;

use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};

use candor_plan::{Outputs, Place, Tag};
use candor_record::{ErrorKind, Ledger};

use crate::exit::UserError;

/// The lowest priority, of threads beside a run.
const NICEST: i32 = 19;
/// The most tags of a run. Each metric has all of them.
const MOST_TAGS: usize = 16;

/// Refuses tags that metrics cannot have, and flags of metrics without any.
pub(super) fn check(asked: &Outputs) -> Result<(), UserError> {
    let has = |kinds: &[&str]| asked.list.iter().any(|out| kinds.contains(&out.kind.as_str()));
    if asked.linger_ns.is_some() && !has(&[prometheus::NAME]) {
        return Err(UserError::usage(
            "--linger is for metrics that are scraped, and there are none; add --out prometheus:ADDRESS, or leave it out",
        ));
    }
    if asked.tags.len() > MOST_TAGS {
        return Err(UserError::usage(format!(
            "--tag: {} tags; a run has at most {MOST_TAGS}, leave some out",
            asked.tags.len()
        )));
    }
    for (at, tag) in asked.tags.iter().enumerate() {
        if asked.tags[..at].iter().any(|other| other.name == tag.name) {
            return Err(UserError::usage(format!(
                "--tag {}: there are two of this name; leave one out",
                tag.name
            )));
        }
    }
    Ok(())
}

/// The text behind the kind of an output.
fn place<'p>(kind: &str, place: &'p Place, example: &str) -> Result<&'p str, UserError> {
    let text = match place {
        Place::File(path) => path.to_str(),
        Place::Stdout => None,
    };
    text.ok_or_else(|| {
        UserError::usage(format!("--out {kind} needs an address; write e.g. {kind}:{example}"))
    })
}

/// The addresses of `HOST:PORT`, or of a port of this machine.
fn addresses(kind: &str, text: &str) -> Result<Vec<SocketAddr>, UserError> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(vec![(Ipv4Addr::LOCALHOST, port).into()]);
    }
    let found = text.to_socket_addrs().map(Vec::from_iter).unwrap_or_default();
    match found.is_empty() {
        false => Ok(found),
        true => Err(UserError::usage(format!(
            "--out {kind}:{text}: not an address of a host that is known here; write a port, or HOST:PORT"
        ))),
    }
}

/// The outcomes of requests by name; together they are all that were scheduled, once a run is over.
fn outcomes(ledger: &Ledger) -> impl Iterator<Item = (&'static str, u64)> + '_ {
    let others = [
        ("ok", ledger.ok),
        ("broken-off", ledger.broken_off),
        ("shed", ledger.shed),
        ("unsent", ledger.unsent),
        ("unfinished", ledger.unfinished),
        ("unaccounted", ledger.unaccounted),
    ];
    others.into_iter().chain(errors(ledger))
}

/// The errors of requests by name.
fn errors(ledger: &Ledger) -> impl Iterator<Item = (&'static str, u64)> + '_ {
    ErrorKind::ALL.into_iter().map(|kind| (kind.id(), ledger.error(kind)))
}

/// All tags in one text.
fn joined(tags: &[Tag], between: &str, one: impl Fn(&Tag) -> String) -> String {
    tags.iter().map(one).collect::<Vec<_>>().join(between)
}
