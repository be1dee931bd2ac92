//! The live view: a picture of a [`State`], for any size of terminal. It draws into a buffer, reads no
//! clock and keeps no state.
//!
//! A picture is a list of blocks of lines. Each has a rank; without room for all, the blocks with
//! the highest ranks are omitted. Wide terminals have two columns of blocks.

mod run;
mod steps;

use candor_plan::units::fmt_duration_ns;
use candor_report::shorten;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};

use super::state::{Course, State};
use crate::ascii;

/// The abilities of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Theme {
    pub(crate) has_colours: bool,
    /// Otherwise only ASCII.
    pub(crate) has_unicode: bool,
}

/// The meaning of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tone {
    Plain,
    Strong,
    Good,
    Doubtful,
    Bad,
    Faint,
    Bar,
}

/// A block of lines.
struct Block {
    /// Blocks with the lowest rank are shown first.
    rank: u8,
    lines: Vec<Line<'static>>,
    /// The fewest lines with which it is useful.
    least: usize,
}

/// The least width for two columns of blocks.
const WIDE: u16 = 120;
const KEYS: &str = "q end and keep the result · p freeze · ? explain";

/// Draws a picture.
pub(crate) fn view(state: &State, theme: Theme, area: Rect, out: &mut Buffer) {
    let width = usize::from(area.width);
    let painter = Painter { theme, width };
    let mut top = vec![painter.head(state), painter.progress(state)];
    let keys = painter.keys(state);
    let rows = usize::from(area.height);
    if rows < 2 {
        // The address is more important than the description.
        top.remove(0);
    }
    let footer = usize::from(rows >= 4);
    let room = rows.saturating_sub(top.len() + footer);
    let body = Rect { y: area.y + top.len() as u16, height: room as u16, ..area };
    put(top, area, out);
    match (state.explains, &state.steps, area.width >= WIDE) {
        (true, ..) => drop(painter.put_blocks(explained(&painter), body, out)),
        (_, Some(steps), _) => {
            painter.put_blocks(steps::blocks(&painter, state, steps, room), body, out);
        }
        (_, None, is_wide) => run::put(&painter, state, is_wide, body, out),
    }
    if footer == 1 {
        put(vec![keys], Rect { y: area.y + area.height - 1, height: 1, ..area }, out);
    }
    if !theme.has_unicode {
        to_ascii(area, out);
    }
}

fn put(lines: Vec<Line<'static>>, area: Rect, out: &mut Buffer) {
    for (row, line) in (area.y..area.y.saturating_add(area.height)).zip(lines) {
        out.set_line(area.x, row, &line, area.width);
    }
}

/// Makes lines of a given width.
struct Painter {
    theme: Theme,
    width: usize,
}

impl Painter {
    fn style(&self, tone: Tone) -> Style {
        let plain = Style::default();
        let colour = |colour| if self.theme.has_colours { plain.fg(colour) } else { plain };
        match tone {
            Tone::Plain => plain,
            Tone::Strong => plain.add_modifier(Modifier::BOLD),
            Tone::Good => colour(Color::Green),
            Tone::Doubtful => colour(Color::Yellow).add_modifier(Modifier::BOLD),
            Tone::Bad => colour(Color::Red).add_modifier(Modifier::BOLD),
            Tone::Faint => plain.add_modifier(Modifier::DIM),
            Tone::Bar => colour(Color::Cyan),
        }
    }

    fn span(&self, tone: Tone, text: impl Into<String>) -> Span<'static> {
        Span::styled(text.into(), self.style(tone))
    }

    /// The description of the command.
    fn head(&self, state: &State) -> Line<'static> {
        let frozen = if state.is_frozen { "frozen · " } else { "" };
        let room = self.width.saturating_sub(7 + frozen.chars().count());
        let title = if room == 0 { String::new() } else { shorten(&state.title, room) };
        Line::from(vec![
            self.span(Tone::Strong, "candor "),
            self.span(Tone::Doubtful, frozen),
            self.span(Tone::Plain, title),
        ])
    }

    /// The progress: a bar and times.
    fn progress(&self, state: &State) -> Line<'static> {
        let now = &state.now;
        let (elapsed_ns, total_ns) = state.lengths_ns();
        let (share, left_ns) = match (&state.steps, &state.run) {
            (Some(steps), _) => {
                let share = total_ns.map(|total_ns| elapsed_ns as f64 / total_ns.max(1) as f64);
                (share, steps.left_ns(now.elapsed_ns))
            }
            (None, Some(run)) => (run.share(elapsed_ns), run.left_ns(elapsed_ns)),
            (None, None) => (None, None),
        };
        let phase = match (now.is_ending, now.course, &state.run, &state.steps) {
            (true, ..) => "ending".to_owned(),
            (_, _, _, Some(steps)) => match steps.number() {
                (number, Some(of)) => format!("step {number} of {of} ·"),
                (number, None) => format!("step {number} ·"),
            },
            (_, Course::None | Course::Connecting, ..) => "connecting".to_owned(),
            (_, Course::Draining { .. }, ..) => "draining".to_owned(),
            (_, Course::Sending { elapsed_ns }, Some(run), _)
                if elapsed_ns < run.head.warm_up_ns =>
            {
                "warm-up".to_owned()
            }
            _ => "measuring".to_owned(),
        };
        let most = state.most();
        let of =
            total_ns.map_or(String::new(), |total_ns| format!(" of {most}{}", clock(total_ns)));
        let left = left_ns.filter(|_| most.is_empty());
        let left = left.map_or(String::new(), |left_ns| format!(" · {} left", clock(left_ns)));
        let text = format!("{phase} {}{of}{left}", clock(elapsed_ns));
        let bar = self.width.saturating_sub(text.chars().count() + 1);
        let mut spans = Vec::new();
        if let Some(share) = share
            && bar >= 8
        {
            let full = (share.clamp(0.0, 1.0) * bar as f64) as usize;
            spans.push(self.span(Tone::Bar, "█".repeat(full)));
            spans.push(self.span(Tone::Faint, "░".repeat(bar - full)));
            spans.push(self.span(Tone::Plain, " "));
        }
        spans.push(self.span(Tone::Plain, text));
        Line::from(spans)
    }

    fn keys(&self, state: &State) -> Line<'static> {
        let text = match (state.explains, state.is_frozen, state.now.is_ending) {
            (true, ..) => "? back",
            (_, true, _) => "p continue · q end and keep the result · ? explain",
            (_, _, true) => "q stop waiting",
            _ => KEYS,
        };
        self.line(Tone::Faint, text)
    }

    fn line(&self, tone: Tone, text: &str) -> Line<'static> {
        Line::from(self.span(tone, self.cut(text)))
    }

    fn cut(&self, text: &str) -> String {
        if self.width == 0 { String::new() } else { shorten(text, self.width) }
    }

    /// A bar chart of one row, scaled to the highest value.
    fn spark(&self, values: &[f64], highest: f64) -> String {
        const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let bar = |value: &f64| match highest > 0.0 && *value > 0.0 {
            true => BARS[((value / highest * 8.0).ceil() as usize).clamp(1, 8) - 1],
            false => ' ',
        };
        values.iter().map(bar).collect()
    }

    /// Draws the blocks of the lowest ranks that fit, in their order. Returns the number of rows used.
    fn put_blocks(&self, mut blocks: Vec<Block>, area: Rect, out: &mut Buffer) -> u16 {
        let mut ranks: Vec<usize> = (0..blocks.len()).collect();
        ranks.sort_by_key(|&at| blocks[at].rank);
        let mut room = usize::from(area.height);
        let mut shown = vec![0; blocks.len()];
        for at in ranks {
            let wanted = blocks[at].lines.len();
            let lines = wanted.min(room);
            if lines >= blocks[at].least.min(wanted) {
                shown[at] = lines;
                room -= lines;
            }
        }
        let lines = blocks.iter_mut().zip(shown).flat_map(|(block, shown)| {
            block.lines.truncate(shown);
            std::mem::take(&mut block.lines)
        });
        let lines: Vec<_> = lines.collect();
        let rows = lines.len() as u16;
        put(lines, area, out);
        rows
    }
}

impl Block {
    fn new(rank: u8, lines: Vec<Line<'static>>) -> Block {
        let least = lines.len();
        Block { rank, lines, least }
    }

    /// Allows showing only part of the block.
    fn at_least(self, least: usize) -> Block {
        Block { least, ..self }
    }
}

/// The explanation of the picture.
fn explained(painter: &Painter) -> Vec<Block> {
    const LINES: [&str; 16] = [
        "now       the last interval (--interval); run: the whole run so far",
        "response  from when a request was due until its response was complete: what users feel",
        "service   from when it was sent: what a closed loop reports",
        "rate      complete responses per second; asked: the rate of the schedule",
        "backlog   requests that are due and not sent: no connection is free",
        "p99       the highest of each column",
        "spectrum  the distribution of response times; both axes are logarithmic",
        "CPU       of the loader's busiest thread: near 100 % the loader is the limit",
        "send lag  the loader's own delay: it must be small compared with the latencies",
        "jitter    the longest delay of a wake-up on this machine",
        "!         a finding: the figures may be misleading; the report has all findings",
        "",
        "q         ends the run like Ctrl-C: its result is kept and reported",
        "          twice: without waiting for responses; three times: at once, without a result",
        "p         freezes the picture; the run continues",
        "Ctrl-L    redraws the picture",
    ];
    let lines = LINES.iter().map(|line| painter.line(Tone::Plain, line)).collect();
    vec![Block::new(0, lines).at_least(1)]
}

/// A length of time as on a clock: `12 s`, `2 m 05 s`, `1 h 02 m`.
pub(crate) fn clock(ns: u64) -> String {
    let s = (ns + 500_000_000) / 1_000_000_000;
    match s {
        0 if ns >= 100_000_000 => fmt_duration_ns(ns - ns % 100_000_000),
        0..=99 => format!("{s} s"),
        100..=3_599 => format!("{} m {:02} s", s / 60, s % 60),
        _ => format!("{} h {:02} m", s / 3600, s / 60 % 60),
    }
}

/// Replaces each character outside of ASCII.
fn to_ascii(area: Rect, out: &mut Buffer) {
    for position in area.positions() {
        let cell = &mut out[position];
        if !cell.symbol().is_ascii() {
            let ascii = ascii::ascii(cell.symbol()).chars().next().unwrap_or(' ');
            cell.set_char(ascii);
        }
    }
}

#[cfg(test)]
mod tests;
