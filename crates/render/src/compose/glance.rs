//! A suite at a glance: figures of servers beside each other as bars, a group for each scenario, and latency
//! against load where there are several loads.

use candor_plan::units::{fmt_digits, fmt_plural, fmt_short};

use super::matrix::{MOST_CHARTS, WHISKERS, lines};
use super::time;
use super::trials::marks;
use crate::page::Section;
use crate::page::axis::{Axis, Unit};
use crate::page::bars::{Bar, Bars, Group};
use crate::page::chart::{Chart, of_values};
use candor_report::experiment::matrix::grouped;
use candor_report::experiment::suite::{Cell, Suite, Trial, protocol_name};
use candor_report::findings::Place;

/// Pictures of all places, protocol by protocol.
pub(super) fn glance(section: &mut Section, suite: &Suite, places: &[Place<'_>]) {
    let protocols = grouped(places.iter().map(|place| (place.protocol, place)));
    let is_one = protocols.len() == 1;
    for ((protocol, places), n) in protocols.iter().zip(1..) {
        let over = if is_one { String::new() } else { format!(", {}", protocol_name(protocol)) };
        pictures(section, suite, places, &over, n);
    }
    section.full(|section| against_load(section, places));
}

fn pictures(section: &mut Section, suite: &Suite, places: &[&Place<'_>], over: &str, n: usize) {
    let (open, closed): (Vec<_>, Vec<_>) = places.iter().partition(|place| place.is_open);
    let picture = |section: &mut Section, what: What, places: &[&Place<'_>]| {
        let groups = places.iter().map(|place| group(suite, place, what));
        let mut groups: Vec<Group> = groups.filter(|group| !group.bars.is_empty()).collect();
        let rest = groups.split_off(groups.len().min(MOST_CHARTS));
        let (id, title, about) = what.told();
        let bars = |id: String, groups| Bars {
            id,
            title: format!("{title}{over}"),
            about: format!("{about} {WHISKERS}"),
            groups,
        };
        section.bars(bars(format!("{id}{n}"), groups));
        section.details(fmt_plural(rest.len() as u64, "more combination"), |section| {
            section.bars(bars(format!("{id}{n}-more"), rest));
        });
    };
    picture(section, What::Rate, &closed);
    picture(section, What::P99, &open);
    picture(section, What::Cpu, places);
}

/// What bars are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Rate,
    P99,
    Cpu,
}

impl What {
    /// Anchor, title, and how to read it.
    fn told(self) -> (&'static str, &'static str, &'static str) {
        match self {
            What::Rate => (
                "rates",
                "Responses a second",
                "Longer is better; each group has a scale of its own.",
            ),
            What::P99 => (
                "tails",
                "p99 of the response time",
                "Shorter is better; each group has a scale of its own.",
            ),
            What::Cpu => (
                "cpu",
                "CPU time of a request",
                "Shorter is better; each group has a scale of its own. All processes of the server.",
            ),
        }
    }

    fn of(self, trial: &Trial) -> Option<f64> {
        let figures = &trial.figures;
        let figure = match self {
            What::Rate => figures.rate_per_s,
            What::P99 => figures.response.p99_ns.map(|ns| ns as f64),
            What::Cpu => figures.target_cpu_us,
        };
        figure.filter(|figure| figure.is_finite() && *figure >= 0.0)
    }

    fn label(self, cell: &Cell, figure: f64) -> String {
        match self {
            What::Rate => {
                cell.speaker().map_or(String::new(), |one| fmt_short(figure) + &marks(&one.figures))
            }
            What::P99 => time(Some(figure as u64)),
            What::Cpu => format!("{} µs", fmt_digits(figure)),
        }
    }
}

fn group(suite: &Suite, place: &Place<'_>, what: What) -> Group {
    let bar = |cell: &&Cell| {
        let value = what.of(cell.speaker()?)?;
        let usable = cell.trials.iter().filter(|one| !one.figures.unusable);
        let all: Vec<f64> = usable.filter_map(|one| what.of(one)).collect();
        let low = all.iter().copied().fold(value, f64::min);
        let high = all.iter().copied().fold(value, f64::max);
        Some(Bar {
            name: cell.server.clone(),
            colour: suite.servers.iter().position(|one| one.name == cell.server).unwrap_or(0),
            value,
            ends: (all.len() > 1).then_some((low, high)),
            label: what.label(cell, value),
        })
    };
    Group { name: place.name.clone(), bars: place.cells.iter().filter_map(bar).collect() }
}

/// p99 over the loads of a scenario (p50 where some runs are too short for it), all servers in one chart: over what is in flight, or over the rate, where
/// these tell loads apart.
fn against_load(section: &mut Section, places: &[Place<'_>]) {
    let scenario = |place: &Place<'_>| (place.protocol.to_owned(), place.cells[0].scenario.clone());
    let scenarios = grouped(places.iter().map(|place| (scenario(place), place)));
    let several = scenarios.iter().filter(|(_, places)| places.len() > 1);
    for (((protocol, scenario), places), n) in several.zip(1..).take(MOST_CHARTS) {
        let (x, at) = load_axis(places);
        let figures = places.iter().flat_map(|place| &place.cells);
        let mut figures = figures.filter_map(|cell| Some(&cell.speaker()?.figures));
        let has_tail = figures.all(|one| one.response.p99_ns.is_some());
        let points = places.iter().zip(&at).flat_map(|(place, at)| {
            place.cells.iter().filter_map(move |cell| {
                let response = &cell.speaker()?.figures.response;
                let ns = if has_tail { response.p99_ns } else { response.p50_ns };
                Some((cell.server.as_str(), (*at, ns.map(|ns| ns as f64))))
            })
        });
        let series = lines(points);
        let name = if has_tail { "p99" } else { "p50" };
        let title = format!("{name} against load: {scenario}, {}", protocol_name(protocol));
        let chart = Chart::new(format!("load{n}"), title, x, of_values(&series)).about(
            "Response time, from when a request was due, of the run that stands for each load.",
        );
        section.chart(chart.all(series));
    }
}

/// An axis of loads, and where each one stands on it.
fn load_axis(places: &[&Place<'_>]) -> (Axis, Vec<f64>) {
    let figure = |place: &&Place<'_>| {
        let figures = place.cells.iter().filter_map(|cell| Some(&cell.speaker()?.figures));
        let of = figures.map(|one| match place.is_open {
            true => one.asked_per_s.unwrap_or(0.0),
            false => one.in_flight_most as f64,
        });
        of.fold(0.0, f64::max)
    };
    let at: Vec<f64> = places.iter().map(figure).collect();
    let mut sorted = at.clone();
    sorted.sort_by(f64::total_cmp);
    let tell_apart = sorted.windows(2).all(|pair| pair[0] < pair[1]) && sorted[0] > 0.0;
    let all_open = places.iter().all(|place| place.is_open);
    if tell_apart && (all_open || places.iter().all(|place| !place.is_open)) {
        let (name, unit) = if all_open {
            ("rate asked for", Unit::Rate)
        } else {
            ("requests in flight", Unit::Count)
        };
        return (Axis::around(name, unit, at.iter().copied()), at);
    }
    let names = places.iter().map(|place| place.cells[0].load.clone()).collect();
    (Axis::things("load", names), (0..places.len()).map(|n| n as f64).collect())
}
