//! Latency over time as a heat map: a column for each part of the time, a row for each step of latency,
//! and in each cell the share of the column's responses that took this long.

use candor_plan::units::fmt_share;

use super::axis::without_zeros;

/// A cell's level begins above each of these shares of its column.
const LEVELS: [f64; 7] = [0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.4];

/// A heat map. Its rows divide the axis of latency evenly.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heat {
    /// Where the first column begins, and how wide each is, along the axis of time.
    pub(crate) from: f64,
    pub(crate) width: f64,
    pub(crate) rows: usize,
    /// Answers in each row of each column, from the lowest row.
    pub(crate) columns: Vec<Vec<u64>>,
}

impl Heat {
    /// The outline of each level's cells, in columns from the left and rows from the top. Cells
    /// next to each other in a row are one rectangle.
    pub(crate) fn outlines(&self) -> [String; LEVELS.len()] {
        let mut outlines: [String; LEVELS.len()] = Default::default();
        for row in 0..self.rows {
            let top = self.rows - 1 - row;
            let level = |column: usize| self.columns.get(column).and_then(|one| level(one, row));
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

    /// The levels of a column's cells from the lowest row, a digit each; a dot where nothing is.
    pub(crate) fn levels(column: &[u64]) -> String {
        let digit = |level: usize| char::from_digit(level as u32, 10).unwrap_or('.');
        (0..column.len()).map(|row| level(column, row).map_or('.', digit)).collect()
    }

    /// What each level means.
    pub(crate) fn legend() -> [String; LEVELS.len()] {
        std::array::from_fn(|level| match LEVELS.get(level + 1) {
            Some(&to) => format!("≤ {}", short(to)),
            None => format!("> {}", short(LEVELS[level])),
        })
    }
}

fn short(share: f64) -> String {
    without_zeros(fmt_share(share).trim_end_matches(" %"))
}

/// Which of the levels the cell in this row of a column has; `None`: nothing is in it.
fn level(column: &[u64], row: usize) -> Option<usize> {
    let all: u64 = column.iter().fold(0, |all, &count| all.saturating_add(count));
    let share = *column.get(row)? as f64 / all as f64;
    LEVELS.iter().rposition(|&from| share > from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_side_by_side_are_one() {
        let columns = vec![vec![0, 1], vec![0, 1, 0, 999], vec![0, 5, 5], vec![]];
        let heat = Heat { from: 0.0, width: 1.0, rows: 4, columns };
        let outlines = heat.outlines();
        assert_eq!(outlines[6], "M0 2h1v1h-1zM2 2h1v1h-1zM2 1h1v1h-1zM1 0h1v1h-1z");
        assert_eq!(outlines[0], "M1 2h1v1h-1z");
        assert_eq!(Heat::legend()[0], "≤ 0.1 %");
        assert_eq!(Heat::legend()[6], "> 40 %");
    }
}
