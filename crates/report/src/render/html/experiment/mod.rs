//! Pages of experiments: what several runs together say. Sentences and tables are those of
//! [`crate::render::experiment`]; here they get charts.

pub(super) mod clients;
pub(super) mod comparison;
mod curve;
pub(super) mod peak;
pub(super) mod suite;
pub(super) mod sweep;

use candor_plan::units::fmt_plural;

use super::page::{Column, Page, Section, Table, Tone};
use crate::document::{Host, Tool};
use crate::experiment::matrix::Heading;
use crate::render::experiment::table;
use crate::render::words;

#[cfg(test)]
mod tests;

/// A table as text and Markdown have it.
impl From<&table::Table> for Table {
    fn from(plain: &table::Table) -> Table {
        let columns = plain.columns().iter().map(|(name, align)| match align {
            table::Align::Left => Column::words(name),
            table::Align::Right => Column::figures(name),
        });
        let mut table = Table::new(columns);
        // Backticks are Markdown's.
        let cell = |cell: &String| cell.replace('`', "");
        plain.rows().iter().for_each(|row| table.row(row.iter().map(cell)));
        table
    }
}

/// The page of a matrix: what its suite is about, and when it was measured.
fn page_of(title: &str, heading: &Heading) -> Page {
    let mut page = Page::new(&format!("{title}: {}", heading.name));
    let Heading { tool, started_at, seed, .. } = heading;
    let rounds = fmt_plural(heading.rounds, "round");
    page.header().text(&heading.about);
    page.header()
        .remark(&format!("{} {} · {started_at} · {rounds} · seed {seed}", tool.name, tool.version));
    page
}

/// Said of a matrix of which trials are missing.
fn not_complete(header: &mut Section, (made, all): (u64, u64)) {
    let sentence = format!("{made} of {all} trials are there.");
    header.standing(Tone::Doubtful, "NOT COMPLETE", &sentence);
}

/// Of which suite it is, and who had which cores.
fn suite_and_cores(heading: &Heading) -> Vec<(&'static str, String)> {
    vec![("Suite", heading.file.clone()), ("Cores", heading.cores.clone())]
}

/// What made a page, and of what.
fn made_by(page: &mut Page, tool: &Tool, format: &str) {
    page.footer(&format!("Made by {} {} from a {format} document.", tool.name, tool.version));
}

/// Where it was done, and how to do it again.
fn again(section: &mut Section, host: &Host, arguments: &[String], facts: Vec<(&str, String)>) {
    let mut facts = facts;
    facts.extend(words::host(host).map(|host| ("Loader's machine", host)));
    section.facts(&facts);
    if let Some(words) = words::again(arguments) {
        section.text("Again:");
        section.code(&[words.join(" ")]);
        if let Some(note) = words::left_out(&words) {
            section.remark(note);
        }
    }
}
