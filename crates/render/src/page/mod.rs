//! A page as a value: what there is to say of a document, in sections of blocks.
//!
//! [`compose`](super::compose) makes it, once for each kind of document; [`print`](super::print) prints it
//! as text, Markdown or HTML. It knows neither documents nor markup: texts are as they came, foreign ones
//! too, and each printer makes them safe where it writes them.

pub(super) mod axis;
pub(super) mod bars;
pub(super) mod chart;
pub(super) mod heat;

use candor_plan::units::{fmt_count, fmt_share};

use bars::Bars;
use candor_report::Tone;
use candor_report::document::{Severity, Verdict};
use chart::Chart;

/// Stands where there is no figure.
pub(super) const NOTHING: &str = "–";

/// How much of what there is to say a page has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Depth {
    /// What is to be known first, on one screen.
    Short,
    /// The parts that fit on a terminal. Nothing else is computed.
    Terminal,
    /// All of it.
    #[default]
    Full,
}

/// A page.
#[derive(Debug)]
pub struct Page {
    depth: Depth,
    pub(super) title: String,
    /// What stands above all sections.
    pub(super) header: Section,
    /// What is to be known before the figures are trusted. On a page it comes first; a terminal is read from
    /// its end, so there it comes last.
    pub(super) findings: Section,
    pub(super) sections: Vec<Section>,
    /// How it was done, and the command that does it again.
    pub(super) again: Section,
    /// What made the page.
    pub(super) footer: String,
}

/// What stands under a heading.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) anchor: &'static str,
    pub(super) heading: &'static str,
    pub(super) blocks: Vec<Block>,
    depth: Depth,
}

/// A part of a section.
#[derive(Debug)]
pub(super) enum Block {
    /// A paragraph; a faint one is a remark.
    Text(Option<Tone>, String),
    /// A word and a sentence that say how something stands.
    Standing(Tone, &'static str, String),
    /// The figures that matter most, which the sections have too.
    Figures(Vec<Figure>),
    /// A heading within the section.
    Heading(String),
    /// Names and what there is to say of each. Facts of the same name follow one another.
    Facts(Vec<Fact>),
    /// Totals and their parts.
    Sums(Vec<Sum>),
    Table(Table),
    Chart(Box<Chart>),
    Bars(Bars),
    /// Lines as they are, such as those of a log.
    Code(Vec<String>),
    /// The words of a command line to be copied.
    Command(Vec<String>),
    Finding(Finding),
    /// What only some want to see, under a line that opens it: only where that can be done.
    Details(String, Vec<Block>),
}

/// A figure: its name, itself, and what it is.
#[derive(Debug)]
pub(super) struct Figure(pub(super) &'static str, pub(super) String, pub(super) String);

/// Something that is said of a name.
#[derive(Debug)]
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) tone: Option<Tone>,
    pub(super) text: String,
}

/// An equation: a total and the parts that it ought to be the sum of.
#[derive(Debug)]
pub(super) struct Sum {
    pub(super) total: Term,
    pub(super) parts: Vec<Term>,
}

/// A number with its name, and what is counted in it.
#[derive(Debug)]
pub(super) struct Term(pub(super) &'static str, pub(super) u64, pub(super) &'static str);

/// What was found: how bad it is, in a word too, what, what to do about it, and the figures behind it.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) tone: Tone,
    pub(super) word: &'static str,
    pub(super) id: String,
    pub(super) sentence: String,
    pub(super) remedy: String,
    pub(super) evidence: Vec<(String, String)>,
}

/// A table: columns, and rows with a cell for each. The first cell is the name of the row.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<String>>,
}

/// A column of a table.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    /// What it measures; empty: the name says it.
    pub(super) about: String,
    pub(super) kind: Kind,
}

/// What a column has in its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Figures,
    Words,
    /// Names as they are typed.
    Code,
    /// Sentences, which need more room than a column has. They come after all other columns.
    Sentences,
}

impl Page {
    /// A page with this title, which is also its first heading.
    pub(super) fn new(depth: Depth, title: impl Into<String>) -> Self {
        let section = || Section { depth, ..Section::default() };
        Page {
            depth,
            title: title.into(),
            header: section(),
            findings: section(),
            sections: Vec::new(),
            again: section(),
            footer: String::new(),
        }
    }

    /// One more section; one in which nothing is to be seen is left out by the printers.
    pub(super) fn section(&mut self, anchor: &'static str, heading: &'static str) -> &mut Section {
        self.sections.push(Section { anchor, heading, blocks: Vec::new(), depth: self.depth });
        self.sections.last_mut().expect("it was just put there")
    }
}

impl Section {
    /// A paragraph; none if there is nothing in it.
    pub(super) fn text(&mut self, text: impl Into<String>) {
        self.toned(None, text);
    }

    /// A remark.
    pub(super) fn remark(&mut self, text: impl Into<String>) {
        self.toned(Some(Tone::Faint), text);
    }

    pub(super) fn toned(&mut self, tone: Option<Tone>, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.blocks.push(Block::Text(tone, text));
        }
    }

    pub(super) fn standing(&mut self, tone: Tone, word: &'static str, sentence: impl Into<String>) {
        self.blocks.push(Block::Standing(tone, word, sentence.into()));
    }

    pub(super) fn heading(&mut self, heading: impl Into<String>) {
        self.blocks.push(Block::Heading(heading.into()));
    }

    /// Facts; those that say nothing are left out.
    pub(super) fn facts(&mut self, facts: impl IntoIterator<Item = (&'static str, String)>) {
        facts.into_iter().for_each(|(name, text)| self.fact(name, None, text));
    }

    pub(super) fn fact(&mut self, name: &'static str, tone: Option<Tone>, text: impl Into<String>) {
        let text = text.into();
        if text.is_empty() {
            return;
        }
        let fact = Fact { name, tone, text };
        match self.blocks.last_mut() {
            Some(Block::Facts(facts)) => facts.push(fact),
            _ => self.blocks.push(Block::Facts(vec![fact])),
        }
    }

    /// A table, unless it has no rows.
    pub(super) fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
    }

    /// A table under a heading of its own, unless it has no rows.
    pub(super) fn headed(&mut self, heading: impl Into<String>, table: Table) {
        if !table.rows.is_empty() {
            self.heading(heading);
            self.table(table);
        }
    }

    /// A chart, unless there is nothing to see in it.
    pub(super) fn chart(&mut self, chart: Chart) {
        if chart.has_values() {
            self.blocks.push(Block::Chart(Box::new(chart)));
        }
    }

    /// A picture of bars, unless there is none in it.
    pub(super) fn bars(&mut self, bars: Bars) {
        if bars.groups.iter().any(|group| !group.bars.is_empty()) {
            self.blocks.push(Block::Bars(bars));
        }
    }

    /// What a short page does not have.
    pub(super) fn beyond_short(&mut self, fill: impl FnOnce(&mut Section)) {
        if self.depth != Depth::Short {
            fill(self);
        }
    }

    /// What is only on a page that has everything.
    pub(super) fn full(&mut self, fill: impl FnOnce(&mut Section)) {
        if self.depth == Depth::Full {
            fill(self);
        }
    }

    /// What only some want to see, on a page that has everything.
    pub(super) fn details(&mut self, summary: impl Into<String>, fill: impl FnOnce(&mut Section)) {
        self.full(|section| {
            let mut inside = Section { depth: section.depth, ..Section::default() };
            fill(&mut inside);
            if !inside.blocks.is_empty() {
                section.blocks.push(Block::Details(summary.into(), inside.blocks));
            }
        });
    }
}

impl Finding {
    /// What a verdict says.
    pub(super) fn of(verdict: &Verdict) -> Self {
        let Verdict { id, severity, sentence, evidence, remedy, .. } = verdict;
        let (tone, word) = match severity {
            Severity::Invalid => (Tone::Bad, "INVALID"),
            Severity::Warning => (Tone::Doubtful, "warning"),
            Severity::Note => (Tone::Strong, "note"),
        };
        Finding {
            tone,
            word,
            id: id.clone(),
            sentence: sentence.clone(),
            remedy: remedy.clone(),
            evidence: evidence.iter().map(|(name, one)| (name.clone(), one.to_string())).collect(),
        }
    }
}

impl Sum {
    /// Whether the parts add up to the total.
    pub(super) fn holds(&self) -> bool {
        let parts = self.parts.iter().map(|Term(_, count, _)| count);
        parts.copied().try_fold(0, u64::checked_add) == Some(self.total.1)
    }

    /// Totals and parts one below the other, with their shares of the total.
    pub(super) fn table(sums: &[Sum]) -> Table {
        let mut table = Table::new([
            Column::words(""),
            Column::figures("requests"),
            Column::figures("share"),
            Column::words("meaning"),
        ]);
        for Sum { total, parts } in sums {
            let signs = ["", "= "].into_iter().chain(std::iter::repeat("+ "));
            for (sign, Term(name, count, meaning)) in signs.zip(std::iter::once(total).chain(parts))
            {
                let share = share_of(*count, total.1);
                let name = format!("{sign}{name}");
                table.row([name, fmt_count(*count), share, (*meaning).to_owned()]);
            }
        }
        table
    }
}

/// How much of `whole` this is.
pub(super) fn share_of(count: u64, whole: u64) -> String {
    match whole {
        0 => NOTHING.to_owned(),
        whole => fmt_share(count as f64 / whole as f64),
    }
}

impl Table {
    pub(super) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Table { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Takes out these columns.
    pub(super) fn without(&mut self, columns: std::ops::Range<usize>) {
        self.columns.drain(columns.clone());
        self.rows.iter_mut().for_each(|row| drop(row.drain(columns.clone())));
    }

    /// Takes out the columns of which no row knows anything, but for this one.
    pub(super) fn without_unknown(&mut self, but: &str) {
        for at in (0..self.columns.len()).rev() {
            if self.columns[at].name != but && self.rows.iter().all(|row| row[at] == NOTHING) {
                self.without(at..at + 1);
            }
        }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
        debug_assert_eq!(self.rows.last().map(Vec::len), Some(self.columns.len()));
    }
}

impl Column {
    pub(super) fn new(name: impl Into<String>, kind: Kind) -> Self {
        Column { name: name.into(), about: String::new(), kind }
    }

    pub(super) fn figures(name: impl Into<String>) -> Self {
        Column::new(name, Kind::Figures)
    }

    pub(super) fn words(name: impl Into<String>) -> Self {
        Column::new(name, Kind::Words)
    }

    pub(super) fn about(mut self, about: &str) -> Self {
        about.clone_into(&mut self.about);
        self
    }
}
