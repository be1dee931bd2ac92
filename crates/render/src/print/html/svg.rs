//! A chart as a figure: caption, legend, drawing, data.
//!
//! The drawing is whole without any script, and as wide as the page: lines are in a picture of
//! 1000 × 1000 that is stretched, labels stand at shares of the width and keep their size. A series
//! is put on and off by the box in the legend, in the style sheet alone. The script adds cursor and
//! zoom (it moves the picture's `viewBox`) and draws nothing anew but the labels of the axes.

use serde::Serialize;

use super::markup::Markup;
use crate::page::axis::{Axis, Tick};
use crate::page::chart::{Across, COLOURS, Chart, Form, Mark, Series};
use crate::page::heat::Heat;

/// Length of the sides of the picture that the lines are in.
const SIDE: f64 = 1000.0;

/// Classes of boxes and of what they put on and off.
const KEYS: [&str; COLOURS] = ["k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"];
const SERIES: [&str; COLOURS] =
    ["s0 c0", "s1 c1", "s2 c2", "s3 c3", "s4 c4", "s5 c5", "s6 c6", "s7 c7"];
const HEAT: [&str; 7] = ["h0", "h1", "h2", "h3", "h4", "h5", "h6"];

/// The figure of a chart.
pub(super) fn figure(out: &mut Markup, chart: &Chart) {
    out.element("figure", &[("class", "chart"), ("id", &chart.id)], |figure| {
        figure.element("figcaption", &[], |caption| {
            caption.leaf("h3", &[], &chart.title);
            caption.leaf("p", &[], &chart.about);
        });
        figure.element("div", &[("class", "legend")], |div| legend(div, chart));
        figure.element("div", &[("class", "stage")], |stage| drawing(stage, chart));
        figure.data(&Data::of(chart));
    });
}

fn legend(out: &mut Markup, chart: &Chart) {
    for one in &chart.series {
        let key = one.colour % COLOURS;
        out.element("label", &[], |label| {
            let kind = [("type", "checkbox"), ("class", KEYS[key]), ("checked", "")];
            label.void("input", if one.shown { &kind } else { &kind[..2] });
            label.element("svg", &[("class", "key"), ("aria-hidden", "true")], |svg| {
                let d = if one.form == Form::Dots { "M12 6h0" } else { "M0 6h24" };
                let class = format!("{} {}", SERIES[key], form(one));
                svg.shape("path", &[("class", &class), ("d", d)]);
            });
            label.text(&one.name);
        });
    }
    if chart.heat.is_some() {
        out.element("span", &[("class", "scale")], |scale| {
            scale.text("share of the responses of its time:");
            for (class, name) in HEAT.iter().zip(Heat::legend()) {
                scale.element("span", &[], |one| {
                    one.element("svg", &[("class", "key"), ("aria-hidden", "true")], |svg| {
                        let size = [("class", *class), ("width", "12"), ("height", "12")];
                        svg.shape("rect", &size);
                    });
                    one.text(&name);
                });
            }
        });
    }
}

fn form(series: &Series) -> &'static str {
    match series.form {
        Form::Line => "line",
        Form::Dots => "dots",
    }
}

fn drawing(out: &mut Markup, chart: &Chart) {
    let about = format!("{}. {}", chart.title, chart.about);
    // Labels stand outside of it, in the room that the style sheet leaves around.
    out.element("svg", &[("class", "plot"), ("role", "img"), ("aria-label", &about)], |plot| {
        plot.element("g", &[("class", "gx")], |g| ticks(g, &chart.x, Across::Up));
        plot.element("g", &[("class", "gy")], |g| ticks(g, &chart.y, Across::Along));
        let side = format!("0 0 {SIDE} {SIDE}");
        let whole = [("class", "picture"), ("viewBox", &*side), ("preserveAspectRatio", "none")];
        plot.element("svg", &whole, |picture| {
            if let Some(heat) = &chart.heat {
                self::heat(picture, heat, &chart.x);
            }
            chart.series.iter().for_each(|one| series(picture, chart, one));
        });
        let rows = rows_of_labels(chart);
        chart.marks.iter().zip(rows).for_each(|(one, row)| mark(plot, chart, one, row));
        plot.shape("rect", &[("class", "frame"), ("width", "100%"), ("height", "100%")]);
        let name = [("class", "name"), ("x", "100%"), ("y", "100%"), ("dy", "38")];
        plot.leaf("text", &name, chart.x.name);
        plot.leaf("text", &[("class", "name up"), ("dy", "-9")], chart.y.name);
    });
}

/// A line over the whole drawing, at a share of its width or of its height.
fn line(out: &mut Markup, across: Across, place: &str) {
    out.shape(
        "line",
        &match across {
            Across::Up => [("x1", place), ("x2", place), ("y1", "0"), ("y2", "100%")],
            Across::Along => [("x1", "0"), ("x2", "100%"), ("y1", place), ("y2", place)],
        },
    );
}

fn ticks(out: &mut Markup, axis: &Axis, across: Across) {
    for Tick { at, label, rank } in axis.whole() {
        let class = if rank > 0 { "minor" } else { "major" };
        let place = percent(if across == Across::Up { at } else { 1.0 - at });
        out.element("g", &[("class", class)], |g| {
            line(g, across, &place);
            let position = match across {
                Across::Up => [("x", &*place), ("y", "100%"), ("dy", "18")],
                Across::Along => [("x", "-8"), ("y", &*place), ("dy", "4")],
            };
            let side = [("class", "before")];
            let side = if across == Across::Up && is_beyond(at, &label) { &side[..] } else { &[] };
            g.leaf("text", &[side, &position].concat(), &label);
        });
    }
}

/// Whether a label in the middle of its place would leave a narrow page at its right edge.
fn is_beyond(at: f64, label: &str) -> bool {
    at + label.chars().count() as f64 / 2.0 * CHARACTER > 1.0 + MARGIN
}

fn heat(out: &mut Markup, heat: &Heat, x: &Axis) {
    let (left, right) = (x.at(heat.from), x.at(heat.from + heat.width));
    let place = format!(
        "translate({} 0) scale({} {})",
        coordinate(left),
        SIDE * (right - left),
        SIDE / heat.rows as f64
    );
    out.element("g", &[("transform", &place)], |g| {
        for (class, outline) in HEAT.iter().zip(heat.outlines()) {
            if !outline.is_empty() {
                g.shape("path", &[("class", class), ("d", &outline)]);
            }
        }
    });
}

fn series(out: &mut Markup, chart: &Chart, series: &Series) {
    let class = format!("{} {}", SERIES[series.colour % COLOURS], form(series));
    let x = |at: &f64| coordinate(chart.x.at(*at));
    let y = |value: f64| coordinate(1.0 - chart.y.at(value));
    let points = series.at.iter().zip(&series.value);
    let mut path = String::new();
    match series.form {
        Form::Line => {
            let mut begun = false;
            for (n, (at, value)) in points.enumerate() {
                let Some(value) = *value else {
                    begun = false;
                    continue;
                };
                path += if begun { " " } else { "M" };
                path += &format!("{} {}", x(at), y(value));
                // A point by itself is a line of no length, whose round ends are a dot.
                let alone = !begun && series.value.get(n + 1).is_none_or(Option::is_none);
                path += if alone { "h0" } else { "" };
                begun = true;
            }
        }
        Form::Dots => {
            let mut around = String::new();
            for (n, (at, value)) in points.enumerate() {
                let Some(value) = *value else { continue };
                path += &format!("M{} {}h0", x(at), y(value));
                let end = |ends: &[Option<f64>], open: f64| {
                    ends.get(n).copied().flatten().map_or_else(|| coordinate(open), y)
                };
                let (low, high) = (end(&series.low, 1.0), end(&series.high, 0.0));
                around += &format!("M{} {low}V{high}", x(at));
            }
            if !series.low.is_empty() {
                let class = format!("{} around", SERIES[series.colour % COLOURS]);
                out.shape("path", &[("class", &class), ("d", &around)]);
            }
        }
    }
    out.shape("path", &[("class", &class), ("d", &path)]);
}

/// Beyond this share of the picture, the label of a mark is before it.
const BEFORE: f64 = 0.7;
/// The height of a row of labels, in pixels; and of a narrow picture, the share that a character takes.
const ROW: usize = 14;
const CHARACTER: f64 = 6.5 / 330.0;
/// What a narrow page has beside the picture, as a share of it (`page.css`).
const MARGIN: f64 = 26.0 / 330.0;

/// The row of each mark's label, so that no two are in one place.
fn rows_of_labels(chart: &Chart) -> Vec<usize> {
    let mut taken: Vec<(usize, f64, f64)> = Vec::new();
    let mut row = |mark: &Mark| {
        let at = chart.x.at(mark.at);
        if mark.across != Across::Up || !(0.0..=1.0).contains(&at) {
            return 0;
        }
        let width = mark.label.chars().count() as f64 * CHARACTER;
        let (from, to) = if at > BEFORE { (at - width, at) } else { (at, at + width) };
        let is_free = |row: &usize| {
            taken.iter().all(|(other, begin, end)| other != row || to < *begin || *end < from)
        };
        let row = (0..chart.marks.len()).find(is_free).unwrap_or_default();
        taken.push((row, from, to));
        row
    };
    chart.marks.iter().map(&mut row).collect()
}

fn mark(out: &mut Markup, chart: &Chart, mark: &Mark, row: usize) {
    let (axis, place) = match mark.across {
        Across::Up => (&chart.x, "data-x"),
        Across::Along => (&chart.y, "data-y"),
    };
    let at = axis.at(mark.at);
    if !(0.0..=1.0).contains(&at) {
        return;
    }
    let share = percent(if mark.across == Across::Up { at } else { 1.0 - at });
    let position = format!("{at:.5}");
    out.element("g", &[("class", "mark"), (place, &position)], |g| {
        line(g, mark.across, &share);
        let (side, dx) = if at > BEFORE { ("before", "-5") } else { ("after", "5") };
        let dy = format!("{}", ROW * (row + 1));
        let up = [("class", side), ("x", &*share), ("y", "0"), ("dx", dx), ("dy", &dy)];
        let along = [("class", "before"), ("x", "100%"), ("y", &*share), ("dy", "-5")];
        let position = if mark.across == Across::Up { &up[..] } else { &along };
        g.leaf("text", position, &mark.label);
    });
}

/// A share of the picture's side, to a tenth of a thousandth.
fn coordinate(share: f64) -> String {
    // Far out is as good as infinitely far, and has fewer digits. (Adding zero: no "-0".)
    let clamped = (share * SIDE).clamp(-10.0 * SIDE, 10.0 * SIDE);
    format!("{}", (clamped * 10.0).round() / 10.0 + 0.0)
}

/// What the script needs of a chart: places as shares of the axes, and every label that it can be asked for.
#[derive(Serialize)]
struct Data<'a> {
    x: Scale<'a>,
    y: Scale<'a>,
    /// Where there is a figure of some series, ascending, and how each place reads.
    stops: Vec<f64>,
    names: Vec<String>,
    series: Vec<Values<'a>>,
    heat: Option<Cells>,
    together: Option<&'static str>,
}

/// An axis.
#[derive(Serialize)]
struct Scale<'a> {
    name: &'a str,
    /// Whether it begins with zero, which stays to be seen.
    zero: bool,
    /// Place, label and rank of each tick.
    ticks: Vec<(f64, String, usize)>,
}

/// The values of a series at each stop and how they read.
#[derive(Serialize)]
struct Values<'a> {
    name: &'a str,
    at: Vec<Option<f64>>,
    labels: Vec<Option<String>>,
}

/// The cells of a heat map.
#[derive(Serialize)]
struct Cells {
    from: f64,
    width: f64,
    /// How the edges between rows read, and the levels.
    edges: Vec<String>,
    levels: [String; HEAT.len()],
    /// A digit for each row.
    columns: Vec<String>,
}

impl<'a> Data<'a> {
    fn of(chart: &'a Chart) -> Self {
        let Chart { x, y, series, heat, together, .. } = chart;
        let mut stops: Vec<f64> = series.iter().flat_map(|one| &one.at).copied().collect();
        stops.sort_by(f64::total_cmp);
        stops.dedup();
        Data {
            x: Scale::of(x),
            y: Scale::of(y),
            series: series.iter().map(|one| Values::of(one, &stops, y)).collect(),
            names: stops.iter().map(|&stop| x.label(stop)).collect(),
            stops: stops.iter().map(|&stop| short(x.at(stop))).collect(),
            heat: heat.as_ref().map(|heat| Cells::of(heat, x, y)),
            together: *together,
        }
    }
}

impl<'a> Scale<'a> {
    fn of(axis: &'a Axis) -> Self {
        let ticks = axis.ticks().into_iter().map(|one| (short(one.at), one.label, one.rank));
        Scale { name: axis.name, zero: !axis.log && axis.low >= 0.0, ticks: ticks.collect() }
    }
}

impl<'a> Values<'a> {
    fn of(series: &'a Series, stops: &[f64], axis: &Axis) -> Self {
        let label = |n: usize, value: f64| {
            let end = |end: &Option<f64>| end.map_or("open".to_owned(), |end| axis.label(end));
            match series.low.get(n).zip(series.high.get(n)) {
                Some((low, high)) => {
                    format!("{} ({} – {})", axis.label(value), end(low), end(high))
                }
                None => axis.label(value),
            }
        };
        let mut values = Values { name: &series.name, at: Vec::new(), labels: Vec::new() };
        for stop in stops {
            let found = series.at.iter().position(|at| at == stop);
            let found = found.and_then(|n| Some((n, series.value[n]?)));
            values.at.push(found.map(|(_, value)| short(axis.at(value))));
            values.labels.push(found.map(|(n, value)| label(n, value)));
        }
        values
    }
}

impl Cells {
    fn of(heat: &Heat, x: &Axis, y: &Axis) -> Self {
        let from = x.at(heat.from);
        let edge = |row: usize| y.label(y.value(row as f64 / heat.rows as f64));
        Cells {
            from: short(from),
            width: short(x.at(heat.from + heat.width) - from),
            edges: (0..=heat.rows).map(edge).collect(),
            levels: Heat::legend(),
            columns: heat.columns.iter().map(|one| Heat::levels(one)).collect(),
        }
    }
}

/// A share for the script: as many digits as somebody can see.
fn short(share: f64) -> f64 {
    (share * 1e5).round() / 1e5 + 0.0
}

pub(super) fn percent(share: f64) -> String {
    format!("{}%", (share * 10_000.0).round() / 100.0 + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::axis::Unit;
    use crate::page::chart::Dot;

    fn drawn(series: Series) -> String {
        let x = Axis::span("time", Unit::Time, 0.0, 10.0);
        let y = Axis::linear("rate", Unit::Rate, 100.0);
        let mut out = Markup::new();
        super::series(&mut out, &Chart::new("c", "t", x, y), &series);
        out.into_string()
    }

    #[test]
    fn a_line_breaks_where_there_is_no_value() {
        let points = [(0.0, Some(0.0)), (5.0, Some(50.0)), (6.0, None), (10.0, Some(100.0))];
        let path = "<path class=\"s0 c0 line\" d=\"M0 1000 500 500M1000 0h0\"/>";
        assert_eq!(drawn(Series::line("a", 0, points)), path);
    }

    #[test]
    fn an_open_interval_reaches_the_edge() {
        let dot = Dot { at: 5.0, value: 50.0, low: Some(25.0), high: None };
        let drawn = drawn(Series::dots("a", 1, [dot]));
        assert!(drawn.contains("d=\"M500 750V0\""), "{drawn}");
        assert!(drawn.contains("d=\"M500 500h0\""), "{drawn}");
    }

    #[test]
    fn a_label_at_the_edge_stays_inside() {
        assert_eq!([is_beyond(1.0, "99.999 %"), is_beyond(1.0, "1,500,000/s")], [false, true]);
        let date = "2026-11-28T22:45:41Z";
        assert_eq!([is_beyond(0.8, "1,500,000/s"), is_beyond(0.9, date)], [false, true]);
        let mut out = Markup::new();
        ticks(&mut out, &Axis::things("", vec!["a".to_owned(), date.repeat(2)]), Across::Up);
        let drawn = out.into_string();
        assert!(drawn.contains("<text class=\"before\" x=\"75%\""), "{drawn}");
        assert!(drawn.contains("<text x=\"25%\""), "{drawn}");
    }

    #[test]
    fn labels_of_marks_are_not_in_one_place() {
        let axis = || Axis::span("time", Unit::Time, 0.0, 10.0);
        let mut chart = Chart::new("c", "t", axis(), Axis::linear("rate", Unit::Rate, 100.0));
        let mark = |at| Mark { across: Across::Up, at, label: "paused 30 ms".into() };
        chart.marks = [9.1, 9.0, 0.1, 9.05, 20.0].map(mark).into();
        assert_eq!(rows_of_labels(&chart), [0, 1, 0, 2, 0]);
        chart.marks[3] = Mark { across: Across::Along, ..mark(9.05) };
        assert_eq!(rows_of_labels(&chart)[3], 0);
    }
}
