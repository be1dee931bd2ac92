//! Control messages by libc, which rustix does not have: those of SO_TIMESTAMPING and those of UDP.
//!
//! All unsafe code of stamps and datagrams is here. Buffers are on the stack, of the size that the kernel's
//! messages have, and aligned as `cmsghdr` is; what does not fit is cut off by the kernel and
//! then not found.

use std::io::IoSlice;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::io::Errno;

use super::Segments;
use super::arrived::{MESSAGE_BYTES, MESSAGES};

/// Room for control messages: a `scm_timestamping` (three timespecs) and a `sock_extended_err`
/// with an address, each with its head, are below 200 bytes.
#[repr(C, align(16))]
struct Control([u8; 256]);

/// Asks for software stamps of what leaves and what arrives.
///
/// OPT_ID numbers bytes from here on, so nothing may have been sent; OPT_TSONLY spares the copy
/// of what left.
pub(super) fn enable(fd: &OwnedFd) -> Result<(), Errno> {
    let flags: libc::c_uint = libc::SOF_TIMESTAMPING_TX_SOFTWARE
        | libc::SOF_TIMESTAMPING_RX_SOFTWARE
        | libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags as libc::c_int)
}

/// Asks for software stamps of what arrives.
pub(super) fn stamp_arrivals(fd: &OwnedFd) -> Result<(), Errno> {
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags as libc::c_int)
}

/// Sets an option of a socket that is an integer.
pub(super) fn set_option(
    fd: &OwnedFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> Result<(), Errno> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and the value is a live int of the length given.
    let result =
        unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const value).cast(), length) };
    if result == 0 { Ok(()) } else { Err(last_error()) }
}

/// Datagrams that the kernel dropped because the socket's receive buffer was full, ever.
pub(super) fn dropped(fd: &OwnedFd) -> Option<u32> {
    // linux/sock_diag.h: nine numbers in a row, of which the last is SK_MEMINFO_DROPS.
    const DROPS: usize = 8;
    let mut numbers = [0u32; DROPS + 1];
    let mut length = size_of_val(&numbers) as libc::socklen_t;
    // SAFETY: the descriptor is open, and `numbers` is live and has the length given.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            numbers.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    (result == 0 && length as usize == size_of_val(&numbers)).then_some(numbers[DROPS])
}

/// Reads messages of a UDP socket in one call, at most as many as `found` has places and not more than [`MESSAGES`], each
/// into its part of `buffer`, which has room for all of them: how many, and of each how many bytes and what datagrams they
/// are.
pub(super) fn receive_datagrams(
    fd: &OwnedFd,
    buffer: &mut [u8],
    found: &mut [(usize, Segments)],
) -> Result<usize, Errno> {
    let most = found.len().min(MESSAGES);
    let mut controls = [const { Control([0; 256]) }; MESSAGES];
    let mut parts = buffer.chunks_exact_mut(MESSAGE_BYTES);
    let mut pieces: [libc::iovec; MESSAGES] = std::array::from_fn(|_| {
        let part = parts.next().unwrap_or_default();
        libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: part.len() }
    });
    // SAFETY: `mmsghdr` is plain data of which all zeros is a valid value.
    let mut messages: [libc::mmsghdr; MESSAGES] = unsafe { zeroed() };
    for ((message, piece), control) in messages.iter_mut().zip(&mut pieces).zip(&mut controls) {
        message.msg_hdr.msg_iov = piece;
        message.msg_hdr.msg_iovlen = 1;
        message.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
        message.msg_hdr.msg_controllen = control.0.len() as _;
    }
    let count = loop {
        // SAFETY: each message names one piece, a part of `buffer` of its own, and a control buffer of its own, with their
        // lengths; all of them live longer than the call. There is no time to wait for.
        let result = unsafe {
            libc::recvmmsg(
                fd.as_raw_fd(),
                messages.as_mut_ptr(),
                most as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        match usize::try_from(result) {
            Ok(count) => break count,
            Err(_) => match last_error() {
                Errno::INTR => {}
                errno => return Err(errno),
            },
        }
    };
    for (message, found) in messages.iter().zip(found).take(count) {
        let (mut together, mut traffic_class) = (None, 0);
        // SAFETY: the kernel has filled this message, whose control buffer is alive and aligned as `cmsghdr` is.
        unsafe {
            each_control(&message.msg_hdr, |kind, data| match kind {
                (libc::SOL_UDP, libc::UDP_GRO) => together = number(data),
                (libc::SOL_IP, libc::IP_TOS) | (libc::SOL_IPV6, libc::IPV6_TCLASS) => {
                    traffic_class = number(data).unwrap_or(0);
                }
                _ => {}
            });
        }
        let bytes = message.msg_len as usize;
        // No datagram is longer than a u16 says.
        let each = together.filter(|&each| each > 0).unwrap_or(bytes as u32);
        *found = (bytes, Segments { bytes: each as u16, ecn: (traffic_class & 0b11) as u8 });
    }
    Ok(count)
}

/// Sends all of `slices` in datagrams of `segment_bytes` each, which the kernel cuts.
pub(super) fn send_segmented(
    fd: &OwnedFd,
    slices: &[IoSlice<'_>],
    segment_bytes: u16,
) -> Result<usize, Errno> {
    let mut control = Control([0; 256]);
    // SAFETY: `msghdr` is plain data of which all zeros is a valid value.
    let mut message: libc::msghdr = unsafe { zeroed() };
    // The kernel reads pieces and does not write them; `IoSlice` has the layout of `iovec`.
    message.msg_iov = slices.as_ptr().cast_mut().cast();
    message.msg_iovlen = slices.len() as _;
    message.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: these only compute.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<u16>() as _) } as _;
    // SAFETY: the control buffer is alive, aligned as `cmsghdr` is, and has room for a head and a u16,
    // so that the first head and the data behind it are within it.
    unsafe {
        let head = libc::CMSG_FIRSTHDR(&raw const message);
        (*head).cmsg_level = libc::SOL_UDP;
        (*head).cmsg_type = libc::UDP_SEGMENT;
        (*head).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as _) as _;
        libc::CMSG_DATA(head).cast::<u16>().write_unaligned(segment_bytes);
    }
    loop {
        // SAFETY: `message` names the slices and the control buffer, with their lengths; all of them
        // live longer than the call.
        let result =
            unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
        match usize::try_from(result) {
            Ok(bytes) => return Ok(bytes),
            Err(_) => match last_error() {
                Errno::INTR => {}
                errno => return Err(errno),
            },
        }
    }
}

/// A number in a control message: of one byte, or an int.
fn number(data: &[u8]) -> Option<u32> {
    match data {
        [byte] => Some(u32::from(*byte)),
        _ => Some(u32::from_ne_bytes(data.get(..4)?.try_into().ok()?)),
    }
}

/// Reads into `buffer`: how many bytes, and the realtime of the arrival of the last segment.
pub(super) fn receive(fd: RawFd, buffer: &mut [u8]) -> Result<(usize, Option<u64>), Errno> {
    let mut found = None;
    let bytes = receive_message(fd, buffer, 0, |kind, data| {
        if kind == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) {
            found = timestamp_ns(data);
        }
    })?;
    Ok((bytes, found))
}

/// The next stamp of something that left: the number of its last byte, and the realtime at which
/// it was handed to the device. `Some(None)`: something else was there. `None`: nothing was.
pub(super) fn next_left(fd: RawFd) -> Option<Option<(u32, u64)>> {
    let (mut stamp_ns, mut number) = (None, None);
    receive_message(fd, &mut [], libc::MSG_ERRQUEUE, |kind, data| match kind {
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => stamp_ns = timestamp_ns(data),
        (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
            number = stamp_number(data);
        }
        _ => {}
    })
    .ok()?;
    Some(number.zip(stamp_ns))
}

/// One `recvmsg`, with every control message handed to `each` as level and type, and data.
fn receive_message(
    fd: RawFd,
    buffer: &mut [u8],
    flags: libc::c_int,
    each: impl FnMut((libc::c_int, libc::c_int), &[u8]),
) -> Result<usize, Errno> {
    let mut control = Control([0; 256]);
    let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: `msghdr` is plain data of which all zeros is a valid value.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    let bytes = loop {
        // SAFETY: `message` names one piece, which is `buffer`, and the control buffer, with
        // their lengths; all of them live longer than the call.
        let result = unsafe { libc::recvmsg(fd, &raw mut message, flags | libc::MSG_DONTWAIT) };
        match usize::try_from(result) {
            Ok(bytes) => break bytes,
            Err(_) => match last_error() {
                Errno::INTR => {}
                errno => return Err(errno),
            },
        }
    };
    // SAFETY: the kernel has filled `message`, whose control buffer is alive and aligned as
    // `cmsghdr` is.
    unsafe { each_control(&message, each) };
    Ok(bytes)
}

/// Hands every control message to `each`.
///
/// # Safety
/// The control buffer of `message` is alive, aligned as `cmsghdr` is, and holds whole messages within
/// its length, as the kernel leaves it.
unsafe fn each_control(
    message: &libc::msghdr,
    mut each: impl FnMut((libc::c_int, libc::c_int), &[u8]),
) {
    // SAFETY: by the contract. CMSG_FIRSTHDR and CMSG_NXTHDR give pointers to whole heads within
    // the buffer or null.
    let mut head = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !head.is_null() {
        // SAFETY: `head` is not null, so it points to a whole head; `cmsg_len` counts it and the
        // data behind it, which lie within the control buffer.
        let (kind, data) = unsafe {
            let length = (*head).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
            let data = std::slice::from_raw_parts(libc::CMSG_DATA(head), length);
            (((*head).cmsg_level, (*head).cmsg_type), data)
        };
        each(kind, data);
        // SAFETY: `message` and `head` are as above.
        head = unsafe { libc::CMSG_NXTHDR(message, head) };
    }
}

/// The first of the three times of a `scm_timestamping`, the software stamp; 0 stands for none.
fn timestamp_ns(data: &[u8]) -> Option<u64> {
    const WORD: usize = size_of::<libc::c_long>();
    let word = |at: usize| -> Option<u64> {
        let bytes = data.get(at * WORD..(at + 1) * WORD)?;
        Some(libc::c_long::from_ne_bytes(bytes.try_into().ok()?) as u64)
    };
    let ns = word(0)?.checked_mul(1_000_000_000)?.checked_add(word(1)?)?;
    (ns > 0).then_some(ns)
}

/// The number in a `sock_extended_err`, if that is a stamp of something handed to the device.
fn stamp_number(data: &[u8]) -> Option<u32> {
    // errno (u32), origin, type, code, pad (bytes), info (u32), data (u32): linux/errqueue.h.
    const SND: u32 = 0;
    let word = |at: usize| -> Option<u32> {
        Some(u32::from_ne_bytes(data.get(at..at + 4)?.try_into().ok()?))
    };
    let origin = *data.get(4)?;
    (origin == libc::SO_EE_ORIGIN_TIMESTAMPING && word(8)? == SND).then(|| word(12)).flatten()
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A control buffer as the kernel leaves it: level, type and data of each message.
    fn filled(messages: &[(libc::c_int, libc::c_int, &[u8])]) -> (Control, usize) {
        const HEAD: usize = size_of::<libc::cmsghdr>();
        let (mut control, mut at) = (Control([0; 256]), 0);
        for (level, kind, data) in messages {
            let length = HEAD + data.len();
            control.0[at..at + 8].copy_from_slice(&length.to_ne_bytes());
            control.0[at + 8..at + 12].copy_from_slice(&level.to_ne_bytes());
            control.0[at + 12..at + 16].copy_from_slice(&kind.to_ne_bytes());
            control.0[at + HEAD..at + length].copy_from_slice(data);
            at += length.next_multiple_of(8);
        }
        (control, at)
    }

    fn read(messages: &[(libc::c_int, libc::c_int, &[u8])]) -> Vec<(libc::c_int, Vec<u8>)> {
        let (mut control, length) = filled(messages);
        // SAFETY: `msghdr` is plain data of which all zeros is a valid value.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = length as _;
        let mut all = Vec::new();
        // SAFETY: the buffer is alive, aligned, and holds whole messages.
        unsafe { each_control(&message, |(_, kind), data| all.push((kind, data.to_vec()))) };
        all
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn control_messages_are_found_one_after_the_other() {
        assert_eq!(read(&[]), []);
        let times: Vec<u8> = [7i64, 9, 0, 0, 0, 0].iter().flat_map(|n| n.to_ne_bytes()).collect();
        let odd = [1, 2, 3];
        let all = read(&[
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &times),
            (libc::SOL_IP, libc::IP_RECVERR, &odd),
            (libc::SOL_SOCKET, 99, &[]),
        ]);
        let kinds: Vec<_> = all.iter().map(|(kind, data)| (*kind, data.len())).collect();
        assert_eq!(kinds, [(libc::SCM_TIMESTAMPING, 48), (libc::IP_RECVERR, 3), (99, 0)]);
        assert_eq!(timestamp_ns(&all[0].1), Some(7_000_000_009));
        assert_eq!((timestamp_ns(&odd), stamp_number(&odd)), (None, None));
    }
}
