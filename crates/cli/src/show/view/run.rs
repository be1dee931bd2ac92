//! The blocks of a run.

use candor_plan::units::{fmt_bytes, fmt_count, fmt_duration_ns, fmt_per_second, fmt_share};
use candor_report::Document;
use candor_report::document::users::JourneyRow;
use candor_report::{shorten, visible};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use super::super::state::{FIRST_DECADE, PER_DECADE, Point, Run, State};
use super::{Block, Painter, Tone, clock};

/// The share of a core above which a thread of the loader is near its limit.
const BUSY: f64 = 0.8;
/// The most findings to show.
const MOST_FINDINGS: usize = 6;
/// The most machines to show.
const MOST_MACHINES: usize = 8;
/// The fewest rows of the table; with less room it is omitted.
const TABLE: u16 = 5;
/// Rows of the spectrum.
const ROWS: usize = 5;
/// Width of the first column of strips and tables.
const LABEL: usize = 10;

/// Draws the blocks: one below the other, or figures beside strips.
pub(super) fn put(painter: &Painter, state: &State, is_wide: bool, area: Rect, out: &mut Buffer) {
    let Some(run) = &state.run else {
        painter.put_blocks(vec![notes(painter, state)], area, out);
        return;
    };
    let document = run.so_far.as_ref().map(|so_far| &so_far.document);
    let head = vec![rate(painter, run, document), notes(painter, state)];
    let figures = |painter: &Painter| {
        vec![
            if area.height < TABLE { tail(painter, run) } else { latency(painter, run, document) },
            users(painter, run, document),
            counts(painter, run, document),
            loader(painter, state, document),
            machines(painter, run),
        ]
    };
    let over_time = |painter: &Painter| vec![strips(painter, run), spectrum(painter, run)];
    let findings = vec![findings(painter, state)];
    if !is_wide {
        let all = [head, figures(painter), findings, over_time(painter)];
        painter.put_blocks(all.into_iter().flatten().collect(), area, out);
        return;
    }
    let below = |area: Rect, rows: u16| Rect {
        y: area.y + rows,
        height: area.height.saturating_sub(rows),
        ..area
    };
    let area = below(area, painter.put_blocks(head, area, out));
    let half = area.width / 2;
    let column = Painter { width: usize::from(half) - 2, ..*painter };
    let left = column.put_blocks(figures(&column), Rect { width: half - 2, ..area }, out);
    let at = Rect { x: area.x + half, width: area.width - half, ..area };
    let right = column.put_blocks(over_time(&column), at, out);
    painter.put_blocks(findings, below(area, left.max(right)), out);
}

/// Rate asked and achieved, with the backlog and other signs of trouble.
pub(super) fn rate(painter: &Painter, run: &Run, document: Option<&Document>) -> Block {
    let Some(last) = &run.last else {
        return Block::new(0, vec![painter.line(Tone::Faint, "no finished interval yet")]);
    };
    let one = &last.summary;
    let achieved = last.rate_per_s().unwrap_or(0.0);
    let asked = last.asked_per_s().filter(|_| run.head.is_open);
    let tone = match asked {
        Some(asked) if achieved < 0.99 * asked && one.backlog > 0 => Tone::Doubtful,
        _ => Tone::Strong,
    };
    // The first piece without room, and all after it, are omitted.
    let mut pieces = match last.feed_per_s() {
        Some(per_s) => vec![(Tone::Strong, format!("{} events", fmt_per_second(per_s)))],
        None => vec![(tone, fmt_per_second(achieved))],
    };
    pieces.extend(asked.map(|asked| (Tone::Plain, format!(" of {} asked", fmt_per_second(asked)))));
    let mut add = |tone, text: String| pieces.push((tone, format!(" · {text}")));
    let amiss = [
        (run.errors, "errors", Tone::Bad),
        (one.backlog, "backlog", Tone::Doubtful),
        (run.shed, "shed", Tone::Doubtful),
    ];
    for (count, name, tone) in amiss.into_iter().filter(|(count, ..)| *count > 0) {
        add(tone, format!("{name} {}", fmt_count(count)));
    }
    add(Tone::Plain, format!("ok {}", fmt_count(run.ok)));
    for (_, name, _) in amiss.into_iter().filter(|(count, name, _)| *count == 0 && *name != "shed")
    {
        add(Tone::Plain, format!("{name} 0"));
    }
    let length_s = last.length_ns() as f64 / 1e9;
    if length_s > 0.0 {
        let bytes = (one.bytes_received as f64 / length_s) as u64;
        add(Tone::Plain, format!("{}/s", fmt_bytes(bytes)));
    }
    if let Some(rate_per_s) = document.and_then(|document| document.rate.achieved_per_s) {
        add(Tone::Faint, format!("whole run {}", fmt_per_second(rate_per_s)));
    }
    let mut room = painter.width;
    let fitting = pieces.into_iter().map_while(|(tone, text)| {
        room = room.checked_sub(text.chars().count())?;
        Some(painter.span(tone, text))
    });
    Block::new(0, vec![fitting.collect::<Vec<_>>().into()])
}

/// Percentiles now and over the run.
fn latency(painter: &Painter, run: &Run, document: Option<&Document>) -> Block {
    const NAMES: [&str; 5] = ["p50", "p90", "p99", "p99.9", "max"];
    // With little room, only the median, the tail and the maximum remain.
    let columns: &[usize] = match painter.width {
        60.. => &[0, 1, 2, 3, 4],
        50.. => &[0, 2, 3, 4],
        40.. => &[0, 2, 4],
        30.. => &[2, 4],
        _ => &[2],
    };
    let cells = |texts: [String; 5]| -> String {
        columns.iter().map(|&at| format!("{:>9}", texts[at])).collect()
    };
    let head = format!("{:<LABEL$}    {}", "", cells(NAMES.map(str::to_owned)));
    let mut lines = vec![painter.line(Tone::Faint, &head)];
    let last = run.last.as_ref().map(|last| &last.summary);
    let (response, service) = last.map(|last| (last.response, last.service)).unwrap_or_default();
    let whole = document.map(|document| &document.latencies);
    let (all_response, all_service) =
        (whole.map(|one| &one.response), whole.map(|one| &one.service));
    for (name, now, whole) in
        [("response", response, all_response), ("service", service, all_service)]
    {
        let texts = [now.p50_ns, now.p90_ns, now.p99_ns, now.p999_ns, now.max_ns].map(latency_text);
        lines.push(painter.line(Tone::Plain, &format!("{name:<LABEL$}now {}", cells(texts))));
        let Some(whole) = whole else { continue };
        let texts = NAMES.map(|name| match name {
            "max" => latency_text(whole.max_ns),
            name => latency_text(whole.percentile_ns(name)),
        });
        lines.push(painter.line(Tone::Strong, &format!("{:<LABEL$}run {}", "", cells(texts))));
    }
    Block::new(1, lines).at_least(3)
}

/// Users under way, and what became of the others; nothing in a run without users.
fn users(painter: &Painter, run: &Run, document: Option<&Document>) -> Block {
    let Some((document, users)) = document.and_then(|one| Some((one, one.users.as_ref()?))) else {
        return Block::new(2, Vec::new());
    };
    let what = if document.plan.work.are_requests() { "redirects" } else { "users" };
    let under_way = run.last.as_ref().map_or(0, |last| last.summary.users);
    let sum = |count: fn(&JourneyRow) -> u64| {
        users.journeys.iter().fold(0u64, |sum, one| sum.saturating_add(count(one)))
    };
    let failed = sum(|one| one.failed);
    let text = format!(
        "{:<LABEL$}{} under way · {} completed · {} failed",
        what,
        fmt_count(under_way),
        fmt_count(sum(|one| one.completed)),
        fmt_count(failed)
    );
    let tone = if failed > 0 { Tone::Bad } else { Tone::Plain };
    Block::new(2, vec![painter.line(tone, &text)])
}

/// The same in a line.
fn tail(painter: &Painter, run: &Run) -> Block {
    let now = run.last.as_ref().map(|last| last.summary.response).unwrap_or_default();
    let (p99, max) = (latency_text(now.p99_ns), latency_text(now.max_ns));
    Block::new(1, vec![painter.line(Tone::Plain, &format!("p99 {p99} max {max}"))])
}

fn latency_text(ns: Option<u64>) -> String {
    ns.map_or_else(|| "–".to_owned(), fmt_duration_ns)
}

/// Rate, p99 and backlog over the last minutes.
pub(super) fn strips(painter: &Painter, run: &Run) -> Block {
    /// Room for the highest value.
    const HIGHEST: usize = 14;
    let width = painter.width.saturating_sub(LABEL + HIGHEST).max(1);
    // Each column joins as many points as necessary to show all.
    let each = run.points.len().div_ceil(width).max(1);
    let columns: Vec<Point> = run.points.chunks(each).map(Point::of).collect();
    if columns.is_empty() || painter.width < LABEL + 4 {
        return Block::new(3, Vec::new());
    }
    let length_ns = columns.iter().map(|one| one.length_ns).sum();
    let head = format!("{:<LABEL$}last {}; the highest at the right", "", clock(length_ns));
    let mut lines = vec![painter.line(Tone::Faint, &head)];
    let mut strip =
        |name: &str, tone, value: fn(&Point) -> Option<f64>, text: fn(f64) -> String| {
            let known = columns.iter().filter_map(value).reduce(f64::max);
            let highest = known.unwrap_or(0.0);
            let values: Vec<f64> = columns.iter().map(|one| value(one).unwrap_or(0.0)).collect();
            lines.push(Line::from(vec![
                painter.span(Tone::Plain, format!("{name:<LABEL$}")),
                painter.span(tone, format!("{:<width$}", painter.spark(&values, highest))),
                painter.span(Tone::Plain, format!(" {:>12}", known.map_or("–".to_owned(), text))),
            ]));
        };
    let duration = |ns: f64| fmt_duration_ns(ns as u64);
    strip("rate", Tone::Bar, |one| Some(one.rate_per_s()), fmt_per_second);
    strip("p99", Tone::Bar, |one| one.p99_ns.map(|ns| ns as f64), duration);
    let count = |count: f64| fmt_count(count as u64);
    strip("backlog", Tone::Doubtful, |one| Some(one.backlog as f64), count);
    Block::new(3, lines).at_least(2)
}

/// The distribution of response times: bars from the fastest to the slowest.
fn spectrum(painter: &Painter, run: &Run) -> Block {
    let none = || Block::new(6, Vec::new());
    let Some(so_far) = &run.so_far else { return none() };
    let counts = &so_far.spectrum;
    let filled = |count: &u64| *count > 0;
    let (Some(first), Some(last)) =
        (counts.iter().position(filled), counts.iter().rposition(filled))
    else {
        return none();
    };
    // Whole decades, so that the axis has names.
    let (first, last) = (first - first % PER_DECADE, last - last % PER_DECADE + PER_DECADE);
    let width = painter.width.saturating_sub(LABEL);
    let decades = (last - first) / PER_DECADE;
    if width < decades * 4 {
        return none();
    }
    // Each bar spans a whole number of columns, or of buckets, so that decades have equal widths.
    let per_decade = (width / decades).min(PER_DECADE * 2);
    let columns: Vec<u64> = (0..decades * per_decade)
        .map(|column| {
            let bucket = |column: usize| first + column * PER_DECADE / per_decade;
            let (from, to) = (bucket(column), bucket(column + 1).max(bucket(column) + 1));
            counts[from..to.min(counts.len())]
                .iter()
                .fold(0, |sum, count| count.saturating_add(sum))
        })
        .collect();
    let log = |count: u64| (1.0 + count as f64).log10();
    let highest = columns.iter().copied().max().map_or(0.0, log);
    let mut lines = Vec::new();
    for row in (0..ROWS).rev() {
        let values: Vec<f64> = columns
            .iter()
            .map(|&count| (log(count) / highest * ROWS as f64 - row as f64).clamp(0.0, 1.0))
            .collect();
        let label = if row + 1 == ROWS { "spectrum" } else { "" };
        lines.push(Line::from(vec![
            painter.span(Tone::Plain, format!("{label:<LABEL$}")),
            painter.span(Tone::Bar, painter.spark(&values, 1.0)),
        ]));
    }
    let mut axis = " ".repeat(LABEL);
    for decade in 0..decades {
        let exponent = FIRST_DECADE + first / PER_DECADE + decade;
        let name = fmt_duration_ns(10u64.saturating_pow(exponent as u32));
        axis += &format!("{name:<per_decade$}");
    }
    lines.push(painter.line(Tone::Faint, &axis));
    Block::new(6, lines)
}

/// Statuses, errors and connections.
fn counts(painter: &Painter, run: &Run, document: Option<&Document>) -> Block {
    let mut lines = Vec::new();
    let mut add = |name: &str, tone, text: String| {
        lines.push(Line::from(vec![
            painter.span(Tone::Plain, format!("{name:<LABEL$}")),
            painter.span(tone, text),
        ]));
    };
    if let Some(document) = document {
        let statuses = document.statuses.iter();
        let statuses: Vec<String> =
            statuses.map(|one| format!("{} {}", one.status, fmt_count(one.count))).collect();
        if !statuses.is_empty() {
            add("status", Tone::Plain, statuses.join(" · "));
        }
        let mut errors: Vec<_> = document.errors.iter().chain(&document.connect_errors).collect();
        errors.sort_by_key(|one| std::cmp::Reverse(one.count));
        for one in errors.iter().take(3) {
            let example = one.example.as_deref().map_or(String::new(), |example| {
                // The text may come from a server.
                format!(": {}", visible(example))
            });
            let count = fmt_count(one.count);
            add("error", Tone::Bad, painter.cut(&format!("{count} {}{example}", one.kind)));
        }
        let more = errors.len().saturating_sub(3);
        if more > 0 {
            add("", Tone::Bad, format!("and {more} other kinds"));
        }
    }
    let (last, (asked, most)) = (run.last.as_ref().map(|last| &last.summary), run.head.connections);
    let wanted = match most > asked {
        true => format!("{} to {}", fmt_count(asked), fmt_count(most)),
        false => fmt_count(asked),
    };
    let mut text = match last {
        Some(last) => format!("{} of {wanted}", fmt_count(last.connections)),
        None => format!("{wanted} asked for"),
    };
    if let Some(last) = last {
        text += &format!(" · {} in flight", fmt_count(last.in_flight));
    }
    if let Some(document) = document {
        let opened = document.connections.opened;
        text += &format!(" · {} opened", fmt_count(opened));
        let lost = document.connections.lost;
        if lost > 0 {
            text += &format!(" · {} lost", fmt_count(lost));
        }
    }
    let tone = match last {
        Some(last) if last.connections < asked => Tone::Doubtful,
        _ => Tone::Plain,
    };
    add("conns", tone, text);
    Block::new(4, lines).at_least(1)
}

/// The loader's own health.
fn loader(painter: &Painter, state: &State, document: Option<&Document>) -> Block {
    let now = &state.now;
    let mut spans = vec![painter.span(Tone::Plain, format!("{:<LABEL$}", "loader"))];
    let (tone, share) = match now.busiest {
        Some(busiest) if busiest >= BUSY => (Tone::Doubtful, fmt_share(busiest)),
        busiest => (Tone::Plain, busiest.map_or("–".to_owned(), fmt_share)),
    };
    spans.push(painter.span(tone, format!("{share} CPU")));
    let lag = document.map(|one| &one.latencies.send_lag).filter(|lag| lag.count > 0).map(|lag| {
        let p99 = latency_text(lag.percentile_ns("p99"));
        format!(" · send lag p99 {p99}, max {}", latency_text(lag.max_ns))
    });
    let jitter = match now.worst_hiccup_ns {
        0 => String::new(),
        ns => format!(" · jitter up to {}", fmt_duration_ns(ns)),
    };
    let room = painter.width.saturating_sub(spans.iter().map(Span::width).sum());
    let rest = lag.unwrap_or_default() + &jitter;
    let rest = if room == 0 { String::new() } else { shorten(&rest, room) };
    spans.push(painter.span(Tone::Plain, rest));
    Block::new(5, vec![Line::from(spans)])
}

/// The machines of a fleet; nothing in a run on one.
fn machines(painter: &Painter, run: &Run) -> Block {
    let last = run.last.as_ref().filter(|last| !last.machines.is_empty());
    let Some(last) = last else { return Block::new(4, Vec::new()) };
    let row = |name: &str, cells: [String; 5]| {
        let cells = cells.map(|cell| format!("{cell:>11}")).concat();
        format!("{:<LABEL$}{cells}", shorten(&visible(name), LABEL - 1))
    };
    let names = ["rate", "errors", "backlog", "p99", "lag p99"].map(str::to_owned);
    let mut lines = vec![painter.line(Tone::Faint, &row("machines", names))];
    for one in last.machines.iter().take(MOST_MACHINES) {
        let tone = if one.errors > 0 { Tone::Bad } else { Tone::Plain };
        let cells = [
            fmt_per_second(last.rate_of(one).unwrap_or(0.0)),
            fmt_count(one.errors),
            fmt_count(one.backlog),
            latency_text(one.response_p99_ns),
            latency_text(one.send_lag_p99_ns),
        ];
        lines.push(painter.line(tone, &row(one.agent.as_deref().unwrap_or("–"), cells)));
    }
    let more = last.machines.len().saturating_sub(MOST_MACHINES);
    if more > 0 {
        lines.push(painter.line(Tone::Faint, &format!("{:<LABEL$}and {more} more", "")));
    }
    Block::new(4, lines).at_least(2)
}

/// Findings, which the reader needs before the figures.
fn findings(painter: &Painter, state: &State) -> Block {
    let findings = state.findings();
    let lines = findings.iter().take(MOST_FINDINGS).map(|one| {
        let text = format!(" {}", visible(&one.sentence));
        let room = painter.width.saturating_sub(one.id.chars().count() + 2);
        let text = if room == 0 { String::new() } else { shorten(&text, room) };
        Line::from(vec![
            painter.span(Tone::Doubtful, format!("! {}", one.id)),
            painter.span(Tone::Plain, text),
        ])
    });
    let mut lines: Vec<_> = lines.collect();
    let more = findings.len().saturating_sub(lines.len());
    if more > 0 {
        lines.push(painter.line(Tone::Doubtful, &format!("! and {more} more")));
    }
    Block::new(2, lines).at_least(1)
}

/// Notes that came meanwhile.
pub(super) fn notes(painter: &Painter, state: &State) -> Block {
    let lines = state.notes.iter().map(|note| painter.line(Tone::Doubtful, note));
    Block::new(2, lines.collect()).at_least(1)
}
