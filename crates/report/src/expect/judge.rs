//! Judges an expectation by a document.
//!
//! Requests without the expected response have no measured latency, but their users were not served. So
//! they count as slower than all others in percentiles of response and service time: a p99 cannot be met
//! if two in a hundred failed. A mean and a maximum exist only if every request got a response.
//!
//! In a closed loop nothing is sent while the target is lost, so that no count and no time shows it. Such a
//! run meets nothing but what is about connections.
//!
//! A percentile is judged by its printed estimate, and not by its interval: near the edge it is
//! chance either way whether an objective is met, and the outcome should agree with the page. A
//! percentile that is not worth printing is judged by its interval, if both ends agree: few samples
//! are enough to see that a median of a second is not below a millisecond.

use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_per_second, fmt_share};
use candor_stats::{Quantile, order};

use super::scope::{NO_RATE, Outcomes, Scope, Timed};
use super::{Counter, Expectation, Metric, Statistic};
use crate::document::latency::{Distribution, enough_samples, is_useful};
use crate::document::{Document, Judgement, Lost, Outcome};

/// A measured value, or why there is none.
enum Measured {
    Value(f64),
    /// It lies among requests without a response.
    Never,
    /// It is not worth printing, but lies between these; with the reason.
    Between(f64, f64, String),
    /// There is no value; with the reason.
    Nothing(String),
}

impl Document {
    /// Judges the expectations of the user and puts the results into the document.
    pub fn judge_expectations(&mut self, expectations: &[Expectation]) {
        self.expectations = expectations.iter().map(|one| one.judge(self)).collect();
    }
}

impl Expectation {
    /// Judges the expectation by a finished document.
    pub fn judge(&self, document: &Document) -> Judgement {
        let holds = |value: f64| self.comparison.holds(value, self.wanted);
        let met_if = |holds: bool| if holds { Outcome::Met } else { Outcome::NotMet };
        let (mut outcome, measured, mut found) = match self.measure(document) {
            Measured::Value(value) => (met_if(holds(value)), Some(value), self.show(value)),
            Measured::Never => {
                let why = "requests without the expected response decide it";
                (met_if(holds(f64::INFINITY)), None, why.to_owned())
            }
            Measured::Nothing(why) => (Outcome::CannotTell, None, why),
            Measured::Between(low, high, why) => {
                let outcome = match holds(low) {
                    below if below == holds(high) && self.comparison.is_ordering() => met_if(below),
                    _ => Outcome::CannotTell,
                };
                let shown = |ns: f64| fmt_duration_ns(ns.round() as u64);
                let bounds = match high.is_finite() {
                    true => format!("it is between {} and {}", shown(low), shown(high)),
                    false => format!("it is {} or more", shown(low)),
                };
                (outcome, None, format!("{bounds} ({why})"))
            }
        };
        if outcome != Outcome::NotMet
            && let Some(why) = self.why_never_met(document)
        {
            outcome = Outcome::NotMet;
            found = match measured {
                Some(_) => format!("{found}, but {why}"),
                None => why,
            };
        }
        let sentence = format!("{}: {}, {found}.", self.expression, outcome.word());
        Judgement { expression: self.expression.clone(), outcome, measured, sentence }
    }

    /// Why nothing of the kind is met by this document, whatever was measured.
    fn why_never_met(&self, document: &Document) -> Option<String> {
        let scope = self.scope(document)?;
        if scope.succeeded() == 0 && (document.nothing_worked() || self.scope.is_some()) {
            return Some(match scope {
                Scope::Run(_) | Scope::Step(_) => "no request succeeded".to_owned(),
                Scope::Journey(_) => "no user completed it".to_owned(),
            });
        }
        let is_of_connections =
            matches!(self.metric, Metric::Availability | Metric::Count(Counter::ConnectErrors));
        if document.plan.load.is_open() || is_of_connections {
            return None;
        }
        let lost = Lost::of(document)?;
        Some(format!("the target was lost after {}", fmt_duration_ns(lost.since_ns)))
    }

    fn measure(&self, document: &Document) -> Measured {
        let nothing = |why: &str| Measured::Nothing(why.to_owned());
        let Some(scope) = self.scope(document) else {
            return nothing("the run has no step or journey of this name");
        };
        const NONE: &str = "a step or journey has no such figure";
        match self.metric {
            Metric::Latency(series, statistic) => match scope.latencies(series) {
                Some(timed) => latency(&timed, statistic),
                None if matches!(scope, Scope::Run(_)) => {
                    nothing("the run has no streams of events, or does not count tokens")
                }
                None => nothing(NONE),
            },
            Metric::Count(counter) => match scope.count(counter) {
                Some(count) => Measured::Value(count as f64),
                None => nothing(NONE),
            },
            Metric::ErrorRate => match scope.outcomes() {
                Outcomes { all: 0, .. } => nothing("no request was due"),
                Outcomes { all, failed } => Measured::Value(failed as f64 / all as f64),
            },
            Metric::Journeys => {
                let all = document.users.iter().flat_map(|users| &users.journeys);
                let rates: Vec<f64> = match scope {
                    Scope::Run(_) => all.filter_map(|one| one.completed_per_s).collect(),
                    Scope::Journey(row) => row.completed_per_s.into_iter().collect(),
                    Scope::Step(_) => Vec::new(),
                };
                match rates.is_empty() {
                    true => nothing("the run has no such journey"),
                    false => Measured::Value(rates.iter().sum()),
                }
            }
            Metric::RateShare
            | Metric::Rate
            | Metric::Goodput
            | Metric::GoodputShare
            | Metric::Availability
                if !matches!(scope, Scope::Run(_)) =>
            {
                nothing(NONE)
            }
            Metric::RateShare if !document.plan.load.is_open() => nothing(NO_RATE),
            Metric::RateShare => match (document.correct_per_s(), document.rate.scheduled_per_s) {
                (Some(correct), Some(scheduled)) if scheduled > 0.0 => {
                    Measured::Value(correct / scheduled)
                }
                _ => nothing("nothing was scheduled"),
            },
            Metric::Rate => document
                .correct_per_s()
                .map_or_else(|| nothing("the measured window has no length"), Measured::Value),
            Metric::Goodput | Metric::GoodputShare => {
                let Some(goodput) = document.goodput else {
                    return nothing("the plan has no limits for good responses");
                };
                let value = match self.metric {
                    Metric::Goodput => goodput.per_s,
                    _ => goodput.share,
                };
                value.map_or_else(|| nothing("no request was due"), Measured::Value)
            }
            Metric::Availability => document
                .availability()
                .map_or_else(|| nothing("the result does not have it"), Measured::Value),
        }
    }

    /// The value in words.
    pub(super) fn show(&self, value: f64) -> String {
        match self.metric {
            Metric::Latency(..) => format!("it was {}", fmt_duration_ns(value.round() as u64)),
            Metric::Count(_) => format!("it was {}", fmt_count(value as u64)),
            Metric::ErrorRate => {
                format!("{} of the scheduled requests did not succeed", fmt_share(value))
            }
            Metric::RateShare => {
                format!("{} of the scheduled rate was achieved", fmt_share(value))
            }
            Metric::GoodputShare => {
                format!("{} of the scheduled requests had good responses", fmt_share(value))
            }
            Metric::Availability => {
                format!("the target took connections in {} of the time", fmt_share(value))
            }
            Metric::Rate | Metric::Goodput | Metric::Journeys => {
                format!("it was {}", fmt_per_second(value))
            }
        }
    }
}

fn latency(timed: &Timed<'_>, statistic: Statistic) -> Measured {
    let distribution = timed.distribution;
    let (Some(min_ns), Some(mean_ns), Some(max_ns)) =
        (distribution.min_ns, distribution.mean_ns, distribution.max_ns)
    else {
        return match timed.never {
            0 => Measured::Nothing("there is no sample".to_owned()),
            _ => Measured::Never,
        };
    };
    match statistic {
        Statistic::Min => Measured::Value(min_ns as f64),
        Statistic::Mean | Statistic::Max if timed.never > 0 => Measured::Never,
        Statistic::Mean => Measured::Value(mean_ns),
        Statistic::Max => Measured::Value(max_ns as f64),
        Statistic::Quantile(q) => quantile(distribution, timed.failed, q),
    }
}

/// The quantile of the samples, with `failed` more above all of them.
fn quantile(distribution: &Distribution, failed: u64, q: Quantile) -> Measured {
    let all = distribution.count.saturating_add(failed);
    let hdr = match distribution.decode() {
        Ok(hdr) => hdr,
        Err(error) => return Measured::Nothing(error.to_string()),
    };
    // A quantile among failed requests is infinite.
    let at = |level: Quantile| {
        let rank = level.rank(all);
        (rank <= distribution.count).then(|| distribution.at_rank(&hdr, rank))
    };
    let levels = order::levels(all, q, order::CONFIDENCE);
    let low_ns = levels.low.map_or(Some(0), at);
    let high_ns = levels.high.and_then(at);
    let Some(low_ns) = low_ns else { return Measured::Never };
    let infinite = |ns: Option<u64>| ns.map_or(f64::INFINITY, |ns| ns as f64);
    if !enough_samples(all, q) {
        let why = format!("{} samples are too few for a number", fmt_count(all));
        return Measured::Between(low_ns as f64, infinite(high_ns), why);
    }
    match (at(q), high_ns) {
        (None, _) => Measured::Never,
        // Otherwise the estimate is the printed one.
        (Some(value_ns), None) => Measured::Value(value_ns as f64),
        (Some(value_ns), Some(high_ns)) if is_useful(low_ns, value_ns, high_ns) => {
            Measured::Value(value_ns as f64)
        }
        (Some(_), Some(high_ns)) => Measured::Between(
            low_ns as f64,
            high_ns as f64,
            format!("{} samples scatter too much for a number", fmt_count(all)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expect::Standing;
    use crate::testing::{self, Outcome as RunOutcome};
    use candor_record::ErrorKind;

    fn judged(document: &Document, expression: &str) -> Judgement {
        Expectation::parse(expression).unwrap().judge(document)
    }

    #[test]
    fn a_healthy_run_meets_what_it_should() {
        let open = testing::healthy_open();
        for expression in [
            "p99 < 5ms",
            "p50 >= 400us",
            "max < 1s",
            "mean < 1ms",
            "service.p99 < 5ms",
            "send_lag.p99 < 100us",
            "queue_wait.max <= 30us",
            "connect.min > 0ns",
            "error-rate < 0.1%",
            "errors == 0",
            "rate >= 99%",
            "rate >= 1.9k/s",
            "shed == 0",
            "unsent == 0",
            "unfinished == 0",
            "ok == 6k",
            "sent == 6000",
            "scheduled != 0",
        ] {
            let judgement = judged(&open, expression);
            assert_eq!(judgement.outcome, Outcome::Met, "{}", judgement.sentence);
        }
        for expression in ["p99 < 5us", "max > 1s", "rate >= 3k/s", "ok == 1", "error-rate > 0"] {
            assert_eq!(judged(&open, expression).outcome, Outcome::NotMet, "{expression}");
        }
    }

    #[test]
    fn the_sentence_has_the_value() {
        let judgement = judged(&testing::healthy_open(), "send_lag.max < 1us");
        assert_eq!(judgement.sentence, "send_lag.max < 1us: not met, it was 10 µs.");
        assert_eq!(judgement.measured, Some(10_000.0));
    }

    #[test]
    fn too_few_samples_cannot_tell_and_say_so() {
        let judgement = judged(&testing::healthy_open(), "p99.99 < 1h");
        assert_eq!(judgement.outcome, Outcome::CannotTell);
        assert!(!judgement.met());
        assert!(judgement.sentence.contains("6,000 samples are too few"), "{}", judgement.sentence);
    }

    #[test]
    fn a_percentile_without_a_number_is_judged_where_both_ends_agree() {
        let open = testing::healthy_open();
        let judgement = judged(&open, "p99.99 < 1ms");
        assert_eq!(judgement.outcome, Outcome::NotMet, "{}", judgement.sentence);
        assert!(judgement.sentence.contains("or more"), "{}", judgement.sentence);
        assert_eq!(judged(&open, "p99.99 > 1ms").outcome, Outcome::Met);
        assert_eq!(judged(&open, "p99.99 != 1ms").outcome, Outcome::CannotTell);
    }

    #[test]
    fn requests_never_answered_count_as_slowest() {
        let mut document = testing::healthy_open();
        assert!(judged(&document, "p90 < 1ms").met());
        document.ledger.unfinished = 300;
        assert!(judged(&document, "p90 < 1ms").met(), "5 % are not the slowest 10 %");
        document.ledger.unfinished = 700;
        let judgement = judged(&document, "p90 < 1h");
        assert_eq!(judgement.outcome, Outcome::NotMet);
        assert!(judgement.sentence.contains("expected response"), "{}", judgement.sentence);
        assert!(!judged(&document, "max < 1h").met());
        assert!(!judged(&document, "mean < 1h").met());
        assert!(judged(&document, "send_lag.p90 < 1ms").met());
        document.ledger.unfinished = 0;
        document.ledger.unsent = 700;
        assert!(!judged(&document, "p90 < 1h").met());
        assert!(judged(&document, "service.p90 < 1ms").met(), "unsent requests had no service");
    }

    #[test]
    fn what_got_no_response_at_all_has_no_mean_and_no_maximum() {
        let spoilt = |kind: ErrorKind| {
            let mut run = testing::healthy_open_run();
            let status = (kind == ErrorKind::Status).then_some(500);
            for one in run.requests.iter_mut().step_by(5) {
                one.outcome = RunOutcome::Failed { kind, status, after_ns: 300_000 };
            }
            run.document()
        };
        for kind in
            [ErrorKind::Closed, ErrorKind::Reset, ErrorKind::StreamReset, ErrorKind::Timeout]
        {
            let document = spoilt(kind);
            for of in ["max", "mean", "service.max", "service mean", "p90", "first_byte.p90"] {
                let judgement = judged(&document, &format!("{of} < 1h"));
                assert_eq!(judgement.outcome, Outcome::NotMet, "{kind:?}: {}", judgement.sentence);
            }
            assert!(judged(&document, "p50 < 1h").met(), "a fifth is not the slowest half");
        }
        // Of a step, only its own count.
        let mut run = testing::users_run();
        for one in run.requests.iter_mut().filter(|one| one.request == 1).step_by(5) {
            let (kind, status, after_ns) = (ErrorKind::Closed, None, 300_000);
            one.outcome = RunOutcome::Failed { kind, status, after_ns };
        }
        let document = run.document();
        for (of, outcome) in [("[cart] max", Outcome::NotMet), ("[login] max", Outcome::Met)] {
            assert_eq!(judged(&document, &format!("{of} < 1h")).outcome, outcome, "{of}");
        }
        // That a response is not the expected one does not hide how long it took.
        let document = spoilt(ErrorKind::Status);
        assert!(judged(&document, "max < 1h").met() && judged(&document, "mean < 1h").met());
        assert!(!judged(&document, "first_byte.p90 < 1h").met());
    }

    #[test]
    fn streams_that_failed_are_slower_than_all_others() {
        let mut run = testing::streams_run();
        for one in run.requests.iter_mut().step_by(5) {
            one.outcome =
                RunOutcome::Failed { kind: ErrorKind::Closed, status: None, after_ns: 300_000 };
        }
        let document = run.document();
        for of in ["first-event", "last-event", "longest-gap", "ttft", "tpot"] {
            let judgement = judged(&document, &format!("{of} p90 < 1h"));
            assert_eq!(judgement.outcome, Outcome::NotMet, "{}", judgement.sentence);
        }
        let judgement = judged(&document, "first-event p50 < 1h");
        assert!(judgement.met(), "{}", judgement.sentence);
        // Not one of them had an event, and each ended well.
        let mut without = testing::streams_run().document();
        let none = Distribution::of(&candor_record::Histogram::new(3));
        without.streams.as_mut().unwrap().first_event = none;
        for of in ["p50", "p99", "max", "mean"] {
            let judgement = judged(&without, &format!("first-event {of} < 1h"));
            assert_eq!(judgement.outcome, Outcome::NotMet, "{}", judgement.sentence);
        }
    }

    #[test]
    fn a_name_that_several_bear_is_refused() {
        let mut plan = testing::healthy_open_run().plan;
        let mut second = plan.work.requests()[0].clone();
        second.path = "/other".to_owned();
        let name = second.name.clone();
        plan.work = vec![plan.work.requests()[0].clone(), second].into();
        let expectation = Expectation::parse(&format!("[{name}] p99 < 1h")).unwrap();
        let why = expectation.check(&plan).unwrap_err();
        assert!(why.contains("2 requests or steps are named"), "{why}");
    }

    #[test]
    fn where_all_journeys_failed_their_steps_meet_nothing() {
        let mut document = testing::users_run().document();
        let journey = &mut document.users.as_mut().unwrap().journeys[0];
        (journey.completed, journey.failed) = (0, 3000);
        assert!(document.ledger.ok > 0);
        for of in ["p50 < 1h", "rate > 1/s", "error-rate < 60%", "journeys/s >= 0"] {
            assert_eq!(judged(&document, of).outcome, Outcome::NotMet, "{of}");
        }
        assert!(judged(&document, "[login] p50 < 1h").met());
        assert!(crate::experiment::figures::Figures::of(&document).nothing_worked());
    }

    #[test]
    fn a_run_in_which_nothing_worked_meets_nothing() {
        let expressions = ["p99 < 1h", "max < 1h", "error-rate < 1%", "rate >= 1%"];
        let counts = ["errors >= 0", "shed == 0", "unfinished == 0", "send_lag.p99 < 1h"];
        let mut hanging = testing::failing(500);
        (hanging.ledger.unfinished, hanging.ledger.errors) = (6000, 0);
        for document in [testing::empty_run().document(), testing::failing(500), hanging] {
            for expression in expressions.into_iter().chain(counts) {
                let outcome = judged(&document, expression).outcome;
                assert_eq!(outcome, Outcome::NotMet, "{expression}");
            }
        }
        let sentence = judged(&testing::failing(500), "shed == 0").sentence;
        assert_eq!(sentence, "shed == 0: not met, it was 0, but no request succeeded.");
    }

    /// Half of 6,000 requests were due and not sent: they are errors of an open load, and slower than all others.
    #[test]
    fn requests_that_were_never_sent_are_not_forgotten() {
        for spoil in [
            (|ledger| (ledger.unsent, ledger.ok, ledger.sent) = (3000, 3000, 3000)) as Spoil,
            |ledger| (ledger.shed, ledger.ok, ledger.sent) = (3000, 3000, 3000),
            |ledger| (ledger.errors, ledger.ok) = (3000, 3000),
        ] {
            let mut document = testing::healthy_open();
            spoil(&mut document.ledger);
            assert!(document.ledger.balances());
            let rate = judged(&document, "error-rate < 5%");
            assert_eq!((rate.outcome, rate.measured), (Outcome::NotMet, Some(0.5)));
            assert_eq!(judged(&document, "p99 < 1h").outcome, Outcome::NotMet);
            assert_eq!(judged(&document, "rate >= 99%").outcome, Outcome::NotMet);
        }
        let sentence = judged(&testing::healthy_open(), "error-rate > 5%").sentence;
        let words = "0 % of the scheduled requests did not succeed";
        assert!(sentence.contains(words), "{sentence}");
    }

    type Spoil = fn(&mut crate::document::counts::LedgerCounts);

    #[test]
    fn a_closed_load_whose_target_was_lost_meets_nothing_but_what_is_about_connections() {
        let mut document = testing::healthy_closed();
        assert!(judged(&document, "error-rate < 5%").met());
        assert!(judged(&document, "availability == 100%").met());
        for (interval, share) in document.intervals.iter_mut().zip([1.0, 0.5, 0.0]) {
            let connections = if share < 1.0 { 0 } else { 16 };
            (interval.availability, interval.connections) = (Some(share), connections);
        }
        let judgement = judged(&document, "error-rate < 5%");
        assert_eq!(judgement.outcome, Outcome::NotMet);
        let end = "but the target was lost after 1.5 s.";
        assert!(judgement.sentence.ends_with(end), "{}", judgement.sentence);
        let availability = judged(&document, "availability >= 50%");
        assert_eq!((availability.outcome, availability.measured), (Outcome::Met, Some(0.5)));
        assert!(judged(&document, "connect-errors == 0").met());
        document.intervals[0].availability = None;
        assert_eq!(judged(&document, "availability < 1%").outcome, Outcome::CannotTell);
    }

    #[test]
    fn goodput_is_a_share_or_a_rate() {
        let run = testing::goodput_run().document();
        let goodput = run.goodput.expect("the plan has limits");
        assert_eq!((goodput.good, goodput.share), (5400, Some(0.9)));
        let time_ns = run.time.elapsed_ns - run.time.warm_up_ns;
        assert_eq!(goodput.per_s, Some(5400.0 * 1e9 / time_ns as f64));
        for (expression, outcome) in [
            ("goodput >= 90%", Outcome::Met),
            ("goodput > 90%", Outcome::NotMet),
            ("goodput >= 1k/s", Outcome::Met),
            ("goodput >= 2k/s", Outcome::NotMet),
        ] {
            let judgement = judged(&run, expression);
            assert_eq!(judgement.outcome, outcome, "{}", judgement.sentence);
        }
        let expectation = Expectation::parse("goodput >= 90%").unwrap();
        assert_eq!(expectation.check(&run.plan), Ok(()));
        let without = testing::healthy_open();
        assert_eq!(expectation.judge(&without).outcome, Outcome::CannotTell);
        assert!(expectation.check(&without.plan).is_err(), "before the run");
        let weighed = |expression: &str, runs: &[&Document]| {
            Expectation::parse(expression).unwrap().weigh(runs)
        };
        let one = weighed("goodput >= 89.5%", &[&run]);
        assert_eq!((one.standing, one.measured), (Standing::Unsure, Some(0.9)));
        assert!(one.low < Some(0.895) && one.high > Some(0.905), "{one:?}");
        assert_eq!(weighed("goodput >= 85%", &[&run]).standing, Standing::Met);
        assert_eq!(weighed("goodput >= 95%", &[&run]).standing, Standing::NotMet);
        assert_eq!(weighed("goodput >= 89.5%", &[&run; 20]).standing, Standing::Met);
    }

    #[test]
    fn a_closed_load_has_no_share_of_a_rate() {
        let closed = testing::healthy_closed();
        assert!(judged(&closed, "rate >= 99%").sentence.contains("20k/s"));
        assert!(judged(&closed, "rate >= 20k/s").met());
        let check = |expression| Expectation::parse(expression).unwrap().check(&closed.plan);
        assert!(check("rate >= 99%").is_err(), "before the run");
        assert!(check("journeys/s >= 1").is_err(), "before the run");
        assert_eq!(check("rate >= 20k/s"), Ok(()));
        let open = testing::healthy_open().plan;
        assert_eq!(Expectation::parse("rate >= 99%").unwrap().check(&open), Ok(()));
    }

    #[test]
    fn the_document_keeps_the_results() {
        let mut document = testing::healthy_open();
        let wanted = ["p99 < 5ms", "errors == 1"].map(|one| Expectation::parse(one).unwrap());
        document.judge_expectations(&wanted[..1]);
        assert_eq!(document.gate(), Outcome::Met);
        document.judge_expectations(&wanted);
        assert_eq!(document.gate(), Outcome::NotMet);
        assert_eq!(document.expectations.len(), 2);
    }
}
