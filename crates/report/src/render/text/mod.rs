//! The page that a person reads top to bottom in ten seconds.
//!
//! What was run; did it hold; the ledger; latency with response and service time side by side;
//! errors with examples; how much to trust it; how to do it again. At most [`WIDTH`] characters
//! wide, unless an argument of the command line is longer.

mod intervals;
mod kernel;
mod latency;
pub(in crate::render) mod page;
mod sections;
mod target;

use super::style::Style;
use crate::document::Document;
use page::Page;

/// Characters in the longest line.
pub const WIDTH: usize = 100;

/// The report.
pub fn render(document: &Document, style: Style) -> String {
    let mut page = Page::new(style);
    sections::headline(&mut page, document);
    sections::outcome(&mut page, document);
    sections::ledger(&mut page, document);
    latency::table(&mut page, document);
    kernel::parts(&mut page, document);
    latency::connect(&mut page, document);
    sections::errors(&mut page, document);
    sections::requests(&mut page, document);
    kernel::trace(&mut page, document);
    intervals::course(&mut page, document);
    sections::traffic(&mut page, document);
    target::resources(&mut page, document);
    target::profile(&mut page, document);
    sections::trust(&mut page, document);
    sections::expectations(&mut page, document);
    sections::again(&mut page, document);
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::SentTogether;
    use crate::expect::Expectation;
    use crate::testing;

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
            testing::golden(&format!("golden/{name}.txt"), &render(&document, Style::Plain));
        }
    }

    #[test]
    fn a_managed_target() {
        let mut document = testing::healthy_open();
        document.set_target(testing::watched(), false);
        testing::golden("golden/target.txt", &render(&document, Style::Plain));
    }

    #[test]
    fn a_profiled_target() {
        let mut document = testing::healthy_open();
        document.set_target(testing::watched(), false);
        document.set_profile(testing::profile(None));
        let text = render(&document, Style::Plain);
        for part in [
            "DOUBTFUL",
            "\nProfile      perf record -g -p 4711 -o result.profile\n",
            "from 0.00 s to 3.00 s of the 3.00 s measured",
            "result.profile, 123 kB; what it printed is in result.profile.log",
            "profiled: The target was profiled while it was measured (perf): figures are not",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }

    #[test]
    fn no_line_is_too_wide_and_none_ends_in_blanks() {
        let mut long = testing::broken();
        long.plan.target.url = format!("http://127.0.0.1/{}", "x".repeat(300));
        long.plan.requests.list[0].path = "/a b".repeat(60);
        long.errors[0].example = Some("word ".repeat(60) + &"y".repeat(200));
        long.requests[1].name = "n".repeat(120);
        for document in testing::every_document().into_iter().chain([long]) {
            for line in render(&document, Style::Plain).lines() {
                assert!(line.chars().count() <= WIDTH, "{line}");
                assert_eq!(line, line.trim_end());
            }
        }
    }

    #[test]
    fn colours_change_nothing_but_colours() {
        for document in testing::every_document() {
            let mut coloured = render(&document, Style::Colour);
            assert!(coloured.contains("\u{1b}["));
            for code in ["1", "1;32", "1;33", "1;31", "2", "0"] {
                coloured = coloured.replace(&format!("\u{1b}[{code}m"), "");
            }
            assert_eq!(coloured, render(&document, Style::Plain));
        }
    }

    /// Without its backslashes and indents the command is as it was typed.
    #[test]
    fn the_command_can_be_copied() {
        let mut document = testing::healthy_open();
        let typed = ["-c", "10", "--expect", "p99 < 5ms", "-H", "A: it's", "http://h/?a=1&b=2"];
        document.arguments = vec!["/usr/bin/candor".to_owned()];
        document.arguments.extend(std::iter::repeat_n(typed, 5).flatten().map(str::to_owned));
        let text = render(&document, Style::Plain);
        let (_, command) = text.split_once("\nAgain        ").unwrap();
        assert!(command.lines().count() > 2);
        let joined = command.replace(" \\\n               ", " ");
        let once = r"-c 10 --expect 'p99 < 5ms' -H 'A: it'\''s' 'http://h/?a=1&b=2'";
        assert_eq!(joined.trim_end(), format!("candor {}", [once; 5].join(" ")));

        document.arguments.clear();
        assert!(!render(&document, Style::Plain).contains("Again"));
    }

    /// 300 calls of 8 µs and 100 of 4 µs are 400 of 7 µs.
    #[test]
    fn what_was_sent_together_is_said() {
        let mut document = testing::healthy_closed();
        assert!(!render(&document, Style::Plain).contains("sent together"));
        let of = |calls, took_mean_ns, took_max_ns| {
            Some(SentTogether { calls, sends: 4 * calls, took_mean_ns, took_max_ns })
        };
        document.workers[0].sent_together = of(300, 8000.0, 20_000);
        document.workers[1].sent_together = of(100, 4000.0, 52_000);
        let text = render(&document, Style::Plain);
        let line = "\n             1,600 requests sent together in 400 calls, which took 7 µs on average, at most 52 µs\n";
        assert!(text.contains(line), "{text}");
    }

    /// What a server sent may stand in an example; it must not reach the terminal as it is.
    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        let mut document = testing::broken();
        document.errors[0].example = Some("bad\u{1b}[2J\u{7}\nline".to_owned());
        let text = render(&document, Style::Plain);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'));
        assert!(text.contains("bad\\u{1b}[2J\\u{7}\\nline"), "{text}");
    }
}
