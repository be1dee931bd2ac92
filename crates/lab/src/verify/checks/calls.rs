//! Calls of gRPC, over HTTP/2: the response to a unary one comes after D, and message k of a stream at k·D. Statuses
//! that the target gives are errors of their kinds, as many as there were.

use candor_record::ErrorKind;

use super::super::Settings;
use super::super::line::Line;
use super::super::parts::{Figure, MEDIAN_WITHIN_NS, Parted, Times, WITHIN_NS, make};
use super::super::settle::settled;
use super::websocket;
use crate::error::LabError;

const DELAY_NS: u64 = websocket::DELAY_NS;
/// `D` of a stream.
const EVERY_NS: u64 = 10_000_000;
pub(super) const TIMES: Times =
    Times { first_ns: 0, every_ns: EVERY_NS, count: 10, stall_ns: None };
/// Calls that fail, and their code.
const FAILING: u64 = 50;
const NOT_FOUND: u8 = 5;

pub(super) fn check(settings: &Settings) -> Result<Vec<Line>, LabError> {
    let run_s = settings.length.pick("2", "0.3");
    let to = |target: &str| target.to_owned();
    let load = |rest: &str| format!("-t 1 --protoset echo {rest}");
    let message = format!("{{\"everyNs\":{DELAY_NS}}}");
    let flags = format!("-R 400 -c 2 -m 25 -d {run_s}s --call candor.Echo/Unary -b {message}");
    let delayed = websocket::echo(DELAY_NS);
    let unary = || make(&load(&flags), to, "grpc_unary", delayed);
    let mut lines = settled(|| Ok(judge(&unary()?)))?;
    let Times { every_ns, count, .. } = TIMES;
    let message = format!("{{\"count\":{count},\"everyNs\":{every_ns}}}");
    let call = "--call candor.Echo/ServerStream";
    let flags = format!("-R 100 -c 2 -m 25 -d {run_s}s {call} -b {message}");
    let stream = || make(&load(&flags), to, "grpc_server_stream", TIMES);
    lines.extend(settled(|| Ok(judge_stream(&stream()?)))?);
    let message = format!("{{\"status\":{NOT_FOUND}}}");
    let flags = format!("-R 500 -c 2 -m 5 -n {FAILING} --call candor.Echo/Unary -b {message}");
    lines.extend(judge_statuses(&make(&load(&flags), to, "grpc_unary", websocket::echo(0))?));
    Ok(Line::join(lines))
}

pub(super) fn judge(parted: &Parted) -> Vec<Line> {
    websocket::judge(parted, "unary")
}

pub(super) fn judge_stream(parted: &Parted) -> Vec<Line> {
    let mut lines = parted.streams(TIMES);
    for (what, expected_ns, within, figure) in [
        ("gap of messages: D, p50", EVERY_NS, MEDIAN_WITHIN_NS, Figure::Gap),
        ("last message, p50", TIMES.whole_ns(), WITHIN_NS, Figure::Last),
    ] {
        lines.push(parted.near(what, (figure, 0.5), expected_ns, within));
    }
    lines.extend(parted.evidence.single_requests(|arrival_ns, _| arrival_ns + TIMES.whole_ns()));
    parted.evidence.told(lines)
}

pub(super) fn judge_statuses(parted: &Parted) -> Vec<Line> {
    let ledger = &parted.evidence.record.total.ledger;
    vec![
        Line::exactly("calls that fail", FAILING, ledger.sent),
        Line::exactly("failing calls that the target counted", FAILING, parted.counted.requests),
        Line::exactly("of these NOT_FOUND", FAILING, ledger.error(ErrorKind::GrpcNotFound)),
        Line::exactly("and OK", 0, ledger.ok),
    ]
}
