//! Pages of experiments: what several runs together say. Sentences and tables are those of
//! [`crate::render::experiment`]; here they get charts.

pub(super) mod clients;
pub(super) mod comparison;
mod curve;
pub(super) mod peak;
pub(super) mod suite;
pub(super) mod sweep;

use super::page::{Column, Section, Table};
use crate::document::Host;
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

/// Where it was done, and how to do it again.
fn again(section: &mut Section, host: &Host, arguments: &[String], facts: Vec<(&str, String)>) {
    let mut facts = facts;
    facts.extend(words::host(host).map(|host| ("Loader's machine", host)));
    section.facts(&facts);
    if let Some(words) = words::again(arguments) {
        section.text("Again:");
        section.code(&[words.join(" ")]);
    }
}
