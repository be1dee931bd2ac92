//! The machine: its cores, its limits, and what it is.
//!
//! Limits are checked before a run, so that a run that cannot be made says so at once and in
//! terms of what was asked.

pub(crate) mod child;
pub(crate) mod hiccup;
pub(crate) mod memory;
pub(crate) mod throttle;
pub(crate) mod topology;

use std::fs;
use std::sync::Arc;

use candor_plan::Plan;
use candor_record::Host;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::EngineError;
use crate::reactor::socket::Address;

/// Files that a run needs besides its connections and its threads' own: standard streams, results,
/// /proc.
const OTHER_FILES: u64 = 24;

/// The cores this process may use, in ascending order.
pub fn usable_cores() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect(),
        Err(_) => {
            let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            (0..count).collect()
        }
    }
}

/// The number of cores that this process may use and has CPU time for.
pub fn core_count() -> usize {
    within_quota(usable_cores().len())
}

/// For how many of `cores` there is CPU time. The control groups of a container may limit it, and show all cores.
pub fn within_quota(cores: usize) -> usize {
    throttle::quota().map_or(cores, |most| cores.min(most))
}

/// Keeps the calling thread, and processes that it starts, to these cores. Returns whether that
/// worked.
pub fn keep_to_cores(cores: &[usize]) -> bool {
    let mut set = CpuSet::new();
    for &core in cores {
        set.set(core);
    }
    sched_setaffinity(None, &set).is_ok()
}

/// Raises the limit of open files as far as needed and allowed.
pub(crate) fn reserve_files(connections: u32, threads: u32) -> Result<(), EngineError> {
    let Some(raised) = raised_limit(connections, threads, getrlimit(Resource::Nofile))? else {
        return Ok(());
    };
    setrlimit(Resource::Nofile, raised).map_err(|errno| EngineError::System {
        what: "raise the limit of open files",
        reason: std::io::Error::from(errno).to_string(),
    })
}

/// The limit that a run with these connections and threads needs, if `limit` is too low.
fn raised_limit(
    connections: u32,
    threads: u32,
    limit: Rlimit,
) -> Result<Option<Rlimit>, EngineError> {
    // Each thread has an epoll instance or a ring of its own.
    let needed = u64::from(connections) + u64::from(threads) + OTHER_FILES;
    let hard = limit.maximum.unwrap_or(u64::MAX);
    if limit.current.unwrap_or(u64::MAX) >= needed {
        return Ok(None);
    }
    if needed > hard {
        return Err(EngineError::OpenFiles { connections, threads, needed, limit: hard });
    }
    Ok(Some(Rlimit { current: Some(needed.max(1024).min(hard)), maximum: limit.maximum }))
}

/// Number of local ports that the system hands out for connections.
fn local_ports() -> Option<u64> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut bounds = text.split_ascii_whitespace().map(str::parse::<u64>);
    let (low, high) = (bounds.next()?.ok()?, bounds.next()?.ok()?);
    Some((high + 1).saturating_sub(low))
}

/// Checks that there are local ports enough: each pair of local and remote address has its own.
pub(crate) fn check_ports(plan: &Plan, targets: &[Arc<[Address]>]) -> Result<(), EngineError> {
    let Some(range) = local_ports() else { return Ok(()) };
    let sources = plan.connections.sources.len().max(1) as u64;
    for (target, addresses) in plan.targets().zip(targets) {
        let is_tcp = |one: &&Address| matches!(one, Address::Tcp(_));
        let destinations = addresses.iter().filter(is_tcp).count() as u64;
        let ports = range.saturating_mul(sources).saturating_mul(destinations);
        let (_, connections) = plan.connections_to(target);
        if destinations > 0 && u64::from(connections) > ports {
            return Err(EngineError::Ports { connections, ports, range, sources, destinations });
        }
    }
    Ok(())
}

/// Asks the machine what it is.
pub fn host() -> Host {
    let line = |path: &str| {
        fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|t| !t.is_empty())
    };
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        cpuinfo
            .lines()
            .find_map(|line| line.split_once(':').filter(|(key, _)| key.trim() == name))
            .map(|(_, value)| value.trim().to_owned())
    };
    let is_virtual = field("flags").is_some_and(|all| all.split(' ').any(|f| f == "hypervisor"));
    let maker =
        || line("/sys/class/dmi/id/sys_vendor").unwrap_or_else(|| "virtual machine".to_owned());
    let memory_kib = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        total.trim().trim_end_matches(" kB").parse::<u64>().ok()
    });
    Host {
        cpu: field("model name"),
        cores: u32::try_from(core_count()).ok(),
        kernel: line("/proc/sys/kernel/osrelease"),
        virtualisation: is_virtual.then(maker),
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        memory_bytes: memory_kib.map(|kib| kib * 1024),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_needs_a_file_for_each_connection_and_each_thread() {
        let limit = |current, maximum| Rlimit { current: Some(current), maximum: Some(maximum) };
        let raised = |threads, limit| raised_limit(100, threads, limit).map_err(|e| e.to_string());
        let fits = 100 + OTHER_FILES + 4;
        assert_eq!(raised(4, limit(fits, fits)), Ok(None));
        // One more thread, one more file.
        assert_eq!(raised(5, limit(fits, 5000)), Ok(Some(limit(1024, 5000))));
        assert_eq!(raised(5, limit(fits, fits + 1)), Ok(Some(limit(fits + 1, fits + 1))));
        let refused = raised(5, limit(fits, fits)).unwrap_err();
        let wanted = format!("100 connections on 5 threads need {} open files", fits + 1);
        assert!(refused.starts_with(&wanted), "{refused}");
        let unlimited = Rlimit { current: None, maximum: None };
        assert_eq!(raised(u32::MAX, unlimited), Ok(None));
    }
}
