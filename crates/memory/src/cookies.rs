//! Cookies of one user, by RFC 6265, and by its revision (draft-ietf-httpbis-rfc6265bis) where that is
//! stricter.
//!
//! The requests of a run go to a few hosts, and a cookie's domain is an end of one of their names: two
//! numbers. Cookies that their host may not set are counted ([`CookieCounts`]), since a server that sets
//! them may have been tested under another name.
//!
//! The parts: what a line says ([`set_cookie`], with [`date`]), whether its site may set it
//! ([`domain`]), and the store ([`Cookies`]).

mod date;
mod domain;
mod set_cookie;
mod store;

pub use domain::Sites;
pub(crate) use store::Cookies;

use crate::fields;
use domain::Reach;
use set_cookie::SetCookie;
use store::{New, Outcome};

/// The most `Set-Cookie` lines of a response that are read. A user has at most 50 cookies.
const MOST_LINES: usize = 500;
/// Attributes are at most this long (RFC 6265bis 5.6); longer ones are ignored.
const MOST_ATTRIBUTE_BYTES: usize = 1024;
/// No cookie is kept for longer (RFC 6265bis 5.5): 400 days.
const MOST_AGE_S: u64 = 400 * 24 * 3600;

/// The cookies of a response: each `Set-Cookie` line is counted in exactly one of these, except that
/// `dropped` counts cookies that were stored before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CookieCounts {
    /// Stored, new or in the place of an earlier one.
    pub stored: u32,
    /// Set with an expiry in the past, which removes the cookie.
    pub removed: u32,
    /// Ignored: its domain does not cover this host, or is one under which anybody can have a host.
    pub foreign: u32,
    /// Ignored: it is `Secure` and the request was not, would replace a `Secure` one without https, or
    /// has a name with `__Secure-` or `__Host-` and not the attributes that those require.
    pub insecure: u32,
    /// Ignored: it has no name, has control characters, or is not UTF-8.
    pub malformed: u32,
    /// Ignored: it is longer than [`crate::MOST_COOKIE_BYTES`], or the user has no room for it.
    pub too_long: u32,
    /// Ignored: it stood behind 500 others in the same response.
    pub too_many: u32,
    /// Stored earlier and dropped for newer ones: there are more than [`crate::MOST_COOKIES`], or no
    /// room.
    pub dropped: u32,
}

impl CookieCounts {
    /// Adds those of another response.
    pub fn add(&mut self, other: &CookieCounts) {
        self.stored += other.stored;
        self.removed += other.removed;
        self.foreign += other.foreign;
        self.insecure += other.insecure;
        self.malformed += other.malformed;
        self.too_long += other.too_long;
        self.too_many += other.too_many;
        self.dropped += other.dropped;
    }

    /// Lines that set no cookie.
    pub fn ignored(&self) -> u32 {
        self.foreign + self.insecure + self.malformed + self.too_long + self.too_many
    }
}

/// Why a cookie is not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ignored {
    Foreign,
    Insecure,
    Malformed,
    TooLong,
}

impl Cookies {
    /// Takes the cookies of a response to a request for `path` at one of `sites`, within `most_bytes` in all, for longer
    /// than an iteration if they are `lasting`.
    pub(crate) fn take(
        &mut self,
        (sites, site): (&Sites, u16),
        path: &[u8],
        fields: &[u8],
        now_s: u64,
        (most_bytes, lasting): (usize, bool),
    ) -> CookieCounts {
        let mut counts = CookieCounts::default();
        for (number, line) in fields::values(fields, b"Set-Cookie").enumerate() {
            if number >= MOST_LINES {
                counts.too_many += 1;
                continue;
            }
            let outcome = SetCookie::parse(line).and_then(|cookie| {
                let new = judged(&cookie, (sites, site), path, now_s)?;
                self.store(New { lasting, ..new }, (sites, site), now_s, most_bytes)
            });
            match outcome {
                Ok(Outcome::Stored { dropped }) => {
                    counts.stored += 1;
                    counts.dropped += dropped;
                }
                Ok(Outcome::Removed) => counts.removed += 1,
                Err(Ignored::Foreign) => counts.foreign += 1,
                Err(Ignored::Insecure) => counts.insecure += 1,
                Err(Ignored::Malformed) => counts.malformed += 1,
                Err(Ignored::TooLong) => counts.too_long += 1,
            }
        }
        counts
    }
}

/// What is stored of a cookie that a response to a request for `path` sets, if this site may set it.
fn judged<'a>(
    cookie: &'a SetCookie<'_>,
    (sites, site): (&Sites, u16),
    path: &'a [u8],
    now_s: u64,
) -> Result<New<'a>, Ignored> {
    let reach = sites.reach(site, cookie.domain()).ok_or(Ignored::Foreign)?;
    let own_path = cookie.path().map(str::as_bytes);
    let path = own_path.unwrap_or_else(|| store::default_path(path));
    let is_secure = cookie.is_secure();
    // RFC 6265bis 4.1.3.
    let begins = |prefix: &str| {
        cookie.name().get(..prefix.len()).is_some_and(|name| name.eq_ignore_ascii_case(prefix))
    };
    let is_locked = reach.host_only && own_path == Some(b"/");
    let is_allowed = (!is_secure || sites.is_https(site))
        && (!begins("__Secure-") || is_secure)
        && (!begins("__Host-") || (is_secure && is_locked));
    if !is_allowed {
        return Err(Ignored::Insecure);
    }
    if path.len() > MOST_ATTRIBUTE_BYTES {
        return Err(Ignored::TooLong);
    }
    Ok(New {
        name: cookie.name().as_bytes(),
        value: cookie.value().as_bytes(),
        path,
        reach,
        is_secure,
        lasting: false,
        expires_s: cookie.expires_s(now_s),
    })
}

#[cfg(test)]
mod tests;
