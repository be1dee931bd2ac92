//! The memory of one user: the values of the plan's variables, and cookies.
//!
//! Each user that is under way has one, a hundred thousand at times, so it is compact: the values lie
//! one after the other in a single buffer, in the order of their variables, and the cookies in another.
//! To change a value moves the bytes behind it, at most [`MOST_USER_BYTES`].

use std::ops::Range;

use crate::buffer::{clear_bytes, replace, truncate};
use crate::cookies::{CookieCounts, Cookies, Sites};
use crate::{MOST_USER_BYTES, MOST_VALUE_BYTES, Why};

/// In an end: the variable has a value.
const IS_SET: u32 = 1 << 31;

/// The values and cookies of a user.
#[derive(Debug)]
pub struct Memory {
    /// The values, in the order of their variables.
    text: Vec<u8>,
    /// Where in `text` the value of each variable ends, with [`IS_SET`].
    ends: Box<[u32]>,
    cookies: Cookies,
}

impl Memory {
    /// The memory of a user without values and cookies. Its variables are 0 to `variables - 1`.
    pub fn new(variables: usize) -> Self {
        Memory {
            text: Vec::new(),
            ends: vec![0; variables].into_boxed_slice(),
            cookies: Cookies::default(),
        }
    }

    /// Forgets everything, for the next user.
    pub fn clear(&mut self) {
        clear_bytes(&mut self.text);
        self.ends.fill(0);
        self.cookies.clear();
    }

    /// Forgets all but the values of `kept` variables and the lasting cookies, for the same user's next iteration.
    pub fn keep(&mut self, kept: &[bool]) {
        let (mut start, mut end) = (0, 0);
        for (one, is_kept) in self.ends.iter_mut().zip(kept) {
            let old = (*one & !IS_SET) as usize;
            match is_kept {
                true => {
                    self.text.copy_within(start..old, end);
                    end += old - start;
                    *one = *one & IS_SET | end as u32;
                }
                false => *one = end as u32,
            }
            start = old;
        }
        truncate(&mut self.text, end);
        self.cookies.keep_lasting();
    }

    /// The value of a variable, if it has one. It may be empty.
    #[inline]
    pub fn value(&self, variable: u32) -> Option<&[u8]> {
        let number = variable as usize;
        let is_set = *self.ends.get(number)? & IS_SET != 0;
        is_set.then(|| &self.text[self.place(number)])
    }

    /// Gives a variable a value. After an error it has the value that it had before.
    ///
    /// # Errors
    /// The value is too long, or there is no room for it. There is none for a variable beyond the
    /// number that [`Memory::new`] was given.
    pub fn set(&mut self, variable: u32, value: &[u8]) -> Result<(), Why> {
        self.set_all(&[(variable, value)]).map_err(|(_, why)| why)
    }

    /// Gives variables values, all of them or none. No variable may be in the list twice. The error has
    /// the place in the list.
    pub(crate) fn set_all<V: AsRef<[u8]>>(
        &mut self,
        values: &[(u32, V)],
    ) -> Result<(), (usize, Why)> {
        // First what would not be replaced, so that the sum is right in any order of the list.
        let mut bytes = self.bytes();
        for (variable, _) in values {
            bytes -= self
                .ends
                .get(*variable as usize)
                .map_or(0, |_| self.place(*variable as usize).len());
        }
        for (at, (variable, value)) in values.iter().enumerate() {
            let length = value.as_ref().len();
            if length > MOST_VALUE_BYTES {
                return Err((at, Why::TooLong));
            }
            bytes += length;
            if bytes > MOST_USER_BYTES || *variable as usize >= self.ends.len() {
                return Err((at, Why::Full));
            }
        }
        for (variable, value) in values {
            self.put(*variable as usize, value.as_ref());
        }
        Ok(())
    }

    /// Takes the cookies of a response to a request for `path` at one of `sites`, by its number. Those that a browser
    /// would not take are only counted (see [`CookieCounts`]). If they are `lasting`, [`Memory::keep`] keeps them, also
    /// with the values that later responses give them.
    pub fn take_cookies(
        &mut self,
        sites: (&Sites, u16),
        path: &[u8],
        fields: &[u8],
        now_s: u64,
        lasting: bool,
    ) -> CookieCounts {
        let most_bytes = MOST_USER_BYTES - self.text.len();
        self.cookies.take(sites, path, fields, now_s, (most_bytes, lasting))
    }

    /// Appends the value of the `Cookie` field of a request for `path` at one of `sites`, which may have a query
    /// (RFC 6265 5.4). Appends nothing and returns `false` if there is no cookie to send: then the
    /// request has no such field.
    pub fn write_cookies(
        &self,
        sites: (&Sites, u16),
        path: &[u8],
        now_s: u64,
        out: &mut Vec<u8>,
    ) -> bool {
        self.cookies.write_header(sites, path, now_s, out)
    }

    /// How many cookies there are, expired ones included.
    pub fn cookies(&self) -> usize {
        self.cookies.count()
    }

    /// The bytes of values and cookies, which [`MOST_USER_BYTES`] bounds.
    pub fn bytes(&self) -> usize {
        self.text.len() + self.cookies.text_bytes()
    }

    /// All the memory that this user takes: the value itself, and the capacity of its buffers.
    pub fn held_bytes(&self) -> usize {
        size_of::<Self>()
            + self.text.capacity()
            + size_of_val(&*self.ends)
            + self.cookies.heap_bytes()
    }

    /// Where the value of a variable is; empty where it would be, if there is none.
    fn place(&self, number: usize) -> Range<usize> {
        let end = |number: usize| (self.ends[number] & !IS_SET) as usize;
        let start = number.checked_sub(1).map_or(0, end);
        start..end(number)
    }

    fn put(&mut self, number: usize, value: &[u8]) {
        let place = self.place(number);
        let (old, new) = (place.len() as u32, value.len() as u32);
        replace(&mut self.text, place, value);
        self.ends[number] |= IS_SET;
        for end in &mut self.ends[number..] {
            // Bounded by MOST_USER_BYTES, so the flag is never reached.
            *end = *end + new - old;
        }
    }
}

#[cfg(test)]
mod tests;
