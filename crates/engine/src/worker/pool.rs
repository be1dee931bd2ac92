//! The pool of a worker: its connections, the places on them that are free for a request, and which
//! connection is to be made next.
//!
//! Knows no reactor and no clock. It neither sends nor connects: the worker asks what is to be done,
//! does it, and says how it went.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use candor_protocol::Session;

use super::connect_pace::ConnectPace;
use super::connection::{Connection, State, back_off_ns};
use super::routes::Routes;
use crate::flight::{Place, UserKey};
use crate::load::share::{ToTarget, WorkerPlan};
use crate::reactor::{Key, Route};

/// Connections and places.
pub(super) struct Pool<S> {
    connections: Vec<Connection<S>>,
    /// Of the plan's own target, which is the only one in most plans.
    first: Lane,
    others: Box<[Lane]>,
    requests_per_connection: u64,
    /// Connections below this key are kept open; those above are opened for a backlog.
    kept: Key,
    /// Connections to be made as soon as the pace allows.
    to_open: VecDeque<Key>,
    /// Connections to be made when the run begins.
    at_beginning: Vec<Key>,
    pace: ConnectPace,
    /// Attempts that are going on, handshakes included.
    connecting: usize,
    ever_established: u32,
}

/// What is free and what is made of the connections to one target.
struct Lane {
    /// Places without a request, the longest free first. Some may be of connections that are gone.
    free: VecDeque<Place>,
    /// As many as all its connections have.
    most_free: usize,
    /// Keys that are not kept open and not in use.
    spare: Vec<Key>,
    /// Attempts that are going on.
    connecting: usize,
    /// Where its connections go.
    routes: Routes,
}

impl<S> Index<Key> for Pool<S> {
    type Output = Connection<S>;

    #[inline]
    fn index(&self, key: Key) -> &Connection<S> {
        &self.connections[key as usize]
    }
}

impl<S> IndexMut<Key> for Pool<S> {
    #[inline]
    fn index_mut(&mut self, key: Key) -> &mut Connection<S> {
        &mut self.connections[key as usize]
    }
}

impl<S: Session> Pool<S> {
    /// For connections with `places` places each; none is made yet.
    pub(super) fn new(own: &WorkerPlan, places: u32) -> Self {
        let mut connections: Vec<Connection<S>> =
            (0..own.max_connections).map(|_| Connection::default()).collect();
        let (mut to_open, mut at_beginning) = (VecDeque::new(), Vec::new());
        // Those that are kept come first, of one target after the other.
        let (mut kept, mut spare) = (0, own.connections);
        let mut lane = |(target, to): (usize, &ToTarget)| {
            let keys = (kept..kept + to.count, spare..spare + (to.max - to.count));
            (kept, spare) = (keys.0.end, keys.1.end);
            for key in keys.0.clone().chain(keys.1.clone()) {
                connections[key as usize].target = target as u16;
            }
            let begun = keys.0.start + to.before;
            to_open.extend(keys.0.start..begun);
            at_beginning.extend(begun..keys.0.end);
            let most_free = to.max as usize * places as usize;
            Lane {
                free: VecDeque::with_capacity(most_free),
                most_free,
                spare: keys.1.rev().collect(),
                connecting: 0,
                routes: Routes::from_turn(own.share.worker.into()),
            }
        };
        let mut lanes: Vec<Lane> = own.targets.iter().enumerate().map(&mut lane).collect();
        let others = lanes.split_off(1).into_boxed_slice();
        Pool {
            connections,
            first: lanes.remove(0),
            others,
            requests_per_connection: own.requests_per_connection,
            kept: own.connections,
            to_open,
            at_beginning,
            pace: ConnectPace::new(own.connect_gap_ns),
            connecting: 0,
            ever_established: 0,
        }
    }

    #[inline]
    fn lane(&self, target: u16) -> &Lane {
        match target {
            0 => &self.first,
            other => &self.others[usize::from(other) - 1],
        }
    }

    #[inline]
    fn lane_mut(&mut self, target: u16) -> &mut Lane {
        match target {
            0 => &mut self.first,
            other => &mut self.others[usize::from(other) - 1],
        }
    }

    /// The lane of a connection.
    #[inline]
    fn lane_of(&mut self, key: Key) -> &mut Lane {
        if self.others.is_empty() { &mut self.first } else { self.lane_of_several(key) }
    }

    #[inline(never)]
    fn lane_of_several(&mut self, key: Key) -> &mut Lane {
        let target = self[key].target;
        self.lane_mut(target)
    }

    fn lanes(&self) -> impl Iterator<Item = &Lane> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// All connections, with their keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, &Connection<S>)> {
        (0..).zip(&self.connections)
    }

    /// Memory of the connections before there are any, in bytes.
    pub(super) fn table_bytes(&self) -> u64 {
        (self.connections.len() * size_of::<Connection<S>>()) as u64
    }

    /// Connections established until now.
    pub(super) fn ever_established(&self) -> u32 {
        self.ever_established
    }

    // ---- which connection is made when ----

    /// Attempts that are going on.
    pub(super) fn connecting(&self) -> usize {
        self.connecting
    }

    /// Whether connections wait for being made.
    pub(super) fn has_to_open(&self) -> bool {
        !self.to_open.is_empty()
    }

    /// The next one, if the pace allows it now.
    pub(super) fn next_to_open(&mut self, now_ns: u64) -> Option<Key> {
        if self.to_open.is_empty() || !self.pace.take(now_ns) {
            return None;
        }
        self.to_open.pop_front()
    }

    /// When to look for the next one.
    pub(super) fn opens_ns(&self) -> Option<u64> {
        self.has_to_open().then(|| self.pace.next_ns())
    }

    /// Makes a connection as soon as the pace allows.
    pub(super) fn open_soon(&mut self, key: Key) {
        self.to_open.push_back(key);
    }

    /// Whether there may be one more connection to a target, for requests that wait.
    pub(super) fn can_open_more(&self, target: u16) -> bool {
        !self.lane(target).spare.is_empty()
    }

    /// One more connection to a target for `waiting` requests, no more than one for each, if the pace allows.
    pub(super) fn next_for_backlog(
        &mut self,
        target: u16,
        now_ns: u64,
        waiting: u64,
    ) -> Option<Key> {
        let is_wanted = (self.lane(target).connecting as u64) < waiting;
        if is_wanted && self.can_open_more(target) && self.pace.take(now_ns) {
            self.lane_mut(target).spare.pop()
        } else {
            None
        }
    }

    /// Makes a connection for a user as soon as the pace allows.
    pub(super) fn open_for(&mut self, owner: UserKey) -> Option<Key> {
        let key = self.first.spare.pop()?;
        self[key].owner = owner;
        self.open_soon(key);
        Some(key)
    }

    /// When the pace allows one more.
    pub(super) fn pace_ns(&self) -> u64 {
        self.pace.next_ns()
    }

    /// How many addresses each target has or had, and which of them are gone.
    pub(super) fn know_addresses(
        &mut self,
        addresses: impl Fn(u16) -> usize,
        is_gone: impl Fn(u16, u32) -> bool,
    ) {
        for (lane, target) in std::iter::once(&mut self.first).chain(&mut self.others).zip(0..) {
            lane.routes.know(addresses(target), |address| is_gone(target, address));
        }
    }

    /// Where the next attempt under a key goes: to the address after the one that failed, or to that whose turn it is.
    pub(super) fn next_route(&mut self, key: Key, now_ns: u64) -> Route {
        let connection = &mut self[key];
        let target = connection.target;
        let failed = std::mem::take(&mut connection.moves_on).then_some(connection.turn);
        let (address, turn) = self.lane_of(key).routes.next(failed, now_ns);
        (self[key].address, self[key].turn) = (address, turn as u32);
        Route { target, address, turn }
    }

    /// The address of this attempt took a connection, or did not.
    pub(super) fn tried(&mut self, key: Key, is_reached: bool, now_ns: u64) {
        let address = self[key].address;
        self.lane_of(key).routes.tried(address, is_reached, now_ns);
    }

    /// How long an attempt may take that has not reached its address, and how soon it is looked at again.
    pub(super) fn patience_ns(&mut self, key: Key, limit_ns: u64) -> (u64, u64) {
        self.lane_of(key).routes.patience_ns(limit_ns)
    }

    /// Whether a connection goes, or went, to an address that its target's name no longer has.
    pub(super) fn is_astray(&mut self, key: Key) -> bool {
        let address = self[key].address;
        self.lane_of(key).routes.is_gone(address)
    }

    /// A connection takes no further request: it ends after those in flight.
    pub(super) fn wind_down(&mut self, key: Key) {
        self[key].taken = self.requests_per_connection;
    }

    /// An attempt begins.
    pub(super) fn begin(&mut self, key: Key, now_ns: u64) {
        self.connecting += 1;
        self.lane_of(key).connecting += 1;
        self[key].state = State::Connecting { since_ns: now_ns };
    }

    /// The system has connected; the session begins.
    pub(super) fn connected(&mut self, key: Key, since_ns: u64, session: S, now_ns: u64) {
        let connect_ns = now_ns.saturating_sub(since_ns);
        let connection = &mut self[key];
        connection.state = State::Handshaking { since_ns, connect_ns };
        connection.account.securing = Some((since_ns, connect_ns));
        connection.account.broken_off = false;
        connection.session = Some(session);
        connection.taken = 0;
        connection.blocked = false;
        connection.stuck_at = None;
        connection.offered = 0;
        connection.parked = 0;
        connection.last_byte_ns = now_ns;
    }

    /// The handshake, if there is one, is over. Returns how long the system took to connect, unless
    /// there was nothing to establish.
    pub(super) fn establish(&mut self, key: Key) -> Option<u64> {
        let State::Handshaking { connect_ns, .. } = self[key].state else { return None };
        self.connecting -= 1;
        self.lane_of(key).connecting -= 1;
        self.ever_established += 1;
        self[key].state = State::Open;
        Some(connect_ns)
    }

    /// The connection, or the attempt, is over: no place, timer or event of it counts any more.
    pub(super) fn leave(&mut self, key: Key) {
        let connection = &mut self[key];
        let was_connecting =
            matches!(connection.state, State::Connecting { .. } | State::Handshaking { .. });
        connection.state = State::Absent;
        connection.session = None;
        connection.postponed = None;
        connection.generation = connection.generation.wrapping_add(1);
        self.connecting -= usize::from(was_connecting);
        self.lane_of(key).connecting -= usize::from(was_connecting);
    }

    /// When to make it again, after a back-off of at least the step `at_least`. `None`: one that is not kept,
    /// and that no user waits for, is made again when there is a backlog or a user in need of one.
    pub(super) fn retry_ns(
        &mut self,
        key: Key,
        now_ns: u64,
        at_least: u32,
        is_awaited: bool,
    ) -> Option<u64> {
        if key >= self.kept && !is_awaited {
            self.lane_of(key).spare.push(key);
            return None;
        }
        let account = &mut self[key].account;
        let at_ns = now_ns + back_off_ns(account.fruitless.max(at_least));
        account.fruitless = account.fruitless.saturating_add(1);
        Some(at_ns)
    }

    /// Makes it when the run begins.
    pub(super) fn open_at_beginning(&mut self, key: Key) {
        self.at_beginning.push(key);
    }

    /// Time begins anew, `passed_ns` later than before; places are free since then. Where requests
    /// spread, one place of each connection comes first, then the second of each.
    pub(super) fn begin_run(&mut self, passed_ns: u64, spreads: bool) {
        self.pace.set_origin(passed_ns);
        self.at_beginning.sort_unstable();
        self.to_open.extend(self.at_beginning.drain(..));
        std::iter::once(&mut self.first)
            .chain(&mut self.others)
            .for_each(|lane| lane.begin_run(spreads));
    }

    // ---- places ----

    /// Whether a place to a target is free, or was when its connection was there.
    #[inline]
    pub(super) fn has_free(&self, target: u16) -> bool {
        !self.lane(target).free.is_empty()
    }

    /// Whether one is free to each target.
    pub(super) fn has_free_to_all(&self) -> bool {
        self.lanes().all(|lane| !lane.free.is_empty())
    }

    /// The target with the place that has been free for longest.
    pub(super) fn longest_free(&self) -> Option<u16> {
        let fronts =
            self.lanes().zip(0..).filter_map(|(lane, at)| Some((lane.free.front()?.since_ns, at)));
        fronts.min().map(|(_, target)| target)
    }

    /// The place to a target that has been free for longest. Places of connections that are gone, or that
    /// may take no more requests, are dropped; those of a blocked one are put aside.
    #[inline(always)]
    pub(super) fn take(&mut self, target: u16) -> Option<Place> {
        match target {
            0 => take_of(&mut self.first.free, &mut self.connections, self.requests_per_connection),
            other => self.take_other(other),
        }
    }

    #[inline(never)]
    fn take_other(&mut self, target: u16) -> Option<Place> {
        let lane = &mut self.others[usize::from(target) - 1];
        take_of(&mut lane.free, &mut self.connections, self.requests_per_connection)
    }

    /// Whether a request may leave on a place that is kept for its user.
    pub(super) fn holds(&self, place: Place) -> bool {
        let connection = &self[place.key];
        let session = connection.session.as_ref();
        session.is_some_and(|session| session.free_places() > 0) && !connection.blocked
    }

    /// Takes back a place on which no request may leave. It is offered again when one may.
    pub(super) fn withdraw(&mut self, place: Place) {
        self[place.key].offered -= 1;
    }

    /// Gives back the place that was taken last.
    pub(super) fn put_back(&mut self, place: Place) {
        self.lane_of(place.key).free.push_front(place);
    }

    /// All free places to the plan's own target, to be given back one by one.
    pub(super) fn take_all(&mut self) -> VecDeque<Place> {
        std::mem::take(&mut self.first.free)
    }

    /// Places of a connection that were not offered yet.
    #[inline]
    pub(super) fn unoffered(&self, key: Key) -> u32 {
        let connection = &self[key];
        let free = connection.session.as_ref().map_or(0, S::free_places);
        free.saturating_sub(connection.offered)
    }

    /// Takes note that `count` more places of a connection are offered. The place, as often as that,
    /// is for [`Pool::free`], now or later.
    #[inline]
    pub(super) fn offer(&mut self, key: Key, count: u32, since_ns: u64) -> Place {
        let connection = &mut self[key];
        connection.offered += count;
        Place { key, generation: connection.generation, since_ns }
    }

    /// A server that closes what nothing was sent on leaves the places of former connections.
    #[cold]
    fn free_in_crowd(&mut self, place: Place, count: u32) {
        let mut free = std::mem::take(&mut self.lane_of(place.key).free);
        free.retain(|one| self[one.key].generation == one.generation);
        free.extend(std::iter::repeat_n(place, count as usize));
        self.lane_of(place.key).free = free;
    }

    /// The place is free, `count` times.
    #[inline]
    pub(super) fn free(&mut self, place: Place, count: u32) {
        let lane = self.lane_of(place.key);
        if lane.free.len() > 2 * lane.most_free {
            return self.free_in_crowd(place, count);
        }
        for _ in 0..count {
            lane.free.push_back(place);
        }
    }

    /// A connection is not blocked any more: the places that were put aside are free since now.
    pub(super) fn unpark(&mut self, key: Key, now_ns: u64) {
        let connection = &mut self.connections[key as usize];
        let parked = std::mem::take(&mut connection.parked);
        let place = Place { key, generation: connection.generation, since_ns: now_ns };
        self.lane_of(key).free.extend(std::iter::repeat_n(place, parked as usize));
    }
}

#[inline(always)]
fn take_of<S: Session>(
    free: &mut VecDeque<Place>,
    connections: &mut [Connection<S>],
    requests_per_connection: u64,
) -> Option<Place> {
    while let Some(place) = free.pop_front() {
        let connection = &mut connections[place.key as usize];
        if connection.generation != place.generation {
            continue;
        }
        if connection.taken >= requests_per_connection
            // The server announced the end of the connection, or takes fewer at a time.
            || connection.session.as_ref().is_none_or(|session| session.free_places() == 0)
        {
            connection.offered -= 1;
            continue;
        }
        if connection.blocked {
            connection.parked += 1;
            continue;
        }
        return Some(place);
    }
    None
}

impl Lane {
    /// Time begins anew: its places are free since then, as [`Pool::begin_run`] says.
    fn begin_run(&mut self, spreads: bool) {
        let mut ranked: Vec<(u32, Place)> = Vec::with_capacity(self.free.len());
        for place in self.free.drain(..) {
            let rank = match ranked.last() {
                Some((rank, before)) if before.key == place.key => rank + 1,
                _ => 0,
            };
            ranked.push((rank, Place { since_ns: 0, ..place }));
        }
        if spreads {
            ranked.sort_by_key(|(rank, _)| *rank);
        }
        self.free.extend(ranked.into_iter().map(|(_, place)| place));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Fake, own_plan};
    use super::*;

    /// The pool of the one worker of a plan, as TOML.
    fn pool(options: &str) -> Pool<Fake> {
        let (plan, own) = own_plan(options);
        Pool::new(&own, plan.connections.places())
    }

    /// Makes every connection that may be made at this time, each with this number of places.
    fn establish(pool: &mut Pool<Fake>, places: u32, now_ns: u64) -> Vec<Key> {
        let mut made = Vec::new();
        while let Some(key) = pool.next_to_open(now_ns) {
            pool.begin(key, now_ns);
            pool.connected(key, now_ns, Fake(places), now_ns + 5);
            assert_eq!(pool.establish(key), Some(5));
            assert_eq!(pool.establish(key), None);
            let place = pool.offer(key, pool.unoffered(key), now_ns + 5);
            pool.free(place, places);
            made.push(key);
        }
        assert_eq!(pool.connecting(), 0);
        made
    }

    fn taken(pool: &mut Pool<Fake>) -> Vec<Key> {
        std::iter::from_fn(|| pool.take(0)).map(|place| place.key).collect()
    }

    #[test]
    fn places_are_taken_in_the_order_they_became_free() {
        let mut pool = pool("connections = 2\npipeline = 2");
        assert_eq!(establish(&mut pool, 2, 0), [0, 1]);
        assert_eq!(taken(&mut pool), [0, 0, 1, 1]);
        assert!(!pool.has_free(0));
        // None was given a request, and all were offered.
        assert_eq!((pool.unoffered(0), pool.ever_established()), (0, 2));
    }

    #[test]
    fn a_run_begins_with_a_place_of_each_connection() {
        let mut pool = pool("connections = 3\npipeline = 2");
        establish(&mut pool, 2, 0);
        pool.begin_run(5, true);
        assert_eq!(taken(&mut pool), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn places_of_a_connection_that_is_gone_or_full_are_dropped_and_of_a_blocked_one_put_aside() {
        let mut pool = pool("connections = 3");
        establish(&mut pool, 1, 0);
        pool.leave(0);
        pool[1].session = Some(Fake(0));
        pool[2].blocked = true;
        assert!(taken(&mut pool).is_empty());
        assert_eq!((pool[1].offered, pool[2].parked), (0, 1));
        pool[2].blocked = false;
        pool.unpark(2, 77);
        assert_eq!(pool.take(0).map(|place| (place.key, place.since_ns)), Some((2, 77)));
    }

    #[test]
    fn a_connection_has_its_share_of_requests() {
        let mut pool = pool("connections = 1\nrequests-per-connection = 3\npipeline = 2");
        establish(&mut pool, 2, 0);
        pool[0].taken = 3;
        assert_eq!((taken(&mut pool), pool[0].offered), (vec![], 0));
    }

    #[test]
    fn places_of_the_gone_do_not_pile_up() {
        let mut pool = pool("connections = 1\npipeline = 2");
        for round in 0..1000 {
            establish(&mut pool, 2, round);
            pool.leave(0);
            pool.open_soon(0);
            assert!(pool.first.free.len() <= 6, "{}", pool.first.free.len());
        }
    }

    #[test]
    fn lost_connections_come_back_later_and_those_for_a_backlog_when_there_is_one() {
        let mut pool = pool("rate = '10'\nconnections = 1\nmax-connections = 2");
        assert_eq!(establish(&mut pool, 1, 0), [0]);
        assert_eq!(pool.next_for_backlog(0, 0, 0), None);
        assert_eq!(pool.next_for_backlog(0, 0, 1), Some(1));
        assert!(!pool.can_open_more(0));
        pool.begin(1, 0);
        // One attempt for each request that waits.
        assert_eq!((pool.connecting(), pool.next_for_backlog(0, 0, 1)), (1, None));
        pool.leave(1);
        assert_eq!((pool.connecting(), pool.retry_ns(1, 0, 0, false)), (0, None));
        assert!(pool.can_open_more(0));
        pool.leave(0);
        let back_off = |pool: &mut Pool<Fake>| pool.retry_ns(0, 1000, 0, false).unwrap() - 1000;
        assert_eq!([back_off(&mut pool), back_off(&mut pool)], [0, 10_000_000]);
    }

    #[test]
    fn what_failed_before_the_run_is_made_when_it_begins_in_order() {
        let mut pool = pool("connections = 3");
        for _ in 0..3 {
            let key = pool.next_to_open(0).unwrap();
            pool.begin(key, 0);
        }
        for key in [2, 0] {
            pool.leave(key);
            pool.open_at_beginning(key);
        }
        assert_eq!((pool.opens_ns(), pool.next_to_open(0)), (None, None));
        pool.begin_run(1, false);
        assert_eq!(pool.opens_ns(), Some(0));
        assert_eq!([pool.next_to_open(0), pool.next_to_open(0)], [Some(0), Some(2)]);
    }

    #[test]
    fn attempts_keep_their_pace() {
        let mut pool = pool("connections = 3\nconnect-rate = '1000'");
        assert_eq!(establish(&mut pool, 1, 0), [0]);
        assert_eq!(pool.opens_ns(), Some(1_000_000));
        assert!(establish(&mut pool, 1, 999_999).is_empty());
        assert_eq!(establish(&mut pool, 1, 1_000_000), [1]);
    }

    #[test]
    fn places_of_one_target_are_nobody_elses() {
        let tables = "[target.b]\nurl = 'http://127.0.0.2/'\nconnections = 2\n[[request]]\n[[request]]\ntarget = 'b'";
        let mut pool = pool(&format!("rate = '9'\nconnections = 1\nmax-connections = 2\n{tables}"));
        // Kept ones first, then those for a backlog.
        let of: Vec<u16> = pool.iter().map(|(_, one)| one.target).collect();
        assert_eq!(of, [0, 1, 1, 0, 1]);
        assert_eq!(establish(&mut pool, 1, 0), [0, 1, 2]);
        assert_eq!(pool.longest_free(), Some(0));
        assert_eq!(pool.take(0).map(|place| place.key), Some(0));
        assert_eq!((pool.take(0).is_none(), pool.has_free(1)), (true, true));
        assert!(!pool.has_free_to_all());
        assert_eq!(pool.longest_free(), Some(1));
        assert_eq!(
            [pool.take(1), pool.take(1)].map(|place| place.map(|one| one.key)),
            [Some(1), Some(2)]
        );
        assert_eq!((pool.next_for_backlog(0, 0, 1), pool.can_open_more(0)), (Some(3), false));
        assert_eq!((pool.next_for_backlog(1, 0, 1), pool.can_open_more(1)), (Some(4), false));
        // Each has turns of its own.
        let turns = [3, 4, 0].map(|key| pool.next_route(key, 0));
        assert_eq!(turns.map(|to| (to.target, to.turn)), [(0, 0), (1, 0), (0, 1)]);
    }
}
