//! Waiting until a target is ready, and the facts that it announces then.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use candor_engine::Permission;

use super::keeper::{Said, exit_status};
use super::{Ready, Running, TargetSpec, http};
use crate::error::LabError;

/// Time between two checks.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// One attempt to reach it.
const ATTEMPT: Duration = Duration::from_millis(500);
/// A port file without all of its lines counts as complete if it has not changed for this long.
const SETTLED: Duration = Duration::from_millis(200);

/// The facts that a target announces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Announced {
    /// Where to send requests.
    pub url: String,
    /// The method of requests to it.
    pub method: Option<String>,
    /// Its protocol, as it names it.
    pub protocol: Option<String>,
    /// A URL that returns its own figures, as JSON.
    pub stats: Option<String>,
    /// The file of its certificate, if it uses TLS.
    pub certificate: Option<PathBuf>,
    /// Further facts, e.g. its version: keys in lower case.
    pub about: BTreeMap<String, String>,
}

/// The exit status of a target that is not installed, or lacks a library: EX_UNAVAILABLE of sysexits.h. Wrong arguments,
/// for which most programs have 2, are a mistake in a suite and a failure.
const NOT_INSTALLED: i32 = 69;

/// Keys with its address and how to reach it; results have these elsewhere.
const WHERE: [&str; 7] = ["PORT", "PATH", "METHOD", "HOST", "PID", "STATS", "CERT"];
/// The limit for these further facts: they end up in every result.
const MOST_KEYS: usize = 16;
const MOST_BYTES: usize = 100;

/// Refuses to start a target where another server already responds: the run would measure that
/// server.
pub(super) fn check_free(spec: &TargetSpec) -> Result<(), LabError> {
    let address = match &spec.ready {
        Ready::PortFile
        | Ready::Port
        | Ready::Line(_)
        | Ready::File(_)
        | Ready::After(_)
        | Ready::Started => return Ok(()),
        Ready::Tcp(address) => {
            Permission::new(None)?.check(None, address.ip())?;
            *address
        }
        Ready::Http { url, .. } => http::address(url).map_err(LabError::Usage)?.0,
    };
    match TcpStream::connect_timeout(&address, ATTEMPT) {
        Err(_) => Ok(()),
        Ok(_) => {
            let problem = format!(
                "another process already listens on {address} and would be measured instead; \
                 end it, or give the target another port"
            );
            Err(spec.problem(problem, Vec::new()))
        }
    }
}

/// Waits until the target is ready; fails if it ends. `port`: the one that took the place of [`super::PORT`].
pub(super) fn wait(
    running: &mut Running,
    port_file: &Path,
    port: Option<u16>,
) -> Result<Announced, LabError> {
    let begun = Instant::now();
    let mut seen = Seen::default();
    let ours = || {
        let url = port.map(|port| format!("http://{}:{port}/", Ipv4Addr::LOCALHOST));
        Announced { url: url.unwrap_or_default(), ..Announced::default() }
    };
    loop {
        let announced = match &running.spec.ready {
            Ready::PortFile => seen.look(port_file).map_err(|wrong| {
                running.spec.problem(format!("its port file is wrong: {wrong}"), running.log_tail())
            })?,
            Ready::Tcp(address) => TcpStream::connect_timeout(address, ATTEMPT)
                .is_ok()
                .then(|| Announced { url: format!("http://{address}/"), ..Announced::default() }),
            Ready::Port => {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or_default()));
                TcpStream::connect_timeout(&address, ATTEMPT).is_ok().then(ours)
            }
            Ready::Line(text) => running.log.has_line(text).then(ours),
            Ready::File(path) => path.exists().then(ours),
            Ready::After(time) => (begun.elapsed() >= *time).then(ours),
            Ready::Started => Some(Announced::default()),
            Ready::Http { url, status } => http::get(url, ATTEMPT)
                .is_ok_and(|answer| answer.status == *status)
                .then(|| Announced { url: url.clone(), ..Announced::default() }),
        };
        // If our target has ended meanwhile, the response may come from another server.
        if let Ok(Said::Ended(how)) = running.keeper.said.try_recv() {
            let said: Vec<String> =
                running.log_tail().iter().map(|line| line.trim().to_owned()).collect();
            if exit_status(&how) == Some(NOT_INSTALLED) && !said.is_empty() {
                let _ = running.ended.set(how);
                let name = running.spec.name.clone();
                return Err(LabError::NotInstalled { name, said: said.join(" ") });
            }
            let problem = format!(
                "it ended {how} before it was ready; its output is in {}",
                running.log.keep().display()
            );
            let tail = running.log_tail();
            let _ = running.ended.set(how);
            return Err(running.spec.problem(problem, tail));
        }
        if let Some(announced) = announced {
            return Ok(announced);
        }
        if begun.elapsed() >= running.spec.ready_timeout {
            let (patience, log) = (running.spec.ready_timeout, running.log.keep().to_owned());
            let log_tail = running.log_tail();
            // Keep its log, as for a target that ended by itself.
            let _ = running.ended.set("because it was never ready".to_owned());
            let missing = match &running.spec.ready {
                Ready::PortFile => {
                    let name = running.spec.name.clone();
                    return Err(LabError::NoPortFile { name, patience, log, log_tail });
                }
                Ready::Tcp(address) => format!("nothing listens on {address}"),
                Ready::Port => {
                    format!("nothing listens on its port {}", port.unwrap_or_default())
                }
                Ready::Line(text) => format!("no line of its output contains {text:?}"),
                Ready::File(path) => format!("there is no {}", path.display()),
                Ready::After(_) => "the time to wait for is longer".to_owned(),
                Ready::Started => "it is ready at once".to_owned(),
                Ready::Http { url, status } => {
                    format!("{} did not respond with {status}", http::shown(url))
                }
            };
            let problem = format!(
                "it was not ready within {patience:?}: {missing}; its output is in {}",
                log.display()
            );
            return Err(running.spec.problem(problem, log_tail));
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// A port file that is being written.
#[derive(Default)]
struct Seen {
    text: String,
    since: Option<Instant>,
}

impl Seen {
    /// The announcement, once it is complete.
    fn look(&mut self, file: &Path) -> Result<Option<Announced>, String> {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if text != self.text || self.since.is_none() {
            self.text = text;
            self.since = Some(Instant::now());
            return Ok(None);
        }
        let settled = self.since.is_some_and(|since| since.elapsed() >= SETTLED);
        let lines = lines(&self.text);
        let is_whole = self.text.ends_with('\n')
            && ["PORT", "PATH", "METHOD"].iter().all(|key| lines.contains_key(*key));
        match lines.contains_key("PORT") && (is_whole || settled) {
            true => announced(&lines).map(Some),
            false => Ok(None),
        }
    }
}

pub(crate) fn lines(text: &str) -> BTreeMap<&str, &str> {
    text.lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.trim(), value.trim()))
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

pub(crate) fn announced(lines: &BTreeMap<&str, &str>) -> Result<Announced, String> {
    let port = lines.get("PORT").copied().unwrap_or_default();
    let port: u16 =
        port.parse().ok().filter(|&port| port > 0).ok_or(format!("PORT={port} is no port"))?;
    let host = lines.get("HOST").copied().unwrap_or("127.0.0.1");
    let host = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.to_string(),
        Ok(IpAddr::V6(ip)) if ip.is_unspecified() => format!("[{}]", Ipv6Addr::LOCALHOST),
        Ok(ip) => match SocketAddr::new(ip, port).ip() {
            IpAddr::V6(ip) => format!("[{ip}]"),
            IpAddr::V4(ip) => ip.to_string(),
        },
        Err(_) => host.to_owned(),
    };
    let path = lines.get("PATH").copied().unwrap_or("/");
    if !path.starts_with('/') {
        return Err(format!("PATH={path} does not begin with /"));
    }
    let protocol = lines.get("PROTOCOL").map(|&one| one.to_owned());
    let certificate = lines.get("CERT").map(PathBuf::from);
    let is_tls =
        certificate.is_some() || protocol.as_ref().is_some_and(|one| one.contains("https"));
    let scheme = if is_tls { "https" } else { "http" };
    Ok(Announced {
        url: format!("{scheme}://{host}:{port}{path}"),
        method: lines.get("METHOD").map(|&one| one.to_owned()),
        protocol,
        stats: lines.get("STATS").map(|&one| one.to_owned()),
        certificate,
        about: about(lines),
    })
}

fn about(lines: &BTreeMap<&str, &str>) -> BTreeMap<String, String> {
    let fits = |text: &str| text.len() <= MOST_BYTES && !text.chars().any(char::is_control);
    let others = lines
        .iter()
        .filter(|(key, value)| !WHERE.contains(key) && !key.is_empty() && fits(key) && fits(value));
    others.map(|(key, value)| (key.to_lowercase(), (*value).to_owned())).take(MOST_KEYS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Result<Announced, String> {
        announced(&lines(text))
    }

    #[test]
    fn a_port_file_says_where_and_how() {
        let least = told("PORT=80\nPATH=/\nMETHOD=GET\n").unwrap();
        assert_eq!(least.url, "http://127.0.0.1:80/");
        assert_eq!((least.method.as_deref(), least.stats), (Some("GET"), None));
        let all = "PORT=81\nPATH=/qs?a=b\nMETHOD=POST\nHOST=::1\nPROTOCOL=h2\nPID=7\nSTATS=http://x/\nCERT=/c\n";
        let all = told(all).unwrap();
        assert_eq!(all.url, "https://[::1]:81/qs?a=b");
        assert_eq!(all.stats.as_deref(), Some("http://x/"));
        assert_eq!(told("PORT=1\nHOST=0.0.0.0\n").unwrap().url, "http://127.0.0.1:1/");
        assert_eq!(told("PORT=1\nHOST=[::]\n").unwrap().url, "http://[::1]:1/");
        let long = "x".repeat(101);
        let more =
            format!("PORT=1\nPID=7\nVERSION=1.2\nOTP=27.3\nPROTOCOL=h1\nLONG={long}\nBELL=\u{7}\n");
        let about = told(&more).unwrap().about;
        let about: Vec<_> = about.iter().map(|(key, value)| format!("{key} {value}")).collect();
        assert_eq!(about, ["otp 27.3", "protocol h1", "version 1.2"]);
        let many: String = (0..50).map(|n| format!("K{n}=v\n")).collect();
        assert_eq!(told(&format!("PORT=1\n{many}")).unwrap().about.len(), MOST_KEYS);
        for wrong in ["PORT=x", "PORT=0", "PORT=70000", "PORT=1\nPATH=a"] {
            assert!(told(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn half_a_file_is_not_taken() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("port");
        let mut seen = Seen::default();
        assert_eq!(seen.look(&file), Ok(None));
        for part in ["PORT=8", "PORT=80\n", "PORT=80\nPATH=/\nMETH"] {
            std::fs::write(&file, part).unwrap();
            assert_eq!(seen.look(&file), Ok(None), "{part}");
        }
        std::fs::write(&file, "PORT=80\nPATH=/\nMETHOD=GET\n").unwrap();
        assert_eq!(seen.look(&file), Ok(None), "it has changed just now");
        assert!(seen.look(&file).unwrap().is_some());
    }
}
