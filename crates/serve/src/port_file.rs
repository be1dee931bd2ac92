//! The port file: announces the server's address to the program that started it.
//!
//! One `KEY=value` a line, the same for every target that candor starts. It is written under
//! another name in the same directory and renamed, so a reader never sees half of it.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

/// What a port file says beside the address.
pub(crate) struct About<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    /// The file of the certificate, of a server with TLS.
    pub(crate) certificate: Option<&'a Path>,
    /// The scheme of the URL of its counts.
    pub(crate) stats: &'a str,
}

/// Writes the port file of a server on `address`.
pub(crate) fn write(file: &Path, about: &About<'_>, address: SocketAddr) -> io::Result<()> {
    candor_files::write_atomically(file, text(about, address).as_bytes())
        .map_err(|error| error.cause)
}

fn text(about: &About<'_>, address: SocketAddr) -> String {
    let reachable = reachable(address);
    let About { method, path, certificate, stats } = about;
    let certificate =
        certificate.map_or(String::new(), |file| format!("CERT={}\n", file.display()));
    format!(
        "PORT={}\nPATH={path}\nMETHOD={method}\nHOST={}\nPROTOCOL=h1\nPID={}\nSTATS={stats}://{reachable}/__stats\n{certificate}",
        reachable.port(),
        reachable.ip(),
        std::process::id(),
    )
}

/// The address by which a client on this machine reaches the server: loopback for a wildcard.
fn reachable(address: SocketAddr) -> SocketAddr {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_is_reached_on_loopback() {
        let about = About { method: "GET", path: "/qs?a=1", certificate: None, stats: "http" };
        let text = text(&about, "[::]:80".parse().unwrap());
        let pid = std::process::id();
        assert_eq!(
            text,
            format!(
                "PORT=80\nPATH=/qs?a=1\nMETHOD=GET\nHOST=::1\nPROTOCOL=h1\nPID={pid}\n\
                 STATS=http://[::1]:80/__stats\n"
            )
        );
    }

    #[test]
    fn nothing_is_left_of_a_file_that_cannot_be_written() {
        let directory = tempfile::tempdir().unwrap();
        // A directory has its name: the rename fails after the temporary file was written.
        let file = directory.path().join("port");
        std::fs::create_dir(&file).unwrap();
        let about = About { method: "GET", path: "/", certificate: None, stats: "http" };
        assert!(write(&file, &about, "127.0.0.1:1".parse().unwrap()).is_err());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
