//! Experiments with responses that come in parts: the embedded target in a process of its own, which logs
//! every part, and a load in this one.
//!
//! The loader keeps no time of a single part, so the distributions of parts are compared with those of the
//! target's log. Responses are compared one by one, as those of the truth server are: a log like its own is
//! made from that of parts.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::Duration;

use candor_engine::Control;
use candor_record::{Histogram, Quantile, StreamCounts};
use candor_serve::truth::{self, Entry, Fate};
use candor_serve::{PartEntry, PartLog};

use super::evidence::{Evidence, Theory};
use super::experiment::{Server, Traces, failed, plan};
use super::line::{Line, Unit};
use super::values::quantile;
use super::witness::{Rest, with_effect};
use crate::error::LabError;
use crate::target::http;

/// The tolerance of medians of gaps.
pub(super) const MEDIAN_WITHIN_NS: f64 = 200e3;
/// The same for times of up to 300 ms since a request was due, which the histogram has to 0.1 %.
const OFF_LOG_WITHIN_NS: f64 = 500e3;
/// The tolerance of the 99th percentile, and of medians that the target's lateness is part of: unlike the
/// truth server it has a scheduler between a socket and the response to it.
pub(super) const WITHIN_NS: f64 = 1e6;
/// The events of a response that are tokens, where some are.
pub(super) const TOKENS: Range<usize> = 1..9;
/// How long the target may take to say what it has counted.
const PATIENCE: Duration = Duration::from_secs(5);

/// When the parts of a response leave, from its beginning: part k after `first + k·every`, those due in the
/// stall at its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) first_ns: u64,
    pub(super) every_ns: u64,
    /// Parts of a response, at least 1.
    pub(super) count: u64,
    /// From when, and for how long.
    pub(super) stall_ns: Option<(u64, u64)>,
}

impl Times {
    /// When part k leaves.
    pub(super) fn due_ns(&self, k: u64) -> u64 {
        let due_ns = self.first_ns + k * self.every_ns;
        match self.stall_ns {
            Some((at_ns, lasts_ns)) if (at_ns..at_ns + lasts_ns).contains(&due_ns) => {
                at_ns + lasts_ns
            }
            _ => due_ns,
        }
    }

    /// When the last part leaves.
    pub(super) fn whole_ns(&self) -> u64 {
        self.due_ns(self.count - 1)
    }

    /// From one part to the next, those that leave together left out.
    fn gaps_ns(&self) -> impl Iterator<Item = u64> {
        (1..self.count).map(|k| self.due_ns(k) - self.due_ns(k - 1)).filter(|&gap| gap > 0)
    }

    /// The longest of them.
    pub(super) fn longest_gap_ns(&self) -> u64 {
        self.gaps_ns().max().unwrap_or(0)
    }

    /// Parts that leave with the one before.
    pub(super) fn together(&self) -> u64 {
        self.count - 1 - self.gaps_ns().count() as u64
    }

    /// The path of a stream of events with these times.
    pub(super) fn events_path(&self) -> String {
        let us = |ns: u64| format!("{}us", ns / 1000);
        let mut path =
            format!("sse/{}/{}?first={}", self.count, us(self.every_ns), us(self.first_ns));
        if let Some((at_ns, lasts_ns)) = self.stall_ns {
            // Writing to a string cannot fail.
            let _ = write!(path, "&stall={}@{}", us(lasts_ns), us(at_ns));
        }
        path
    }
}

/// What the target counted under the path of an experiment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    /// Requests of HTTP.
    pub(super) requests: u64,
    /// Parts that came.
    pub(super) received: u64,
    /// Parts that left.
    pub(super) sent: u64,
}

/// One of the loader's distributions.
#[derive(Debug, Clone, Copy)]
pub(super) enum Figure {
    /// From a request's due time to its first event.
    First,
    /// From one event to the next.
    Gap,
    /// From a request's due time to its last event.
    Last,
    /// The longest gap of each response.
    LongestGap,
    /// From a request's due time to its first token.
    FirstToken,
    /// From one token to the next.
    TokenGap,
    /// From the first token to the last, for each that there were after the first: one more than events that are.
    TimePerToken,
}

impl Figure {
    fn of(self, figures: &StreamCounts) -> &Histogram {
        match self {
            Figure::First => &figures.first_part,
            Figure::Gap => &figures.gap,
            Figure::Last => &figures.last_part,
            Figure::LongestGap => &figures.longest_gap,
            Figure::FirstToken => &figures.first_token,
            Figure::TokenGap => &figures.token_gap,
            Figure::TimePerToken => &figures.time_per_token,
        }
    }
}

/// The evidence of an experiment with parts.
#[derive(Debug, Clone)]
pub(super) struct Parted {
    pub(super) evidence: Evidence,
    /// Every part, in order within its response; times since the origin.
    pub(super) log: PartLog,
    pub(super) counted: Counted,
}

/// Makes an experiment: the load's flags, and the URL from that of the target, which ends with a slash.
/// `scenario`: the name of the path in the target's counts.
pub(super) fn make(
    load: &str,
    url: impl FnOnce(&str) -> String,
    scenario: &str,
    times: Times,
) -> Result<Parted, LabError> {
    let has_cores = candor_engine::core_count() > 1;
    let server = Server::start(if has_cores { "--threads 1 --spin" } else { "--threads 1" })?;
    let pacing = if has_cores { " --pacing spin" } else { "" };
    let plan = plan(&format!("{load}{pacing}"), &url(server.url()))?;
    let mut traced = Traces::default();
    let record = candor_engine::run(&plan, &Control::default(), &mut traced)?;
    let counted = counted(server.url(), scenario)?;
    let mut log = server.end_with_parts()?;
    log.entries.sort_by_key(|entry| (entry.stream, entry.index));
    let responses = responses(&log, times);
    let evidence = Evidence::new(plan, record, traced.0, responses);
    let origin_ns = evidence.record.machine().origin_monotonic_ns;
    for entry in &mut log.entries {
        entry.due_ns = entry.due_ns.saturating_sub(origin_ns);
        entry.departed_ns = entry.departed_ns.saturating_sub(origin_ns);
    }
    Ok(Parted { evidence, log, counted })
}

fn counted(url: &str, scenario: &str) -> Result<Counted, LabError> {
    let answer = http::get(&format!("{url}__stats"), PATIENCE).map_err(failed)?;
    let stats: serde_json::Value = serde_json::from_slice(&answer.body).map_err(failed)?;
    let of = |counts: &str| stats[counts][scenario].as_u64().unwrap_or(0);
    Ok(Counted {
        requests: of("requests_by_scenario"),
        received: of("parts_received_by_scenario"),
        sent: of("parts_sent_by_scenario"),
    })
}

/// The log of responses: each has `times.count` parts, came `times.first_ns` before the first was due, and
/// left when its last one did.
pub(super) fn responses(log: &PartLog, times: Times) -> truth::Record {
    let by_stream = log.entries.chunk_by(|a, b| a.stream == b.stream);
    let each = by_stream.flat_map(|parts| parts.chunks(times.count as usize));
    let mut entries: Vec<Entry> = each
        .map(|parts: &[PartEntry]| {
            let is_whole = parts.len() as u64 == times.count;
            let last = parts.last().filter(|last| is_whole && last.departed_ns > 0);
            let arrival_ns = parts[0].due_ns.saturating_sub(times.first_ns);
            Entry {
                arrival_ns,
                computed_ns: last.map_or(arrival_ns + times.whole_ns(), |last| last.due_ns),
                departed_ns: last.map_or(0, |last| last.departed_ns),
                connection: parts[0].stream as u32,
                queue: 0,
                fate: if last.is_some() { Fate::Answered } else { Fate::Abandoned },
            }
        })
        .collect();
    entries.sort_by_key(|entry| entry.arrival_ns);
    truth::Record {
        entries,
        unlogged: log.unlogged / times.count,
        held_up_ns: log.held_up_ns.clone(),
        ..truth::Record::default()
    }
}

impl Parted {
    /// Lines of every experiment with streams of events.
    pub(super) fn streams(&self, times: Times) -> Vec<Line> {
        let Times { count, .. } = times;
        let total = &self.evidence.record.total;
        let (sent, ok) = (total.ledger.sent, total.ledger.ok);
        let figures = self.figures();
        let gaps = figures.map_or(0, |figures| figures.gap.count() + figures.coalesced);
        let is_zero = figures.is_some_and(|figures| figures.gap.min_ns() == Some(0));
        let mut lines = self.evidence.books(Theory::Parts { whole_ns: times.whole_ns() });
        lines.extend([
            Line::exactly("requests that the target counted", sent, self.counted.requests),
            Line::exactly("events that the target sent", count * sent, self.counted.sent),
            Line::exactly("events read", count * ok, total.parts.count),
            Line::exactly("gaps, recorded or read together", (count - 1) * ok, gaps),
            Line::never("gaps of zero", u64::from(is_zero), "the least is zero".to_owned()),
        ]);
        let off = self.log.entries.iter().filter(|entry| self.is_off(entry, times)).count() as u64;
        let what = "events due at other times than t₀ + k·D";
        lines.push(Line::never(what, off, format!("{off} of {}", self.log.entries.len())));
        let together = self.left_together();
        let coalesced = figures.map_or(0, |figures| figures.coalesced);
        let detail = format!("{coalesced} of {together} were known to be read together");
        let apart = together.saturating_sub(coalesced);
        lines.push(Line::never("gaps recorded of events that left together", apart, detail));
        lines.extend(self.off_the_log());
        lines
    }

    /// The figures of the loader; `None`: no event came.
    pub(super) fn figures(&self) -> Option<&StreamCounts> {
        self.evidence.record.total.streams.as_deref()
    }

    /// The distributions of events, beside those of their departures, which the loader sees when the
    /// machine lets it run.
    fn off_the_log(&self) -> Vec<Line> {
        let of =
            [("first event", Figure::First), ("gap", Figure::Gap), ("last event", Figure::Last)];
        let mut lines = Vec::new();
        for (what, figure) in of {
            let left = self.by_the_log(figure);
            let all: Vec<f64> = left.iter().map(|(ns, _)| *ns).collect();
            let rest = Rest::of(left);
            for (name, q, within) in [("p50", 0.5, OFF_LOG_WITHIN_NS), ("p99", 0.99, WITHIN_NS)] {
                let measured = self.quantile(figure, q);
                let off_ns = (measured - quantile(&all, q)).abs();
                let what = format!("{what} {name}, off the server's log");
                let line = Line::at_most(what, Unit::Ns, within, off_ns);
                lines.push(rest.quantile_line(line, q, measured, within));
            }
        }
        lines
    }

    /// A quantile of one of the loader's distributions, beside the time that it has to have.
    pub(super) fn near(
        &self,
        what: impl Into<String>,
        (figure, q): (Figure, f64),
        expected_ns: u64,
        within: f64,
    ) -> Line {
        let expected = expected_ns as f64;
        // The touched values are what the log has, and the others the expected one.
        let all = self.by_the_log(figure).into_iter();
        let all: Vec<f64> = all.map(|(ns, touched)| if touched { ns } else { expected }).collect();
        let effect = if all.is_empty() { 0.0 } else { (quantile(&all, q) - expected).abs() };
        with_effect(what, Unit::Ns, expected, within, effect, self.quantile(figure, q))
    }

    /// A quantile of one of the loader's distributions.
    pub(super) fn quantile(&self, figure: Figure, q: f64) -> f64 {
        at(self.figures().map(|figures| figure.of(figures)), q)
    }

    /// The values of a distribution by the target's log, as the loader sees them when the machine lets it run, each with
    /// whether a pause touched it. The loader keeps no time of a part, so any pause that began in the tolerance counts.
    fn by_the_log(&self, figure: Figure) -> Vec<(f64, bool)> {
        let machine = self.evidence.machine();
        let read_ns = |part: &PartEntry| machine.done_ns(part.departed_ns);
        let is_touched = |part: &PartEntry| {
            machine.touched(part.due_ns, part.departed_ns)
                || machine.touched(part.departed_ns, u64::MAX)
        };
        let by_stream = self.log.entries.chunk_by(|a, b| a.stream == b.stream);
        let mut streams: Vec<&[PartEntry]> = by_stream.collect();
        streams.sort_by_key(|parts| parts[0].due_ns);
        let requests = || self.evidence.schedule().into_iter().zip(self.evidence.touched());
        let since_due = |of: fn(&[PartEntry]) -> usize| {
            let of_request = |(parts, (due_ns, touched)): (&&[PartEntry], (u64, bool))| {
                let part = &parts[of(parts).min(parts.len() - 1)];
                (read_ns(part).saturating_sub(due_ns) as f64, touched || is_touched(part))
            };
            streams.iter().zip(requests()).map(of_request).collect()
        };
        let gaps = |parts: &[PartEntry]| -> Vec<(f64, bool)> {
            let gap = |two: &[PartEntry]| {
                let gap_ns = read_ns(&two[1]).saturating_sub(read_ns(&two[0]));
                (gap_ns as f64, two.iter().any(is_touched))
            };
            parts.windows(2).map(gap).filter(|(gap_ns, _)| *gap_ns > 0.0).collect()
        };
        match figure {
            Figure::First => since_due(|_| 0),
            Figure::Last => since_due(|parts| parts.len() - 1),
            Figure::Gap => streams.iter().flat_map(|parts| gaps(parts)).collect(),
            Figure::FirstToken => since_due(|_| TOKENS.start),
            Figure::TokenGap => {
                let tokens = |parts: &&[PartEntry]| gaps(parts.get(TOKENS).unwrap_or_default());
                streams.iter().flat_map(tokens).collect()
            }
            Figure::TimePerToken => {
                let each = |parts: &&[PartEntry]| {
                    let tokens = parts.get(TOKENS)?;
                    let (first, last) = (tokens.first()?, tokens.last()?);
                    let span_ns = read_ns(last).saturating_sub(read_ns(first));
                    let touched = is_touched(first) || is_touched(last);
                    Some((span_ns as f64 / tokens.len() as f64, touched))
                };
                streams.iter().filter_map(each).collect()
            }
            Figure::LongestGap => {
                let longest = |parts: &&[PartEntry]| {
                    gaps(parts).into_iter().max_by(|(a, _), (b, _)| a.total_cmp(b))
                };
                streams.iter().filter_map(longest).collect()
            }
        }
    }

    /// Whether an event was due at another time of its response than computed.
    fn is_off(&self, entry: &PartEntry, times: Times) -> bool {
        let first = self.log.entries.partition_point(|one| one.stream < entry.stream);
        let begin_ns = self.log.entries[first].due_ns.saturating_sub(times.first_ns);
        entry.due_ns != begin_ns + times.due_ns(entry.index)
    }

    /// Events that left in the same write as the one before in their response. On a loopback device such a
    /// write is one segment, which no read takes apart.
    fn left_together(&self) -> u64 {
        let is_together = |two: &&[PartEntry]| {
            two[0].stream == two[1].stream
                && two[0].departed_ns == two[1].departed_ns
                && two[0].departed_ns > 0
        };
        self.log.entries.windows(2).filter(is_together).count() as u64
    }
}

/// How far apart the values in one place of a histogram may be, at its three digits. With more of them the
/// kernel zeroes so much memory at the first events that the loader is late.
pub(super) fn place_ns(value_ns: f64) -> f64 {
    value_ns / 1e3
}

/// A quantile of a figure that was perhaps not measured.
pub(super) fn at(histogram: Option<&Histogram>, q: f64) -> f64 {
    histogram
        .and_then(|histogram| histogram.quantile_ns(Quantile::nearest(q)))
        .map_or(f64::NAN, |ns| ns as f64)
}
