//! How requests leave: chunks, pieces, bodies that wait or break off, and what these exclude.

use crate::error::{PlanError, conflict, value};
use crate::options::{Options, RequestOptions};
use crate::units::NS_PER_S;
use crate::values::{Header, PositiveNanos, Size, SmallCount};
use crate::work::{Delivery, Pieces, Request};

/// The same as curl's.
const DEFAULT_CONTINUE_NS: u64 = NS_PER_S;
const DEFAULT_GAP_NS: u64 = NS_PER_S / 1000;

/// How the request of `table` leaves. Missing keys are taken from the top level, those for bodies
/// only if the request has one.
pub(super) fn delivery(
    options: &Options,
    table: &RequestOptions,
    headers: &[Header],
    body_bytes: usize,
) -> Result<Delivery, PlanError> {
    // If there is only one request, it must support the options of the top level; among several,
    // each must only support those of its own table.
    let is_only = options.requests.request.is_empty();
    let applies = |own: bool| own || is_only || body_bytes > 0;
    let chunk =
        table.chunked.or(options.requests.chunked).filter(|_| applies(table.chunked.is_some()));
    let waits = table.expect_continue.unwrap_or(options.requests.expect_continue)
        && applies(table.expect_continue.is_some());
    let break_off = table
        .break_off_after
        .or(options.requests.break_off_after)
        .filter(|_| applies(table.break_off_after.is_some()));
    Ok(Delivery {
        chunk_bytes: chunk.map(|size| chunk_bytes(size, headers)).transpose()?,
        pieces: pieces(options, table)?,
        continue_ns: waits.then(|| continue_ns(options, headers)).transpose()?,
        break_off_after: break_off.map(|Size(bytes)| bytes),
    })
}

fn chunk_bytes(Size(bytes): Size, headers: &[Header]) -> Result<u64, PlanError> {
    if headers.iter().any(|one| one.name().eq_ignore_ascii_case("content-length")) {
        let why = "a chunked body has no Content-Length; leave the header out";
        return Err(conflict("--chunked", "a Content-Length header", why));
    }
    Ok(bytes)
}

fn continue_ns(options: &Options, headers: &[Header]) -> Result<u64, PlanError> {
    if headers.iter().any(|one| one.name().eq_ignore_ascii_case("expect")) {
        let why = "it sends the header itself; leave the header out";
        return Err(conflict("--expect-continue", "an Expect header", why));
    }
    Ok(options.timeouts.continue_timeout.map_or(DEFAULT_CONTINUE_NS, PositiveNanos::get))
}

fn pieces(options: &Options, table: &RequestOptions) -> Result<Option<Pieces>, PlanError> {
    let count = table.pieces.or(options.requests.pieces).map(SmallCount::get);
    let gap = table.piece_gap.or(options.requests.piece_gap);
    let is_asked_here = table.piece_gap.is_some() || options.requests.request.is_empty();
    if count.is_none() && gap.is_some() && is_asked_here {
        return Err(value("--piece-gap", "there are no pieces; add --pieces, or leave it out"));
    }
    let gap_ns = gap.map_or(DEFAULT_GAP_NS, PositiveNanos::get);
    Ok(count.filter(|count| *count > 1).map(|count| Pieces { count, gap_ns }))
}

/// `--continue-timeout` needs a request with `--expect-continue`.
pub(super) fn check(options: &Options, requests: &[Request]) -> Result<(), PlanError> {
    if options.timeouts.continue_timeout.is_some()
        && requests.iter().all(|one| one.delivery.continue_ns.is_none())
    {
        return Err(value(
            "--continue-timeout",
            "it is for --expect-continue; add that, or leave it out",
        ));
    }
    Ok(())
}
