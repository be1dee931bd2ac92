//! UDP: one connected socket per connection, so that the kernel sorts what comes.
//!
//! Several datagrams leave in one call where the kernel segments (UDP_SEGMENT, Linux 4.18) and come in
//! one call where it puts together (UDP_GRO, Linux 5.0). None is cut into pieces on its way (RFC 9000 14), which is how
//! QUIC finds out what the path takes. A datagram that the kernel has no memory for, or that is too long for the path, is
//! lost, as any datagram may be, and no failure. Nothing here waits.

use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::socket::{io_failure, send_slices};
use super::{Segments, Sent, scm};

/// Asked for as receive buffer. The kernel gives less to those who may not take more
/// (net.core.rmem_max), and what it drops then is counted.
const RECEIVE_BUFFER_BYTES: i32 = 4 << 20;
/// Pieces of one datagram.
const PIECES: usize = 16;

/// A socket that does not block, for datagrams to `address`.
pub(super) fn open(address: &SocketAddr) -> Result<OwnedFd, Errno> {
    let (family, level, name, (whole, probe)) = match address {
        SocketAddr::V4(_) => {
            let whole = (libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE);
            (AddressFamily::INET, libc::SOL_IP, libc::IP_RECVTOS, whole)
        }
        SocketAddr::V6(_) => {
            let whole = (libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE);
            (AddressFamily::INET6, libc::SOL_IPV6, libc::IPV6_RECVTCLASS, whole)
        }
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let fd = socket_with(family, SocketType::DGRAM, flags, None)?;
    let ask = |name| scm::set_option(&fd, libc::SOL_SOCKET, name, RECEIVE_BUFFER_BYTES);
    ask(libc::SO_RCVBUFFORCE).or_else(|_| ask(libc::SO_RCVBUF))?;
    scm::set_option(&fd, level, name, 1)?;
    scm::set_option(&fd, level, whole, probe)?;
    // An older kernel hands datagrams over one by one.
    let _ = scm::set_option(&fd, libc::SOL_UDP, libc::UDP_GRO, 1);
    Ok(fd)
}

/// Sets the bits of explicit congestion notification of what is sent from now on.
pub(super) fn mark(fd: &OwnedFd, ecn: u8) {
    // A socket of IPv4 refuses the first; one of IPv6 would take both, and the second says nothing there.
    let _ = scm::set_option(fd, libc::SOL_IPV6, libc::IPV6_TCLASS, ecn.into())
        .or_else(|_| scm::set_option(fd, libc::SOL_IP, libc::IP_TOS, ecn.into()));
}

/// Sends the datagrams in `slices`, as many as the kernel takes, each whole.
pub(super) fn send(fd: &OwnedFd, slices: &[IoSlice<'_>], segments: Segments) -> Sent {
    let offered: usize = slices.iter().map(|slice| slice.len()).sum();
    let result = match segments.count(offered) {
        1 => send_one(fd, slices),
        _ => match scm::send_segmented(fd, slices, segments.bytes) {
            // It does not segment, or not so.
            Err(Errno::INVAL | Errno::IO | Errno::MSGSIZE | Errno::OPNOTSUPP) => {
                send_each(fd, slices, offered, segments.bytes.into())
            }
            Err(Errno::NOBUFS) => Ok(offered),
            other => other,
        },
    };
    match result {
        Ok(bytes) => Sent::Written(bytes),
        Err(Errno::AGAIN) => Sent::Blocked,
        Err(errno) => Sent::Failed(io_failure(errno)),
    }
}

fn send_one(fd: &OwnedFd, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
    match send_slices(fd, slices) {
        Err(Errno::NOBUFS | Errno::MSGSIZE) => Ok(slices.iter().map(|slice| slice.len()).sum()),
        other => other,
    }
}

/// One call for each datagram.
pub(super) fn send_each(
    fd: &OwnedFd,
    slices: &[IoSlice<'_>],
    offered: usize,
    segment_bytes: usize,
) -> Result<usize, Errno> {
    let mut sent = 0;
    while sent < offered {
        let mut pieces = [IoSlice::new(&[]); PIECES];
        let length = segment_bytes.min(offered - sent);
        let used = cut(slices, sent, length, &mut pieces);
        match send_one(fd, &pieces[..used]) {
            Ok(bytes) => sent += bytes,
            Err(Errno::AGAIN) if sent > 0 => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(sent)
}

/// Puts the `length` bytes from `at` on of `slices` into `pieces`; how many those are.
fn cut<'a>(
    slices: &'a [IoSlice<'_>],
    at: usize,
    length: usize,
    pieces: &mut [IoSlice<'a>; PIECES],
) -> usize {
    let (mut skip, mut left, mut used) = (at, length, 0);
    for slice in slices {
        let from = skip.min(slice.len());
        skip -= from;
        let taken = (slice.len() - from).min(left);
        if taken > 0 {
            pieces[used] = IoSlice::new(&slice[from..from + taken]);
            left -= taken;
            used += 1;
        }
    }
    used
}

#[cfg(test)]
pub(super) mod tests {
    use std::net::UdpSocket;

    use proptest::prelude::*;

    use super::super::Received;
    use super::super::arrived::Arrived;
    use super::super::clock::Clock;
    use super::*;

    /// A socket of ours and its connected peer.
    pub(in super::super) fn pair(host: &str) -> (OwnedFd, OwnedFd) {
        let meeting = UdpSocket::bind((host, 0)).unwrap();
        let address = meeting.local_addr().unwrap();
        let ours = open(&address).unwrap();
        rustix::net::connect(&ours, &address).unwrap();
        let own: SocketAddr = rustix::net::getsockname(&ours).unwrap().try_into().unwrap();
        drop(meeting);
        let peer = open(&own).unwrap();
        rustix::net::bind(&peer, &address).unwrap();
        rustix::net::connect(&peer, &own).unwrap();
        (ours, peer)
    }

    /// Everything that has come, datagram by datagram, each with its mark.
    fn received(fd: &OwnedFd) -> Vec<(Vec<u8>, u8)> {
        let (mut arrived, mut clock, mut all) = (Arrived::default(), Clock::default(), Vec::new());
        while let (Received::Bytes { bytes, .. }, segments) = arrived.next(0, fd, &mut clock) {
            all.extend(segments.split(bytes).map(|one| (one.to_vec(), segments.ecn)));
        }
        all
    }

    /// `count` datagrams of `length` bytes, the last of them shorter, in slices that end elsewhere.
    fn message(count: usize, length: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
        let bytes: Vec<u8> = (0..count * length - length / 2).map(|n| (n % 251) as u8).collect();
        let each = bytes.chunks(length).map(<[u8]>::to_vec).collect();
        (bytes, each)
    }

    fn segments(bytes: usize) -> Segments {
        Segments { bytes: bytes as u16, ecn: 0 }
    }

    #[test]
    fn datagrams_stay_apart_however_the_kernel_takes_and_gives_them() {
        for host in ["127.0.0.1", "::1"] {
            for (count, length) in [(1, 1200), (2, 1), (11, 1000), (54, 1200), (64, 1000)] {
                let (ours, peer) = pair(host);
                let (bytes, each) = message(count, length);
                let (head, tail) = bytes.split_at(bytes.len() / 3);
                let slices = [IoSlice::new(head), IoSlice::new(tail)];
                let sent = send(&ours, &slices, segments(length));
                assert!(matches!(sent, Sent::Written(n) if n == bytes.len()), "{sent:?}");
                let all: Vec<Vec<u8>> = received(&peer).into_iter().map(|one| one.0).collect();
                assert_eq!(all, each, "segmented, {host}, {count} × {length}");
                assert_eq!(send_each(&ours, &slices, bytes.len(), length), Ok(bytes.len()));
                let all: Vec<Vec<u8>> = received(&peer).into_iter().map(|one| one.0).collect();
                assert_eq!(all, each, "one by one, {host}, {count} × {length}");
            }
        }
    }

    #[test]
    fn one_call_brings_many_where_the_kernel_puts_together() {
        let (ours, peer) = pair("127.0.0.1");
        let (bytes, each) = message(20, 1000);
        assert!(matches!(send(&ours, &[IoSlice::new(&bytes)], segments(1000)), Sent::Written(_)));
        let (mut arrived, mut clock) = (Arrived::default(), Clock::default());
        let (received, segments) = arrived.next(0, &peer, &mut clock);
        let Received::Bytes { bytes: found, .. } = received else { panic!("{received:?}") };
        let first = found.len();
        // Linux 5.0 and later; before, it is one.
        assert!(first == bytes.len() || first == 1000, "{first}");
        assert_eq!(segments.bytes, 1000);
        assert_eq!(segments.count(bytes.len()), each.len() as u64);
    }

    #[test]
    fn without_a_length_it_is_one_datagram() {
        let (ours, peer) = pair("127.0.0.1");
        let sent = send(&ours, &[IoSlice::new(b"hello")], segments(0));
        assert!(matches!(sent, Sent::Written(5)), "{sent:?}");
        assert_eq!(received(&peer), [(b"hello".to_vec(), 0)]);
        let split: Vec<&[u8]> = segments(0).split(b"hello").collect();
        assert_eq!((split, segments(0).count(5)), (vec![&b"hello"[..]], 1));
    }

    #[test]
    fn an_empty_datagram_is_one() {
        let (ours, peer) = pair("127.0.0.1");
        assert_eq!(send_one(&ours, &[IoSlice::new(b"")]), Ok(0));
        assert_eq!(received(&peer), [(vec![], 0)]);
    }

    #[test]
    fn marks_of_congestion_go_and_come() {
        for host in ["127.0.0.1", "::1"] {
            let (ours, peer) = pair(host);
            for ecn in [0b10, Segments::CONGESTED, 0b01, 0b00] {
                mark(&ours, ecn);
                let sent = send(&ours, &[IoSlice::new(b"hello")], segments(5));
                assert!(matches!(sent, Sent::Written(5)), "{sent:?}");
                assert_eq!(received(&peer), [(b"hello".to_vec(), ecn)], "{host}");
            }
        }
    }

    #[test]
    fn what_the_kernel_drops_is_counted_to_the_datagram() {
        let (ours, peer) = pair("127.0.0.1");
        scm::set_option(&peer, libc::SOL_SOCKET, libc::SO_RCVBUF, 8192).unwrap();
        assert_eq!(scm::dropped(&peer), Some(0));
        for _ in 0..1000 {
            assert!(matches!(
                send(&ours, &[IoSlice::new(&[7; 100])], segments(100)),
                Sent::Written(_)
            ));
        }
        let read = received(&peer).len() as u32;
        assert!(read > 0 && read < 1000, "{read}");
        assert_eq!(scm::dropped(&peer), Some(1000 - read));
    }

    #[test]
    fn a_datagram_that_is_too_long_is_lost() {
        let (ours, peer) = pair("127.0.0.1");
        let long = vec![7; 65_508];
        let sent = send(&ours, &[IoSlice::new(&long)], segments(0));
        assert!(matches!(sent, Sent::Written(n) if n == long.len()), "{sent:?}");
        assert_eq!(received(&peer), []);
    }

    #[test]
    fn a_peer_that_is_gone_is_a_failure() {
        let (ours, peer) = pair("127.0.0.1");
        drop(peer);
        let say = || send(&ours, &[IoSlice::new(b"hello")], segments(5));
        assert!(matches!(say(), Sent::Written(5)));
        // The kernel tells it with the next call.
        assert!(matches!(say(), Sent::Failed(failure) if failure.refused));
    }

    proptest! {
        #[test]
        fn cut_pieces_are_the_bytes(
            slices in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..8),
            at in 0usize..40,
            length in 0usize..40,
        ) {
            let whole = slices.concat();
            let at = at.min(whole.len());
            let length = length.min(whole.len() - at);
            let views: Vec<IoSlice<'_>> = slices.iter().map(|one| IoSlice::new(one)).collect();
            let mut pieces = [IoSlice::new(&[]); PIECES];
            let used = cut(&views, at, length, &mut pieces);
            let taken: Vec<u8> = pieces[..used].iter().flat_map(|one| one.to_vec()).collect();
            prop_assert_eq!(&taken[..], &whole[at..at + length]);
        }
    }
}
