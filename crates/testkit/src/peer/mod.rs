//! Scripted peers: servers that do exactly what a test says, right or wrong.
//!
//! A [`Peer`] listens on a free port of loopback and plays its [`Script`] on every connection, a
//! thread each. It counts requests and connections, so that a test can compare a loader's figures
//! with them. A peer always ends: dropping it drops every connection and joins every thread, at any
//! point of the script. A function over [`Player`] can do more than a script: [`Peer::start_with`].

mod player;
mod script;
mod secure;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::net::{bind, getsockname, listen, socket_with, sockopt};

pub use player::{Over, Player};
pub use script::{ANSWER, Script, Step};
pub use secure::{Sealer, server_config};

/// How long a thread may sleep in the kernel before it looks whether it is still wanted.
const LOOK_UP: Duration = Duration::from_millis(10);

/// Connection threads do little; tests may have a thousand of them.
const STACK_BYTES: usize = 128 * 1024;

const BACKLOG: i32 = 4096;

/// The action on a connection, which gets its number: 0 for the first.
type Play = dyn Fn(u64, &mut Player) -> Result<(), Over> + Send + Sync;

/// A scripted server on loopback.
pub struct Peer {
    port: HeldPort,
    play: Arc<Play>,
    shared: Arc<Shared>,
    acceptor: Option<Acceptor>,
}

/// The state that a peer's threads share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    requests: AtomicU64,
    connections: AtomicU64,
    open_connections: AtomicU64,
    last_request: Mutex<Option<Vec<u8>>>,
    connection_threads: Mutex<Vec<JoinHandle<()>>>,
    // Connections of an earlier generation end.
    generation: AtomicU64,
}

impl Peer {
    /// Plays `script` on every connection.
    ///
    /// # Panics
    /// If no port can be had; a test has no use for the error.
    pub fn start(script: Script) -> Peer {
        Peer::start_each([script])
    }

    /// Plays the first script on the first connection, and so on; the last on all that follow.
    ///
    /// # Panics
    /// If there is no script, or no port can be had.
    pub fn start_each(scripts: impl IntoIterator<Item = Script>) -> Peer {
        let scripts: Vec<Script> = scripts.into_iter().collect();
        assert!(!scripts.is_empty(), "a peer needs a script");
        Peer::start_with(move |number, player| {
            let script = usize::try_from(number).ok().and_then(|number| scripts.get(number));
            script.or(scripts.last()).map_or(Ok(()), |script| player.play(script))
        })
    }

    /// Does what `play` does on each connection, whose number it is given: 0 for the first. The
    /// connection is closed when it returns.
    ///
    /// # Panics
    /// If no port can be had.
    pub fn start_with(
        play: impl Fn(u64, &mut Player) -> Result<(), Over> + Send + Sync + 'static,
    ) -> Peer {
        let port = HeldPort::new().expect("a free port of loopback");
        let mut peer = Peer { port, play: Arc::new(play), shared: Arc::default(), acceptor: None };
        peer.resume();
        peer
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.port.addr
    }

    /// Requests read in full: the header block, and a body of `Content-Length` bytes.
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(SeqCst)
    }

    /// Connections accepted.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(SeqCst)
    }

    /// Connections open now.
    pub fn open_connections(&self) -> u64 {
        self.shared.open_connections.load(SeqCst)
    }

    /// The last request that was read in full, as it came.
    pub fn last_request(&self) -> Option<Vec<u8>> {
        self.shared.last_request.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// As if the process had died: nothing listens, every connection is closed. When this returns,
    /// connects are refused, and no other process can take the port.
    pub fn stop_listening_and_drop_all(&mut self) {
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.stop.store(true, SeqCst);
            join(acceptor.thread);
        }
        self.shared.generation.fetch_add(1, SeqCst);
        let threads = std::mem::take(&mut *lock(&self.shared.connection_threads));
        threads.into_iter().for_each(join);
    }

    /// Listens again on the same port, after [`Peer::stop_listening_and_drop_all`].
    ///
    /// # Panics
    /// If the system refuses.
    pub fn resume(&mut self) {
        if self.acceptor.is_some() {
            return;
        }
        let listener = self.port.listen().expect("listening on the port that is held");
        let stop = Arc::new(AtomicBool::new(false));
        let (shared, play) = (Arc::clone(&self.shared), Arc::clone(&self.play));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || accept(&listener, &shared, &play, &stopped));
        self.acceptor = Some(Acceptor { stop, thread });
    }
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").field("port", &self.port).finish_non_exhaustive()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stop_listening_and_drop_all();
    }
}

impl Shared {
    pub(crate) fn count_request(&self, request: &[u8]) {
        *lock(&self.last_request) = Some(request.to_vec());
        self.requests.fetch_add(1, SeqCst);
    }

    pub(crate) fn is_current(&self, generation: u64) -> bool {
        self.generation.load(SeqCst) == generation
    }
}

/// A port of loopback where every connect is refused for as long as this lives.
#[derive(Debug)]
pub struct RefusingPort(HeldPort);

impl RefusingPort {
    /// A port that refuses.
    ///
    /// # Panics
    /// If no port can be had.
    #[expect(clippy::new_without_default, reason = "it takes a resource")]
    pub fn new() -> Self {
        RefusingPort(HeldPort::new().expect("a free port of loopback"))
    }

    /// An address without a listener.
    pub fn addr(&self) -> SocketAddr {
        self.0.addr
    }
}

/// A port kept by a socket that is bound and never listens. A second socket may listen on it (both
/// have SO_REUSEADDR); without one, connects are refused, and the system gives the port to no other
/// process.
#[derive(Debug)]
struct HeldPort {
    addr: SocketAddr,
    // Held for its binding alone.
    _holder: OwnedFd,
}

impl HeldPort {
    fn new() -> io::Result<Self> {
        let holder = bound_socket(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let addr = getsockname(&holder)?.try_into()?;
        Ok(HeldPort { addr, _holder: holder })
    }

    fn listen(&self) -> io::Result<TcpListener> {
        let socket = bound_socket(self.addr)?;
        listen(&socket, BACKLOG)?;
        Ok(socket.into())
    }
}

fn bound_socket(addr: SocketAddr) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &addr)?;
    Ok(socket)
}

#[derive(Debug)]
struct Acceptor {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, play: &Arc<Play>, stop: &AtomicBool) {
    while !stop.load(SeqCst) {
        if !readable(listener) {
            continue;
        }
        // Without `poll` first this would block beyond the stop.
        let Ok((stream, _)) = listener.accept() else { continue };
        let number = shared.connections.fetch_add(1, SeqCst);
        shared.open_connections.fetch_add(1, SeqCst);
        let generation = shared.generation.load(SeqCst);
        let mut player = Player::new(stream, Arc::clone(shared), generation);
        let play = {
            let (shared, play) = (Arc::clone(shared), Arc::clone(play));
            move || {
                // Over or not: the connection is closed by dropping it.
                let _ = play(number, &mut player);
                drop(player);
                shared.open_connections.fetch_sub(1, SeqCst);
            }
        };
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(play);
        let mut threads = lock(&shared.connection_threads);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread.expect("a thread for a connection"));
    }
}

fn readable(listener: &TcpListener) -> bool {
    let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK_UP.subsec_nanos().into() };
    let mut listener = [PollFd::new(listener, PollFlags::IN)];
    poll(&mut listener, Some(&timeout)).is_ok_and(|ready| ready > 0)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A panic of another thread does not make a count wrong.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn join(thread: JoinHandle<()>) {
    // A panic there was printed where it happened; a panic here, in a drop, would abort.
    let _ = thread.join();
}
