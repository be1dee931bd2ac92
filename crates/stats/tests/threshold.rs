//! The search for a threshold against simulated servers on noisy machines: how often the interval that it states
//! contains the true threshold, and how often it cannot tell.
//!
//! The server is a queue whose capacity the machine's noise changes over time; a run is 6 s of it, of which 5 s count,
//! and runs follow each other on one time line, with the closed loops of a search for a peak among them. The true
//! threshold is the rate at which half of the runs at random times meet the objective, from 1,500 runs; with drift, that
//! in the middle of the search.

use candor_stats::bootstrap::Random;
use candor_stats::threshold::{Next, Search, Settings, is_steady};

/// Steps of the time line, in seconds.
const STEP_S: f64 = 0.01;
/// Of a run: warm-up, window.
const WARM_UP: usize = 100;
const WINDOW: usize = 500;
const RUN: usize = WARM_UP + WINDOW;
/// Requests per second on a quiet machine.
const CAPACITY: f64 = 10_000.0;
/// The objective: at most one in a hundred waits longer.
const LIMIT: usize = 4;
/// What the whole search may take, in runs.
const MOST_RUNS_IN_ALL: usize = 100;
/// Runs before the search, and others that it makes meanwhile.
const BEFORE: usize = 8;
const OTHERS: usize = 11;
/// Searches of each kind of noise.
const SEARCHES: u64 = 200;
/// Each noise, and how many searches of 200 may not be able to tell.
const KINDS: [(Noise, u64); 10] = [
    (Noise::Quiet, 2),
    (Noise::Pauses { every_s: 60.0, mean_s: 0.1 }, 10),
    (Noise::Pauses { every_s: 30.0, mean_s: 0.1 }, 40),
    (Noise::Neighbour { share: 0.3, busy_s: 8.0, idle_s: 24.0 }, 100),
    (Noise::Neighbour { share: 0.5, busy_s: 20.0, idle_s: 40.0 }, 200),
    (Noise::Frequency { deviation: 0.05, over_s: 3.0 }, 10),
    (Noise::Frequency { deviation: 0.05, over_s: 15.0 }, 20),
    (Noise::Frequency { deviation: 0.05, over_s: 30.0 }, 20),
    (Noise::Drift { share: 0.1 }, 10),
    (Noise::All, 160),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Noise {
    /// The capacity varies by half a per cent from second to second.
    Quiet,
    /// The server stands still now and then, once in `every_s`, for `mean_s`.
    Pauses { every_s: f64, mean_s: f64 },
    /// Another process takes a share of the capacity, in bursts.
    Neighbour { share: f64, busy_s: f64, idle_s: f64 },
    /// The frequency wanders: the logarithm of the capacity is an Ornstein-Uhlenbeck process.
    Frequency { deviation: f64, over_s: f64 },
    /// The capacity falls by a share over the time of a usual search.
    Drift { share: f64 },
    /// Everything at once, each at half.
    All,
}

/// The capacity in each step.
fn time_line(noise: Noise, steps: usize, random: &mut Random) -> Vec<f64> {
    let exponential = |mean_s: f64, random: &mut Random| -mean_s * random.unit().ln() / STEP_S;
    let mut factor = vec![1.0; steps];
    let wander = |factor: &mut [f64], deviation: f64, over_s: f64, random: &mut Random| {
        // In steps of a tenth of a second.
        let keep = (-10.0 * STEP_S / over_s).exp();
        let kick = deviation * (1.0 - keep * keep).sqrt();
        let mut at = deviation * random.normal();
        for tenth in factor.chunks_mut(10) {
            at = keep * at + kick * random.normal();
            let by = at.exp();
            tenth.iter_mut().for_each(|one| *one *= by);
        }
    };
    let take = |factor: &mut [f64], left: f64, busy_s: f64, idle_s: f64, random: &mut Random| {
        let mut is_busy = random.unit() < busy_s / (busy_s + idle_s);
        let mut from = 0.0;
        while (from as usize) < steps {
            let length = exponential(if is_busy { busy_s } else { idle_s }, random);
            let to = (from + length).min(steps as f64);
            if is_busy {
                factor[from as usize..to as usize].iter_mut().for_each(|one| *one *= left);
            }
            (from, is_busy) = (to, !is_busy);
        }
    };
    wander(&mut factor, 0.005, 1.0, random);
    match noise {
        Noise::Quiet => {}
        Noise::Pauses { every_s, mean_s } => take(&mut factor, 0.0, mean_s, every_s, random),
        Noise::Neighbour { share, busy_s, idle_s } => {
            take(&mut factor, 1.0 - share, busy_s, idle_s, random);
        }
        Noise::Frequency { deviation, over_s } => wander(&mut factor, deviation, over_s, random),
        Noise::Drift { share } => {
            let per_step = share / (40 * RUN) as f64;
            factor.iter_mut().zip(0..).for_each(|(one, at)| *one *= 1.0 - per_step * f64::from(at));
        }
        Noise::All => {
            take(&mut factor, 0.0, 0.05, 30.0, random);
            take(&mut factor, 0.8, 6.0, 24.0, random);
            wander(&mut factor, 0.03, 20.0, random);
        }
    }
    factor.into_iter().map(|one| CAPACITY * one).collect()
}

/// Whether a run over these steps meets the objective. Requests are served in order: those due in a step are done in
/// the first step in which the capacity so far is enough for them.
fn meets(capacity: &[f64], rate: f64) -> bool {
    let due = rate * STEP_S;
    let (mut arrived, mut served, mut done, mut late) = (0.0, 0.0f64, 0usize, 0usize);
    for (now, per_s) in capacity.iter().enumerate() {
        arrived += due;
        served = (served + per_s * STEP_S).min(arrived);
        // Those of step `done` are done when all up to it are served.
        while done <= now && served >= due * (done + 1) as f64 * (1.0 - 1e-12) {
            late += usize::from(done >= WARM_UP && now - done > LIMIT);
            done += 1;
        }
    }
    // Those that are left are late if they already waited for longer.
    late += (done.max(WARM_UP)..capacity.len()).filter(|one| capacity.len() - one > LIMIT).count();
    late * 100 <= WINDOW
}

/// The rate at which half of the runs at random times meet the objective.
fn threshold(noise: Noise) -> f64 {
    let mut random = Random::new(99);
    let runs = 1500;
    let line = time_line(noise, runs * RUN, &mut random);
    let share = |rate: f64| {
        let met = line.chunks(RUN).filter(|run| meets(run, rate)).count();
        met as f64 / runs as f64
    };
    let (mut low, mut high) = (CAPACITY / 16.0, CAPACITY * 1.5);
    for _ in 0..14 {
        let middle = (low + high) / 2.0;
        if share(middle) > 0.5 { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// A search on its own time line: the interval that it states, if it does, and its runs.
fn search(noise: Noise, most_runs: u32, seed: u64) -> (Option<(f64, f64)>, usize) {
    let mut random = Random::new(seed);
    let line = time_line(noise, MOST_RUNS_IN_ALL * RUN, &mut random);
    let throughput = |run: usize| line[run * RUN..][..RUN].iter().sum::<f64>() / RUN as f64;
    let before: Vec<f64> = (0..BEFORE).map(throughput).collect();
    let guess = before.iter().copied().fold(0.0, f64::max);
    let mut reference = vec![before[BEFORE / 2]];
    let mut search = Search::new(Settings { guess, precision: 0.02, most_runs });
    let (mut runs, mut others) = (BEFORE, OTHERS);
    'search: loop {
        let round = match search.next() {
            Next::Probe(rate) => vec![rate],
            Next::Confirm { low, high } => {
                let mut round: Vec<f64> = low.into_iter().chain(high).collect();
                if random.unit() < 0.5 {
                    round.reverse();
                }
                // Half of the other runs are closed loops.
                for _ in 0..others.min(2).min(MOST_RUNS_IN_ALL - runs) {
                    others -= 1;
                    if others % 2 == 0 {
                        reference.push(throughput(runs));
                    }
                    runs += 1;
                }
                round
            }
            Next::Done => break 'search,
        };
        for rate in round {
            if runs >= MOST_RUNS_IN_ALL {
                break 'search;
            }
            search.tell(rate, meets(&line[runs * RUN..][..RUN], rate));
            runs += 1;
        }
    }
    let interval = match search.ends() {
        (Some(low), Some(high)) if low.confirmed && high.confirmed => (low.rate, high.rate),
        _ => return (None, runs),
    };
    let is_told = is_steady(&reference, interval.0, interval.1) && interval.1 <= 2.0 * interval.0;
    (is_told.then_some(interval), runs)
}

/// Of 200 searches of each kind, at least 95 in 100 of those that state an interval contain the threshold; and as many
/// state one as can: on a quiet machine nearly all. Fixed seeds; with a coverage of 97 % fewer than 95 % of 200 happen in
/// 6 of 100 such tests, so a change of the search may need other seeds, and a look.
#[test]
fn intervals_contain_the_threshold_whatever_the_machine_does() {
    for (noise, most_untold) in KINDS {
        let is_drift = matches!(noise, Noise::Drift { .. });
        let truth = if is_drift { CAPACITY } else { threshold(noise) };
        let (mut stated, mut held) = (0, 0);
        for seed in 1..=SEARCHES {
            let (interval, runs) = search(noise, 20, seed);
            assert!(runs <= MOST_RUNS_IN_ALL);
            let truth = match noise {
                Noise::Drift { share } => truth * (1.0 - share * runs as f64 / 80.0),
                _ => truth,
            };
            let Some((low, high)) = interval else { continue };
            stated += 1;
            held += u64::from(low <= truth && truth <= high);
        }
        assert!(100 * held >= 95 * stated, "{noise:?}: {held} of {stated} contain {truth:.0}");
        assert!(SEARCHES - stated <= most_untold, "{noise:?}: {stated} of {SEARCHES} are stated");
    }
}

/// Whatever the runs say, no rate has more runs than allowed, and the search ends.
#[test]
fn every_search_ends() {
    let mut random = Random::new(1);
    for most_runs in [1, 2, 8, 9, 20] {
        for chance in [0.0, 0.1, 0.5, 0.9, 1.0] {
            for _ in 0..20 {
                let mut search =
                    Search::new(Settings { guess: 1000.0, precision: 0.02, most_runs });
                let mut runs = std::collections::BTreeMap::new();
                let mut made = 0;
                loop {
                    let rates = match search.next() {
                        Next::Probe(rate) => vec![rate],
                        Next::Confirm { low, high } => low.into_iter().chain(high).collect(),
                        Next::Done => break,
                    };
                    for rate in rates {
                        search.tell(rate, random.unit() <= chance);
                        *runs.entry(rate.to_bits()).or_insert(0) += 1;
                        made += 1;
                    }
                    assert!(made < 1000, "{most_runs} {chance}");
                }
                assert!(runs.values().all(|runs| *runs <= most_runs), "{most_runs} {chance}");
            }
        }
    }
}

/// A sharp edge at 777: eight of eight runs at each end.
#[test]
fn a_sharp_edge_takes_eight_runs_at_each_end() {
    let mut search = Search::new(Settings { guess: 1000.0, precision: 0.02, most_runs: 9 });
    assert_eq!(Search::fewest_runs(), 9);
    loop {
        match search.next() {
            Next::Probe(rate) => search.tell(rate, rate < 777.0),
            Next::Confirm { low, high } => {
                low.into_iter().chain(high).for_each(|rate| search.tell(rate, rate < 777.0));
            }
            Next::Done => break,
        }
    }
    let (low, high) = search.ends();
    let (low, high) = (low.unwrap(), high.unwrap());
    assert!(low.confirmed && high.confirmed && low.rate < 777.0 && high.rate >= 777.0);
    assert!((high.rate - low.rate) / high.rate <= 0.02);
    assert_eq!((low.agreed, low.disagreed, high.agreed, high.disagreed), (8, 0, 8, 0));
}

/// A rate that is never met is given up at a 64th of the guess, after repetitions; one that is always met has no upper
/// end.
#[test]
fn no_edge_is_no_interval() {
    for met in [false, true] {
        let mut search = Search::new(Settings { guess: 1000.0, precision: 0.02, most_runs: 20 });
        loop {
            match search.next() {
                Next::Probe(rate) => search.tell(rate, met),
                Next::Confirm { low, high } => {
                    low.into_iter().chain(high).for_each(|rate| search.tell(rate, met));
                }
                Next::Done => break,
            }
        }
        match (met, search.ends()) {
            (false, (None, Some(high))) => assert!(high.confirmed && high.rate <= 1000.0 / 64.0),
            (true, (Some(low), None)) => assert!(!low.confirmed && low.rate > 2000.0),
            (_, ends) => panic!("{ends:?}"),
        }
    }
}

/// A run that chance decided at the first rate does not lead the search astray.
#[test]
fn a_wrong_turn_is_corrected() {
    let mut search = Search::new(Settings { guess: 1000.0, precision: 0.02, most_runs: 20 });
    let mut made = 0;
    loop {
        let rates: Vec<f64> = match search.next() {
            Next::Probe(rate) => vec![rate],
            Next::Confirm { low, high } => low.into_iter().chain(high).collect(),
            Next::Done => break,
        };
        for rate in rates {
            made += 1;
            search.tell(rate, rate < 950.0 && made > 1);
        }
    }
    let (low, high) = search.ends();
    let (low, high) = (low.unwrap(), high.unwrap());
    assert!(low.confirmed && high.confirmed && low.rate < 950.0 && high.rate >= 950.0);
    assert!((high.rate - low.rate) / high.rate <= 0.05, "{low:?} {high:?}");
}
