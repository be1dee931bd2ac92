//! The page of a comparison: what is concluded in a sentence, the change of every metric, and every round.

use candor_plan::units::{fmt_duration_ns, fmt_per_second, fmt_plural, fmt_share, with_commas};

use super::found::{LINE, compact, counted, in_lines};
use super::words::gate;
use super::{again, made_by, or_nothing};
use crate::page::axis::{Axis, Unit, decimals, three_digits};
use crate::page::chart::{Across, COLOURS, Chart, Dot, Mark, Series, from_zero};
use crate::page::{Column, Depth, Page, Table};
use candor_report::Tone;
use candor_report::experiment::comparison::{
    Change, Comparison, Conclusion, Finding, Metric, Noise, Open, Variant,
};
use candor_report::findings::list;
use candor_report::shorten;

/// The most variants whose source is told on one screen, and the longest name of one.
const VARIANTS: usize = 4;
const NAME: usize = 12;

/// The page of a comparison.
pub fn page(comparison: &Comparison, depth: Depth) -> Page {
    let title = format!("Comparison of {}", list(&entrants(comparison)));
    if depth == Depth::Short {
        return short(comparison, &title);
    }
    let mut page = Page::new(depth, title);
    opening(&mut page, comparison, &comparison.load);
    limit(&mut page, comparison);
    for variant in 1..comparison.variants.len() {
        let (tone, word) = standing(comparison, variant);
        page.header.standing(tone, word, sentence(comparison, variant));
    }
    footer(comparison).into_iter().for_each(|line| page.header.remark(line));
    let section = page.section("changes", "Changes");
    section.chart(changes(comparison));
    for variant in 1..comparison.variants.len() {
        if comparison.variants.len() > 2 {
            section.heading(&comparison.variants[variant].name);
        }
        section.table(table(comparison, variant));
    }
    page.section("rounds", "Every round").details("Figures of every round", |section| {
        rounds(comparison).into_iter().for_each(|chart| section.chart(chart));
    });
    let variants = comparison.variants.iter();
    let compared = variants.map(|one| match one.name == one.source {
        true => ("Compared", one.name.clone()),
        false => ("Compared", format!("{} = {}", one.name, one.source)),
    });
    again(&mut page, compared, &comparison.host, &comparison.arguments);
    made_by(&mut page, &comparison.tool, &comparison.format);
    page
}

/// The names of what is compared: the baseline, measured once more, is not another variant.
pub fn entrants(comparison: &Comparison) -> Vec<&str> {
    let variants = comparison.variants.iter().enumerate();
    variants.filter(|(at, _)| !comparison.is_twin(*at)).map(|(_, one)| one.name.as_str()).collect()
}

/// The same on one screen: what is concluded, and one table.
fn short(comparison: &Comparison, title: &str) -> Page {
    let mut page = Page::new(Depth::Short, shorten(title, LINE));
    opening(&mut page, comparison, &shorten(&comparison.load, LINE / 2));
    limit(&mut page, comparison);
    let variants = 1..comparison.variants.len();
    let sentences: Vec<String> =
        variants.clone().map(|variant| sentence(comparison, variant)).collect();
    let told = in_lines(variants.zip(&sentences).map(|(variant, text)| (variant, text.as_str())));
    for (variant, sentence) in &told {
        let (tone, word) = standing(comparison, *variant);
        page.header.standing(tone, word, sentence);
    }
    let left = sentences.len() - told.len();
    if left > 0 {
        page.header.remark(format!("and {}", fmt_plural(left as u64, "more variant")));
    }
    let named = comparison.variants.iter().filter(|one| one.name != one.source).take(VARIANTS);
    for one in named {
        let told = format!("{} = {}", shorten(&one.name, NAME), shorten(&one.source, LINE - NAME));
        page.header.fact("Compared", None, told);
    }
    let lines = if comparison.variants.len() > 2 { 1 } else { 2 };
    counted(&mut page.header, "Caution", None, lines, comparison.cautions.iter().cloned());
    let section = page.section("changes", "Changes");
    match comparison.variants.len() {
        0 | 1 => {}
        2 => {
            let mut table = table(comparison, 1);
            // The rounds in which it was higher, and the effect: there is no room.
            table.without(5..7);
            compact(section, table, "more metric", "more column");
        }
        _ => {
            compact(section, table_of_all(comparison), "more variant", "more metric");
            section.remark("* decides; ! is a difference that is no noise");
        }
    }
    page
}

/// What was compared, how, by what and when.
fn opening(page: &mut Page, comparison: &Comparison, load: &str) {
    let how = match (comparison.interleaved, &comparison.noise) {
        (true, Some(_)) => "interleaved, each order equally often",
        (true, None) => "interleaved in random order",
        (false, _) => "saved before, not interleaved",
    };
    let count = fmt_plural(comparison.rounds_asked, rounds_noun(comparison));
    let partial = match (comparison.interrupted, comparison.partial) {
        (true, _) => " (interrupted: complete rounds only)",
        (false, true) => " (ended early: complete rounds only)",
        (false, false) => "",
    };
    page.header.text(format!("{load} · {count} {how}{partial}"));
    page.header.remark(format!(
        "{} {} · {} · seed {}",
        comparison.tool.name, comparison.tool.version, comparison.started_at, comparison.seed
    ));
}

/// How a variant stands, in a word.
fn standing(comparison: &Comparison, variant: usize) -> (Tone, &'static str) {
    if comparison.is_twin(variant) {
        return (Tone::Strong, "NOISE");
    }
    if comparison.failure(variant).or_else(|| comparison.failure(0)).is_some() {
        return (Tone::Bad, "FAILED");
    }
    let primary = comparison.primary_of(variant).map(|one| one.conclusion);
    match (comparison.leading(variant), primary, comparison.open(variant)) {
        (Some(claim), ..) => claimed(claim),
        (None, Some(Conclusion::Noise), Open::Nothing) => (Tone::Strong, "NO CHANGE"),
        (None, Some(Conclusion::Noise), Open::Faster) => (Tone::Strong, "NOT SLOWER"),
        (None, Some(Conclusion::Noise), Open::Anything) => (Tone::Doubtful, "CANNOT TELL"),
        _ if comparison.interrupted => (Tone::Doubtful, "INTERRUPTED"),
        _ => (Tone::Doubtful, "TOO FEW"),
    }
}

/// A difference in a word: of the metric that decides, or of another.
fn claimed(finding: &Finding) -> (Tone, &'static str) {
    let is_worse = finding.conclusion == Conclusion::Worse;
    let [worse, better] = match finding.metric {
        _ if finding.primary => ["WORSE", "BETTER"],
        Metric::Rate => ["LOWER RATE", "HIGHER RATE"],
        Metric::P50 => ["SLOWER AT P50", "FASTER AT P50"],
        Metric::P90 => ["SLOWER AT P90", "FASTER AT P90"],
        Metric::P99 => ["SLOWER AT P99", "FASTER AT P99"],
        Metric::P999 => ["SLOWER AT P99.9", "FASTER AT P99.9"],
        Metric::Errors => ["MORE ERRORS", "FEWER ERRORS"],
        Metric::Cpu => ["MORE CPU", "LESS CPU"],
    };
    if is_worse { (Tone::Bad, worse) } else { (Tone::Good, better) }
}

/// What is concluded of the variant at this place, in one sentence.
pub fn sentence(comparison: &Comparison, variant: usize) -> String {
    let name = |index: usize| comparison.variants.get(index).map_or("?", |one| one.name.as_str());
    if let Some(Noise { floor, .. }) =
        comparison.noise.as_ref().filter(|_| comparison.is_twin(variant))
    {
        let metric = comparison.primary.name();
        return match floor {
            Some(floor) => format!(
                "The noise floor is {} % in {metric}: {}, measured twice in each round, differs from itself by up to that.",
                percent(*floor),
                name(0)
            ),
            None => {
                let baseline = comparison.variants.first().and_then(Variant::is_no_baseline);
                let why = baseline.or_else(|| comparison.why_too_few(variant));
                let why = why.unwrap_or_else(|| "too few rounds have it".to_owned());
                format!("The noise floor in {metric} is not known: {why}.")
            }
        };
    }
    let Some(primary) = comparison.primary_of(variant) else {
        return format!("Nothing is known of {}.", name(variant));
    };
    // Without a baseline, how the variant did is no difference.
    if let Some(why) = comparison.variants.first().and_then(Variant::is_no_baseline) {
        return format!(
            "Nothing can be concluded of {} against {}: {why}.",
            name(variant),
            name(0)
        );
    }
    if let Some(failure) = comparison.failure(variant) {
        return format!(
            "{} failed, so it is not compared with {}: {failure}.",
            name(variant),
            name(0)
        );
    }
    let leading = comparison.leading(variant);
    let mut parts: Vec<String> = Vec::new();
    if primary.conclusion == Conclusion::TooFew {
        let why = comparison.why_too_few(variant).unwrap_or_else(|| {
            format!(
                "at least {} with {} of both are needed, and there {} {}; make more",
                fmt_plural(comparison.rounds_needed, rounds_noun(comparison)),
                primary.metric.name(),
                if primary.rounds == 1 { "is" } else { "are" },
                primary.rounds,
            )
        });
        if leading.is_none() && comparison.interrupted && primary.rounds < comparison.rounds_needed
        {
            return format!(
                "Interrupted after {} of {}: nothing can be concluded of {} against {}.",
                comparison.complete_rounds(),
                fmt_plural(comparison.rounds_asked, rounds_noun(comparison)),
                name(variant),
                name(0)
            );
        }
        if leading.is_none() {
            let (variant, baseline) = (name(variant), name(0));
            return format!("Nothing can be concluded of {variant} against {baseline}: {why}.");
        }
        parts.push(format!("{} cannot be judged: {why}", primary.metric.name()));
    }
    let (claims, rest): (Vec<&Finding>, Vec<&Finding>) =
        comparison.of_variant(variant).partition(|one| one.is_claim());
    if let Some(first) = leading {
        let others = claims.iter().filter(|one| one.metric != first.metric);
        let mut told = vec![format!("{} {}", name(variant), claim(first, comparison))];
        told.extend(others.map(|one| claim(one, comparison)));
        parts.insert(0, format!("{} (against {})", told.join(", "), name(0)));
    } else {
        let told = format!("No difference between {} and {} could be told", name(variant), name(0));
        parts.push(match primary.change.and_then(|change| between(primary.metric, change)) {
            Some(ends) => format!("{told}: {} {ends}", name(variant)),
            None => told,
        });
        parts.extend(unproven(comparison, variant));
    }
    let noise = rest.iter().filter(|one| one.conclusion == Conclusion::Noise);
    let noise: Vec<&str> = noise.map(|one| one.metric.name()).collect();
    parts.extend(noise.split_last().map(|(last, others)| match others {
        [] => format!("the difference in {last} is within noise"),
        others => format!("the differences in {} and {last} are within noise", others.join(", ")),
    }));
    parts.join("; ") + "."
}

/// What an interval with both signs contains: `is between 1.2 % faster and 3.4 % slower at p99`. `None`: it has one sign.
fn between(metric: Metric, change: Change) -> Option<String> {
    if change.low > 0.0 || change.high < 0.0 {
        return None;
    }
    let (less, more) = (percent(-change.low), percent(change.high));
    Some(match metric {
        Metric::Rate => {
            format!("answers between {less} % fewer and {more} % more requests a second")
        }
        Metric::Errors => {
            format!("fails between {less} points fewer and {more} points more of its requests")
        }
        Metric::Cpu => format!("takes between {less} % less and {more} % more CPU for a request"),
        _ => format!("is between {less} % faster and {more} % slower at {}", metric.name()),
    })
}

/// The largest difference that too few rounds keep from being told, and how many would do.
fn unproven(comparison: &Comparison, variant: usize) -> Option<String> {
    let nearest =
        |one: &&Finding| one.change.map_or(0.0, |change| change.low.max(-change.high).max(0.0));
    let few = comparison.of_variant(variant);
    let few = few.filter(|one| !one.primary && one.conclusion == Conclusion::TooFew);
    let most = few.max_by(|a, b| nearest(a).total_cmp(&nearest(b)))?;
    (nearest(&most) > 0.0).then(|| {
        format!(
            "{} {}, which takes at least {} to tell, and there {} {}",
            comparison.variants[variant].name,
            claim(most, comparison),
            fmt_plural(comparison.rounds_for_others(), rounds_noun(comparison)),
            if most.rounds == 1 { "is" } else { "are" },
            most.rounds
        )
    })
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
    let unit = if finding.metric.is_difference() { "points" } else { "%" };
    format!(
        "{verb}, {} interval {} … {} {unit}",
        whole_percent(comparison.confidence),
        percent(told.low),
        percent(told.high)
    )
}

fn table(comparison: &Comparison, variant: usize) -> Table {
    let name = |index: usize| comparison.variants[index].name.clone();
    let interval = format!("{} interval", whole_percent(comparison.confidence));
    let figures = [name(0), name(variant), "change".to_owned(), interval, "higher in".to_owned()];
    let columns = std::iter::once(Column::words("metric"))
        .chain(figures.map(Column::figures))
        .chain(["effect", ""].map(Column::words));
    let mut table = Table::new(columns);
    for finding in comparison.of_variant(variant) {
        let unit = unit(finding.metric);
        table.row([
            format!("{}{}", finding.metric.name(), if finding.primary { " *" } else { "" }),
            told(comparison, 0, finding.metric, finding.baseline),
            told(comparison, variant, finding.metric, finding.value),
            or_nothing(finding.change, |one| signed(one.estimate) + unit),
            or_nothing(finding.change, |one| signed(one.low) + " … " + &signed(one.high) + unit),
            or_nothing(finding.higher_in, |higher| format!("{higher} of {}", finding.rounds)),
            or_nothing(finding.effect, effect),
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

/// The change of every metric of every variant; what is claimed has a mark.
fn table_of_all(comparison: &Comparison) -> Table {
    let baseline = &comparison.variants[0].name;
    let star = |metric: Metric| if metric == comparison.primary { " *" } else { "" };
    let names =
        Metric::ALL.map(|metric| Column::figures(format!("{}{}", metric.name(), star(metric))));
    let first = Column::words(format!("against {baseline}"));
    let mut table = Table::new([first].into_iter().chain(names));
    for (variant, one) in comparison.variants.iter().enumerate().skip(1) {
        let change = |metric: Metric| {
            let finding = comparison.of_variant(variant).find(|one| one.metric == metric);
            or_nothing(finding.and_then(|one| Some((one, one.change?))), |(finding, change)| {
                let mark = if finding.is_claim() { " !" } else { "" };
                signed(change.estimate) + unit(finding.metric) + mark
            })
        };
        table.row([one.name.clone()].into_iter().chain(Metric::ALL.map(change)));
    }
    table
}

/// Of a change in a table: differences of shares are in points.
fn unit(metric: Metric) -> &'static str {
    if metric.is_difference() { " pt" } else { " %" }
}

/// `-1.23`, `+2,340`: in per cent with two decimals, or three digits that matter.
fn signed(share: f64) -> String {
    let percent = three_digits(share * 100.0);
    let decimals = if percent.abs() < 100.0 { 2 } else { 0 };
    with_commas(&format!("{percent:+.decimals$}"))
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
    or_nothing(figure, |figure| match metric {
        Metric::Rate => fmt_per_second(figure),
        Metric::Errors => fmt_share(figure),
        _ => fmt_duration_ns(in_unit(metric, figure).round() as u64),
    })
}

/// A figure of a variant; behind the median of errors the runs in which nothing worked, which it may not show.
fn told(comparison: &Comparison, variant: usize, metric: Metric, value: Option<f64>) -> String {
    let trials = comparison.variants.get(variant).map_or(&[][..], |one| &one.trials);
    let failed = trials.iter().filter(|one| one.figures.nothing_worked()).count();
    if failed == 0 || metric != Metric::Errors {
        return figure(metric, value);
    }
    let median = value.map(|share| fmt_share(share) + ", ").unwrap_or_default();
    format!("{median}100 % in {failed} of {}", fmt_plural(trials.len() as u64, "run"))
}

fn rounds_noun(comparison: &Comparison) -> &'static str {
    if comparison.interleaved { "round" } else { "result" }
}

fn footer(comparison: &Comparison) -> Vec<String> {
    let share = whole_percent(1.0 - comparison.confidence);
    let mut lines = vec![format!(
        "* {} decides: variants that are the same are called different in it with a chance of at \
         most {share}. The other metrics together have the same chance once more.",
        comparison.primary.name()
    )];
    lines.extend(comparison.cautions.iter().map(|one| format!("caution: {one}")));
    lines
}

/// The outcomes of the limit and of objectives, before everything else.
fn limit(page: &mut Page, comparison: &Comparison) {
    for one in comparison.judgements() {
        let (tone, word) = gate(one.outcome);
        page.header.standing(tone, word, &one.sentence);
    }
}

/// What was missed, a line each: objectives that were not met or cannot be told, or without one variants that failed.
pub fn misses(comparison: &Comparison) -> Vec<String> {
    match comparison.gate() {
        Some(_) => {
            let missed = comparison.judgements().filter(|one| !one.met());
            missed.map(|one| one.sentence.clone()).collect()
        }
        None => {
            let baseline = comparison.failure(0);
            let others = (1..comparison.variants.len()).filter_map(|at| comparison.failure(at));
            baseline.into_iter().chain(others).collect()
        }
    }
}

/// The change of every metric with its interval, against the first variant.
fn changes(comparison: &Comparison) -> Chart {
    let known = |metric: &Metric| {
        let mut findings = comparison.findings.iter();
        findings.any(|one| one.metric == *metric && one.change.is_some())
    };
    let metrics: Vec<Metric> = Metric::ALL.into_iter().filter(known).collect();
    let variants = comparison.variants.len().min(COLOURS + 1);
    // Side by side, so that intervals do not lie on each other.
    let beside = |variant: usize| (variant as f64 - variants as f64 / 2.0) * 0.12;
    let dot = |variant: usize, finding: &Finding| {
        let place = metrics.iter().position(|one| *one == finding.metric)?;
        let change = finding.change?;
        Some(Dot {
            at: place as f64 + beside(variant),
            value: change.estimate,
            low: Some(change.low).filter(|end| end.is_finite()),
            high: Some(change.high).filter(|end| end.is_finite()),
        })
    };
    let series: Vec<Series> = (1..variants)
        .map(|variant| {
            let dots = comparison.of_variant(variant).filter_map(|one| dot(variant, one));
            Series::dots(comparison.variants[variant].name.clone(), variant - 1, dots)
        })
        .collect();
    let ends = comparison.findings.iter().filter_map(|one| one.change);
    let y = Axis::changes("change", ends.flat_map(|one| [one.low, one.high]));
    let x = Axis::things("metric", metrics.iter().map(|one| one.name().to_owned()).collect());
    let baseline = comparison.variants.first().map_or("", |one| one.name.as_str());
    let chart = Chart::new("changes-chart", "Change of each metric", x, y).about(format!(
        "Against {baseline}, each with its {} interval; more of a rate is better, more of anything else is worse. \
         Errors change in points. {}",
        whole_percent(comparison.confidence),
        differences(comparison)
    ));
    let mark = Mark { across: Across::Along, at: 0.0, label: "no change".to_owned() };
    Chart { marks: vec![mark], ..chart.all(series) }
}

/// Which intervals of the chart are differences, as the table has it.
fn differences(comparison: &Comparison) -> String {
    let claims = |variant: usize| {
        let claims = comparison.of_variant(variant).filter(|one| one.is_claim());
        let names: Vec<&str> = claims.map(|one| one.metric.name()).collect();
        let name = &comparison.variants[variant].name;
        (!names.is_empty()).then(|| format!("{} of {name}", list(&names)))
    };
    let all: Vec<String> = (1..comparison.variants.len()).filter_map(claims).collect();
    let claimed = match all.as_slice() {
        [] => "No difference is claimed.".to_owned(),
        all => format!("Differences: {}.", all.join("; ")),
    };
    let is_beside = |one: &Finding| {
        let excludes_zero = one.change.is_some_and(|change| change.low > 0.0 || change.high < 0.0);
        excludes_zero && !one.is_claim()
    };
    match comparison.findings.iter().any(is_beside) {
        true => format!(
            "{claimed} Others are within noise, even if their interval does not reach the line: of several metrics \
             chance alone keeps one from it."
        ),
        false => claimed,
    }
}

/// The figures of every run, in the order of rounds.
fn rounds(comparison: &Comparison) -> Vec<Chart> {
    let mut metrics = vec![(comparison.primary, "primary")];
    let others = [(Metric::Rate, "rate-rounds"), (Metric::P99, "p99-rounds")];
    metrics.extend(others.into_iter().filter(|(metric, _)| *metric != comparison.primary));
    let chart = |(metric, id): (Metric, &str)| {
        let variants = comparison.variants.iter().take(COLOURS).enumerate();
        let line = variants.map(|(n, variant)| {
            let figure = variant.trials.iter().map(|one| {
                let figure = metric.of(&one.figures);
                (one.round as f64, figure.map(|figure| in_unit(metric, figure)))
            });
            Series::line(variant.name.clone(), n, figure)
        });
        let series: Vec<Series> = line.collect();
        let rounds = series.iter().flat_map(|one| &one.at).copied().fold(1.0, f64::max);
        let (unit, name) = match metric {
            Metric::Rate => (Unit::Rate, "a second"),
            Metric::Errors => (Unit::Share, "of the requests"),
            _ => (Unit::Duration, "time"),
        };
        let x = Axis::span("round", Unit::Count, 0.0, rounds + 1.0);
        let y = from_zero(name, unit, &series);
        Chart::new(id, format!("{} in every round", metric.name()), x, y)
            .about("What changes from round to round for all alike is the machine; what stays apart is them.")
            .all(series)
    };
    metrics.into_iter().map(chart).collect()
}

/// CPU time of a request comes in microseconds; times are written from nanoseconds.
fn in_unit(metric: Metric, value: f64) -> f64 {
    if metric == Metric::Cpu { value * 1000.0 } else { value }
}

/// Two digits that matter, or three beyond a hundred: `0.31`, `4.1`, `12`, `2,340`.
fn percent(share: f64) -> String {
    let percent = three_digits(share * 100.0);
    with_commas(&format!("{percent:.*}", decimals(percent)))
}

/// What was typed as a percentage, as it was typed: `95 %`, `99.9 %`.
fn whole_percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

#[cfg(test)]
mod tests;
