//! The blocks of an experiment: steps done, the current step, steps ahead.

use candor_plan::units::fmt_count;
use candor_report::shorten;
use ratatui_core::text::{Line, Span};

use super::super::state::{Done, State, Steps};
use super::{Block, Painter, Tone, clock, run};

/// Before the figures of the current step.
const INDENT: &str = "  ";
/// The most steps ahead to name.
const MOST_NEXT: usize = 5;

pub(super) fn blocks(painter: &Painter, state: &State, steps: &Steps, room: usize) -> Vec<Block> {
    let notes = run::notes(painter, state);
    let present = present(painter, state, steps);
    let next = next(painter, steps);
    let done_room = room.saturating_sub(notes.lines.len() + present.len() + next.len());
    let mut blocks = vec![
        done(painter, steps, done_room.max(1)),
        Block::new(0, present).at_least(1),
        Block::new(3, next).at_least(1),
        notes,
    ];
    if let Some(run) = &state.run
        && run.last.is_some()
    {
        blocks.insert(2, run::strips(painter, run));
    }
    blocks
}

/// The last finished steps, as many as fit.
fn done(painter: &Painter, steps: &Steps, room: usize) -> Block {
    let shown = steps.done.len().min(room);
    let hidden = steps.done_count - shown as u64;
    let mut lines = Vec::new();
    if hidden > 0 && shown > 1 {
        let text = format!("  and {} before", fmt_count(hidden + 1));
        lines.push(painter.line(Tone::Faint, &text));
    }
    let shown = shown - lines.len();
    // Descriptions are short; results matter.
    let widest = steps.done.iter().map(|one| one.what.chars().count()).max().unwrap_or(0);
    let column = widest.min(painter.width / 2);
    lines.extend(steps.done.range(steps.done.len() - shown..).map(|one| {
        let Done { what, outcome, is_failure } = one;
        let (mark, tone) = if *is_failure { ("✗ ", Tone::Bad) } else { ("✓ ", Tone::Good) };
        let outcome = fit(outcome, painter.width.saturating_sub(column + 4));
        Line::from(vec![
            painter.span(tone, mark),
            painter.span(Tone::Plain, format!("{:<column$}  ", fit(what, column))),
            painter.span(Tone::Strong, outcome),
        ])
    }));
    Block::new(1, lines).at_least(1)
}

/// The current step.
fn present(painter: &Painter, state: &State, steps: &Steps) -> Vec<Line<'static>> {
    let Some((what, began_ns)) = &steps.present else { return Vec::new() };
    let since_ns = state.now.elapsed_ns.saturating_sub(*began_ns);
    let run = state.run.as_ref();
    let total_ns = run.and_then(|run| run.head.total_ns());
    let elapsed_ns = run.map_or(since_ns, |_| state.now.course.elapsed_ns());
    let of = total_ns.map_or(String::new(), |total_ns| format!(" of {}", clock(total_ns)));
    let mut lines = vec![Line::from(vec![
        painter.span(Tone::Bar, "▶ "),
        painter.span(Tone::Strong, fit(what, painter.width.saturating_sub(22).max(10))),
        painter.span(Tone::Plain, format!("  {}{of}", clock(elapsed_ns))),
    ])];
    if let Some(run) = run.filter(|run| run.last.is_some()) {
        let last = run.last.as_ref().map(|last| last.summary.response).unwrap_or_default();
        let p99 = last.p99_ns.or(last.max_ns).map(candor_plan::units::fmt_duration_ns);
        let p99 = p99.map_or(String::new(), |p99| format!(" · p99 {p99}"));
        // What is before and behind its pieces takes room of them.
        let width = painter.width.saturating_sub(INDENT.len() + p99.chars().count());
        let narrower = Painter { width, ..*painter };
        for mut line in run::rate(&narrower, run, None).lines {
            line.spans.insert(0, Span::raw(INDENT));
            line.spans.push(Span::raw(p99.clone()));
            lines.push(line);
        }
    }
    lines
}

/// The steps ahead, as far as they are known.
fn next(painter: &Painter, steps: &Steps) -> Vec<Line<'static>> {
    let named = steps.ahead.next.iter().take(MOST_NEXT);
    let mut lines: Vec<_> =
        named.map(|name| painter.line(Tone::Faint, &format!("  {name}"))).collect();
    let more = steps.ahead.steps.map(|count| count.saturating_sub(lines.len() as u64));
    if let Some(more) = more.filter(|&more| more > 0) {
        let text = format!(
            "  {} {} to come",
            fmt_count(more),
            if lines.is_empty() { "steps" } else { "more" }
        );
        lines.push(painter.line(Tone::Faint, &text));
    }
    lines
}

fn fit(text: &str, width: usize) -> String {
    if width == 0 { String::new() } else { shorten(text, width) }
}
