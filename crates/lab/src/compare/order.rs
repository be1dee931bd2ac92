//! The order of the variants in a round, and the round's seed: functions of the comparison's seed
//! and of the round, so that a comparison can be repeated.

use candor_stats::bootstrap::Random;

/// The variants 0..n in a random order for this round.
pub(crate) fn of_round(n: usize, seed: u64, round: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    shuffle(&mut order, &mut Random::new(mix(seed, round)));
    order
}

/// The orders of these rounds: each possible one equally often, as far as their number allows, in random sequence. So
/// each variant is as often first, and as often before each other one. With more than four variants there are too many.
pub(crate) fn balanced(n: usize, seed: u64, rounds: u64) -> Vec<Vec<usize>> {
    if n > 4 {
        return (1..=rounds).map(|round| of_round(n, seed, round)).collect();
    }
    let mut random = Random::new(mix(seed, 0));
    let mut orders: Vec<Vec<usize>> = Vec::new();
    while (orders.len() as u64) < rounds {
        let mut block = permutations(n);
        shuffle(&mut block, &mut random);
        orders.extend(block);
    }
    orders.truncate(rounds as usize);
    shuffle(&mut orders, &mut random);
    orders
}

/// All orders of 0..n.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    let Some(last) = n.checked_sub(1) else { return vec![Vec::new()] };
    let with_last = |shorter: Vec<usize>| {
        (0..n).map(move |at| {
            let mut longer = shorter.clone();
            longer.insert(at, last);
            longer
        })
    };
    permutations(last).into_iter().flat_map(with_last).collect()
}

/// Every order is equally likely (Fisher and Yates; Durstenfeld, 1964).
pub(crate) fn shuffle<T>(list: &mut [T], random: &mut Random) {
    for end in (1..list.len()).rev() {
        list.swap(end, random.below(end + 1));
    }
}

/// The seed of all runs of a round.
pub(crate) fn seed_of_round(seed: u64, round: u64) -> u64 {
    seed.wrapping_add(round - 1)
}

/// Consecutive seeds must not give related orders.
pub(crate) fn mix(seed: u64, round: u64) -> u64 {
    Random::new(seed ^ round.wrapping_mul(0xd6e8_feb8_6659_fd93)).bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balanced_orders_are_equally_frequent_and_in_random_sequence() {
        let mut orders = balanced(3, 1, 12);
        assert_eq!(orders, balanced(3, 1, 12));
        assert_ne!(orders, balanced(3, 2, 12));
        orders.sort();
        let mut all = permutations(3);
        all.sort();
        assert!(orders.chunks(2).map(|pair| &pair[0]).eq(&all), "{orders:?}");
        // Without a multiple of six each is there once or twice.
        let some = balanced(3, 1, 8);
        assert!(
            all.iter().all(|one| (1..=2).contains(&some.iter().filter(|it| *it == one).count()))
        );
        assert_eq!((balanced(5, 1, 7).len(), permutations(4).len()), (7, 24));
    }

    /// Each of three is first, second and third in about a third of 3000 rounds: 1000 ± 4σ, 103.
    #[test]
    fn every_place_is_as_likely() {
        let mut counts = [[0u32; 3]; 3];
        for round in 1..=3000 {
            for (place, variant) in of_round(3, 5, round).into_iter().enumerate() {
                counts[variant][place] += 1;
            }
        }
        assert!(counts.iter().flatten().all(|count| count.abs_diff(1000) < 103), "{counts:?}");
        assert_eq!(of_round(4, 9, 2), of_round(4, 9, 2));
        assert_ne!(
            (1..20).map(|round| of_round(2, 1, round)).collect::<Vec<_>>(),
            (1..20).map(|round| of_round(2, 2, round)).collect::<Vec<_>>()
        );
    }
}
