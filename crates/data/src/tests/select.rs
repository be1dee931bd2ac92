//! Which rows are chosen.

use candor_plan::DataOrder;
use proptest::prelude::*;

use crate::Selection;

fn shuffle(rows: u64, seed: u64) -> Selection {
    Selection::new(DataOrder::Shuffle, rows, seed)
}

/// The rows of a round.
fn round(selection: &Selection, rows: u64, number: u64) -> Vec<u64> {
    (0..rows).map(|index| selection.row(number * rows + index).unwrap()).collect()
}

/// χ² of counts that should all be the same.
fn chi_square(counts: &[u64]) -> f64 {
    let total: u64 = counts.iter().sum();
    let expected = total as f64 / counts.len() as f64;
    counts.iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum()
}

/// The value that χ² with this many degrees of freedom exceeds with a probability of about 10⁻⁶
/// (Wilson and Hilferty, "The distribution of chi-square", 1931; 4.75 is the normal quantile).
fn limit(freedom: usize) -> f64 {
    let part = 2.0 / (9.0 * freedom as f64);
    freedom as f64 * (1.0 - part + 4.75 * part.sqrt()).powi(3)
}

#[test]
fn rotation_and_once() {
    let rotation = Selection::new(DataOrder::Rotation, 3, 1);
    let rows: Vec<_> = (0..7).map(|index| rotation.row(index).unwrap()).collect();
    assert_eq!(rows, [0, 1, 2, 0, 1, 2, 0]);
    assert_eq!(rotation.row(u64::MAX), Some(0));
    let once = Selection::new(DataOrder::Once, 3, 1);
    let rows: Vec<_> = (0..5).map(|index| once.row(index)).collect();
    assert_eq!(rows, [Some(0), Some(1), Some(2), None, None]);
    assert_eq!(once.row(u64::MAX), None);
    for order in [DataOrder::Rotation, DataOrder::Once, DataOrder::Random, DataOrder::Shuffle] {
        assert_eq!(Selection::new(order, 0, 1).row(0), None);
        assert_eq!(Selection::new(order, 1, 1).row(0), Some(0));
    }
}

#[test]
fn every_round_of_a_shuffle_has_every_row_once() {
    for rows in 1..=2000 {
        let selection = shuffle(rows, 42);
        for number in [0, 1, u64::MAX / rows - 1] {
            let mut seen = vec![false; rows as usize];
            for row in round(&selection, rows, number) {
                assert!(!std::mem::replace(&mut seen[row as usize], true), "{rows}: {row} twice");
            }
        }
    }
}

#[test]
fn rounds_and_seeds_have_different_orders() {
    for rows in [20, 64, 1000] {
        let mut orders: Vec<_> = (0..50)
            .flat_map(|seed| (0..50).map(move |number| round(&shuffle(rows, seed), rows, number)))
            .collect();
        orders.sort_unstable();
        orders.dedup();
        assert_eq!(orders.len(), 2500, "{rows}");
    }
}

#[test]
fn every_order_of_a_few_rows_is_as_likely() {
    for (rows, orders) in [(2, 2), (3, 6), (4, 24), (5, 120), (6, 720)] {
        let selection = shuffle(rows, 7);
        let mut counts = std::collections::HashMap::new();
        for number in 0..100 * orders {
            *counts.entry(round(&selection, rows, number)).or_insert(0) += 1;
        }
        let counts: Vec<u64> = counts.into_values().collect();
        assert_eq!(counts.len() as u64, orders, "{rows}");
        let found = chi_square(&counts);
        assert!(found < limit(counts.len() - 1), "{rows}: {found}");
    }
}

#[test]
fn every_row_is_as_likely_at_every_place() {
    for rows in [7, 8, 30, 33] {
        let selection = shuffle(rows, 3);
        let mut places = vec![0; (rows * rows) as usize];
        // How often each row follows each other one.
        let mut pairs = places.clone();
        for number in 0..5000 {
            let order = round(&selection, rows, number);
            for (place, row) in order.iter().enumerate() {
                places[place * rows as usize + *row as usize] += 1;
            }
            for pair in order.windows(2) {
                pairs[(pair[0] * rows + pair[1]) as usize] += 1;
            }
        }
        let found = chi_square(&places);
        let freedom = (rows as usize - 1).pow(2);
        assert!(found < limit(freedom), "{rows}: places {found}");
        let pairs: Vec<u64> = pairs.into_iter().filter(|count| *count > 0).collect();
        assert_eq!(pairs.len() as u64, rows * (rows - 1));
        assert!(chi_square(&pairs) < limit(pairs.len()), "{rows}: pairs {}", chi_square(&pairs));
    }
}

#[test]
fn random_rows_are_as_likely_and_independent() {
    for rows in [1, 2, 7, 100] {
        let selection = Selection::new(DataOrder::Random, rows, 9);
        let chosen: Vec<u64> = (0..20_000).map(|index| selection.row(index).unwrap()).collect();
        let mut counts = vec![0; rows as usize];
        let mut pairs = vec![0; (rows * rows) as usize];
        for pair in chosen.chunks(2) {
            counts[pair[0] as usize] += 1;
            counts[pair[1] as usize] += 1;
            pairs[(pair[0] * rows + pair[1]) as usize] += 1;
        }
        if rows > 1 {
            assert!(chi_square(&counts) < limit(counts.len() - 1), "{rows}");
            assert!(chi_square(&pairs) < limit(pairs.len() - 1), "{rows}");
        }
    }
    let large = Selection::new(DataOrder::Random, u64::MAX, 9);
    assert_ne!(large.row(0), large.row(1));
}

/// Numbers of an independent implementation in Python: a machine or a change that chooses other rows
/// fails.
#[test]
fn rows_are_the_same_on_every_machine() {
    let first = |order, rows| -> Vec<u64> {
        let selection = Selection::new(order, rows, 42);
        (0..6).map(|index| selection.row(index).unwrap()).collect()
    };
    assert_eq!(first(DataOrder::Random, 1000), [349, 964, 871, 683, 22, 822]);
    assert_eq!(first(DataOrder::Shuffle, 4), [3, 2, 0, 1, 3, 2]);
    assert_eq!(first(DataOrder::Shuffle, 1000), [148, 639, 735, 548, 301, 450]);
    assert_eq!(
        first(DataOrder::Shuffle, 1 << 40),
        [97162530294, 482046647977, 975059506919, 626451234350, 476862190743, 49990612408]
    );
}

proptest! {
    /// In a large table, a sample: near rows and far ones.
    #[test]
    fn no_row_comes_twice_in_a_large_round(rows in 2000..=u64::MAX, seed: u64, number in 0..3u64) {
        let selection = shuffle(rows, seed);
        let number = number.min(u64::MAX / rows - 1);
        let near = 0..200;
        let far = (0..200).map(|part| part * (rows / 200)).chain(rows - 200..rows);
        let mut places: Vec<u64> = near.chain(far).collect();
        places.sort_unstable();
        places.dedup();
        let mut chosen: Vec<u64> =
            places.iter().map(|place| selection.row(number * rows + place).unwrap()).collect();
        prop_assert!(chosen.iter().all(|row| *row < rows));
        chosen.sort_unstable();
        chosen.dedup();
        prop_assert_eq!(chosen.len(), places.len());
    }
}
