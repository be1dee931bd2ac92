//! Verdicts: named findings about how far a result can be trusted.
//!
//! A verdict is a value: a pure function finds it in the document, the document keeps it, and renderings
//! print it. It changes nothing else. A document is judged when it is made ([`Document::new`]), and again when a
//! target, a profiler or an abort becomes part of it. To add a verdict: write a function in the module of its
//! subject (or a new module), and put it into the table `CHECKS` with its id and its subject. A test here makes sure
//! that every id in the table is provoked by some test document and that healthy documents provoke none.

mod addresses;
mod connections;
mod credentials;
mod ending;
mod errors;
mod fleet;
mod loader;
mod lost;
mod machine;
mod profiling;
mod quic;
mod rate;
mod replies;
mod samples;
mod stalls;
mod steady;
mod tcp;
mod tls;
mod truth;

use candor_plan::Plan;
use candor_record::RunRecord;

use crate::document::profile::Profile;
use crate::document::target::Resources;
use crate::document::{
    Document, EndReason, Ending, Facts, Judgement, MachineRow, Severity, Verdict,
};

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// What was measured: the target, the load, the result itself.
    Measured,
    /// The loader, which may have been the limit.
    Limit,
    /// A pause of the loader's own machine.
    Pause,
    /// The loader's threads, compared with each other.
    Threads,
}

impl Subject {
    /// Whether it is the loader or its machine, and not the target.
    pub fn is_loader(self) -> bool {
        self != Subject::Measured
    }
}

impl Verdict {
    /// What it is about. An id of another version is taken for one about what was measured.
    pub fn subject(&self) -> Subject {
        let check = CHECKS.iter().find(|check| check.id == self.id);
        check.map_or(Subject::Measured, |check| check.about)
    }
}

/// One entry of the table: an id, its subject, and its check.
struct Check {
    id: &'static str,
    about: Subject,
    find: Find,
}

/// What a check looks at.
enum Find {
    /// The run.
    Run(fn(&Document) -> Option<Finding>),
    /// Each of its machines separately.
    Machine(fn(&Document, &MachineRow) -> Option<Finding>),
}

use Find::{Machine, Run};
use Subject::{Limit, Measured, Pause, Threads};

/// The finding of a check; the table adds the id.
struct Finding {
    severity: Severity,
    sentence: String,
    evidence: Vec<(&'static str, f64)>,
    remedy: &'static str,
}

/// Every check, in the order of reports.
const CHECKS: &[Check] = &[
    Check { id: "ledger", about: Measured, find: Run(truth::ledger) },
    Check { id: "impossible", about: Measured, find: Run(truth::impossible) },
    Check { id: "schedule", about: Measured, find: Run(truth::schedule) },
    Check { id: "nothing-sent", about: Measured, find: Run(rate::nothing_sent) },
    Check { id: "no-rate", about: Measured, find: Run(rate::no_rate) },
    Check { id: "replies-mispaired", about: Measured, find: Run(replies::mispaired) },
    Check { id: "target-lost", about: Measured, find: Run(lost::target_lost) },
    Check { id: "target-failed", about: Measured, find: Run(lost::target_failed) },
    Check { id: "interrupted", about: Measured, find: Run(ending::interrupted) },
    Check { id: "aborted", about: Measured, find: Run(ending::aborted) },
    Check { id: "gave-up", about: Measured, find: Run(ending::gave_up) },
    Check { id: "script-failed", about: Measured, find: Run(ending::script_failed) },
    Check { id: "data-failed", about: Measured, find: Run(ending::data_failed) },
    Check { id: "target-ended", about: Measured, find: Run(ending::target_ended) },
    Check { id: "agent-lost", about: Measured, find: Run(fleet::agent_lost) },
    Check { id: "profiled", about: Measured, find: Run(profiling::profiled) },
    Check { id: "profile-failed", about: Measured, find: Run(profiling::profile_failed) },
    Check { id: "errors-dominate", about: Measured, find: Run(errors::dominate) },
    Check { id: "loader-cpu", about: Limit, find: Machine(loader::cpu) },
    Check { id: "send-lag", about: Limit, find: Run(loader::send_lag) },
    Check { id: "batched", about: Measured, find: Machine(loader::batches) },
    Check { id: "shared-core", about: Limit, find: Machine(loader::shared_core) },
    Check { id: "threads-uneven", about: Threads, find: Machine(loader::threads_uneven) },
    Check { id: "host-hiccup", about: Pause, find: Machine(machine::host_hiccup) },
    Check { id: "loader-throttled", about: Limit, find: Machine(machine::loader_throttled) },
    Check { id: "agent-throttled", about: Limit, find: Machine(machine::agent_throttled) },
    Check { id: "clock-jump", about: Pause, find: Machine(machine::clock_jump) },
    Check { id: "clock-unsure", about: Measured, find: Run(fleet::clock_unsure) },
    Check { id: "fleet-uneven", about: Measured, find: Run(fleet::uneven) },
    Check { id: "target-not-met", about: Measured, find: Run(rate::target_not_met) },
    Check { id: "no-journey-completed", about: Measured, find: Run(ending::no_journey_completed) },
    Check { id: "backlog-growing", about: Measured, find: Run(rate::backlog_growing) },
    Check { id: "coordinated-omission", about: Measured, find: Run(stalls::coordinated_omission) },
    Check { id: "target-stalled", about: Measured, find: Run(stalls::target_stalled) },
    Check { id: "not-stationary", about: Measured, find: Run(steady::not_stationary) },
    Check { id: "nagle-delayed-ack", about: Measured, find: Run(tcp::nagle_delayed_ack) },
    Check { id: "syn-retransmit", about: Measured, find: Run(tcp::syn_retransmit) },
    Check { id: "datagrams-dropped", about: Limit, find: Run(quic::datagrams_dropped) },
    Check { id: "window-limited", about: Limit, find: Run(quic::window_limited) },
    Check { id: "auth-expired", about: Measured, find: Run(credentials::expired) },
    Check { id: "credential-not-renewed", about: Measured, find: Run(credentials::not_renewed) },
    Check { id: "redirects", about: Measured, find: Run(errors::redirects) },
    Check { id: "deviating-responses", about: Measured, find: Run(errors::deviating) },
    Check { id: "censored", about: Measured, find: Run(samples::censored) },
    Check { id: "clumped-samples", about: Measured, find: Run(samples::clumped) },
    Check { id: "too-few-samples", about: Measured, find: Run(samples::too_few) },
    Check { id: "address-down", about: Measured, find: Run(addresses::down) },
    Check { id: "address-slow", about: Measured, find: Run(addresses::slow) },
    Check { id: "name-not-resolved", about: Measured, find: Run(addresses::not_resolved) },
    Check { id: "connections-stuck", about: Measured, find: Run(connections::stuck) },
    Check { id: "fewer-connections", about: Measured, find: Run(connections::fewer) },
    Check { id: "ports-exhausted", about: Measured, find: Run(connections::ports_exhausted) },
    Check { id: "fds-exhausted", about: Measured, find: Run(connections::fds_exhausted) },
    Check { id: "tls-unverified", about: Measured, find: Run(tls::unverified) },
];

/// All verdicts on a document, the worst first.
pub fn judge(document: &Document) -> Vec<Verdict> {
    let mut verdicts: Vec<_> = CHECKS.iter().flat_map(|check| check.verdicts(document)).collect();
    verdicts.sort_by_key(|verdict| std::cmp::Reverse(verdict.severity));
    verdicts
}

impl Document {
    /// The document of a finished run, with its verdicts.
    pub fn new(facts: &Facts, plan: &Plan, record: &RunRecord) -> Self {
        let arguments = facts.typed.shown(plan.secrets);
        let mut document = Document::unjudged(facts, arguments, plan.redacted(), plan, record);
        document.verdicts = judge(&document);
        document
    }

    /// A condition of the user ended the run, unless a signal came too: enters its outcome, and judges again.
    pub fn set_aborted(&mut self, why: Judgement) {
        self.end = Ending { reason: EndReason::Aborted, partial: true };
        self.expectations.insert(0, why);
        self.verdicts = judge(self);
    }

    /// Sets the resources of a managed target, and judges again. A target that ended has ended the
    /// run, unless a signal came too.
    pub fn set_target(&mut self, resources: Resources, interrupted: bool) {
        if resources.ended.is_some() && !interrupted {
            self.end = Ending { reason: EndReason::TargetEnded, partial: true };
        }
        self.target = Some(resources);
        self.verdicts = judge(self);
    }

    /// Sets the outcome of a profiler, and judges again.
    pub fn set_profile(&mut self, profile: Profile) {
        self.profile = Some(profile);
        self.verdicts = judge(self);
    }

    /// Whether its figures contradict each other. A target that never responded does not make them do so.
    pub fn is_contradictory(&self) -> bool {
        let checks = [truth::ledger, truth::impossible, truth::schedule];
        checks
            .iter()
            .any(|find| find(self).is_some_and(|finding| finding.severity == Severity::Invalid))
    }
}

impl Check {
    fn verdicts(&self, document: &Document) -> Vec<Verdict> {
        match self.find {
            Run(find) => {
                find(document).map(|found| self.verdict(found, None)).into_iter().collect()
            }
            Machine(find) => {
                let several = document.machines.len() > 1;
                (0..)
                    .zip(&document.machines)
                    .filter_map(|(at, machine)| Some((at, find(document, machine)?)))
                    .map(|(at, found)| self.verdict(found, several.then_some(at)))
                    .collect()
            }
        }
    }

    fn verdict(&self, finding: Finding, machine: Option<u32>) -> Verdict {
        let Finding { severity, sentence, evidence, remedy } = finding;
        let sentence = match machine {
            None => sentence,
            Some(at) => format!("Machine {}: {sentence}", at + 1),
        };
        // JSON has no number for infinity.
        let evidence = evidence.into_iter().filter(|(_, value)| value.is_finite());
        Verdict {
            id: self.id.to_owned(),
            severity,
            sentence,
            evidence: evidence.map(|(name, value)| (name.to_owned(), value)).collect(),
            remedy: remedy.to_owned(),
            machine,
        }
    }
}

/// For tests of checks: the verdict with this id on this document, judged afresh.
#[cfg(test)]
fn found(document: &Document, id: &str) -> Option<Verdict> {
    judge(document).into_iter().find(|verdict| verdict.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn healthy_documents_provoke_nothing() {
        for document in [testing::healthy_open(), testing::healthy_closed()] {
            assert_eq!(document.verdicts, []);
        }
    }

    #[test]
    fn the_broken_run_provokes_what_it_is_made_of() {
        let document = testing::broken();
        let ids: Vec<_> = document.verdicts.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "interrupted",
                "errors-dominate",
                "loader-cpu",
                "send-lag",
                "target-not-met",
                "backlog-growing",
                "censored",
                "fewer-connections",
                "ports-exhausted",
                "fds-exhausted",
                "clumped-samples",
            ]
        );
        assert!(document.verdicts.is_sorted_by_key(|one| std::cmp::Reverse(one.severity)));
    }

    #[test]
    fn every_check_is_provoked_by_some_document() {
        let mut spoilt = testing::healthy_open();
        spoilt.ledger.ok += 1;
        spoilt.verdicts = judge(&spoilt);
        let (mut unsent, mut late) = (testing::healthy_open(), testing::healthy_open());
        (unsent.ledger.sent, unsent.warm_up.sent) = (0, 0);
        late.rate.answered_in_window = 0;
        let (mut limited, mut agent) = (testing::healthy_open(), testing::fleet::healthy());
        let throttled = candor_record::Throttled { periods: 12, waited_ns: 600_000_000 };
        (limited.machines[0].throttled, agent.machines[1].throttled) =
            (Some(throttled), Some(throttled));
        let mut aborted = testing::healthy_open();
        let why = crate::Expectation::parse("errors > 0").unwrap().judge(&aborted);
        aborted.set_aborted(why);
        let mut together = testing::healthy_closed();
        let service_ns = together.latencies.service.percentile_ns("p50").unwrap();
        let (took_ns, longest_ns) = (service_ns, service_ns);
        together.workers[0].batches =
            Some(candor_record::Batches { count: 1, sends: 9, took_ns, longest_ns });
        let mut uneven = testing::healthy_open();
        uneven.workers = vec![uneven.workers[0].clone(), uneven.workers[0].clone()];
        uneven.machines[0].workers = 2;
        (uneven.workers[0].response_mean_ns, uneven.workers[1].response_mean_ns) =
            (Some(1e6), Some(3e6));
        let spoilt_ones = [&mut unsent, &mut late, &mut limited, &mut agent, &mut together];
        for document in spoilt_ones.into_iter().chain([&mut uneven]) {
            document.verdicts = judge(document);
        }
        let mut early = testing::users_run().document();
        for one in &mut early.users.as_mut().unwrap().journeys {
            (one.completed, one.failed) = (0, 0);
        }
        early.verdicts = judge(&early);
        let mut greeted = testing::messages();
        greeted.parts.unasked = 1;
        greeted.verdicts = judge(&greeted);
        let mut quic = testing::healthy_open();
        let mut paths = candor_record::Paths::new(3);
        paths.counts.stopped_by_window = u64::MAX;
        quic.paths = Some(crate::document::paths::Paths::of(&paths));
        quic.datagrams.dropped = 1;
        quic.verdicts = judge(&quic);
        let documents = testing::every_document()
            .into_iter()
            .chain(testing::provoked())
            .chain([testing::failing(401), testing::renewed(1), testing::resolved_again(1, 0)])
            .chain([
                spoilt,
                unsent,
                late,
                aborted,
                limited,
                agent,
                together,
                greeted,
                uneven,
                quic,
                early,
                testing::of_two_targets((0, 0, 0, 36)),
            ]);
        let found: std::collections::BTreeSet<_> =
            documents.flat_map(|one| one.verdicts).map(|one| one.id).collect();
        for check in CHECKS {
            assert!(found.contains(check.id), "nothing provokes {}", check.id);
        }
    }

    /// Trials count some of them as the loader's, and pages name them where they describe the loader.
    #[test]
    fn findings_about_the_loader_are_these() {
        let of = |subject| -> Vec<&str> {
            CHECKS.iter().filter(|check| check.about == subject).map(|check| check.id).collect()
        };
        let limits =
            ["loader-cpu", "send-lag", "shared-core", "loader-throttled", "agent-throttled"];
        let of_quic = ["datagrams-dropped", "window-limited"];
        assert_eq!(of(Limit), [&limits[..], &of_quic].concat());
        assert_eq!(of(Pause), ["host-hiccup", "clock-jump"]);
        assert_eq!(of(Threads), ["threads-uneven"]);
        let mut verdict = testing::broken().verdicts.remove(0);
        for (id, subject) in [("send-lag", Limit), ("clock-jump", Pause), ("later", Measured)] {
            verdict.id = id.to_owned();
            assert_eq!((verdict.subject(), subject.is_loader()), (subject, id != "later"));
        }
    }

    #[test]
    fn ids_are_unique_and_sentences_end() {
        let ids: std::collections::BTreeSet<_> = CHECKS.iter().map(|check| check.id).collect();
        assert_eq!(ids.len(), CHECKS.len());
        for document in testing::every_document().into_iter().chain(testing::provoked()) {
            for verdict in &document.verdicts {
                assert!(verdict.sentence.ends_with('.'), "{verdict:?}");
                assert!(verdict.remedy.ends_with('.'), "{verdict:?}");
                assert!(!verdict.evidence.is_empty(), "{verdict:?}");
            }
        }
    }
}
