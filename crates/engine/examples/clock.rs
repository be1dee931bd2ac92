//! What a reading of the clock costs in CPU time, and how far the anchored one is from the kernel's.
//!
//! ```text
//! clock READINGS
//! ```
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::hint::black_box;

use candor_engine::reactor::clock::Clock;
use rustix::time::{ClockId, clock_gettime};

fn main() {
    let readings: u64 =
        std::env::args().nth(1).map_or(20_000_000, |number| number.parse().unwrap());
    let (mut kernels, mut best) = (Clock::kernels(), Clock::default());
    println!("anchored: {}", best.is_anchored());
    for _ in 0..5 {
        println!(
            "kernel's {:.2} ns, anchored {:.2} ns a reading",
            cost_ns(&mut kernels, readings),
            cost_ns(&mut best, readings)
        );
    }
    let (mut ahead_ns, mut behind_ns, mut sum_ns) = (0, 0, 0);
    for _ in 0..readings {
        let before_ns = kernels.now_ns();
        let now_ns = best.now_ns();
        let after_ns = kernels.now_ns();
        ahead_ns = ahead_ns.max(now_ns.saturating_sub(after_ns));
        behind_ns = behind_ns.max(before_ns.saturating_sub(now_ns));
        sum_ns += before_ns.saturating_sub(now_ns);
    }
    let mean_ns = sum_ns as f64 / readings as f64;
    println!(
        "over {readings} readings: ahead by {ahead_ns} ns at most, behind by {behind_ns} at most, {mean_ns:.1} on average"
    );
}

fn cost_ns(clock: &mut Clock, readings: u64) -> f64 {
    let begun_ns = cpu_ns();
    for _ in 0..readings {
        black_box(clock.now_ns());
    }
    (cpu_ns() - begun_ns) / readings as f64
}

fn cpu_ns() -> f64 {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    t.tv_sec as f64 * 1e9 + t.tv_nsec as f64
}
