//! The store of a user's cookies (RFC 6265 5.3 and 5.4), compact: one buffer of text, and an entry of
//! fixed size for each cookie.
//!
//! The entries are in the order in which cookies are sent, so writing the field goes through them once.

use super::{Ignored, Reach, Sites};
use crate::MOST_COOKIES;
use crate::buffer::{clear_bytes, replace};

/// Cookies, in the order of RFC 6265 5.4: longer paths first, then those that were created earlier.
#[derive(Debug, Default)]
pub(crate) struct Cookies {
    entries: Vec<Entry>,
    /// For each entry `name=value` and the path, in no order.
    text: Vec<u8>,
    /// How many were created.
    created: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Seconds since 1970.
    expires_s: u64,
    /// Where its text begins.
    start: u32,
    /// How many were created before it.
    created: u32,
    name_bytes: u16,
    /// Of `name=value`.
    pair_bytes: u16,
    path_bytes: u16,
    reach: Reach,
    is_secure: bool,
    /// It stays when an iteration of its user is over.
    lasting: bool,
}

/// A cookie that this site may set.
#[derive(Debug, Clone, Copy)]
pub(super) struct New<'a> {
    pub(super) name: &'a [u8],
    pub(super) value: &'a [u8],
    pub(super) path: &'a [u8],
    pub(super) reach: Reach,
    pub(super) is_secure: bool,
    pub(super) lasting: bool,
    pub(super) expires_s: u64,
}

/// What came of a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is stored, and this many others were dropped for it.
    Stored { dropped: u32 },
    /// It is not there any more.
    Removed,
}

impl Cookies {
    /// Stores or removes a cookie that one of `sites` sets, within `most_bytes` of text in all.
    pub(super) fn store(
        &mut self,
        new: New<'_>,
        (sites, site): (&Sites, u16),
        now_s: u64,
        most_bytes: usize,
    ) -> Result<Outcome, Ignored> {
        if !sites.is_https(site) && !new.is_secure && self.has_secure_like(&new, (sites, site)) {
            return Err(Ignored::Insecure);
        }
        let earlier = self.entries.iter().position(|entry| self.is_same(entry, &new));
        if new.expires_s <= now_s {
            if let Some(number) = earlier {
                self.remove(number);
            }
            return Ok(Outcome::Removed);
        }
        if new.text_bytes() > most_bytes {
            return Err(Ignored::TooLong);
        }
        // RFC 6265 5.3, step 11: a cookie that is replaced keeps its time of creation.
        let (created, lasting) = match earlier.map(|number| self.remove(number)) {
            Some(earlier) => (earlier.created, earlier.lasting || new.lasting),
            None => {
                self.created = self.created.wrapping_add(1);
                (self.created, new.lasting)
            }
        };
        let dropped = self.make_room(new.text_bytes(), now_s, most_bytes);
        self.insert(&New { lasting, ..new }, created);
        Ok(Outcome::Stored { dropped })
    }

    /// Appends `a=b; c=d` for a request to one of `sites`, and says whether there was a cookie to append.
    pub(crate) fn write_header(
        &self,
        (sites, site): (&Sites, u16),
        path: &[u8],
        now_s: u64,
        out: &mut Vec<u8>,
    ) -> bool {
        let path = without_query(path);
        let mut has_any = false;
        for entry in &self.entries {
            let is_sent = entry.expires_s > now_s
                && (sites.is_https(site) || !entry.is_secure)
                && sites.covers(entry.reach, site)
                && path_matches(path, self.path(entry));
            if is_sent {
                if has_any {
                    out.extend_from_slice(b"; ");
                }
                out.extend_from_slice(self.pair(entry));
                has_any = true;
            }
        }
        has_any
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        clear_bytes(&mut self.text);
        self.created = 0;
    }

    /// Forgets all that are not lasting.
    pub(crate) fn keep_lasting(&mut self) {
        for number in (0..self.entries.len()).rev() {
            if !self.entries[number].lasting {
                self.remove(number);
            }
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn text_bytes(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.text.capacity() + self.entries.capacity() * size_of::<Entry>()
    }

    fn pair(&self, entry: &Entry) -> &[u8] {
        &self.text[entry.start as usize..][..usize::from(entry.pair_bytes)]
    }

    fn path(&self, entry: &Entry) -> &[u8] {
        let start = entry.start as usize + usize::from(entry.pair_bytes);
        &self.text[start..][..usize::from(entry.path_bytes)]
    }

    fn name(&self, entry: &Entry) -> &[u8] {
        &self.pair(entry)[..usize::from(entry.name_bytes)]
    }

    /// RFC 6265bis 5.7: a cookie has the identity of its name, domain, host-only-flag and path.
    fn is_same(&self, entry: &Entry, new: &New<'_>) -> bool {
        entry.reach == new.reach && self.name(entry) == new.name && self.path(entry) == new.path
    }

    /// RFC 6265bis 5.7, "leave secure cookies alone": where both cover this site, their domains match.
    fn has_secure_like(&self, new: &New<'_>, (sites, site): (&Sites, u16)) -> bool {
        self.entries.iter().any(|entry| {
            entry.is_secure
                && sites.covers(entry.reach, site)
                && self.name(entry) == new.name
                && path_matches(new.path, self.path(entry))
        })
    }

    fn insert(&mut self, new: &New<'_>, created: u32) {
        let entry = Entry {
            expires_s: new.expires_s,
            start: self.text.len() as u32,
            created,
            name_bytes: new.name.len() as u16,
            pair_bytes: (new.name.len() + 1 + new.value.len()) as u16,
            path_bytes: new.path.len() as u16,
            reach: new.reach,
            is_secure: new.is_secure,
            lasting: new.lasting,
        };
        for part in [new.name, b"=", new.value, new.path] {
            self.text.extend_from_slice(part);
        }
        let order = |entry: &Entry| (std::cmp::Reverse(entry.path_bytes), entry.created);
        let at = self.entries.partition_point(|other| order(other) < order(&entry));
        self.entries.insert(at, entry);
    }

    fn remove(&mut self, number: usize) -> Entry {
        let gone = self.entries.remove(number);
        let bytes = u32::from(gone.pair_bytes) + u32::from(gone.path_bytes);
        let start = gone.start as usize;
        replace(&mut self.text, start..start + bytes as usize, b"");
        for entry in self.entries.iter_mut().filter(|entry| entry.start > gone.start) {
            entry.start -= bytes;
        }
        gone
    }

    /// Drops cookies until another one of `bytes` fits: expired ones first, then the oldest.
    fn make_room(&mut self, bytes: usize, now_s: u64, most_bytes: usize) -> u32 {
        let mut dropped = 0;
        while self.entries.len() >= MOST_COOKIES || self.text.len() + bytes > most_bytes {
            let all = self.entries.iter().enumerate();
            let first = all.min_by_key(|(_, entry)| (entry.expires_s > now_s, entry.created));
            let Some((number, _)) = first else { break };
            self.remove(number);
            dropped += 1;
        }
        dropped
    }
}

impl New<'_> {
    fn text_bytes(&self) -> usize {
        self.name.len() + 1 + self.value.len() + self.path.len()
    }
}

/// RFC 6265 5.1.4, the path to use where the cookie has none.
pub(super) fn default_path(path: &[u8]) -> &[u8] {
    let path = without_query(path);
    match memchr::memrchr(b'/', path) {
        Some(0) | None => b"/",
        Some(last) => &path[..last],
    }
}

/// RFC 6265 5.1.4.
pub(super) fn path_matches(path: &[u8], cookie: &[u8]) -> bool {
    match path.strip_prefix(cookie) {
        Some(rest) => rest.is_empty() || rest[0] == b'/' || cookie.ends_with(b"/"),
        None => false,
    }
}

/// The path of a request's target; `/` where the target is none, as in `OPTIONS *`.
fn without_query(target: &[u8]) -> &[u8] {
    if target.first() != Some(&b'/') {
        return b"/";
    }
    let end = memchr::memchr2(b'?', b'#', target).unwrap_or(target.len());
    &target[..end]
}

#[cfg(test)]
mod tests;
