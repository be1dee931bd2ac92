//! Text reports of runs, compared with files.

use candor_plan::{KernelTimestamps, Trace};
use candor_record::TraceCounts;
use candor_record::kernel::{KernelSample, KernelTimes};

use candor_report::Style;
use candor_report::document::Document;
use candor_report::document::latency::Latencies;
use candor_report::expect::Expectation;

use crate::{Depth, compose};
use candor_report::testing;

fn render(document: &Document, style: Style) -> String {
    compose::run(document, Depth::Terminal).text(style)
}

fn expected(mut document: Document, expressions: &[&str]) -> Document {
    let expectations: Vec<_> =
        expressions.iter().map(|one| Expectation::parse(one).unwrap()).collect();
    document.judge_expectations(&expectations);
    document
}

#[test]
fn the_pages() {
    for (name, document) in [
        ("open", expected(testing::healthy_open(), &["p99 < 5ms", "rate >= 99%"])),
        ("closed", testing::healthy_closed()),
        ("broken", expected(testing::broken(), &["p99 < 5ms", "error-rate < 0.1%"])),
        ("empty", testing::empty_run().document()),
    ] {
        testing::golden(&format!("golden/{name}.txt"), &render(&document, Style::PLAIN));
    }
}

/// The figure with everything stays where it is, and objectives are judged by it.
#[test]
fn the_tail_without_the_requests_that_a_pause_touched_stands_beside_it() {
    let run = testing::paused_run();
    let document = expected(run.document(), &["p99 < 5ms"]);
    let Latencies { response, touched, untouched, .. } = &document.latencies;
    let untouched = untouched.as_ref().unwrap();
    assert_eq!((*touched, untouched.count), (100, 5_900));
    let (with_ns, without_ns) = (response.percentile_ns("p99"), untouched.percentile_ns("p99"));
    assert!(with_ns > Some(10_000_000) && without_ns < Some(1_000_000));
    let told = "p99 without the 1.67 % of requests that a pause of this machine touched: 508 µs";
    for depth in [Depth::Short, Depth::Terminal] {
        let page = compose::run(&document, depth);
        for text in [page.text(Style::PLAIN), page.markdown()] {
            assert_eq!(text.matches(told).count(), 1, "{text}");
        }
    }
    assert!(!document.expectations[0].met(), "{:?}", document.expectations);

    // Parts of the short report have no headings.
    assert!(!compose::run(&document, Depth::Short).markdown().contains("## \n"));

    // Not where it says nothing new: no pause, one that touched other requests than the slow ones, or a figure of
    // the same precision.
    let said = |document: &Document| compose::run(document, Depth::Short).text(Style::PLAIN);
    let nothing = |document: &Document| assert!(!said(document).contains("without the"));
    nothing(&testing::healthy_open());
    let mut alike = document.clone();
    alike.latencies.untouched = Some(alike.latencies.response.clone());
    nothing(&alike);
    // Nor where a backlog grew: who waits for seconds is touched by every pause.
    let mut overloaded = document.clone();
    let growing = testing::broken().verdicts.into_iter().find(|one| one.id == "backlog-growing");
    overloaded.verdicts.extend(growing);
    nothing(&overloaded);
    let mut fleet = document;
    fleet.machines.push(fleet.machines[0].clone());
    assert!(said(&fleet).contains("that a pause of the agent's machine touched"));

    // In a closed load the table has service times.
    let mut closed = testing::healthy_closed();
    closed.latencies = fleet.latencies;
    assert!(said(&closed).contains("p99 of the response time without the"), "{}", said(&closed));
}

#[test]
fn a_managed_target() {
    let mut document = testing::healthy_open();
    document.set_target(testing::watched(), false);
    testing::golden("golden/target.txt", &render(&document, Style::PLAIN));
}

#[test]
fn a_profiled_target() {
    let mut document = testing::healthy_open();
    document.set_target(testing::watched(), false);
    document.set_profile(testing::profile(None));
    let text = render(&document, Style::PLAIN);
    for part in [
        "DOUBTFUL",
        "\nProfile      perf record -g -p 4711 -o result.profile\n",
        "from 0.00 s to 3.00 s of the 3.00 s measured",
        "result.profile, 123 kB; its output is in result.profile.log",
        "profiled: The target was profiled during the run (perf): do not compare its figures",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn no_line_is_too_wide_and_none_ends_in_blanks() {
    let mut long = testing::broken();
    long.plan.target.url = format!("http://127.0.0.1/{}", "x".repeat(300));
    long.plan.work.requests_mut()[0].path = "/a b".repeat(60);
    long.errors[0].example = Some("word ".repeat(60) + &"y".repeat(200));
    long.requests[1].name = "n".repeat(120);
    for document in testing::every_document().into_iter().chain([long]) {
        for line in render(&document, Style::PLAIN).lines() {
            assert!(line.chars().count() <= Style::PLAIN.width, "{line}");
            assert_eq!(line, line.trim_end());
        }
    }
}

#[test]
fn a_short_report_fits_its_terminal() {
    for document in testing::every_document() {
        let page = compose::run(&document, Depth::Short);
        for columns in [60, 80, 100, 200] {
            let style = Style::PLAIN.within(columns);
            for line in page.text(style).lines() {
                assert!(line.chars().count() <= columns.min(100), "{columns}: {line}");
            }
        }
    }
}

#[test]
fn what_the_rate_lacks_is_said() {
    let headline = |document: &Document| {
        let text = compose::run(document, Depth::Short).text(Style::PLAIN);
        text.lines().find(|line| line.starts_with("HELD")).map(str::to_owned)
    };
    let mut document = testing::healthy_open();
    let whole = headline(&document).unwrap();
    assert!(!whole.contains("after the window"), "{whole}");
    document.rate.answered_in_window = 5_970;
    document.rate.achieved_per_s = Some(1_990.0);
    let line = headline(&document).unwrap();
    assert!(line.contains("1,990/s of 2,000/s · 6,000 ok · 30 of them after the window"), "{line}");
}

#[test]
fn colours_change_nothing_but_colours() {
    for document in testing::every_document() {
        let mut coloured = render(&document, Style::COLOUR);
        assert!(coloured.contains("\u{1b}["));
        for code in ["1", "1;32", "1;33", "1;31", "2", "0"] {
            coloured = coloured.replace(&format!("\u{1b}[{code}m"), "");
        }
        assert_eq!(coloured, render(&document, Style::PLAIN));
    }
}

/// Without its backslashes and indents, the command equals the typed one.
#[test]
fn the_command_can_be_copied() {
    let mut document = testing::healthy_open();
    let typed = ["-c", "10", "--expect", "p99 < 5ms", "-H", "A: it's", "http://h/?a=1&b=2"];
    document.arguments = vec!["/usr/bin/candor".to_owned()];
    document.arguments.extend(std::iter::repeat_n(typed, 5).flatten().map(str::to_owned));
    let text = render(&document, Style::PLAIN);
    let (_, command) = text.split_once("\nRerun        ").unwrap();
    assert!(command.lines().count() > 2);
    let joined = command.replace(" \\\n               ", " ");
    let once = r"-c 10 --expect 'p99 < 5ms' -H 'A: it'\''s' 'http://h/?a=1&b=2'";
    assert_eq!(joined.trim_end(), format!("candor {}", [once; 5].join(" ")));

    document.arguments.clear();
    assert!(!render(&document, Style::PLAIN).contains("Rerun"));
}

/// An example may contain a server's bytes, which must not reach the terminal unescaped.
#[test]
fn control_characters_are_shown_and_not_obeyed() {
    let mut document = testing::broken();
    document.errors[0].example = Some("bad\u{1b}[2J\u{7}\nline".to_owned());
    let text = render(&document, Style::PLAIN);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'));
    assert!(text.contains("bad\\u{1b}[2J\\u{7}\\nline"), "{text}");
}

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
    let page = render(&stamped(Some(times)), Style::PLAIN);
    let from = page.find("Kernel  ").unwrap();
    let section = &page[from..page.find("Over time  ").unwrap()];
    testing::golden("golden/kernel.txt", section);
    assert!(page.contains("70 requests traced, 6,930 not; 3 of these dropped"), "{page}");
}

/// A plan's request may have another path than its URL.
#[test]
fn the_head_names_what_was_requested() {
    let head = |path: &str| {
        let mut document = testing::healthy_closed();
        document.plan.work.requests_mut()[0].path = path.to_owned();
        render(&document, Style::PLAIN).lines().next().unwrap().to_owned()
    };
    assert_eq!(head("/form?a=1"), "GET http://127.0.0.1:8080/form?a=1 (embedded)");
    assert_eq!(head("*"), "GET http://127.0.0.1:8080/hello (embedded)");
}

#[test]
fn what_cannot_be_had_is_said() {
    let page = render(&stamped(None), Style::PLAIN);
    assert!(page.contains("No time stamps: only TCP connections on Linux have them."), "{page}");
    let refused = KernelTimes {
        refused: 4,
        refusal: Some("Operation not permitted".to_owned()),
        ..KernelTimes::new(3)
    };
    let page = render(&stamped(Some(refused)), Style::PLAIN);
    assert!(page.contains("No time stamps: Operation not permitted."), "{page}");
}

fn table(document: &Document) -> Vec<String> {
    let text = render(document, Style::PLAIN);
    let lines = text.lines().skip_while(|line| !line.starts_with("Over time"));
    lines.skip(1).take_while(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn each_interval_has_its_requests_per_second() {
    let document = testing::healthy_open();
    let lines = table(&document);
    assert_eq!(lines.len(), document.window_intervals().count());
    for (line, one) in lines.iter().zip(document.window_intervals()) {
        let rate = candor_plan::units::fmt_per_second(one.answered_per_s.unwrap());
        assert!(line.contains(&rate), "{rate} is not in {line}");
    }
}

#[test]
fn many_intervals_share_rows_and_none_is_lost() {
    let mut document = testing::healthy_closed();
    let one = document.window_intervals().next().unwrap().clone();
    document.intervals = (0..601u64)
        .map(|index| {
            let mut row = one.clone();
            (row.index, row.errors, row.in_window) = (index, 1, true);
            (row.start_ns, row.end_ns) = (index * 1_000_000_000, (index + 1) * 1_000_000_000);
            row
        })
        .collect();
    let lines = table(&document);
    assert_eq!(lines.len(), 12);
    let errors = lines.iter().map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // from, unit, dash, to, unit, rate, errors
        let at = fields.iter().position(|field| field.ends_with("/s")).unwrap() + 1;
        fields[at].parse::<u64>().unwrap()
    });
    assert_eq!(errors.sum::<u64>(), 601);
    assert!(lines[0].trim_start().starts_with("0 ns") && lines[11].contains("601 s"), "{lines:#?}");
}
