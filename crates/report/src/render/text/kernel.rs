//! Service time in its parts, and what a trace has.

use super::super::style::Tone;
use super::super::words::{self, NOTHING, cell};
use super::page::Page;
use crate::document::Document;

/// The three parts in columns.
pub(super) fn parts(page: &mut Page, document: &Document) {
    let Some(kernel) = &document.kernel else { return };
    if kernel.service.count == 0 {
        page.entry("Kernel", &words::kernel_note(kernel));
        page.blank();
        return;
    }
    let columns = words::kernel_columns(kernel);
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
    page.toned_entry("", Some(Tone::Faint), &words::kernel_note(kernel));
    page.blank();
}

/// What the trace has, in a line.
pub(super) fn trace(page: &mut Page, document: &Document) {
    if let Some(trace) = &document.trace {
        page.entry("Trace", &words::trace(trace));
    }
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
        Document::new(&testing::facts(), &run.checked(), &record)
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
