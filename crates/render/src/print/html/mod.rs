//! A page as one file of HTML, readable as it is; a script adds a cursor with figures and zoom.
//!
//! The page's policy allows the style and the script of this folder, by their hash, and nothing else: no
//! other script, no request, no form. So even text that escaped from its escaping could not run.
//!
//! ```text
//!  mod.rs         head, sections, tables, findings;  page.css, page.js
//!    svg.rs       the figure of a chart, and its data for the script; bars.rs, of bars
//!      markup.rs  elements; the only way for text into a page, and it escapes
//! ```
//!
//! The charts are drawn here and not by a library in the browser. What one would draw has to be in
//! the page anyway for readers without scripts, and then the library is a second drawing of the same
//! that has to agree with the first.

mod bars;
mod markup;
#[cfg(test)]
pub(crate) mod poison;
mod svg;

use crate::page::{Block, Fact, Figure, Finding, Kind, Page, Section, Sum, Table};
use candor_report::Tone;
use markup::Markup;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Has their hashes. A test makes it.
const POLICY: &str = include_str!("policy.txt");

/// A picture for the browser's tab: three bars.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'\
                    %3E%3Cpath fill='none' stroke='%230072b2' stroke-width='3' d='M3 14V9M8 14V5M13 14\
                    V2'/%3E%3C/svg%3E";

/// The page as one file.
pub(crate) fn print(page: &Page) -> String {
    let mut out = Markup::new();
    out.raw("<!doctype html>\n");
    out.element("html", &[("lang", "en")], |html| {
        html.element("head", &[], |head| head_of(head, &page.title));
        html.element("body", &[], |body| body_of(body, page));
    });
    out.raw("\n");
    out.into_string()
}

fn body_of(body: &mut Markup, page: &Page) {
    body.element("header", &[], |header| {
        header.leaf("h1", &[], &page.title);
        blocks(header, &page.header.blocks);
    });
    let all = [&page.findings].into_iter().chain(&page.sections).chain([&page.again]);
    let sections: Vec<(&Section, Markup)> = all
        .map(|section| {
            let mut inside = Markup::new();
            blocks(&mut inside, &section.blocks);
            (section, inside)
        })
        .filter(|(_, inside)| !inside.is_empty())
        .collect();
    if sections.len() > 1 {
        body.element("nav", &[("aria-label", "Contents")], |nav| {
            for (Section { anchor, heading, .. }, _) in &sections {
                nav.leaf("a", &[("href", &format!("#{anchor}"))], heading);
            }
        });
    }
    body.element("main", &[], |main| {
        for (Section { anchor, heading, .. }, inside) in sections {
            main.element("section", &[("id", anchor)], |out| {
                out.leaf("h2", &[], heading);
                out.append(inside);
            });
        }
    });
    body.leaf("footer", &[], &page.footer);
    body.raw("<script>");
    body.raw(SCRIPT);
    body.raw("</script>");
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

fn blocks(out: &mut Markup, blocks: &[Block]) {
    for block in blocks {
        match block {
            Block::Text(None, text) => out.leaf("p", &[], text),
            Block::Text(Some(tone), text) => out.leaf("p", &[("class", class(*tone))], text),
            Block::Standing(tone, word, sentence) => {
                out.element("p", &[("class", "standing")], |p| {
                    p.leaf("strong", &[("class", class(*tone))], word);
                    p.text(" ");
                    p.text(sentence);
                });
            }
            Block::Figures(figures) => self::figures(out, figures),
            Block::Heading(text) => out.leaf("h3", &[], text),
            Block::Facts(facts) => self::facts(out, facts),
            Block::Sums(sums) => table(out, &Sum::table(sums)),
            Block::Table(one) => table(out, one),
            Block::Chart(chart) => svg::figure(out, chart),
            Block::Bars(one) => bars::figure(out, one),
            Block::Code(lines) => code(out, lines.iter().map(String::as_str)),
            Block::Command(words) => {
                out.leaf("p", &[], "Rerun:");
                code(out, [&*words.join(" ")]);
            }
            Block::Finding(one) => finding(out, one),
            Block::Details(summary, inside) => out.element("details", &[], |details| {
                details.leaf("summary", &[], summary);
                self::blocks(details, inside);
            }),
        }
    }
}

/// Of the style sheet.
fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Doubtful => "doubtful",
        Tone::Bad => "bad",
        Tone::Strong => "plain",
        Tone::Faint => "remark",
    }
}

fn figures(out: &mut Markup, figures: &[Figure]) {
    out.element("dl", &[("class", "figures")], |dl| {
        for Figure(name, figure, about) in figures {
            dl.element("div", &[], |div| {
                div.leaf("dt", &[], name);
                div.leaf("dd", &[], figure);
                div.leaf("dd", &[("class", "remark")], about);
            });
        }
    });
}

fn facts(out: &mut Markup, facts: &[Fact]) {
    out.element("dl", &[("class", "facts")], |dl| {
        let mut before = "";
        for Fact { name, tone, text } in facts {
            dl.leaf("dt", &[], if *name == before { "" } else { name });
            let class = tone.map(|tone| [("class", class(tone))]);
            dl.leaf("dd", class.as_ref().map_or(&[], |class| class), text);
            before = name;
        }
    });
}

fn table(out: &mut Markup, table: &Table) {
    let class = |kind: Kind| if kind == Kind::Figures { "figure" } else { "words" };
    out.element("div", &[("class", "table"), ("tabindex", "0")], |div| {
        div.element("table", &[], |out| {
            out.element("thead", &[], |head| {
                head.element("tr", &[], |row| {
                    for column in &table.columns {
                        let place = [("scope", "col"), ("class", class(column.kind))];
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
                        for (n, (cell, column)) in cells.iter().zip(&table.columns).enumerate() {
                            let place = [("scope", "row"), ("class", class(column.kind))];
                            match (n, column.kind) {
                                (0, Kind::Figures) => row.leaf("th", &place, cell),
                                (0, _) => row.leaf("th", &place[..1], cell),
                                _ => row.leaf("td", &[("class", class(column.kind))], cell),
                            }
                        }
                    });
                }
            });
        });
    });
}

fn code<'a>(out: &mut Markup, lines: impl IntoIterator<Item = &'a str>) {
    out.element("pre", &[("tabindex", "0")], |pre| {
        pre.element("code", &[], |code| {
            for (n, line) in lines.into_iter().enumerate() {
                code.raw(if n > 0 { "\n" } else { "" });
                code.text(line);
            }
        });
    });
}

fn finding(out: &mut Markup, finding: &Finding) {
    out.element("article", &[("class", class(finding.tone))], |article| {
        article.element("h3", &[], |h3| {
            h3.leaf("strong", &[], finding.word);
            h3.text(" ");
            h3.text(&finding.id);
        });
        article.leaf("p", &[], &finding.sentence);
        article.element("p", &[("class", "remedy")], |p| {
            p.text("→ ");
            p.text(&finding.remedy);
        });
        article.element("details", &[], |details| {
            details.leaf("summary", &[], "Evidence");
            details.element("dl", &[("class", "facts")], |dl| {
                for (name, value) in &finding.evidence {
                    dl.leaf("dt", &[], name);
                    dl.leaf("dd", &[], value);
                }
            });
        });
    });
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::digest;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD as BASE64;

    use super::*;
    use crate::Depth;
    use crate::page::Column;
    use candor_report::testing;

    #[test]
    fn a_first_column_of_figures_stands_under_its_header() {
        let drawn = |first: Column| {
            let mut table = Table::new([first, Column::words("server")]);
            table.row(["1".to_owned(), "a".to_owned()]);
            let mut out = Markup::new();
            super::table(&mut out, &table);
            out.into_string()
        };
        assert_eq!(drawn(Column::figures("rank")).matches("class=\"figure\"").count(), 2);
        assert!(drawn(Column::words("name")).contains("<th scope=\"row\">1</th>"));
    }

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
        testing::golden("src/print/html/policy.txt", &policy);
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
        let mut page = Page::new(Depth::Full, "t");
        page.section("a", "Full").text("x");
        page.section("b", "Empty").text("");
        let page = page.html();
        assert!(page.contains("<h2>Full</h2>") && !page.contains("Empty"), "{page}");
    }
}
