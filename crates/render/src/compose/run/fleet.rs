//! The fleet that made a run: its agents, their shares and clocks, and which of them were lost.

use candor_plan::units::{fmt_duration_ns, fmt_plural};

use crate::page::{Column, Section, Table};
use candor_report::Tone;
use candor_report::document::{Document, MachineRow};

/// The agents, each with its share and its clock.
pub(super) fn fleet(section: &mut Section, document: &Document) {
    let Some(summary) = summary(document) else { return };
    section.fact("Fleet", None, summary);
    for (_, agent, lost) in document.lost_agents() {
        let until = fmt_duration_ns(lost.known_to_ns);
        let text = format!("{} after {until} of results: {}", agent.name, lost.why);
        section.fact("Lost", Some(Tone::Bad), text);
    }
    let mut table =
        Table::new([Column::words("agent")].into_iter().chain(
            ["threads", "clock within", "clock drift", "mean response"].map(Column::figures),
        ));
    for machine in &document.machines {
        let Some(agent) = &machine.agent else { continue };
        let drift = agent.clock_drift_ppb.map(|ppb| format!("{:+.1} ppm", ppb as f64 / 1000.0));
        let means = document.workers_of(machine).iter().filter_map(|one| one.response_mean_ns);
        let (sum_ns, count) = means.fold((0.0, 0u32), |(sum, count), one| (sum + one, count + 1));
        let mean = (count > 0).then(|| fmt_duration_ns((sum_ns / f64::from(count)) as u64));
        table.row([
            agent.name.clone(),
            machine.workers.to_string(),
            agent.clock_bound_ns.map_or("–".to_owned(), fmt_duration_ns),
            drift.unwrap_or_else(|| "–".to_owned()),
            mean.unwrap_or_else(|| "–".to_owned()),
        ]);
    }
    section.table(table);
}

/// `4 agents, 8 threads, clocks within 69 µs, 1 lost`; `None` without a fleet.
pub(super) fn summary(document: &Document) -> Option<String> {
    let agents: Vec<&MachineRow> =
        document.machines.iter().filter(|machine| machine.agent.is_some()).collect();
    if agents.is_empty() {
        return None;
    }
    let threads: u64 = agents.iter().map(|machine| u64::from(machine.workers)).sum();
    let mut parts = vec![fmt_plural(agents.len() as u64, "agent"), fmt_plural(threads, "thread")];
    let bounds = agents.iter().filter_map(|machine| machine.agent.as_ref()?.clock_bound_ns);
    parts.extend(bounds.max().map(|ns| format!("clocks within {}", fmt_duration_ns(ns))));
    let lost: Vec<&str> = document.lost_agents().map(|(_, agent, _)| agent.name.as_str()).collect();
    if !lost.is_empty() {
        parts.push(format!("lost: {}", lost.join(", ")));
    }
    Some(parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::summary;
    use crate::page::Depth;
    use candor_report::Style;
    use candor_report::testing;

    #[test]
    fn a_fleet_is_summed_up() {
        assert_eq!(summary(&testing::healthy_open()), None);
        let healthy = summary(&testing::fleet::healthy());
        assert_eq!(healthy.as_deref(), Some("2 agents, 2 threads, clocks within 70 µs"));
        let text =
            super::super::page(&testing::fleet::degraded(), Depth::Terminal).text(Style::PLAIN);
        for words in
            ["lost: a1", "a1 after 2 s of results: it was silent", "-1.2 ppm", "unaccounted"]
        {
            assert!(text.contains(words), "{words:?} is not in {text}");
        }
    }
}
