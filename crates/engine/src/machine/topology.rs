//! Which of the machine's cores are one: those that the kernel counts and the hardware shares.
//!
//! Two threads on siblings share what one physical core can do, and a loader beside its target would measure that. So
//! cores are dealt out by physical core. Nothing here depends on how a machine numbers them: some give siblings
//! neighbouring numbers, some the numbers of the second half.

use std::fs;
use std::path::Path;

use super::usable_cores;

/// Where the kernel describes its cores.
const CORES: &str = "/sys/devices/system/cpu";

/// The cores this process may use, by physical core: the siblings of each together, those of a package and of a memory
/// node in a row. Where the kernel does not say, each is one of its own.
pub fn physical_cores() -> Vec<Vec<usize>> {
    read(Path::new(CORES), &usable_cores())
}

fn read(cores: &Path, usable: &[usize]) -> Vec<Vec<usize>> {
    let place = |core: usize| {
        let folder = cores.join(format!("cpu{core}"));
        let number = |file: &str| first_number(&fs::read_to_string(folder.join(file)).ok()?);
        let package = number("topology/physical_package_id").unwrap_or(0);
        // The list's first is the same for all siblings.
        let first = number("topology/core_cpus_list");
        let first = first.or_else(|| number("topology/thread_siblings_list")).unwrap_or(core);
        (node(&folder).unwrap_or(0), package, first)
    };
    let mut placed: Vec<_> = usable.iter().map(|&core| (place(core), core)).collect();
    placed.sort_unstable();
    let one = |group: &[(_, usize)]| group.iter().map(|&(_, core)| core).collect();
    placed.chunk_by(|(one, _), (other, _)| one == other).map(one).collect()
}

/// The memory node: the folder has a link to it.
fn node(folder: &Path) -> Option<usize> {
    let mut names =
        fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.find_map(|name| name.strip_prefix("node")?.parse().ok())
}

/// The first of a list such as `0-1,8-9`.
fn first_number(list: &str) -> Option<usize> {
    list.trim().split([',', '-']).next()?.parse().ok()
}

/// A core for each of `threads`, from the last ones, of at most `most` physical cores if they suffice: a physical core
/// for each thread, as far as there are. None if there are fewer than threads.
pub(crate) fn spread(physical: &[Vec<usize>], threads: usize, most: usize) -> Option<Vec<usize>> {
    let count = |taken: usize| physical.iter().rev().take(taken).map(Vec::len).sum::<usize>();
    let at_least = threads.min(most.max(1));
    let taken = (at_least..=physical.len()).find(|&taken| count(taken) >= threads)?;
    let siblings = physical.iter().map(Vec::len).max().unwrap_or(0);
    let last = || physical.iter().rev().take(taken);
    let dealt = (0..siblings)
        .flat_map(|sibling| last().filter_map(move |core| core.iter().rev().nth(sibling)));
    Some(dealt.take(threads).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine whose core has a package, a memory node and siblings.
    fn machine(cores: &[(usize, usize, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (core, (package, node, siblings)) in cores.iter().enumerate() {
            let folder = dir.path().join(format!("cpu{core}"));
            fs::create_dir_all(folder.join("topology")).unwrap();
            fs::create_dir(folder.join(format!("node{node}"))).unwrap();
            fs::write(folder.join("topology/physical_package_id"), format!("{package}\n")).unwrap();
            fs::write(folder.join("topology/core_cpus_list"), format!("{siblings}\n")).unwrap();
        }
        dir
    }

    #[test]
    fn siblings_are_together_whatever_their_numbers() {
        let halves =
            machine(&[(0, 0, "0,4"), (0, 0, "1,5"), (0, 0, "2,6"), (0, 0, "3,7")].repeat(2));
        let all: Vec<usize> = (0..8).collect();
        assert_eq!(read(halves.path(), &all), [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(read(halves.path(), &[1, 2, 5]), [vec![1, 5], vec![2]]);
        let pairs = machine(&[(0, 0, "0-1"), (0, 0, "0-1"), (0, 0, "2-3"), (0, 0, "2-3")]);
        assert_eq!(read(pairs.path(), &all[..4]), [[0, 1], [2, 3]]);
        let old = machine(&[]);
        assert_eq!(read(old.path(), &[0, 2]), [[0], [2]]);
    }

    /// Even numbers on one socket, odd ones on the other.
    #[test]
    fn cores_of_a_memory_node_are_in_a_row() {
        let sockets =
            machine(&[(0, 0, "0,4"), (1, 1, "1,5"), (0, 0, "2,6"), (1, 1, "3,7")].repeat(2));
        let all: Vec<usize> = (0..8).collect();
        assert_eq!(read(sockets.path(), &all), [[0, 4], [2, 6], [1, 5], [3, 7]]);
    }

    #[test]
    fn threads_get_physical_cores_of_their_own_as_far_as_there_are() {
        let physical = [vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]];
        // Half of the machine is left to the target.
        assert_eq!(spread(&physical, 1, 2).unwrap(), [7]);
        assert_eq!(spread(&physical, 2, 2).unwrap(), [7, 6]);
        assert_eq!(spread(&physical, 3, 2).unwrap(), [7, 6, 3]);
        assert_eq!(spread(&physical, 4, 2).unwrap(), [7, 6, 3, 2]);
        assert_eq!(spread(&physical, 5, 2).unwrap(), [7, 6, 5, 3, 2]);
        // All of it is the loader's.
        assert_eq!(spread(&physical, 4, 4).unwrap(), [7, 6, 5, 4]);
        assert_eq!(spread(&physical, 8, 4).unwrap(), [7, 6, 5, 4, 3, 2, 1, 0]);
        assert_eq!(spread(&physical, 9, 4), None);
        assert_eq!(spread(&[vec![0], vec![1, 5]], 3, 1).unwrap(), [5, 0, 1]);
        assert_eq!(spread(&[vec![0, 1]], 1, 0).unwrap(), [1]);
    }
}
