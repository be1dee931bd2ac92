//! Histograms: ours against hdrhistogram.

use candor_record::{Encoded, Exact, Histogram};
use hdrhistogram::serialization::Deserializer;

/// Numbers of eight bytes: as samples, and as places that a driver claims.
pub(crate) fn histogram(bytes: &[u8]) {
    let numbers: Vec<u64> = bytes
        .chunks_exact(8)
        .map(|eight| eight.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
        .collect();
    let mut histogram = Histogram::new(3);
    for (index, number) in numbers.iter().enumerate() {
        // Most samples lie within an hour.
        histogram.record(if index % 4 == 0 { *number } else { number % 3_600_000_000_000 });
    }
    let encoded = Encoded::of(&histogram).0;
    let read = Deserializer::new().deserialize::<u64, _>(&mut &encoded[..]);
    let read = read.expect("hdrhistogram reads what we encode");
    assert_eq!(read, histogram.hdr());
    assert_eq!(read.len(), histogram.count());
    let mut twice = histogram.clone();
    twice.merge(&histogram);
    assert_eq!(twice.count(), 2 * histogram.count());

    let places: Vec<(u64, u64)> = numbers.chunks_exact(2).map(|two| (two[0], two[1])).collect();
    if let [min_ns, max_ns, sum, ..] = numbers[..] {
        let exact = Exact { min_ns, max_ns, sum_ns: sum.into() };
        if let Ok(claimed) = Histogram::of_places(3, &places, Some(exact)) {
            let count: u128 = places.iter().map(|(_, samples)| u128::from(*samples)).sum();
            assert_eq!(u128::from(claimed.count()), count);
        }
    }
}
