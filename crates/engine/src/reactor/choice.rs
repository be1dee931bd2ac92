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

/// From so many requests in flight on a connection on, [`ReactorChoice::Auto`] is io_uring in closed loops: it takes a
/// tenth less CPU there (docs/cost.md; `make bench` measures it again). With fewer it takes less too where a loop of many
/// connections is as fast as the loader, but the loader's work for some connections, which is in the service time of the
/// others on epoll, is send lag on io_uring, so that a run that is OK on the one is doubtful on the other.
pub const URING_FROM_PIPELINE: u32 = 8;

/// What [`ReactorChoice::Auto`] is, where both are possible.
fn pick(load: &Load, pipeline: u32) -> ReactorKind {
    match load {
        Load::Closed { .. } if pipeline >= URING_FROM_PIPELINE => ReactorKind::Uring,
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
    pipeline: u32,
    probe: impl FnOnce() -> Result<(), String>,
) -> ReactorKind {
    let wanted = match choice {
        ReactorChoice::Auto => pick(load, pipeline),
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
        let (few, many) = (URING_FROM_PIPELINE - 1, URING_FROM_PIPELINE);
        assert_eq!(decide(ReactorChoice::Uring, &closed, 1, allowed), ReactorKind::Uring);
        assert_eq!(decide(ReactorChoice::Uring, &closed, 1, forbidden), ReactorKind::Epoll);
        assert_eq!(decide(ReactorChoice::Epoll, &closed, many, unasked), ReactorKind::Epoll);
        assert_eq!(decide(ReactorChoice::Auto, &closed, few, unasked), ReactorKind::Epoll);
        assert_eq!(decide(ReactorChoice::Auto, &closed, many, allowed), ReactorKind::Uring);
        assert_eq!(decide(ReactorChoice::Auto, &closed, many, forbidden), ReactorKind::Epoll);
        assert_eq!(decide(ReactorChoice::Auto, &open, many, unasked), ReactorKind::Epoll);
    }
}
