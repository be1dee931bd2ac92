//! Counts: ledger, statuses, errors, connections, bytes, requests.

use std::array;

use candor_plan::journey::step_of;
use candor_plan::{By, ConnectsTo, Parts, Target};
use candor_record::{
    ConnectErrorKind, ConnectionCounts, ErrorKind, GoAways, Handshake, Histogram, Interval, Ledger,
    LossKind, RequestCounts, RunRecord, StatusCount, Tally,
};
use serde::{Deserialize, Serialize};

use super::latency::Distribution;
use super::users::StepRow;
use crate::remedies;

/// The ledger. `scheduled = sent + shed + unsent + unaccounted` and `sent = ok + broken_off + errors +
/// unfinished`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LedgerCounts {
    /// Requests that the load asked for.
    pub scheduled: u64,
    /// Requests whose first byte was handed to the kernel.
    pub sent: u64,
    /// Dropped unsent because they were too old.
    pub shed: u64,
    /// Due, and still in the backlog when the run ended.
    pub unsent: u64,
    /// Got the expected response.
    pub ok: u64,
    /// Broken off by us, as planned, without a response before the break. Omitted if there are
    /// none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub broken_off: u64,
    /// Failed after being sent, all kinds.
    pub errors: u64,
    /// Sent, but without a complete response when the drain ended.
    pub unfinished: u64,
    /// Scheduled for a lost agent, after its last interval that arrived. Absent if zero.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unaccounted: u64,
}

impl LedgerCounts {
    pub(super) fn of(ledger: &Ledger) -> Self {
        LedgerCounts {
            scheduled: ledger.scheduled,
            sent: ledger.sent,
            shed: ledger.shed,
            unsent: ledger.unsent,
            ok: ledger.ok,
            broken_off: ledger.broken_off,
            errors: ledger.errors.total(),
            unfinished: ledger.unfinished,
            unaccounted: ledger.unaccounted,
        }
    }

    /// Requests that ended as intended.
    pub fn succeeded(&self) -> u64 {
        self.ok.saturating_add(self.broken_off)
    }

    /// Requests of which the outcome is known: all but those of lost agents.
    pub fn accounted(&self) -> u64 {
        self.sent.saturating_add(self.shed).saturating_add(self.unsent)
    }

    /// Those of them that did not end as intended: failed, shed, unsent or unfinished.
    pub fn failed(&self) -> u64 {
        let unserved = self.shed.saturating_add(self.unsent);
        unserved.saturating_add(self.errors).saturating_add(self.unfinished)
    }

    /// The same as a share, in [0, 1]; `None` without a request.
    pub fn failed_share(&self) -> Option<f64> {
        let accounted = self.accounted();
        (accounted > 0).then(|| self.failed() as f64 / accounted as f64)
    }

    /// The right side of the first equation.
    pub fn scheduled_parts(&self) -> u64 {
        let left = self.shed.saturating_add(self.unsent).saturating_add(self.unaccounted);
        self.sent.saturating_add(left)
    }

    /// The right side of the second equation.
    pub fn sent_parts(&self) -> u64 {
        let as_meant = self.ok.saturating_add(self.broken_off);
        as_meant.saturating_add(self.errors).saturating_add(self.unfinished)
    }

    /// Whether both equations hold.
    pub fn balances(&self) -> bool {
        self.scheduled == self.scheduled_parts() && self.sent == self.sent_parts()
    }
}

pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Responses by status, in order.
pub(super) fn statuses(statuses: &[StatusCount]) -> Vec<StatusCount> {
    let mut all = statuses.to_vec();
    all.sort_by_key(|one| one.status);
    all
}

/// Failures of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ErrorCount {
    /// The kind's stable id.
    pub kind: String,
    /// How many.
    pub count: u64,
    /// The meaning of the kind, as half a sentence.
    pub sentence: String,
    /// The first failure in detail.
    pub example: Option<String>,
    /// The remedy for the cause of that one. Omitted if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl ErrorCount {
    /// The remedy, to be appended to the example.
    pub fn advice(&self) -> String {
        self.remedy.as_ref().map_or(String::new(), |remedy| format!("; {remedy}"))
    }
}

/// The kinds of a tally that occurred, each with its id and its sentence. A kind whose sentence says
/// everything has no example.
pub(super) fn by_kind<const N: usize>(
    tally: &Tally<N>,
    kinds: [(&str, &str); N],
) -> Vec<ErrorCount> {
    let kinds = kinds.into_iter().enumerate().filter(|(at, _)| tally.count(*at) > 0);
    kinds
        .map(|(at, (id, sentence))| ErrorCount {
            kind: id.to_owned(),
            count: tally.count(at),
            sentence: sentence.to_owned(),
            example: tally.example(at).filter(|text| !text.is_empty()).map(str::to_owned),
            remedy: tally.cause(at).map(|cause| remedies::of(cause).to_owned()),
        })
        .collect()
}

/// Failed requests by kind.
pub(super) fn errors(tally: &Tally<{ ErrorKind::ALL.len() }>) -> Vec<ErrorCount> {
    by_kind(tally, ErrorKind::ALL.map(|kind| (kind.id(), kind.sentence())))
}

/// Failed attempts to connect by kind. Where all of them were made to a proxy, or over UDP, the sentence says so.
pub(super) fn connect_errors(
    plan: &Parts,
    tally: &Tally<{ ConnectErrorKind::ALL.len() }>,
) -> Vec<ErrorCount> {
    let to = match plan.connects_to() {
        Some(ConnectsTo::Proxy) => " (the proxy)",
        Some(ConnectsTo::ServerByUdp) => " (over UDP)",
        Some(ConnectsTo::Server) | None => "",
    };
    use ConnectErrorKind::{Refused, Reset, Timeout, Unreachable};
    let sentences = ConnectErrorKind::ALL.map(|kind| match kind {
        Refused | Timeout | Unreachable | Reset => format!("{}{to}", kind.sentence()),
        // What happens here went nowhere, and a handshake may be that of the server behind a proxy.
        _ => kind.sentence().to_owned(),
    });
    by_kind(tally, array::from_fn(|at| (ConnectErrorKind::ALL[at].id(), sentences[at].as_str())))
}

/// Count of the kind with this id.
pub fn count_of(errors: &[ErrorCount], id: &str) -> u64 {
    errors.iter().find(|one| one.kind == id).map_or(0, |one| one.count)
}

/// Events of connections, warm-up and drain included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Connections {
    /// Asked for.
    pub asked: u64,
    /// Fewest established at the end of any interval of the window.
    pub least: u64,
    /// Newly established.
    pub opened: u64,
    /// Closed by the server in order.
    pub closed_by_server: u64,
    /// Closed by us, at its limit of requests or lifetime.
    pub retired: u64,
    /// Lost by a reset, a timeout, an invalid response or an early close.
    pub lost: u64,
    /// The same by kind, without kinds that did not occur.
    pub losses: Vec<ErrorCount>,
    /// TLS handshakes, by their parameters.
    #[serde(default)]
    pub handshakes: Vec<HandshakeCount>,
    /// GOAWAYs of the server (RFC 9113 6.8), by error code.
    #[serde(default)]
    pub goaways: Vec<GoAwayCount>,
    /// Close frames of WebSockets from the server, by close code (RFC 6455 7.4).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub close_codes: Vec<CloseCount>,
}

/// Close frames with one code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CloseCount {
    /// The code; 1005: the frame has none.
    pub code: u16,
    /// How many came.
    pub count: u64,
    /// The reasons that came first, at most 16 of all codes, and how many came with each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonCount>,
}

/// Close frames with one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReasonCount {
    /// The reason, without characters that control terminals.
    pub reason: String,
    /// How many came.
    pub count: u64,
}

impl CloseCount {
    fn all(counts: &ConnectionCounts) -> Vec<Self> {
        let reasons = |code: u16| {
            let own = counts.close_reasons.iter().filter(|one| one.code == code);
            own.map(|one| ReasonCount { reason: one.reason.to_string(), count: one.count })
                .collect()
        };
        let one = |&(code, count): &(u16, u64)| CloseCount { code, count, reasons: reasons(code) };
        counts.close_codes.iter().map(one).collect()
    }
}

/// GOAWAYs with one error code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GoAwayCount {
    /// The error code.
    pub code: u32,
    /// Its name in RFC 9113 7, or `unknown`.
    pub name: String,
    /// How many came.
    pub count: u64,
    /// The last stream that the first of them named.
    pub last_stream: u32,
}

impl GoAwayCount {
    fn all(goaways: &[GoAways]) -> Vec<Self> {
        let one = |&GoAways { code, count, last_stream }: &GoAways| GoAwayCount {
            code,
            name: h2_error_name(code).to_owned(),
            count,
            last_stream,
        };
        goaways.iter().map(one).collect()
    }
}

/// HTTP/2's error codes (RFC 9113 7).
fn h2_error_name(code: u32) -> &'static str {
    const NAMES: [&str; 14] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];
    NAMES.get(code as usize).copied().unwrap_or("unknown")
}

/// TLS handshakes with the same parameters, by their registered names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HandshakeCount {
    /// Version, such as `TLSv1.3`.
    pub version: String,
    /// Cipher suite.
    pub cipher: String,
    /// Group of the key exchange; null if there was none.
    pub group: Option<String>,
    /// Protocol chosen by ALPN; null if none was.
    pub alpn: Option<String>,
    /// Full handshakes.
    pub full: u64,
    /// Resumed sessions.
    pub resumed: u64,
    /// Resumed sessions in which the server accepted early data (0-RTT).
    #[serde(default)]
    pub early_data_accepted: u64,
    /// Resumed sessions in which it rejected early data, which was sent again after the handshake.
    #[serde(default)]
    pub early_data_rejected: u64,
    /// Handshakes in which the server demanded a proof of the address first (Retry of QUIC).
    #[serde(default)]
    pub retried: u64,
}

impl HandshakeCount {
    /// One row for all handshakes that differ only in resumption, early data and a Retry.
    fn all(handshakes: &[(Handshake, u64)]) -> Vec<Self> {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let mut sorted = handshakes.to_vec();
        sorted.sort();
        let mut rows: Vec<HandshakeCount> = Vec::new();
        for (one, count) in sorted {
            let (group, alpn) = (text(&one.group), text(&one.alpn));
            let is_same = rows.last().is_some_and(|last| {
                (&*last.version, &*last.cipher) == (&*one.version, &*one.cipher)
                    && (&last.group, &last.alpn) == (&group, &alpn)
            });
            if !is_same {
                let (version, cipher) = (one.version.into_owned(), one.cipher.into_owned());
                rows.push(HandshakeCount { version, cipher, group, alpn, ..Default::default() });
            }
            let row = rows.last_mut().expect("there is one now");
            *(if one.resumed { &mut row.resumed } else { &mut row.full }) += count;
            row.retried += if one.retried { count } else { 0 };
            match one.early_data {
                Some(true) => row.early_data_accepted += count,
                Some(false) => row.early_data_rejected += count,
                None => {}
            }
        }
        rows
    }
}

impl Connections {
    pub(super) fn of(record: &RunRecord) -> Self {
        let counts = &record.total.connections;
        Connections {
            asked: record.connections_asked,
            least: record.connections_least,
            opened: counts.opened,
            closed_by_server: counts.closed_by_server,
            retired: counts.retired,
            lost: counts.lost.total(),
            losses: by_kind(&counts.lost, LossKind::ALL.map(|kind| (kind.id(), kind.sentence()))),
            handshakes: HandshakeCount::all(&counts.handshakes),
            goaways: GoAwayCount::all(&counts.goaways),
            close_codes: CloseCount::all(counts),
        }
    }
}

/// One request of a plan with several, or those to one target of several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RequestRow {
    /// Its name.
    pub name: String,
    /// Measured requests sent.
    pub sent: u64,
    /// Got the expected response.
    pub ok: u64,
    /// Failed.
    pub errors: u64,
    /// Of these, those that got no response. Omitted if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unanswered: u64,
    /// Response times; null if the plan has too many requests for a histogram each.
    pub response: Option<Distribution>,
    /// The journey whose step it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journey: Option<String>,
    /// The other figures of a step; omitted if the plan has too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepRow>,
}

impl RequestRow {
    /// The requests to each target together, of a plan with several, or that asks for it.
    pub(super) fn of_targets(plan: &Parts, total: &Interval) -> Vec<Self> {
        let is_shown = !plan.others.is_empty() || plan.recording.by == Some(By::Target);
        let several = plan.targets().zip(0u32..).filter(|_| is_shown);
        let row = |(target, number): (&Target, u32)| {
            let all = plan.work.requests().iter().zip(&total.requests);
            let own = all.filter(|(request, _)| request.target == number).map(|(_, counts)| counts);
            let mut row = RequestRow { name: target.name.clone(), ..RequestRow::default() };
            let mut response: Option<Histogram> = None;
            for one in own {
                row.sent += one.sent;
                row.ok += one.ok;
                row.errors += one.errors;
                row.unanswered += one.unanswered;
                match (&mut response, &one.response) {
                    (Some(sum), Some(one)) => sum.merge(one),
                    (sum, one) => *sum = sum.take().or_else(|| one.clone()),
                }
            }
            row.response = response.as_ref().map(Distribution::of);
            row
        };
        several.map(row).collect()
    }

    pub(super) fn all(plan: &Parts, total: &Interval) -> Vec<Self> {
        let is_several = plan.work.requests().len() > 1 || plan.work.has_users();
        let several = Some(plan.work.requests()).filter(|_| is_several);
        let step = |number: usize| step_of(plan.work.journeys(), number as u32);
        let journey = |number: usize| {
            let (journey, _) = step(number).filter(|_| !plan.work.are_requests())?;
            Some(journey.name.clone())
        };
        // Of the redirects that a request may have, those that came.
        let is_row = |number: usize, counts: &RequestCounts| {
            counts.sent > 0 || step(number).is_none_or(|(_, step)| step.redirect.is_none())
        };
        several
            .into_iter()
            .flatten()
            .zip(&total.requests)
            .enumerate()
            .filter(|(number, (_, counts))| is_row(*number, counts))
            .map(|(number, (request, counts))| RequestRow {
                name: request.name.clone(),
                sent: counts.sent,
                ok: counts.ok,
                errors: counts.errors,
                unanswered: counts.unanswered,
                response: counts.response.as_ref().map(Distribution::of),
                journey: journey(number),
                step: counts.step.as_deref().map(StepRow::of),
            })
            .collect()
    }
}
