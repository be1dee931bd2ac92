//! What organs are tested with: a session without a protocol, and plans.

use std::io::{self, IoSlice};
use std::path::Path;

use candor_pace::Share;
use candor_plan::{Options, Plan, ReadFile};
use candor_protocol::{
    Capture, Event, Input, Outgoing, Protocol, RequestId, Session, Transmit, Transport,
};

use candor_record::{Recorder, RecorderSettings};

use crate::load::share::WorkerPlan;

/// A session with this many free places, which says and hears nothing.
pub(super) struct Fake(pub(super) u32);

impl Protocol for Fake {
    const TRANSPORT: Transport = Transport::Stream;
}

impl Session for Fake {
    #[inline]
    fn speaks_unasked(&self) -> bool {
        false
    }

    fn free_places(&self) -> u32 {
        self.0
    }
    fn handle_request(&mut self, _: RequestId, _: Outgoing<'_>) {
        self.0 -= 1;
    }
    fn poll_transmit<'a>(&'a mut self, _: u64, _: &mut [IoSlice<'a>]) -> Transmit {
        Transmit::default()
    }
    fn handle_transmitted(&mut self, _: u64, _: usize, _: &mut dyn FnMut(RequestId)) -> bool {
        false
    }
    fn handle_input(&mut self, _: u64, _: &mut Input<'_>) -> Option<Event> {
        None
    }
    fn poll_event(&mut self) -> Option<Event> {
        None
    }
    fn poll_timeout(&self) -> Option<u64> {
        None
    }
    fn handle_timeout(&mut self, _: u64) {}
    fn cancel(&mut self, _: RequestId) -> bool {
        false
    }
    fn take_captured(&mut self) -> Option<Capture> {
        None
    }
    fn handle_end(&mut self) {}
    fn handle_close(&mut self) {}
}

struct NoFiles;

impl ReadFile for NoFiles {
    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A plan for one worker, of options as TOML, and that worker's share of it.
pub(super) fn own_plan(options: &str) -> (Plan, WorkerPlan) {
    let text = format!("url = 'http://127.0.0.1/'\nthreads = 1\n{options}");
    let options = Options::from_toml("test", &text).unwrap();
    let (plan, _) = options.build(&NoFiles).unwrap();
    let own = WorkerPlan::new(&plan, Share { worker: 0, workers: 1 });
    (plan, own)
}

/// A recorder for a load without users.
pub(super) fn recorder() -> Recorder {
    Recorder::before_run(RecorderSettings {
        digits: 3,
        interval_ns: 1_000_000_000,
        warm_up_ns: 0,
        window_end_ns: None,
        drain_ns: 0,
        requests: 1,
        journeys: 0,
    })
}
