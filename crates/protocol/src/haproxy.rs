//! The header of the PROXY protocol: which addresses a connection has, said before its first byte of anything else.
//!
//! Versions 1 and 2 of haproxy's proxy-protocol.txt (2.1, 2.2). A server behind a load balancer takes the addresses from
//! it. Where a connection has none, as over a unix socket, the header says that it comes from the sender itself.

use std::net::{IpAddr, SocketAddr};

use candor_plan::HaproxyProtocol;

/// What every header of version 2 begins with.
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// The header of a connection from the first to the second of these addresses.
pub fn header(version: HaproxyProtocol, addresses: Option<(SocketAddr, SocketAddr)>) -> Vec<u8> {
    // One that is mapped into IPv6 is on the wire as the one of IPv4.
    let plain = |one: SocketAddr| SocketAddr::new(one.ip().to_canonical(), one.port());
    let addresses = addresses.map(|(from, to)| (plain(from), plain(to)));
    match version {
        HaproxyProtocol::Off => Vec::new(),
        HaproxyProtocol::V1 => text(addresses).into_bytes(),
        HaproxyProtocol::V2 => binary(addresses),
    }
}

fn text(addresses: Option<(SocketAddr, SocketAddr)>) -> String {
    let Some((from, to)) = addresses else { return "PROXY UNKNOWN\r\n".to_owned() };
    let family = if from.is_ipv4() { "TCP4" } else { "TCP6" };
    format!("PROXY {family} {} {} {} {}\r\n", from.ip(), to.ip(), from.port(), to.port())
}

fn binary(addresses: Option<(SocketAddr, SocketAddr)>) -> Vec<u8> {
    let Some((from, to)) = addresses else {
        // Version 2 and LOCAL, no family, and nothing that follows.
        return [SIGNATURE, &[0x20, 0, 0, 0]].concat();
    };
    let octets = |one: SocketAddr| match one.ip() {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    // Version 2 and PROXY; TCP over the family; the length of what follows.
    let (family, length) = if from.is_ipv4() { (0x11, 12) } else { (0x21, 36) };
    let ports = [from.port().to_be_bytes(), to.port().to_be_bytes()].concat();
    [SIGNATURE, &[0x21, family, 0, length], &octets(from), &octets(to), &ports].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(version: HaproxyProtocol, from: &str, to: &str) -> Vec<u8> {
        header(version, Some((from.parse().unwrap(), to.parse().unwrap())))
    }

    /// The examples of proxy-protocol.txt 2.1, and the longest line that it allows.
    #[test]
    fn version_1_is_a_line() {
        let line = |from, to| String::from_utf8(of(HaproxyProtocol::V1, from, to)).unwrap();
        assert_eq!(
            line("192.168.0.1:56324", "192.168.0.11:443"),
            "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n"
        );
        assert_eq!(
            line("[::1]:1", "[2001:db8::2]:65535"),
            "PROXY TCP6 ::1 2001:db8::2 1 65535\r\n"
        );
        assert_eq!(
            line("[::ffff:10.0.0.1]:7", "10.0.0.2:8"),
            "PROXY TCP4 10.0.0.1 10.0.0.2 7 8\r\n"
        );
        assert_eq!(header(HaproxyProtocol::V1, None), b"PROXY UNKNOWN\r\n");
    }

    /// To the byte, by the structures of proxy-protocol.txt 2.2.
    #[test]
    fn version_2_is_binary() {
        let signature = b"\x0D\x0A\x0D\x0A\x00\x0D\x0A\x51\x55\x49\x54\x0A";
        let v4 = b"\x21\x11\x00\x0C\x7F\x00\x00\x01\x0A\x01\x02\x03\xDC\x04\x01\xBB";
        assert_eq!(
            of(HaproxyProtocol::V2, "127.0.0.1:56324", "10.1.2.3:443"),
            [&signature[..], v4].concat()
        );
        let v6 = of(HaproxyProtocol::V2, "[::1]:258", "[2001:db8::2]:80");
        assert_eq!(v6.len(), 16 + 36);
        assert_eq!(&v6[12..16], b"\x21\x21\x00\x24");
        assert_eq!(&v6[16..32], [&[0; 15][..], &[1]].concat());
        assert_eq!(&v6[32..36], b"\x20\x01\x0d\xb8");
        assert_eq!(&v6[47..], b"\x02\x01\x02\x00\x50");
        assert_eq!(header(HaproxyProtocol::V2, None), [&signature[..], b"\x20\0\0\0"].concat());
        assert_eq!(of(HaproxyProtocol::Off, "[::1]:1", "[::1]:2"), b"");
    }
}
