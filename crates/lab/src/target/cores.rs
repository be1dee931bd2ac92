//! The split of cores between target and loader.
//!
//! Cores are shared only if necessary: by default the target has the first half of the machine and
//! the loader the second. Lists come in as typed; existing cores go out.

use crate::error::{LabError, Side};

/// Cores of target and loader, in ascending order, at least one each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The target's.
    pub target: Vec<usize>,
    /// The loader's.
    pub loader: Vec<usize>,
}

impl Split {
    /// Splits usable cores, those of each physical core together: a given list stays, and a side without one gets the
    /// rest. Without any list each side gets half; on a single core both have it. No physical core is on both sides,
    /// unless there is no other way.
    pub fn choose(
        physical: &[Vec<usize>],
        target: Option<&[usize]>,
        loader: Option<&[usize]>,
    ) -> Result<Split, LabError> {
        let usable: Vec<usize> = physical.iter().flatten().copied().collect();
        for (of, cores) in [(Side::Target, target), (Side::Loader, loader)] {
            let missing = cores.unwrap_or_default().iter().find(|core| !usable.contains(core));
            if let Some(&core) = missing {
                return Err(LabError::NoCore { of, core, usable: fmt_cores(&ascending(usable)) });
            }
        }
        let without = |taken: &[usize]| {
            let is_taken = |core: &usize| taken.contains(core);
            let whole = physical.iter().filter(|siblings| !siblings.iter().any(is_taken));
            let whole: Vec<usize> = whole.flatten().copied().collect();
            let rest = || usable.iter().copied().filter(|core| !is_taken(core)).collect();
            [whole, rest()]
                .into_iter()
                .find(|one: &Vec<_>| !one.is_empty())
                .unwrap_or(usable.clone())
        };
        let half = (usable.len() / 2).max(1);
        let ends = physical.iter().scan(0, |end, siblings| {
            *end += siblings.len();
            Some(*end)
        });
        let first = &usable[..ends.take_while(|&end| end <= half).last().unwrap_or(half)];
        let (target, loader) = match (target, loader) {
            (Some(target), Some(loader)) => (target.to_vec(), loader.to_vec()),
            (Some(target), None) => (target.to_vec(), without(target)),
            (None, Some(loader)) => (without(loader), loader.to_vec()),
            (None, None) => (first.to_vec(), without(first)),
        };
        let (target, loader) = (ascending(target), ascending(loader));
        Ok(Split { target, loader })
    }

    /// Whether both sides have a core in common.
    pub fn is_shared(&self) -> bool {
        self.target.iter().any(|core| self.loader.contains(core))
    }

    /// The cores for watching: unassigned ones, or else the target's, so that watching does not
    /// disturb the loader's times.
    pub fn bystander(&self, usable: &[usize]) -> Vec<usize> {
        let is_free = |core: &&usize| !self.target.contains(core) && !self.loader.contains(core);
        let free: Vec<usize> = usable.iter().filter(is_free).copied().collect();
        if free.is_empty() { self.target.clone() } else { free }
    }
}

fn ascending(mut cores: Vec<usize>) -> Vec<usize> {
    cores.sort_unstable();
    cores
}

/// Cores such as `0-3,6`, in ascending order, each once.
pub fn parse_cores(text: &str) -> Result<Vec<usize>, String> {
    let wrong = || format!("'{text}' is not a list of cores; write e.g. 0-3 or 0,2");
    let mut cores = Vec::new();
    for part in text.split(',') {
        let number = |digits: &str| -> Result<usize, String> {
            let core: usize = digits.trim().parse().map_err(|_| wrong())?;
            if core < MOST_CORES { Ok(core) } else { Err(wrong()) }
        };
        let (from, to) = match part.split_once('-') {
            Some((from, to)) => (number(from)?, number(to)?),
            None => (number(part)?, number(part)?),
        };
        if from > to {
            return Err(wrong());
        }
        cores.extend(from..=to);
    }
    cores.sort_unstable();
    cores.dedup();
    Ok(cores)
}

/// Cores as people write them: `0-3,6`.
pub fn fmt_cores(cores: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &core in cores {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == core => *last = core,
            _ => runs.push((core, core)),
        }
    }
    let one = |&(from, to): &(usize, usize)| match from == to {
        true => from.to_string(),
        false => format!("{from}-{to}"),
    };
    runs.iter().map(one).collect::<Vec<_>>().join(",")
}

/// More than any machine has.
const MOST_CORES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_and_go() {
        for (text, cores) in
            [("0", &[0][..]), ("0-3", &[0, 1, 2, 3]), ("4,0-1,1", &[0, 1, 4]), (" 2 , 5 ", &[2, 5])]
        {
            assert_eq!(parse_cores(text).unwrap(), cores, "{text}");
        }
        for wrong in ["", "a", "3-1", "1-", "-1", "1,,2", "0-99999999999"] {
            assert!(parse_cores(wrong).is_err(), "{wrong}");
        }
        assert_eq!(fmt_cores(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    }

    #[test]
    fn by_default_half_and_half() {
        let split = |usable: &[usize], target: Option<&[usize]>, loader: Option<&[usize]>| {
            let alone: Vec<_> = usable.iter().map(|&core| vec![core]).collect();
            let split = Split::choose(&alone, target, loader).unwrap();
            (split.target.clone(), split.loader.clone(), split.is_shared())
        };
        assert_eq!(split(&[0, 1], None, None), (vec![0], vec![1], false));
        assert_eq!(split(&[2, 3, 5], None, None), (vec![2], vec![3, 5], false));
        assert_eq!(split(&[4], None, None), (vec![4], vec![4], true));
        assert_eq!(split(&[0, 1, 2, 3], Some(&[3]), None), (vec![3], vec![0, 1, 2], false));
        assert_eq!(split(&[0, 1, 2, 3], None, Some(&[0])), (vec![1, 2, 3], vec![0], false));
        assert_eq!(split(&[0, 1], Some(&[0, 1]), None), (vec![0, 1], vec![0, 1], true));
        let error = Split::choose(&[vec![0], vec![1]], Some(&[7]), None).unwrap_err().to_string();
        assert!(error.contains("no core 7") && error.contains("0-1"), "{error}");
    }

    #[test]
    fn no_physical_core_is_on_both_sides() {
        let split = |physical: &[Vec<usize>], target: Option<&[usize]>| {
            let split = Split::choose(physical, target, None).unwrap();
            (split.target, split.loader)
        };
        let four = [vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]];
        assert_eq!(split(&four, None), (vec![0, 1, 4, 5], vec![2, 3, 6, 7]));
        assert_eq!(split(&four, Some(&[0, 1])), (vec![0, 1], vec![2, 3, 6, 7]));
        assert_eq!(split(&four, Some(&[0, 1, 2, 3])), (vec![0, 1, 2, 3], vec![4, 5, 6, 7]));
        assert_eq!(split(&four[..3], None), (vec![0, 4], vec![1, 2, 5, 6]));
        assert_eq!(split(&four[..1], None), (vec![0], vec![4]));
    }

    #[test]
    fn who_looks_on_is_not_on_the_loaders_core() {
        let split = Split { target: vec![0], loader: vec![1] };
        assert_eq!(split.bystander(&[0, 1]), [0]);
        assert_eq!(split.bystander(&[0, 1, 2]), [2]);
    }
}
