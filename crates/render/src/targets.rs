//! What the addresses of a target come to together. What each of them has is in the document.

use candor_report::document::Document;
use candor_report::document::addresses::AddressRow;

/// Connections established, attempts that failed and connections lost, of a target by its name.
pub(crate) fn connections_to(document: &Document, target: &str) -> [u64; 3] {
    let own = || document.addresses.iter().filter(|one| one.target == target);
    let counts: [fn(&AddressRow) -> u64; 3] = [|one| one.opened, |one| one.failed, |one| one.lost];
    counts.map(|count| own().map(count).fold(0, u64::saturating_add))
}
