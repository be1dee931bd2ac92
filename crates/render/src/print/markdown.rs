//! A page as Markdown, as GitHub reads it: paragraphs, lists, tables, blocks of code.
//!
//! Text from outside stays within its line and is no markup: a line is cut by its own end alone, since
//! [`Lines::line`] makes everything in it visible, and [`escaped`] and [`code`] keep text within it from
//! meaning anything.

use super::{bars, plot};
use crate::page::{Block, Kind, Page, Section, Sum, Table};
use crate::{shorten, visible};

/// Characters of a cell.
const CELL: usize = 200;

/// The page as Markdown.
pub(crate) fn print(page: &Page) -> String {
    let mut out = Lines::default();
    out.heading(1, &page.title);
    blocks(&mut out, &page.header.blocks);
    let sections = [&page.findings].into_iter().chain(&page.sections).chain([&page.again]);
    for Section { heading, blocks: inside, .. } in sections {
        let mut lines = Lines::default();
        blocks(&mut lines, inside);
        if !lines.0.is_empty() && !heading.is_empty() {
            out.heading(2, heading);
        }
        out.0.push_str(&lines.0);
    }
    out.line(escaped(&page.footer));
    out.0
}

/// Each with a blank line behind it.
fn blocks(out: &mut Lines, blocks: &[Block]) {
    for block in blocks {
        match block {
            Block::Text(_, text) => out.line(escaped(text)),
            Block::Standing(_, word, sentence) => {
                out.line(format!("> **{word}** {}", escaped(sentence)));
            }
            Block::Heading(heading) => {
                out.heading(3, heading);
                continue;
            }
            Block::Figures(figures) => {
                let names = figures.iter().map(|one| one.0.to_owned());
                let figure = figures.iter().map(|one| one.1.clone());
                let about = figures.iter().map(|one| one.2.clone());
                out.row(names);
                out.line(format!("|{}", "---|".repeat(figures.len())));
                out.row(figure);
                out.row(about);
            }
            Block::Facts(facts) => {
                let line = |name, text| format!("- {name}: {}", escaped(text));
                facts.iter().for_each(|one| out.line(line(one.name, &one.text)));
            }
            Block::Sums(sums) => out.table(&Sum::table(sums)),
            Block::Table(table) => out.table(table),
            Block::Chart(chart) => {
                let Some(lines) = plot::lines(chart) else { continue };
                out.line(format!("**{}**", escaped(&chart.title)));
                out.blank();
                out.code(lines.iter().map(String::as_str));
            }
            Block::Bars(one) => {
                out.line(format!("**{}**", escaped(&one.title)));
                out.blank();
                out.code(bars::lines(one).iter().map(String::as_str));
            }
            Block::Code(lines) => out.code(lines.iter().map(String::as_str)),
            Block::Command(words) => {
                out.line("Rerun:");
                out.blank();
                out.code([&*words.join(" ")]);
            }
            Block::Finding(one) => {
                let (sentence, remedy) = (escaped(&one.sentence), escaped(&one.remedy));
                out.line(format!("- **{}** {}: {sentence} → {remedy}", one.word, code(&one.id)));
            }
            Block::Details(..) => continue,
        }
        out.blank();
    }
}

/// A rendering made of lines.
#[derive(Debug, Default)]
struct Lines(String);

impl Lines {
    /// One line, whatever is in it.
    fn line(&mut self, line: impl AsRef<str>) {
        self.0.push_str(&visible(line.as_ref()));
        self.0.push('\n');
    }

    fn blank(&mut self) {
        self.0.push('\n');
    }

    /// A heading, with a blank line behind it.
    fn heading(&mut self, level: usize, heading: &str) {
        self.line(format!("{} {}", "#".repeat(level), escaped(heading)));
        self.blank();
    }

    /// A block of code.
    fn code<'a>(&mut self, lines: impl IntoIterator<Item = &'a str>) {
        self.0.push_str("```\n");
        // A fence within would end the block.
        lines.into_iter().for_each(|line| self.line(line.replace("```", "'''")));
        self.0.push_str("```\n");
    }

    /// A row of a table. What cannot be seen, or is too long for a table, is not in it.
    fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter().map(|cell| escaped(&shorten(&visible(&cell), CELL)));
        self.line(format!("| {} |", cells.collect::<Vec<_>>().join(" | ")));
    }

    fn table(&mut self, table: &Table) {
        let names = table.columns.iter().map(|column| match column.about.is_empty() {
            true => column.name.clone(),
            false => format!("{} ({})", column.name, column.about),
        });
        self.row(names);
        let rules = table.columns.iter().map(|column| match column.kind {
            Kind::Figures => "---:|",
            Kind::Words | Kind::Code | Kind::Sentences => "---|",
        });
        self.line(format!("|{}", rules.collect::<String>()));
        for row in &table.rows {
            self.row(row.iter().zip(&table.columns).map(|(cell, column)| match column.kind {
                Kind::Code => code(cell),
                _ => cell.clone(),
            }));
        }
    }
}

/// Text in a line of Markdown: no markup, no link, no cell of a table. Words between single backticks are
/// code.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Four blanks at the beginning would make a block of code of it.
    let mut rest = if text.starts_with("    ") { text.trim_start() } else { text };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let marker = &rest[digits..];
    if digits > 0 && matches!(marker.as_bytes(), [b'.' | b')'] | [b'.' | b')', b' ', ..]) {
        out.extend([&rest[..digits], "\\", &marker[..1]]);
        rest = &marker[1..];
    }
    while let Some(c) = rest.chars().next() {
        // Two backticks in a row, of which one is ours, would be something else.
        if !out.ends_with('`')
            && let Some((code, behind)) = code_at(rest)
        {
            // A cell of a table ends at any other bar, in code too.
            out.push_str(&code.replace('|', "\\|"));
            rest = behind;
            continue;
        }
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '|' | '[' | ']' | '*' => out.extend(['\\', c]),
            '#' | '>' | '-' | '+' | '=' | '~' | '_' if out.is_empty() && rest.len() > 1 => {
                out.extend(['\\', c]);
            }
            c => out.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// The code between the backtick at the beginning and the next one, both alone, and what follows.
fn code_at(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('`')?;
    let length = inside.find('`').filter(|&length| length > 0)?;
    let (code, behind) = text.split_at(length + 2);
    (!behind.starts_with('`')).then_some((code, behind))
}

/// Text as code in a line of Markdown.
fn code(text: &str) -> String {
    match text.is_empty() {
        true => String::new(),
        false => format!("`{}`", text.replace('`', "'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Column;

    #[test]
    fn text_is_no_markup() {
        for (text, markdown) in [
            ("`a <b>` & c", "`a <b>` &amp; c"),
            ("` <img src=x>", "\\` &lt;img src=x>"),
            ("`` <b> ``", "\\`\\` &lt;b> \\`\\`"),
            ("`a``<b>`", "\\`a\\`\\`&lt;b>\\`"),
            ("[x](http://y) ![z](w)", "\\[x\\](http://y) !\\[z\\](w)"),
            ("a|b `c|d` \\|", "a\\|b `c\\|d` \\\\\\|"),
            ("# x", "\\# x"),
            ("a # x", "a # x"),
            ("* x", "\\* x"),
            ("1. x", "1\\. x"),
            ("10.5 %", "10.5 %"),
            ("     x", "x"),
            ("–", "–"),
            ("-", "-"),
        ] {
            assert_eq!(escaped(text), markdown);
        }
        assert_eq!(code("a`b"), "`a'b`");
    }

    #[test]
    fn a_line_is_one_line() {
        let mut lines = Lines::default();
        lines.line("a\nb\u{1b}[2J\u{202e}");
        lines.code(["```"]);
        assert_eq!(lines.0, "a\\nb\\u{1b}[2J\\u{202e}\n```\n'''\n```\n");
    }

    #[test]
    fn tables_stay_tables() {
        let columns = [Column::new("name", Kind::Code), Column::figures("n").about("of x")];
        let mut table = Table::new(columns);
        table.row(["a|b\n".to_owned(), "12".to_owned()]);
        table.row(["<script>".to_owned(), "1|".to_owned()]);
        let mut lines = Lines::default();
        lines.table(&table);
        assert_eq!(
            lines.0,
            "| name | n (of x) |\n|---|---:|\n| `a\\|b\\n` | 12 |\n| `<script>` | 1\\| |\n"
        );
    }
}
