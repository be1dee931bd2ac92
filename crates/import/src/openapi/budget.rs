//! What a whole document may cost, so that none takes long, whatever its schemas are.

use std::cell::Cell;

/// Schemas that are compared with values, in a whole document.
pub(super) const MAX_CHECKS: usize = 2_000_000;
/// Schemas and properties that are looked at to make values, in a whole document.
pub(super) const MAX_WORK: usize = 1_000_000;

/// Takes from what is left, if there is as much.
pub(super) fn take(left: &Cell<usize>, count: usize) -> bool {
    let rest = left.get().checked_sub(count);
    left.set(rest.unwrap_or(left.get()));
    rest.is_some()
}
