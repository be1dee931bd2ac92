//! Streams of events: when the first came, the gaps, the last, and tokens.

use candor_plan::units::{fmt_count, fmt_per_second, fmt_plural};

use super::{charts, percentiles, words};
use crate::page::Section;
use candor_report::document::Document;
use candor_report::document::latency::Distribution;
use candor_report::document::streams::{Spread, Streams, TokenFigures};

const ROWS: [&str; 6] = ["p50", "p90", "p99", "p99.9", "max", "mean"];

/// The section of streams.
pub(super) fn section(section: &mut Section, document: &Document) {
    let Some(streams) = &document.streams else { return };
    section.text(format!("{}.", counted(streams)));
    let columns = [
        ("first byte", "due→first byte", &streams.first_byte),
        ("first event", "due→first event", &streams.first_event),
        ("gap", "event→event", &streams.gap),
        ("longest gap", "of each response", &streams.longest_gap),
        ("last event", "due→last event", &streams.last_event),
    ];
    if streams.first_event.count > 0 {
        section.table(percentiles(&columns, &ROWS));
        section.full(|section| match charts::events(streams) {
            Ok(chart) => section.chart(chart),
            Err(error) => section.text(format!("There are no curves: {error}.")),
        });
    }
    if let Some(reconnect) = &streams.reconnect {
        section.text(format!("{}.", reconnects(reconnect)));
    }
    if streams.coalesced > 0 {
        section.remark(format!(
            "{} between events that were read together are unknown and left out.",
            fmt_plural(streams.coalesced, "gap")
        ));
    }
    if streams.unbegun > 0 {
        section.remark(format!(
            "{} had no event before a timeout or the end.",
            fmt_plural(streams.unbegun, "request")
        ));
    }
    let Some(tokens) = &streams.tokens else { return };
    section.text(format!("{}.", of_tokens(tokens)));
    let columns = [
        ("time to first token", "due→first token", &tokens.time_to_first_token),
        ("inter-token latency", "token→token", &tokens.inter_token_latency),
        ("time per output token", "first→last token / (tokens − 1)", &tokens.time_per_output_token),
    ];
    if tokens.of_one.count > 0 {
        section.table(percentiles(&columns, &ROWS));
    }
}

/// `4,000 streams began, 10 events each`
fn counted(streams: &Streams) -> String {
    let began = fmt_plural(streams.first_event.count, "stream");
    let events = streams.events;
    match events.count {
        0 => format!("{began} began, none ended as expected"),
        _ => format!(
            "{began} began, {} ended as expected{} events",
            fmt_count(events.count),
            each(&events)
        ),
    }
}

/// `19 reconnects, p50 3 s, max 3.1 s after the end of a stream`
fn reconnects(times: &Distribution) -> String {
    match times.count {
        0 => "No stream was gone on with".to_owned(),
        count => {
            format!("{}, {} after the end of a stream", fmt_plural(count, "reconnect"), few(times))
        }
    }
}

/// `24,000 tokens, each with 4, 800/s; 18,000 tokens of requests, 600/s`
fn of_tokens(tokens: &TokenFigures) -> String {
    let rate = |per_s: Option<f64>| {
        per_s.map(|per_s| format!(", {}", fmt_per_second(per_s))).unwrap_or_default()
    };
    let output = fmt_plural(tokens.count, "token");
    let output = format!("{output}{}{}", each(&tokens.of_one), rate(tokens.per_s));
    match tokens.input {
        None => output,
        Some(input) => {
            let input = format!("{} of requests", fmt_plural(input, "token"));
            format!("{output}; {input}{}", rate(tokens.input_per_s))
        }
    }
}

/// `, 10 each`, or `, 1 to 12 each`
fn each(spread: &Spread) -> String {
    match (spread.min, spread.max) {
        (Some(min), Some(max)) if min == max => format!(", each with {}", fmt_count(min)),
        (Some(min), Some(max)) => {
            format!(", each with {} to {}", fmt_count(min), fmt_count(max))
        }
        _ => String::new(),
    }
}

/// For the short page: `first event p50 12 ms, p99 30 ms · gap p50 5 ms, p99 7 ms · last event p99 1.2 s`; where tokens
/// are counted, theirs.
pub(super) fn in_short(streams: &Streams) -> String {
    let figures = match &streams.tokens {
        None => [
            ("first event", &streams.first_event),
            ("gap", &streams.gap),
            ("last event", &streams.last_event),
        ],
        Some(tokens) => [
            ("first token", &tokens.time_to_first_token),
            ("inter-token", &tokens.inter_token_latency),
            ("last event", &streams.last_event),
        ],
    };
    let known = figures.into_iter().filter(|(_, one)| one.count > 0);
    let shown: Vec<String> = known.map(|(name, one)| format!("{name} {}", few(one))).collect();
    match shown.is_empty() {
        true => "none".to_owned(),
        false => shown.join(" · "),
    }
}

/// `p50 12 ms, p99 30 ms`, and the longest in the place of percentiles that too few samples have.
fn few(times: &Distribution) -> String {
    let known = |row: &&str| times.percentile_ns(row).is_some();
    let percentiles: Vec<&str> = ["p50", "p99"].into_iter().take_while(known).collect();
    let max = (percentiles.len() < 2).then_some("max");
    let cells = percentiles.into_iter().chain(max);
    let cells: Vec<String> =
        cells.map(|row| format!("{row} {}", words::cell(times, row))).collect();
    cells.join(", ")
}

#[cfg(test)]
mod tests {
    use candor_report::Style;
    use candor_report::expect::Expectation;

    use crate::{Depth, compose};
    use candor_report::testing;

    #[test]
    fn goodput_is_told() {
        let document = testing::goodput_run().document();
        for depth in [Depth::Full, Depth::Short] {
            let text = compose::run(&document, depth).text(Style::PLAIN);
            let words: Vec<_> = text.split_whitespace().collect();
            let line =
                "5,400 of 6,000 requests (90.0 %) had response < 2 s, ttft < 300 ms, 1,770/s";
            assert!(words.join(" ").contains(line), "{text}");
        }
        assert!(compose::run(&document, Depth::Full).html().contains("Goodput over time"));
    }

    #[test]
    fn times_of_few_samples_are_the_longest_or_left_out() {
        let mut document = testing::streams_run().document();
        let streams = document.streams.as_mut().unwrap();
        streams.tokens = None;
        streams.first_event.percentiles_ns.clear();
        streams.first_event.max_ns = Some(7_000_000);
        streams.last_event.count = 0;
        let told = super::in_short(document.streams.as_ref().unwrap());
        assert!(told.starts_with("first event max 7 ms · gap p50 "), "{told}");
        assert!(!told.contains("last event") && !told.contains('–'), "{told}");
    }

    #[test]
    fn streams_are_told() {
        let document = testing::streams_run().document();
        let full = compose::run(&document, Depth::Full).text(Style::PLAIN);
        for line in [
            "6,000 streams began, 6,000 ended as expected, each with 4 events.",
            "6,000 gaps between events that were read together are unknown and left out.",
            "24,000 tokens, each with 4, ",
            "/s; 18,000 tokens of requests, ",
            "time per output token",
        ] {
            assert!(full.contains(line), "{line}\n{full}");
        }
        let short = compose::run(&document, Depth::Short).text(Style::PLAIN);
        let figures = "first token p50 2 ms, p99 2 ms · inter-token p50 5 ms";
        assert!(short.contains(figures), "{short}");
    }

    #[test]
    fn expectations_are_of_events() {
        let document = testing::streams_run().document();
        for (expression, met) in [
            ("first-event p99 < 3ms", true),
            ("first-event p99 < 2ms", false),
            ("gap.p99 < 6ms", true),
            ("gap p50 > 6ms", false),
            ("last_event max < 13ms", true),
            ("longest-gap max == 5ms", true),
            ("time-per-output-token p50 < 4ms", true),
            ("tpot p50 > 4ms", false),
            ("ttft p99 < 3ms", true),
            ("itl p99 < 5ms", false),
        ] {
            let judged = Expectation::parse(expression).unwrap().judge(&document);
            assert_eq!(judged.met(), met, "{}", judged.sentence);
        }
        let plain = testing::healthy_open();
        let judged = Expectation::parse("gap p99 < 50ms").unwrap().judge(&plain);
        assert!(judged.sentence.contains("the run has no streams"), "{}", judged.sentence);
    }

    #[test]
    fn requests_without_an_event_count_as_the_slowest() {
        let mut document = testing::streams_run().document();
        let judged =
            |document: &_| Expectation::parse("first-event p90 < 3ms").unwrap().judge(document);
        assert!(judged(&document).met());
        document.streams.as_mut().unwrap().unbegun = 700;
        assert!(!judged(&document).met());
    }
}
