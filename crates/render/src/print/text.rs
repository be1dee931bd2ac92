//! A page for a terminal: lines with a name in the margin, and tables, at most as wide as the [`Style`] says
//! unless a table or an argument of a command line is wider.
//!
//! Colours are the only escape sequences that it writes. Text is made visible as it comes in, before it is
//! measured, and has no ends of lines then: what begins a line is ours.

use candor_plan::units::fmt_count;

use super::{bars, plot};
use crate::page::{Block, Fact, Kind, Page, Section, Sum, Table, Term};
use crate::{shorten, visible};
use candor_report::{Style, Tone};

/// Width of the margin that names stand in.
const MARGIN: usize = 13;
/// Columns of figures are as wide as this where there is room.
const COLUMN: usize = 14;
/// Room for the columns beside which sentences stand.
const BESIDE: usize = 45;
/// Characters of a cell: all others of its column are as wide.
const CELL: usize = 200;

/// The page as text.
pub(crate) fn print(page: &Page, style: Style) -> String {
    let mut out =
        Printer { style, text: String::new(), heading: String::new(), gap: false, is_wide: false };
    out.wrapped("", Some(Tone::Strong), &page.title);
    header(&mut out, &page.header.blocks);
    for section in page.sections.iter().chain([&page.findings, &page.again]) {
        out.section(section);
    }
    out.text
}

/// Lines over the whole width down to how the document stands, which the rest explains.
fn header(out: &mut Printer, blocks: &[Block]) {
    let lines = blocks.iter().take_while(|block| matches!(block, Block::Text(..))).count();
    for block in &blocks[..lines] {
        if let Block::Text(tone, text) = block {
            out.wrapped("", *tone, text);
        }
    }
    out.gap = true;
    out.blocks(&blocks[lines..]);
}

struct Printer {
    style: Style,
    text: String,
    /// Belongs in the margin of the next line, or above it.
    heading: String,
    /// Whether a blank line comes before the next one.
    gap: bool,
    /// Whether a table of the section does not fit beside the margin: then all of them begin at the left.
    is_wide: bool,
}

/// A table as it is printed.
struct Laid {
    rows: Vec<Vec<String>>,
    names: Vec<String>,
    abouts: Vec<String>,
    /// The first column that does not stand in the margin, and the first of sentences.
    first: usize,
    columns: usize,
    widths: Vec<usize>,
    /// Whether it fits beside the margin.
    fits: bool,
}

impl Printer {
    fn section(&mut self, section: &Section) {
        self.gap = true;
        section.heading.clone_into(&mut self.heading);
        let is_wide = |block: &Block| matches!(block, Block::Table(one) if !self.laid(one).fits);
        self.is_wide = section.blocks.iter().any(is_wide);
        self.blocks(&section.blocks);
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for (n, block) in blocks.iter().enumerate() {
            match block {
                Block::Text(tone, text) => {
                    let heading = self.in_margin();
                    self.entry(&heading, *tone, text);
                }
                Block::Standing(tone, word, sentence) => {
                    self.heading.clear();
                    self.entry(word, Some(*tone), sentence);
                }
                Block::Heading(heading) => {
                    self.gap = true;
                    self.heading = visible(heading).into_owned();
                }
                Block::Facts(facts) => self.facts(facts),
                Block::Sums(sums) => self.sums(sums),
                Block::Table(table) => self.table(table),
                Block::Chart(chart) => {
                    if let Some(lines) = plot::lines(chart) {
                        self.gap = true;
                        self.heading.clear();
                        self.line("", Some(Tone::Strong), &visible(&chart.title));
                        lines.iter().for_each(|line| self.line("", None, &visible(line)));
                    }
                }
                Block::Bars(one) => {
                    self.gap = true;
                    self.heading.clear();
                    self.line("", Some(Tone::Strong), &visible(&one.title));
                    bars::lines(one).iter().for_each(|line| self.line("", None, &visible(line)));
                }
                Block::Code(lines) => {
                    lines.iter().for_each(|line| self.entry("", None, &format!("  {line}")));
                }
                Block::Command(words) => {
                    self.gap = true;
                    self.command(words);
                }
                Block::Finding(one) => {
                    self.heading.clear();
                    self.gap |= n > 0 && !matches!(blocks[n - 1], Block::Finding(_));
                    let (word, sentence) = (one.word, format!("{}: {}", one.id, one.sentence));
                    self.entry(&format!("  {word}"), Some(one.tone), &sentence);
                    self.entry("", None, &format!("  → {}", one.remedy));
                }
                Block::Figures(_) | Block::Details(..) => {}
            }
        }
    }

    /// The heading, to stand in the margin; one that is too long for it is printed.
    fn in_margin(&mut self) -> String {
        let heading = std::mem::take(&mut self.heading);
        if heading.chars().count() < MARGIN {
            return heading;
        }
        self.line(&heading, None, "");
        String::new()
    }

    fn facts(&mut self, facts: &[Fact]) {
        self.heading.clear();
        let mut before = "";
        for Fact { name, tone, text } in facts {
            let is_told = *name == before && name.len() < MARGIN;
            self.entry(if is_told { "" } else { name }, *tone, text);
            before = name;
        }
    }

    /// An equation in each line, names and totals below one another.
    fn sums(&mut self, sums: &[Sum]) {
        let totals = || sums.iter().map(|sum| &sum.total);
        let names = totals().map(|Term(name, ..)| name.len()).max().unwrap_or(0);
        let digits = totals().map(|Term(_, count, _)| fmt_count(*count).len()).max().unwrap_or(0);
        for sum in sums {
            let Term(name, total, _) = &sum.total;
            let sign = if sum.holds() { '=' } else { '≠' };
            let parts = sum.parts.iter();
            let parts = parts.map(|Term(name, count, _)| format!("{name} {}", fmt_count(*count)));
            let parts = parts.collect::<Vec<_>>().join(" + ");
            let heading = self.in_margin();
            let line = format!("{name:names$} {:>digits$} {sign} {parts}", fmt_count(*total));
            self.margin_line(MARGIN, &heading, None, &line);
        }
    }

    /// Columns as wide as they have to be, or wider where there is room. Names of rows stand in the margin
    /// if they fit in it and their column has no name; sentences stand beside, one below the other.
    fn laid(&self, table: &Table) -> Laid {
        let shown = |text: &String| shorten(&visible(text), CELL);
        let rows: Vec<Vec<String>> =
            table.rows.iter().map(|row| row.iter().map(shown).collect()).collect();
        let is_column = |at: &usize| table.columns[*at].kind != Kind::Sentences;
        let columns = (0..table.columns.len()).filter(is_column).count();
        let names: Vec<String> = table.columns.iter().map(|one| shown(&one.name)).collect();
        let abouts: Vec<String> = table.columns.iter().map(|one| shown(&one.about)).collect();
        let length = |text: &String| text.chars().count();
        let needed = |at: usize| {
            let cells = rows.iter().map(|row| &row[at]).chain([&names[at], &abouts[at]]);
            cells.map(length).max().unwrap_or(0)
        };
        let first = usize::from(names[0].is_empty() && needed(0) + 2 < MARGIN);
        // The first column beside the margin has a blank place before it already.
        let least = |at: usize| needed(at) + if at == 0 { 0 } else { 2 };
        let width_with = |column: usize| {
            let is_figures = |at: usize| table.columns[at].kind == Kind::Figures;
            let wide = |at| if is_figures(at) { least(at).max(column) } else { least(at) };
            (first..columns).map(wide).collect::<Vec<usize>>()
        };
        let sum = |widths: &Vec<usize>| widths.iter().sum::<usize>();
        let room = if columns < names.len() { BESIDE } else { self.style.width - MARGIN };
        let widths = (0..=COLUMN).rev().map(width_with).find(|widths| sum(widths) <= room);
        let fits = first == 1 || widths.is_some();
        let widths = widths.unwrap_or_else(|| width_with(0));
        Laid { rows, names, abouts, first, columns, widths, fits }
    }

    fn table(&mut self, table: &Table) {
        self.gap |= self.heading.is_empty();
        let Laid { rows, names, abouts, first, columns, widths, fits } = self.laid(table);
        let margin = if first == 1 || (fits && !self.is_wide) { MARGIN } else { 2 };
        let line = |row: &[String]| {
            let cells = row[first..columns].iter().zip(&widths).zip(first..);
            let cells = cells.map(|((cell, &width), at)| match (table.columns[at].kind, at) {
                (Kind::Figures, _) => format!("{cell:>width$}"),
                (_, 0) => format!("{cell:width$}"),
                _ => format!("  {cell:0$}", width - 2),
            });
            cells.collect::<String>()
        };
        if margin < MARGIN && !self.heading.is_empty() {
            let heading = std::mem::take(&mut self.heading);
            self.line(&heading, None, "");
        }
        let heading = self.in_margin();
        self.line(&format!("{heading:margin$}"), Some(Tone::Strong), &line(&names));
        if abouts.iter().any(|about| !about.is_empty()) {
            self.line(&" ".repeat(margin), Some(Tone::Faint), &line(&abouts));
        }
        let beside = margin + widths.iter().sum::<usize>() + 2;
        let room = self.style.width.saturating_sub(beside).max(MARGIN);
        for row in &rows {
            let name = if first == 1 { format!("  {}", row[0]) } else { String::new() };
            let sentences = row[columns..].iter().filter(|text| !text.is_empty());
            let mut lines = sentences.flat_map(|text| wrap(text, room));
            let mut content = line(row);
            content.extend(lines.next().map(|line| format!("  {line}")));
            self.margin_line(margin, &name, None, &content);
            lines.for_each(|line| self.margin_line(beside, "", None, &line));
        }
    }

    /// A command line that can be copied into a shell: where it goes on in the next line it says so, and an
    /// argument that is longer than a line stays whole.
    fn command(&mut self, words: &[String]) {
        let mut lines = vec![String::new()];
        for word in words.iter().map(|word| visible(word)) {
            let line = lines.last_mut().expect("there is one from the beginning");
            let length = line.chars().count() + word.chars().count();
            // A blank before the word, and a blank and a backslash after it.
            if !line.is_empty() && length + 3 > self.style.width - MARGIN {
                line.push_str(" \\");
                lines.push(format!("  {word}"));
            } else {
                line.extend([if line.is_empty() { "" } else { " " }, &*word]);
            }
        }
        self.heading = "Rerun".to_owned();
        for line in &lines {
            let heading = self.in_margin();
            self.margin_line(MARGIN, &heading, Some(Tone::Faint), line);
        }
    }

    /// Text with a name in the margin (empty: none), wrapped. A name that is too long stands before it.
    fn entry(&mut self, name: &str, tone: Option<Tone>, text: &str) {
        match name.chars().count() < MARGIN {
            true => self.wrapped(&format!("{name:MARGIN$}"), tone, text),
            false => self.wrapped("", tone, &format!("{name}: {text}")),
        }
    }

    fn wrapped(&mut self, name: &str, tone: Option<Tone>, text: &str) {
        let margin = name.chars().count();
        let mut name = name;
        for line in wrap(&visible(text), self.style.width.saturating_sub(margin).max(MARGIN)) {
            self.margin_line(margin, name, tone, &line);
            name = "";
        }
    }

    fn margin_line(&mut self, margin: usize, name: &str, tone: Option<Tone>, content: &str) {
        self.line(&format!("{name:margin$}"), tone, content);
    }

    /// A line: what is in its margin, as wide as that is, and the rest. Both are visible.
    fn line(&mut self, name: &str, tone: Option<Tone>, content: &str) {
        if std::mem::take(&mut self.gap) && !self.text.is_empty() {
            self.text.push('\n');
        }
        let (word, content) = (name.trim_end(), content.trim_end());
        if !word.is_empty() {
            self.text.push_str(&self.style.paint(Tone::Strong, word));
        }
        if !content.is_empty() {
            self.text.push_str(&name[word.len()..]);
            match tone {
                Some(tone) => self.text.push_str(&self.style.paint(tone, content)),
                None => self.text.push_str(content),
            }
        }
        self.text.push('\n');
    }
}

/// Lines of at most `width` characters, broken at blanks, or within words longer than a line. A number and its unit stay
/// together. Blanks at the beginning are kept and indent what follows.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let indent = (text.len() - text.trim_start_matches(' ').len()).min(width / 2);
    let mut lines = Vec::new();
    let mut line = " ".repeat(indent);
    let mut used = indent;
    let mut words = text.split(' ').filter(|word| !word.is_empty()).peekable();
    while let Some(word) = words.next() {
        let mut word: Vec<char> = word.chars().collect();
        if word.last().is_some_and(char::is_ascii_digit)
            && let Some(unit) = words.next_if(|word| is_unit(word))
        {
            word.push(' ');
            word.extend(unit.chars());
        }
        if used > indent && used + 1 + word.len() > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            used = indent;
        }
        if used > indent {
            line.push(' ');
            used += 1;
        }
        while used + word.len() > width {
            let rest = word.split_off(width - used);
            line.extend(word);
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            used = indent;
            word = rest;
        }
        used += word.len();
        line.extend(word);
    }
    if used > indent || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// Whether a word is a unit, perhaps at the end of a clause.
fn is_unit(word: &str) -> bool {
    const UNITS: [&str; 16] = [
        "ns", "µs", "ms", "s", "m", "h", "%", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB", "kB/s",
        "MB/s",
    ];
    UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Depth;
    use crate::page::Column;

    #[test]
    fn words_stay_whole_where_they_can() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("  one two three", 8), ["  one", "  two", "  three"]);
        assert_eq!(wrap("abcdefghijk lm", 4), ["abcd", "efgh", "ijk", "lm"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("after 738 ms, 2 servers", 10), ["after", "738 ms, 2", "servers"]);
        assert_eq!(wrap("in (99.73 %) more", 9), ["in", "(99.73 %)", "more"]);
    }

    #[test]
    fn tables_of_a_section_begin_at_the_same_place() {
        let table = |width: usize| {
            let mut table = Table::new([Column::words("name"), Column::words("about")]);
            table.row(["row".to_owned(), "x".repeat(width)]);
            table
        };
        let margins = |widths: [usize; 2]| {
            let mut page = Page::new(Depth::Terminal, "title");
            let section = page.section("a", "A");
            widths.iter().for_each(|width| section.headed("a heading of its own", table(*width)));
            let text = print(&page, Style::PLAIN);
            let rows = text.lines().filter_map(|line| line.find("row "));
            rows.collect::<Vec<_>>()
        };
        assert_eq!(margins([9, 9]), [MARGIN, MARGIN]);
        assert_eq!(margins([9, 190]), [2, 2]);
        assert_eq!(margins([190, 9]), [2, 2]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_too_wide(text in "\\PC{0,80}", width in 4usize..30) {
            let lines = wrap(&text, width);
            prop_assert!(lines.iter().all(|line| line.chars().count() <= width));
            let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
