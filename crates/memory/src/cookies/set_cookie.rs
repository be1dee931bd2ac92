//! One `Set-Cookie` line (RFC 6265 5.2). The `cookie` crate takes it apart; this module bounds what it is
//! given, and says what the attributes mean.

use cookie::Cookie;

use super::{Ignored, MOST_AGE_S, MOST_ATTRIBUTE_BYTES, date};
use crate::MOST_COOKIE_BYTES;

/// The longest line that is read: a cookie and several attributes.
const MOST_LINE_BYTES: usize = 2 * MOST_COOKIE_BYTES;

/// A line, taken apart.
#[derive(Debug)]
pub(super) struct SetCookie<'a> {
    cookie: Cookie<'a>,
    /// Seconds since 1970, by a date that the library does not know.
    odd_date_s: Option<i64>,
}

impl<'a> SetCookie<'a> {
    pub(super) fn parse(line: &'a [u8]) -> Result<Self, Ignored> {
        if line.len() > MOST_LINE_BYTES {
            return Err(Ignored::TooLong);
        }
        // RFC 6265bis 5.6: control characters other than the tab.
        if line.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
            return Err(Ignored::Malformed);
        }
        let line = std::str::from_utf8(line).map_err(|_| Ignored::Malformed)?;
        let cookie = Cookie::parse(line).map_err(|_| Ignored::Malformed)?;
        if cookie.name().len() + cookie.value().len() > MOST_COOKIE_BYTES {
            return Err(Ignored::TooLong);
        }
        let knows_expiry = cookie.max_age().is_some() || cookie.expires().is_some();
        let odd_date_s = if knows_expiry { None } else { odd_date(line) };
        Ok(SetCookie { cookie, odd_date_s })
    }

    pub(super) fn name(&self) -> &str {
        self.cookie.name()
    }

    pub(super) fn value(&self) -> &str {
        self.cookie.value()
    }

    pub(super) fn is_secure(&self) -> bool {
        self.cookie.secure() == Some(true)
    }

    /// Without the dot in front.
    pub(super) fn domain(&self) -> Option<&str> {
        self.cookie.domain().filter(|domain| domain.len() <= MOST_ATTRIBUTE_BYTES)
    }

    /// RFC 6265 5.2.4: a path that does not begin with a slash counts as none.
    pub(super) fn path(&self) -> Option<&str> {
        let is_path = |path: &&str| path.starts_with('/') && path.len() <= MOST_ATTRIBUTE_BYTES;
        self.cookie.path().filter(is_path)
    }

    /// Until when it is valid, in seconds since 1970; [`u64::MAX`] for as long as the user is there.
    /// `Max-Age` comes before `Expires` (RFC 6265 5.3, step 3).
    pub(super) fn expires_s(&self, now_s: u64) -> u64 {
        let most_s = now_s.saturating_add(MOST_AGE_S);
        if let Some(age) = self.cookie.max_age() {
            // Zero and negative ages are the earliest time that there is.
            let age_s = u64::try_from(age.whole_seconds()).unwrap_or(0);
            return if age_s == 0 { 0 } else { now_s.saturating_add(age_s).min(most_s) };
        }
        let date_s = self.cookie.expires_datetime().map(|date| date.unix_timestamp());
        match date_s.or(self.odd_date_s) {
            Some(date_s) => u64::try_from(date_s).unwrap_or(0).min(most_s),
            None => u64::MAX,
        }
    }
}

/// The date of the last `Expires` that has one.
fn odd_date(line: &str) -> Option<i64> {
    let attributes = line.split(';').skip(1).filter_map(|attribute| attribute.split_once('='));
    attributes
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("expires"))
        .filter_map(|(_, value)| date::parse(value.as_bytes()))
        .last()
}

#[cfg(test)]
mod tests;
