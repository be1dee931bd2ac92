//! The server: listens, distributes connections to threads, returns counts.
//!
//! Every thread runs an event loop of its own. The first one accepts for all and distributes the
//! connections in turn: SO_REUSEPORT distributes them by a hash, which is uneven with few
//! connections. At the end everything is dropped at once, even responses in flight: a target that
//! is told to stop does not finish its work.

use std::convert::Infallible;
use std::fs::File;
use std::future::Future;
use std::io::BufWriter;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;

use candor_record::HeldUp;
use hyper::Request;
use hyper::header::HeaderValue;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::Notify;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use crate::connection::{Connection, Shared};
use crate::handler::handle;
use crate::port_file::{self, About};
use crate::quic::endpoint::Endpoint;
use crate::received::Received;
use crate::stream::{Bytes, Stream};
use crate::tls::Tls;
use crate::truth::{cpu_ns, now_ns};
use crate::udp::{self, Port, Sorter};
use crate::{Certificate, Config, ServeError, Stats, listener};

/// Streams of one HTTP/2 connection at a time.
const MAX_STREAMS: u32 = 1000;

/// After a failed `accept`, so that a lack of files does not spin.
const ACCEPT_RETRY: Duration = Duration::from_millis(10);

/// A server that listens and does not yet accept.
#[derive(Debug)]
pub struct Server {
    config: Config,
    address: SocketAddr,
    tcp: std::net::TcpListener,
    quic: Option<Port>,
    unix: Option<std::os::unix::net::UnixListener>,
    tls: Option<Tls>,
    log: Option<File>,
    stop: Arc<Notify>,
}

/// Ends a server, from any thread.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<Notify>);

impl Stopper {
    /// Ends the server, also one that does not serve yet.
    pub fn stop(&self) {
        self.0.notify_one();
    }
}

impl Server {
    /// Listens where `config` says, and makes its log.
    pub fn bind(config: Config) -> Result<Server, ServeError> {
        listener::raise_file_limit();
        let wrong = |source| ServeError::Listen { address: config.listen, source };
        let (tcp, udp) = match config.h3 {
            true => listener::tcp_and_udp(config.listen).map(|(tcp, udp)| (tcp, Some(udp))),
            false => listener::tcp(config.listen).map(|tcp| (tcp, None)),
        }
        .map_err(wrong)?;
        let address = tcp.local_addr().map_err(wrong)?;
        let unix = config.unix_socket.as_deref().map(bind_unix).transpose()?;
        let self_signed = config.h3.then_some(Certificate::SelfSigned(None));
        let tls = config.tls.clone().or(self_signed).as_ref().map(Tls::new).transpose()?;
        let quic = tls.as_ref().zip(udp).map(|(tls, udp)| {
            Ok::<_, ServeError>(Port::new(Endpoint::new(tls.quic.clone(), MAX_STREAMS)?, udp))
        });
        let quic = quic.transpose()?;
        let create = |path: &PathBuf| {
            candor_files::create(path)
                .map_err(|source| ServeError::Log { path: path.clone(), source })
        };
        let log = config.log.as_ref().map(create).transpose()?;
        Ok(Server { config, address, tcp, quic, unix, tls, log, stop: Arc::default() })
    }

    /// The address that the server listens on, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The file of its certificate; `None` without TLS.
    pub fn certificate(&self) -> Option<&Path> {
        self.tls.as_ref().map(|tls| tls.certificate.as_path())
    }

    /// A handle that ends it.
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.stop))
    }

    /// Serves until it is stopped; returns the counts.
    pub fn run_until_stopped(self) -> Result<Stats, ServeError> {
        let stop = Arc::clone(&self.stop);
        self.run(async move { stop.notified().await })
    }

    /// Serves until `shutdown` ends; blocks. The port file is written once all is ready.
    pub fn run(mut self, shutdown: impl Future<Output = ()>) -> Result<Stats, ServeError> {
        let threads = self.config.threads.max(1);
        let log_room = if self.log.is_some() { self.config.log_capacity } else { 0 };
        let alt_svc = self.config.h3.then(|| format!("h3=\":{}\"; ma=3600", self.address.port()));
        let alt_svc = alt_svc.and_then(|text| HeaderValue::try_from(text).ok());
        let faults = self.config.faults.clone();
        let shared = Arc::new(Shared::new(faults, threads, log_room, alt_svc));
        let watched = self.config.spin.then_some(&shared);
        let first = event_loop(watched)?;
        let others = (1..threads).map(|_| Worker::start(watched)).collect::<Result<Vec<_>, _>>()?;
        let mut handles = vec![first.handle().clone()];
        handles.extend(others.iter().map(|worker| worker.handle.clone()));
        let acceptor = self.tls.as_ref().map(|tls| tls.acceptor.clone());
        let dealer = Dealer { shared: Arc::clone(&shared), handles, next: 0, acceptor };

        let outcome = first.block_on(async {
            let mut shutdown = pin!(shutdown);
            // Polled before the server is announced, so that signals are already caught then.
            if poll_once(shutdown.as_mut()).await {
                return Ok(());
            }
            self.start_accepting(dealer)?;
            shutdown.await;
            Ok(())
        });
        drop(first);
        drop(others);
        if let Some(path) = &self.config.unix_socket {
            // Best effort: the next server replaces a leftover socket file.
            let _ = std::fs::remove_file(path);
        }
        outcome?;
        if let (Some(file), Some(path)) = (self.log, self.config.log) {
            // Complete: the connections are gone with their event loops.
            let log = shared.take_log();
            log.write_csv(&mut BufWriter::new(file))
                .map_err(|source| ServeError::Log { path, source })?;
        }
        Ok(shared.stats())
    }

    /// Runs the server in a thread of its own, for programs with other work.
    pub fn start(self) -> Running {
        let address = self.address;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            self.run(async {
                // An error means that the `Running` was dropped: stop as well.
                let _ = stopped.await;
            })
        });
        Running { address, stop: Some(stop), thread: Some(thread) }
    }

    fn start_accepting(&mut self, dealer: Dealer) -> Result<(), ServeError> {
        let tcp = self.tcp.try_clone().and_then(TcpListener::from_std);
        let tcp = tcp.map_err(ServeError::Runtime)?;
        if let Some(unix) = &self.unix {
            let unix = unix.try_clone().and_then(UnixListener::from_std);
            tokio::spawn(accept_unix(unix.map_err(ServeError::Runtime)?, dealer.clone()));
        }
        if let Some(port) = self.quic.take() {
            let socket = port.socket().map_err(ServeError::Runtime)?;
            tokio::spawn(accept_quic(socket, Arc::new(port), dealer.clone()));
        }
        tokio::spawn(accept_tcp(tcp, dealer));
        let Some(path) = &self.config.port_file else { return Ok(()) };
        let certificate = self.certificate();
        let stats = if certificate.is_some() { "https" } else { "http" };
        let Config { method, path: asked, .. } = &self.config;
        let about = About { method, path: asked, certificate, stats };
        port_file::write(path, &about, self.address)
            .map_err(|source| ServeError::PortFile { path: path.clone(), source })
    }
}

fn bind_unix(path: &Path) -> Result<std::os::unix::net::UnixListener, ServeError> {
    listener::unix(path).map_err(|source| ServeError::UnixSocket { path: path.to_owned(), source })
}

/// A server that runs in a thread of its own. Dropping it stops it.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<Stats, ServeError>>>,
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops it; returns the counts.
    pub fn stop(mut self) -> Result<Stats, ServeError> {
        drop(self.stop.take());
        let thread = self.thread.take().expect("only this takes the thread");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A failure is reported by `stop`, not here.
            let _ = thread.join();
        }
    }
}

/// A thread with an event loop, beyond the first.
struct Worker {
    handle: Handle,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    fn start(watched: Option<&Arc<Shared>>) -> Result<Worker, ServeError> {
        let runtime = event_loop(watched)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<Infallible>();
        let run = move || {
            // Ends when the sender is dropped.
            let _ = runtime.block_on(stopped);
        };
        let thread = std::thread::Builder::new().name("serve".to_owned()).spawn(run);
        let thread = thread.map_err(ServeError::Runtime)?;
        Ok(Worker { handle, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was printed by the panic hook, and its connections are closed.
            let _ = thread.join();
        }
    }
}

/// An event loop; one that never sleeps tells `watched` when the machine paused it.
fn event_loop(watched: Option<&Arc<Shared>>) -> Result<Runtime, ServeError> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().map_err(ServeError::Runtime)?;
    if let Some(shared) = watched {
        runtime.spawn(spin(Pauses { held_up: HeldUp::default(), shared: Arc::clone(shared) }));
    }
    Ok(runtime)
}

/// Always has something to do, so that its event loop polls the kernel and never waits in it.
async fn spin(mut pauses: Pauses) {
    loop {
        pauses.held_up.turn(now_ns(), cpu_ns());
        tokio::task::yield_now().await;
    }
}

/// The pauses of a thread that spins; logged when it ends.
struct Pauses {
    held_up: HeldUp,
    shared: Arc<Shared>,
}

impl Drop for Pauses {
    fn drop(&mut self) {
        self.shared.was_held_up(self.held_up.take());
    }
}

/// Whether `future` is done after one poll.
async fn poll_once(mut future: std::pin::Pin<&mut impl Future<Output = ()>>) -> bool {
    std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}

/// Distributes connections to the threads in turn.
#[derive(Clone)]
struct Dealer {
    shared: Arc<Shared>,
    // One event loop a thread; the first is the accepting one.
    handles: Vec<Handle>,
    next: usize,
    acceptor: Option<TlsAcceptor>,
}

impl Dealer {
    /// The thread whose turn it is, and the connection admitted to it.
    fn deal(&mut self) -> Option<(usize, Arc<Connection>)> {
        let connection = self.shared.admit(self.next)?;
        let thread = self.next;
        self.next = (self.next + 1) % self.handles.len();
        Some((thread, connection))
    }

    async fn failed(&self) {
        self.shared.accept_failed();
        tokio::time::sleep(ACCEPT_RETRY).await;
    }
}

async fn accept_tcp(listener: TcpListener, mut dealer: Dealer) {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            dealer.failed().await;
            continue;
        };
        let Some((thread, connection)) = dealer.deal() else { continue };
        // Fails only if the connection is gone, which its first read will show.
        let _ = socket.set_nodelay(!dealer.shared.faults.nagle);
        let acceptor = dealer.acceptor.clone();
        if thread == 0 {
            tokio::spawn(serve_connection(Stream::new(socket, connection), acceptor));
            continue;
        }
        let Ok(socket) = socket.into_std() else { continue };
        dealer.handles[thread].spawn(async move {
            if let Ok(socket) = TcpStream::from_std(socket) {
                serve_connection(Stream::new(socket, connection), acceptor).await;
            }
        });
    }
}

async fn accept_unix(listener: UnixListener, mut dealer: Dealer) {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            dealer.failed().await;
            continue;
        };
        let Some((thread, connection)) = dealer.deal() else { continue };
        let acceptor = dealer.acceptor.clone();
        if thread == 0 {
            tokio::spawn(serve_connection(Stream::new(socket, connection), acceptor));
            continue;
        }
        let Ok(socket) = socket.into_std() else { continue };
        dealer.handles[thread].spawn(async move {
            if let Ok(socket) = UnixStream::from_std(socket) {
                serve_connection(Stream::new(socket, connection), acceptor).await;
            }
        });
    }
}

/// Takes all datagrams, and gives each to the connection that it is for.
async fn accept_quic(socket: UdpSocket, port: Arc<Port>, mut dealer: Dealer) {
    let mut sorter = Sorter::new(Arc::clone(&port));
    let mut datagram = vec![0; 1 << 16];
    loop {
        // An error is one of an earlier datagram of ours.
        let Ok((length, from)) = socket.recv_from(&mut datagram).await else { continue };
        let Some(incoming) = sorter.take(from, &datagram[..length]) else { continue };
        let Some((thread, connection)) = dealer.deal() else {
            sorter.refuse(incoming);
            continue;
        };
        if let Some((session, datagrams)) = sorter.accept(incoming) {
            let port = Arc::clone(&port);
            dealer.handles[thread].spawn(udp::serve(port, session, datagrams, connection));
        }
    }
}

async fn serve_connection(stream: Stream, acceptor: Option<TlsAcceptor>) {
    let connection = Arc::clone(stream.connection());
    let bytes: Bytes = match acceptor {
        None => Box::new(stream),
        Some(acceptor) => match acceptor.accept(stream).await {
            Ok(stream) => Box::new(stream),
            // The client sees and reports a failed handshake.
            Err(_) => return,
        },
    };
    serve_http(bytes, connection).await;
}

/// The client's first bytes choose the protocol: HTTP/2 after its preface, otherwise HTTP/1.1.
async fn serve_http(bytes: Bytes, connection: Arc<Connection>) {
    let service = service_fn(move |request: Request<_>| {
        handle(Arc::clone(&connection), request.map(Received::Tcp))
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // No timer, so no timeout: a slow client is a scenario, not an attack.
    builder.http1().header_read_timeout(None);
    // More streams than are useful on one connection.
    builder.http2().max_concurrent_streams(MAX_STREAMS).enable_connect_protocol();
    // Errors of a connection show at the client and in the counts.
    let _ = builder.serve_connection_with_upgrades(TokioIo::new(bytes), service).await;
}
