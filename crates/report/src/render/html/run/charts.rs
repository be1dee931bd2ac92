//! The charts of a run.

use candor_plan::Segment;
use candor_plan::units::fmt_duration_ns;
use candor_record::Hiccup;

use super::super::axis::{Axis, Unit};
use super::super::chart::{Across, Chart, Dot, Mark, Series, of_values};
use super::super::course::{Course, Slice};
use super::super::heat::Heat;
use crate::document::Document;
use crate::document::latency::{DecodeError, Distribution};

/// Charts over the time of the run move together.
const TOGETHER: &str = "time";
/// Where a curve of percentiles has points, in each decade of 1/(1-q).
const PER_DECADE: [f64; 15] =
    [1.0, 1.12, 1.25, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.5];
/// Percentiles whose interval is drawn.
const WITH_INTERVAL: [(&str, f64); 6] =
    [("p50", 2.0), ("p90", 10.0), ("p95", 20.0), ("p99", 100.0), ("p99.9", 1e3), ("p99.99", 1e4)];

/// Response and service time over the percentile, on the axis that spreads the tail.
pub(super) fn percentiles(document: &Document) -> Result<Chart, DecodeError> {
    let latencies = &document.latencies;
    let open = document.plan.load.is_open();
    let mut series = vec![curve("service time", 1, &latencies.service)?];
    let mut main = &latencies.service;
    if open {
        main = &latencies.response;
        series.insert(0, curve("response time", 0, main)?);
        series.push(curve("queue wait", 3, &latencies.queue_wait)?.hidden());
    }
    series.push(curve("send lag", 2, &latencies.send_lag)?.hidden());
    series.push(Series::dots("95 % intervals", if open { 4 } else { 5 }, intervals(main)));
    let samples = main.count;
    let about = match open {
        true => {
            "Response time counts from when a request was due, service time from when it was sent: what \
             lies between the two is waiting that a closed loop would not have seen."
        }
        false => {
            "Service time counts from when a request was sent. In a closed loop nothing is sent while \
             the server stalls, so a stall is in few samples."
        }
    };
    let x = Axis::percentiles(samples);
    let y = of_values(&series);
    let chart = Chart::new("percentiles", "Latency by percentile", x, y).about(about);
    Ok(series.into_iter().fold(chart, Chart::series))
}

/// A distribution's quantiles, as far out as it has samples; the last one is its maximum.
fn curve(name: &str, colour: usize, of: &Distribution) -> Result<Series, DecodeError> {
    let Some((min_ns, max_ns)) = of.min_ns.zip(of.max_ns) else {
        return Ok(Series::line(name, colour, []));
    };
    let hdr = of.decode()?;
    let last = of.count as f64;
    let decades = (0..=last.log10() as i32)
        .flat_map(|power| PER_DECADE.map(|digit| digit * 10f64.powi(power)));
    let quantile = |odds: f64| {
        let ns = hdr.value_at_quantile(1.0 - 1.0 / odds).min(max_ns).max(min_ns);
        // A logarithmic axis has no zero.
        (ns > 0).then_some(ns as f64)
    };
    let inside = decades.take_while(|&odds| odds < last).map(|odds| (odds, quantile(odds)));
    let end = (last, (max_ns > 0).then_some(max_ns as f64));
    Ok(Series::line(name, colour, inside.chain([end])))
}

/// The percentiles that are worth printing, with their intervals.
fn intervals(of: &Distribution) -> Vec<Dot> {
    WITH_INTERVAL
        .into_iter()
        .filter_map(|(name, at)| {
            let value = of.percentile_ns(name)? as f64;
            let interval = of.interval_ns(name)?;
            let end = |ns: Option<u64>| ns.map(|ns| ns as f64);
            Some(Dot { at, value, low: end(interval.low_ns), high: end(interval.high_ns) })
        })
        .collect()
}

/// Everything over the time of the run.
pub(super) fn over_time(document: &Document, course: &Course<'_>) -> Vec<Chart> {
    let Some((from, to)) = course.span_s() else { return Vec::new() };
    let time = || Axis::span("time of the run", Unit::Time, from, to);
    let mut charts = Vec::new();
    charts.extend(heat(course, time()));
    charts.push(service(course, time()));
    charts.push(rate(document, course, time()));
    charts.push(failures(course, time()));
    charts.push(connections(course, time()));
    charts.push(backlog(course, time()));
    charts.push(traffic(course, time()));
    charts.extend(resources(document, time));
    for chart in &mut charts {
        chart.together = Some(TOGETHER);
        chart.marks.extend(pauses(document));
    }
    charts
}

fn heat(course: &Course<'_>, time: Axis) -> Option<Chart> {
    let (heat, latency) = Heat::of(course, "response time")?;
    let about = "Each column is an interval of the run: the stronger the colour of a cell, the more of \
                 its answers took so long.";
    let p99 = Series::line("p99", 3, course.points(|slice| slice.response.p99_ns));
    let longest =
        instead_of(&p99, Series::line("longest", 7, course.points(|slice| slice.longest_ns())));
    let mut chart = Chart::new("heat", "Response time over time", time, latency)
        .about(about)
        .series(Series::line("p50", 1, course.points(|slice| slice.response.p50_ns)))
        .series(p99)
        .series(longest);
    chart.heat = Some(heat);
    Some(chart)
}

/// Intervals may be too short for a high percentile: then the other one is shown.
fn instead_of(wanted: &Series, other: Series) -> Series {
    let known = wanted.value.iter().flatten().count();
    if known * 2 < other.value.iter().flatten().count() { other } else { other.hidden() }
}

fn service(course: &Course<'_>, time: Axis) -> Chart {
    let at = |figure: fn(&Slice) -> Option<u64>| {
        // A logarithmic axis has no zero.
        course.points(move |slice| figure(slice).filter(|&ns| ns > 0).map(|ns| ns as f64))
    };
    let p99 = Series::line("service p99", 1, at(|slice| slice.service.p99_ns));
    let longest = Series::line("longest service", 7, at(|slice| slice.service.max_ns));
    let lag_p99 = Series::line("our send lag p99", 2, at(|slice| slice.send_lag.p99_ns));
    let longest_lag = Series::line("our longest send lag", 3, at(|slice| slice.send_lag.max_ns));
    let series = [
        Series::line("service p50", 0, at(|slice| slice.service.p50_ns)),
        instead_of(&p99, longest),
        p99,
        instead_of(&lag_p99, longest_lag),
        lag_p99,
    ];
    let about =
        "What the server took from when a request was sent, and how late the loader itself was.";
    let title = "Service time and our own lag over time";
    let chart = Chart::new("service", title, time, of_values(&series)).about(about);
    series.into_iter().fold(chart, Chart::series)
}

fn rate(document: &Document, course: &Course<'_>, time: Axis) -> Chart {
    let per_s = |count: fn(&Slice) -> u64| course.points(move |slice| slice.per_s(count(slice)));
    let asked = course.points(|slice| asked_per_s(document, (slice.start_s + slice.end_s) / 2.0));
    let chart = Chart::new("rate", "Rate over time", time, Axis::linear("", Unit::Rate, 1.0))
        .about(
            "Complete answers a second, right or wrong ones, beside what was sent and asked for.",
        )
        .series(Series::line("answered", 0, per_s(|slice| slice.sum.answered)))
        .series(Series::line("as expected", 2, per_s(|slice| slice.sum.ok)).hidden())
        .series(Series::line("sent", 1, per_s(|slice| slice.sum.sent)))
        .series(Series::line("asked", 6, asked));
    from_zero(chart, "a second", Unit::Rate)
}

/// The rate that the schedule asks for at this time of the run, where it is one of constant rates
/// and ramps.
fn asked_per_s(document: &Document, at_s: f64) -> Option<f64> {
    let mut begin_s = 0.0;
    for segment in document.plan.load.segments() {
        let (length_ns, rate_per_s) = match *segment {
            Segment::Hold { rate, duration_ns } => (duration_ns, rate.per_s_f64()),
            Segment::Ramp { from, to, duration_ns } => {
                let (from_per_s, to_per_s) = (from.per_s_f64(), to.per_s_f64());
                let share = (at_s - begin_s) * 1e9 / duration_ns as f64;
                (Some(duration_ns), from_per_s + (to_per_s - from_per_s) * share)
            }
            Segment::Burst { .. } | Segment::Replay { .. } => return None,
        };
        let end_s = length_ns.map_or(f64::INFINITY, |length_ns| begin_s + length_ns as f64 / 1e9);
        if at_s < end_s {
            return Some(rate_per_s);
        }
        begin_s = end_s;
    }
    None
}

fn failures(course: &Course<'_>, time: Axis) -> Chart {
    let any = |count: fn(&Slice) -> u64| course.slices.iter().any(|slice| count(slice) > 0);
    let mut chart = Chart::new(
        "errors",
        "Errors over time",
        time,
        Axis::linear("", Unit::Rate, 1.0),
    )
    .about(
        "Requests that failed, and requests that were dropped unsent because they were too old.",
    );
    type Count = fn(&Slice) -> u64;
    let errors: Count = |slice| slice.sum.errors;
    let shed: Count = |slice| slice.sum.shed;
    let kinds = [("errors", 1, errors), ("shed", 3, shed)];
    for (name, colour, count) in kinds {
        if any(count) {
            let points = course.points(|slice| slice.per_s(count(slice)));
            chart = chart.series(Series::line(name, colour, points));
        }
    }
    from_zero(chart, "a second", Unit::Rate)
}

fn connections(course: &Course<'_>, time: Axis) -> Chart {
    let level = |count: fn(&Slice) -> u64| course.points(move |slice| Some(count(slice) as f64));
    let chart = Chart::new("effective", "Connections over time", time, Axis::linear("", Unit::Count, 1.0))
        .about("Connections that were established, and requests in flight on them, at the end of each interval.")
        .series(Series::line("connections", 0, level(|slice| slice.sum.connections)))
        .series(Series::line("in flight", 1, level(|slice| slice.sum.in_flight)));
    from_zero(chart, "number", Unit::Count)
}

fn backlog(course: &Course<'_>, time: Axis) -> Chart {
    let chart = Chart::new(
        "backlog",
        "Backlog over time",
        time,
        Axis::linear("", Unit::Count, 1.0),
    )
    .about(
        "Requests that were due and for which no connection was free, at the end of each interval.",
    );
    if course.slices.iter().all(|slice| slice.sum.backlog == 0) {
        return chart;
    }
    let level = course.points(|slice| Some(slice.sum.backlog as f64));
    from_zero(chart.series(Series::line("backlog", 1, level)), "requests", Unit::Count)
}

fn traffic(course: &Course<'_>, time: Axis) -> Chart {
    let per_s = |count: fn(&Slice) -> u64| course.points(move |slice| slice.per_s(count(slice)));
    let chart =
        Chart::new("traffic", "Bytes over time", time, Axis::linear("", Unit::ByteRate, 1.0))
            .about("Bytes read from and written to sockets.")
            .series(Series::line("received", 0, per_s(|slice| slice.sum.bytes_received)))
            .series(Series::line("sent", 1, per_s(|slice| slice.sum.bytes_sent)));
    from_zero(chart, "a second", Unit::ByteRate)
}

/// What a managed target used.
fn resources(document: &Document, time: impl Fn() -> Axis) -> Vec<Chart> {
    let Some(resources) = &document.target else { return Vec::new() };
    let window_s = document.time.warm_up_ns as f64 / 1e9;
    let points = |figure: fn(&crate::document::target::ResourceSample) -> f64| {
        resources.samples.iter().map(move |one| (window_s + one.at_s, Some(figure(one))))
    };
    let cpu = Chart::new(
        "cpu",
        "CPU of the target over time",
        time(),
        Axis::linear("", Unit::Share, 1.0),
    )
    .about("CPU time of all its processes by wall time: 100 % is a whole core.")
    .series(Series::line("CPU", 1, points(|one| one.cpu_share)));
    let memory = Chart::new(
        "memory",
        "Memory of the target over time",
        time(),
        Axis::linear("", Unit::Bytes, 1.0),
    )
    .about("Resident memory of all its processes.")
    .series(Series::line("resident", 0, points(|one| one.rss_bytes as f64)));
    let others = Chart::new(
        "threads",
        "Threads and open files of the target over time",
        time(),
        Axis::linear("", Unit::Count, 1.0),
    )
    .about("Of all its processes.")
    .series(Series::line("threads", 0, points(|one| one.threads as f64)))
    .series(Series::line("open files", 1, points(|one| one.open_files as f64)));
    vec![
        from_zero(cpu, "of a core", Unit::Share),
        from_zero(memory, "bytes", Unit::Bytes),
        from_zero(others, "number", Unit::Count),
    ]
}

/// With an axis from zero to what its series reach.
fn from_zero(mut chart: Chart, name: &'static str, unit: Unit) -> Chart {
    let highest = chart.series.iter().map(Series::highest).fold(0.0, f64::max);
    // A little room, so that a level line is not the edge.
    chart.y = Axis::linear(name, unit, highest * 1.05);
    chart
}

/// When the loader's own machine paused, as far as a chart can show it.
fn pauses(document: &Document) -> Vec<Mark> {
    const SHORTEST_NS: u64 = 20_000_000;
    const MOST: usize = 3;
    let mut worst: Vec<Hiccup> = document.hiccups().flat_map(|seen| seen.worst.clone()).collect();
    worst.retain(|one| one.late_ns >= SHORTEST_NS);
    worst.sort_by_key(|one| std::cmp::Reverse(one.late_ns));
    let mark = |one: &Hiccup| Mark {
        across: Across::Up,
        at: one.at_ns as f64 / 1e9,
        label: format!("our machine paused {}", fmt_duration_ns(one.late_ns)),
    };
    worst.iter().take(MOST).map(mark).collect()
}
