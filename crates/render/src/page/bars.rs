//! Bars as a value: one figure of things beside each other, in groups, each group on a scale of its own.
//! Printers draw them.

/// A picture of bars.
#[derive(Debug)]
pub(crate) struct Bars {
    /// Anchor of the figure.
    pub(crate) id: String,
    pub(crate) title: String,
    /// How to read it, in a sentence or two.
    pub(crate) about: String,
    pub(crate) groups: Vec<Group>,
}

/// Bars on one scale, from zero.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) bars: Vec<Bar>,
}

/// A figure of something.
#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) name: String,
    /// Which of the colours.
    pub(crate) colour: usize,
    pub(crate) value: f64,
    /// The lowest and the highest that it was, if it was measured more than once.
    pub(crate) ends: Option<(f64, f64)>,
    /// The figure as it is written.
    pub(crate) label: String,
}

impl Group {
    /// Where a value stands: 0 at zero, 1 at the longest bar or the end of its interval.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let longest = self.bars.iter().map(|bar| bar.ends.map_or(bar.value, |(_, high)| high));
        let longest = longest.filter(|one| one.is_finite()).fold(0.0, f64::max);
        let share = value / longest;
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }
}
