//! A chart as a value: axes, series, marks, perhaps a heat map beneath. [`svg`](super::svg) draws it;
//! the same value, as data, is what the script of the page reads.

use serde::Serialize;

use super::axis::{Axis, Unit};
use super::heat::Heat;

/// A chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Chart {
    /// Anchor of the figure.
    #[serde(skip)]
    pub(crate) id: &'static str,
    #[serde(skip)]
    pub(crate) title: String,
    /// How to read it, and what it shows, in a sentence or two.
    #[serde(skip)]
    pub(crate) about: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
    #[serde(skip)]
    pub(crate) marks: Vec<Mark>,
    pub(crate) heat: Option<Heat>,
    /// Charts of the same name move their cursor and their zoom together: their x axes are alike.
    pub(crate) together: Option<&'static str>,
}

/// One thing that is drawn and can be put on and off.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Series {
    pub(crate) name: String,
    #[serde(skip)]
    pub(crate) form: Form,
    /// Which of the colours.
    #[serde(skip)]
    pub(crate) colour: usize,
    #[serde(skip)]
    pub(crate) shown: bool,
    pub(crate) at: Vec<Number>,
    pub(crate) value: Vec<Option<Number>>,
    /// Ends of an interval around each value, where the form has one; none: open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) low: Vec<Option<Number>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) high: Vec<Option<Number>>,
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

/// A number for the script: as many digits as somebody can read off a chart.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(crate) struct Number(pub(crate) f64);

impl Serialize for Number {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded = self.rounded();
        if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
            return serializer.serialize_i64(rounded as i64);
        }
        serializer.serialize_f64(rounded)
    }
}

impl Number {
    /// To five significant digits.
    fn rounded(self) -> f64 {
        format!("{:.4e}", self.0).parse().unwrap_or(self.0)
    }
}

impl Chart {
    pub(crate) fn new(id: &'static str, title: &str, x: Axis, y: Axis) -> Self {
        Chart {
            id,
            title: title.to_owned(),
            about: String::new(),
            x,
            y,
            series: Vec::new(),
            marks: Vec::new(),
            heat: None,
            together: None,
        }
    }

    /// With a sentence on how to read it.
    pub(crate) fn about(mut self, about: impl Into<String>) -> Self {
        self.about = about.into();
        self
    }

    /// With a series; one without any value is left out, but keeps its colour to itself.
    pub(crate) fn series(mut self, series: Series) -> Self {
        if series.has_values() {
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
        let finite = |value: f64| value.is_finite().then_some(Number(value));
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
        let list = |pick: fn(&Dot) -> Option<f64>| {
            dots.iter().map(|dot| pick(dot).map(Number)).collect::<Vec<_>>()
        };
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
    pub(crate) fn highest(&self) -> f64 {
        let values = self.value.iter().chain(&self.high).flatten();
        values.fold(0.0, |highest, value| value.0.max(highest))
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

/// A logarithmic axis of latencies around what is shown of these.
pub(crate) fn of_values(series: &[Series]) -> Axis {
    let shown = series.iter().filter(|one| one.shown);
    let values = shown.flat_map(|one| one.value.iter().flatten()).map(|value| value.0);
    Axis::around("latency", Unit::Duration, values)
}
