//! The charts of a run.

use candor_plan::Segment;
use candor_plan::units::{fmt_duration_ns, fmt_per_second};
use candor_record::{Brief, Hiccup, IntervalSummary};
use candor_stats::Quantile;

use super::course::{Course, Slice};
use crate::intervals::{self, Figure, Line, OverTime, RATE, Read};
use crate::page::axis::{Axis, Unit};
use crate::page::chart::{Across, Chart, Dot, Mark, Points, Series, from_zero, of_values};
use crate::page::heat::Heat;
use candor_report::document::Document;
use candor_report::document::latency::{DecodeError, Distribution, Standing, enough_samples};
use candor_report::document::streams::Streams;
use candor_report::document::target::ResourceSample;
use candor_report::shorten;

/// The group of charts over the time of the run, which move together.
const TOGETHER: &str = "time";
/// The points of a percentile curve in each decade of 1/(1-q), in hundredths.
const PER_DECADE: [u64; 15] =
    [100, 112, 125, 140, 160, 180, 200, 250, 300, 350, 400, 500, 600, 700, 850];
/// Rows of a decade of latency, and of the map.
const ROWS_PER_DECADE: f64 = 14.0;
const ROWS: std::ops::RangeInclusive<f64> = 20.0..=56.0;
/// Percentiles to draw with their intervals.
const WITH_INTERVAL: [(&str, f64); 6] =
    [("p50", 2.0), ("p90", 10.0), ("p95", 20.0), ("p99", 100.0), ("p99.9", 1e3), ("p99.99", 1e4)];

/// Response and service time by percentile, on an axis that spreads the tail.
pub(super) fn percentiles(document: &Document) -> Result<Chart, DecodeError> {
    let latencies = &document.latencies;
    let open = document.plan.has_due_times();
    let mut series = vec![curve("service time", 1, &latencies.service)?];
    let mut main = &latencies.service;
    if open {
        main = &latencies.response;
        series.insert(0, curve("response time", 0, main)?);
        series.push(curve("queue wait", 3, &latencies.queue_wait)?.hidden());
    }
    series.push(curve("send lag", 2, &latencies.send_lag)?.hidden());
    series.push(Series::dots("95 % intervals", if open { 4 } else { 5 }, intervals(main)));
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
    let (x, y) = (reached(&series), of_values(&series));
    Ok(Chart::new("percentiles", "Latency by percentile", x, y).about(about).all(series))
}

/// The times of events by percentile.
pub(super) fn events(streams: &Streams) -> Result<Chart, DecodeError> {
    let series = vec![
        curve("first event", 0, &streams.first_event)?,
        curve("gap", 1, &streams.gap)?,
        curve("longest gap of a response", 3, &streams.longest_gap)?,
        curve("last event", 2, &streams.last_event)?.hidden(),
    ];
    let (x, y) = (reached(&series), of_values(&series));
    let about = "First and last event count from when a request was due, a gap from the event before. Gaps of events \
                 that were read together are unknown and left out.";
    Ok(Chart::new("events", "Events by percentile", x, y).about(about).all(series))
}

/// The quantiles of a distribution from its minimum on, as far as it has enough samples for them.
fn curve(name: &str, colour: usize, of: &Distribution) -> Result<Series, DecodeError> {
    if of.count == 0 {
        return Ok(Series::line(name, colour, []));
    }
    let hdr = of.decode()?;
    // A logarithmic axis has no zero.
    let shown = |ns: u64| (ns > 0).then_some(ns as f64);
    let decades = (0..=of.count.ilog10())
        .flat_map(|power| PER_DECADE.map(|digits| digits.saturating_mul(10u64.pow(power))));
    let inside = decades.filter_map(|hundredths| {
        let q = Quantile::new(hundredths - 100, hundredths);
        enough_samples(of.count, q)
            .then(|| (hundredths as f64 / 100.0, shown(of.at_rank(&hdr, q.rank(of.count)))))
    });
    let mut inside = inside.peekable();
    let first = inside.peek().and(of.min_ns).map(|min_ns| (1.0, shown(min_ns)));
    Ok(Series::line(name, colour, first.into_iter().chain(inside)))
}

/// The axis of percentiles, a little further than the longest of these curves, so that dots at its end are whole.
fn reached(curves: &[Series]) -> Axis {
    let last = curves.iter().filter_map(|one| one.at.last()).copied().fold(0.0, f64::max);
    Axis::percentiles((last * 1.1) as u64)
}

/// The percentiles that are worth printing, with the intervals that are.
fn intervals(of: &Distribution) -> Vec<Dot> {
    WITH_INTERVAL
        .into_iter()
        .filter_map(|(name, at)| {
            let value = of.percentile_ns(name)? as f64;
            let interval = of.interval_ns(name)?;
            let end = |ns: Option<u64>| ns.map(|ns| ns as f64);
            (interval.standing() == Standing::Bounded).then(|| Dot {
                at,
                value,
                low: end(interval.low_ns),
                high: end(interval.high_ns),
            })
        })
        .collect()
}

/// All charts over the time of the run.
pub(super) fn over_time(document: &Document, course: &Course<'_>) -> Vec<Chart> {
    let Some((from, to)) = course.span_s() else { return Vec::new() };
    let time = Axis::span("time of the run", Unit::Time, from, to);
    let mut charts = Vec::from_iter(heat(course, &time));
    charts.push(service(course, &time));
    let figures = intervals::charts().into_iter().map(|(chart, lines)| {
        let lines = lines.into_iter().flat_map(|(figure, line)| drawn(course, figure, line));
        let asked = (chart.id == RATE.id).then(|| asked(document, course)).flatten();
        (*chart, lines.chain(asked).collect::<Vec<_>>())
    });
    for (chart, series) in figures.chain(resources(document)) {
        let OverTime { id, title, axis, unit, about, .. } = chart;
        let y = match unit {
            Unit::Duration => of_values(&series),
            _ => from_zero(axis, unit, &series),
        };
        let arrivals = if id == RATE.id { arrivals(document) } else { String::new() };
        let about = format!("{about}{arrivals}");
        charts.push(Chart::new(id, title, time.clone(), y).about(about).all(series));
        if id == RATE.id {
            charts.extend(watched(document, &time));
        }
    }
    for chart in &mut charts {
        chart.together = Some(TOGETHER);
        chart.marks.extend(pauses(document));
    }
    charts
}

/// A figure of intervals over the time of the run: per second if it is a count, at the end of each slice if it is a
/// state, and the median and the tail of times. Nothing if it is zero all the time and its chart has no such lines.
fn drawn(course: &Course<'_>, figure: &Figure, line: Line) -> Vec<Series> {
    let Line { chart, colour, shown, .. } = line;
    let name = figure.name;
    let at_end = |read: &dyn Fn(&IntervalSummary) -> Option<f64>| {
        course.points(|slice| read(slice.rows.last()))
    };
    let points = match figure.read {
        Read::Spread(times) | Read::OfEvents(times) | Read::Blocked(times) => {
            let median = median(course, &format!("{name} p50"), colour, times);
            let names = [format!("{name} p99"), format!("longest {name}")];
            return [median]
                .into_iter()
                .chain(tail(course, names, [colour, colour], times))
                .collect();
        }
        Read::Number(count) | Read::Time(count) | Read::Count(count) => {
            course.points(|slice| slice.rows.per_s(count))
        }
        Read::Level(level) => at_end(&|row| Some(level(row) as f64)),
        Read::PerSecond(read) | Read::Share(read) => at_end(&read),
    };
    let any = points.iter().any(|(_, value)| value.is_some_and(|value| value > 0.0));
    let series = Series::line(name, colour, points);
    let series = if shown { series } else { series.hidden() };
    (chart.has_zeros || any).then_some(series).into_iter().collect()
}

fn heat(course: &Course<'_>, time: &Axis) -> Option<Chart> {
    let (heat, latency) = map(course)?;
    let about = "Each column is an interval of the run: the stronger the colour of a cell, the more of \
                 its responses took so long.";
    let p99 = Series::line("p99", 3, course.points(|slice| slice.response.p99_ns));
    let longest = instead_of(
        &p99,
        Series::line("longest", 7, course.points(|slice| slice.response.longest_ns())),
    );
    let p50 = Series::line("p50", 1, course.points(|slice| slice.response.p50_ns));
    let chart = Chart::new("heat", "Response time over time", time.clone(), latency).about(about);
    Some(Chart { heat: Some(heat), ..chart.all([p50, p99, longest]) })
}

/// The heat map of response times and its axis; `None` without responses.
fn map(course: &Course<'_>) -> Option<(Heat, Axis)> {
    let answered = || course.slices.iter().map(|one| &one.response).filter(|one| one.count > 0);
    let low = answered().map(|one| one.min_ns).min()?;
    let high = answered().map(|one| one.max_ns).max()?;
    let axis = Axis::log("response time", Unit::Duration, low as f64, high as f64);
    let decades = (axis.high / axis.low).log10();
    let rows = (decades * ROWS_PER_DECADE).round().clamp(*ROWS.start(), *ROWS.end()) as usize;
    let column = |slice: &Slice| {
        let mut counts = vec![0u64; rows];
        // It was decoded before, when the slice was made.
        let histogram = slice.rows.histogram().ok();
        for step in histogram.iter().flat_map(|all| all.iter_recorded()) {
            let row = (axis.at(step.value_iterated_to() as f64) * rows as f64) as usize;
            let count = &mut counts[row.min(rows - 1)];
            *count = count.saturating_add(step.count_since_last_iteration());
        }
        counts.truncate(counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1));
        counts
    };
    let columns: Vec<Vec<u64>> = course.slices.iter().map(column).collect();
    let ((from, to), first) = (course.span_s()?, course.slices.first()?);
    // All but the last have the same length, and the last is not longer.
    let width =
        if columns.len() == 1 { to - from } else { first.rows.end_s() - first.rows.start_s() };
    Some((Heat { from, width, rows, columns }, axis))
}

/// Intervals may be too short for a high percentile; then this shows the other series.
fn instead_of(wanted: &Series, other: Series) -> Series {
    let known = wanted.value.iter().flatten().count();
    if known * 2 < other.value.iter().flatten().count() { other } else { other.hidden() }
}

fn service(course: &Course<'_>, time: &Axis) -> Chart {
    let names = ["service p99", "longest service"].map(str::to_owned);
    let lags = ["our send lag p99", "our longest send lag"].map(str::to_owned);
    let median = median(course, "service p50", 0, |row| &row.service);
    let series: Vec<_> = [median]
        .into_iter()
        .chain(tail(course, names, [1, 7], |row| &row.service))
        .chain(tail(course, lags, [2, 3], |row| &row.send_lag))
        .collect();
    let about = "The server's time from when a request was sent, and the loader's own lag.";
    let title = "Service time and our own lag over time";
    Chart::new("service", title, time.clone(), of_values(&series)).about(about).all(series)
}

/// The highest of a figure of times in each slice. A logarithmic axis has no zero.
fn highest(course: &Course<'_>, figure: impl Fn(&IntervalSummary) -> Option<u64>) -> Points {
    let highest = |slice: &Slice| slice.rows.highest(&figure).filter(|&ns| ns > 0);
    course.points(|slice| highest(slice).map(|ns| ns as f64))
}

fn median(
    course: &Course<'_>,
    name: &str,
    colour: usize,
    times: fn(&IntervalSummary) -> &Brief,
) -> Series {
    Series::line(name, colour, highest(course, |row| times(row).p50_ns))
}

/// The longest time and the 99th percentile, of which one is shown.
fn tail(
    course: &Course<'_>,
    [p99_name, longest_name]: [String; 2],
    [p99_colour, longest_colour]: [usize; 2],
    times: fn(&IntervalSummary) -> &Brief,
) -> [Series; 2] {
    let p99 = Series::line(p99_name, p99_colour, highest(course, |row| times(row).p99_ns));
    let longest = highest(course, |row| times(row).max_ns);
    [instead_of(&p99, Series::line(longest_name, longest_colour, longest)), p99]
}

/// The asked rate over time, if it is one of all requests.
fn asked(document: &Document, course: &Course<'_>) -> Option<Series> {
    let points = || course.points(|slice| asked_per_s(document, slice.rows.middle_s()));
    document.users.is_none().then(|| Series::line("asked", 6, points()))
}

/// The asked rate where it is not one of all requests, behind what the chart is about.
fn arrivals(document: &Document) -> String {
    let Some(per_s) = document.users.as_ref().and_then(|users| users.asked_per_s) else {
        return String::new();
    };
    let asked = fmt_per_second(per_s);
    match document.plan.work.are_requests() {
        true => format!(" Asked for: {asked} without the requests that follow redirects."),
        false => format!(" Asked for: {asked} users, each with requests of their own."),
    }
}

/// The asked rate at this time of the run, if the schedule consists of constant rates and ramps.
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

/// What the server said of itself, a chart for each figure.
fn watched<'a>(document: &'a Document, time: &'a Axis) -> impl Iterator<Item = Chart> + 'a {
    document.watched.iter().zip(1..).map(|(one, n)| {
        let series = vec![Series::line(shorten(&one.query, 60), 0, one.course())];
        let low = series[0].value.iter().flatten().copied().fold(0.0, f64::min);
        let (axis, unit) = match one.is_counter {
            true => ("a second", Unit::Rate),
            false => ("value", Unit::Count),
        };
        let y = match low < 0.0 {
            true => {
                let high = series[0].value.iter().flatten().copied().fold(0.0, f64::max);
                Axis::span(axis, unit, low, high)
            }
            false => from_zero(axis, unit, &series),
        };
        let missing = match (&one.why, one.missing) {
            (Some(why), missing @ 1..) => format!(" {missing} values are missing: {why}."),
            _ => String::new(),
        };
        let about = match one.is_counter {
            true => format!("The growth of a counter of {}.{missing}", one.source),
            false => format!("At the end of each interval, of {}.{missing}", one.source),
        };
        let title = format!("Watched: {}", shorten(&one.query, 100));
        Chart::new(format!("watch{n}"), title, time.clone(), y).about(about).all(series)
    })
}

/// The resources of a managed target.
fn resources(document: &Document) -> Vec<(OverTime, Vec<Series>)> {
    let Some(resources) = &document.target else { return Vec::new() };
    let window_s = document.time.warm_up_ns as f64 / 1e9;
    let line = |name, colour, figure: fn(&ResourceSample) -> f64| {
        let samples = resources.samples.iter();
        let points = samples.map(|one| (window_s + one.at_s, Some(figure(one))));
        Series::line(name, colour, points)
    };
    let cpu = OverTime {
        id: "cpu",
        title: "CPU of the target over time",
        axis: "of a core",
        unit: Unit::Share,
        about: "CPU time of all its processes, divided by wall time: 100 % is a whole core.",
        has_zeros: true,
    };
    let memory = OverTime {
        id: "memory",
        title: "Memory of the target over time",
        axis: "bytes",
        unit: Unit::Bytes,
        about: "Resident memory of all its processes.",
        has_zeros: true,
    };
    let threads = OverTime {
        id: "threads",
        title: "Threads and open files of the target over time",
        axis: "number",
        unit: Unit::Count,
        about: "Of all its processes.",
        has_zeros: true,
    };
    vec![
        (cpu, vec![line("CPU", 1, |one| one.cpu_share)]),
        (memory, vec![line("resident", 0, |one| one.rss_bytes as f64)]),
        (
            threads,
            vec![
                line("threads", 0, |one| one.threads as f64),
                line("open files", 1, |one| one.open_files as f64),
            ],
        ),
    ]
}

/// Pauses of the loader's own machine that are long enough for a chart.
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

#[cfg(test)]
mod tests {
    use super::*;
    use candor_report::testing;

    #[test]
    fn every_answer_is_in_its_cell() {
        let document = testing::stalled_open();
        let course = Course::of(&document).unwrap();
        let (heat, axis) = map(&course).unwrap();
        for (column, slice) in heat.columns.iter().zip(&course.slices) {
            let response = slice.rows.histogram().unwrap();
            assert_eq!(column.iter().sum::<u64>(), response.len());
            let median =
                candor_record::value_at_rank(&response, Quantile::P50.rank(response.len())) as f64;
            let row = (axis.at(median) * heat.rows as f64) as usize;
            let below: u64 = column[..=row].iter().sum();
            assert!(below * 2 >= response.len(), "{column:?}");
        }
    }

    #[test]
    fn curves_end_where_samples_are_too_few() {
        let reach = |count: u64| {
            let of = testing::distribution(&(1..=count).map(|n| n * 1000).collect::<Vec<_>>());
            let curve = curve("a", 0, &of).unwrap();
            let end = curve.at.last().copied();
            let is_told = |name: &str| of.percentile_ns(name).is_some();
            assert_eq!(end.is_some_and(|end| end >= 100.0), is_told("p99"), "{count}");
            assert_eq!(end.is_some_and(|end| end >= 10.0), is_told("p90"), "{count}");
            assert_eq!(reached(&[curve]).high, (end.unwrap_or(0.0) * 1.1).floor().max(10.0));
            end
        };
        assert_eq!(reach(0), None);
        assert_eq!(reach(4), None);
        assert!(reach(142).is_some_and(|end| (35.0..40.0).contains(&end)));
        assert!(reach(6000).is_some_and(|end| end > 1000.0));
    }

    #[test]
    fn intervals_that_the_table_replaces_by_a_word_are_not_drawn() {
        let mut of = testing::distribution(&(1..=5000u64).map(|n| n * 1000).collect::<Vec<_>>());
        let places = |of: &Distribution| intervals(of).iter().map(|dot| dot.at).collect::<Vec<_>>();
        assert_eq!(places(&of), [2.0, 10.0, 20.0, 100.0]);
        for (name, standing) in [("p90", Standing::TooFew), ("p95", Standing::OneStall)] {
            of.intervals_ns.get_mut(name).unwrap().standing = Some(standing);
        }
        assert_eq!(places(&of), [2.0, 100.0]);
    }

    #[test]
    fn what_is_asked_of_users_is_no_rate_of_requests() {
        let rate = |document: &Document| {
            let charts = over_time(document, &Course::of(document).unwrap());
            charts.into_iter().find(|chart| chart.id == RATE.id).unwrap()
        };
        let has_asked = |chart: &Chart| chart.series.iter().any(|one| one.name == "asked");
        let plain = rate(&testing::healthy_open());
        assert!(has_asked(&plain) && !plain.about.contains("Asked for"), "{}", plain.about);
        let mut document = testing::users_run().document();
        let users = rate(&document);
        assert!(!has_asked(&users) && users.about.contains("/s users"), "{}", users.about);
        let candor_plan::Work::Journeys(journeys) = &mut document.plan.work else { panic!() };
        journeys.order = Some(candor_plan::Order::Rotation);
        let redirected = rate(&document);
        let about = &redirected.about;
        assert!(!has_asked(&redirected) && about.contains("redirects"), "{about}");
        let page = super::super::page(&document, crate::Depth::Full).html();
        assert!(!page.contains("with users at") && page.contains("plus redirects"));
    }
}
