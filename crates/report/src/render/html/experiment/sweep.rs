//! The page of a sweep.

use super::super::page::{Page, Tone};
use super::curve::{self, Point};
use super::{again, made_by};
use crate::experiment::sweep::Sweep;
use crate::render::experiment::sweep as plain;

/// The page of a sweep.
pub fn render(sweep: &Sweep) -> String {
    let headline = plain::headline(sweep);
    let mut lines = headline.iter().map(String::as_str);
    let mut page = Page::new(lines.next().unwrap_or("Sweep"));
    let header = page.header();
    lines.for_each(|line| header.remark(line));
    if let Some(why) = &sweep.partial {
        header.standing(Tone::Doubtful, "NOT DONE", why);
    }
    let points: Vec<Point<'_>> = sweep
        .rows
        .iter()
        .filter_map(|row| {
            Some(Point {
                rate_per_s: row.rate_per_s,
                shown: &row.shown()?.figures,
                all: row.trials.iter().map(|trial| &trial.figures).collect(),
            })
        })
        .collect();
    page.section("latency", "Latency", |section| {
        section.chart(&curve::against_rate(&points, Vec::new()));
        let response = "Response time by percentile";
        section.chart(&curve::by_percentile("response", response, &points, |one| &one.response));
        let service = "Service time by percentile";
        section.chart(&curve::by_percentile("service", service, &points, |one| &one.service));
    });
    page.section("rates", "Each rate", |section| {
        for (title, table) in plain::tables(sweep) {
            section.heading(title);
            section.table(&(&table).into());
        }
        plain::notes(sweep).iter().for_each(|note| section.remark(note));
    });
    page.section("again", "How it was done", |section| {
        let facts = vec![("Seed", sweep.seed.to_string())];
        again(section, &sweep.host, &sweep.arguments, facts);
    });
    made_by(&mut page, &sweep.tool, &sweep.format);
    page.finish()
}
