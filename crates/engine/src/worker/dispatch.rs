//! Dispatch: which request is next, on which place, who writes it, and whether it may still leave.
//!
//! Joins a [`Source`], an [`Author`] and a [`Pool`]. Knows no reactor and no clock, and sends nothing: the worker
//! asks, sends, and says that it has.

use candor_pace::Picker;
use candor_plan::Plan;
use candor_protocol::Session;
use candor_record::Recorder;

use super::pool::Pool;
use crate::author::Author;
use crate::books::{Departure, NeverSent};
use crate::plan_share::WorkerPlan;
use crate::source::{Closed, Open, Source};
use crate::users::{First, Leaving, NOBODY, Users};

/// The requests of a worker, in the order in which they leave.
pub(super) struct Dispatch {
    pub(super) source: Source,
    pub(super) author: Author,
    picker: Picker,
    until: Until,
}

/// How long requests may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// Until none is left.
    Exhausted,
    /// Before this time.
    Time(u64),
    /// Nothing leaves any more: the worker was told to stop.
    Told,
}

/// What is to be done next.
#[derive(Debug)]
pub(super) enum Next {
    /// Send this. [`Dispatch::sent`] says that it was done.
    Send(Departure),
    /// This was dropped: it is older than the plan lets requests become.
    Shed(NeverSent),
    /// Requests are due, and no place is free.
    NoPlace,
    /// Nothing, for now.
    Nothing,
    /// This may go on for long: look at something else first.
    Later,
}

/// Users who may come and leave without a step before the loop goes round.
const GONE_AT_ONCE: u32 = 1000;

impl Dispatch {
    pub(super) fn new(plan: &Plan, own: &WorkerPlan, author: Author) -> Self {
        Dispatch {
            source: Source::new(plan, own),
            author,
            picker: Picker::new(&plan.requests, plan.seed),
            until: own.stop_ns.map_or(Until::Exhausted, Until::Time),
        }
    }

    /// Nothing leaves any more, though the time may not be over.
    pub(super) fn stop(&mut self) {
        self.until = Until::Told;
        self.end();
    }

    /// No user comes any more.
    pub(super) fn end(&mut self) {
        if let Some(users) = self.users() {
            users.end();
        }
    }

    /// What to do at `now_ns`.
    ///
    /// In a closed load every free place gets a request. In an open one every request that is due
    /// gets the place that has been free for longest. Of users the oldest of the steps that are due and of those who
    /// came is next.
    #[inline(always)]
    pub(super) fn next<S: Session>(
        &mut self,
        now_ns: u64,
        pool: &mut Pool<S>,
        recorder: &mut Recorder,
    ) -> Next {
        match &mut self.source {
            Source::Closed(closed) => {
                if !self.until.lets(now_ns) {
                    return Next::Nothing;
                }
                let Some(place) = pool.take() else { return Next::Nothing };
                let Some((index, phase)) = closed.take(now_ns) else { return Next::Nothing };
                Next::Send(Departure {
                    index,
                    due_ns: place.since_ns,
                    ready_ns: place.since_ns,
                    connection: place.key,
                    request: self.picker.pick(index) as u32,
                    user: NOBODY,
                    phase,
                })
            }
            Source::Open(open) => {
                let Some(due) = open.peek().filter(|due| due.due_ns <= now_ns) else {
                    return Next::Nothing;
                };
                let phase = open.phase(due);
                let place = pool.take();
                let ready_ns = place.map_or(now_ns, |place| place.since_ns.max(due.due_ns));
                if !self.until.lets(ready_ns) {
                    return Next::Nothing;
                }
                if open.shed_after_ns.is_some_and(|limit| ready_ns - due.due_ns > limit) {
                    if let Some(place) = place {
                        pool.put_back(place);
                    }
                    open.take();
                    let request = self.picker.pick(due.index) as u32;
                    return Next::Shed(NeverSent { due, request, phase });
                }
                let Some(place) = place else { return Next::NoPlace };
                Next::Send(Departure {
                    index: due.index,
                    due_ns: due.due_ns,
                    ready_ns,
                    connection: place.key,
                    request: self.picker.pick(due.index) as u32,
                    user: NOBODY,
                    phase,
                })
            }
            Source::Users => self.next_of_users(now_ns, pool, recorder),
        }
    }

    #[inline(never)]
    fn next_of_users<S: Session>(
        &mut self,
        now_ns: u64,
        pool: &mut Pool<S>,
        recorder: &mut Recorder,
    ) -> Next {
        let Author::Users(users) = &mut self.author else { return Next::Nothing };
        for _ in 0..GONE_AT_ONCE {
            let Some(first) = users.first().filter(|first| first.due_ns() <= now_ns) else {
                return Next::Nothing;
            };
            let due_ns = first.due_ns();
            let owns = users.own_connections();
            let place = match owns {
                false => pool.take(),
                true => users.place(first).filter(|place| pool.holds(*place)),
            };
            let ready_ns = place.map_or(now_ns, |place| place.since_ns.max(due_ns));
            if !self.until.lets(ready_ns) {
                return Next::Nothing;
            }
            let phase = users.phase(due_ns);
            let shed_after_ns = users.open().and_then(|open| open.shed_after_ns);
            if shed_after_ns.is_some_and(|limit| ready_ns - due_ns > limit) {
                if let Some(place) = place.filter(|_| !owns) {
                    pool.put_back(place);
                }
                return Next::Shed(users.shed(first, now_ns, recorder));
            }
            let Some(place) = place else {
                match first {
                    _ if !owns => return Next::NoPlace,
                    First::Arrival(due) => {
                        users.admit(due, recorder);
                    }
                    First::Step(due_ns, user) => {
                        if let Some(place) = users.place(first) {
                            pool.withdraw(place);
                        }
                        if users.wait(due_ns, user)
                            && let Some(key) = pool.open_for(user)
                        {
                            users.connects(user, key);
                        }
                    }
                }
                continue;
            };
            let Some(Leaving { user, index, request }) = users.take(first, now_ns, recorder) else {
                pool.put_back(place);
                continue;
            };
            let connection = place.key;
            return Next::Send(Departure {
                index,
                due_ns,
                ready_ns,
                connection,
                request,
                user,
                phase,
            });
        }
        Next::Later
    }

    /// The schedule, in an open load.
    pub(super) fn open(&mut self) -> Option<&mut Open> {
        match &mut self.source {
            Source::Closed(_) => None,
            Source::Open(open) => Some(open),
            Source::Users => self.author.users()?.open(),
        }
    }

    /// What decides in a closed load.
    pub(super) fn closed(&mut self) -> Option<&mut Closed> {
        match &mut self.source {
            Source::Closed(closed) => Some(closed),
            Source::Open(_) => None,
            Source::Users => self.author.users()?.closed(),
        }
    }

    /// Whether no request is left to be sent.
    pub(super) fn is_exhausted(&mut self) -> bool {
        match &mut self.source {
            Source::Closed(closed) => closed.is_exhausted(),
            Source::Open(open) => open.peek().is_none(),
            Source::Users => self.author.users().is_none_or(|users| users.is_exhausted()),
        }
    }

    /// The request of an arrival with this index, in an open load.
    pub(super) fn request_of(&self, index: u64) -> u32 {
        match &self.author {
            Author::Users(users) => users.first_request(index),
            _ => self.picker.pick(index) as u32,
        }
    }

    /// The users, if they are the author.
    #[inline]
    pub(super) fn users(&mut self) -> Option<&mut Users> {
        self.author.users()
    }

    /// The request that [`Dispatch::next`] gave was sent.
    #[inline]
    pub(super) fn sent(&mut self) {
        if let Source::Open(open) = &mut self.source {
            open.take();
        }
    }

    /// One more request for the batch that `first` began, in the place of the one before; `None`: there
    /// is none.
    pub(super) fn another(&mut self, first: Departure) -> Option<Departure> {
        let (index, phase) = match &mut self.source {
            Source::Closed(closed) => closed.take(first.ready_ns)?,
            Source::Open(open) => {
                // This takes the one before; who sends the batch says so of the last one.
                open.take();
                let next = open.peek()?;
                (next.index, open.phase(next))
            }
            // A step is one request.
            Source::Users => return None,
        };
        Some(Departure { index, phase, ..first })
    }

    /// Requests that are due and have not left.
    #[inline]
    pub(super) fn backlog(&mut self, now_ns: u64) -> u64 {
        match &mut self.source {
            Source::Closed(_) => 0,
            Source::Open(open) => open.backlog(now_ns),
            Source::Users => self.author.users().map_or(0, |users| users.backlog(now_ns)),
        }
    }

    /// When the next request of a schedule, or of a user, is due.
    #[inline]
    pub(super) fn next_due_ns(&mut self) -> Option<u64> {
        match &mut self.source {
            Source::Closed(_) => None,
            Source::Open(open) => open.peek().map(|due| due.due_ns),
            Source::Users => self.author.users()?.first().map(First::due_ns),
        }
    }

    /// Whether a place is its own clock.
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        matches!(self.source, Source::Closed(_))
    }
}

impl Until {
    #[inline]
    fn lets(self, ready_ns: u64) -> bool {
        match self {
            Until::Exhausted => true,
            Until::Time(until_ns) => ready_ns < until_ns,
            Until::Told => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::testing::{Fake, own_plan, recorder};

    const MS: u64 = 1_000_000;

    /// The dispatch and the pool of one worker, with one place on each of two connections.
    fn organs(options: &str) -> (Dispatch, Pool<Fake>) {
        let (plan, own) = own_plan(&format!("connections = 2\n{options}"));
        let mut pool = Pool::new(&own, 1);
        while let Some(key) = pool.next_to_open(0) {
            pool.begin(key, 0);
            pool.connected(key, 0, Fake(1), 0);
            pool.establish(key);
            let place = pool.offer(key, 1, 0);
            pool.free(place);
        }
        (Dispatch::new(&plan, &own, Author::Listed), pool)
    }

    /// Takes what may leave at `now_ns`: index, due and ready time, connection of each.
    fn leave(
        dispatch: &mut Dispatch,
        pool: &mut Pool<Fake>,
        now_ns: u64,
    ) -> Vec<(u64, u64, u64, u32)> {
        let mut all = Vec::new();
        while let Next::Send(one) = next(dispatch, now_ns, pool) {
            dispatch.sent();
            pool[one.connection].offered -= 1;
            all.push((one.index, one.due_ns, one.ready_ns, one.connection));
        }
        all
    }

    fn next(dispatch: &mut Dispatch, now_ns: u64, pool: &mut Pool<Fake>) -> Next {
        dispatch.next(now_ns, pool, &mut recorder())
    }

    fn give_back(pool: &mut Pool<Fake>, key: u32, since_ns: u64) {
        let place = pool.offer(key, 1, since_ns);
        pool.free(place);
    }

    #[test]
    fn a_due_request_gets_the_place_that_is_free_for_longest() {
        let (mut dispatch, mut pool) = organs("rate = '100'\nduration = '1s'");
        assert_eq!(dispatch.next_due_ns(), Some(0));
        assert_eq!(leave(&mut dispatch, &mut pool, 0), [(0, 0, 0, 0)]);
        assert_eq!(leave(&mut dispatch, &mut pool, 10 * MS), [(1, 10 * MS, 10 * MS, 1)]);
        // None is free for the next one; it is ready when one is.
        assert!(matches!(next(&mut dispatch, 25 * MS, &mut pool), Next::NoPlace));
        assert_eq!(dispatch.backlog(25 * MS), 1);
        give_back(&mut pool, 1, 27 * MS);
        assert_eq!(leave(&mut dispatch, &mut pool, 28 * MS), [(2, 20 * MS, 27 * MS, 1)]);
        assert!(matches!(next(&mut dispatch, 28 * MS, &mut pool), Next::Nothing));
    }

    #[test]
    fn in_a_closed_load_a_free_place_is_due() {
        let (mut dispatch, mut pool) = organs("requests = 3");
        assert_eq!(leave(&mut dispatch, &mut pool, 5), [(0, 0, 0, 0), (1, 0, 0, 1)]);
        give_back(&mut pool, 0, 9);
        give_back(&mut pool, 1, 9);
        assert_eq!(leave(&mut dispatch, &mut pool, 10), [(2, 9, 9, 0)], "the third is the last");
    }

    #[test]
    fn a_request_that_is_too_old_is_dropped_and_its_place_is_the_next_ones() {
        let (mut dispatch, mut pool) = organs("rate = '100'\nduration = '1s'\nshed-after = '15ms'");
        pool.take();
        pool.take();
        // No place was free for the first two.
        give_back(&mut pool, 1, 26 * MS);
        for index in 0..2 {
            let next = next(&mut dispatch, 30 * MS, &mut pool);
            assert!(matches!(next, Next::Shed(one) if one.due.index == index), "{next:?}");
        }
        assert_eq!(leave(&mut dispatch, &mut pool, 30 * MS), [(2, 20 * MS, 26 * MS, 1)]);
    }

    #[test]
    fn nothing_leaves_after_its_time_or_a_word() {
        for load in ["rate = '100'", "think-time = '0s'"] {
            let (mut dispatch, mut pool) = organs(&format!("{load}\nduration = '1s'"));
            assert_eq!(leave(&mut dispatch, &mut pool, 1_000 * MS - 1).len(), 2, "{load}");
            let (mut dispatch, mut pool) = organs(&format!("{load}\nduration = '1s'"));
            pool.begin_run(0, false);
            dispatch.stop();
            assert!(leave(&mut dispatch, &mut pool, 0).is_empty(), "{load}");
        }
        let (mut dispatch, mut pool) = organs("duration = '1s'");
        assert!(leave(&mut dispatch, &mut pool, 1_000 * MS).is_empty());
        // One that becomes ready when the time is over does not leave, though it was due before.
        let (mut dispatch, mut pool) = organs("rate = '100'\nduration = '1s'");
        pool.take();
        pool.take();
        give_back(&mut pool, 0, 1_000 * MS);
        assert!(leave(&mut dispatch, &mut pool, 1_000 * MS).is_empty());
    }
}
