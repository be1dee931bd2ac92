//! nginx as a real peer: the system's own, with a configuration made for the test.

use std::fmt::Write as _;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::client::Client;
use crate::process::{Managed, free_port, wait_for_port};

/// The locations of every server of the configuration.
const LOCATIONS: &str =
    "location = / { return 200 \"alive\\r\\n\"; } location = /large { root .; }";

const START: Duration = Duration::from_secs(10);

/// The response body of `/`.
pub const BODY: &str = "alive\r\n";

/// An nginx with one worker. Dropping it ends it.
///
/// `/` returns [`BODY`], `/large` 64 KiB, `/status` is stub_status.
#[derive(Debug)]
pub struct Nginx {
    // Before the directory: the process ends before its files go.
    process: Managed,
    address: SocketAddr,
    others: Vec<SocketAddr>,
    directory: TempDir,
}

/// nginx's counts (its stub_status).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Connections accepted, those that asked for the counts included.
    pub accepts: u64,
    /// Requests, those for the counts included.
    pub requests: u64,
}

/// Additional listeners of an nginx, each on a port of its own.
#[derive(Debug, Clone, Default)]
pub struct Listener {
    /// After the address: `ssl`, `http2`, or both.
    pub parameters: String,
    /// A certificate and its key in PEM form.
    pub certificate: Option<(String, String)>,
    /// Further directives of the server.
    pub directives: String,
}

impl Nginx {
    /// Starts nginx, with an access log of one line a request or none.
    pub fn start(access_log: bool) -> io::Result<Nginx> {
        Nginx::start_with(access_log, &[])
    }

    /// The same with these listeners besides; see [`Nginx::listeners`] for their addresses. The
    /// certificate of the n-th, from 0, is also in the file `n.pem` of its directory.
    pub fn start_with(access_log: bool, listeners: &[Listener]) -> io::Result<Nginx> {
        let directory = tempfile::tempdir()?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let config = directory.path().join("nginx.conf");
        let mut servers = String::new();
        let mut others = Vec::new();
        for (index, listener) in listeners.iter().enumerate() {
            let port = free_port()?;
            others.push(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
            let Listener { parameters, certificate, directives } = listener;
            let mut certificates = String::new();
            if let Some((chain, key)) = certificate {
                std::fs::write(directory.path().join(format!("{index}.pem")), chain)?;
                std::fs::write(directory.path().join(format!("{index}.key")), key)?;
                certificates =
                    format!("ssl_certificate {index}.pem; ssl_certificate_key {index}.key;");
            }
            servers += &format!(
                "server {{ listen 127.0.0.1:{port} {parameters}; {certificates} {directives} {LOCATIONS} }}\n"
            );
        }
        std::fs::write(&config, configuration(address.port(), access_log, &servers)?)?;
        std::fs::write(directory.path().join("large"), vec![b'x'; 65536])?;
        let nginx = Nginx { process: spawn(directory.path())?, address, others, directory };
        nginx.wait_until_it_listens()?;
        Ok(nginx)
    }

    /// Ends it and starts it again, on the same ports and with the same log. Returns the longest
    /// time without a listener.
    pub fn restart(&mut self) -> io::Result<Duration> {
        let begun = Instant::now();
        self.process.stop()?;
        self.process = spawn(self.directory.path())?;
        self.wait_until_it_listens()?;
        Ok(begun.elapsed())
    }

    fn wait_until_it_listens(&self) -> io::Result<()> {
        if wait_for_port(self.address, START) {
            return Ok(());
        }
        let log = std::fs::read_to_string(self.directory.path().join("error.log"));
        Err(io::Error::other(format!("nginx did not start: {}", log.unwrap_or_default())))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where its other listeners listen.
    pub fn listeners(&self) -> &[SocketAddr] {
        &self.others
    }

    /// The file of this name in its directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The pid of its master process.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Its counts so far. Asking takes a connection and a request, which are counted.
    pub fn counts(&self) -> Option<Counts> {
        // Active connections: 1
        // server accepts handled requests
        //  1 1 1
        let answer = Client::connect(self.address).get("/status");
        let mut numbers = answer.text().lines().nth(2)?.split_whitespace();
        let accepts = numbers.next()?.parse().ok()?;
        let requests = numbers.nth(1)?.parse().ok()?;
        Some(Counts { accepts, requests })
    }

    /// Ends it; the number of requests in its access log, those to `/status` left out.
    pub fn stop(mut self) -> io::Result<u64> {
        self.process.stop()?;
        match std::fs::read_to_string(self.directory.path().join("access.log")) {
            Ok(log) => Ok(log.lines().count() as u64),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }
}

/// Starts it with the configuration in `directory`.
fn spawn(directory: &Path) -> io::Result<Managed> {
    let mut command = Command::new(program());
    command.arg("-p").arg(directory).arg("-c").arg(directory.join("nginx.conf"));
    command.arg("-e").arg(directory.join("error.log"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Managed::spawn(&mut command)
}

/// Debian puts nginx where a user's PATH does not look.
fn program() -> PathBuf {
    let installed = PathBuf::from("/usr/sbin/nginx");
    if installed.exists() { installed } else { PathBuf::from("nginx") }
}

fn configuration(port: u16, access_log: bool, servers: &str) -> io::Result<String> {
    let mut text = String::new();
    // As root, the worker would drop to a user who cannot enter the test's directory.
    if rustix::process::geteuid().is_root() {
        text.push_str("user root;\n");
    }
    let log = if access_log { "access_log access.log" } else { "access_log off" };
    write!(
        text,
        "daemon off;
worker_processes 1;
pid nginx.pid;
error_log error.log warn;
worker_rlimit_nofile 16384;
events {{ worker_connections 8192; }}
http {{
  {log};
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  keepalive_requests 1000000000;
  keepalive_timeout 600s;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    {LOCATIONS}
    location = /status {{ access_log off; stub_status; }}
  }}
  {servers}
}}
"
    )
    .map_err(io::Error::other)?;
    Ok(text)
}
