//! One line for one interval, while the run goes on.

use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_per_second};
use candor_record::IntervalSummary;

use super::shorten;
use super::style::{Style, Tone};

/// A line without a newline and of at most `columns` characters: 72, and behind them whatever
/// trouble there was. What does not fit is cut off, so that a terminal need not wrap it.
pub fn line(interval: &IntervalSummary, style: Style, columns: usize) -> String {
    let length_s = interval.end_ns.saturating_sub(interval.start_ns) as f64 / 1e9;
    let per_s = if length_s > 0.0 { interval.answered as f64 / length_s } else { 0.0 };
    let response = &interval.response;
    let latency = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), fmt_duration_ns);
    let figures = format!(
        "{:>7} {:>12}  p50 {:>7}  p99 {:>7}  max {:>7}  {:>5} conns",
        fmt_duration_ns(interval.end_ns),
        fmt_per_second(per_s),
        latency(response.p50_ns),
        latency(response.p99_ns),
        latency(response.max_ns),
        fmt_count(interval.connections),
    );
    let mut left = columns;
    let mut line = cut(&figures, &mut left);
    for (count, name, tone) in [
        (interval.backlog, "backlog", Tone::Doubtful),
        (interval.shed, "shed", Tone::Doubtful),
        (interval.errors, "errors", Tone::Bad),
    ] {
        if count > 0 && left > 0 {
            line.push_str(&cut("  ", &mut left));
            let text = cut(&format!("{name} {}", fmt_count(count)), &mut left);
            line.push_str(&style.paint(tone, &text));
        }
    }
    line
}

/// As much of `text` as fits into `left`, which becomes what is left after it.
fn cut(text: &str, left: &mut usize) -> String {
    let text = if *left == 0 { String::new() } else { shorten(text, *left) };
    *left -= text.chars().count();
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_line_for_an_interval() {
        let record = testing::healthy_open_run().record();
        assert_eq!(
            line(&record.intervals[0], Style::Plain, 200),
            "  1.5 s      1,999/s  p50  457 µs  p99  508 µs  max 3.49 ms     16 conns"
        );
        let record = testing::broken_run().record();
        let plain = line(&record.intervals[2], Style::Plain, 200);
        assert!(plain.contains("backlog 1,500  ") && plain.contains("errors "), "{plain}");
        assert!(line(&record.intervals[2], Style::Colour, 200).contains("\u{1b}[1;31merrors"));
    }

    #[test]
    fn a_narrow_terminal_gets_the_beginning() {
        let record = testing::broken_run().record();
        let whole = line(&record.intervals[2], Style::Plain, 200);
        let length = whole.chars().count();
        assert_eq!(line(&record.intervals[2], Style::Plain, length), whole);
        for columns in 0..length {
            let cut = line(&record.intervals[2], Style::Plain, columns);
            assert!(cut.chars().count() <= columns, "{columns}: {cut}");
            let beginning = cut.trim_end_matches('…');
            assert!(whole.starts_with(beginning), "{columns}: {cut}");
            let mut coloured = line(&record.intervals[2], Style::Colour, columns);
            for code in ["1;33", "1;31", "0"] {
                coloured = coloured.replace(&format!("\u{1b}[{code}m"), "");
            }
            assert_eq!(coloured, cut);
        }
    }
}
