//! Checks whether the loader, and not the server, made the numbers.

use candor_plan::units::{fmt_duration_ns, fmt_plural, fmt_share};

use super::{Finding, Severity};
use crate::document::latency::Latencies;
use crate::document::{Document, MachineRow, WorkerRow};

/// The share of its core above which a worker has no reserve for peaks.
const CPU_SHARE_LIMIT: f64 = 0.9;
/// The largest share of our lag in the reported response time.
const LAG_SHARE_LIMIT: f64 = 0.1;
/// Lag below this is the cost of a system call, whatever its share.
const LAG_FLOOR_NS: u64 = 100_000;

/// The largest share of the average batch of sends in the median service time.
const BATCH_SHARE_LIMIT: f64 = 0.1;

/// A thread is slower than the others if its mean response time is above theirs by this factor, and by this time.
const UNEVEN: f64 = 2.0;
const UNEVEN_NS: f64 = 200e3;

/// The share of time waiting for a core above which a thread shares it.
const WAITED_SHARE_LIMIT: f64 = 0.1;
/// Less waiting than this is normal on any machine.
const WAITED_FLOOR_NS: u64 = 50_000_000;

/// A worker used more than 90 % of its core, relative to the time in which it could have it: a
/// worker that shares its core and is never idle is at its limit, too. For a worker that never
/// sleeps, the time of polling without finding events does not count.
pub(super) fn cpu(document: &Document, machine: &MachineRow) -> Option<Finding> {
    let workers = document.workers_of(machine);
    let share = |worker: &WorkerRow| {
        let wall_ns = worker.wall_ns.max(1) as f64;
        let busy_share = (worker.cpu_share? - worker.spun_ns as f64 / wall_ns).max(0.0);
        let had_ns = worker.wall_ns.saturating_sub(worker.waited_ns.unwrap_or(0));
        Some(if had_ns > 0 { busy_share * wall_ns / had_ns as f64 } else { busy_share })
    };
    let shares = || workers.iter().filter_map(share);
    let busiest = shares().max_by(f64::total_cmp)?;
    let busy = shares().filter(|&share| share > CPU_SHARE_LIMIT).count();
    (busy > 0).then(|| Finding {
        severity: Severity::Warning,
        sentence: format!(
            "The loader may have been the limit: {busy} of {} threads used over {} of the core time they got \
             (busiest: {}).",
            workers.len(),
            fmt_share(CPU_SHARE_LIMIT),
            fmt_share(busiest)
        ),
        evidence: vec![
            ("busiest_cpu_share", busiest),
            ("busy_workers", busy as f64),
            ("workers", workers.len() as f64),
        ],
        remedy: "Add --threads on free cores, or run the loader on another machine than the target.",
    })
}

/// The requests of one thread take much longer than those of the others: it has a slower core, or an address that
/// is slower, and the percentiles mix the two.
pub(super) fn threads_uneven(document: &Document, machine: &MachineRow) -> Option<Finding> {
    let workers = (0..).zip(document.workers_of(machine));
    let mut means: Vec<(f64, u32)> =
        workers.filter_map(|(at, worker)| Some((worker.response_mean_ns?, at))).collect();
    means.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (slowest_ns, at) = means.pop().filter(|_| !means.is_empty())?;
    let others_ns = means.iter().map(|(mean_ns, _)| mean_ns).sum::<f64>() / means.len() as f64;
    let is_uneven = slowest_ns > others_ns * UNEVEN && slowest_ns - others_ns > UNEVEN_NS;
    is_uneven.then(|| Finding {
        severity: Severity::Warning,
        sentence: format!(
            "The threads were uneven: the requests of thread {} took {} in the mean, those of the others {}.",
            at + 1,
            fmt_duration_ns(slowest_ns as u64),
            fmt_duration_ns(others_ns as u64)
        ),
        evidence: vec![("slowest_mean_ns", slowest_ns), ("others_mean_ns", others_ns)],
        remedy: "Look at what else runs on its core, and at the target's addresses; use --threads 1 to compare.",
    })
}

/// A worker was ready to run and waited for its core.
pub(super) fn shared_core(document: &Document, machine: &MachineRow) -> Option<Finding> {
    let share =
        |worker: &WorkerRow| worker.waited_ns.unwrap_or(0) as f64 / worker.wall_ns.max(1) as f64;
    let worst = document.workers_of(machine).iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let waited_ns = worst.waited_ns?;
    let shared = share(worst) > WAITED_SHARE_LIMIT && waited_ns > WAITED_FLOOR_NS;
    shared.then(|| Finding {
        severity: Severity::Warning,
        sentence: format!(
            "The loader shared a core: a thread waited for it {} of {} ({}) and was preempted {}.",
            fmt_duration_ns(waited_ns),
            fmt_duration_ns(worst.wall_ns),
            fmt_share(share(worst)),
            fmt_plural(worst.involuntary_switches, "time")
        ),
        evidence: vec![
            ("waited_ns", waited_ns as f64),
            ("waited_share", share(worst)),
            ("involuntary_switches", worst.involuntary_switches as f64),
        ],
        remedy: "Keep the target and other work off the loader's cores, or use another machine.",
    })
}

/// Requests left in batches that are a material share of the time that is measured.
pub(super) fn batches(document: &Document, machine: &MachineRow) -> Option<Finding> {
    let service_ns = document.latencies.service.percentile_ns("p50")?;
    let took_ns = |worker: &WorkerRow| {
        let batches = worker.batches.filter(|batches| batches.count > 0)?;
        Some(batches.took_ns as f64 / batches.count as f64)
    };
    let took_ns = document.workers_of(machine).iter().filter_map(took_ns).max_by(f64::total_cmp)?;
    let share = took_ns / service_ns.max(1) as f64;
    (share > BATCH_SHARE_LIMIT).then(|| Finding {
        severity: Severity::Note,
        sentence: format!(
            "Requests left together: a batch took {}, {} of the median service time, and when each of its requests \
             left is not known more exactly.",
            fmt_duration_ns(took_ns as u64),
            fmt_share(share)
        ),
        evidence: vec![("batch_ns", took_ns), ("share", share)],
        remedy: "With --reactor epoll each request leaves by itself, for more CPU time.",
    })
}

/// Our lag is a material share of the percentile being reported.
pub(super) fn send_lag(document: &Document) -> Option<Finding> {
    let Latencies { send_lag, response, .. } = &document.latencies;
    // The highest percentile that both have: with few samples, or clumps of slow ones, p99 is none.
    let (row, lag_ns, response_ns) = ["p99", "p95", "p90"]
        .into_iter()
        .find_map(|row| Some((row, send_lag.percentile_ns(row)?, response.percentile_ns(row)?)))?;
    let material = lag_ns > LAG_FLOOR_NS && lag_ns as f64 > response_ns as f64 * LAG_SHARE_LIMIT;
    material.then(|| Finding {
        severity: Severity::Warning,
        sentence: format!(
            "The loader was late: {row} send lag {} is more than a tenth of {row} response time {}.",
            fmt_duration_ns(lag_ns),
            fmt_duration_ns(response_ns)
        ),
        evidence: vec![("send_lag_ns", lag_ns as f64), ("response_ns", response_ns as f64)],
        remedy: match document.plan.load.is_open() {
            true => "Lower the rate, add --threads, or keep the target off the loader's cores.",
            false => "Lower the connections, add --threads, or keep the target off the loader's cores.",
        },
    })
}

#[cfg(test)]
mod tests {
    use candor_record::Batches;

    use super::super::found;
    use crate::testing;

    #[test]
    fn batches_that_take_long_beside_a_response() {
        let mut document = testing::healthy_open();
        let service_ns = document.latencies.service.percentile_ns("p50").unwrap();
        let batches = |took_ns| Batches { count: 10, sends: 50, took_ns, longest_ns: took_ns };
        document.workers[1].batches = Some(batches(service_ns / 10 * 9));
        assert!(found(&document, "batched").is_none());
        document.workers[1].batches = Some(batches(service_ns * 2));
        let verdict = found(&document, "batched").unwrap();
        assert!((verdict.evidence["share"] - 0.2).abs() < 0.01, "{:?}", verdict.evidence);
        document.workers[1].batches = Some(Batches::default());
        assert!(found(&document, "batched").is_none());
    }

    #[test]
    fn a_busy_worker() {
        let mut document = testing::healthy_open();
        document.workers[1].waited_ns = Some(0);
        document.workers[1].cpu_share = Some(0.9);
        assert!(found(&document, "loader-cpu").is_none());
        document.workers[1].cpu_share = Some(0.93);
        let verdict = found(&document, "loader-cpu").unwrap();
        assert!(verdict.sentence.contains("1 of 2 threads"), "{}", verdict.sentence);
        assert_eq!(verdict.evidence["busiest_cpu_share"], 0.93);
        // A thread that never sleeps is not busy while it polls without finding events.
        let wall_ns = document.workers[1].wall_ns;
        document.workers[1].spun_ns = wall_ns / 10;
        assert!(found(&document, "loader-cpu").is_none());
        document.workers[1].spun_ns = wall_ns / 100;
        assert!(found(&document, "loader-cpu").is_some());
    }

    #[test]
    fn a_worker_that_is_never_idle_on_a_shared_core_is_at_its_limit() {
        let mut document = testing::healthy_open();
        let wall_ns = document.workers[0].wall_ns;
        document.workers[0].cpu_share = Some(0.48);
        assert!(found(&document, "loader-cpu").is_none());
        document.workers[0].waited_ns = Some(wall_ns / 2);
        assert!(found(&document, "loader-cpu").is_some());
        let verdict = found(&document, "shared-core").unwrap();
        assert!((verdict.evidence["waited_share"] - 0.5).abs() < 0.01);
        // With little to do, it only waits.
        document.workers[0].cpu_share = Some(0.1);
        assert!(found(&document, "loader-cpu").is_none());
        document.workers[0].waited_ns = Some(wall_ns / 20);
        assert!(found(&document, "shared-core").is_none());
    }

    #[test]
    fn lag_counts_when_it_is_large_and_a_large_share() {
        let mut document = testing::healthy_open();
        let mut set = |lag_ns, response_ns| {
            document.latencies.send_lag.percentiles_ns.insert("p99".into(), Some(lag_ns));
            document.latencies.response.percentiles_ns.insert("p99".into(), Some(response_ns));
            found(&document, "send-lag").is_some()
        };
        assert!(set(200_000, 1_000_000));
        assert!(!set(90_000, 100_000), "below the floor");
        assert!(!set(200_000, 3_000_000), "a small share");
        // Without a p99, the next percentile that is known tells it.
        let mut document = testing::healthy_open();
        for (row, lag_ns) in [("p95", 150_000), ("p90", 120_000)] {
            document.latencies.send_lag.percentiles_ns.insert(row.into(), Some(lag_ns));
            document.latencies.response.percentiles_ns.insert(row.into(), Some(1_000_000));
        }
        document.latencies.response.percentiles_ns.insert("p99".into(), None);
        assert_eq!(found(&document, "send-lag").unwrap().evidence["send_lag_ns"], 150_000.0);
    }
}
