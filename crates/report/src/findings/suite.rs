//! What a suite of servers found.

use std::collections::HashMap;

use candor_plan::units::{fmt_duration_ns, fmt_plural, fmt_share, fmt_short};

use super::contest::{Contest, Entrant, Measure, Ratio, times, told};
use super::{Finding, Kind, Noun, list, range};
use crate::experiment::figures::Figures;
use crate::experiment::matrix::{FailedTrial, grouped};
use crate::experiment::suite::{Cell, PROTOCOLS, SATURATED_BELOW, Suite, protocol_name};

/// A server that fails more of its requests than this is broken.
const FAILED_ABOVE: f64 = 0.01;

/// What is wrong with a server in a cell; the worst comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Ailment {
    Ended,
    Unusable,
    Failing,
    Nagle,
    Saturated,
    Stalled,
    LostSyn,
}

/// Cells of the same scenario, protocol and load at no share of a peak: servers beside each other.
#[derive(Debug)]
pub struct Place<'a> {
    /// The id of the protocol.
    pub protocol: &'a str,
    /// By what is not the same in all of them: `hello`, `hello (64-connections)`, `64-connections`.
    pub name: String,
    /// ` over HTTP/2`, if there are several protocols.
    pub over: String,
    /// A rate was asked for, so that latencies tell more than rates.
    pub is_open: bool,
    /// One for each server.
    pub cells: Vec<&'a Cell>,
}

type Key<'a> = (&'a str, &'a str, &'a str);

/// Everything that the suite found, the most telling first.
pub fn findings(suite: &Suite) -> Vec<Finding> {
    let names = Names::of(suite);
    let places = places(suite);
    let mut found = unmeasured(suite);
    found.extend(ailments(suite, &places, &names));
    found.extend(contests(&places, &names));
    found.extend(bounds(&places));
    found.sort_by_key(|one| one.kind);
    found
}

/// Where servers are compared, in the order of the tables.
pub fn places(suite: &Suite) -> Vec<Place<'_>> {
    let names = Names::of(suite);
    let cells = suite.cells.iter().filter(|cell| cell.of_peak.is_none());
    let asks =
        |cell: &&Cell| cell.speaker().is_some_and(|trial| trial.figures.asked_per_s.is_some());
    let scenarios = suite.scenarios.iter().map(|one| one.name.as_str());
    let scenarios: HashMap<&str, usize> = scenarios.zip(0..).collect();
    let loads: HashMap<&str, usize> = suite.loads.iter().map(|one| &*one.name).zip(0..).collect();
    let rank = |(protocol, scenario, load): &Key<'_>| {
        let protocol = PROTOCOLS.iter().position(|(id, _)| id == protocol);
        (protocol, scenarios.get(scenario).copied(), loads.get(load).copied())
    };
    let mut groups = grouped(cells.map(|cell| (key(cell), cell)));
    groups.sort_by_key(|(key, _)| rank(key));
    groups
        .into_iter()
        .map(|((protocol, ..), cells)| Place {
            protocol,
            name: names.place(cells[0]),
            over: names.over(protocol),
            is_open: cells.iter().any(asks),
            cells,
        })
        .collect()
}

fn key(cell: &Cell) -> Key<'_> {
    (&cell.protocol, &cell.scenario, &cell.load)
}

/// What cells are called: by what is not the same in all of them.
struct Names {
    scenarios: bool,
    protocols: bool,
    loads: bool,
}

impl Names {
    fn of(suite: &Suite) -> Self {
        let differ = |pick: fn(&Cell) -> &str| {
            let mut all = suite.cells.iter().filter(|cell| cell.of_peak.is_none()).map(pick);
            let first = all.next();
            all.any(|one| Some(one) != first)
        };
        Names {
            scenarios: differ(|cell| &cell.scenario),
            protocols: differ(|cell| &cell.protocol),
            loads: differ(|cell| &cell.load),
        }
    }

    /// `hello`, `hello (64-connections)`, `64-connections`: without the protocol.
    fn place(&self, cell: &Cell) -> String {
        match (self.scenarios, self.loads) {
            (_, false) => cell.scenario.clone(),
            (false, true) => cell.load.clone(),
            (true, true) => format!("{} ({})", cell.scenario, cell.load),
        }
    }

    /// The same with the protocol, and with the share of the peak.
    fn whole(&self, cell: &Cell) -> String {
        let over = self.over(&cell.protocol);
        match cell.of_peak {
            None => self.place(cell) + &over,
            Some(share) => format!("{}{over} at {:.0} % of its peak", cell.scenario, share * 100.0),
        }
    }

    fn over(&self, protocol: &str) -> String {
        match self.protocols {
            true => format!(" over {}", protocol_name(protocol)),
            false => String::new(),
        }
    }

    fn noun(&self) -> Noun {
        match (self.scenarios, self.loads) {
            (_, false) => Noun { before: "in", plural: "scenarios" },
            (false, true) => Noun { before: "under", plural: "loads" },
            (true, true) => Noun { before: "in", plural: "combinations" },
        }
    }
}

impl Ailment {
    fn of(cell: &Cell) -> Option<Self> {
        let Some(trial) = cell.speaker() else {
            let ended = cell.trials.iter().any(|one| one.figures.target_ended.is_some());
            let why = if ended { Ailment::Ended } else { Ailment::Unusable };
            return (!cell.trials.is_empty()).then_some(why);
        };
        let figures = &trial.figures;
        let has = |ids: &[String], id: &str| ids.iter().any(|one| one == id);
        let warns = |id: &str| has(&figures.warnings, id);
        let is_stalled = warns("coordinated-omission") || has(&figures.notes, "target-stalled");
        [
            (is_saturated(figures), Ailment::Saturated),
            (is_failing(cell, figures), Ailment::Failing),
            (warns("nagle-delayed-ack"), Ailment::Nagle),
            (is_stalled, Ailment::Stalled),
            (warns("syn-retransmit"), Ailment::LostSyn),
        ]
        .into_iter()
        .find_map(|(is_it, ailment)| is_it.then_some(ailment))
    }

    /// Whether figures compare with others all the same.
    fn lets_compare(self) -> bool {
        matches!(self, Ailment::Stalled | Ailment::LostSyn)
    }

    fn kind(self) -> Kind {
        match self {
            Ailment::Ended | Ailment::Unusable | Ailment::Failing => Kind::Broken,
            Ailment::Nagle | Ailment::Stalled | Ailment::LostSyn => Kind::Slowed,
            Ailment::Saturated => Kind::Saturated,
        }
    }
}

/// Why a cell has no score on a board, in half a sentence; `None`: it has one. Every round of it has to have a run
/// that can be used, that held the rate, and whose requests got the expected responses.
pub(super) fn unscored(suite: &Suite, cell: &Cell) -> Option<String> {
    let found = cell.trials.iter().find_map(|trial| {
        let figures = &trial.figures;
        match &figures.target_ended {
            Some(why) => Some(format!("it ended in mid-run: {why}")),
            None if is_failing(cell, figures) => {
                Some(format!("it fails requests: {}", failed(figures)?))
            }
            None if figures.unusable => {
                Some(format!("a run cannot be used: {}", list(&figures.warnings)))
            }
            None if is_saturated(figures) => {
                Some(format!("it held {} of the rate", fmt_share(figures.achieved_share?)))
            }
            None => None,
        }
    });
    let is_missing = || {
        let (made, of) = (cell.trials.len(), cell.rounds.unwrap_or(suite.heading.rounds));
        let why = failure(suite, cell).map_or(String::new(), |one| format!(": {}", one.reason()));
        ((made as u64) < of).then(|| format!("{made} of {of} runs were made{why}"))
    };
    found.or_else(is_missing)
}

/// The failure of a trial of this cell.
fn failure<'a>(suite: &'a Suite, cell: &Cell) -> Option<&'a FailedTrial> {
    let prefix = format!("{} round ", cell.name());
    suite.failures.iter().find(|one| one.trial.starts_with(&prefix))
}

/// Servers of which no trial could be made, and why that of the first cell could not.
fn unmeasured(suite: &Suite) -> Vec<Finding> {
    let told = |server: &str| {
        let mut failures = Vec::new();
        for cell in suite.cells.iter().filter(|cell| cell.server == server) {
            failures.push(failure(suite, cell).filter(|_| cell.trials.is_empty())?);
        }
        Some(format!("{server} could not be measured: {}", failures.first()?.reason()))
    };
    let sentences = suite.servers.iter().filter_map(|one| told(&one.name));
    sentences.map(|sentence| Finding { kind: Kind::Broken, sentence }).collect()
}

/// Whether requests failed that should not have.
fn is_failing(cell: &Cell, figures: &Figures) -> bool {
    !cell.refuses && figures.failed_share.is_some_and(|share| share > FAILED_ABOVE)
}

fn is_saturated(figures: &Figures) -> bool {
    figures.achieved_share.is_some_and(|share| share < SATURATED_BELOW)
}

/// What is wrong with servers, each with all cells in which it is.
fn ailments(suite: &Suite, places: &[Place<'_>], names: &Names) -> Vec<Finding> {
    let ill = suite.cells.iter().filter_map(|cell| Some((cell, Ailment::of(cell)?)));
    let ill = ill.map(|(cell, ailment)| ((cell.server.as_str(), ailment), cell));
    let mut measured: HashMap<&str, usize> = HashMap::new();
    for cell in suite.cells.iter().filter(|cell| !cell.trials.is_empty()) {
        *measured.entry(&cell.server).or_default() += 1;
    }
    let places: HashMap<Key<'_>, &Place<'_>> =
        places.iter().map(|place| (key(place.cells[0]), place)).collect();
    grouped(ill)
        .into_iter()
        .map(|((server, ailment), cells)| {
            let of = measured.get(server).copied().unwrap_or(0);
            let sentence = sentence(server, ailment, &cells, of, names);
            let rivals = match ailment {
                Ailment::Nagle => rivals(&cells, &places),
                _ => String::new(),
            };
            Finding { kind: ailment.kind(), sentence: format!("{sentence}{rivals}.") }
        })
        .collect()
}

/// What is wrong with a server in these cells, without the full stop.
fn sentence(server: &str, ailment: Ailment, cells: &[&Cell], of: usize, names: &Names) -> String {
    let places: Vec<String> = cells.iter().map(|cell| names.whole(cell)).collect();
    let noun = match names.protocols || cells.iter().any(|cell| cell.of_peak.is_some()) {
        true => Noun { before: "in", plural: "combinations" },
        false => names.noun(),
    };
    let at = noun.all_of(&places, of);
    let shown = cells.iter().map(|cell| cell.speaker().map(|trial| &trial.figures));
    let each = |told: fn(&Figures) -> Option<String>| {
        let all = shown.clone().zip(&places);
        let all = all.filter_map(|(figures, place)| Some(format!("{place} {}", told(figures?)?)));
        list(&all.collect::<Vec<_>>())
    };
    let times = |pick: fn(&Figures) -> Option<u64>| {
        let known = shown.clone().filter_map(|figures| pick(figures?)).map(|ns| ns as f64);
        range(known, |ns| fmt_duration_ns(ns as u64))
    };
    let mut all = cells.iter().flat_map(|cell| &cell.trials).map(|trial| &trial.figures);
    match ailment {
        Ailment::Ended => {
            let why = all.find_map(|figures| figures.target_ended.as_deref()).unwrap_or_default();
            format!("{server} ended in mid-run {at}: {why}")
        }
        Ailment::Unusable => {
            let ids = all.next().map(|figures| list(&figures.warnings)).unwrap_or_default();
            format!("{server} has no usable run {at}: {ids}")
        }
        Ailment::Failing => format!("{server} fails requests: {}", each(failed)),
        Ailment::Nagle => format!(
            "{server} waits for delayed acknowledgements {at} (nagle-delayed-ack): p50 {}",
            times(|figures| figures.response.p50_ns)
        ),
        Ailment::Stalled => format!(
            "{server} stood still {at}: the longest response took {}",
            times(|figures| figures.response.max_ns)
        ),
        Ailment::LostSyn => {
            format!("{server} took seconds to accept connections {at} (syn-retransmit)")
        }
        Ailment::Saturated => {
            let achieved = each(|one| Some(format!("({} of it)", fmt_share(one.achieved_share?))));
            let rates = fmt_plural(cells.len() as u64, "rate");
            format!("{server} did not hold {rates}: {achieved}")
        }
    }
}

/// `12.3 % (3,200 × status 500, 3 × reset)`.
fn failed(figures: &Figures) -> Option<String> {
    let share = fmt_share(figures.failed_share?);
    Some(match figures.failures.as_str() {
        "" => share,
        kinds => format!("{share} ({kinds})"),
    })
}

/// `; nodelay has 95.0 to 530 times its rate`: the fastest healthy servers in the same places.
fn rivals(ill: &[&Cell], places: &HashMap<Key<'_>, &Place<'_>>) -> String {
    let fastest = |cell: &&Cell| {
        let own = entrant(cell, Measure::Rate)?;
        let rivals = places.get(&key(cell))?.cells.iter();
        let rivals = rivals.filter_map(|one| Some((&one.server, comparable(one, Measure::Rate)?)));
        let ratios = rivals.map(|(server, rival)| (server, Ratio::of(&rival, &own, 1)));
        ratios.max_by(|(_, a), (_, b)| a.estimate.total_cmp(&b.estimate))
    };
    let ratios: Vec<_> = ill.iter().filter_map(fastest).collect();
    let Some((first, ratio)) = ratios.first() else { return String::new() };
    let is_one = ratios.iter().all(|(name, _)| name == first);
    let who = if is_one { first.as_str() } else { "the fastest" };
    let all = range(ratios.iter().map(|(_, ratio)| ratio.estimate), times);
    let interval = if ratios.len() == 1 { ratio.interval(true) } else { String::new() };
    format!("; {who} has {all} times its rate{interval}")
}

/// A cell as it enters a contest.
fn entrant(cell: &Cell, measure: Measure) -> Option<Entrant<'_>> {
    let pick = |figures: &Figures| match measure {
        Measure::Rate => figures.rate_per_s,
        Measure::P99 => figures.response.p99_ns.map(|ns| ns as f64),
        Measure::Cpu => figures.target_cpu_us,
    };
    let usable = cell.trials.iter().filter(|one| !one.figures.unusable);
    let shown = &cell.speaker()?.figures;
    let is_bound = measure != Measure::Cpu && is_bound(shown);
    let by_round = usable.map(|one| (one.round, pick(&one.figures)));
    Entrant::of(&cell.server, pick(shown), by_round, is_bound)
}

/// The same, unless what is wrong with it forbids to compare it.
fn comparable(cell: &Cell, measure: Measure) -> Option<Entrant<'_>> {
    Ailment::of(cell).is_none_or(Ailment::lets_compare).then(|| entrant(cell, measure))?
}

/// Whether the loader was at its limit.
pub(super) fn is_bound(figures: &Figures) -> bool {
    figures.warnings.iter().any(|id| id == "loader-cpu")
}

/// Who is ahead and who is level, for each protocol: by rate under closed loads, by p99 where the rate was
/// asked for, and by CPU time.
fn contests(places: &[Place<'_>], names: &Names) -> Vec<Finding> {
    let mut found = Vec::new();
    for (protocol, places) in grouped(places.iter().map(|place| (place.protocol, place))) {
        let over = names.over(protocol);
        let of = |measure: Measure| -> Vec<Contest<'_>> {
            let fits = |place: &&&Place<'_>| match measure {
                Measure::Rate => !place.is_open,
                Measure::P99 => place.is_open,
                Measure::Cpu => true,
            };
            let fitting = places.iter().filter(fits);
            fitting.map(|place| contest(place, measure)).collect()
        };
        if places.iter().all(|place| place.cells.len() < 2) {
            found.extend(reached(&places, names.noun()));
            continue;
        }
        for measure in [Measure::Rate, Measure::P99, Measure::Cpu] {
            found.extend(told(&of(measure), measure, names.noun(), &over));
        }
    }
    found
}

fn contest<'a>(place: &Place<'a>, measure: Measure) -> Contest<'a> {
    let entrants = place.cells.iter().filter_map(|cell| comparable(cell, measure));
    Contest { place: place.name.clone(), entrants: entrants.collect() }
}

/// Rates of servers that are not compared with another, over one protocol.
fn reached(places: &[&Place<'_>], noun: Noun) -> Vec<Finding> {
    let cells = places.iter().flat_map(|place| place.cells.iter().map(move |cell| (place, cell)));
    let rates = cells.filter_map(|(place, cell)| {
        let figures = &cell.speaker()?.figures;
        let least = if is_bound(figures) { "at least " } else { "" };
        let rate = figures.rate_per_s?;
        Some((cell.server.as_str(), (rate, format!("{least}{}/s", fmt_short(rate)), *place)))
    });
    let sentence = |(server, mut rates): (&str, Vec<(f64, String, &Place<'_>)>)| {
        rates.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
        let Noun { before, plural } = noun;
        match &rates[..] {
            [] => String::new(),
            [(_, rate, Place { name, over, .. })] => {
                format!("{server} reaches {rate} {before} {name}{over}.")
            }
            [(_, low, slow), .., (_, high, fast)] => format!(
                "{server} reaches {low} ({}) to {high} ({}) {before} {} {plural}{}.",
                slow.name,
                fast.name,
                rates.len(),
                slow.over
            ),
        }
    };
    let sentences = grouped(rates).into_iter().map(sentence);
    sentences.map(|sentence| Finding { kind: Kind::Reached, sentence }).collect()
}

/// Rates that the loader limited.
fn bounds(places: &[Place<'_>]) -> Option<Finding> {
    let closed = places.iter().filter(|place| !place.is_open);
    let closed = closed.flat_map(|place| place.cells.iter().map(move |cell| (place, cell)));
    let known: Vec<_> =
        closed.filter_map(|(place, cell)| Some((place, cell, &cell.speaker()?.figures))).collect();
    let bound = known.iter().filter(|(.., figures)| is_bound(figures));
    let by_server =
        grouped(bound.map(|(place, cell, _)| {
            (cell.server.as_str(), format!("{}{}", place.name, place.over))
        }));
    let count: usize = by_server.iter().map(|(_, places)| places.len()).sum();
    let of = known.len();
    let whose: Vec<String> =
        by_server.iter().map(|(server, places)| format!("{server} ({})", list(places))).collect();
    let rates = match count {
        0 => return None,
        1 => format!("The rate of {} is a lower bound", list(&whose)),
        count if count == of => format!("All {of} rates are lower bounds"),
        count => format!("{count} of {of} rates are lower bounds, of {}", list(&whose)),
    };
    let sentence = format!("{rates}: the loader was at its limit there (loader-cpu).");
    Some(Finding { kind: Kind::Bound, sentence })
}
