//! The page of a board: scores over all profiles, then each profile with its servers by rank.

use candor_plan::units::{fmt_bytes, fmt_digits, fmt_plural, fmt_share, fmt_short};

use super::found::compact;
use super::matrix::{self, in_brackets};
use super::{or_nothing, time};
use crate::page::{Column, Depth, Page, Section, Table};
use candor_report::Tone;
use candor_report::experiment::board::{Board, Measure, Profile, Row, Score, Standing};
use candor_report::experiment::suite::protocol_name;
use candor_report::shorten;

/// Characters of a reason in the headline; the whole of it stands in its profile.
const REASON: usize = 170;

/// How to read the numbers.
const READING: [&str; 5] = [
    "A profile is scored by throughput, or, where a rate was asked for, by the server's CPU time per request. The \
     score is the figure as a percentage of the best one (100), as the geometric mean over rounds.",
    "A server is ranked below another only if the interval of the ratio of their figures, round by round, excludes \
     1; = marks a shared rank. The intervals of a profile hold together with 95 %. One round has no interval, and \
     all servers share its rank.",
    "Over all profiles the geometric mean of a server's figures is scored; a server without a score in one of them \
     has none.",
    "A server has no score where a run of it is missing, ended early, failed more than 1 % of its requests, got a \
     wrong response, or held less than 99 % of the rate.",
    "≥ marks a figure that the loader limited: the server may be better, and is ranked below no other.",
];

/// The page of a board.
pub fn page(board: &Board, depth: Depth) -> Page {
    let rows = || board.profiles.iter().flat_map(|one| &one.rows);
    let all = board.heading.rounds.saturating_mul(rows().count() as u64);
    let made = rows().map(|row| row.rounds).fold(0, u64::saturating_add);
    let mut page =
        matrix::page(depth, "Board", &board.heading, board.complete, (made, all.max(made)));
    let limited = rows().filter(|row| row.lower_bound).count();
    if limited > 0 {
        let figures = fmt_plural(limited as u64, "figure");
        let sentence = format!("The loader limited {figures}: these servers may be better (≥).");
        page.header.standing(Tone::Doubtful, "LOWER BOUND", sentence);
    }
    for one in &board.servers {
        if let Some(why) = no_score(board, &one.name) {
            let sentence = format!("{} has no score in any profile: {why}", one.name);
            page.header.standing(Tone::Bad, "FAILED", shorten(&sentence, REASON));
        }
    }
    let section = page.section("standings", "Standings");
    if depth == Depth::Short {
        short(section, board);
        matrix::missing_shortly(section, &board.failures, &board.notes);
        return page;
    }
    for standing in &board.standings {
        section.headed(title(standing), standings(standing));
    }
    let section = page.section("profiles", "Profiles");
    for profile in &board.profiles {
        section.headed(name(profile), ranked(profile));
        let unscored =
            profile.rows.iter().filter_map(|row| Some((&row.server, row.unscored.as_ref()?)));
        section.facts(unscored.map(|(server, why)| ("No score", format!("{server}: {why}"))));
    }
    let section = page.section("doubts", "Failures, omissions");
    matrix::missing(section, &board.failures, &board.notes);
    let servers = board
        .servers
        .iter()
        .map(|one| ("Server", format!("{}: {}{}", one.name, one.source, in_brackets(&one.about))));
    let each = "one server at a time, in a fresh process for each run";
    matrix::end(&mut page, &board.heading, &board.format, &READING, each, servers);
    page
}

/// Why a server has no score in any profile that it is in: the reason in the first of them. `None`: it has one.
fn no_score<'a>(board: &'a Board, server: &str) -> Option<&'a str> {
    let rows = board.profiles.iter().flat_map(|one| &one.rows).filter(|row| row.server == server);
    let why: Option<Vec<&str>> = rows.map(|row| row.unscored.as_deref()).collect();
    why.filter(|_| board.complete)?.first().copied()
}

fn by(measure: Measure) -> &'static str {
    match measure {
        Measure::Throughput => "by throughput",
        Measure::CpuPerRequest => "by CPU per request",
    }
}

fn title(standing: &Standing) -> String {
    format!("{}, {}", fmt_plural(standing.profiles, "profile"), by(standing.measure))
}

fn name(profile: &Profile) -> String {
    let Profile { scenario, protocol, load, measure, .. } = profile;
    format!("{scenario}, {}, {load}: {}", protocol_name(protocol), by(*measure))
}

/// `1`, `2 =`: shared.
fn rank(score: Option<Score>) -> String {
    let shared = |one: &Score| if one.shared { " =" } else { "" };
    or_nothing(score, |one| format!("{}{}", one.rank, shared(&one)))
}

/// `93.2 (91.0 … 95.4)`.
fn scored(score: Option<Score>, is_bound: bool) -> String {
    let interval = |one: &Score| match (one.low, one.high) {
        (Some(low), Some(high)) if low < high => format!(" ({low:.1} … {high:.1})"),
        _ => String::new(),
    };
    let least = if is_bound { "≥ " } else { "" };
    or_nothing(score, |one| format!("{least}{:.1}{}", one.value, interval(&one)))
}

fn standings(standing: &Standing) -> Table {
    let columns = [Column::figures("rank"), Column::words("server"), Column::figures("score")];
    let mut table = Table::new(columns.into_iter().chain([Column::words("")]));
    for row in &standing.rows {
        let why = row.unscored.clone().unwrap_or_default();
        let score = scored(row.score, row.lower_bound);
        table.row([rank(row.score), row.server.clone(), score, why]);
    }
    table
}

fn ranked(profile: &Profile) -> Table {
    let figures =
        ["req/s", "of the rate", "CPU/request", "p50", "p99", "RSS", "failed", "loader CPU"];
    let columns = [Column::figures("rank"), Column::words("server"), Column::figures("score")];
    let mut table = Table::new(columns.into_iter().chain(figures.map(Column::figures)));
    for row in &profile.rows {
        table.row([
            rank(row.score),
            row.server.clone(),
            scored(row.score, row.lower_bound),
            or_nothing(row.rate_per_s, fmt_short),
            or_nothing(row.rate_ratio, fmt_share),
            cpu(row),
            time(row.p50_ns),
            time(row.p99_ns),
            or_nothing(row.rss_peak_bytes, fmt_bytes),
            or_nothing(row.failed_share, fmt_share),
            or_nothing(row.loader_cpu_share, fmt_share),
        ]);
    }
    table
}

fn cpu(row: &Row) -> String {
    or_nothing(row.cpu_us_per_request, |us| format!("{} µs", fmt_digits(us)))
}

/// Ranks and figures of all profiles on one screen: a row for each, and one for all of a measure.
fn short(section: &mut Section, board: &Board) {
    let names = board.servers.iter().map(|one| Column::figures(&one.name));
    let mut table = Table::new([Column::words("")].into_iter().chain(names));
    let mut row = |name: String, cell: &dyn Fn(&str) -> Option<String>| {
        let cells = board.servers.iter().map(|one| or_nothing(cell(&one.name), |text| text));
        table.row([name].into_iter().chain(cells));
    };
    for standing in board.standings.iter().filter(|one| one.profiles > 1) {
        row(format!("all {}", by(standing.measure)), &|server| {
            let own = standing.rows.iter().find(|one| one.server == server)?;
            Some(format!("{:.1} #{}", own.score?.value, rank(own.score)))
        });
    }
    for profile in &board.profiles {
        row(profile.name(), &|server| {
            let own = profile.rows.iter().find(|one| one.server == server)?;
            let figure = match profile.measure {
                Measure::Throughput => {
                    or_nothing(own.rate_per_s, |rate| format!("{}/s", fmt_short(rate)))
                }
                Measure::CpuPerRequest => cpu(own),
            };
            own.score.map(|_| format!("{figure} #{}", rank(own.score)))
        });
    }
    compact(section, table, "more profile", "more server");
}
