//! What is to be written of the requests, and where one pauses on its way. It is slices of the prepared ones.

use std::io::IoSlice;

use super::pauses::{Pause, Progress};
use super::session::{NO_PAUSE, Session, State};
use crate::session::{RequestId, Transmit};

impl Session {
    /// The pause before which writing has to end.
    pub(super) fn pause(&self) -> Option<Pause> {
        let last = self.unwritten.back().filter(|_| self.limit != NO_PAUSE)?;
        self.prepared(last.request).pauses.get(self.progress.as_ref()?.pause).copied()
    }

    /// Begins with the pauses of the request that was handed in last.
    #[cold]
    pub(super) fn begin_pauses(&mut self) {
        let lengths = self.unwritten.iter().rev().skip(1);
        let before: usize = lengths.map(|one| self.prepared(one.request).length()).sum();
        **self.progress.get_or_insert_default() = Progress::default();
        self.limit = before;
        self.limit = self.pause().map_or(NO_PAUSE, |pause| before + pause.at);
    }

    /// Goes on to the next pause, or to the end.
    #[cold]
    pub(super) fn pass_pause(&mut self, now_ns: u64) {
        let Some(passed) = self.pause() else { return };
        let before = self.limit - passed.at;
        if let Some(progress) = &mut self.progress {
            progress.pass();
        }
        self.limit = self.pause().map_or(NO_PAUSE, |pause| before + pause.at);
        self.look_at_pause(now_ns);
    }

    /// This many bytes were written. Returns the length of the requests that were finished by it.
    #[inline(always)]
    pub(super) fn write(&mut self, mut bytes: usize, started: &mut dyn FnMut(RequestId)) -> usize {
        let mut finished = 0;
        while bytes > 0
            && let Some(&first) = self.unwritten.front()
        {
            if self.written_bytes == 0 {
                self.started += 1;
                started(first.id);
            }
            let length = self.prepared(first.request).length();
            let left = length - self.written_bytes;
            if bytes < left {
                self.written_bytes += bytes;
                break;
            }
            bytes -= left;
            finished += length;
            self.written_bytes = 0;
            self.unwritten.pop_front();
            self.step_over(first.request);
        }
        finished
    }

    /// The same, where the last request pauses on its way. True: it waits from now on.
    #[cold]
    pub(super) fn write_up_to_pause(
        &mut self,
        now_ns: u64,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool {
        let is_begun =
            |session: &Session| session.unwritten.len() == 1 && session.written_bytes > 0;
        let was_begun = is_begun(self);
        self.limit -= self.write(bytes, started);
        if is_begun(self)
            && !was_begun
            && let Some(progress) = &mut self.progress
        {
            progress.begin(now_ns);
        }
        self.look_at_pause(now_ns)
    }

    /// Begins to wait, if everything before the pause was written. True: it has only now begun.
    #[cold]
    fn look_at_pause(&mut self, now_ns: u64) -> bool {
        let is_there = self.unwritten.len() == 1 && self.written_bytes == self.limit;
        let pause = self.pause().filter(|_| is_there);
        match (pause, &mut self.progress) {
            (Some(pause), Some(progress)) => progress.arrive(now_ns, pause.until),
            _ => false,
        }
    }

    pub(super) fn is_broken_off(&self) -> bool {
        self.progress.as_ref().is_some_and(|progress| progress.is_broken_off())
    }

    /// What is to be written, where that is one request from its beginning or the same one several
    /// times, and heads are all there is of it: nearly always.
    #[inline]
    pub(super) fn batch(&self) -> Option<&[u8]> {
        let is_plain = matches!(self.state, State::Status)
            && self.written_bytes == 0
            && self.limit == NO_PAUSE;
        let first = self.unwritten.front().filter(|_| is_plain)?.request;
        let request = self.prepared(first);
        let count = self.unwritten.len();
        if count == 1 {
            return request.body.is_empty().then_some(&request.head[..]);
        }
        let bytes = request.batch.get(..count * request.head.len())?;
        self.unwritten.iter().all(|one| one.request == first).then_some(bytes)
    }

    /// What is to be written, whatever it is.
    pub(super) fn poll_transmit_any<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> Transmit {
        let writable = match self.state {
            State::Due | State::Ended | State::Dead => 0,
            // The response being read is the last: only what is half written is of use.
            State::Body { last: true, .. } => usize::from(self.written_bytes > 0),
            _ => self.unwritten.len(),
        };
        let mut skip = self.written_bytes;
        let mut room = self.limit - self.written_bytes;
        let mut used: u32 = 0;
        for one in self.unwritten.iter().take(writable) {
            let request = self.prepared(one.request);
            for part in [&request.head[..], &request.body[..]] {
                let skipped = skip.min(part.len());
                skip -= skipped;
                let length = (part.len() - skipped).min(room);
                if length == 0 {
                    continue;
                }
                let Some(slice) = slices.get_mut(used as usize) else {
                    return Transmit { slices: used, more: true, ..Transmit::default() };
                };
                *slice = IoSlice::new(&part[skipped..skipped + length]);
                room -= length;
                used += 1;
            }
        }
        Transmit { slices: used, ..Transmit::default() }
    }
}
