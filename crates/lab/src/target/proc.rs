//! Figures of processes from /proc at one moment, and signals that cannot hit another process.
//!
//! The sampler follows the figures over time. A process that ends while it is being read counts for
//! the part that was read.

use std::collections::HashMap;
use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Figures of a process tree. CPU time counts from the tree's beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) cpu_ticks: u64,
    pub(crate) rss_bytes: u64,
    pub(crate) threads: u64,
    pub(crate) open_files: u64,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
    pub(crate) processes: u64,
}

/// The parts of `/proc/PID/stat` that are used here (proc_pid_stat(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) is_zombie: bool,
    pub(crate) parent: u32,
    pub(crate) session: u32,
    /// Own CPU time, user and kernel.
    pub(crate) own_ticks: u64,
    /// The same of children that ended and were waited for.
    pub(crate) children_ticks: u64,
    pub(crate) threads: u64,
    pub(crate) rss_pages: u64,
}

impl Stat {
    pub(crate) fn of(pid: u32) -> Option<Stat> {
        Stat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(text: &str) -> Option<Stat> {
        // The name is in brackets and may hold blanks and brackets itself. After it comes field 3.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Stat {
            is_zombie: matches!(*fields.first()?, "Z" | "X"),
            parent: u32::try_from(number(4)?).ok()?,
            session: u32::try_from(number(6)?).ok()?,
            own_ticks: number(14)? + number(15)?,
            children_ticks: number(16)? + number(17)?,
            threads: number(20)?,
            rss_pages: number(24)?,
        })
    }
}

/// All descendants of `root`, without itself.
pub(crate) fn tree(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for (pid, stat) in processes() {
        children.entry(stat.parent).or_default().push(pid);
    }
    let mut found = Vec::new();
    let mut next = vec![root];
    while let Some(parent) = next.pop() {
        let its = children.remove(&parent).unwrap_or_default();
        next.extend(&its);
        found.extend(its);
    }
    found
}

/// All processes whose stat satisfies `is_wanted`.
pub(crate) fn all(is_wanted: impl Fn(&Stat) -> bool) -> Vec<u32> {
    processes().filter(|(_, stat)| is_wanted(stat)).map(|(pid, _)| pid).collect()
}

/// Signals a process if its stat satisfies `is_wanted`. A descriptor refers to it before its stat is
/// read, so the signal cannot reach another process with the same id.
pub(crate) fn signal(pid: u32, signal: Signal, is_wanted: impl Fn(&Stat) -> bool) {
    let id = i32::try_from(pid).ok().and_then(Pid::from_raw);
    // If there is no descriptor, the process has ended.
    let Some(Ok(held)) = id.map(|id| pidfd_open(id, PidfdFlags::empty())) else { return };
    if Stat::of(pid).is_some_and(|stat| is_wanted(&stat)) {
        let _ = pidfd_send_signal(held, signal);
    }
}

fn processes() -> impl Iterator<Item = (u32, Stat)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| Some((pid, Stat::of(pid)?)))
}

/// The cheap figures of the processes `pids`, and of ended children of `root`.
pub(crate) fn quick(root: u32, pids: &[u32], page_bytes: u64) -> Figures {
    let mut sum = Figures {
        cpu_ticks: Stat::of(root).map_or(0, |stat| stat.children_ticks),
        ..Figures::default()
    };
    for stat in pids.iter().filter_map(|&pid| Stat::of(pid)) {
        sum.cpu_ticks += stat.own_ticks + stat.children_ticks;
        if !stat.is_zombie {
            sum.rss_bytes += stat.rss_pages * page_bytes;
            sum.threads += stat.threads;
            sum.processes += 1;
        }
    }
    sum
}

/// Adds the figures whose cost grows with files and threads.
pub(crate) fn thorough(pids: &[u32], sum: &mut Figures) {
    for &pid in pids {
        sum.open_files += open_files(pid);
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for thread in threads {
            let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
            sum.voluntary_switches += status_field(&status, "voluntary_ctxt_switches:");
            sum.involuntary_switches += status_field(&status, "nonvoluntary_ctxt_switches:");
        }
    }
}

/// The size of the directory is the number of open files since Linux 6.2; before, it is 0.
fn open_files(pid: u32) -> u64 {
    let path = format!("/proc/{pid}/fd");
    match fs::metadata(&path).map(|directory| directory.len()) {
        Ok(0) => fs::read_dir(&path).map_or(0, |entries| entries.count() as u64),
        Ok(count) => count,
        Err(_) => 0,
    }
}

fn status_field(status: &str, name: &str) -> u64 {
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_have_brackets_and_blanks() {
        let text =
            "42 (a) b (c) Z 7 42 42 0 -1 4194560 1 2 3 4 100 50 20 10 20 0 9 0 555 1000 77 1";
        let stat = Stat::parse(text).unwrap();
        let wanted = Stat {
            is_zombie: true,
            parent: 7,
            session: 42,
            own_ticks: 150,
            children_ticks: 30,
            threads: 9,
            rss_pages: 77,
        };
        assert_eq!(stat, wanted);
        assert!(Stat::parse("42 (a").is_none() && Stat::parse("").is_none());
    }

    #[test]
    fn this_process_is_seen() {
        let own = std::process::id();
        let parent = Stat::of(own).unwrap().parent;
        assert!(tree(parent).contains(&own));
        let mut figures = quick(parent, &[own], 4096);
        thorough(&[own], &mut figures);
        assert!(figures.rss_bytes > 0 && figures.threads > 0 && figures.open_files > 2);
        assert_eq!(figures.processes, 1);
        assert!(figures.voluntary_switches > 0);
    }
}
