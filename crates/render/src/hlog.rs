//! HdrHistogram's interval log (`.hlog`), format version 1.3, tag `response`.
//!
//! Time stamps are seconds from the base time, which is the beginning of the run; the maximum is in
//! milliseconds, as in the stock writers. The histograms contain nanoseconds.

use std::fmt::Write;

use super::visible;
use candor_report::document::Document;

const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;

/// The response times of the document, one line an interval.
pub fn render(document: &Document) -> String {
    let started_s = document.started_unix_ms as f64 / 1000.0;
    let mut text = format!(
        "#[Logged by {} {}; values are response times in nanoseconds]\n\
         #[Histogram log format version 1.3]\n\
         #[StartTime: {started_s:.3} (seconds since epoch), {}]\n\
         #[BaseTime: {started_s:.3} (seconds since epoch)]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
        visible(&document.tool.name),
        visible(&document.tool.version),
        visible(&document.started_at)
    );
    for interval in &document.intervals {
        let length_ns = interval.end_ns.saturating_sub(interval.start_ns);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "Tag=response,{:.3},{:.3},{:.3},{}",
            interval.start_ns as f64 / NS_PER_S,
            length_ns as f64 / NS_PER_S,
            interval.response.max_ns.unwrap_or(0) as f64 / NS_PER_MS,
            interval.response_hdr
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram as Hdr;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use candor_record::Encoded;

    use super::*;
    use candor_report::testing;

    #[test]
    fn the_log_that_stock_readers_read() {
        testing::golden("golden/open.hlog", &render(&testing::healthy_open()));
    }

    /// Read back by the crate's own reader: the sum of the intervals is the whole.
    #[test]
    fn the_intervals_add_up_to_the_whole() {
        let document = testing::healthy_open();
        let text = render(&document);
        let mut sum: Option<Hdr<u64>> = None;
        let mut bases = 0;
        for entry in IntervalLogIterator::new(text.as_bytes()) {
            match entry.unwrap() {
                LogEntry::Interval(interval) => {
                    assert_eq!(
                        interval.tag().map(|tag| tag.as_str().to_owned()),
                        Some("response".to_owned())
                    );
                    let encoded = serde_json::json!(interval.encoded_histogram());
                    let one: Encoded = serde_json::from_value(encoded).unwrap();
                    let one = one.decode().unwrap();
                    match &mut sum {
                        Some(sum) => sum.add(&one).unwrap(),
                        None => sum = Some(one),
                    }
                }
                LogEntry::BaseTime(base) => {
                    bases += 1;
                    assert_eq!(base.as_millis(), 1_700_000_000_123);
                }
                LogEntry::StartTime(_) => {}
            }
        }
        assert_eq!(bases, 1);
        assert_eq!(sum.unwrap(), document.latencies.response.decode().unwrap());
    }
}
