//! How requests leave: chunks, pieces, bodies that wait or break off, and what these exclude.

use super::conflict;
use crate::delivery::{Delivery, Pieces};
use crate::error::PlanError;
use crate::model::{HttpVersion, NS_PER_S, Request};
use crate::options::{Options, RequestOptions};
use crate::values::{Header, PositiveNanos, Size, SmallCount};

/// As curl's: a server that means to say something has said it by then.
const DEFAULT_CONTINUE_NS: u64 = NS_PER_S;
const DEFAULT_GAP_NS: u64 = NS_PER_S / 1000;

/// How the request of `table` leaves. What its own table does not say, the top level does, as far
/// as the request has a body.
pub(super) fn delivery(
    options: &Options,
    table: &RequestOptions,
    headers: &[Header],
    body_bytes: usize,
) -> Result<Delivery, PlanError> {
    // Alone, a request must be able to do what is asked; among others, only by its own table.
    let is_only = options.request.is_empty();
    let applies = |own: bool| own || is_only || body_bytes > 0;
    let chunk = table.chunked.or(options.chunked).filter(|_| applies(table.chunked.is_some()));
    let waits = table.expect_continue.unwrap_or(options.expect_continue)
        && applies(table.expect_continue.is_some());
    let break_off = table
        .break_off_after
        .or(options.break_off_after)
        .filter(|_| applies(table.break_off_after.is_some()));
    let no_body = |option| PlanError::Value {
        option,
        problem: "the request has no body; add --body or --body-file".to_owned(),
    };
    let of_bodies = [
        ("--chunked", chunk.is_some()),
        ("--expect-continue", waits),
        ("--break-off-after", break_off.is_some()),
    ];
    if let Some((option, _)) = of_bodies.into_iter().find(|(_, given)| *given && body_bytes == 0) {
        return Err(no_body(option));
    }
    let delivery = Delivery {
        chunk_bytes: chunk.map(|size| chunk_bytes(size, headers)).transpose()?,
        pieces: pieces(options, table)?,
        continue_ns: waits.then(|| continue_ns(options, headers)).transpose()?,
        break_off_after: break_off.map(|size| shorter(size, body_bytes)).transpose()?,
    };
    if delivery.pieces.is_some() && delivery.continue_ns.is_some() {
        let why = "each says when the body leaves; leave one of them out";
        return Err(conflict("--pieces", "--expect-continue", why));
    }
    Ok(delivery)
}

fn chunk_bytes(Size(bytes): Size, headers: &[Header]) -> Result<u64, PlanError> {
    if headers.iter().any(|one| one.name().eq_ignore_ascii_case("content-length")) {
        let why = "a body in chunks has no length in front; leave the header out";
        return Err(conflict("--chunked", "a Content-Length header", why));
    }
    match bytes {
        0 => Err(PlanError::Value {
            option: "--chunked",
            problem: "a chunk has at least one byte; write such as 256 or 4KiB".to_owned(),
        }),
        bytes => Ok(bytes),
    }
}

fn continue_ns(options: &Options, headers: &[Header]) -> Result<u64, PlanError> {
    if headers.iter().any(|one| one.name().eq_ignore_ascii_case("expect")) {
        let why = "it sends the header itself; leave the header out";
        return Err(conflict("--expect-continue", "an Expect header", why));
    }
    Ok(options.continue_timeout.map_or(DEFAULT_CONTINUE_NS, PositiveNanos::get))
}

fn pieces(options: &Options, table: &RequestOptions) -> Result<Option<Pieces>, PlanError> {
    let count = table.pieces.or(options.pieces).map(SmallCount::get);
    let gap = table.piece_gap.or(options.piece_gap);
    let is_asked_here = table.piece_gap.is_some() || options.request.is_empty();
    if count.is_none() && gap.is_some() && is_asked_here {
        return Err(PlanError::Value {
            option: "--piece-gap",
            problem: "there are no pieces; add --pieces, or leave it out".to_owned(),
        });
    }
    let gap_ns = gap.map_or(DEFAULT_GAP_NS, PositiveNanos::get);
    Ok(count.filter(|count| *count > 1).map(|count| Pieces { count, gap_ns }))
}

/// A body that breaks off is sent in part, and so was announced longer.
fn shorter(Size(bytes): Size, body_bytes: usize) -> Result<u64, PlanError> {
    if bytes < body_bytes as u64 {
        return Ok(bytes);
    }
    Err(PlanError::Value {
        option: "--break-off-after",
        problem: format!("the body has {body_bytes} bytes and would be sent whole; write less"),
    })
}

/// What the run as a whole says against it.
pub(super) fn check(
    options: &Options,
    http: HttpVersion,
    requests: &[Request],
) -> Result<(), PlanError> {
    if options.continue_timeout.is_some()
        && requests.iter().all(|one| one.delivery.continue_ns.is_none())
    {
        return Err(PlanError::Value {
            option: "--continue-timeout",
            problem: "no body waits to be asked for; add --expect-continue, or leave it out"
                .to_owned(),
        });
    }
    for one in requests {
        let delivery = one.delivery;
        let Some(option) = name(&delivery) else { continue };
        if http != HttpVersion::H1 {
            let why = "it is for HTTP/1.1, where a request is bytes on a connection; add --h1, or leave it out";
            return Err(conflict(option, "HTTP/2", why));
        }
        if options.script.is_some() {
            let why = "the script says itself what is written; leave one of them out";
            return Err(conflict(option, "--script", why));
        }
        if options.early_data {
            let why = "what may have to be sent again leaves in one go; leave one of them out";
            return Err(conflict(option, "--early-data", why));
        }
        if delivery.stops() && options.pipeline.is_some_and(|pipeline| pipeline.get() > 1) {
            let why =
                "what stops on its way would stop the requests behind it; leave one of them out";
            return Err(conflict(option, "--pipeline", why));
        }
    }
    Ok(())
}

/// The option that asked for it; those that stop go first.
fn name(delivery: &Delivery) -> Option<&'static str> {
    let asked = [
        ("--pieces", delivery.pieces.is_some()),
        ("--expect-continue", delivery.continue_ns.is_some()),
        ("--break-off-after", delivery.break_off_after.is_some()),
        ("--chunked", delivery.chunk_bytes.is_some()),
    ];
    asked.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
}
