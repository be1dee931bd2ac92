//! The reactor of a run. It depends on what was asked for, on the load, and on whether the kernel allows it; never on
//! anything measured during the run.

use candor_plan::{Load, ReactorChoice};

use super::uring;

/// A real reactor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReactorKind {
    /// epoll.
    Epoll,
    /// io_uring.
    Uring,
}

/// From this number of requests in flight of a worker on, [`ReactorChoice::Auto`] is io_uring in closed loops. With as
/// many it takes up to a tenth less CPU where the loader is the limit, and no more where it is not; with fewer, and in open
/// loads, the two differ by less than rounds do (docs/cost.md; `make bench` measures it again).
pub const URING_FROM_IN_FLIGHT: u32 = 128;

/// What [`ReactorChoice::Auto`] is, where both are possible.
fn pick(load: &Load, in_flight_per_worker: u32) -> ReactorKind {
    match load {
        Load::Closed { .. } if in_flight_per_worker >= URING_FROM_IN_FLIGHT => ReactorKind::Uring,
        _ => ReactorKind::Epoll,
    }
}

/// Whether io_uring can be used here; if not, why, in words for a user. A run that asks for
/// io_uring in vain gets epoll, and the caller can ask here to say so.
pub fn probe_uring() -> Result<(), String> {
    uring::probe()
}

/// The reactor of a run. `probe` is asked only if io_uring is wanted.
pub(crate) fn decide(
    choice: ReactorChoice,
    load: &Load,
    in_flight_per_worker: u32,
    probe: impl FnOnce() -> Result<(), String>,
) -> ReactorKind {
    let wanted = match choice {
        ReactorChoice::Auto => pick(load, in_flight_per_worker),
        ReactorChoice::Epoll => ReactorKind::Epoll,
        ReactorChoice::Uring => ReactorKind::Uring,
    };
    match wanted {
        ReactorKind::Uring if probe().is_err() => ReactorKind::Epoll,
        kind => kind,
    }
}

#[cfg(test)]
mod tests {
    use candor_plan::{Arrivals, OpenLoad};

    use super::*;

    #[test]
    fn what_is_asked_for_is_given_where_it_can_be() {
        let allowed = || Ok(());
        let forbidden = || Err("no".to_owned());
        let unasked = || -> Result<(), String> { panic!("epoll needs no probe") };
        let closed = Load::Closed { think_time_ns: 0 };
        let open = Load::Open(OpenLoad {
            segments: Vec::new(),
            arrivals: Arrivals::Constant,
            shed_after_ns: None,
        });
        let (few, many) = (URING_FROM_IN_FLIGHT - 1, URING_FROM_IN_FLIGHT);
        assert_eq!(decide(ReactorChoice::Uring, &closed, 1, allowed), ReactorKind::Uring);
        assert_eq!(decide(ReactorChoice::Uring, &closed, 1, forbidden), ReactorKind::Epoll);
        assert_eq!(decide(ReactorChoice::Epoll, &closed, many, unasked), ReactorKind::Epoll);
        assert_eq!(decide(ReactorChoice::Auto, &closed, few, unasked), ReactorKind::Epoll);
        assert_eq!(decide(ReactorChoice::Auto, &closed, many, allowed), ReactorKind::Uring);
        assert_eq!(decide(ReactorChoice::Auto, &closed, many, forbidden), ReactorKind::Epoll);
        assert_eq!(decide(ReactorChoice::Auto, &open, many, unasked), ReactorKind::Epoll);
    }
}
