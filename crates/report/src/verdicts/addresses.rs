//! Findings about the addresses of a target: one that took no connection, one that is slower than the others, and a name
//! that could not be resolved again.

use candor_plan::units::{fmt_duration_ns, fmt_plural, fmt_share};
use candor_plan::{DataOrder, Work};
use candor_record::{NameCounts, value_at_rank};
use candor_stats::{Quantile, order};
use hdrhistogram::Histogram as Hdr;

use super::{Finding, Severity};
use crate::document::Document;
use crate::document::addresses::AddressRow;

/// The share of the run above which an address that took no connection is told of.
const DOWN: f64 = 0.01;
/// The most addresses that a sentence names.
const NAMED: usize = 3;
/// Of runs whose addresses are equal, at most this share has a finding that one is slower.
const FALSE_ALARMS: f64 = 0.01;
/// An address that is slower by less than this factor is not told of.
const MATERIAL: f64 = 1.1;
/// The percentiles at which addresses are compared.
const COMPARED: [Quantile; 2] = [Quantile::P50, Quantile::P99];

/// An address of a target took no connection, while another one of it did.
pub(super) fn down(document: &Document) -> Option<Finding> {
    let share = |one: &AddressRow| one.down.unwrap_or(0.0);
    let of_target = |one: &AddressRow| {
        let target = one.target.clone();
        document.addresses.iter().filter(move |other| other.target == target)
    };
    let is_down = |one: &&AddressRow| {
        let has_other = |other: &AddressRow| other.opened > 0 && share(other) < share(one);
        share(one) > DOWN && of_target(one).any(has_other)
    };
    let down: Vec<&AddressRow> = document.addresses.iter().filter(is_down).collect();
    let worst = down.iter().copied().max_by(|one, other| share(one).total_cmp(&share(other)))?;
    let failed = down.iter().fold(0u64, |sum, one| sum.saturating_add(one.failed));
    let all = document.addresses.len();
    let named =
        named(&down, |one| format!("{} for {} of the run", one.address, fmt_share(share(one))));
    Some(Finding {
        severity: Severity::Warning,
        sentence: format!(
            "{} of {all} addresses took no connection: {named} ({} failed).",
            down.len(),
            fmt_plural(failed, "attempt")
        ),
        evidence: vec![
            ("down", down.len() as f64),
            ("addresses", all as f64),
            ("down_share", share(worst)),
            ("failed", failed as f64),
        ],
        remedy: "Start the server at this address, or take the address out of the name.",
    })
}

/// A name could not be resolved again, or not all of its new addresses were taken.
pub(super) fn not_resolved(document: &Document) -> Option<Finding> {
    let problems = |one: &NameCounts| one.failed.saturating_add(one.left_out);
    let worst = document.names.iter().max_by_key(|one| problems(one))?;
    let NameCounts { name, asked, failed, left_out, problem, .. } = worst;
    let what = match (*failed, *left_out) {
        (0, 0) => return None,
        (0, left_out) => format!("{} of {name} were left out", fmt_plural(left_out, "new address")),
        (failed, _) => format!("{name} was not resolved {} of {asked}", fmt_plural(failed, "time")),
    };
    let problem = problem.as_deref().unwrap_or("for an unknown reason");
    Some(Finding {
        severity: Severity::Note,
        sentence: format!("{what}: {problem}."),
        evidence: vec![
            ("asked", *asked as f64),
            ("failed", *failed as f64),
            ("left_out", *left_out as f64),
        ],
        remedy: "Check the name and its server; the addresses before stay until then.",
    })
}

/// The response times of an address.
struct Timed<'a> {
    row: &'a AddressRow,
    hdr: Hdr<u64>,
}

impl<'a> Timed<'a> {
    /// `None`: it has none.
    fn of(row: &'a AddressRow) -> Option<Self> {
        let response = row.requests.as_ref()?.response.as_ref()?;
        let hdr = response.decode().ok().filter(|hdr| !hdr.is_empty())?;
        Some(Timed { row, hdr })
    }
}

/// A percentile of an address, and that of the others of its target.
struct Slow<'a> {
    row: &'a AddressRow,
    q: Quantile,
    own_ns: u64,
    others_ns: u64,
}

/// An address of a target is slower than the others together.
///
/// Let the intervals of a percentile of k addresses, and those of the others of each, be of confidence 1 − α/(k·m) with m
/// percentiles. Equal addresses have one percentile x of the process. The low end of one lies above the high end of the
/// other only if the first misses x from above or the second from below, each with a probability of at most α/(2·k·m): so
/// with all comparisons, of at most α. Samples of an address depend on each other as those of the run do.
pub(super) fn slow(document: &Document) -> Option<Finding> {
    if !has_equal_requests(document) {
        return None;
    }
    let all: Vec<Timed<'_>> = document.addresses.iter().filter_map(Timed::of).collect();
    let compared = |one| COMPARED.iter().find_map(|q| compare(document, &all, one, *q));
    let slow: Vec<Slow<'_>> = all.iter().filter_map(compared).collect();
    let ratio = |one: &Slow<'_>| one.own_ns as f64 / one.others_ns.max(1) as f64;
    let worst = slow.iter().max_by(|one, other| ratio(one).total_cmp(&ratio(other)))?;
    let named = named(&slow, |one| {
        let [own, others] = [one.own_ns, one.others_ns].map(fmt_duration_ns);
        format!("{} with a {} of {own}, {others} at the others", one.row.address, one.q)
    });
    let verb = if slow.len() == 1 { "is" } else { "are" };
    Some(Finding {
        severity: Severity::Note,
        sentence: format!("{} of {} addresses {verb} slower: {named}.", slow.len(), all.len()),
        evidence: vec![
            ("slow", slow.len() as f64),
            ("addresses", all.len() as f64),
            ("quantile", worst.q.share()),
            ("response_ns", worst.own_ns as f64),
            ("others_ns", worst.others_ns as f64),
        ],
        remedy: "Compare the server at this address with the others, and the network to it.",
    })
}

/// Whether an address has the same requests as the others. Of requests in turn one may have all that are slow.
fn has_equal_requests(document: &Document) -> bool {
    let is_random = |order| matches!(order, DataOrder::Shuffle | DataOrder::Random);
    matches!(document.plan.work, Work::Requests(_))
        && document.plan.work.requests().len() == 1
        && document.plan.data.iter().all(|set| is_random(set.order))
}

/// An address that is slower than the others of its target at a percentile.
fn compare<'a>(
    document: &Document,
    all: &[Timed<'a>],
    one: &Timed<'a>,
    q: Quantile,
) -> Option<Slow<'a>> {
    let mut others = all
        .iter()
        .filter(|other| other.row.target == one.row.target && other.row.address != one.row.address);
    let mut rest = others.next()?.hdr.clone();
    others.try_for_each(|other| rest.add(&other.hdr)).ok()?;
    let response = &document.latencies.response;
    let effective = response.interval_ns(&q.to_string())?.effective_samples;
    let independent = (effective as f64 / response.count.max(1) as f64).min(1.0);
    let confidence = 1.0 - FALSE_ALARMS / (all.len() * COMPARED.len()) as f64;
    let levels =
        |hdr: &Hdr<u64>| order::levels((hdr.len() as f64 * independent) as u64, q, confidence);
    let at = |hdr: &Hdr<u64>, level: Quantile| value_at_rank(hdr, level.rank(hdr.len()));
    let (low, high) = (levels(&one.hdr).low?, levels(&rest).high?);
    let [own_ns, others_ns] = [&one.hdr, &rest].map(|hdr| at(hdr, q));
    let is_beyond = at(&one.hdr, low) > at(&rest, high);
    let is_slow = is_beyond && own_ns as f64 >= MATERIAL * others_ns as f64;
    is_slow.then_some(Slow { row: one.row, q, own_ns, others_ns })
}

/// The first of these, and how many more there are.
fn named<T>(all: &[T], name: impl Fn(&T) -> String) -> String {
    let mut named: Vec<String> = all.iter().take(NAMED).map(name).collect();
    if all.len() > NAMED {
        named.push(format!("and {} more", all.len() - NAMED));
    }
    named.join(", ")
}

#[cfg(test)]
mod tests {
    use candor_stats::bootstrap::Random;

    use super::super::found;
    use super::*;
    use crate::document::counts::RequestRow;
    use crate::testing;

    /// A run with these response times at each address of a target, of which so many are independent for one that is.
    fn run(times: &[Vec<u64>], dependent: u64) -> Document {
        let mut document = testing::healthy_open();
        let row = |(number, times): (usize, &Vec<u64>)| AddressRow {
            target: candor_plan::MAIN_TARGET.to_owned(),
            address: format!("127.0.0.{}:80", number + 1),
            requests: Some(RequestRow {
                response: Some(testing::distribution(times)),
                ..RequestRow::default()
            }),
            ..AddressRow::default()
        };
        document.addresses = times.iter().enumerate().map(row).collect();
        document.latencies.response = testing::distribution(&times.concat());
        for interval in document.latencies.response.intervals_ns.values_mut() {
            interval.effective_samples /= dependent;
        }
        document
    }

    /// Response times around 10 ms times a factor, of which `together` in a row have the same.
    fn times(random: &mut Random, count: usize, factor: f64, together: usize) -> Vec<u64> {
        let mut last = 0;
        let time = |number: usize| {
            if number.is_multiple_of(together) {
                last = (1e7 * factor * (0.8 * random.normal()).exp()) as u64;
            }
            last
        };
        (0..count).map(time).collect()
    }

    /// In how many of 200 runs an address of these is slower; and in how many the median of one is, by a tenth.
    fn slower_in(factors: &[f64], count: usize, together: usize, dependent: u64) -> [usize; 2] {
        let mut random = Random::new(51);
        let mut slower = [0, 0];
        for _ in 0..200 {
            let times: Vec<Vec<u64>> =
                factors.iter().map(|one| times(&mut random, count, *one, together)).collect();
            let document = run(&times, dependent);
            slower[0] += usize::from(slow(&document).is_some());
            let medians = times.iter().map(|one| {
                let mut sorted = one.clone();
                sorted.sort_unstable();
                sorted[one.len() / 2] as f64
            });
            let (least, most) =
                medians.fold((f64::MAX, 0.0), |(least, most), one| (one.min(least), one.max(most)));
            slower[1] += usize::from(most > MATERIAL * least);
        }
        slower
    }

    #[test]
    fn of_runs_with_equal_addresses_at_most_one_in_a_hundred_has_a_slow_one() {
        for (addresses, count) in [(2, 60), (2, 2_000), (5, 400)] {
            let [slower, differ] = slower_in(&vec![1.0; addresses], count, 1, 1);
            assert!(slower <= 2, "{slower} of 200 with {addresses} of {count}");
            assert!(
                count > 400 || differ > 80,
                "{differ}: there is something to be mistaken about"
            );
        }
    }

    #[test]
    fn samples_that_depend_on_each_other_are_worth_less() {
        let together = 20;
        let [slower, _] = slower_in(&[1.0, 1.0, 1.0], 2_000, together, together as u64);
        assert!(slower <= 2, "{slower} of 200");
        let [mistaken, _] = slower_in(&[1.0, 1.0, 1.0], 2_000, together, 1);
        assert!(mistaken > 20, "{mistaken}: taken for independent, they are not");
    }

    #[test]
    fn an_address_that_takes_half_as_long_again_is_found() {
        let [slower, _] = slower_in(&[1.0, 1.5, 1.0], 1_000, 1, 1);
        assert!(slower >= 198, "{slower} of 200");
    }

    #[test]
    fn a_name_that_was_not_resolved_again_is_a_note() {
        let resolved = |failed, left_out| {
            let mut document = testing::resolved_again(failed, left_out);
            document.names.insert(0, NameCounts { asked: 9, answered: 9, ..NameCounts::default() });
            found(&document, "name-not-resolved")
        };
        assert!(resolved(0, 0).is_none());
        let verdict = resolved(3, 0).unwrap();
        assert_eq!((verdict.severity, verdict.evidence["failed"]), (Severity::Note, 3.0));
        assert!(verdict.sentence.starts_with("h.example was not resolved 3 times of 8: "));
        let verdict = resolved(0, 1).unwrap();
        assert!(verdict.sentence.starts_with("1 new address of h.example"), "{}", verdict.sentence);
    }

    #[test]
    fn a_slow_address_is_named_with_its_percentile() {
        assert!(found(&testing::healthy_open(), "address-slow").is_none());
        let even = |low: u64, high: u64| -> Vec<u64> {
            (0..1000).map(|at| low + (high - low) * at / 1000).collect()
        };
        let (quick, slow) = (even(9_000_000, 11_000_000), even(18_000_000, 22_000_000));
        let mut document = run(&[quick, slow], 1);
        let verdict = found(&document, "address-slow").unwrap();
        assert_eq!(verdict.severity, Severity::Note);
        assert!(
            verdict.sentence.starts_with("1 of 2 addresses is slower: 127.0.0.2:80 with a p50 of")
        );
        let ratio = verdict.evidence["response_ns"] / verdict.evidence["others_ns"];
        assert!((ratio / 2.0 - 1.0).abs() < 0.01, "{ratio}");
        assert_eq!(verdict.evidence["quantile"], 0.5);
        // A target has one address: there are no others.
        document.addresses[1].target = "other".to_owned();
        assert!(found(&document, "address-slow").is_none());
        document.addresses[1].target = document.addresses[0].target.clone();
        // Requests in turn may alternate as the addresses do.
        let twice = [document.plan.work.requests(), document.plan.work.requests()].concat();
        document.plan.work = Work::from(twice);
        assert!(found(&document, "address-slow").is_none());
    }

    #[test]
    fn a_slow_tail_is_found_too_and_a_small_difference_is_not() {
        let with_tail = |every: usize| -> Vec<u64> {
            (0..20_000)
                .map(|at| if at % every == 0 { 50_000_000 } else { 9_000_000 + at as u64 * 100 })
                .collect()
        };
        let verdict = found(&run(&[with_tail(20_000), with_tail(50)], 1), "address-slow").unwrap();
        assert_eq!(verdict.evidence["quantile"], 0.99);
        let faster: Vec<u64> = with_tail(20_000).iter().map(|ns| ns * 95 / 100).collect();
        assert!(found(&run(&[with_tail(20_000), faster], 1), "address-slow").is_none());
    }

    #[test]
    fn an_address_that_takes_nothing_beside_one_that_does() {
        assert!(found(&testing::healthy_open(), "address-down").is_none());
        let mut document = testing::down();
        let verdict = found(&document, "address-down").unwrap();
        assert_eq!(
            verdict.sentence,
            "1 of 2 addresses took no connection: 127.0.0.2:80 for 50.0 % of the run (7 attempts \
             failed)."
        );
        assert_eq!(verdict.evidence["down_share"], 0.5);
        document.addresses[1].target = "other".to_owned();
        assert!(found(&document, "address-down").is_none(), "there is no other to go to");
        document = testing::down();
        document.addresses[1].down = Some(0.005);
        assert!(found(&document, "address-down").is_none());
    }
}
