//! A plan changed to be looked at: few requests, one after the other, traced.

use std::collections::HashSet;

use super::Parts;
use crate::load::Load;
use crate::run::{Pacing, ReactorChoice, Stop, Threads, Trace};
use crate::work::Work;
use crate::work::journey::{Capture, Journey, OnFailure, Step};

impl Parts {
    /// Makes it a run of `count` requests by `users` users, to look at: one after the other, without delay, traced. What
    /// is sent stays as it is.
    pub fn look_once(&mut self, count: u64, users: u32) {
        self.load = Load::Closed { think_time_ns: 0 };
        if let Work::Journeys(journeys) = &mut self.work {
            journeys.users = None;
        }
        // The last response ends it; an interruption waits for none.
        self.stop = Stop { duration_ns: None, count: Some(count), drain_ns: 0, ..self.stop };
        self.connect(users, users);
        let connections = &mut self.connections;
        (connections.pipeline, connections.streams) = (1, 1);
        (connections.connect_rate, connections.lifetime_ns) = (None, None);
        (connections.connect_during_run, connections.once) = (false, false);
        connections.dns_refresh_ns = None;
        self.recording.warm_up_ns = 0;
        self.recording.trace = Some(Trace::All);
        self.recording.kernel_timestamps = None;
        self.recording.held_up = false;
        self.threads = Threads {
            count: Some(1),
            pin: false,
            pacing: Pacing::Sleep,
            reactor: ReactorChoice::Epoll,
        };
    }

    /// Makes it a run of one user who makes each request once, in order, to look at. Of every response these values are
    /// captured.
    pub fn walk_once(&mut self, captures: &[Capture]) {
        self.look_once(1, 1);
        let mut requests = self.work.requests().to_vec();
        let mut names = HashSet::new();
        for (at, request) in requests.iter_mut().enumerate() {
            // Names of steps are unique.
            if !names.insert(request.name.clone()) {
                request.name = format!("{} ({})", request.name, at + 1);
            }
        }
        let step =
            |request: usize| Step { captures: captures.to_vec(), ..Step::plain(request as u32) };
        let journey = Journey {
            name: "all requests".to_owned(),
            weight: 1,
            steps: (0..requests.len()).map(step).collect(),
            cookies: false,
            on_failure: OnFailure::GoOn,
        };
        self.work = Work::from(requests).walked(vec![journey], None);
    }
}
