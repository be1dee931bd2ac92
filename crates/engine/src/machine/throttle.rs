//! Limits of CPU time: for how many cores the control groups of this process have time, and whether they made it
//! wait.
//!
//! A container has such a limit, and sees all cores of its machine. When the time of a period (usually 100 ms) is used
//! up, every thread waits for the next one: response times grow, and the server has nothing to do with it. What was
//! waited is read at the beginning and at the end of a run (the kernel's `Documentation/admin-guide/cgroup-v2.rst`,
//! and `Documentation/scheduler/sched-bwc.rst` for the older version).

use std::fs;
use std::path::{Path, PathBuf};

use candor_record::Throttled;

/// Where control groups are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// What the control groups of this process have counted so far; `None`: none has a limit.
pub(crate) fn now() -> Option<Throttled> {
    sum(&own()?, Path::new(ROOT))
}

/// For how many whole cores the control groups of this process have time, at least 1; `None`: none has a limit.
pub(crate) fn quota() -> Option<usize> {
    least(&own()?, Path::new(ROOT))
}

/// The groups of this process.
fn own() -> Option<String> {
    fs::read_to_string("/proc/self/cgroup").ok()
}

/// What was counted between `earlier` and `later`.
pub(crate) fn between(earlier: Option<Throttled>, later: Option<Throttled>) -> Option<Throttled> {
    let (earlier, later) = (earlier?, later?);
    Some(Throttled {
        periods: later.periods.saturating_sub(earlier.periods),
        waited_ns: later.waited_ns.saturating_sub(earlier.waited_ns),
    })
}

/// The sum over all [`groups`].
fn sum(own: &str, root: &Path) -> Option<Throttled> {
    let counted = groups(own, root).filter_map(|group| parse(&read(&group, "cpu.stat")?));
    counted.reduce(|sum, one| Throttled {
        periods: sum.periods.saturating_add(one.periods),
        waited_ns: sum.waited_ns.saturating_add(one.waited_ns),
    })
}

/// The least limit of all [`groups`], in whole cores: quota / period, in µs each.
fn least(own: &str, root: &Path) -> Option<usize> {
    let limit = |group: PathBuf| {
        let (quota, period) = match read(&group, "cpu.max") {
            Some(text) => {
                let (quota, period) = text.trim().split_once(' ')?;
                (quota.to_owned(), period.to_owned())
            }
            None => (read(&group, "cpu.cfs_quota_us")?, read(&group, "cpu.cfs_period_us")?),
        };
        // Without a limit the quota is `max`, or -1.
        let (quota, period) = (quota.trim().parse::<u64>().ok()?, period.trim().parse().ok()?);
        let cores = quota.checked_div(period)?;
        Some(usize::try_from(cores).unwrap_or(usize::MAX).max(1))
    };
    groups(own, root).filter_map(limit).min()
}

fn read(group: &Path, file: &str) -> Option<String> {
    fs::read_to_string(group.join(file)).ok()
}

/// The folders of the groups in `own`, the text of `/proc/self/cgroup`, that share out CPU time, and of all groups that
/// these are in. In a container they may not be there by these names: its own group is the root then.
fn groups(own: &str, root: &Path) -> impl Iterator<Item = PathBuf> {
    own.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next(), parts.next().unwrap_or_default());
        let mount = match controllers {
            // Version 2 has one hierarchy.
            Some("") => Some(root.to_owned()),
            Some(all) if all.split(',').any(|one| one == "cpu") => Some(root.join(all)),
            _ => None,
        };
        let all = Path::new(path.trim_start_matches('/')).ancestors();
        let folder = |group: &Path| mount.as_ref().map(|mount| mount.join(group));
        all.filter_map(folder).collect::<Vec<_>>()
    })
}

/// What a file `cpu.stat` says of throttling; `None`: nothing, or that no period was counted, because there is
/// no limit.
fn parse(text: &str) -> Option<Throttled> {
    let value = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
    };
    value("nr_periods ").filter(|periods| *periods > 0)?;
    let waited_ns = value("throttled_usec ").map(|us| us.saturating_mul(1000));
    let waited_ns = waited_ns.or_else(|| value("throttled_time "));
    Some(Throttled { periods: value("nr_throttled ")?, waited_ns: waited_ns? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(root: &Path, path: &str, text: &str) {
        let folder = root.join(path);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("cpu.stat"), text).unwrap();
    }

    #[test]
    fn limits_of_all_groups_above_count() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        group(root, "", "usage_usec 1\n");
        let of = |periods, throttled, us| {
            format!(
                "usage_usec 9\nnr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {us}\n"
            )
        };
        group(root, "pods", &of(100, 2, 30));
        group(root, "pods/one", &of(50, 3, 400));
        group(root, "pods/two", &of(0, 0, 0));
        let found = |own| sum(own, root);
        assert_eq!(found("0::/pods/one\n"), Some(Throttled { periods: 5, waited_ns: 430_000 }));
        assert_eq!(found("0::/pods/two\n"), Some(Throttled { periods: 2, waited_ns: 30_000 }));
        assert_eq!(found("0::/\n"), None);
        assert_eq!(found("0::/gone\n"), None);
        assert_eq!(found("nonsense\n:\n"), None);
        let old = "nr_periods 8\nnr_throttled 1\nthrottled_time 77\n";
        group(root, "cpu,cpuacct/a", old);
        let own = "5:memory:/a\n4:cpu,cpuacct:/a\n";
        assert_eq!(found(own), Some(Throttled { periods: 1, waited_ns: 77 }));
    }

    /// Both versions: the least quota of a group and all above it, rounded down, at least one core.
    #[test]
    fn a_quota_is_a_number_of_cores() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let file = root.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let found = |own| least(own, root.path());
        assert_eq!(found("0::/\n"), None);
        write("pods/cpu.max", "650000 100000\n");
        write("pods/one/cpu.max", "max 100000\n");
        write("pods/two/cpu.max", "250000 100000\n");
        write("pods/three/cpu.max", "5000 100000\n");
        write("pods/four/cpu.max", "100000 0\n");
        for (own, cores) in [
            ("0::/pods/one\n", Some(6)),
            ("0::/pods/two\n", Some(2)),
            ("0::/pods/three\n", Some(1)),
            ("0::/pods/four\n", Some(6)),
            ("0::/gone\n", None),
        ] {
            assert_eq!(found(own), cores, "{own}");
        }
        // A container sees its own group as the root, by whatever name it is known outside.
        write("cpu.max", "400000 100000\n");
        assert_eq!(found("0::/\n"), Some(4));
        assert_eq!(found("0::/../gone\n"), Some(4));
        // Version 1, and both at once.
        write("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
        write("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
        write("cpu,cpuacct/a/cpu.cfs_quota_us", "300000\n");
        write("cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
        assert_eq!(found("5:memory:/a\n4:cpu,cpuacct:/a\n"), Some(3));
        assert_eq!(found("4:cpu,cpuacct:/\n"), None);
        assert_eq!(found("4:cpu,cpuacct:/docker/a\n"), None);
        assert_eq!(found("4:cpu,cpuacct:/a\n0::/\n"), Some(3));
    }

    #[test]
    fn only_what_was_counted_meanwhile_is_of_a_run() {
        let at = |periods, waited_ns| Some(Throttled { periods, waited_ns });
        assert_eq!(between(at(3, 100), at(5, 160)), at(2, 60));
        assert_eq!((between(None, at(5, 1)), between(at(5, 1), None)), (None, None));
    }
}
