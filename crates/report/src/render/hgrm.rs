//! HdrHistogram's percentile text (`.hgrm`), as its plotters read it. Values in milliseconds.

use std::fmt::Write;

use crate::document::Document;
use crate::document::latency::{DecodeError, Distribution};

/// Lines for each halving of the distance to 100 %.
const TICKS_PER_HALF_DISTANCE: u32 = 5;
const NS_PER_MS: f64 = 1e6;

/// Response times of the document.
pub fn response(document: &Document) -> Result<String, DecodeError> {
    render(&document.latencies.response)
}

/// Service times of the document.
pub fn service(document: &Document) -> Result<String, DecodeError> {
    render(&document.latencies.service)
}

fn render(distribution: &Distribution) -> Result<String, DecodeError> {
    let hdr = distribution.decode()?;
    let min_ns = distribution.min_ns.unwrap_or(0);
    let max_ns = distribution.max_ns.unwrap_or(0);
    let mut text = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let mut total = 0;
    for tick in hdr.iter_quantiles(TICKS_PER_HALF_DISTANCE) {
        total += tick.count_since_last_iteration();
        let value_ms = tick.value_iterated_to().min(max_ns).max(min_ns) as f64 / NS_PER_MS;
        let quantile = tick.quantile_iterated_to();
        // Writing to a string cannot fail.
        let _ = write!(text, "{value_ms:12.6} {quantile:2.12} {total:10}");
        if quantile < 1.0 {
            let _ = write!(text, " {:14.2}", 1.0 / (1.0 - quantile));
        }
        text.push('\n');
    }
    let ms = |ns: Option<f64>| ns.unwrap_or(0.0) / NS_PER_MS;
    let _ = writeln!(
        text,
        "#[Mean    = {:12.6}, StdDeviation   = {:12.6}]",
        ms(distribution.mean_ns),
        ms(distribution.stdev_ns)
    );
    let _ = writeln!(
        text,
        "#[Max     = {:12.6}, Total count    = {:12}]",
        max_ns as f64 / NS_PER_MS,
        distribution.count
    );
    let _ = writeln!(
        text,
        "#[Buckets = {:12}, SubBuckets     = {:12}]",
        hdr.buckets(),
        sub_buckets(hdr.sigfig())
    );
    Ok(text)
}

/// Sub-buckets of a histogram with so many significant digits: the power of two that tells two
/// units of the last digit apart.
fn sub_buckets(digits: u8) -> u64 {
    (2 * 10u64.pow(u32::from(digits.min(5)))).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn the_text_that_plotters_read() {
        let document = testing::healthy_open();
        testing::golden("golden/open.hgrm", &response(&document).unwrap());
        assert_ne!(response(&document).unwrap(), service(&document).unwrap());
    }

    #[test]
    fn every_line_has_its_columns_and_counts_ascend() {
        let text = response(&testing::healthy_closed()).unwrap();
        let rows: Vec<Vec<f64>> = text
            .lines()
            .skip(2)
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split_whitespace().map(|field| field.parse().unwrap()).collect())
            .collect();
        assert!(rows.windows(2).all(|pair| pair[0][0] <= pair[1][0] && pair[0][2] <= pair[1][2]));
        let (last, rest) = rows.split_last().unwrap();
        assert!(rest.iter().all(|row| row.len() == 4 || row[1] == 1.0));
        assert_eq!(last.len(), 3);
    }

    #[test]
    fn a_histogram_without_samples() {
        let text = response(&testing::empty_run().document()).unwrap();
        assert!(text.contains("Total count    =            0]"), "{text}");
    }
}
