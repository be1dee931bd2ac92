//! The reactor of a run. It depends on what was asked for, on the number of
//! connections, and on whether the kernel allows it; never on anything measured during the run.

use candor_plan::ReactorChoice;

use super::uring;

/// A real reactor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReactorKind {
    /// epoll.
    Epoll,
    /// io_uring.
    Uring,
}

/// From this number of connections per worker on, [`ReactorChoice::Auto`] is io_uring: never. It is the cheaper one
/// in closed loops of many connections and short responses, by up to a tenth, where the loader is the limit, and the
/// dearer one with responses of some KiB and with servers that are slower than the loader (docs/cost.md).
pub const URING_FROM_CONNECTIONS: u32 = u32::MAX;

/// What [`ReactorChoice::Auto`] is, where both are possible.
pub fn pick(connections_per_worker: u32) -> ReactorKind {
    match connections_per_worker {
        URING_FROM_CONNECTIONS.. => ReactorKind::Uring,
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
    connections_per_worker: u32,
    probe: impl FnOnce() -> Result<(), String>,
) -> ReactorKind {
    let wanted = match choice {
        ReactorChoice::Auto => pick(connections_per_worker),
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
    use super::*;

    #[test]
    fn what_is_asked_for_is_given_where_it_can_be() {
        let allowed = || Ok(());
        let forbidden = || Err("no".to_owned());
        let unasked = || -> Result<(), String> { panic!("epoll needs no probe") };
        assert_eq!(decide(ReactorChoice::Uring, 1, allowed), ReactorKind::Uring);
        assert_eq!(decide(ReactorChoice::Uring, 1, forbidden), ReactorKind::Epoll);
        assert_eq!(decide(ReactorChoice::Epoll, u32::MAX, unasked), ReactorKind::Epoll);
        assert_eq!(decide(ReactorChoice::Auto, 1, unasked), ReactorKind::Epoll);
        assert_eq!(decide(ReactorChoice::Auto, u32::MAX, forbidden), ReactorKind::Epoll);
    }
}
