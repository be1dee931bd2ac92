//! Service time in its parts, and what a trace has.

use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_plural};

use super::super::style::Tone;
use super::latency::{NOTHING, cell};
use super::page::Page;
use crate::document::Document;

/// The three parts in columns.
pub(super) fn parts(page: &mut Page, document: &Document) {
    let Some(kernel) = &document.kernel else { return };
    if kernel.service.count == 0 {
        let reason = kernel.reason.as_deref().unwrap_or("no request has both of its stamps");
        page.entry("Kernel", &format!("No time stamps: {reason}."));
        page.blank();
        return;
    }
    let columns = [
        ("service", "sent→done", &kernel.service),
        ("send delay", "sent→device", &kernel.send_delay),
        ("outside", "device→back", &kernel.outside),
        ("read delay", "back→done", &kernel.receive_delay),
    ];
    let line =
        |cells: Vec<String>| cells.iter().map(|cell| format!("{cell:>14}")).collect::<String>();
    let heading = columns.iter().map(|column| column.0.to_owned()).collect();
    page.row("Kernel", Some(Tone::Heading), &line(heading));
    let what = columns.iter().map(|column| column.1.to_owned()).collect();
    page.row("", Some(Tone::Faint), &line(what));
    for row in ["min", "p50", "p99", "max", "mean"] {
        let cells: Vec<String> = columns.iter().map(|column| cell(column.2, row)).collect();
        if cells.iter().any(|cell| cell != NOTHING) {
            page.row(&format!("  {row}"), None, &line(cells));
        }
    }
    let mut note = format!(
        "Kernel time stamps of {} on {}, within {}.",
        fmt_plural(kernel.service.count, "request"),
        fmt_plural(kernel.connections, "connection"),
        fmt_duration_ns(kernel.conversion_error_ns)
    );
    let left_out = [
        (kernel.without_send_stamp, "without a send stamp"),
        (kernel.without_receive_stamp, "without a receive stamp"),
        (kernel.out_of_order, "out of order"),
    ];
    let left_out: Vec<_> = left_out
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", fmt_count(*count)))
        .collect();
    if !left_out.is_empty() {
        note += &format!(" Left out: {}.", left_out.join(", "));
    }
    if kernel.clock_steps > 0 {
        note += &format!(" The clock was set {}.", fmt_plural(kernel.clock_steps, "time"));
    }
    if kernel.refused > 0 {
        let reason = kernel.reason.as_deref().unwrap_or("no reason given");
        note += &format!(" {} refused: {reason}.", fmt_plural(kernel.refused, "connection"));
    }
    page.toned_entry("", Some(Tone::Faint), &note);
    page.blank();
}

/// What the trace has, in a line.
pub(super) fn trace(page: &mut Page, document: &Document) {
    let Some(trace) = &document.trace else { return };
    let mut line = format!(
        "{} traced, {} not",
        fmt_plural(trace.traced, "request"),
        fmt_count(trace.not_traced)
    );
    if trace.dropped > 0 {
        line += &format!(
            "; {} of these dropped because the writer did not keep up",
            fmt_count(trace.dropped)
        );
    }
    page.entry("Trace", &line);
}

#[cfg(test)]
mod tests {
    use candor_plan::{KernelTimestamps, Trace};
    use candor_record::TraceCounts;
    use candor_record::kernel::{KernelSample, KernelTimes};

    use crate::document::Document;
    use crate::render::{Style, text};
    use crate::testing;

    /// A document with stamps of 2,000 requests: 2 µs, then 90 to 110 µs, then 5 µs.
    fn stamped(times: Option<KernelTimes>) -> Document {
        let mut run = testing::healthy_open_run();
        run.plan.recording.kernel_timestamps = Some(KernelTimestamps { one_in: 10 });
        run.plan.recording.trace = Some(Trace::OneIn(100));
        let mut record = run.record();
        record.kernel = times;
        record.trace = TraceCounts { traced: 70, not_traced: 6_930, dropped: 3 };
        Document::new(&testing::facts(), &run.plan, &record)
    }

    #[test]
    fn the_parts_stand_side_by_side() {
        let mut times = KernelTimes::new(3);
        for n in 0..2_000 {
            let (sent_ns, left_ns) = (n * 1_000_000, n * 1_000_000 + 2_000);
            let arrived_ns = left_ns + 90_000 + n % 21 * 1_000;
            let done_ns = arrived_ns + 5_000;
            times.add(KernelSample { sent_ns, left_ns, arrived_ns, done_ns });
        }
        times.add(KernelSample { sent_ns: 5, left_ns: 4, arrived_ns: 6, done_ns: 7 });
        (times.connections, times.conversion_error_ns) = (2, 35);
        let page = text::render(&stamped(Some(times)), Style::Plain);
        let from = page.find("Kernel  ").unwrap();
        let section = &page[from..page.find("Connect  ").unwrap()];
        testing::golden("golden/kernel.txt", section);
        assert!(page.contains("70 requests traced, 6,930 not; 3 of these dropped"), "{page}");
    }

    #[test]
    fn what_cannot_be_had_is_said() {
        let page = text::render(&stamped(None), Style::Plain);
        assert!(
            page.contains("No time stamps: only TCP connections on Linux have them."),
            "{page}"
        );
        let refused = KernelTimes {
            refused: 4,
            refusal: Some("Operation not permitted".to_owned()),
            ..KernelTimes::new(3)
        };
        let page = text::render(&stamped(Some(refused)), Style::Plain);
        assert!(page.contains("No time stamps: Operation not permitted."), "{page}");
    }
}
