//! Metrics as text for Prometheus: version 0.0.4 of its format,
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>. It has classic histograms only.

use std::fmt::{Display, Write};

use candor_plan::Tag;

use super::totals::{Family, Labels, Metrics};

pub(super) const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The text of all families. Each metric has the tags.
pub(super) fn text(families: &[Family<'_>], tags: &[Tag]) -> String {
    let mut text = Text { written: String::new(), tags };
    for Family { name, about, metrics } in families {
        let (kind, all) = match metrics {
            Metrics::Counters(all) => ("counter", &all[..]),
            Metrics::Gauges(all) => ("gauge", &all[..]),
            Metrics::Histogram(_) => ("histogram", &[][..]),
        };
        // A string takes every text.
        let _ = writeln!(text.written, "# HELP {name} {about}.\n# TYPE {name} {kind}");
        all.iter().for_each(|(labels, value)| text.sample(name, labels, value));
        if let Metrics::Histogram(times) = metrics {
            let bucket = format!("{name}_bucket");
            for (edge_s, below) in times.classic() {
                text.sample(&bucket, &vec![("le", &edge_s.to_string())], below);
            }
            text.sample(&bucket, &vec![("le", "+Inf")], times.count());
            text.sample(&format!("{name}_sum"), &Vec::new(), times.sum_s());
            text.sample(&format!("{name}_count"), &Vec::new(), times.count());
        }
    }
    text.written
}

/// A text under way.
struct Text<'a> {
    written: String,
    tags: &'a [Tag],
}

impl Text<'_> {
    fn sample(&mut self, name: &str, own: &Labels<'_>, value: impl Display) {
        let tags = self.tags.iter().map(|tag| (tag.name.as_str(), tag.value.as_str()));
        let labels = tags.chain(own.iter().copied()).map(|(name, value)| {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            format!("{name}=\"{value}\"")
        });
        let labels: Vec<String> = labels.collect();
        let _ = match labels.is_empty() {
            true => writeln!(self.written, "{name} {value}"),
            false => writeln!(self.written, "{name}{{{}}} {value}", labels.join(",")),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::totals::Totals;
    use super::*;

    #[test]
    fn times_are_counted_in_cumulative_buckets() {
        let totals = Totals::of(&[50_000, 100_000, 2_000_000, 90_000_000_000]);
        let tag = Tag { name: "a".to_owned(), value: "x\"\\\n".to_owned() };
        let written = text(&totals.families(), &[tag]);
        let labels = r#"a="x\"\\\n""#;
        for line in [
            // The place of 100 µs reaches beyond it.
            format!("response_seconds_bucket{{{labels},le=\"0.0001\"}} 1"),
            format!("response_seconds_bucket{{{labels},le=\"0.00025\"}} 2"),
            format!("response_seconds_bucket{{{labels},le=\"0.0025\"}} 3"),
            format!("response_seconds_bucket{{{labels},le=\"60\"}} 3"),
            format!("response_seconds_bucket{{{labels},le=\"+Inf\"}} 4"),
            format!("response_seconds_sum{{{labels}}} 90.00215"),
            format!("response_seconds_count{{{labels}}} 4"),
            format!("backlog{{{labels}}} 0"),
        ] {
            assert!(written.contains(&format!("\ncandor_{line}\n")), "{line}\n{written}");
        }
        assert!(text(&totals.families(), &[]).contains("\ncandor_backlog 0\n"));
    }
}
