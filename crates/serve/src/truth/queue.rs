//! When each response has to leave: the arithmetic of the truth server, without clock or sockets.
//!
//! A departure is computed when its request arrives, from the arrival and from departures computed
//! before; never from when a response really left. So the server's own lateness affects one
//! response and not those after it. Times come in as nanoseconds of any clock.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

/// How the truth server schedules its responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discipline {
    /// One server, first come first served: `departure = max(arrival, departure before) + service`
    /// (Lindley's recursion).
    Fifo {
        /// Time that each request takes.
        service_ns: u64,
    },
    /// Each response leaves this long after its request arrived, any number at once.
    Delay {
        /// How long.
        service_ns: u64,
    },
    /// The same with this number of places and no queue: a request without a place is refused at
    /// once.
    Capped {
        /// How long.
        service_ns: u64,
        /// Places, at least 1.
        places: usize,
    },
}

impl Discipline {
    /// Time that a request takes once it is begun.
    pub fn service_ns(self) -> u64 {
        match self {
            Discipline::Fifo { service_ns }
            | Discipline::Delay { service_ns }
            | Discipline::Capped { service_ns, .. } => service_ns,
        }
    }
}

/// A request that was accepted and has not left.
#[derive(Debug, Clone, Copy)]
struct Waiting<T> {
    arrival_ns: u64,
    departure_ns: u64,
    ticket: T,
}

/// The accepted requests that have not left, in the order in which they leave. `T` identifies the
/// request.
#[derive(Debug)]
pub(super) struct Queue<T> {
    discipline: Discipline,
    stalls_ns: Vec<(u64, u64)>,
    waiting: VecDeque<Waiting<T>>,
    /// Departure of the last request that left: the server is free from then on.
    left_ns: u64,
}

impl<T: Copy> Queue<T> {
    pub(super) fn new(discipline: Discipline) -> Self {
        let waiting = VecDeque::with_capacity(1024);
        Queue { discipline, stalls_ns: Vec::new(), waiting, left_ns: 0 }
    }

    /// Accepts a request that arrives at `arrival_ns` and returns when it has to leave; `None` if
    /// it is refused. Arrivals come in ascending order.
    pub(super) fn arrive(&mut self, arrival_ns: u64, ticket: T) -> Option<u64> {
        if let Discipline::Capped { places, .. } = self.discipline {
            // A place is free from the computed departure on, even if the server is late.
            let gone = self.waiting.partition_point(|one| one.departure_ns <= arrival_ns);
            if self.waiting.len() - gone >= places {
                return None;
            }
        }
        let departure_ns = self.departure_ns(arrival_ns, self.last_departure_ns());
        self.waiting.push_back(Waiting { arrival_ns, departure_ns, ticket });
        Some(departure_ns)
    }

    /// Nothing begins (first come first served) or leaves (other disciplines) from `from_ns`, which
    /// is now, to `to_ns`. Waiting responses are postponed; `moved` gets each new departure.
    pub(super) fn stall(&mut self, from_ns: u64, to_ns: u64, mut moved: impl FnMut(T, u64)) {
        self.stalls_ns.push((from_ns, to_ns));
        let mut last_ns = self.left_ns;
        for n in 0..self.waiting.len() {
            let Waiting { arrival_ns, departure_ns, ticket } = self.waiting[n];
            let computed_ns = self.departure_ns(arrival_ns, last_ns);
            if computed_ns != departure_ns {
                self.waiting[n].departure_ns = computed_ns;
                moved(ticket, computed_ns);
            }
            last_ns = computed_ns;
        }
    }

    /// When the next response has to leave.
    pub(super) fn next_departure_ns(&self) -> Option<u64> {
        self.waiting.front().map(|one| one.departure_ns)
    }

    /// Takes out the next response that has to leave by `now_ns`.
    pub(super) fn take_due(&mut self, now_ns: u64) -> Option<T> {
        let next = self.waiting.front().filter(|one| one.departure_ns <= now_ns)?;
        self.left_ns = next.departure_ns;
        self.waiting.pop_front().map(|one| one.ticket)
    }

    fn last_departure_ns(&self) -> u64 {
        self.waiting.back().map_or(self.left_ns, |last| last.departure_ns)
    }

    fn departure_ns(&self, arrival_ns: u64, last_ns: u64) -> u64 {
        match self.discipline {
            Discipline::Fifo { service_ns } => {
                self.past_stalls(arrival_ns.max(last_ns)) + service_ns
            }
            Discipline::Delay { service_ns } | Discipline::Capped { service_ns, .. } => {
                self.past_stalls(arrival_ns + service_ns)
            }
        }
    }

    /// `at_ns`, or the end of the stalls that it falls into.
    fn past_stalls(&self, mut at_ns: u64) -> u64 {
        // Stalls may overlap and come in any order: repeat until none applies.
        while let Some(end_ns) = self
            .stalls_ns
            .iter()
            .filter(|(from_ns, to_ns)| (*from_ns..*to_ns).contains(&at_ns))
            .map(|&(_, to_ns)| to_ns)
            .max()
        {
            at_ns = end_ns;
        }
        at_ns
    }
}

/// Independent queues, at least one.
#[derive(Debug)]
pub(super) struct Queues<T> {
    queues: Vec<Queue<T>>,
}

impl<T: Copy> Queues<T> {
    pub(super) fn new(discipline: Discipline, count: NonZeroUsize) -> Self {
        Queues { queues: (0..count.get()).map(|_| Queue::new(discipline)).collect() }
    }

    /// The queue with this number; the first, if there is none.
    pub(super) fn of_number(&self, number: usize) -> usize {
        if number < self.queues.len() { number } else { 0 }
    }

    /// As [`Queue::arrive`], in one of them.
    pub(super) fn arrive(&mut self, queue: usize, arrival_ns: u64, ticket: T) -> Option<u64> {
        self.queues[queue].arrive(arrival_ns, ticket)
    }

    /// As [`Queue::stall`], in all of them.
    pub(super) fn stall(&mut self, from_ns: u64, to_ns: u64, mut moved: impl FnMut(T, u64)) {
        for queue in &mut self.queues {
            queue.stall(from_ns, to_ns, &mut moved);
        }
    }

    /// When the next response of any queue has to leave.
    pub(super) fn next_departure_ns(&self) -> Option<u64> {
        self.queues.iter().filter_map(Queue::next_departure_ns).min()
    }

    /// Takes out the next response of any queue that has to leave by `now_ns`.
    pub(super) fn take_due(&mut self, now_ns: u64) -> Option<T> {
        let departs = |queue: &Queue<T>| queue.next_departure_ns().unwrap_or(u64::MAX);
        self.queues.iter_mut().min_by_key(|queue| departs(queue))?.take_due(now_ns)
    }
}

#[cfg(test)]
mod tests {
    use candor_stats::closed_form::{FifoPath, LossPath, Stall};
    use proptest::prelude::*;

    use super::*;

    /// Departures of these arrivals, if the server checks the clock every `look_ns`.
    fn departures(discipline: Discipline, arrivals_ns: &[u64], look_ns: u64) -> Vec<Option<u64>> {
        let mut queue = Queue::new(discipline);
        let mut left = vec![None; arrivals_ns.len()];
        let mut departures = vec![];
        for (n, &arrival_ns) in arrivals_ns.iter().enumerate() {
            departures.push(queue.arrive(arrival_ns, n));
            if arrival_ns % look_ns == 0 {
                while let Some(n) = queue.take_due(arrival_ns) {
                    left[n] = departures[n];
                }
            }
        }
        while let Some(departure_ns) = queue.next_departure_ns() {
            let n = queue.take_due(departure_ns).unwrap();
            left[n] = Some(departure_ns);
        }
        assert_eq!(left, departures, "each is taken out at the time that it was told");
        departures
    }

    fn arrivals() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(0u64..40, 1..200).prop_map(|gaps| {
            gaps.iter()
                .scan(0, |at, gap| {
                    *at += gap;
                    Some(*at)
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn first_come_first_served_is_lindleys_recursion(
            arrivals in arrivals(), service_ns in 0u64..30, look_ns in 1u64..20,
        ) {
            let mut path = FifoPath::new(service_ns);
            let expected: Vec<_> = arrivals.iter().map(|&at| Some(path.departure_ns(at))).collect();
            prop_assert_eq!(departures(Discipline::Fifo { service_ns }, &arrivals, look_ns), expected);
        }

        #[test]
        fn a_delay_is_a_delay(arrivals in arrivals(), service_ns in 0u64..300, look_ns in 1u64..20) {
            let expected: Vec<_> = arrivals.iter().map(|&at| Some(at + service_ns)).collect();
            prop_assert_eq!(departures(Discipline::Delay { service_ns }, &arrivals, look_ns), expected);
        }

        #[test]
        fn places_are_counted_whenever_the_server_looks(
            arrivals in arrivals(), service_ns in 1u64..300, places in 1usize..8, look_ns in 1u64..20,
        ) {
            let mut path = LossPath::new(service_ns, places);
            let expected: Vec<_> = arrivals.iter().map(|&at| path.departure_ns(at)).collect();
            let capped = Discipline::Capped { service_ns, places };
            prop_assert_eq!(departures(capped, &arrivals, look_ns), expected);
        }

        #[test]
        fn a_stall_on_command_is_as_if_it_had_been_planned(
            arrivals in arrivals(), service_ns in 0u64..30, at in 0usize..200, lasts in 0u64..500,
        ) {
            let from_ns = arrivals[at % arrivals.len()];
            let mut path = FifoPath::new(service_ns).with_stalls([(from_ns, from_ns + lasts)]);
            let expected: Vec<_> = arrivals.iter().map(|&at| path.departure_ns(at)).collect();
            let mut queue = Queue::new(Discipline::Fifo { service_ns });
            let mut departures = vec![0; arrivals.len()];
            let mut ordered = false;
            for (n, &arrival_ns) in arrivals.iter().enumerate() {
                if arrival_ns >= from_ns && !ordered {
                    // Requests begun before now have left or continue.
                    while queue.take_due(from_ns).is_some() {}
                    queue.stall(from_ns, from_ns + lasts, |n, at: u64| departures[n] = at);
                    ordered = true;
                }
                departures[n] = queue.arrive(arrival_ns, n).unwrap();
            }
            prop_assert_eq!(departures, expected);
        }
    }

    #[test]
    fn what_is_ready_in_a_stall_leaves_at_its_end() {
        let mut queue = Queue::new(Discipline::Delay { service_ns: 10 });
        assert_eq!(queue.arrive(0, 'a'), Some(10));
        assert_eq!(queue.arrive(4, 'b'), Some(14));
        let mut moved = vec![];
        queue.stall(5, 12, |ticket, at| moved.push((ticket, at)));
        assert_eq!(moved, [('a', 12)]);
        assert_eq!(queue.arrive(5, 'c'), Some(15));
        assert_eq!(
            (queue.take_due(11), queue.take_due(12), queue.take_due(13)),
            (None, Some('a'), None)
        );
    }

    #[test]
    fn stalls_that_overlap_are_one() {
        let mut queue = Queue::new(Discipline::Delay { service_ns: 0 });
        queue.stall(20, 30, |(), _| {});
        queue.stall(5, 22, |(), _| {});
        assert_eq!(queue.arrive(6, ()), Some(30));
    }

    #[test]
    fn a_stall_gives_the_response_times_of_its_closed_form() {
        // 1000/s for 20 s, 0.2 ms each, and a stall of 1 s.
        let stall = Stall { rate_per_s: 1000.0, service_s: 2e-4, length_s: 1.0, run_s: 20.0 };
        let mut queue = Queue::new(Discipline::Fifo { service_ns: 200_000 });
        queue.stall(5_000_000_000, 6_000_000_000, |(), _| {});
        let mut sum_s = 0.0;
        for n in 0..20_000u64 {
            let arrival_ns = n * 1_000_000;
            sum_s += (queue.arrive(arrival_ns, ()).unwrap() - arrival_ns) as f64 / 1e9;
            while queue.take_due(arrival_ns).is_some() {}
        }
        assert!((sum_s / 20_000.0 / stall.response_mean() - 1.0).abs() < 0.005);
    }

    #[test]
    fn queues_side_by_side_know_nothing_of_each_other() {
        let fifo = Discipline::Fifo { service_ns: 10 };
        let mut queues = Queues::new(fifo, NonZeroUsize::new(2).unwrap());
        let of = |number| queues.of_number(number);
        assert_eq!((of(0), of(1), of(2), of(3)), (0, 1, 0, 0));
        assert_eq!(queues.arrive(0, 100, 'a'), Some(110));
        assert_eq!(queues.arrive(0, 101, 'b'), Some(120));
        assert_eq!(queues.arrive(1, 102, 'c'), Some(112));
        assert_eq!(queues.next_departure_ns(), Some(110));
        assert_eq!(queues.take_due(109), None);
        let left: Vec<char> = std::iter::from_fn(|| queues.take_due(200)).collect();
        assert_eq!(left, ['a', 'c', 'b']);
        // A stall affects all queues.
        assert_eq!(queues.arrive(1, 200, 'd'), Some(210));
        assert_eq!(queues.arrive(0, 200, 'e'), Some(210));
        let mut moved = Vec::new();
        queues.stall(200, 250, |ticket, at_ns| moved.push((ticket, at_ns)));
        assert_eq!(moved, [('e', 260), ('d', 260)]);
    }
}
