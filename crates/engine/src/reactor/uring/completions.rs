//! What completions mean: bytes that came, or room to send.
//!
//! A completion for a connection that was closed since finds another generation, and gives back the
//! buffer that it brought.

use rustix::io::Errno;

use super::UringReactor;
use super::connection::{Ending, Filled, GENERATIONS, NONE, Purpose, name};
use super::ring::{CANCELLATION, Completion};
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
        let key = completion.name as Key;
        let generation = (completion.name >> 32) as u32 % GENERATIONS;
        if self.sockets[key as usize].generation != generation {
            if let Some(buffer) = completion.buffer {
                self.ring.buffers_mut().give(buffer);
            }
        } else if completion.name == name(key, generation, Purpose::Receive) {
            self.received(key, completion, now_ns);
        } else {
            self.sockets[key as usize].polling = false;
            self.tell(key, false, true, false);
        }
    }

    #[inline]
    fn received(&mut self, key: Key, completion: Completion, at_ns: u64) {
        let socket = &mut self.sockets[key as usize];
        socket.receiving = completion.more;
        match (completion.result, completion.buffer) {
            (1.., Some(buffer)) => {
                let length = completion.result as u32;
                self.filled[usize::from(buffer)] = Filled { length, next: NONE, at_ns };
                match socket.last {
                    NONE => socket.first = buffer,
                    last => self.filled[usize::from(last)].next = buffer,
                }
                socket.last = buffer;
                self.tell(key, true, false, false);
                if !completion.more {
                    // The kernel may end a multishot receive when it likes.
                    self.begin_to_receive(key);
                }
            }
            (0.., buffer) => {
                if let Some(buffer) = buffer {
                    self.ring.buffers_mut().give(buffer);
                }
                self.input_ended(key, Ending::End, at_ns);
            }
            (error, _) => match Errno::from_raw_os_error(-error) {
                Errno::NOBUFS => {
                    socket.starved = true;
                    self.starved.push_back(key);
                }
                Errno::INTR | Errno::AGAIN => self.begin_to_receive(key),
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
