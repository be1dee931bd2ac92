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
use crate::author::users::{First, Leaving, Users};
use crate::flight::{Departure, NOBODY, NeverSent};
use crate::load::share::WorkerPlan;
use crate::load::{Closed, Open, Several, Source};

/// The requests of a worker, in the order in which they leave.
pub(super) struct Dispatch {
    pub(super) source: Source,
    pub(super) author: Author,
    picker: Picker,
    until: Until,
    is_closed: bool,
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
        let source = Source::new(plan, own);
        Dispatch {
            is_closed: source.is_closed(),
            source,
            author,
            picker: Picker::new(&plan.work, plan.seed),
            until: own.stop_ns.map_or(Until::Exhausted, Until::Time),
        }
    }

    /// Nothing leaves any more, though the time may not be over.
    pub(super) fn stop(&mut self) {
        self.until = Until::Told;
        self.end();
    }

    /// Users who make their last steps may send, though the time is over.
    pub(super) fn reopen(&mut self) {
        self.until = Until::Exhausted;
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
    pub(super) fn next<S: Session>(
        &mut self,
        now_ns: u64,
        pool: &mut Pool<S>,
        recorder: &mut Recorder,
    ) -> Next {
        match &self.source {
            Source::Closed(_) => self.next_of_closed(now_ns, pool),
            Source::Open(_) => self.next_of_open(now_ns, pool),
            Source::Several(_) => self.next_of_several(now_ns, pool),
            Source::Users => self.next_of_users(now_ns, pool, recorder),
        }
    }

    /// The same in a closed load on one target.
    #[inline(always)]
    pub(super) fn next_of_closed<S: Session>(&mut self, now_ns: u64, pool: &mut Pool<S>) -> Next {
        let Source::Closed(closed) = &mut self.source else { return Next::Nothing };
        if !self.until.lets(now_ns) {
            return Next::Nothing;
        }
        let Some(place) = pool.take(0) else { return Next::Nothing };
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

    /// The same in an open load on one target.
    #[inline(always)]
    pub(super) fn next_of_open<S: Session>(&mut self, now_ns: u64, pool: &mut Pool<S>) -> Next {
        let Source::Open(open) = &mut self.source else { return Next::Nothing };
        next_of_open(open, 0, now_ns, self.until, &self.picker, pool)
    }

    /// The same over several targets: who waits for a place of its own blocks nobody else.
    #[inline(never)]
    fn next_of_several<S: Session>(&mut self, now_ns: u64, pool: &mut Pool<S>) -> Next {
        let Source::Several(several) = &mut self.source else { return Next::Nothing };
        match several.as_mut() {
            Several::Closed { closed, lists } => {
                if !self.until.lets(now_ns) {
                    return Next::Nothing;
                }
                while let Some(target) = pool.longest_free() {
                    let Some(place) = pool.take(target) else { continue };
                    let Some((index, phase)) = closed.take(now_ns) else { return Next::Nothing };
                    return Next::Send(Departure {
                        index,
                        due_ns: place.since_ns,
                        ready_ns: place.since_ns,
                        connection: place.key,
                        request: lists[usize::from(target)].pick(),
                        user: NOBODY,
                        phase,
                    });
                }
                Next::Nothing
            }
            Several::Open { parts, leaving } => {
                let mut round = Round::new(now_ns);
                let due_ns = |part: &Open| part.peek().map(|due| due.due_ns);
                while let Some(at) = round.next(parts.iter().map(due_ns)) {
                    let part = &mut parts[at];
                    match next_of_open(part, at as u16, now_ns, self.until, &self.picker, pool) {
                        Next::NoPlace => round.waits = true,
                        other => {
                            *leaving = at;
                            return other;
                        }
                    }
                }
                round.end()
            }
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
        if users.has_queues() {
            return next_of_queues(users, now_ns, self.until, pool, recorder);
        }
        for _ in 0..GONE_AT_ONCE {
            let Some(first) = users.first().filter(|first| first.due_ns() <= now_ns) else {
                return Next::Nothing;
            };
            let due_ns = first.due_ns();
            let owns = users.own_connections();
            let place = match owns {
                false => pool.take(0),
                true => users.place(first).filter(|place| pool.holds(*place)),
            };
            let ready_ns = place.map_or(now_ns, |place| place.since_ns.max(due_ns));
            if !self.until.lets(ready_ns) {
                // Users who make their last steps have a use for it.
                if let Some(place) = place.filter(|_| !owns) {
                    pool.put_back(place);
                }
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

    /// The schedule, in an open load; of several the one in which the next request is due.
    pub(super) fn open(&mut self) -> Option<&mut Open> {
        match &mut self.source {
            Source::Closed(_) => None,
            Source::Open(open) => Some(open),
            Source::Several(several) => match several.as_mut() {
                Several::Closed { .. } => None,
                Several::Open { parts, .. } => earliest(parts),
            },
            Source::Users => self.author.users()?.open(),
        }
    }

    /// What decides in a closed load.
    pub(super) fn closed(&mut self) -> Option<&mut Closed> {
        match &mut self.source {
            Source::Closed(closed) => Some(closed),
            Source::Open(_) => None,
            Source::Several(several) => match several.as_mut() {
                Several::Closed { closed, .. } => Some(closed),
                Several::Open { .. } => None,
            },
            Source::Users => self.author.users()?.closed(),
        }
    }

    /// Whether no request is left to be sent.
    #[inline(always)]
    pub(super) fn is_exhausted(&mut self) -> bool {
        match &mut self.source {
            Source::Closed(closed) => closed.is_exhausted(),
            Source::Open(open) => open.peek().is_none(),
            Source::Several(several) => several.is_exhausted(),
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
        match &mut self.source {
            Source::Open(open) => open.take(),
            Source::Several(several) => several.sent(),
            Source::Closed(_) | Source::Users => {}
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
            // Only a script sends batches, to one target, and a step is one request.
            Source::Several(_) | Source::Users => return None,
        };
        Some(Departure { index, phase, ..first })
    }

    /// Requests that are due and have not left.
    #[inline]
    pub(super) fn backlog(&mut self, now_ns: u64) -> u64 {
        match &mut self.source {
            Source::Closed(_) => 0,
            Source::Open(open) => open.backlog(now_ns),
            Source::Several(several) => match several.as_mut() {
                Several::Closed { .. } => 0,
                Several::Open { parts, .. } => {
                    parts.iter_mut().map(|part| part.backlog(now_ns)).sum()
                }
            },
            Source::Users => self.author.users().map_or(0, |users| users.backlog(now_ns)),
        }
    }

    /// Those of them that go to this target.
    pub(super) fn backlog_of(&mut self, target: u16, now_ns: u64) -> u64 {
        match &mut self.source {
            Source::Several(several) => match several.as_mut() {
                Several::Closed { .. } => 0,
                Several::Open { parts, .. } => parts[usize::from(target)].backlog(now_ns),
            },
            Source::Users => {
                self.author.users().map_or(0, |users| users.backlog_of(target, now_ns))
            }
            Source::Closed(_) | Source::Open(_) => self.backlog(now_ns),
        }
    }

    /// When the next request of a schedule, or of a user, is due.
    #[inline]
    pub(super) fn next_due<S: Session>(&mut self, pool: &Pool<S>) -> NextDue {
        let due_ns = match &mut self.source {
            Source::Closed(_) => return NextDue::default(),
            Source::Open(open) => open.peek().map(|due| due.due_ns),
            Source::Several(_) | Source::Users => return self.next_due_of_others(pool),
        };
        NextDue::of(0, due_ns, pool)
    }

    #[inline(never)]
    fn next_due_of_others<S: Session>(&mut self, pool: &Pool<S>) -> NextDue {
        if let Source::Several(several) = &self.source {
            let Several::Open { parts, .. } = several.as_ref() else { return NextDue::default() };
            let due = parts.iter().map(|part| part.peek().map(|due| due.due_ns));
            return NextDue::of_all((0..).zip(due), pool);
        }
        let Author::Users(users) = &mut self.author else { return NextDue::default() };
        if users.has_queues() {
            let all = NextDue::of_all((0..).zip(users.queues_due_ns()), pool);
            return all.or_with_place(users.next_to_queue_ns());
        }
        let due_ns = users.first().map(First::due_ns);
        match users.own_connections() {
            true => NextDue { with_place_ns: due_ns, without_ns: None },
            false => NextDue::of(0, due_ns, pool),
        }
    }

    /// Whether a place is its own clock.
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }
}

/// When something is due next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct NextDue {
    /// And could leave then.
    pub(super) with_place_ns: Option<u64>,
    /// And has no place, but one more connection may be made for it.
    pub(super) without_ns: Option<u64>,
}

impl NextDue {
    #[inline]
    fn of<S: Session>(target: u16, due_ns: Option<u64>, pool: &Pool<S>) -> Self {
        match pool.has_free(target) {
            true => NextDue { with_place_ns: due_ns, without_ns: None },
            false => NextDue {
                with_place_ns: None,
                without_ns: due_ns.filter(|_| pool.can_open_more(target)),
            },
        }
    }

    fn of_all<S: Session>(due: impl Iterator<Item = (u16, Option<u64>)>, pool: &Pool<S>) -> Self {
        let all = due.map(|(target, due_ns)| NextDue::of(target, due_ns, pool));
        all.fold(NextDue::default(), |sum, one| NextDue {
            without_ns: earlier(sum.without_ns, one.without_ns),
            ..sum.or_with_place(one.with_place_ns)
        })
    }

    fn or_with_place(self, due_ns: Option<u64>) -> Self {
        NextDue { with_place_ns: earlier(self.with_place_ns, due_ns), ..self }
    }
}

fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

/// One look at what is due of several parts: in the order of due times, each part once.
struct Round {
    now_ns: u64,
    last: Option<(u64, usize)>,
    /// Whether something has no place.
    waits: bool,
}

impl Round {
    fn new(now_ns: u64) -> Self {
        Round { now_ns, last: None, waits: false }
    }

    /// The part that is due next, of these due times.
    fn next(&mut self, due_ns: impl Iterator<Item = Option<u64>>) -> Option<usize> {
        let all = due_ns.enumerate().filter_map(|(at, due_ns)| Some((due_ns?, at)));
        let left =
            all.filter(|one| one.0 <= self.now_ns && self.last.is_none_or(|last| *one > last));
        self.last = Some(left.min()?);
        self.last.map(|(_, at)| at)
    }

    fn end(self) -> Next {
        if self.waits { Next::NoPlace } else { Next::Nothing }
    }
}

/// The part in which something is due first.
fn earliest(parts: &mut [Open]) -> Option<&mut Open> {
    parts.iter_mut().min_by_key(|part| part.peek().map_or(u64::MAX, |due| due.due_ns))
}

/// The next request of a schedule whose requests go to `target`.
#[inline(always)]
fn next_of_open<S: Session>(
    open: &mut Open,
    target: u16,
    now_ns: u64,
    until: Until,
    picker: &Picker,
    pool: &mut Pool<S>,
) -> Next {
    let Some(due) = open.peek().filter(|due| due.due_ns <= now_ns) else {
        return Next::Nothing;
    };
    let phase = open.phase(due);
    let place = pool.take(target);
    let ready_ns = place.map_or(now_ns, |place| place.since_ns.max(due.due_ns));
    if !until.lets(ready_ns) {
        return Next::Nothing;
    }
    if open.shed_after_ns.is_some_and(|limit| ready_ns - due.due_ns > limit) {
        if let Some(place) = place {
            pool.put_back(place);
        }
        open.take();
        let request = picker.pick(due.index) as u32;
        return Next::Shed(NeverSent { due, request, phase });
    }
    let Some(place) = place else { return Next::NoPlace };
    Next::Send(Departure {
        index: due.index,
        due_ns: due.due_ns,
        ready_ns,
        connection: place.key,
        request: picker.pick(due.index) as u32,
        user: NOBODY,
        phase,
    })
}

/// The next step of users whose steps go to several targets.
fn next_of_queues<S: Session>(
    users: &mut Users,
    now_ns: u64,
    until: Until,
    pool: &mut Pool<S>,
    recorder: &mut Recorder,
) -> Next {
    for _ in 0..GONE_AT_ONCE {
        users.queue_due(now_ns, recorder);
        let mut round = Round::new(now_ns);
        loop {
            let Some(at) = round.next(users.queues_due_ns()) else { return round.end() };
            let target = at as u16;
            let Some(first) = users.first_of(target) else { return round.end() };
            let due_ns = first.due_ns();
            let place = pool.take(target);
            let ready_ns = place.map_or(now_ns, |place| place.since_ns.max(due_ns));
            if !until.lets(ready_ns) {
                if let Some(place) = place {
                    pool.put_back(place);
                }
                return Next::Nothing;
            }
            let shed_after_ns = users.open().and_then(|open| open.shed_after_ns);
            if shed_after_ns.is_some_and(|limit| ready_ns - due_ns > limit) {
                if let Some(place) = place {
                    pool.put_back(place);
                }
                return Next::Shed(users.shed(first, now_ns, recorder));
            }
            let Some(place) = place else {
                round.waits = true;
                continue;
            };
            let phase = users.phase(due_ns);
            let Some(Leaving { user, index, request }) = users.take(first, now_ns, recorder) else {
                pool.put_back(place);
                break;
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
    }
    Next::Later
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
    use super::super::testing::{Fake, own_plan, recorder};
    use super::*;

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
            pool.free(place, 1);
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
        pool.free(place, 1);
    }

    #[test]
    fn a_due_request_gets_the_place_that_is_free_for_longest() {
        let (mut dispatch, mut pool) = organs("rate = '100'\nduration = '1s'");
        assert_eq!(dispatch.next_due(&pool).with_place_ns, Some(0));
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
        pool.take(0);
        pool.take(0);
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
        pool.take(0);
        pool.take(0);
        give_back(&mut pool, 0, 1_000 * MS);
        assert!(leave(&mut dispatch, &mut pool, 1_000 * MS).is_empty());
    }
}
