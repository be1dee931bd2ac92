//! A link of UDP between clients and a server, with a delay, losses and a bounded queue, that counts what it does.
//!
//! The kernel's own (netem) is not everywhere. Each client has a socket of its own towards the server, so that the server
//! sees as many addresses as there are clients. Datagrams keep their order. Which of them are lost is a function of the
//! seed, the direction and the datagram's number.

use std::collections::{HashMap, VecDeque};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force};

/// A look at the end comes this often.
const TURN: Duration = Duration::from_millis(20);
/// The longest datagram.
const MOST_BYTES: usize = 65_535;
/// What a socket holds until a thread reads it.
const BUFFER_BYTES: usize = 8 << 20;

/// What a link does to datagrams, alike in both directions.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// How long each is under way.
    pub delay: Duration,
    /// How many of 1,000 are lost.
    pub lost_of_1000: u64,
    /// How many may be under way in one direction; those that come above that are dropped.
    pub queue: usize,
    /// Of the losses.
    pub seed: u64,
}

/// What became of the datagrams of one direction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Those that came.
    pub came: u64,
    /// Their bytes.
    pub came_bytes: u64,
    /// Of these, those lost at random.
    pub lost: u64,
    /// And those for which the queue had no room.
    pub overflowed: u64,
    /// Those that were handed on.
    pub passed: u64,
    /// When the first came.
    pub first_came: Option<Instant>,
    /// When the last that carries data (over 100 bytes) was handed on.
    pub last_data_passed: Option<Instant>,
}

/// The relay; it ends with this value.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

#[derive(Debug)]
struct Shared {
    link: Link,
    front: UdpSocket,
    is_over: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Flying>,
    flying: [usize; 2],
    counts: [Counts; 2],
}

#[derive(Debug)]
struct Flying {
    due: Instant,
    way: Way,
    client: SocketAddr,
    server: Arc<UdpSocket>,
    bytes: Vec<u8>,
}

impl Relay {
    /// A link to `server`, on a free port of loopback.
    ///
    /// # Panics
    /// If no port can be had; a test has no use for the error.
    pub fn start(server: SocketAddr, link: Link) -> Self {
        let front = socket();
        let address = front.local_addr().expect("the address of a bound socket");
        let (state, changed) = (Mutex::default(), Condvar::new());
        let is_over = AtomicBool::new(false);
        let shared = Arc::new(Shared { link, front, is_over, state, changed });
        let (reading, sending) = (Arc::clone(&shared), Arc::clone(&shared));
        let threads = vec![
            thread::spawn(move || reading.read_clients(server)),
            thread::spawn(move || sending.send()),
        ];
        Relay { address, shared, threads }
    }

    /// Where clients send to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What became of the datagrams to the server, and of those from it.
    pub fn counts(&self) -> (Counts, Counts) {
        let [up, down] = self.shared.lock().counts;
        (up, down)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.is_over.store(true, SeqCst);
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A panic of the thread was reported on the standard error.
            let _ = thread.join();
        }
    }
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port of loopback");
    socket.set_read_timeout(Some(TURN)).expect("a time limit");
    // Above the system's limit if the user may, else up to it.
    let _ = set_socket_recv_buffer_size_force(&socket, BUFFER_BYTES)
        .or_else(|_| set_socket_recv_buffer_size(&socket, BUFFER_BYTES));
    socket
}

/// A number that is spread evenly (SplitMix64).
fn spread(seed: u64, number: u64) -> u64 {
    let mut z = seed.wrapping_add((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(SeqCst)
    }

    /// Takes what clients send; each new one gets a socket, and a thread for what comes back.
    fn read_clients(self: &Arc<Self>, server: SocketAddr) {
        let mut clients: HashMap<SocketAddr, Arc<UdpSocket>> = HashMap::new();
        let mut threads = Vec::new();
        let mut buffer = vec![0; MOST_BYTES];
        while !self.is_over() {
            let Some((length, client)) = received(self.front.recv_from(&mut buffer)) else {
                continue;
            };
            let towards = clients.entry(client).or_insert_with(|| {
                let own = socket();
                own.connect(server).expect("an address of loopback");
                let own = Arc::new(own);
                let (shared, back) = (Arc::clone(self), Arc::clone(&own));
                threads.push(thread::spawn(move || shared.read_server(&back, client)));
                own
            });
            self.take(Way::Up, client, towards, &buffer[..length]);
        }
        for thread in threads {
            let _ = thread.join();
        }
    }

    fn read_server(&self, from: &Arc<UdpSocket>, client: SocketAddr) {
        let mut buffer = vec![0; MOST_BYTES];
        while !self.is_over() {
            // While the port is closed, the socket has an error.
            if let Some(length) = received(from.recv(&mut buffer)) {
                self.take(Way::Down, client, from, &buffer[..length]);
            }
        }
    }

    fn take(&self, way: Way, client: SocketAddr, server: &Arc<UdpSocket>, bytes: &[u8]) {
        let now = Instant::now();
        let mut state = self.lock();
        let is_full = state.flying[way as usize] >= self.link.queue;
        let counts = &mut state.counts[way as usize];
        let is_lost =
            spread(self.link.seed ^ way as u64, counts.came) % 1000 < self.link.lost_of_1000;
        counts.came += 1;
        counts.came_bytes += bytes.len() as u64;
        counts.first_came.get_or_insert(now);
        if is_lost {
            counts.lost += 1;
        } else if is_full {
            counts.overflowed += 1;
        } else {
            state.flying[way as usize] += 1;
            let (due, server) = (now + self.link.delay, Arc::clone(server));
            state.queue.push_back(Flying { due, way, client, server, bytes: bytes.to_vec() });
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Hands on what is due.
    fn send(&self) {
        let mut state = self.lock();
        while !self.is_over() {
            let now = Instant::now();
            let wait =
                state.queue.front().map_or(TURN, |one| one.due.saturating_duration_since(now));
            if !wait.is_zero() {
                let woken = self.changed.wait_timeout(state, wait);
                state = woken.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            let Some(one) = state.queue.pop_front() else { continue };
            state.flying[one.way as usize] -= 1;
            drop(state);
            // The port may be closed; then this is lost as on any link.
            let _ = match one.way {
                Way::Up => one.server.send(&one.bytes),
                Way::Down => self.front.send_to(&one.bytes, one.client),
            };
            state = self.lock();
            let counts = &mut state.counts[one.way as usize];
            counts.passed += 1;
            if one.bytes.len() > 100 {
                counts.last_data_passed = Some(Instant::now());
            }
        }
    }
}

/// What a socket received, if it did.
fn received<T>(got: std::io::Result<T>) -> Option<T> {
    got.inspect_err(|error| {
        if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
            thread::sleep(Duration::from_millis(1));
        }
    })
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_delays_loses_and_counts() {
        let server = socket();
        server.set_read_timeout(Some(Duration::from_secs(5))).expect("a time limit");
        let link =
            Link { delay: Duration::from_millis(5), lost_of_1000: 250, queue: usize::MAX, seed: 7 };
        let relay = Relay::start(server.local_addr().expect("bound"), link);
        let client = socket();
        client.set_read_timeout(Some(Duration::from_secs(5))).expect("a time limit");
        let expected: Vec<u8> = (0..100u8).filter(|&n| spread(7, n.into()) % 1000 >= 250).collect();
        let mut buffer = [0; 10];
        let begun = Instant::now();
        for number in 0..100u8 {
            client.send_to(&[number], relay.address()).expect("sent");
        }
        let mut from = None;
        for number in &expected {
            let (length, address) = server.recv_from(&mut buffer).expect("passed");
            assert_eq!(&buffer[..length], [*number]);
            from = Some(address);
        }
        assert!(begun.elapsed() >= link.delay);
        // The first of the other direction that is not lost.
        let first = (0..100u8).find(|&n| spread(7 ^ 1, n.into()) % 1000 >= 250).expect("one");
        for number in 0..=first {
            server.send_to(&[number], from.expect("a client")).expect("sent");
        }
        let (length, address) = client.recv_from(&mut buffer).expect("passed");
        assert_eq!((&buffer[..length], address), (&[first][..], relay.address()));
        let (up, down) = relay.counts();
        assert_eq!((up.came, up.lost), (100, 100 - expected.len() as u64));
        assert_eq!((up.came_bytes, down.lost), (100, u64::from(first)));
    }

    #[test]
    fn a_full_queue_drops_what_comes() {
        let server = socket();
        let link = Link { delay: Duration::from_secs(600), lost_of_1000: 0, queue: 3, seed: 0 };
        let relay = Relay::start(server.local_addr().expect("bound"), link);
        let client = socket();
        (0..5).for_each(|_| drop(client.send_to(b"x", relay.address())));
        let end = Instant::now() + Duration::from_secs(10);
        while relay.counts().0.came < 5 && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
        let up = relay.counts().0;
        assert_eq!((up.came, up.overflowed, up.passed), (5, 2, 0));
    }
}
