//! Metrics as text for Prometheus: version 0.0.4 of its format,
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>. It has classic histograms only.

use std::fmt::Write;

use candor_plan::Tag;

use super::totals::Family;

pub(super) const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The text of all families. Each metric has the tags.
pub(super) fn text(families: &[Family<'_>], tags: &[Tag]) -> String {
    let tags: Vec<(&str, &str)> = tags.iter().map(|tag| (&*tag.name, &*tag.value)).collect();
    let mut text = String::new();
    for family in families {
        let (name, about, kind) = (family.name(), family.about, family.kind());
        // A string takes every text.
        let _ = writeln!(text, "# HELP {name} {about}.\n# TYPE {name} {kind}");
        family.series(|name, own, value| {
            let labels: Vec<String> = tags.iter().chain(own).map(label).collect();
            let _ = match labels.is_empty() {
                true => writeln!(text, "{name} {value}"),
                false => writeln!(text, "{name}{{{}}} {value}", labels.join(",")),
            };
        });
    }
    text
}

fn label((name, value): &(&str, &str)) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
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
