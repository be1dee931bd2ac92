//! How requests are timed: closed or open, how many, for how long.

use super::group::group;
use crate::load::{Arrivals, Shape};
use crate::run::Pacing;
use crate::units::Rate;
use crate::values::{Count, Nanos, PositiveNanos, SmallCount, named, typed};

group! {
    "Load",
    /// How requests are timed: closed or open, how many, for how long.
    pub struct LoadOptions {
        /// Connections to open at the start [default: 10]
        #[arg(short, long, value_name = "N")]
        pub connections: Option<SmallCount>,

        /// Threads that send [default: half of the cores]
        ///
        /// The connections and the schedule are divided among them.
        #[arg(short, long, value_name = "N")]
        pub threads: Option<SmallCount>,

        /// How long to measure [default: 10s, or as long as the load]
        ///
        /// Does not include the warm-up and the drain. With --requests or a finite --load, the run
        /// ends at whichever limit it reaches first.
        #[arg(short, long, value_name = "TIME", allow_negative_numbers = true)]
        pub duration: Option<PositiveNanos>,

        /// How many requests to measure
        #[arg(short = 'n', long, value_name = "N", allow_negative_numbers = true)]
        pub requests: Option<Count>,

        /// Open load: request rate, e.g. 20k, 30/m or 0.01/s
        ///
        /// Latency counts from when a request was due, so a stall of the server shows in full.
        /// Without --rate and --load, the loop is closed: a connection sends its next request when
        /// the last response is complete.
        #[arg(short = 'R', long, value_name = "RATE", allow_negative_numbers = true)]
        #[serde(deserialize_with = "typed")]
        pub rate: Option<Rate>,

        /// Open load: how due times are drawn from the rate [default: constant]
        #[arg(long, value_name = "PROCESS")]
        #[serde(deserialize_with = "typed")]
        pub arrivals: Option<Arrivals>,

        /// Open load: a shape, e.g. 'ramp 1k..20k over 30s; hold 20k for 1m'
        ///
        /// Parts are joined by `;`, and only the last may have no end:
        ///   hold 20k [for 1m]
        ///   ramp 1k..20k over 30s
        ///   step 1k..10k by 1k every 5s
        ///   burst 500 every 1s [for 30s]
        ///   replay FILE      (one due offset a line, in seconds or with a unit)
        #[arg(long, value_name = "SHAPE", verbatim_doc_comment)]
        pub load: Option<Shape>,

        /// Seed of the random choices [default: 1]
        ///
        /// The same plan and seed give the same schedule, for any number of threads.
        #[arg(long, value_name = "N")]
        pub seed: Option<u64>,

        /// Closed loop: pause between a response and the next request [default: 0]
        #[arg(long, value_name = "TIME")]
        pub think_time: Option<Nanos>,

        /// What --rate and --load count in a plan with journeys [default: users]
        ///
        /// With `requests`, users come at the rate that makes this many requests if every step is made.
        #[arg(long, value_name = "WHAT")]
        #[serde(deserialize_with = "typed")]
        pub rate_of: Option<RateOf>,

        /// Users at a time, of plans with journeys [default: one for each connection]
        ///
        /// Closed loop: how many there are; one that is done is followed by the next. Open load: the
        /// most there may be; arrivals beyond that wait, as requests without a free connection do
        /// [default: 1,000,000].
        #[arg(long, value_name = "N")]
        pub users: Option<SmallCount>,

        /// Open load: drop requests that are overdue by more than this, and count them
        ///
        /// 0 means no queue: a request that finds no free connection when it is due is dropped.
        #[arg(long, value_name = "TIME")]
        pub shed_after: Option<Nanos>,

        /// Open load: open more connections, up to N, while requests wait [default: --connections]
        #[arg(long, value_name = "N")]
        pub max_connections: Option<SmallCount>,

        /// Rate of connection attempts, e.g. 500/s [default: as fast as the server accepts]
        ///
        /// Spreads the storm of connects at the start of a run with many connections, and the storm
        /// of reconnects after the server has closed them all.
        #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
        #[serde(deserialize_with = "typed")]
        pub connect_rate: Option<Rate>,

        /// Start with one connection per thread; open the others during the run
        ///
        /// At --connect-rate, or as fast as the server accepts.
        #[arg(long)]
        pub connect_during_run: bool,

        /// Open all connections at once, send one request on each, and end
        ///
        /// Connecting is part of the measurement: response times count from the start of the run,
        /// when all connections start to connect. No connection is opened earlier, reused or
        /// replaced.
        #[arg(long)]
        pub once: bool,

        /// Send for this long before measuring; counted separately [default: 0]
        ///
        /// An open load warms up at its initial rate.
        #[arg(long, value_name = "TIME")]
        pub warm_up: Option<Nanos>,

        /// How a thread waits for due times and responses [default: auto]
        ///
        /// Sleeping threads wake some microseconds late, which shows as send lag. `auto` sleeps until
        /// just before the due time, by a margin that it learns, and spins for the rest, with up to a
        /// quarter of a core. `spin` never sleeps, not even in a closed loop.
        #[arg(long, value_name = "WAY")]
        #[serde(deserialize_with = "typed")]
        pub pacing: Option<Pacing>,

        /// How long to wait, after the end, for requests in flight [default: 5s]
        #[arg(long, value_name = "TIME")]
        pub drain: Option<Nanos>,

        /// With --requests and no --duration: give up if no response comes for this long
        /// [default: 10s]
        #[arg(long, value_name = "TIME")]
        pub give_up: Option<PositiveNanos>,
    }
    one_of { rate, load }
}

/// What a rate counts in a plan with journeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum RateOf {
    /// Users who come
    Users,
    /// Requests, if every step is made
    Requests,
}

named!(RateOf: "\"users\" or \"requests\"");

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;
    use crate::run::{Pacing, ReactorChoice};
    use crate::values::Typed;
    use crate::work::Order;

    /// An error about a wrong word names every right one.
    #[test]
    fn expected_words_are_all_words() {
        fn check<T: ValueEnum + Typed>() {
            let named: Vec<&str> = T::EXPECTING.split('"').skip(1).step_by(2).collect();
            let all = T::value_variants().iter().map(|one| one.to_possible_value().unwrap());
            let all: Vec<_> = all.map(|one| one.get_name().to_owned()).collect();
            assert_eq!(named, all);
        }
        check::<RateOf>();
        check::<Order>();
        check::<ReactorChoice>();
        check::<Pacing>();
        check::<Arrivals>();
    }
}
