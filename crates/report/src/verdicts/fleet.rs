//! Runs on many machines: lost agents, clocks, and machines that differ.

use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_plural};

use super::{Finding, Severity};
use crate::document::{Document, MachineRow};

/// Ramps, bursts and intervals are as exact as the clocks agree.
const CLOCKS_NS: u64 = 10_000_000;
/// A machine whose mean response time is larger than that of the others by this factor,
const UNEVEN: f64 = 1.5;
/// and by this time, is a different place to measure from.
const UNEVEN_NS: f64 = 1e6;

/// Agents did not do all of their share.
pub(super) fn agent_lost(document: &Document) -> Option<Finding> {
    let count = document.lost_agents().count();
    let (_, agent, lost) = document.lost_agents().min_by_key(|(_, _, lost)| lost.known_to_ns)?;
    let ledger = &document.ledger;
    let others = match count - 1 {
        0 => String::new(),
        others => format!(", and {} later", fmt_plural(others as u64, "other agent")),
    };
    // With journeys the schedule is one of users.
    let (unaccounted, what) = match &document.users {
        Some(users) => (users.unaccounted, "user"),
        None => (ledger.unaccounted.saturating_add(document.warm_up.unaccounted), "request"),
    };
    let missing = match unaccounted {
        0 => "the result lacks the rest of its share".to_owned(),
        1 => format!("1 scheduled {what} is unaccounted for"),
        _ => format!("{} scheduled {what}s are unaccounted for", fmt_count(unaccounted)),
    };
    Some(Finding {
        severity: Severity::Warning,
        sentence: format!(
            "Agent {} was lost{others}: {}; its results end {} into the run, and {missing}.",
            agent.name,
            lost.why,
            fmt_duration_ns(lost.known_to_ns)
        ),
        evidence: vec![
            ("agents_lost", count as f64),
            ("unaccounted", unaccounted as f64),
            ("known_to_ns", lost.known_to_ns as f64),
        ],
        remedy: "Look at that machine and its network, then run again.",
    })
}

/// The clocks of agents may differ by more than their intervals bear.
pub(super) fn clock_unsure(document: &Document) -> Option<Finding> {
    if document.machines.len() < 2 {
        return None;
    }
    let bound = |machine: &MachineRow| {
        let agent = machine.agent.clone()?;
        Some((agent.clock_bound_ns?, agent.name))
    };
    let (bound_ns, name) = document.machines.iter().filter_map(bound).max()?;
    (bound_ns > CLOCKS_NS).then(|| Finding {
        severity: Severity::Warning,
        sentence: format!(
            "The clock of agent {name} is known to {} only: ramps, bursts and single intervals are as \
             blurred; counts and latencies are right.",
            fmt_duration_ns(bound_ns)
        ),
        evidence: vec![("clock_bound_ns", bound_ns as f64)],
        remedy: "Put the broker and the agents into one network, and run again.",
    })
}

/// One machine measures other response times than the rest.
pub(super) fn uneven(document: &Document) -> Option<Finding> {
    let mut means: Vec<(f64, &str)> = document
        .machines
        .iter()
        .filter_map(|machine| {
            let name = machine.agent.as_ref()?.name.as_str();
            Some((
                mean_ns(document.workers_of(machine).iter().map(|one| one.response_mean_ns))?,
                name,
            ))
        })
        .collect();
    means.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (slowest_ns, name) = means.pop()?;
    let others_ns = mean_ns(means.iter().map(|(mean_ns, _)| Some(*mean_ns)))?;
    let is_uneven = slowest_ns > others_ns * UNEVEN && slowest_ns - others_ns > UNEVEN_NS;
    is_uneven.then(|| Finding {
        severity: Severity::Warning,
        sentence: format!(
            "Agent {name} sees a mean response time of {}, the others {}: the merged percentiles mix two \
             distances.",
            fmt_duration_ns(slowest_ns as u64),
            fmt_duration_ns(others_ns as u64)
        ),
        evidence: vec![("slowest_mean_ns", slowest_ns), ("others_mean_ns", others_ns)],
        remedy: "Compare that machine's network and load with the others', or leave it out.",
    })
}

/// The mean of those that are known.
fn mean_ns(all: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (sum, count) = all.flatten().fold((0.0, 0u32), |(sum, count), one| (sum + one, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use crate::document::Document;
    use crate::document::users::Users;
    use crate::testing;
    use candor_record::Lost;

    fn sentence(document: &Document, id: &str) -> Option<String> {
        found(document, id).map(|one| one.sentence)
    }

    #[test]
    fn a_healthy_fleet_provokes_nothing() {
        for id in ["agent-lost", "clock-unsure", "fleet-uneven"] {
            assert_eq!(sentence(&testing::fleet::healthy(), id), None);
        }
    }

    #[test]
    fn a_degraded_run_is_not_invalid() {
        let document = testing::fleet::degraded();
        let ids: Vec<_> = document.verdicts.iter().map(|one| one.id.as_str()).collect();
        assert!(!document.is_invalid() && ids.contains(&"agent-lost"), "{:?}", document.verdicts);
    }

    #[test]
    fn the_first_lost_agent_is_named() {
        let mut document = testing::fleet::healthy();
        let mut lose = |at: usize, known_to_ns| {
            let agent = document.machines[at].agent.as_mut().unwrap();
            agent.lost = Some(Lost { why: "it was restarted".to_owned(), known_to_ns });
            sentence(&document, "agent-lost").unwrap()
        };
        let one = lose(0, 3_000_000_000);
        assert!(
            one.starts_with("Agent a0 was lost: it was restarted; its results end 3 s"),
            "{one}"
        );
        let two = lose(1, 2_000_000_000);
        assert!(two.starts_with("Agent a1 was lost, and 1 other agent later"), "{two}");
        document.ledger.unaccounted = 1234;
        let text = sentence(&document, "agent-lost").unwrap();
        assert!(text.contains("1,234 scheduled requests are unaccounted for"), "{text}");
        // With journeys the schedule is one of users.
        let users = testing::users_run().document().users.unwrap();
        document.users = Some(Users { unaccounted: 1, ..users });
        let text = sentence(&document, "agent-lost").unwrap();
        assert!(text.contains("1 scheduled user is unaccounted for"), "{text}");
    }

    #[test]
    fn clocks_are_known_to_ten_milliseconds() {
        let mut document = testing::fleet::healthy();
        let mut with = |bound_ns| {
            document.machines[1].agent.as_mut().unwrap().clock_bound_ns = bound_ns;
            sentence(&document, "clock-unsure")
        };
        assert_eq!((with(None), with(Some(10_000_000))), (None, None));
        assert!(with(Some(10_000_001)).is_some_and(|text| text.contains("agent a1")));
        document.machines.truncate(1);
        document.machines[0].agent.as_mut().unwrap().clock_bound_ns = Some(u64::MAX);
        assert_eq!(sentence(&document, "clock-unsure"), None);
    }

    #[test]
    fn a_machine_that_is_farther_away_is_found() {
        let mut document = testing::fleet::healthy();
        let mut with = |one_ns, other_ns| {
            document.workers[0].response_mean_ns = Some(one_ns);
            document.workers[1].response_mean_ns = Some(other_ns);
            sentence(&document, "fleet-uneven")
        };
        assert_eq!((with(2e6, 2.9e6), with(2e5, 9e5)), (None, None));
        let text = with(2e6, 3.1e6).unwrap();
        assert!(
            text.starts_with("Agent a1 sees a mean response time of 3.1 ms, the others 2 ms"),
            "{text}"
        );
    }
}
