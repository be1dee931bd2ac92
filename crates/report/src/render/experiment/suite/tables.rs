//! The tables of a suite.

use std::fmt::Write as _;

use candor_plan::units::{fmt_bytes, fmt_duration_ns, fmt_share};

use super::super::super::lines::{Lines, code, escaped};
use super::super::table::{Align, Table};
use crate::experiment::figures::Percentiles;
use crate::experiment::suite::{Cell, SATURATED_BELOW, Suite, Trial};

const NOTHING: &str = "–";

/// Protocols in the order of tables, with their headings.
const PROTOCOLS: [(&str, &str); 4] = [
    ("h1", "HTTP/1.1"),
    ("h2", "HTTP/2"),
    ("h1-tls", "HTTP/1.1 over TLS"),
    ("h2-tls", "HTTP/2 over TLS"),
];

/// Throughput by scenario and server, a table for each protocol and load.
pub(super) fn throughput(out: &mut Lines, suite: &Suite) {
    for_each_table(suite, &mut |heading, table| {
        out.heading(2, escaped(heading));
        out.append(table.markdown());
        out.blank();
    });
}

/// The same for a terminal.
pub(super) fn text(suite: &Suite) -> Lines {
    let mut out = Lines::default();
    for_each_table(suite, &mut |heading, table| {
        out.blank();
        out.line(heading);
        out.blank();
        out.append(table.text());
    });
    out
}

/// A heading and a table for each protocol and load.
pub(in crate::render) fn for_each_table(suite: &Suite, show: &mut dyn FnMut(&str, &Table)) {
    let loads: Vec<_> = suite.loads.iter().filter(|load| load.of_peak.is_empty()).collect();
    for (protocol, heading) in PROTOCOLS {
        for load in &loads {
            let table = throughput_of(suite, protocol, &load.name);
            if !table.is_empty() {
                let heading = match loads.len() {
                    1 => heading.to_owned(),
                    _ => format!("{heading}, load {}", load.name),
                };
                show(&heading, &table);
            }
        }
    }
}

fn throughput_of(suite: &Suite, protocol: &str, load: &str) -> Table {
    let mut columns =
        vec![("scenario".to_owned(), Align::Left), ("in flight".to_owned(), Align::Right)];
    let servers: Vec<&str> = suite
        .servers
        .iter()
        .map(|one| one.name.as_str())
        .filter(|name| {
            suite.cells.iter().any(|cell| cell.server == *name && cell.protocol == protocol)
        })
        .collect();
    columns.extend(servers.iter().map(|name| (format!("{name} req/s"), Align::Right)));
    columns.extend(servers.iter().map(|name| (format!("{name} p50 / p99"), Align::Right)));
    let mut table = Table::new(columns);
    for scenario in &suite.scenarios {
        let cells: Vec<Option<&Cell>> = servers
            .iter()
            .map(|server| {
                suite.cells.iter().find(|cell| {
                    (cell.server == *server && cell.scenario == scenario.name)
                        && (cell.protocol == protocol && cell.load == load)
                        && cell.of_peak.is_none()
                })
            })
            .collect();
        if cells.iter().all(Option::is_none) {
            continue;
        }
        let in_flight = cells
            .iter()
            .flatten()
            .filter_map(|cell| cell.speaker())
            .map(|t| t.figures.in_flight_most);
        let mut row = vec![
            code(&scenario.name),
            in_flight.max().map_or(NOTHING.to_owned(), |n| n.to_string()),
        ];
        row.extend(cells.iter().map(|cell| cell.map_or(NOTHING.to_owned(), rate_with_spread)));
        row.extend(cells.iter().map(|cell| {
            let trial = cell.and_then(|one| one.speaker());
            trial.map_or(NOTHING.to_owned(), |one| {
                let response = &one.figures.response;
                format!("{} / {}", time(response.p50_ns), time(response.p99_ns))
            })
        }));
        table.row(row);
    }
    table
}

/// `307 k ±3 % †`.
fn rate_with_spread(cell: &Cell) -> String {
    let Some(trial) = cell.speaker() else { return NOTHING.to_owned() };
    let Some(rate) = trial.figures.rate_per_s else { return NOTHING.to_owned() };
    let mut text = short_rate(rate);
    if let Some(spread) = cell.spread.filter(|_| cell.trials.len() > 1 && rate > 0.0) {
        let far = (spread.rate_high_per_s - rate).max(rate - spread.rate_low_per_s) / rate;
        let _ = write!(text, " ±{}", percent(far));
    }
    text + &marks(trial)
}

fn marks(trial: &Trial) -> String {
    let figures = &trial.figures;
    let mut text = String::new();
    if let Some(share) = figures.failed_share.filter(|share| *share > 0.0) {
        let _ = write!(text, " ✗{}", fmt_share(share));
    }
    if !figures.warnings.is_empty() {
        text.push_str(" †");
    }
    text
}

/// Requests by kind, for scenarios that have several.
pub(super) fn kinds(out: &mut Lines, suite: &Suite) {
    let table = kinds_of(suite);
    if !table.is_empty() {
        out.heading(2, "Requests by kind");
        out.append(table.markdown());
        out.blank();
    }
}

/// The same as a table.
pub(in crate::render) fn kinds_of(suite: &Suite) -> Table {
    let mut table = Table::new(vec![
        ("scenario".to_owned(), Align::Left),
        ("server".to_owned(), Align::Left),
        ("request".to_owned(), Align::Left),
        ("answered".to_owned(), Align::Right),
        ("p50".to_owned(), Align::Right),
        ("p99".to_owned(), Align::Right),
    ]);
    for cell in suite.cells.iter().filter(|cell| cell.of_peak.is_none()) {
        for kind in cell.speaker().map(|trial| trial.kinds.as_slice()).unwrap_or_default() {
            table.row(vec![
                format!("{} {}", code(&cell.scenario), cell.protocol),
                cell.server.clone(),
                kind.name.clone(),
                kind.ok.to_string(),
                time(kind.p50_ns),
                time(kind.p99_ns),
            ]);
        }
    }
    table
}

/// Both latencies at shares of each cell's own peak.
pub(super) fn below_the_peak(out: &mut Lines, suite: &Suite) {
    let mut begun = false;
    for scenario in &suite.scenarios {
        for (protocol, heading) in PROTOCOLS {
            let cells: Vec<&Cell> = suite
                .cells
                .iter()
                .filter(|cell| cell.of_peak.is_some())
                .filter(|cell| cell.scenario == scenario.name && cell.protocol == protocol)
                .collect();
            if cells.iter().all(|cell| cell.speaker().is_none()) {
                continue;
            }
            if !begun {
                begun = true;
                out.fixed(
                    "## Latency below the peak\n\nOpen load: requests leave by a schedule, whatever \
                     the server does, at shares of what the same server reached in the same scenario \
                     above. Rows that achieved less than 99 % of the target rate are marked \
                     (saturated).\n\n",
                );
            }
            out.heading(3, format!("{}, {heading}", code(&scenario.name)));
            out.fixed(
                "**Response time**, from when a request was due: what a user would have felt (wrk2's \
                 \"corrected\", \"Recorded Latency\").\n\n",
            );
            out.append(latencies(&cells, |trial| trial.figures.response).markdown());
            out.fixed(
                "\n**Service time**, from when a request was sent: what a closed loop would have \
                 reported (\"uncorrected\"). Far below the response time means that requests had to \
                 wait.\n\n",
            );
            out.append(latencies(&cells, |trial| trial.figures.service).markdown());
            out.blank();
        }
    }
}

/// Percentiles of these cells.
pub(in crate::render) fn latencies(cells: &[&Cell], of: impl Fn(&Trial) -> Percentiles) -> Table {
    let mut columns = vec![
        ("server".to_owned(), Align::Left),
        ("of peak".to_owned(), Align::Right),
        ("target".to_owned(), Align::Right),
        ("achieved".to_owned(), Align::Right),
    ];
    let names = Percentiles::default().named().map(|(name, _)| (name.to_owned(), Align::Right));
    columns.extend(names);
    let mut table = Table::new(columns);
    for (cell, trial) in cells.iter().filter_map(|cell| Some((cell, cell.speaker()?))) {
        let figures = &trial.figures;
        let saturated = figures.achieved_share.is_some_and(|share| share < SATURATED_BELOW);
        let achieved = figures
            .asked_per_s
            .zip(figures.achieved_share)
            .map_or(NOTHING.to_owned(), |(asked, share)| short_rate(asked * share));
        let mut row = vec![
            cell.server.clone(),
            cell.of_peak.map_or(NOTHING.to_owned(), percent),
            figures.asked_per_s.map_or(NOTHING.to_owned(), short_rate),
            format!("{achieved}{}{}", if saturated { " (saturated)" } else { "" }, marks(trial)),
        ];
        row.extend(of(trial).named().map(|(_, ns)| time(ns)));
        table.row(row);
    }
    table
}

/// What servers used while they were measured at their peak.
pub(super) fn resources(out: &mut Lines, suite: &Suite) {
    let tables = resources_of(suite);
    if !tables.is_empty() {
        out.fixed(
            "## Resources\n\nOf all processes of a server, sampled every 100 ms in the measured \
             window only: the largest resident memory, the largest memory that the runtime says \
             to hold, the mean CPU time by wall time (100 % is one core), how busy its schedulers \
             say that they were (they may wait busily, which costs CPU time), and answers by CPU \
             second, which is what to compare servers by that are not equally busy.\n\n",
        );
    }
    for (heading, table) in tables {
        out.heading(3, heading);
        out.append(table.markdown());
        out.blank();
    }
}

/// The same as a table for each protocol.
pub(in crate::render) fn resources_of(suite: &Suite) -> Vec<(&'static str, Table)> {
    let mut tables = Vec::new();
    for (protocol, heading) in PROTOCOLS {
        let mut table = Table::new(vec![
            ("scenario".to_owned(), Align::Left),
            ("server".to_owned(), Align::Left),
            ("req/s".to_owned(), Align::Right),
            ("rss".to_owned(), Align::Right),
            ("runtime".to_owned(), Align::Right),
            ("cpu%".to_owned(), Align::Right),
            ("schedulers".to_owned(), Align::Right),
            ("req per CPU-s".to_owned(), Align::Right),
        ]);
        for scenario in &suite.scenarios {
            for cell in suite.cells.iter().filter(|cell| {
                cell.of_peak.is_none()
                    && cell.scenario == scenario.name
                    && cell.protocol == protocol
            }) {
                let Some(trial) = cell.speaker() else { continue };
                let figures = &trial.figures;
                if figures.target_cpu_share.is_none() && figures.rss_peak_bytes.is_none() {
                    continue;
                }
                let bytes = |bytes: Option<u64>| bytes.map_or(NOTHING.to_owned(), fmt_bytes);
                table.row(vec![
                    code(&cell.scenario),
                    cell.server.clone(),
                    figures.rate_per_s.map_or(NOTHING.to_owned(), short_rate),
                    bytes(figures.rss_peak_bytes),
                    bytes(figures.runtime_memory_peak_bytes),
                    figures.target_cpu_share.map_or(NOTHING.to_owned(), percent),
                    figures.scheduler_utilization.map_or(NOTHING.to_owned(), percent),
                    figures.requests_per_cpu_s.map_or(NOTHING.to_owned(), short_rate),
                ]);
            }
        }
        if !table.is_empty() {
            tables.push((heading, table));
        }
    }
    tables
}

/// Three digits that matter: `307 k`, `20.4 k`, `6.91 k`, `980`, `24.7`.
pub(in crate::render) fn short_rate(per_s: f64) -> String {
    let digits = |value: f64| match value {
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    };
    match per_s {
        per_s if !per_s.is_finite() => NOTHING.to_owned(),
        per_s if per_s >= 999_500.0 => digits(per_s / 1e6) + " M",
        per_s if per_s >= 999.5 => digits(per_s / 1e3) + " k",
        per_s => digits(per_s),
    }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        size if size < 9.95 && percent.fract().abs() > 1e-9 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

fn time(ns: Option<u64>) -> String {
    ns.map_or(NOTHING.to_owned(), fmt_duration_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_three_digits() {
        let cases = [
            (307_123.0, "307 k"),
            (20_444.0, "20.4 k"),
            (6_912.0, "6.91 k"),
            (980.4, "980"),
            (24.7, "24.7"),
            (1_234_567.0, "1.23 M"),
            (999.7, "1.00 k"),
        ];
        for (per_s, text) in cases {
            assert_eq!(short_rate(per_s), text);
        }
        assert_eq!(
            (percent(0.031), percent(0.9), percent(1.5)),
            ("3.1 %".into(), "90 %".into(), "150 %".into())
        );
    }
}
