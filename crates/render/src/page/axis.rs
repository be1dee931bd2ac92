//! Axes: where a value stands, which values have a label, and how these read.
//!
//! This is the only place that knows. Code that shows a part of an axis, as the script of a page does when
//! somebody zooms, chooses among the ticks that the axis has.

use candor_plan::units::{
    fmt_bytes, fmt_count, fmt_duration_ns, fmt_per_second, fmt_share, with_commas,
};

/// What the numbers along an axis are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nanoseconds.
    Duration,
    /// Seconds since the beginning of the run.
    Time,
    /// A number of things.
    Count,
    /// This many a second.
    Rate,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    ByteRate,
    /// A share of one.
    Share,
    /// A change as a share of one, with its sign.
    Change,
    /// `1/(1-q)` of a quantile q: 1 for the minimum, 100 for p99.
    Percentile,
}

impl Unit {
    /// A value with its unit.
    pub(crate) fn label(self, value: f64) -> String {
        let whole = || value.max(0.0).round() as u64;
        match self {
            Unit::Duration => fmt_duration_ns(whole()),
            Unit::Time if value == 0.0 => "0 s".to_owned(),
            Unit::Time => fmt_duration_ns((value.max(0.0) * 1e9).round() as u64),
            Unit::Count if value.fract() == 0.0 => fmt_count(whole()),
            Unit::Count => format!("{value:.2}"),
            Unit::Rate => fmt_per_second(value),
            Unit::Bytes => fmt_bytes(whole()),
            Unit::ByteRate => fmt_bytes(whole()) + "/s",
            Unit::Share => fmt_share(value).replace(".0 %", " %"),
            Unit::Change => change(value),
            Unit::Percentile => percentile(value),
        }
    }
}

/// `+4.1 %`; small ones with two digits that matter.
fn change(share: f64) -> String {
    let percent = share * 100.0;
    let text = format!("{percent:+.*}", decimals(percent));
    match text.trim_start_matches(['+', '-', '0', '.']).is_empty() {
        true => "0 %".to_owned(),
        false => without_zeros(&with_commas(&text)),
    }
}

/// A percentage of 100 and more with the three digits that matter; a smaller one as it is.
pub(crate) fn three_digits(percent: f64) -> f64 {
    match percent.abs() {
        size if size < 100.0 || !size.is_finite() => percent,
        size => {
            let last = 10f64.powi(size.log10().floor() as i32 - 2);
            (percent / last).round() * last
        }
    }
}

/// Decimals of a percentage of which two digits matter.
pub(crate) fn decimals(percent: f64) -> usize {
    match percent.abs() {
        size if size < 1.0 => 2,
        size if size < 10.0 => 1,
        _ => 0,
    }
}

/// `99.9 %` for 1000.
fn percentile(odds: f64) -> String {
    let decimals = odds.log10().floor().clamp(0.0, 7.0) as usize;
    without_zeros(&format!("{:.decimals$}", 100.0 - 100.0 / odds))
}

/// A percentage without zeros at the end of its decimals.
pub(super) fn without_zeros(percent: &str) -> String {
    match percent.contains('.') {
        true => format!("{} %", percent.trim_end_matches('0').trim_end_matches('.')),
        false => format!("{percent} %"),
    }
}

/// One axis of a chart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    pub(crate) log: bool,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Names of 0, 1, 2, …, where these stand for things and not for numbers.
    pub(crate) names: Vec<String>,
}

/// A value that has a label.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    /// In [0, 1] from the low to the high end.
    pub(crate) at: f64,
    pub(crate) label: String,
    /// How close one has to look: on the whole axis there are ticks of rank 0, and those of rank 1, which may
    /// be left out where there is little room. Higher ranks lie between them.
    pub(crate) rank: usize,
}

/// Labels on a linear axis at most, and of its ticks of all ranks.
const TICKS: f64 = 6.0;
const MOST_TICKS: f64 = 120.0;
/// Characters of names that a page has room for side by side, and that a narrow one has.
const ROOM: usize = 150;
const NARROW: usize = 48;
/// Steps on an axis of time.
const TIME_STEPS_S: [f64; 13] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0];
/// Decades that have labels of their own on a logarithmic axis at most.
const DECADES: f64 = 7.0;

impl Axis {
    /// From zero to a round number that is no less than `high`.
    pub(crate) fn linear(name: &'static str, unit: Unit, high: f64) -> Self {
        let high = if sane(high) > 0.0 { sane(high) } else { 1.0 };
        let step = step(high, unit);
        Axis { high: (high / step).ceil() * step, ..Axis::span(name, unit, 0.0, 1.0) }
    }

    /// From one value to another, exactly.
    pub(crate) fn span(name: &'static str, unit: Unit, low: f64, high: f64) -> Self {
        let low = sane(low);
        let high = if sane(high) > low { sane(high) } else { low + 1.0 };
        Axis { name, unit, log: false, low, high, names: Vec::new() }
    }

    /// Logarithmic, out to the next 1, 2 or 5 in both directions.
    pub(crate) fn log(name: &'static str, unit: Unit, low: f64, high: f64) -> Self {
        let low = sane(low).max(1.0);
        let high = sane(high).max(low);
        let below = round_steps(low).into_iter().rev().find(|&step| step <= low).unwrap_or(low);
        let above = round_steps(high).into_iter().find(|&step| step >= high).unwrap_or(high);
        let high = if above > below { above } else { below * 10.0 };
        Axis { name, unit, log: true, low: below, high, names: Vec::new() }
    }

    /// Logarithmic, around these values.
    pub(crate) fn around(
        name: &'static str,
        unit: Unit,
        values: impl Iterator<Item = f64>,
    ) -> Self {
        let positive = values.filter(|&value| value > 0.0);
        let (low, high) = positive
            .fold((f64::INFINITY, 0f64), |(low, high), value| (low.min(value), high.max(value)));
        Axis::log(name, unit, low, high)
    }

    /// The axis of percentiles, as far as this many samples reach.
    pub(crate) fn percentiles(samples: u64) -> Self {
        let high = (samples as f64).max(10.0);
        Axis { high, ..Axis::log("percentile", Unit::Percentile, 1.0, 10.0) }
    }

    /// From the lowest to the highest of some changes, zero among them, and a little further.
    pub(crate) fn changes(name: &'static str, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((0f64, 0f64), |(low, high), value| (low.min(value), high.max(value)));
        let room = ((high - low) * 0.1).clamp(1e-4, 1e6);
        let (low, high) = (low.max(-1e6) - room, high.min(1e6) + room);
        Axis { low, high, ..Axis::span(name, Unit::Change, 0.0, 1.0) }
    }

    /// With a little room at both ends, so that dots there are whole.
    pub(crate) fn with_room(self) -> Self {
        Axis { low: self.value(-0.02), high: self.value(1.02), ..self }
    }

    /// Things side by side.
    pub(crate) fn things(name: &'static str, names: Vec<String>) -> Self {
        let high = names.len().max(1) as f64 - 0.5;
        Axis { low: -0.5, high, names, ..Axis::span(name, Unit::Count, 0.0, 1.0) }
    }

    /// A value as it is written on this axis.
    pub(crate) fn label(&self, value: f64) -> String {
        match self.names.is_empty() {
            true => self.unit.label(value),
            false => self.names.get(value.round().max(0.0) as usize).cloned().unwrap_or_default(),
        }
    }

    /// Where a value stands: 0 at the low end, 1 at the high end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        match self.log {
            true => (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        }
    }

    /// What stands at a place: the inverse of [`Axis::at`].
    pub(crate) fn value(&self, share: f64) -> f64 {
        match self.log {
            true => self.low * (self.high / self.low).powf(share),
            false => self.low + (self.high - self.low) * share,
        }
    }

    /// The ticks of all ranks, ascending. No two have the same label.
    pub(crate) fn ticks(&self) -> Vec<Tick> {
        let mut ticks: Vec<Tick> = Vec::new();
        for (value, rank) in if self.log { self.decades() } else { self.steps() } {
            let tick = Tick { at: self.at(value), label: self.label(value), rank };
            match ticks.last_mut() {
                Some(last) if last.label == tick.label => {
                    if rank < last.rank {
                        *last = tick;
                    }
                }
                _ => ticks.push(tick),
            }
        }
        ticks
    }

    /// Those that the whole axis shows.
    pub(crate) fn whole(&self) -> impl Iterator<Item = Tick> {
        self.ticks().into_iter().filter(|tick| tick.rank < 2)
    }

    /// Steps that divide each other, the longest first.
    fn steps(&self) -> Vec<(f64, usize)> {
        if !self.names.is_empty() {
            return self.places();
        }
        let length = self.high - self.low;
        let whole = step(length, self.unit);
        let mut steps = vec![2.0 * whole, whole];
        let mut finest = whole;
        loop {
            let finer = finer(finest, self.unit);
            if length / finer > MOST_TICKS || (self.unit == Unit::Count && finer < 1.0) {
                break;
            }
            steps.push(finer);
            finest = finer;
        }
        let first = (self.low / finest - 1e-9).ceil() as i64;
        let last = (self.high / finest + 1e-9).floor() as i64;
        let rank = |value: f64| {
            let divides = |step: &f64| (value / step - (value / step).round()).abs() < 1e-6;
            steps.iter().position(divides).unwrap_or(steps.len())
        };
        (first..=last).map(|n| (n as f64 * finest, rank(n as f64 * finest))).collect()
    }

    /// Things, of which as many have a label as there is room for.
    fn places(&self) -> Vec<(f64, usize)> {
        let longest = self.names.iter().map(|name| name.chars().count()).max().unwrap_or(0) + 2;
        let every = |room: usize| (self.names.len() * longest).div_ceil(room).max(1);
        let minor = every(ROOM);
        let major = every(NARROW).next_multiple_of(minor);
        let rank =
            |n: usize| [n % major, n % minor].iter().position(|rest| *rest == 0).unwrap_or(2);
        (0..self.names.len()).map(|n| (n as f64, rank(n))).collect()
    }

    /// Powers of ten, and digits between them.
    fn decades(&self) -> Vec<(f64, usize)> {
        let decades = (self.high / self.low).log10();
        let every = (decades / DECADES).ceil().max(1.0) as i32;
        // Tenths of digits first; where they would be too many, digits.
        let parts = if decades * 90.0 > MOST_TICKS { 1 } else { 10 };
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let reach = self.low * (1.0 - 1e-9)..=self.high * (1.0 + 1e-9);
        let mut ticks = Vec::new();
        for power in first..=last {
            for part in parts..10 * parts {
                let digit = f64::from(part) / f64::from(parts);
                let rank = match (self.unit == Unit::Percentile, digit) {
                    (_, 1.0) if (power - first) % every == 0 => 0,
                    (_, 1.0) => 2,
                    (true, 2.0) if decades <= 5.5 => 1,
                    (false, 2.0 | 5.0) if decades < 2.5 => 1,
                    (_, 2.0) | (false, 5.0) => 2,
                    (true, 4.0 | 5.0) => 3,
                    (true, _) => continue,
                    (false, digit) if digit.fract() == 0.0 => 3,
                    (false, _) => 4,
                };
                let value = digit * 10f64.powi(power);
                if reach.contains(&value) {
                    ticks.push((value, rank));
                }
            }
        }
        ticks
    }
}

/// A value that an axis can begin or end with.
fn sane(value: f64) -> f64 {
    if value.is_finite() && value > 1e-9 { value.min(1e12) } else { 0.0 }
}

/// The distance of labels on a linear axis of this length.
fn step(length: f64, unit: Unit) -> f64 {
    let least = length / TICKS;
    if unit == Unit::Time
        && let Some(step) = TIME_STEPS_S.into_iter().find(|&step| step >= least && least > 5.0)
    {
        return step;
    }
    let power = 10f64.powi(least.log10().floor() as i32);
    let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power).into_iter().find(|&s| s >= least);
    let step = step.unwrap_or(least);
    if unit == Unit::Count { step.max(1.0) } else { step }
}

/// The next shorter step that divides one of [`step`].
fn finer(step: f64, unit: Unit) -> f64 {
    let divides = |finer: &f64| *finer < step && step % finer == 0.0;
    if unit == Unit::Time
        && let Some(finer) = TIME_STEPS_S.into_iter().rev().find(divides)
    {
        return finer;
    }
    let power = 10f64.powi((step.log10() + 1e-9).floor() as i32);
    if step < power * 1.5 { power / 2.0 } else { power }
}

/// 1, 2 and 5 in the decades around a value, ascending.
fn round_steps(value: f64) -> Vec<f64> {
    let power = value.log10().floor() as i32;
    let decade = |power: i32| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power));
    (power - 1..=power + 1).flat_map(decade).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.whole().map(|tick| tick.label).collect()
    }

    #[test]
    fn percentiles_read_as_percentiles() {
        for (odds, label) in [
            (1.0, "0 %"),
            (2.0, "50 %"),
            (4.0, "75 %"),
            (10.0, "90 %"),
            (20.0, "95 %"),
            (100.0, "99 %"),
            (1000.0, "99.9 %"),
            (1e5, "99.999 %"),
        ] {
            assert_eq!(Unit::Percentile.label(odds), label);
        }
        let axis = Axis::percentiles(6000);
        let wanted = ["0 %", "50 %", "90 %", "95 %", "99 %", "99.5 %", "99.9 %", "99.95 %"];
        assert_eq!(labels(&axis), wanted);
        assert_eq!((axis.at(1.0), axis.at(6000.0)), (0.0, 1.0));
    }

    #[test]
    fn labels_are_round_and_few() {
        assert_eq!(labels(&Axis::linear("", Unit::Rate, 1937.0)).len(), 5);
        assert_eq!(labels(&Axis::linear("", Unit::Rate, 1937.0))[4], "2,000/s");
        assert_eq!(labels(&Axis::linear("", Unit::Count, 1.0)), ["0", "1"]);
        let time = Axis::span("", Unit::Time, 0.5, 30.5);
        assert_eq!(labels(&time), ["5 s", "10 s", "15 s", "20 s", "25 s", "30 s"]);
        let long = Axis::span("", Unit::Time, 0.0, 3600.0);
        assert_eq!(labels(&long), ["0 s", "10 m", "20 m", "30 m", "40 m", "50 m", "1 h"]);
        let log = Axis::log("", Unit::Duration, 430_000.0, 4_100_000.0);
        assert_eq!((log.low, log.high), (200_000.0, 5_000_000.0));
        assert_eq!(labels(&log), ["200 µs", "500 µs", "1 ms", "2 ms", "5 ms"]);
        let wide = Axis::log("", Unit::Duration, 1.0, 60e9);
        assert!(labels(&wide).len() <= 8, "{:?}", labels(&wide));
    }

    /// Ticks of each rank divide those of the ranks before, so zooming in loses none.
    #[test]
    fn there_are_labels_for_whoever_looks_closer() {
        let of_rank = |axis: &Axis, rank: usize| -> Vec<String> {
            let ticks = axis.ticks().into_iter();
            ticks.filter(|tick| tick.rank == rank).map(|tick| tick.label).take(4).collect()
        };
        let time = Axis::span("", Unit::Time, 0.0, 3600.0);
        assert_eq!(of_rank(&time, 0), ["0 s", "20 m", "40 m", "1 h"]);
        assert_eq!(of_rank(&time, 1), ["10 m", "30 m", "50 m"]);
        assert_eq!(of_rank(&time, 2), ["5 m", "15 m", "25 m", "35 m"]);
        assert_eq!(of_rank(&time, 3), ["1 m", "2 m", "3 m", "4 m"]);
        let rate = Axis::linear("", Unit::Rate, 2000.0);
        assert_eq!(of_rank(&rate, 2), ["100/s", "200/s", "300/s", "400/s"]);
        let log = Axis::log("", Unit::Duration, 430_000.0, 4_100_000.0);
        assert_eq!(of_rank(&log, 3), ["300 µs", "400 µs", "600 µs", "700 µs"]);
        for axis in [time, rate, log, Axis::percentiles(6000)] {
            let labels: Vec<String> = axis.ticks().into_iter().map(|tick| tick.label).collect();
            let once: std::collections::BTreeSet<_> = labels.iter().collect();
            assert_eq!(once.len(), labels.len(), "{labels:?}");
        }
    }

    #[test]
    fn names_do_not_lie_on_each_other() {
        let of = |count: usize, name: &str| {
            let axis = Axis::things("", (0..count).map(|n| format!("{name}{n}")).collect());
            [0, 1].map(|rank| axis.ticks().into_iter().filter(|one| one.rank <= rank).count())
        };
        // Names of 3, 21 and 22 characters, with two between them.
        assert_eq!(of(6, "p9"), [6, 6]);
        assert_eq!(of(8, "2026-11-28T22:45:41Z"), [2, 4]);
        assert_eq!(of(90, "2026-11-28T22:45:41Z"), [2, 6]);
    }

    #[test]
    fn dots_at_the_ends_have_room() {
        let axis = Axis::log("", Unit::Count, 1.0, 10.0).with_room();
        assert!(axis.at(1.0) > 0.015 && axis.at(10.0) < 0.985, "{axis:?}");
        assert_eq!(labels(&axis), labels(&Axis::log("", Unit::Count, 1.0, 10.0)));
    }

    #[test]
    fn no_range_is_too_odd_for_an_axis() {
        let odd = [0.0, -1.0, 1e-300, 1.0, 1e300, f64::NAN, f64::INFINITY];
        for low in odd {
            for high in odd {
                for axis in [
                    Axis::linear("", Unit::Count, high),
                    Axis::span("", Unit::Time, low, high),
                    Axis::log("", Unit::Duration, low, high),
                ] {
                    assert!(axis.low < axis.high, "{axis:?}");
                    assert!(axis.whole().count() < 30, "{axis:?}");
                    assert!(axis.ticks().len() < 250, "{axis:?}");
                    assert!(axis.at(axis.low).abs() < 1e-6, "{axis:?}");
                }
            }
        }
        assert_eq!(Axis::percentiles(0).high, 10.0);
    }
}
