//! The predictions of theory for a load: queues whose results are known by calculation.
//!
//! Measured runs are compared with these. There are two kinds. *Sample paths* take the actual
//! arrivals of a run, in nanoseconds, and give each request's departure: no statistics are
//! involved, so they need no tolerance. *Closed forms* give the mean or a quantile of the sample
//! paths; times in them are seconds and rates are per second.
//!
//! Symbols: `R` arrival rate, `D` service time, `ρ = R·D`, `W` time in the queue, `S` length of a
//! stall, `T` length of the run, `c` places, `N` connections, `Z` think time.
//!
//! Sources: D. V. Lindley, "The theory of queues with a single server", Proc. Cambridge Phil. Soc.
//! 48 (1952); A. K. Erlang, "Solution of some problems in the theory of probabilities of
//! significance in automatic telephone exchanges" (1917); L. Kleinrock, *Queueing Systems* I (1975).

use std::collections::VecDeque;

/// One server, first come first served, with a fixed service time: Lindley's recursion.
///
/// Written for departures, `departure[n] = max(arrival[n], departure[n−1]) + D`, which is `W[n+1] =
/// max(0, W[n] + D − A[n])` with `W = departure − arrival − D` and `A` the gap to the next arrival.
/// No service begins during a stall; a service that began before continues.
#[derive(Debug, Clone, Default)]
pub struct FifoPath {
    service_ns: u64,
    stalls_ns: Vec<(u64, u64)>,
    free_at_ns: u64,
}

impl FifoPath {
    /// An idle server with this service time.
    pub fn new(service_ns: u64) -> Self {
        FifoPath { service_ns, ..FifoPath::default() }
    }

    /// And with these stalls, each a beginning and an end.
    pub fn with_stalls(mut self, stalls_ns: impl IntoIterator<Item = (u64, u64)>) -> Self {
        self.stalls_ns.extend(stalls_ns);
        self.stalls_ns.sort_unstable();
        self
    }

    /// When the request that arrives at `arrival_ns` leaves. Arrivals come in ascending order.
    pub fn departure_ns(&mut self, arrival_ns: u64) -> u64 {
        self.free_at_ns = self.next_departure_ns(arrival_ns);
        self.free_at_ns
    }

    /// When the next request leaves if it arrives at `arrival_ns`.
    pub fn next_departure_ns(&self, arrival_ns: u64) -> u64 {
        let mut begin_ns = arrival_ns.max(self.free_at_ns);
        for &(from_ns, to_ns) in &self.stalls_ns {
            if (from_ns..to_ns).contains(&begin_ns) {
                begin_ns = to_ns;
            }
        }
        begin_ns + self.service_ns
    }
}

/// `c` places, each busy for `D` with its request, and no queue: a request without a place is lost.
#[derive(Debug, Clone)]
pub struct LossPath {
    service_ns: u64,
    places: usize,
    leaves_ns: VecDeque<u64>,
}

impl LossPath {
    /// `places` that are free.
    pub fn new(service_ns: u64, places: usize) -> Self {
        LossPath { service_ns, places, leaves_ns: VecDeque::with_capacity(places) }
    }

    /// When the request that arrives at `arrival_ns` leaves; `None` if it is lost. Arrivals come
    /// in ascending order. A place that gets free at the very moment of an arrival takes it.
    pub fn departure_ns(&mut self, arrival_ns: u64) -> Option<u64> {
        while self.leaves_ns.front().is_some_and(|&leaves_ns| leaves_ns <= arrival_ns) {
            self.leaves_ns.pop_front();
        }
        if self.leaves_ns.len() == self.places {
            return None;
        }
        let departure_ns = arrival_ns + self.service_ns;
        self.leaves_ns.push_back(departure_ns);
        Some(departure_ns)
    }
}

/// Share of arrivals lost by `servers` places under `offered` erlangs (`R·D`): Erlang B.
///
/// `B(0) = 1`, `B(c) = a·B(c−1) / (c + a·B(c−1))`. It depends on the service time only through its
/// mean, so it holds for a fixed one.
pub fn erlang_b(offered: f64, servers: u32) -> f64 {
    (1..=servers).fold(1.0, |lost, c| offered * lost / (f64::from(c) + offered * lost))
}

/// Mean time in the queue under Poisson arrivals and a fixed service time (M/D/1), seconds:
/// `ρD / (2(1−ρ))`, Pollaczek and Khinchine's formula without variance of service. Infinite
/// from `ρ = 1` on.
pub fn md1_mean_wait(rate_per_s: f64, service_s: f64) -> f64 {
    let rho = rate_per_s * service_s;
    if rho >= 1.0 { f64::INFINITY } else { rho * service_s / (2.0 * (1.0 - rho)) }
}

/// Time in the queue of request `n`, counted from 0, under even arrivals and a fixed service time
/// (D/D/1), seconds: `n · max(0, D − 1/R)`. Zero below `ρ = 1`; above it, an overload, in which
/// every request waits longer than the one before, without end.
pub fn dd1_wait(n: u64, rate_per_s: f64, service_s: f64) -> f64 {
    n as f64 * (service_s - 1.0 / rate_per_s).max(0.0)
}

/// Quantile `q` in [0, 1) of the response time under Poisson arrivals and exponential service at
/// `service_per_s` (M/M/1), seconds: `−ln(1−q) / (μ−R)`. Infinite from `R = μ` on.
pub fn mm1_response_quantile(q: f64, rate_per_s: f64, service_per_s: f64) -> f64 {
    if rate_per_s >= service_per_s {
        return f64::INFINITY;
    }
    -(1.0 - q).ln() / (service_per_s - rate_per_s)
}

/// Requests per second of a closed loop on a server that responds after `D`, any number at once: `N
/// / (D + Z)`.
pub fn closed_loop_rate(connections: u32, delay_s: f64, think_s: f64) -> f64 {
    f64::from(connections) / (delay_s + think_s)
}

/// One stall of a first-come-first-served server under even arrivals.
///
/// An arrival `t` after the stall begins waits `S − t(1−ρ)`: the rest of the stall, and `D` for
/// each of the `R·t` before it. So `R·S/(1−ρ)` requests wait, evenly between 0 and `S`; their
/// share of the run is `f = S / ((1−ρ)T)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stall {
    /// `R`, per second.
    pub rate_per_s: f64,
    /// `D`, seconds, with `R·D < 1`.
    pub service_s: f64,
    /// `S`, seconds.
    pub length_s: f64,
    /// `T`, seconds; the stall and its catching up are within.
    pub run_s: f64,
}

impl Stall {
    /// `1 − ρ`.
    fn idle(&self) -> f64 {
        1.0 - self.rate_per_s * self.service_s
    }

    /// How many requests wait: `R·S/(1−ρ)`.
    pub fn affected(&self) -> f64 {
        self.rate_per_s * self.length_s / self.idle()
    }

    /// The share of all requests that wait, `f`, in [0, 1].
    pub fn affected_share(&self) -> f64 {
        self.length_s / (self.idle() * self.run_s)
    }

    /// Response time of an arrival `since_s` after the stall began: `S − t(1−ρ) + D`, and `D` once
    /// that is caught up.
    pub fn response(&self, since_s: f64) -> f64 {
        (self.length_s - since_s * self.idle()).max(0.0) + self.service_s
    }

    /// Quantile `q` of the response time: `S(1 − (1−q)/f) + D` where `1−q < f`, otherwise `D`.
    pub fn response_quantile(&self, q: f64) -> f64 {
        let share = (1.0 - q) / self.affected_share();
        self.length_s * (1.0 - share).max(0.0) + self.service_s
    }

    /// Mean response time: `D + f·S/2`.
    pub fn response_mean(&self) -> f64 {
        self.service_s + self.affected_share() * self.length_s / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(value: f64, expected: f64, within: f64) {
        assert!((value - expected).abs() <= within, "{value} is not {expected} ± {within}");
    }

    #[test]
    fn lindleys_recursion_in_both_of_its_forms() {
        let (arrivals, service) = ([0u64, 3, 4, 30, 31, 31, 60], 10u64);
        let mut path = FifoPath::new(service);
        let mut wait = 0u64;
        for (n, &arrival) in arrivals.iter().enumerate() {
            assert_eq!(path.departure_ns(arrival), arrival + wait + service, "request {n}");
            if let Some(next) = arrivals.get(n + 1) {
                wait = (wait + service).saturating_sub(next - arrival);
            }
        }
    }

    #[test]
    fn a_stall_holds_what_was_not_begun() {
        let mut path = FifoPath::new(10).with_stalls([(100, 200), (205, 300)]);
        assert_eq!(path.departure_ns(95), 105, "begun before");
        assert_eq!(path.departure_ns(150), 210);
        // The next would begin at 210, in the second stall.
        assert_eq!(path.departure_ns(160), 310);
        assert_eq!(path.departure_ns(400), 410);
    }

    #[test]
    fn a_loss_path_refuses_when_all_places_are_taken() {
        let mut path = LossPath::new(10, 2);
        let seen: Vec<_> = [0, 1, 5, 10, 10, 12].map(|at| path.departure_ns(at)).into();
        assert_eq!(seen, [Some(10), Some(11), None, Some(20), None, Some(22)]);
    }

    #[test]
    fn erlang_b_has_its_known_values() {
        // Offered 1 erlang to 1 place: a/(1+a).
        assert_close(erlang_b(1.0, 1), 0.5, 1e-12);
        // Of Erlang's tables: 5 erlangs on 5 and on 10 lines, 100 on 117.
        assert_close(erlang_b(5.0, 5), 0.2849, 5e-5);
        assert_close(erlang_b(5.0, 10), 0.0184, 5e-5);
        assert_close(erlang_b(100.0, 117), 0.01, 5e-4);
        assert_close(erlang_b(3.0, 0), 1.0, 0.0);
        // The definition: (a^c/c!) / Σ a^k/k!.
        let terms: Vec<f64> = (0..=8)
            .scan(1.0, |term, k| {
                let now = *term;
                *term *= 6.5 / f64::from(k + 1);
                Some(now)
            })
            .collect();
        assert_close(erlang_b(6.5, 8), terms[8] / terms.iter().sum::<f64>(), 1e-12);
    }

    #[test]
    fn single_servers_have_their_known_waits() {
        // ρ = 0.5, D = 10 ms: 5 ms in the queue under Poisson arrivals, none under even ones.
        assert_close(md1_mean_wait(50.0, 0.010), 0.005, 1e-12);
        assert_eq!(dd1_wait(1000, 50.0, 0.010), 0.0);
        assert_eq!(md1_mean_wait(100.0, 0.010), f64::INFINITY);
        // R = 200, D = 10 ms: request n waits n · 5 ms.
        assert_close(dd1_wait(999, 200.0, 0.010), 4.995, 1e-9);
        // The median of an exponential time of mean 1/(μ−R) = 20 ms.
        assert_close(mm1_response_quantile(0.5, 50.0, 100.0), 0.02 * 2f64.ln(), 1e-12);
        assert_eq!(mm1_response_quantile(0.5, 100.0, 100.0), f64::INFINITY);
        assert_close(closed_loop_rate(20, 0.010, 0.030), 500.0, 1e-9);
    }

    #[test]
    fn a_stall_of_two_seconds_in_thirty() {
        let stall = Stall { rate_per_s: 1000.0, service_s: 0.0, length_s: 2.0, run_s: 30.0 };
        assert_close(stall.response_quantile(0.95), 0.5, 1e-9);
        assert_close(stall.response_quantile(0.99), 1.7, 1e-9);
        assert_close(stall.response_mean(), 0.0667, 5e-5);
        assert_close(stall.response_quantile(0.9), 0.0, 1e-9);
        assert_close(stall.affected(), 2000.0, 1e-9);
    }

    #[test]
    fn the_closed_forms_are_what_the_paths_give() {
        // ρ = 0.4; a stall of 2 s at 10 s of 40 s; the path's own mean, quantiles and single values.
        let stall = Stall { rate_per_s: 1000.0, service_s: 0.0004, length_s: 2.0, run_s: 40.0 };
        let from_ns = 10_000_000_000;
        let mut path = FifoPath::new(400_000).with_stalls([(from_ns, from_ns + 2_000_000_000)]);
        let arrivals = (0..40_000u64).map(|n| n * 1_000_000);
        let mut responses: Vec<f64> = arrivals
            .map(|at_ns| {
                let response = (path.departure_ns(at_ns) - at_ns) as f64 / 1e9;
                if at_ns >= from_ns {
                    assert_close(response, stall.response((at_ns - from_ns) as f64 / 1e9), 0.001);
                }
                response
            })
            .collect();
        assert_close(responses.iter().sum::<f64>() / 40_000.0, stall.response_mean(), 0.0005);
        responses.sort_by(f64::total_cmp);
        for q in [0.5, 0.92, 0.95, 0.99, 0.999] {
            let index = (q * 40_000.0) as usize;
            assert_close(responses[index], stall.response_quantile(q), 0.002);
        }
    }

    #[test]
    fn poisson_paths_tend_to_erlang_and_to_pollaczek_and_khinchine() {
        // A fixed, simple generator: the values are the same in every run of this test.
        let mut state = 0x9E37_79B9_7F4A_7C15u64;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let (count, service_ns) = (400_000, 10_000_000u64);
        let (mut at_s, mut waits_s) = (0.0, 0.0);
        let mut fifo = FifoPath::new(service_ns);
        for _ in 0..count {
            at_s -= (1.0 - uniform()).ln() / 50.0;
            let at_ns = (at_s * 1e9) as u64;
            waits_s += (fifo.departure_ns(at_ns) - at_ns - service_ns) as f64 / 1e9;
        }
        assert_close(waits_s / f64::from(count), md1_mean_wait(50.0, 0.010), 0.0001);
        let (mut at_s, mut lost) = (0.0, 0u32);
        let mut path = LossPath::new(50_000_000, 5);
        for _ in 0..count {
            at_s -= (1.0 - uniform()).ln() / 100.0;
            lost += u32::from(path.departure_ns((at_s * 1e9) as u64).is_none());
        }
        assert_close(f64::from(lost) / f64::from(count), erlang_b(5.0, 5), 0.003);
    }
}
