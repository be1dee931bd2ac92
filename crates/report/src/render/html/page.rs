//! A page: head, header, sections, footer. What is in the sections comes from `run.rs` and its
//! siblings, one for each kind of document; this module knows nothing of documents.
//!
//! A page is one file. Its policy allows the style and the script of this folder, by their hash, and
//! nothing else: no other script, no request, no form. So even text that escaped from its escaping
//! could not run.

use super::chart::Chart;
use super::markup::Markup;
use super::svg;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Has their hashes. A test makes it.
const POLICY: &str = include_str!("policy.txt");

/// A picture for the browser's tab: three bars.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'\
                    %3E%3Cpath fill='none' stroke='%230072b2' stroke-width='3' d='M3 14V9M8 14V5M13 14\
                    V2'/%3E%3C/svg%3E";

/// A page under construction.
#[derive(Debug)]
pub(crate) struct Page {
    title: String,
    header: Section,
    /// Anchor and heading of each section.
    contents: Vec<(&'static str, &'static str)>,
    sections: Markup,
    footer: String,
}

/// What stands under a heading.
#[derive(Debug, Default)]
pub(crate) struct Section(Markup);

/// How a thing stands; its colour follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Doubtful,
    Bad,
    Plain,
}

/// A table: names of the columns, and rows whose first cell is the name of the row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// A column of a table.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// What it measures; empty: the name says it.
    pub(crate) about: String,
    /// Whether it has words and not figures.
    pub(crate) words: bool,
}

impl Column {
    pub(crate) fn figures(name: &str) -> Self {
        Column { name: name.to_owned(), about: String::new(), words: false }
    }

    pub(crate) fn words(name: &str) -> Self {
        Column { words: true, ..Column::figures(name) }
    }

    pub(crate) fn about(mut self, about: &str) -> Self {
        self.about = about.to_owned();
        self
    }
}

impl Table {
    pub(crate) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Table { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl Page {
    /// A page with this title, which is also its first heading.
    pub(crate) fn new(title: &str) -> Self {
        let mut header = Section::default();
        header.0.leaf("h1", &[], title);
        Page {
            title: title.to_owned(),
            header,
            contents: Vec::new(),
            sections: Markup::new(),
            footer: String::new(),
        }
    }

    /// What stands above all sections.
    pub(crate) fn header(&mut self) -> &mut Section {
        &mut self.header
    }

    /// A section; one in which nothing is written is left out.
    pub(crate) fn section(
        &mut self,
        anchor: &'static str,
        heading: &'static str,
        fill: impl FnOnce(&mut Section),
    ) {
        let mut section = Section::default();
        fill(&mut section);
        if section.0.is_empty() {
            return;
        }
        self.contents.push((anchor, heading));
        self.sections.element("section", &[("id", anchor)], |out| {
            out.leaf("h2", &[], heading);
            out.append(section.0);
        });
    }

    /// What made the page.
    pub(crate) fn footer(&mut self, text: &str) {
        text.clone_into(&mut self.footer);
    }

    /// The page as one file.
    pub(crate) fn finish(self) -> String {
        let mut out = Markup::new();
        out.raw("<!doctype html>\n");
        out.element("html", &[("lang", "en")], |html| {
            html.element("head", &[], |head| head_of(head, &self.title));
            html.element("body", &[], |body| {
                body.element("header", &[], |header| header.append(self.header.0));
                if self.contents.len() > 1 {
                    body.element("nav", &[("aria-label", "Contents")], |nav| {
                        for (anchor, heading) in &self.contents {
                            nav.leaf("a", &[("href", &format!("#{anchor}"))], heading);
                        }
                    });
                }
                body.element("main", &[], |main| main.append(self.sections));
                body.leaf("footer", &[], &self.footer);
                body.raw("<script>");
                body.raw(SCRIPT);
                body.raw("</script>");
            });
        });
        out.raw("\n");
        out.into_string()
    }
}

fn head_of(head: &mut Markup, title: &str) {
    head.void("meta", &[("charset", "utf-8")]);
    let policy = [("http-equiv", "Content-Security-Policy"), ("content", POLICY.trim_end())];
    head.void("meta", &policy);
    head.void("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
    head.void("meta", &[("name", "color-scheme"), ("content", "light dark")]);
    head.void("meta", &[("name", "referrer"), ("content", "no-referrer")]);
    head.void("link", &[("rel", "icon"), ("href", ICON)]);
    head.leaf("title", &[], title);
    head.raw("<style>");
    head.raw(STYLE);
    head.raw("</style>");
}

impl Section {
    /// A paragraph.
    pub(crate) fn text(&mut self, text: &str) {
        self.0.leaf("p", &[], text);
    }

    /// A remark.
    pub(crate) fn remark(&mut self, text: &str) {
        self.0.leaf("p", &[("class", "remark")], text);
    }

    /// A heading within the section.
    pub(crate) fn heading(&mut self, text: &str) {
        self.0.leaf("h3", &[], text);
    }

    /// A word and a sentence that say how something stands.
    pub(crate) fn standing(&mut self, tone: Tone, word: &str, sentence: &str) {
        self.0.element("p", &[("class", "standing")], |p| {
            p.leaf("strong", &[("class", tone.class())], word);
            p.text(" ");
            p.text(sentence);
        });
    }

    /// Figures that matter most, large: name, figure, what it is.
    pub(crate) fn figures(&mut self, figures: &[(&str, String, String)]) {
        self.0.element("dl", &[("class", "figures")], |dl| {
            for (name, figure, about) in figures {
                dl.element("div", &[], |div| {
                    div.leaf("dt", &[], name);
                    div.leaf("dd", &[], figure);
                    div.leaf("dd", &[("class", "remark")], about);
                });
            }
        });
    }

    /// Names and what there is to say of each.
    pub(crate) fn facts(&mut self, facts: &[(&str, String)]) {
        if facts.is_empty() {
            return;
        }
        self.0.element("dl", &[("class", "facts")], |dl| {
            for (name, fact) in facts {
                dl.leaf("dt", &[], name);
                dl.leaf("dd", &[], fact);
            }
        });
    }

    /// A table.
    pub(crate) fn table(&mut self, table: &Table) {
        let class = |column: &Column| if column.words { "words" } else { "figure" };
        self.0.element("div", &[("class", "table"), ("tabindex", "0")], |div| {
            div.element("table", &[], |out| {
                out.element("thead", &[], |head| {
                    head.element("tr", &[], |row| {
                        for column in &table.columns {
                            let place = [("scope", "col"), ("class", class(column))];
                            row.element("th", &place, |cell| {
                                cell.text(&column.name);
                                if !column.about.is_empty() {
                                    cell.leaf("small", &[], &column.about);
                                }
                            });
                        }
                    });
                });
                out.element("tbody", &[], |body| {
                    for cells in &table.rows {
                        body.element("tr", &[], |row| {
                            for (n, (cell, column)) in cells.iter().zip(&table.columns).enumerate()
                            {
                                match n {
                                    0 => row.leaf("th", &[("scope", "row")], cell),
                                    _ => row.leaf("td", &[("class", class(column))], cell),
                                }
                            }
                        });
                    }
                });
            });
        });
    }

    /// A chart, unless there is nothing to see in it.
    pub(crate) fn chart(&mut self, chart: &Chart) {
        if chart.has_values() {
            svg::figure(&mut self.0, chart);
        }
    }

    /// Lines as they are: a command to be copied, a log.
    pub(crate) fn code(&mut self, lines: &[String]) {
        self.0.element("pre", &[("tabindex", "0")], |pre| {
            pre.element("code", &[], |code| {
                for (n, line) in lines.iter().enumerate() {
                    code.raw(if n > 0 { "\n" } else { "" });
                    code.text(line);
                }
            });
        });
    }

    /// What was found, how bad it is, what to do about it, and the figures behind it.
    pub(crate) fn finding(
        &mut self,
        tone: Tone,
        word: &str,
        id: &str,
        sentence: &str,
        remedy: &str,
        evidence: &[(String, String)],
    ) {
        self.0.element("article", &[("class", tone.class())], |article| {
            article.element("h3", &[], |h3| {
                h3.leaf("strong", &[], word);
                h3.text(" ");
                h3.text(id);
            });
            article.leaf("p", &[], sentence);
            article.element("p", &[("class", "remedy")], |p| {
                p.text("→ ");
                p.text(remedy);
            });
            article.element("details", &[], |details| {
                details.leaf("summary", &[], "Evidence");
                details.element("dl", &[("class", "facts")], |dl| {
                    for (name, value) in evidence {
                        dl.leaf("dt", &[], name);
                        dl.leaf("dd", &[], value);
                    }
                });
            });
        });
    }

    /// What only some want to see.
    pub(crate) fn details(&mut self, summary: &str, fill: impl FnOnce(&mut Section)) {
        let mut inside = Section::default();
        fill(&mut inside);
        if inside.0.is_empty() {
            return;
        }
        self.0.element("details", &[], |details| {
            details.leaf("summary", &[], summary);
            details.append(inside.0);
        });
    }
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Doubtful => "doubtful",
            Tone::Bad => "bad",
            Tone::Plain => "plain",
        }
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::digest;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD as BASE64;

    use super::*;
    use crate::testing;

    /// Otherwise a browser refuses them.
    #[test]
    fn the_policy_has_the_hashes_of_style_and_script() {
        let hash = |text: &str| BASE64.encode(digest::digest(&digest::SHA256, text.as_bytes()));
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; \
             base-uri 'none'; form-action 'none'\n",
            hash(STYLE),
            hash(SCRIPT)
        );
        testing::golden("src/render/html/policy.txt", &policy);
    }

    #[test]
    fn style_and_script_end_only_at_their_end() {
        for text in [STYLE, SCRIPT] {
            assert!(!text.contains("</") && !text.contains("<!--"), "{text}");
        }
        for outside in ["http:", "https:", "url(", "@import", "fetch(", "XMLHttp", "innerHTML"] {
            let known = SCRIPT.replace("http://www.w3.org/2000/svg", "");
            assert!(!STYLE.contains(outside) && !known.contains(outside), "{outside}");
        }
    }

    #[test]
    fn a_section_without_content_has_no_heading() {
        let mut page = Page::new("t");
        page.section("a", "Full", |section| section.text("x"));
        page.section("b", "Empty", |_| {});
        let page = page.finish();
        assert!(page.contains("<h2>Full</h2>") && !page.contains("Empty"), "{page}");
    }
}
