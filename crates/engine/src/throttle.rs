//! Limits of CPU time: whether the control groups of this process made it wait.
//!
//! A container with less than whole cores has such a limit. When the time of a period (usually 100 ms) is used
//! up, every thread waits for the next one: response times grow, and the server has nothing to do with it. Read
//! at the beginning and at the end of a run (the kernel's `Documentation/admin-guide/cgroup-v2.rst`, and
//! `Documentation/scheduler/sched-bwc.rst` for the older version).

use std::fs;
use std::path::Path;

use candor_record::Throttled;

/// Where control groups are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// What the control groups of this process have counted so far; `None`: none has a limit.
pub(crate) fn now() -> Option<Throttled> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    sum(&own, Path::new(ROOT))
}

/// What was counted between `earlier` and `later`.
pub(crate) fn between(earlier: Option<Throttled>, later: Option<Throttled>) -> Option<Throttled> {
    let (earlier, later) = (earlier?, later?);
    Some(Throttled {
        periods: later.periods.saturating_sub(earlier.periods),
        waited_ns: later.waited_ns.saturating_sub(earlier.waited_ns),
    })
}

/// The sum over the groups of `own`, the text of `/proc/self/cgroup`, and all groups that these are in.
fn sum(own: &str, root: &Path) -> Option<Throttled> {
    let mut sum = None;
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let mount = match controllers {
            // Version 2 has one hierarchy.
            "" => root.to_owned(),
            all if all.split(',').any(|one| one == "cpu") => root.join(all),
            _ => continue,
        };
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            let text = fs::read_to_string(mount.join(group).join("cpu.stat"));
            let Some(one) = text.ok().as_deref().and_then(parse) else { continue };
            let sum = sum.get_or_insert_with(Throttled::default);
            sum.periods = sum.periods.saturating_add(one.periods);
            sum.waited_ns = sum.waited_ns.saturating_add(one.waited_ns);
        }
    }
    sum
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

    #[test]
    fn only_what_was_counted_meanwhile_is_of_a_run() {
        let at = |periods, waited_ns| Some(Throttled { periods, waited_ns });
        assert_eq!(between(at(3, 100), at(5, 160)), at(2, 60));
        assert_eq!((between(None, at(5, 1)), between(at(5, 1), None)), (None, None));
    }
}
