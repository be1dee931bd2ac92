//! Credentials that change while a run goes on: the caller puts each new one here, and threads that write requests have
//! it from then on.
//!
//! A thread keeps a copy of its own and looks at one number for each request; only after a change it takes a lock, which
//! nobody holds for long. How a credential is taken is not known here.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The credentials of a run, one for each target of its plan that has one.
#[derive(Debug)]
pub struct Credentials(Box<[Slot]>);

#[derive(Debug, Default)]
struct Slot {
    /// How often it was put.
    version: AtomicU64,
    value: Mutex<Arc<[u8]>>,
}

impl Credentials {
    /// Of a plan with so many targets; none has one yet.
    pub fn new(targets: usize) -> Self {
        Credentials((0..targets).map(|_| Slot::default()).collect())
    }

    /// Requests to this target have this value of `Authorization` from now on.
    pub fn put(&self, target: usize, value: &[u8]) {
        let Some(slot) = self.0.get(target) else { return };
        *slot.value.lock().unwrap_or_else(PoisonError::into_inner) = value.into();
        slot.version.fetch_add(1, Ordering::Release);
    }
}

/// What one thread has of them.
#[derive(Debug)]
pub(crate) struct Held {
    shared: Arc<Credentials>,
    own: Box<[(u64, Arc<[u8]>)]>,
}

impl Held {
    pub(crate) fn new(shared: Arc<Credentials>) -> Self {
        let own = shared.0.iter().map(|_| (0, Arc::default())).collect();
        Held { shared, own }
    }

    /// Appends the present value for a target.
    #[inline]
    pub(crate) fn write(&mut self, target: u32, out: &mut Vec<u8>) {
        let number = target as usize;
        let (Some(slot), Some(own)) = (self.shared.0.get(number), self.own.get_mut(number)) else {
            return;
        };
        let version = slot.version.load(Ordering::Acquire);
        if version != own.0 {
            own.0 = version;
            own.1 = Arc::clone(&slot.value.lock().unwrap_or_else(PoisonError::into_inner));
        }
        out.extend_from_slice(&own.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_what_was_put_last() {
        let shared = Arc::new(Credentials::new(2));
        let (mut one, mut other) = (Held::new(Arc::clone(&shared)), Held::new(Arc::clone(&shared)));
        let read = |held: &mut Held, target| {
            let mut out = Vec::new();
            held.write(target, &mut out);
            String::from_utf8(out).unwrap()
        };
        shared.put(1, b"a");
        assert_eq!((read(&mut one, 1), read(&mut one, 0)), ("a".to_owned(), String::new()));
        shared.put(1, b"b");
        shared.put(7, b"c");
        assert_eq!((read(&mut one, 1), read(&mut other, 1)), ("b".to_owned(), "b".to_owned()));
        assert_eq!(read(&mut one, 7), "", "there is no such target");
    }

    /// Under Miri memory is as weak as the orderings allow, and threads interleave by its seed.
    #[test]
    fn a_value_is_never_older_than_one_seen_before() {
        let shared = Arc::new(Credentials::new(1));
        std::thread::scope(|scope| {
            scope.spawn(|| (1..=9u8).for_each(|one| shared.put(0, &[one])));
            scope.spawn(|| {
                let (mut held, mut last) = (Held::new(Arc::clone(&shared)), 0);
                for _ in 0..20 {
                    let mut out = Vec::new();
                    held.write(0, &mut out);
                    let now = out.first().copied().unwrap_or_default();
                    assert!(now >= last);
                    last = now;
                }
            });
        });
    }
}
