//! The result of a run, from those of its parts. It is made from their merged records, and judged, like any other.

use candor_plan::{Load, Parts, Segment};
use candor_record::wire::WireError;
use candor_record::{MergeError, RunRecord, merge, wire};

use crate::document::{Document, Facts};
use crate::expect::Expectation;
use crate::verdicts;

/// Why results are not the parts of one run. Results are named by their place in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartError {
    /// This one is a whole run.
    Whole(usize),
    /// The record of this document cannot be read.
    Record(usize, WireError),
    /// These two have different seeds.
    Seed(usize, usize),
    /// These two have different plans; with the first difference.
    Plan(usize, usize, &'static str),
    /// Their records cannot be added.
    Records(MergeError),
    /// The first of these two had ended when the second began.
    Apart(usize, usize),
}

impl Document {
    /// The result of the run with these parts: exact, as if one process had made it. Facts of a
    /// single part (its command line, its target) are those of the first.
    pub fn merge(parts: &[Document]) -> Result<Document, PartError> {
        let Some(first) = parts.first() else {
            return Err(PartError::Records(MergeError::Nothing));
        };
        for (at, other) in parts.iter().enumerate().skip(1) {
            if other.plan.seed != first.plan.seed {
                return Err(PartError::Seed(0, at));
            }
            if let Some(what) = difference(&first.plan, &other.plan) {
                return Err(PartError::Plan(0, at, what));
            }
        }
        let record = |(at, one): (usize, &Document)| {
            let part = one.part.as_ref().ok_or(PartError::Whole(at))?;
            wire::from_bytes(&part.record.0).map_err(|why| PartError::Record(at, why))
        };
        let records: Result<Vec<RunRecord>, _> = parts.iter().enumerate().map(record).collect();
        let plan = &first.plan;
        let merged = merge(
            records?,
            plan.recording.digits,
            plan.work.requests().len(),
            plan.work.journeys().len(),
        );
        let merged = merged.map_err(PartError::Records)?;
        if let Some((ended, begun)) = apart(parts) {
            return Err(PartError::Apart(ended, begun));
        }
        let facts = Facts {
            started_unix_ms: parts.iter().map(|one| one.started_unix_ms).min().unwrap_or(0),
            target_note: first.target_note.clone(),
            target_delay_ns: first.target_delay_ns,
            ..Facts::default()
        };
        let arguments = first.arguments.clone();
        let mut whole = Document::unjudged(&facts, arguments, plan.clone(), plan, &merged);
        whole.tool = first.tool.clone();
        whole.tags = first.tags.clone();
        if has_left_out_offsets(&plan.load) {
            // The asked rate is not in the redacted plan, but in each part.
            whole.rate.asked_per_s = parts.iter().map(|one| one.rate.asked_per_s).sum();
        }
        whole.target = parts.iter().find_map(|one| one.target.clone());
        whole.profile = parts.iter().find_map(|one| one.profile.clone());
        whole.verdicts = verdicts::judge(&whole);
        let expected = first.expectations.iter();
        let expected: Vec<Expectation> =
            expected.filter_map(|one| Expectation::parse(&one.expression).ok()).collect();
        whole.judge_expectations(&expected);
        Ok(whole)
    }
}

/// A part that had ended when another began: they are of different runs.
fn apart(parts: &[Document]) -> Option<(usize, usize)> {
    let end_ms = |one: &Document| {
        one.started_unix_ms.saturating_add(one.time.elapsed_ns.div_ceil(1_000_000))
    };
    let (ended, first_end_ms) = parts.iter().map(end_ms).enumerate().min_by_key(|(_, ms)| *ms)?;
    let starts_ms = parts.iter().map(|one| one.started_unix_ms).enumerate();
    let (begun, last_start_ms) = starts_ms.max_by_key(|(_, ms)| *ms)?;
    (first_end_ms < last_start_ms).then_some((ended, begun))
}

/// The first difference between two plans.
fn difference(one: &Parts, other: &Parts) -> Option<&'static str> {
    let differs = [
        ("the target", one.target != other.target),
        ("the requests", one.work != other.work),
        ("the load", one.load != other.load),
        ("when the run ends", one.stop != other.stop),
        ("the connections", one.connections != other.connections),
        ("the number of threads", one.threads.count != other.threads.count),
        ("an option", one != other),
    ];
    differs.into_iter().find(|(_, differs)| *differs).map(|(what, _)| what)
}

fn has_left_out_offsets(load: &Load) -> bool {
    let Load::Open(open) = load else { return false };
    let left_out = |one: &Segment| matches!(one, Segment::Replay { offsets_ns, .. } if offsets_ns.is_left_out());
    open.segments.iter().any(left_out)
}
