//! The figures of an interval: one table, from which CSV, the table of every interval and the charts over time take
//! names, units, captions, and how each is read.
//!
//! A figure is a row of [`FIGURES`]. What is about several of them, e.g. the heat map of response times, is where it
//! is drawn.

use candor_record::{Brief, IntervalSummary};

use crate::page::axis::Unit;

/// A figure of an interval.
pub(crate) struct Figure {
    /// Its name in CSV; of a distribution, the beginning of its names.
    pub(crate) id: &'static str,
    /// Its name on a page.
    pub(crate) name: &'static str,
    pub(crate) read: Read,
    /// Its place in the table of every interval, if it has one.
    pub(crate) cell: Option<u8>,
    /// Its line in a chart over time, if it has one.
    pub(crate) line: Option<Line>,
}

/// How a figure is read, and what it is.
#[derive(Clone, Copy)]
pub(crate) enum Read {
    /// A number that tells which interval it is.
    Number(fn(&IntervalSummary) -> u64),
    /// A time of the run, in nanoseconds.
    Time(fn(&IntervalSummary) -> u64),
    /// A number of things in the interval.
    Count(fn(&IntervalSummary) -> u64),
    /// The number of things at its end.
    Level(fn(&IntervalSummary) -> u64),
    /// A number per second.
    PerSecond(fn(&IntervalSummary) -> Option<f64>),
    /// A share of one.
    Share(fn(&IntervalSummary) -> Option<f64>),
    /// A distribution of durations.
    Spread(fn(&IntervalSummary) -> &Brief),
    /// The same of events: only runs of streams have it.
    OfEvents(fn(&IntervalSummary) -> &Brief),
    /// The same of blocked time: only runs in which a transport held requests back have it.
    Blocked(fn(&IntervalSummary) -> &Brief),
}

/// A line in a chart over the time of the run.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    /// Its place among all lines, and so that of its chart among all charts.
    pub(crate) place: u8,
    pub(crate) chart: &'static OverTime,
    pub(crate) colour: usize,
    /// Whether it is shown before somebody asks for it.
    pub(crate) shown: bool,
}

/// A chart over the time of the run, from zero, or of times on a logarithmic axis.
#[derive(Clone, Copy)]
pub(crate) struct OverTime {
    /// Its anchor.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// The name of its axis.
    pub(crate) axis: &'static str,
    pub(crate) unit: Unit,
    /// Its caption.
    pub(crate) about: &'static str,
    /// Whether it has lines that are zero all the time.
    pub(crate) has_zeros: bool,
}

pub(crate) static RATE: OverTime = OverTime {
    id: "rate",
    title: "Rate over time",
    axis: "a second",
    unit: Unit::Rate,
    about: "Complete responses per second, expected or not, beside the requests sent.",
    has_zeros: true,
};
static ERRORS: OverTime = OverTime {
    id: "errors",
    title: "Errors over time",
    axis: "a second",
    unit: Unit::Rate,
    about: "Requests that failed, and requests that were dropped unsent because they were too old.",
    has_zeros: false,
};
static CONNECTIONS: OverTime = OverTime {
    id: "effective",
    title: "Connections over time",
    axis: "number",
    unit: Unit::Count,
    about: "Connections that were established, and requests in flight on them, at the end of each interval.",
    has_zeros: true,
};
static BACKLOG: OverTime = OverTime {
    id: "backlog",
    title: "Backlog over time",
    axis: "requests",
    unit: Unit::Count,
    about: "Requests that were due and for which no connection was free, at the end of each interval.",
    has_zeros: false,
};
static TRAFFIC: OverTime = OverTime {
    id: "traffic",
    title: "Bytes over time",
    axis: "a second",
    unit: Unit::ByteRate,
    about: "Bytes read from and written to sockets.",
    has_zeros: true,
};
static PARTS: OverTime = OverTime {
    id: "parts",
    title: "Parts over time",
    axis: "a second",
    unit: Unit::Rate,
    about: "Events of streams and messages that came, per second.",
    has_zeros: false,
};

static GOODPUT: OverTime = OverTime {
    id: "goodput",
    title: "Goodput over time",
    axis: "a second",
    unit: Unit::Rate,
    about: "Responses under the limits of the plan, per second.",
    has_zeros: false,
};

/// Every figure, in the order of CSV. New ones come last: readers of CSV may go by the number of a column.
pub(crate) const FIGURES: &[Figure] = &[
    Figure::new("index", "number", Read::Number(|row| row.index)),
    Figure::new("in_window", "in the window", Read::Number(|row| row.in_window.into())),
    Figure::new("start_ns", "from", Read::Time(|row| row.start_ns)).cell(0),
    Figure::new("end_ns", "to", Read::Time(|row| row.end_ns)).cell(1),
    Figure::new("sent", "sent", Read::Count(|row| row.sent)).line(2, &RATE, 1),
    Figure::new("ok", "as expected", Read::Count(|row| row.ok)).line(1, &RATE, 2).hidden(),
    Figure::new("errors", "errors", Read::Count(|row| row.errors)).cell(4).line(3, &ERRORS, 1),
    Figure::new("answered", "responses", Read::Count(|row| row.answered)).cell(2).line(0, &RATE, 0),
    Figure::new("shed", "shed", Read::Count(|row| row.shed)).cell(5).line(4, &ERRORS, 3),
    Figure::new("bytes_sent", "sent", Read::Count(|row| row.bytes_sent)).line(9, &TRAFFIC, 1),
    Figure::new("bytes_received", "received", Read::Count(|row| row.bytes_received))
        .line(8, &TRAFFIC, 0),
    Figure::new("connections", "connections", Read::Level(|row| row.connections)).cell(6).line(
        5,
        &CONNECTIONS,
        0,
    ),
    Figure::new("backlog", "backlog", Read::Level(|row| row.backlog)).cell(7).line(7, &BACKLOG, 1),
    Figure::new("in_flight", "in flight", Read::Level(|row| row.in_flight)).line(
        6,
        &CONNECTIONS,
        1,
    ),
    Figure::new("answered_per_s", "rate", Read::PerSecond(|row| row.answered_per_s)).cell(3),
    Figure::new("response", "response time", Read::Spread(|row| &row.response)),
    Figure::new("service", "service time", Read::Spread(|row| &row.service)),
    Figure::new("send_lag", "send lag", Read::Spread(|row| &row.send_lag)),
    Figure::new("users", "users", Read::Level(|row| row.users)),
    Figure::new("parts", "parts", Read::Count(|row| row.parts)).line(10, &PARTS, 0),
    Figure::new("unsent", "unsent", Read::Count(|row| row.unsent)),
    Figure::new("broken_off", "broken off", Read::Count(|row| row.broken_off)),
    Figure::new("unfinished", "unfinished", Read::Count(|row| row.unfinished)),
    Figure::new("connect_errors", "failed to connect", Read::Count(|row| row.connect_errors)),
    Figure::new("availability", "availability", Read::Share(|row| row.availability)),
    Figure::new("touched", "touched by pauses", Read::Count(|row| row.touched)),
    Figure::new("first_event", "first event", Read::OfEvents(|row| &row.first_event)),
    Figure::new("gap", "gap", Read::OfEvents(|row| &row.gap)),
    Figure::new("blocked", "blocked", Read::Blocked(|row| &row.blocked)),
    Figure::new("good", "good", Read::Count(|row| row.good)).line(11, &GOODPUT, 2),
];

impl Figure {
    const fn new(id: &'static str, name: &'static str, read: Read) -> Self {
        Figure { id, name, read, cell: None, line: None }
    }

    /// In the table of every interval, at this place.
    const fn cell(self, place: u8) -> Self {
        Figure { cell: Some(place), ..self }
    }

    /// Drawn in this colour.
    const fn line(self, place: u8, chart: &'static OverTime, colour: usize) -> Self {
        Figure { line: Some(Line { place, chart, colour, shown: true }), ..self }
    }

    /// Not shown before somebody asks for it.
    const fn hidden(mut self) -> Self {
        if let Some(line) = &mut self.line {
            line.shown = false;
        }
        self
    }
}

/// The figures in the table of every interval, in its order.
pub(crate) fn in_table() -> Vec<&'static Figure> {
    let mut all: Vec<_> = FIGURES.iter().filter(|one| one.cell.is_some()).collect();
    all.sort_by_key(|one| one.cell);
    all
}

/// The charts over time, in their order, each with the figures in it.
pub(crate) fn charts() -> Vec<(&'static OverTime, Vec<(&'static Figure, Line)>)> {
    let mut all: Vec<_> = FIGURES.iter().filter_map(|one| Some((one, one.line?))).collect();
    all.sort_by_key(|(_, line)| line.place);
    let by_chart = all.chunk_by(|(_, one), (_, next)| one.chart.id == next.chart.id);
    by_chart.filter_map(|lines| Some((lines.first()?.1.chart, lines.to_vec()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_places_are_unique() {
        let ids: BTreeSet<_> = FIGURES.iter().map(|one| one.id).collect();
        assert_eq!(ids.len(), FIGURES.len());
        let cells: BTreeSet<_> = FIGURES.iter().filter_map(|one| one.cell).collect();
        assert_eq!(cells.len(), in_table().len());
        let charts = charts();
        let lines = charts.iter().flat_map(|(_, lines)| lines);
        let places: BTreeSet<_> = lines.clone().map(|(_, line)| line.place).collect();
        assert_eq!(places.len(), lines.count());
        let anchors: BTreeSet<_> = charts.iter().map(|(chart, _)| chart.id).collect();
        assert_eq!(anchors.len(), charts.len(), "a chart's lines follow each other");
    }

    /// What is in every row of the document is in the table, or here with a reason.
    #[test]
    fn no_figure_of_the_document_is_forgotten() {
        let document = candor_report::testing::healthy_open();
        let row = serde_json::to_value(&document.intervals[0]).unwrap();
        let known: BTreeSet<_> = FIGURES.iter().map(|one| one.id).collect();
        let names = row.as_object().unwrap().keys().map(String::as_str);
        let left_out: Vec<_> = names.filter(|name| !known.contains(name)).collect();
        // A list of machines, and a whole histogram.
        assert_eq!(left_out, ["missing", "response_hdr"]);
    }
}
