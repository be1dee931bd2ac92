//! What completions mean: bytes that came, or room to send.
//!
//! A completion for a connection that was closed since finds another generation, and gives back the
//! buffer that it brought.

use rustix::io::Errno;

use super::MANY;
use super::UringReactor;
use super::connection::{Ending, Filled, NONE, Purpose, is_send, name, whose};
use super::ring::{CANCELLATION, Completion, Name};
use crate::reactor::{Key, Ready};

impl UringReactor {
    /// Takes all completions there are.
    pub(super) fn take_completions(&mut self) {
        let Some(first) = self.ring.next_completion() else { return };
        let now_ns = self.clock.now_ns();
        self.take(first, now_ns);
        while let Some(completion) = self.ring.next_completion() {
            self.take(completion, now_ns);
        }
    }

    #[inline]
    fn take(&mut self, completion: Completion, now_ns: u64) {
        if completion.name == CANCELLATION {
            return;
        }
        let (key, generation) = whose(completion.name);
        if self.sockets[key as usize].generation != generation {
            if let Some(buffer) = completion.buffer {
                self.ring.buffers_mut().give(buffer);
            }
        } else if completion.name == name(key, generation, Purpose::Receive) {
            self.received(key, completion, now_ns);
        } else if is_send(completion.name) {
            self.was_not_sent(completion.name, completion.result);
        } else {
            self.sockets[key as usize].polling = false;
            if self.sockets[key as usize].owed.is_empty() || self.pay(key) {
                self.tell(key, false, true, false);
            }
        }
    }

    /// A send was short, or failed: what is left of it is owed, unless the connection broke.
    #[cold]
    pub(super) fn was_not_sent(&mut self, name: Name, result: i32) {
        let (key, generation) = whose(name);
        let socket = &mut self.sockets[key as usize];
        let Some((_, number)) = socket.queued.filter(|_| socket.generation == generation) else {
            return;
        };
        let errno = Errno::from_raw_os_error(result.min(0).saturating_neg());
        if result >= 0 || matches!(errno, Errno::AGAIN | Errno::INTR) {
            let sent = usize::try_from(result).unwrap_or(0);
            socket.owed.extend_from_slice(self.ring.unsent(number, sent));
            self.await_writable(key);
        } else if !socket.receiving && socket.ending.is_none() {
            // Nothing else would say so.
            let at_ns = self.clock.recent_ns();
            self.input_ended(key, Ending::Failed(errno), at_ns);
        }
    }

    #[inline]
    fn received(&mut self, key: Key, completion: Completion, at_ns: u64) {
        let socket = &mut self.sockets[key as usize];
        socket.receiving = completion.more;
        match (completion.result, completion.buffer) {
            (1.., Some(buffer)) => {
                let length = completion.result as u32;
                self.received = (self.received.0 + u64::from(length), self.received.1 + 1);
                self.filled[usize::from(buffer)] = Filled { length, next: NONE, at_ns };
                match socket.last {
                    NONE => socket.first = buffer,
                    last => self.filled[usize::from(last)].next = buffer,
                }
                socket.last = buffer;
                socket.waiting += 1;
                let fills = length == self.ring.buffers().shape().bytes;
                if (fills || socket.waiting > MANY) && !socket.by_call {
                    socket.by_call = true;
                    if completion.more {
                        self.ring.cancel(completion.name);
                    }
                }
                self.tell(key, true, false, false);
                if !completion.more {
                    // The kernel may end a multishot receive when it likes.
                    self.begin_to_receive(key);
                }
            }
            (1.., None) => self.tell(key, true, false, false),
            (0.., buffer) => {
                if let Some(buffer) = buffer {
                    self.ring.buffers_mut().give(buffer);
                }
                self.input_ended(key, Ending::End, at_ns);
            }
            (error, _) => match Errno::from_raw_os_error(-error) {
                Errno::NOBUFS if !socket.by_call => {
                    socket.starved = true;
                    self.starved.push_back(key);
                }
                // Cancelled: it is read by calls from here on.
                Errno::NOBUFS | Errno::INTR | Errno::AGAIN | Errno::CANCELED => {
                    self.begin_to_receive(key)
                }
                errno => self.input_ended(key, Ending::Failed(errno), at_ns),
            },
        }
    }

    fn input_ended(&mut self, key: Key, ending: Ending, at_ns: u64) {
        self.sockets[key as usize].ending = Some((ending, at_ns));
        self.tell(key, true, false, true);
    }

    /// Adds to what the worker will be told about a connection.
    #[inline]
    fn tell(&mut self, key: Key, readable: bool, writable: bool, ended: bool) {
        match &mut self.sockets[key as usize].news {
            Some(news) => {
                news.readable |= readable;
                news.writable |= writable;
                news.ended |= ended;
            }
            none => {
                *none = Some(Ready { key, readable, writable, ended });
                self.ready.push_back(key);
            }
        }
    }
}
