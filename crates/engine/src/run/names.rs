//! Names that are resolved again while a run goes on.
//!
//! Each has a thread, which asks the resolver and waits for it as long as it takes, and leaves the addresses where
//! workers find them. Nobody waits for the thread, not even the end of the run: a resolver may be silent for long.
//!
//! An address keeps its number, so the list of a target only grows, up to a bound. A new one is taken if every list of
//! allowed hosts allows it, and if it is not of the internet where those before were not. Where nothing is found that
//! may be used, the addresses stay.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use candor_plan::Plan;
use candor_plan::allow::is_public;
use candor_record::NameCounts;

use super::resolve::{Permission, look_up};
use crate::error::EngineError;
use crate::reactor::socket::{Address, Listed, Lists, Names};

/// The most addresses of a target that a run comes to know by resolving its name again.
const MOST: usize = 256;

/// The threads that resolve the names of a run.
pub(super) struct Resolving {
    names: Arc<Names>,
    /// They end when these are gone.
    over: Vec<Sender<Infallible>>,
    counts: Vec<Arc<Mutex<NameCounts>>>,
}

impl Resolving {
    /// For a plan that asks for it; `lists` are the addresses to begin with.
    pub(super) fn begin(plan: &Plan, lists: &Lists) -> Result<Option<Self>, EngineError> {
        let Some(every_ns) = plan.connections.dns_refresh_ns else { return Ok(None) };
        let names = Arc::new(Names::new(Arc::clone(lists)));
        let mut all = Resolving { names, over: Vec::new(), counts: Vec::new() };
        for (number, target) in plan.targets().enumerate() {
            let Some((host, port)) = target.looked_up() else { continue };
            let (host, of) = (host.to_owned(), target.name.clone());
            let counts = NameCounts { target: of, name: host.clone(), ..NameCounts::default() };
            let counts = Arc::new(Mutex::new(counts));
            let permission = Permission::new(target.allow.as_ref())?;
            let name = Name::new(&host, &lists[number], permission);
            let (over, until) = channel();
            all.over.push(over);
            all.counts.push(Arc::clone(&counts));
            let names = Arc::clone(&all.names);
            let ask = move || look_up(&host, port, &[]).map_err(|error| error.to_string());
            let put = move |list| names.put(number, list);
            let every = Duration::from_nanos(every_ns);
            let keep = move || name.keep(every, &until, &counts, ask, put);
            thread::Builder::new().name("names".to_owned()).spawn(keep).map_err(|error| {
                EngineError::System { what: "start a thread", reason: error.to_string() }
            })?;
        }
        Ok(Some(all))
    }

    /// Where workers find the addresses.
    pub(super) fn names(&self) -> Arc<Names> {
        Arc::clone(&self.names)
    }

    /// The run is over: how often each name was resolved.
    pub(super) fn end(self) -> Vec<NameCounts> {
        let counts = |one: &Arc<Mutex<NameCounts>>| {
            one.lock().unwrap_or_else(PoisonError::into_inner).clone()
        };
        self.counts.iter().map(counts).collect()
    }
}

/// One name.
struct Name {
    host: String,
    list: Vec<Listed>,
    permission: Permission,
    /// Whether its first addresses are of the internet, which the user was told.
    is_public: bool,
}

impl Name {
    fn new(host: &str, list: &[Listed], permission: Permission) -> Self {
        let is_public = |one: &Listed| match one.address {
            Address::Tcp(address) => is_public(address.ip()),
            Address::Unix(_) => false,
        };
        let is_public = list.iter().any(is_public);
        Name { host: host.to_owned(), list: list.to_vec(), permission, is_public }
    }

    /// Asks again and again, until the run is over.
    fn keep(
        mut self,
        every: Duration,
        over: &Receiver<Infallible>,
        counts: &Mutex<NameCounts>,
        mut ask: impl FnMut() -> Result<Vec<SocketAddr>, String>,
        put: impl Fn(Arc<[Listed]>),
    ) {
        let lock = || counts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = Instant::now() + every;
        loop {
            let left = next.saturating_duration_since(Instant::now());
            if over.recv_timeout(left) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let began = Instant::now();
            lock().asked += 1;
            let found = ask();
            let took = began.elapsed();
            let mut counts = lock();
            let took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            counts.took_ns = counts.took_ns.saturating_add(took_ns);
            counts.longest_ns = counts.longest_ns.max(took_ns);
            if self.found(found, &mut counts) {
                put(self.list.clone().into());
            }
            // What took longer than the time between two is not made up for.
            next = (next + every).max(Instant::now());
        }
    }

    /// The resolver said this. Whether the list is another one now.
    fn found(&mut self, found: Result<Vec<SocketAddr>, String>, counts: &mut NameCounts) -> bool {
        let found = match found {
            Ok(found) => found,
            Err(problem) => {
                counts.failed += 1;
                counts.problem = Some(problem);
                return false;
            }
        };
        counts.answered += 1;
        let mut there = vec![false; self.list.len()];
        let mut new = Vec::new();
        for address in found {
            let is_known = |one: &Listed| one.address == Address::Tcp(address);
            if let Some(at) = self.list.iter().position(is_known) {
                there[at] = true;
            } else if let Err(problem) = self.check(address, self.list.len() + new.len()) {
                counts.left_out += 1;
                counts.problem = Some(problem);
            } else {
                new.push(Listed::from(Address::Tcp(address)));
            }
        }
        if new.is_empty() && there.iter().all(|is_there| !is_there) {
            return false;
        }
        let mut has_changed = !new.is_empty();
        for (one, is_there) in self.list.iter_mut().zip(there) {
            counts.gone += u64::from(!is_there && !one.is_gone);
            counts.added += u64::from(is_there && one.is_gone);
            has_changed |= one.is_gone == is_there;
            one.is_gone = !is_there;
        }
        counts.added += new.len() as u64;
        self.list.append(&mut new);
        has_changed
    }

    /// Whether a new address may be taken, after so many.
    fn check(&self, address: SocketAddr, known: usize) -> Result<(), String> {
        let ip = address.ip();
        if known >= MOST {
            return Err(format!("{address} is one more than the {MOST} addresses of a run"));
        }
        if is_public(ip) && !self.is_public {
            return Err(format!("{address} is public, and no address was when the run began"));
        }
        self.permission.check(Some(&self.host), ip).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use candor_plan::allow::AllowList;

    use super::*;

    fn addresses(all: &[&str]) -> Vec<SocketAddr> {
        all.iter().map(|one| one.parse().unwrap()).collect()
    }

    /// A name that resolved to these addresses, where these are allowed.
    fn name(first: &[&str], allow: &str) -> Name {
        let first = addresses(first);
        let list: Vec<Listed> =
            first.into_iter().map(|one| Listed::from(Address::Tcp(one))).collect();
        let own = AllowList::of_variable("--allow", allow).unwrap();
        Name::new("h.example", &list, Permission::new(own.as_ref()).unwrap())
    }

    /// The addresses that are there, by their numbers.
    fn there(name: &Name) -> Vec<usize> {
        let there = name.list.iter().enumerate().filter(|(_, one)| !one.is_gone);
        there.map(|(number, _)| number).collect()
    }

    #[test]
    fn an_address_keeps_its_number() {
        let (mut name, mut counts) =
            (name(&["10.0.0.1:80", "[::1]:80"], ""), NameCounts::default());
        let mut found = |all: &[&str]| (name.found(Ok(addresses(all)), &mut counts), there(&name));
        assert_eq!(found(&["[::1]:80", "10.0.0.1:80"]), (false, vec![0, 1]));
        assert_eq!(found(&["[::1]:80", "10.0.0.3:80"]), (true, vec![1, 2]));
        assert_eq!(found(&["[::1]:80", "10.0.0.3:80"]), (false, vec![1, 2]));
        assert_eq!(found(&["10.0.0.1:80"]), (true, vec![0]));
        assert_eq!(found(&[]), (false, vec![0]), "those before stay");
        assert_eq!((counts.answered, counts.added, counts.gone), (5, 2, 3));
    }

    #[test]
    fn what_cannot_be_resolved_changes_nothing_and_is_counted() {
        let (mut name, mut counts) = (name(&["10.0.0.1:80"], ""), NameCounts::default());
        assert!(!name.found(Err("it is gone".to_owned()), &mut counts));
        assert_eq!((there(&name), counts.failed, counts.answered), (vec![0], 1, 0));
        assert_eq!(counts.problem.as_deref(), Some("it is gone"));
    }

    #[test]
    fn an_address_that_may_not_be_used_is_left_out() {
        let mut counts = NameCounts::default();
        let mut inside = name(&["10.0.0.1:80"], "10.0.0.0/24,8.0.0.0/8");
        let mut found = |name: &mut Name, all: &[&str]| {
            (name.found(Ok(addresses(all)), &mut counts), there(name))
        };
        assert_eq!(found(&mut inside, &["10.0.1.1:80"]), (false, vec![0]), "not allowed");
        assert_eq!(found(&mut inside, &["8.8.8.8:80"]), (false, vec![0]), "public");
        assert_eq!(found(&mut inside, &["8.8.8.8:80", "10.0.0.2:80"]), (true, vec![1]));
        let mut public = name(&["8.8.4.4:80"], "");
        assert_eq!(found(&mut public, &["8.8.8.8:80"]), (true, vec![1]));
        assert_eq!((counts.left_out, counts.added, counts.gone), (3, 2, 2));
    }

    #[test]
    fn a_name_that_never_has_the_same_addresses_is_bounded() {
        let (mut name, mut counts) = (name(&["10.0.0.1:80"], ""), NameCounts::default());
        for number in 0..3 * MOST {
            let all = [SocketAddr::from(([10, 1, (number / 256) as u8, number as u8], 80))];
            name.found(Ok(all.to_vec()), &mut counts);
            assert_eq!(there(&name).len(), 1);
        }
        assert_eq!((name.list.len(), counts.added), (MOST, MOST as u64 - 1));
        assert_eq!(counts.left_out, 2 * MOST as u64 + 1);
        assert!(name.found(Ok(addresses(&["10.0.0.1:80"])), &mut counts), "known ones come back");
        assert_eq!(there(&name), [0]);
    }

    #[test]
    fn a_name_is_asked_for_until_the_run_is_over() {
        let (over, until) = channel();
        let over = Mutex::new(Some(over));
        let (counts, lists) = (Mutex::new(NameCounts::default()), Mutex::new(Vec::new()));
        let mut answers = vec![
            Err("no".to_owned()),
            Ok(addresses(&["10.0.0.1:80"])),
            Ok(addresses(&["10.0.0.2:80"])),
        ]
        .into_iter();
        let ask = || {
            if answers.len() == 1 {
                over.lock().unwrap().take();
            }
            answers.next().unwrap()
        };
        let put = |list: Arc<[Listed]>| lists.lock().unwrap().push(list);
        name(&["10.0.0.1:80"], "").keep(Duration::from_millis(1), &until, &counts, ask, put);
        let (counts, lists) = (counts.into_inner().unwrap(), lists.into_inner().unwrap());
        assert_eq!((counts.asked, counts.failed, counts.answered), (3, 1, 2));
        let gone: Vec<bool> = lists[0].iter().map(|one| one.is_gone).collect();
        assert_eq!((lists.len(), gone), (1, vec![true, false]));
    }
}
