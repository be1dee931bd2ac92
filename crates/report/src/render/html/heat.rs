//! Latency over time as a heat map: a column for each slice of the run, a row for each step of
//! latency, and in each cell the share of the column's answers that took so long.

use candor_plan::units::fmt_share;
use serde::{Serialize, Serializer};

use super::axis::Axis;
use super::course::Course;

/// A cell's level begins above each of these shares of its column.
const LEVELS: [f64; 7] = [0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.4];
/// Rows of a decade of latency, and of the map.
const ROWS_PER_DECADE: f64 = 14.0;
const ROWS: std::ops::RangeInclusive<f64> = 20.0..=56.0;

/// A heat map.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Heat {
    /// Where the first column begins, and how wide each is, along the axis of time.
    from: f64,
    width: f64,
    rows: usize,
    columns: Vec<Column>,
}

/// The cells of a column from the lowest that is not empty to the highest.
#[derive(Debug, Clone, PartialEq)]
struct Column {
    first: usize,
    counts: Vec<u64>,
}

/// As a list: the first row, then the counts upwards.
impl Serialize for Column {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_seq(std::iter::once(self.first as u64).chain(self.counts.iter().copied()))
    }
}

impl Heat {
    /// The map of a run's response times with the axis that it stands on; `None` without answers.
    pub(super) fn of(course: &Course<'_>, name: &'static str) -> Option<(Heat, Axis)> {
        use super::axis::Unit;
        let answered = || course.slices.iter().map(|one| &one.response).filter(|one| one.count > 0);
        let low = answered().map(|one| one.min_ns).min()?;
        let high = answered().map(|one| one.max_ns).max()?;
        let axis = Axis::log(name, Unit::Duration, low as f64, high as f64);
        let decades = (axis.high / axis.low).log10();
        let rows = (decades * ROWS_PER_DECADE).round().clamp(*ROWS.start(), *ROWS.end()) as usize;
        let (from, to) = course.span_s()?;
        let columns = course
            .slices
            .iter()
            .map(|slice| {
                let mut counts = vec![0u64; rows];
                // It was read before, when the slice was made.
                let histogram = slice.histogram().ok();
                for step in histogram.iter().flat_map(|all| all.iter_recorded()) {
                    let row = (axis.at(step.value_iterated_to() as f64) * rows as f64) as usize;
                    let count = &mut counts[row.min(rows - 1)];
                    *count = count.saturating_add(step.count_since_last_iteration());
                }
                let first = counts.iter().position(|&count| count > 0).unwrap_or(0);
                let end = counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
                Column { first, counts: counts[first.min(end)..end].to_vec() }
            })
            .collect::<Vec<_>>();
        // All but the last are equally long, and the last is not longer.
        let first = course.slices.first()?;
        let width = match columns.len() {
            1 => to - from,
            _ => first.end_s - first.start_s,
        };
        Some((Heat { from, width, rows, columns }, axis))
    }

    /// Where the first column begins, and how wide each is.
    pub(super) fn columns(&self) -> (f64, f64) {
        (self.from, self.width)
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The outline of each level's cells, in columns from the left and rows from the top. Cells
    /// next to each other in a row are one rectangle.
    pub(super) fn outlines(&self) -> [String; LEVELS.len()] {
        let mut outlines: [String; LEVELS.len()] = Default::default();
        for row in 0..self.rows {
            let top = self.rows - 1 - row;
            let level = |column: usize| self.columns.get(column).and_then(|one| one.level(row));
            let mut column = 0;
            while column < self.columns.len() {
                let begin = column;
                let this = level(column);
                while column < self.columns.len() && level(column) == this {
                    column += 1;
                }
                if let Some(level) = this {
                    let length = column - begin;
                    outlines[level] += &format!("M{begin} {top}h{length}v1h-{length}z");
                }
            }
        }
        outlines
    }

    /// What each level means.
    pub(super) fn legend() -> [String; LEVELS.len()] {
        std::array::from_fn(|level| match LEVELS.get(level + 1) {
            Some(&to) => format!("≤ {}", short(to)),
            None => format!("> {}", short(LEVELS[level])),
        })
    }
}

fn short(share: f64) -> String {
    let text = fmt_share(share);
    let digits = text.trim_end_matches(" %");
    match digits.contains('.') {
        true => format!("{} %", digits.trim_end_matches('0').trim_end_matches('.')),
        false => text,
    }
}

impl Column {
    fn level(&self, row: usize) -> Option<usize> {
        let count = *self.counts.get(row.checked_sub(self.first)?)?;
        let all: u64 = self.counts.iter().sum();
        let share = count as f64 / all as f64;
        LEVELS.iter().rposition(|&from| share > from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn every_answer_is_in_its_cell() {
        let document = testing::stalled_open();
        let course = Course::of(&document).unwrap();
        let (heat, axis) = Heat::of(&course, "").unwrap();
        for (column, slice) in heat.columns.iter().zip(&course.slices) {
            let response = slice.histogram().unwrap();
            assert_eq!(column.counts.iter().sum::<u64>(), response.len());
            let median = response.value_at_quantile(0.5) as f64;
            let row = (axis.at(median) * heat.rows as f64) as usize;
            let below: u64 = column.counts[..=row - column.first].iter().sum();
            assert!(below * 2 >= response.len(), "{column:?}");
        }
    }

    #[test]
    fn cells_side_by_side_are_one() {
        let column = |counts: &[u64]| Column { first: 1, counts: counts.to_vec() };
        let columns = vec![column(&[1]), column(&[1, 0, 999]), column(&[5, 5]), column(&[])];
        let heat = Heat { from: 0.0, width: 1.0, rows: 4, columns };
        let outlines = heat.outlines();
        assert_eq!(outlines[6], "M0 2h1v1h-1zM2 2h1v1h-1zM2 1h1v1h-1zM1 0h1v1h-1z");
        assert_eq!(outlines[0], "M1 2h1v1h-1z");
        assert_eq!(Heat::legend()[0], "≤ 0.1 %");
        assert_eq!(Heat::legend()[6], "> 40 %");
    }
}
