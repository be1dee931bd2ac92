//! A truth server from its configuration to its record: listening, starting, stopping.
//!
//! `serving.rs` has the loop in between.

use std::fs::File;
use std::io::BufWriter;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};

use super::config::Config;
use super::quic::Quic;
use super::record::Record;
use super::serving::Serving;
use crate::port_file::{self, About};
use crate::quic::endpoint::Endpoint;
use crate::tls::Tls;
use crate::{ServeError, listener};

/// Requests of a connection over QUIC at a time.
const STREAMS: u32 = 1000;

/// A truth server that listens and does not yet accept.
#[derive(Debug)]
pub struct Server {
    config: Config,
    address: SocketAddr,
    listener: TcpListener,
    quic: Option<(Quic, Tls)>,
    log: Option<File>,
    stop: Arc<OwnedFd>,
}

/// Ends a server, from any thread.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<OwnedFd>);

impl Stopper {
    /// Ends the server.
    pub fn stop(&self) {
        // It can only fail after a huge number of earlier calls.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }
}

impl Server {
    /// Listens where `config` says, and makes its log.
    pub fn bind(config: Config) -> Result<Server, ServeError> {
        listener::raise_file_limit();
        let wrong = |source| ServeError::Listen { address: config.listen, source };
        let (listener, quic) = match &config.h3 {
            None => (listener::tcp(config.listen).map_err(wrong)?, None),
            Some(certificate) => {
                let (tcp, udp) = listener::tcp_and_udp(config.listen).map_err(wrong)?;
                let tls = Tls::new(certificate)?;
                let endpoint = Endpoint::new(tls.quic.clone(), STREAMS)?;
                (tcp, Some((Quic::new(udp, endpoint), tls)))
            }
        };
        let address = listener.local_addr().map_err(wrong)?;
        let create = |path: &PathBuf| {
            candor_files::create(path)
                .map_err(|source| ServeError::Log { path: path.clone(), source })
        };
        let log = config.log.as_ref().map(create).transpose()?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let stop = Arc::new(stop.map_err(|errno| ServeError::Runtime(errno.into()))?);
        Ok(Server { config, address, listener, quic, log, stop })
    }

    /// The address that it listens on, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The file of its certificate; `None` without HTTP/3.
    pub fn certificate(&self) -> Option<&Path> {
        self.quic.as_ref().map(|(_, tls)| tls.certificate.as_path())
    }

    /// A handle that ends it.
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.stop))
    }

    /// Serves on this thread until it is stopped; writes and returns its record.
    pub fn run(self) -> Result<Record, ServeError> {
        let Server { config, address, listener, quic, log, stop } = self;
        // The file of the certificate is there as long as the server.
        let (quic, tls) = quic.unzip();
        let mut serving = Serving::new(&config, listener, quic, &stop)
            .map_err(|errno| ServeError::Runtime(errno.into()))?;
        if let Some(path) = &config.port_file {
            let certificate = tls.as_ref().map(|tls| tls.certificate.as_path());
            // It is asked about itself in clear text, over TCP.
            let about = About { method: "GET", path: "/", certificate, stats: "http" };
            port_file::write(path, &about, address)
                .map_err(|source| ServeError::PortFile { path: path.clone(), source })?;
        }
        serving.serve();
        let record = serving.log.record;
        if let (Some(file), Some(path)) = (log, config.log) {
            record
                .write_csv(&mut BufWriter::new(file))
                .map_err(|source| ServeError::Log { path, source })?;
        }
        Ok(record)
    }

    /// Runs it in a thread of its own.
    pub fn start(self) -> Result<Running, ServeError> {
        let (address, stopper) = (self.address, self.stopper());
        let thread = std::thread::Builder::new().name("truth".to_owned());
        let thread = thread.spawn(move || self.run()).map_err(ServeError::Runtime)?;
        Ok(Running { address, stopper, thread: Some(thread) })
    }
}

/// A truth server in a thread of its own. Dropping it stops it.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    stopper: Stopper,
    thread: Option<JoinHandle<Result<Record, ServeError>>>,
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops it; returns its record.
    pub fn stop(mut self) -> Result<Record, ServeError> {
        self.stopper.stop();
        let thread = self.thread.take().expect("only this takes the thread");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            // A failure is reported by `stop`, not here.
            let _ = thread.join();
        }
    }
}
