//! What became of users: the ledger of each journey, its duration, and its steps that failed.

use candor_plan::units::{fmt_count, fmt_per_second, fmt_plural};

use super::{NAME, words};
use crate::page::{Column, Section, Table, share_of};
use candor_report::Tone;
use candor_report::document::Document;
use candor_report::document::users::{JourneyRow, StepFailures, Users};
use candor_report::shorten;

/// The most steps that failed to show of one journey.
const FAILURES: usize = 8;

/// The section of users.
pub(super) fn section(section: &mut Section, document: &Document) {
    let Some(users) = &document.users else { return };
    let are_requests = document.plan.work.are_requests();
    if !are_requests {
        section.text(arrivals(users));
    }
    if users.unaccounted > 0 {
        let count = fmt_plural(users.unaccounted, "user");
        let text = format!("{count} unaccounted for: scheduled for an agent that was lost.");
        section.toned(Some(Tone::Doubtful), text);
    }
    let counts = ["started", "completed", "failed", "unfinished", "per second"];
    let times = ["p50", "p99", "max", "p50 active"];
    let mut table = Table::new(
        std::iter::once(Column::words(if are_requests { "request" } else { "journey" }))
            .chain(counts.map(Column::figures))
            .chain(times.map(Column::figures)),
    );
    for one in &users.journeys {
        let counts = [one.started, one.completed, one.failed, one.unfinished].map(fmt_count);
        let per_s = super::or_nothing(one.completed_per_s, fmt_per_second);
        let times = ["p50", "p99", "max"].map(|row| words::cell(&one.duration, row));
        let active = words::cell(&one.active, "p50");
        let name = shorten(&one.name, NAME - 1);
        let figures = counts.into_iter().chain([per_s]).chain(times).chain([active]);
        table.row(std::iter::once(name).chain(figures));
    }
    section.table(table);
    section.remark(match are_requests {
        true => "Times are from when the first request was due to the end of the last response.",
        false => {
            "Times are from arrival to the last response; active ones leave out what users thought."
        }
    });
    for (one, all, how) in users.journeys.iter().flat_map(|one| {
        [(one, &one.failures, "ended at"), (one, &one.passed_over, "went on after")]
    }) {
        for failures in all.iter().take(FAILURES) {
            section.toned(Some(Tone::Doubtful), failed(one, failures, (noun(document), how)));
        }
        if all.len() > FAILURES {
            let more = fmt_plural((all.len() - FAILURES) as u64, "more reason");
            section.remark(format!("{}: {more}", one.name));
        }
    }
}

/// `Users: 200/s asked for, 199.8/s began.`
fn arrivals(users: &Users) -> String {
    let began = super::or_nothing(users.started_per_s, fmt_per_second);
    match users.asked_per_s {
        Some(asked) => format!("Users: {} asked for, {began} began.", fmt_per_second(asked)),
        None => format!("Users: {began} began."),
    }
}

/// Who runs through a journey.
fn noun(document: &Document) -> &'static str {
    if document.plan.work.are_requests() { "request" } else { "user" }
}

fn failed(journey: &JourneyRow, failures: &StepFailures, (noun, how): (&str, &str)) -> String {
    let users = fmt_plural(failures.count, noun);
    let share = match journey.started {
        0 => String::new(),
        started => format!(" ({})", share_of(failures.count, started)),
    };
    format!("{}: {users}{share} {how} {}: {}", journey.name, failures.step, reason(failures))
}

/// Why a step failed, in words.
fn reason(failures: &StepFailures) -> String {
    let variable = failures.variable.as_deref().unwrap_or("a variable");
    match failures.reason.as_str() {
        "capture" => format!("{variable} was not in the response"),
        "unset" => format!("{variable} had no value, so it was not sent"),
        "unfit" => format!("{variable} does not fit into its message, so it was not sent"),
        "shed" => "it was due for too long, so it was not sent".to_owned(),
        kind => kind.to_owned(),
    }
}

/// For the short page: `200/s users of 200/s · 5,990 completed · 10 failed (0.2 %)`
pub(super) fn in_short(users: &Users) -> String {
    let began = super::or_nothing(users.started_per_s, fmt_per_second);
    let asked = users.asked_per_s.map(|asked| format!(" of {}", fmt_per_second(asked)));
    let sum = |pick: fn(&JourneyRow) -> u64| {
        users.journeys.iter().fold(0u64, |sum, one| sum.saturating_add(pick(one)))
    };
    let (started, failed) = (sum(|one| one.started), sum(|one| one.failed));
    let failed = match (failed, started) {
        (0, _) | (_, 0) => "0 failed".to_owned(),
        _ => format!("{} failed ({})", fmt_count(failed), share_of(failed, started)),
    };
    let completed = fmt_count(sum(|one| one.completed));
    let unfinished = match sum(|one| one.unfinished) {
        0 => String::new(),
        more => format!(" · {} under way at the end", fmt_count(more)),
    };
    let unaccounted = match users.unaccounted {
        0 => String::new(),
        more => format!(" · {} unaccounted for", fmt_count(more)),
    };
    format!(
        "{began}{} began · {completed} completed · {failed}{unfinished}{unaccounted}",
        asked.unwrap_or_default()
    )
}

/// The most frequent reason why journeys ended, for the short page.
pub(super) fn worst(users: &Users, document: &Document) -> Option<String> {
    let all = users.journeys.iter().flat_map(|one| one.failures.iter().map(move |why| (one, why)));
    let (journey, why) = all.max_by_key(|(_, why)| why.count)?;
    Some(failed(journey, why, (noun(document), "ended at")))
}

#[cfg(test)]
mod tests {
    use candor_report::Style;
    use candor_report::expect::Expectation;

    use crate::{Depth, compose};
    use candor_report::testing;

    #[test]
    fn users_and_their_failures_are_told() {
        let document = testing::users_run().document();
        assert_eq!(document.verdicts, []);
        let full = compose::run(&document, Depth::Full).text(Style::PLAIN);
        for line in [
            "buy: 20 users (2.00 %) ended at login: token was not in the response",
            "buy: 6 users (0.60 %) ended at cart: status",
            "buy: 1 user (0.10 %) went on after cart: token had no value, so it was not sent",
        ] {
            assert!(full.contains(line), "{line}\n{full}");
        }
        assert!(full.contains("buy: login"), "{full}");
    }

    #[test]
    fn users_of_a_lost_agent_are_told() {
        let mut document = testing::users_run().document();
        let pages = |document: &_| {
            [Depth::Full, Depth::Short]
                .map(|depth| compose::run(document, depth).text(Style::PLAIN))
        };
        assert!(pages(&document).iter().all(|page| !page.contains("unaccounted")));
        document.users.as_mut().unwrap().unaccounted = 1234;
        let [full, short] = pages(&document);
        let said = "1,234 users unaccounted for: scheduled for an agent that was lost.";
        assert!(full.contains(said), "{full}");
        assert!(short.contains("· 1,234 unaccounted for"), "{short}");
    }

    #[test]
    fn expectations_are_of_steps_and_journeys() {
        let document = testing::users_run().document();
        let judged = |expression: &str| Expectation::parse(expression).unwrap().judge(&document);
        for expression in [
            "[login] p99 < 5ms",
            "[cart] errors == 0",
            "[login] service.p50 > 1us",
            "[buy] p50 < 60ms",
            "[buy] service.p90 < 50ms",
            "[buy] journeys/s > 300",
            "[buy] errors == 26",
            "[buy] error-rate < 3%",
            "journeys/s > 300",
        ] {
            let judgement = judged(expression);
            assert!(judgement.met(), "{}", judgement.sentence);
        }
        for (expression, part) in [
            ("[buy] journeys/s > 400", "not met"),
            ("[login] journeys/s > 1", "cannot tell"),
            ("[log] p99 < 5ms", "no step or journey of this name"),
            ("[buy] rate > 1/s", "has no such figure"),
        ] {
            let sentence = judged(expression).sentence;
            assert!(sentence.contains(part), "{sentence}");
        }
        let plan = testing::users_run().checked();
        let wrong = Expectation::parse("[logn] p99 < 5ms").unwrap().check(&plan);
        assert_eq!(
            wrong.unwrap_err(),
            "'[logn] p99 < 5ms': the plan has no step or journey 'logn'; did you mean \"login\"?"
        );
        assert_eq!(Expectation::parse("[buy] p99 < 5ms").unwrap().check(&plan), Ok(()));
    }
}
