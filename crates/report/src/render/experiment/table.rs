//! Tables that are the same in text and in Markdown: a header, rows, and how columns stand.

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
        Table { columns, rows: Vec::new() }
    }

    /// One cell for each column.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
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
    pub(crate) fn text(&self) -> String {
        let header: Vec<String> = self.columns.iter().map(|(name, _)| plain(name)).collect();
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(|cell| plain(cell)).collect()).collect();
        let lines = || std::iter::once(&header).chain(&rows);
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|at| lines().map(|row| row[at].chars().count()).max().unwrap_or(0))
            .collect();
        let mut out = String::new();
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
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    /// A table of GitHub's Markdown.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = String>| {
            let cells: Vec<String> = cells.collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut out = line(&mut self.columns.iter().map(|(name, _)| escaped(name)));
        let rules = self.columns.iter().map(|(_, align)| match align {
            Align::Left => "---",
            Align::Right => "---:",
        });
        out.push_str(&format!("|{}|\n", rules.collect::<Vec<_>>().join("|")));
        for row in &self.rows {
            out.push_str(&line(&mut row.iter().map(|cell| escaped(cell))));
        }
        out
    }
}

/// Text from elsewhere (names, commands, servers' answers) for a line of plain text.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Text from elsewhere for a cell or a line of Markdown: no bar ends the cell, no tag begins. What
/// stands in `` `backticks` `` is code, where an escape other than the bar's would be seen.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_code = false;
    for c in plain(text).chars() {
        match c {
            '`' => {
                in_code = !in_code;
                out.push(c);
            }
            '|' => out.push_str("\\|"),
            '<' if !in_code => out.push_str("&lt;"),
            '&' if !in_code => out.push_str("&amp;"),
            _ => out.push(c),
        }
    }
    out
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
        assert_eq!(table.text(), "  name       n\n  a|b\u{fffd}      12\n  <script>   1\n");
        assert_eq!(
            table.markdown(),
            "| name | n |\n|---|---:|\n| a\\|b\u{fffd} | 12 |\n| &lt;script> | 1 |\n"
        );
        assert_eq!(escaped("`a <b>` & c"), "`a <b>` &amp; c");
    }
}
