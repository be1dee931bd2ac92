//! The load of a plan: closed, or a schedule with its warm-up in front.

use super::{Files, once};
use crate::error::{PlanError, conflict, exclude};
use crate::load::{Arrivals, Load, OpenLoad, Segment, parse_offsets};
use crate::options::Options;
use crate::values::Nanos;

/// A load, and the duration of its shape without the warm-up.
pub(super) struct Built {
    pub(super) load: Load,
    pub(super) shape_ns: Option<u64>,
}

pub(super) fn load(options: &Options, files: &mut Files<'_>) -> Result<Built, PlanError> {
    if let Some(count) = once::count(options) {
        return Ok(Built { load: once::load(count), shape_ns: None });
    }
    let mut segments = match (options.load.rate, &options.load.load) {
        (None, None) => return closed(options),
        (Some(_), Some(_)) => {
            return Err(conflict("--rate", "--load", "both set the rate; leave one of them out"));
        }
        (Some(rate), None) => vec![Segment::Hold { rate, duration_ns: None }],
        (None, Some(shape)) => shape.clone().segments(|file| {
            let bytes = files.read("--load", file)?;
            let offsets_ns = parse_offsets(&file.display().to_string(), &bytes)?;
            Ok::<_, PlanError>(Segment::replay(offsets_ns))
        })?,
    };
    if options.load.think_time.is_some() {
        return Err(conflict(
            "--think-time",
            "--rate or --load",
            "in an open load the schedule decides when requests leave; leave one of them out",
        ));
    }
    let arrivals = options.load.arrivals.unwrap_or(Arrivals::Constant);
    let shape_ns =
        OpenLoad { segments: segments.clone(), arrivals, shed_after_ns: None }.duration_ns();
    if options.warm_up_ns() > 0 {
        let first = warm_up(&segments, options.warm_up_ns())?;
        segments.insert(0, first);
    }
    let shed_after_ns = options.load.shed_after.map(|Nanos(ns)| ns);
    if shed_after_ns == Some(0) && options.load.max_connections.is_some() {
        return Err(conflict(
            "--max-connections",
            "--shed-after 0",
            "without a queue no request waits for another connection; raise --connections instead",
        ));
    }
    Ok(Built { load: Load::Open(OpenLoad { segments, arrivals, shed_after_ns }), shape_ns })
}

fn closed(options: &Options) -> Result<Built, PlanError> {
    let open_only = [
        ("--shed-after", options.load.shed_after.is_some()),
        ("--max-connections", options.load.max_connections.is_some()),
        ("--arrivals", options.load.arrivals.is_some()),
    ];
    let why = "nothing is due there; add --rate or --load, or leave it out";
    exclude(open_only, "a closed loop", why)?;
    let think_time_ns = options.load.think_time.map_or(0, |Nanos(ns)| ns);
    Ok(Built { load: Load::Closed { think_time_ns }, shape_ns: None })
}

/// A segment of `warm_up_ns` at the initial rate of the shape.
fn warm_up(segments: &[Segment], warm_up_ns: u64) -> Result<Segment, PlanError> {
    let duration_ns = Some(warm_up_ns);
    match segments.first() {
        Some(Segment::Hold { rate, .. }) => Ok(Segment::Hold { rate: *rate, duration_ns }),
        Some(Segment::Ramp { from, .. }) if from.events > 0 => {
            Ok(Segment::Hold { rate: *from, duration_ns })
        }
        Some(Segment::Ramp { .. }) => Err(conflict(
            "--warm-up",
            "a ramp from 0",
            "there is no rate to warm up with; begin the ramp above 0",
        )),
        Some(Segment::Burst { size, every_ns, .. }) => {
            Ok(Segment::Burst { size: *size, every_ns: *every_ns, duration_ns })
        }
        Some(Segment::Replay { .. }) | None => Err(conflict(
            "--warm-up",
            "replay",
            "the file says when every request is due; put a `hold … for …` before the replay instead",
        )),
    }
}
