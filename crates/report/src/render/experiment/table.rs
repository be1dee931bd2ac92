//! Tables that are the same in text and in Markdown: a header, rows, and how columns stand.

use super::super::lines::{Lines, escaped};
use super::super::{shorten, visible};

/// Characters of a cell: all others of its column are as wide.
const CELL: usize = 200;

/// How a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A table of text.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: Vec<(String, Align)>) -> Self {
        let columns = columns.into_iter().map(|(name, align)| (shown(&name), align)).collect();
        Table { columns, rows: Vec::new() }
    }

    /// One cell for each column. What cannot be seen, or is too long for a table, is not in it.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells.iter().map(|cell| shown(cell)).collect());
    }

    pub(crate) fn columns(&self) -> &[(String, Align)] {
        &self.columns
    }

    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Columns as wide as they have to be, two blanks between.
    pub(in crate::render) fn text(&self) -> Lines {
        let header: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let lines = || std::iter::once(&header).chain(&self.rows);
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|at| lines().map(|row| row[at].chars().count()).max().unwrap_or(0))
            .collect();
        let mut out = Lines::default();
        for row in lines() {
            let mut line = String::new();
            for ((cell, &width), (_, align)) in row.iter().zip(&widths).zip(&self.columns) {
                let blanks = " ".repeat(width - cell.chars().count());
                line.push_str("  ");
                match align {
                    Align::Left => line.extend([cell.as_str(), &blanks]),
                    Align::Right => line.extend([blanks.as_str(), cell]),
                }
            }
            out.line(line.trim_end());
        }
        out
    }

    /// A table of GitHub's Markdown.
    pub(in crate::render) fn markdown(&self) -> Lines {
        let line = |cells: &mut dyn Iterator<Item = &String>| {
            let cells: Vec<String> = cells.map(|cell| escaped(cell)).collect();
            format!("| {} |", cells.join(" | "))
        };
        let mut out = Lines::default();
        out.line(line(&mut self.columns.iter().map(|(name, _)| name)));
        let rules = self.columns.iter().map(|(_, align)| match align {
            Align::Left => "---",
            Align::Right => "---:",
        });
        out.line(format!("|{}|", rules.collect::<Vec<_>>().join("|")));
        for row in &self.rows {
            out.line(line(&mut row.iter()));
        }
        out
    }
}

/// Text from elsewhere (names, commands, what servers said) in a cell.
fn shown(text: &str) -> String {
    shorten(&visible(text), CELL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_where_they_should_and_nothing_breaks_out() {
        let mut table =
            Table::new(vec![("name".to_owned(), Align::Left), ("n".to_owned(), Align::Right)]);
        table.row(vec!["a|b\n".to_owned(), "12".to_owned()]);
        table.row(vec!["<script>".to_owned(), "1".to_owned()]);
        assert_eq!(table.text().finish(), "  name       n\n  a|b\\n     12\n  <script>   1\n");
        assert_eq!(
            table.markdown().finish(),
            "| name | n |\n|---|---:|\n| a\\|b\\\\n | 12 |\n| &lt;script> | 1 |\n"
        );
        table.row(vec!["x".repeat(300), String::new()]);
        assert!(table.text().finish().lines().all(|line| line.chars().count() < 210));
    }
}
