//! A chart as a value: axes, series, marks, perhaps a heat map beneath. Printers draw it.

use super::axis::{Axis, Unit};
use super::heat::Heat;

/// Values at places, in order; where there is none, a line has a gap.
pub(crate) type Points = Vec<(f64, Option<f64>)>;

/// Colours that there are for series.
pub(crate) const COLOURS: usize = 8;

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chart {
    /// Anchor of the figure.
    pub(crate) id: String,
    pub(crate) title: String,
    /// How to read it, and what it shows, in a sentence or two.
    pub(crate) about: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) heat: Option<Heat>,
    /// Names of series: the first one with points is what a plot in text shows. None: there is no such plot.
    pub(crate) plotted: &'static [&'static str],
    /// Charts of the same name move their cursor and their zoom together: their x axes are alike.
    pub(crate) together: Option<&'static str>,
}

/// One thing that is drawn and can be put on and off.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) form: Form,
    /// Which of the colours.
    pub(crate) colour: usize,
    pub(crate) shown: bool,
    pub(crate) at: Vec<f64>,
    pub(crate) value: Vec<Option<f64>>,
    /// Ends of an interval around each value, where the form has one; none: open.
    pub(crate) low: Vec<Option<f64>>,
    pub(crate) high: Vec<Option<f64>>,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Line,
    /// Dots, with their intervals if they have some.
    Dots,
}

/// A line across the chart with a word to it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mark {
    pub(crate) across: Across,
    pub(crate) at: f64,
    pub(crate) label: String,
}

/// Which way a mark goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Across {
    /// From the bottom to the top, at a value of x.
    Up,
    /// From the left to the right, at a value of y.
    Along,
}

impl Chart {
    pub(crate) fn new(id: impl Into<String>, title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Chart {
            id: id.into(),
            title: title.into(),
            about: String::new(),
            x,
            y,
            series: Vec::new(),
            marks: Vec::new(),
            heat: None,
            plotted: &[],
            together: None,
        }
    }

    /// With a sentence on how to read it.
    pub(crate) fn about(mut self, about: impl Into<String>) -> Self {
        self.about = about.into();
        self
    }

    /// With these series, in this order.
    pub(crate) fn all(self, series: impl IntoIterator<Item = Series>) -> Self {
        series.into_iter().fold(self, Chart::series)
    }

    /// With a series; one without any value is left out, but keeps its colour to itself. Over things side by side
    /// it has dots and no line, which would say that there is something between them.
    pub(crate) fn series(mut self, mut series: Series) -> Self {
        if series.has_values() {
            series.form = if self.x.names.is_empty() { series.form } else { Form::Dots };
            self.series.push(series);
        }
        self
    }

    /// Whether there is something to see.
    pub(crate) fn has_values(&self) -> bool {
        self.heat.is_some() || !self.series.is_empty()
    }
}

impl Series {
    /// A line through these points, broken where there is no value.
    pub(crate) fn line(
        name: impl Into<String>,
        colour: usize,
        points: impl IntoIterator<Item = (f64, Option<f64>)>,
    ) -> Self {
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let points = points.into_iter().filter_map(|(at, value)| Some((finite(at)?, value)));
        let (at, value) = points.map(|(at, value)| (at, value.and_then(finite))).unzip();
        let (low, high) = (Vec::new(), Vec::new());
        Series { name: name.into(), form: Form::Line, colour, shown: true, at, value, low, high }
    }

    /// Dots at these points, each with the ends of its interval.
    pub(crate) fn dots(
        name: impl Into<String>,
        colour: usize,
        points: impl IntoIterator<Item = Dot>,
    ) -> Self {
        let dots: Vec<Dot> = points.into_iter().collect();
        let list = |pick: fn(&Dot) -> Option<f64>| dots.iter().map(pick).collect::<Vec<_>>();
        Series {
            form: Form::Dots,
            low: list(|dot| dot.low),
            high: list(|dot| dot.high),
            ..Series::line(name, colour, dots.iter().map(|dot| (dot.at, Some(dot.value))))
        }
    }

    /// Dots alone.
    pub(crate) fn scatter(
        name: impl Into<String>,
        colour: usize,
        points: impl IntoIterator<Item = (f64, Option<f64>)>,
    ) -> Self {
        Series { form: Form::Dots, ..Series::line(name, colour, points) }
    }

    /// Not shown until somebody asks for it.
    pub(crate) fn hidden(mut self) -> Self {
        self.shown = false;
        self
    }

    fn has_values(&self) -> bool {
        self.value.iter().any(Option::is_some)
    }

    /// The largest value that is drawn.
    fn highest(&self) -> f64 {
        let values = self.value.iter().chain(&self.high).flatten();
        values.fold(0.0, |highest, value| value.max(highest))
    }
}

/// A value with its interval; an end that is `None` is open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Dot {
    pub(crate) at: f64,
    pub(crate) value: f64,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

/// A linear axis from zero to what these reach, and a little further, so that a level line is not the edge.
pub(crate) fn from_zero(name: &'static str, unit: Unit, series: &[Series]) -> Axis {
    Axis::linear(name, unit, series.iter().map(Series::highest).fold(0.0, f64::max) * 1.05)
}

/// A logarithmic axis of latencies around what is shown of these.
pub(crate) fn of_values(series: &[Series]) -> Axis {
    let shown = series.iter().filter(|one| one.shown);
    let values = shown.flat_map(|one| one.value.iter().flatten().copied());
    Axis::around("latency", Unit::Duration, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_between_things() {
        let form = |x: Axis| {
            let y = Axis::linear("", Unit::Rate, 1.0);
            let line = Series::line("a", 0, [(0.0, Some(1.0)), (1.0, Some(2.0))]);
            Chart::new("c", "t", x, y).all([line]).series[0].form
        };
        assert_eq!(
            form(Axis::things("load", vec!["low".to_owned(), "high".to_owned()])),
            Form::Dots
        );
        assert_eq!(form(Axis::linear("rate", Unit::Rate, 2.0)), Form::Line);
    }
}
