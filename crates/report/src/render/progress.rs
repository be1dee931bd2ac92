//! One line for one interval, while the run goes on.

use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_per_second};
use candor_record::IntervalSummary;

use super::style::{Style, Tone};
use crate::document::intervals::Brief;

/// A line without a newline: 72 characters, and behind them whatever trouble there was. Whoever
/// prints it over itself cuts it to the terminal.
pub fn line(interval: &IntervalSummary, style: Style) -> String {
    let length_s = interval.end_ns.saturating_sub(interval.start_ns) as f64 / 1e9;
    let per_s = if length_s > 0.0 { interval.answered as f64 / length_s } else { 0.0 };
    let response = Brief::of(&interval.response);
    let latency = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), fmt_duration_ns);
    let mut line = format!(
        "{:>7} {:>12}  p50 {:>7}  p99 {:>7}  max {:>7}  {:>5} conns",
        fmt_duration_ns(interval.end_ns),
        fmt_per_second(per_s),
        latency(response.p50_ns),
        latency(response.p99_ns),
        latency(response.max_ns),
        fmt_count(interval.connections),
    );
    for (count, name, tone) in [
        (interval.backlog, "backlog", Tone::Doubtful),
        (interval.shed, "shed", Tone::Doubtful),
        (interval.errors, "errors", Tone::Bad),
    ] {
        if count > 0 {
            let text = format!("{name} {}", fmt_count(count));
            line.push_str("  ");
            line.push_str(&style.paint(tone, &text));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_line_for_an_interval() {
        let record = testing::healthy_open_run().record();
        assert_eq!(
            line(&record.intervals[0], Style::Plain),
            "  1.5 s      1,999/s  p50  457 µs  p99  508 µs  max 3.49 ms     16 conns"
        );
        let record = testing::broken_run().record();
        let plain = line(&record.intervals[2], Style::Plain);
        assert!(plain.contains("backlog 1,500  ") && plain.contains("errors "), "{plain}");
        assert!(line(&record.intervals[2], Style::Colour).contains("\u{1b}[1;31merrors"));
    }
}
