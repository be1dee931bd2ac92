//! Comparisons for people: sentences, a table in text and in Markdown, and every run as CSV.

use std::fmt::Write as _;

use candor_plan::units::{fmt_duration_ns, fmt_per_second, fmt_plural, fmt_share};

use super::super::csv::quoted;
use super::super::lines::{Lines, escaped};
use super::table::{Align, Table};
use crate::experiment::comparison::{Change, Comparison, Conclusion, Finding, Metric};

/// The report.
pub fn text(comparison: &Comparison) -> String {
    let mut out = Lines::default();
    out.line(headline(comparison));
    for (index, variant) in comparison.variants.iter().enumerate() {
        out.line(format!("  {}  {}", letter(index), named(&variant.name, &variant.source)));
    }
    for variant in 1..comparison.variants.len() {
        out.blank();
        out.line(sentence(comparison, variant));
        out.blank();
        out.append(table(comparison, variant).text());
    }
    out.blank();
    footer(comparison).iter().for_each(|line| out.line(line));
    out.finish()
}

/// The same as Markdown.
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = Lines::default();
    out.heading(1, "Comparison");
    out.line(escaped(&headline(comparison)));
    out.blank();
    for (index, variant) in comparison.variants.iter().enumerate() {
        let what = named(&variant.name, &variant.source);
        out.line(format!("- {}: {}", letter(index), escaped(&what)));
    }
    for variant in 1..comparison.variants.len() {
        out.blank();
        out.line(format!("**{}**", escaped(&sentence(comparison, variant))));
        out.blank();
        out.append(table(comparison, variant).markdown());
    }
    out.blank();
    footer(comparison).iter().for_each(|line| out.line(format!("- {}", escaped(line))));
    out.finish()
}

/// Every run, one row each. Units are in the names of the columns; a field is empty where the run
/// does not tell.
pub fn csv(comparison: &Comparison) -> String {
    let mut out = "variant,round,position,rate_per_s,p50_ns,p90_ns,p99_ns,p999_ns,error_share,\
                   target_cpu_us_per_request,usable,file\n"
        .to_owned();
    for variant in &comparison.variants {
        for trial in &variant.trials {
            let _ = write!(out, "{},{},{}", quoted(&variant.name), trial.round, trial.position);
            for metric in Metric::ALL {
                let figure = metric.of(&trial.figures);
                let _ = write!(out, ",{}", figure.map(|x| x.to_string()).unwrap_or_default());
            }
            let usable = u8::from(!trial.figures.unusable);
            let _ = writeln!(out, ",{usable},{}", quoted(trial.file.as_deref().unwrap_or("")));
        }
    }
    out
}

/// What is concluded of the variant at this place, in one sentence.
pub fn sentence(comparison: &Comparison, variant: usize) -> String {
    let name = |index: usize| comparison.variants.get(index).map_or("?", |one| one.name.as_str());
    let Some(primary) = comparison.primary_of(variant) else {
        return format!("Nothing is known of {}.", name(variant));
    };
    if primary.conclusion == Conclusion::TooFew {
        return format!(
            "Nothing can be concluded of {} against {}: {} {} the fewest that can tell, and there \
             {} {} that both have {} for.",
            name(variant),
            name(0),
            fmt_plural(comparison.rounds_needed, rounds_noun(comparison)),
            if comparison.rounds_needed == 1 { "is" } else { "are" },
            if primary.rounds == 1 { "is" } else { "are" },
            primary.rounds,
            primary.metric.name(),
        );
    }
    let (claims, rest): (Vec<&Finding>, Vec<&Finding>) =
        comparison.of_variant(variant).partition(|one| one.is_claim());
    let mut parts: Vec<String> = Vec::new();
    let first = claims.iter().find(|one| one.primary).or_else(|| claims.first());
    if let Some(first) = first {
        let others = claims.iter().filter(|one| one.metric != first.metric);
        let mut told = vec![format!("{} {}", name(variant), claim(first, comparison))];
        told.extend(others.map(|one| claim(one, comparison)));
        parts.push(format!("{} (against {})", told.join(", "), name(0)));
    } else {
        parts.push(format!(
            "No difference between {} and {} could be told",
            name(variant),
            name(0)
        ));
    }
    let noise: Vec<&str> = rest
        .iter()
        .filter(|one| one.conclusion == Conclusion::Noise)
        .map(|one| one.metric.name())
        .collect();
    match noise.as_slice() {
        [] => {}
        [one] => parts.push(format!("the difference in {one} is within noise")),
        [many @ .., last] => {
            parts.push(format!(
                "the differences in {} and {last} are within noise",
                many.join(", ")
            ));
        }
    }
    parts.join("; ") + "."
}

/// Half a sentence such as `is 4.1 % slower at p99, 95 % interval 2.9 … 5.6 %`.
fn claim(finding: &Finding, comparison: &Comparison) -> String {
    let Some(change) = finding.change else { return String::new() };
    let more = change.estimate > 0.0;
    // The interval is told in the direction of the sentence: both ends positive.
    let told = match more {
        true => change,
        false => Change { estimate: -change.estimate, low: -change.high, high: -change.low },
    };
    let estimate = percent(told.estimate);
    let verb = match (finding.metric, more) {
        (Metric::Rate, true) => format!("answers {estimate} % more requests a second"),
        (Metric::Rate, false) => format!("answers {estimate} % fewer requests a second"),
        (Metric::Errors, true) => format!("fails {estimate} points more of its requests"),
        (Metric::Errors, false) => format!("fails {estimate} points fewer of its requests"),
        (Metric::Cpu, true) => format!("takes {estimate} % more CPU for a request"),
        (Metric::Cpu, false) => format!("takes {estimate} % less CPU for a request"),
        (_, true) => format!("is {estimate} % slower at {}", finding.metric.name()),
        (_, false) => format!("is {estimate} % faster at {}", finding.metric.name()),
    };
    format!(
        "{verb}, {} interval {} … {} %",
        whole_percent(comparison.confidence),
        percent(told.low),
        percent(told.high)
    )
}

pub(in crate::render) fn table(comparison: &Comparison, variant: usize) -> Table {
    let name = |index: usize| comparison.variants[index].name.clone();
    let interval = format!("{} interval", whole_percent(comparison.confidence));
    let mut table = Table::new(vec![
        ("metric".to_owned(), Align::Left),
        (name(0), Align::Right),
        (name(variant), Align::Right),
        ("change".to_owned(), Align::Right),
        (interval, Align::Right),
        ("higher in".to_owned(), Align::Right),
        ("effect".to_owned(), Align::Left),
        (String::new(), Align::Left),
    ]);
    for finding in comparison.of_variant(variant) {
        let unit = if finding.metric.is_difference() { " pt" } else { " %" };
        let signed = |share: f64| format!("{:+.2}", share * 100.0);
        let dash = || "–".to_owned();
        table.row(vec![
            format!("{}{}", finding.metric.name(), if finding.primary { " *" } else { "" }),
            figure(finding.metric, finding.baseline),
            figure(finding.metric, finding.value),
            finding.change.map_or_else(dash, |one| signed(one.estimate) + unit),
            finding.change.map_or_else(dash, |one| {
                format!("{} … {}{unit}", signed(one.low), signed(one.high))
            }),
            match finding.higher_in {
                Some(higher) => format!("{higher} of {}", finding.rounds),
                None => dash(),
            },
            finding.effect.map_or_else(dash, effect),
            match finding.conclusion {
                Conclusion::Better => "better",
                Conclusion::Worse => "worse",
                Conclusion::Noise => "within noise",
                Conclusion::TooFew => "too few rounds",
            }
            .to_owned(),
        ]);
    }
    table
}

/// Cliff's delta in words: below 0.147, 0.33, 0.474 (Romano and others, 2006).
fn effect(delta: f64) -> String {
    let word = match delta.abs() {
        size if size < 0.147 => "negligible",
        size if size < 0.33 => "small",
        size if size < 0.474 => "medium",
        _ => "large",
    };
    format!("{delta:+.2} {word}")
}

fn figure(metric: Metric, figure: Option<f64>) -> String {
    let Some(figure) = figure else { return "–".to_owned() };
    match metric {
        Metric::Rate => fmt_per_second(figure),
        Metric::Errors => fmt_share(figure),
        Metric::Cpu => fmt_duration_ns((figure * 1000.0).round() as u64),
        Metric::P50 | Metric::P90 | Metric::P99 | Metric::P999 => {
            fmt_duration_ns(figure.round() as u64)
        }
    }
}

pub(in crate::render) fn headline(comparison: &Comparison) -> String {
    let how = match comparison.interleaved {
        true => "interleaved in random order",
        false => "saved before, not interleaved",
    };
    let count = fmt_plural(comparison.rounds_asked, rounds_noun(comparison));
    let partial = if comparison.partial { " (interrupted: what is whole of them)" } else { "" };
    format!("{} · {count} {how}{partial}", comparison.load)
}

fn rounds_noun(comparison: &Comparison) -> &'static str {
    if comparison.interleaved { "round" } else { "result" }
}

pub(in crate::render) fn footer(comparison: &Comparison) -> Vec<String> {
    let share = whole_percent(1.0 - comparison.confidence);
    let mut lines = vec![format!(
        "* {} decides: variants that are the same are called different in it with a chance of at \
         most {share}. The other metrics together have the same chance once more.",
        comparison.primary.name()
    )];
    if let Some(limit) = comparison.limit {
        lines.push(format!(
            "{}: slower by more than {} in {}{}",
            if limit.exceeded { "NOT MET" } else { "met" },
            whole_percent(limit.slower),
            comparison.primary.name(),
            if limit.exceeded { ", with confidence" } else { " is not certain of any variant" },
        ));
    }
    lines.extend(comparison.cautions.iter().map(|one| format!("caution: {one}")));
    lines
}

pub(in crate::render) fn named(name: &str, source: &str) -> String {
    if name == source { name.to_owned() } else { format!("{name} = {source}") }
}

fn letter(index: usize) -> char {
    u8::try_from(index).ok().filter(|&i| i < 26).map_or('?', |i| char::from(b'A' + i))
}

/// Two digits that matter: `0.31`, `4.1`, `12`.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        size if size < 1.0 => format!("{percent:.2}"),
        size if size < 10.0 => format!("{percent:.1}"),
        _ => format!("{percent:.0}"),
    }
}

/// What was typed as a percentage, as it was typed: `95 %`, `99.9 %`.
fn whole_percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Host, Tool};
    use crate::experiment::comparison::{FORMAT, Limit, Trial, Variant};
    use crate::experiment::figures::Figures;

    fn finding(metric: Metric, change: f64, conclusion: Conclusion) -> Finding {
        Finding {
            variant: 1,
            metric,
            primary: metric == Metric::P99,
            rounds: 10,
            baseline: Some(2_000_000.0),
            value: Some(2_000_000.0 * (1.0 + change)),
            change: Some(Change { estimate: change, low: change - 0.012, high: change + 0.015 }),
            effect: Some(change.signum()),
            higher_in: Some(9),
            p: Some(0.004),
            p_adjusted: Some(0.004),
            conclusion,
        }
    }

    fn variant(name: &str) -> Variant {
        let trial = Trial {
            round: 1,
            position: 2,
            file: Some("a,b.json".to_owned()),
            started_unix_ms: 5,
            figures: Figures { rate_per_s: Some(10.5), ..Figures::default() },
        };
        Variant { name: name.to_owned(), source: format!("http://{name}/"), trials: vec![trial] }
    }

    fn comparison(findings: Vec<Finding>) -> Comparison {
        Comparison {
            format: FORMAT.to_owned(),
            tool: Tool { name: "candor".to_owned(), version: "0".to_owned() },
            arguments: Vec::new(),
            started_at: String::new(),
            host: Host::default(),
            load: "closed loop, 10 connections".to_owned(),
            variants: vec![variant("old"), variant("new")],
            interleaved: true,
            rounds_asked: 10,
            confidence: 0.95,
            seed: 1,
            primary: Metric::P99,
            rounds_needed: 6,
            findings,
            cautions: vec!["the runs of old have warnings: loader-cpu in 3 of 10".to_owned()],
            limit: Some(Limit { slower: 0.02, exceeded: true }),
            partial: false,
        }
    }

    #[test]
    fn sentences_say_what_was_found() {
        let noise = finding(Metric::Rate, -0.002, Conclusion::Noise);
        let slower = finding(Metric::P99, 0.041, Conclusion::Worse);
        let told = |findings: Vec<Finding>| sentence(&comparison(findings), 1);
        assert_eq!(
            told(vec![noise.clone(), slower]),
            "new is 4.1 % slower at p99, 95 % interval 2.9 … 5.6 % (against old); the difference \
             in rate is within noise."
        );
        let same = finding(Metric::P99, 0.001, Conclusion::Noise);
        assert_eq!(
            told(vec![noise.clone(), same]),
            "No difference between new and old could be told; the differences in rate and p99 are \
             within noise."
        );
        let fewer = finding(Metric::Rate, -0.2, Conclusion::Worse);
        let faster = finding(Metric::P99, -0.1, Conclusion::Better);
        assert_eq!(
            told(vec![fewer, faster]),
            "new is 10 % faster at p99, 95 % interval 8.5 … 11 %, answers 20 % fewer requests a \
             second, 95 % interval 18 … 21 % (against old)."
        );
        let few = Finding { rounds: 4, ..finding(Metric::P99, 1.0, Conclusion::TooFew) };
        assert!(
            told(vec![few]).starts_with("Nothing can be concluded of new against old: 6 rounds")
        );
    }

    #[test]
    fn tables_have_a_line_for_each_metric_and_say_what_decides() {
        let comparison = comparison(vec![
            finding(Metric::Rate, -0.002, Conclusion::Noise),
            finding(Metric::P99, 0.041, Conclusion::Worse),
        ]);
        let text = text(&comparison);
        for part in [
            "p99 *",
            "+4.10 %",
            "+2.90 … +5.60 %",
            "9 of 10",
            "+1.00 large",
            "NOT MET",
            "caution: ",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(markdown(&comparison).contains("|---|---:|---:|---:|---:|---:|---|---|"));
        let csv = csv(&comparison);
        assert!(csv.lines().nth(1).unwrap().ends_with(",1,\"a,b.json\""), "{csv}");
        assert_eq!(csv.lines().count(), 3);
    }
}
