//! Memory of this process, by the kernel's books: what connections cost.
//!
//! Read when the workers are made and when their connections are; what lies in between is the
//! connections', apart from their places in tables, which a worker takes when it is made and tells
//! itself. Read on a worker's thread before the run's time begins.

use std::sync::atomic::{AtomicU64, Ordering};

use candor_record::Memory;

/// What is read in the course of getting ready; 0: not known.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    tables_bytes: AtomicU64,
    made_bytes: AtomicU64,
    connected_bytes: AtomicU64,
}

impl Readings {
    /// A worker was made whose connection tables have this size.
    pub(crate) fn add_tables(&self, bytes: u64) {
        self.tables_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// All workers are made.
    pub(crate) fn made(&self) {
        self.made_bytes.store(resident_bytes().unwrap_or(0), Ordering::Relaxed);
    }

    /// All connections are.
    pub(crate) fn connected(&self) {
        self.connected_bytes.store(resident_bytes().unwrap_or(0), Ordering::Relaxed);
    }

    /// The sum, at the end of a run with this number of connections.
    pub(crate) fn finish(self, connections: u64) -> Option<Memory> {
        let connected_bytes = self.connected_bytes.into_inner();
        let grown_bytes = connected_bytes.saturating_sub(self.made_bytes.into_inner());
        let theirs_bytes = grown_bytes + self.tables_bytes.into_inner();
        (connected_bytes > 0).then(|| Memory {
            connected_bytes,
            per_connection_bytes: theirs_bytes.div_ceil(connections.max(1)),
            peak_bytes: peak_bytes().unwrap_or(connected_bytes),
        })
    }
}

/// What the process has in memory (proc_pid_statm(5)).
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// The most that it ever had (proc_pid_status(5)).
fn peak_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_connections_take_is_told_from_the_rest() {
        let readings = Readings::default();
        readings.add_tables(3000);
        readings.made_bytes.store(1_000_000, Ordering::Relaxed);
        readings.connected_bytes.store(1_017_000, Ordering::Relaxed);
        let memory = readings.finish(10).unwrap();
        assert_eq!((memory.connected_bytes, memory.per_connection_bytes), (1_017_000, 2000));
        assert_eq!(Readings::default().finish(10), None);
    }

    #[test]
    fn the_kernel_tells() {
        let (resident, peak) = (resident_bytes().unwrap(), peak_bytes().unwrap());
        assert!(resident > 100_000 && peak >= resident / 2, "{resident} of {peak}");
    }
}
