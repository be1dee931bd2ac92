//! The floor on io_uring: registered files, one multishot receive per connection into provided
//! buffers, and all sends of a round through the ring, in the call that waits for the next round.

use std::alloc::{Layout, alloc_zeroed};
use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Instant;

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{BufRingEntry, Fixed};
use io_uring::{IoUring, cqueue, opcode};

use crate::Job;

const GROUP: u16 = 0;
const BUFFERS: u16 = 4096;
const BUFFER_BYTES: u32 = 16 * 1024;
/// Marks a send in its completion; one that succeeds has none.
const SEND: u64 = 1 << 32;

/// Works until time is over; how many batches were answered.
pub(crate) fn work(job: &Job) -> usize {
    let mut ring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_cqsize(16 * 1024)
        .build(4096)
        .unwrap();
    let files: Vec<_> = job.streams.iter().map(AsRawFd::as_raw_fd).collect();
    ring.submitter().register_files(&files).unwrap();
    let mut buffers = Buffers::register(&ring);
    for index in 0..files.len() {
        push(&mut ring, &receive(index as u32));
        push(&mut ring, &send(index as u32, job.batch));
    }
    let begun = Instant::now();
    let mut got = vec![0usize; files.len()];
    let mut batches = 0;
    let mut to_do = VecDeque::new();
    while begun.elapsed() < job.time {
        ring.submit_and_wait(1).unwrap();
        for completion in ring.completion() {
            assert!(completion.user_data() & SEND == 0, "a send failed or was short");
            let index = completion.user_data() as u32;
            if let Some(buffer) = cqueue::buffer_select(completion.flags()) {
                buffers.give(buffer);
            }
            got[index as usize] += completion.result().max(0) as usize;
            if got[index as usize] >= job.batch_answer_bytes {
                got[index as usize] -= job.batch_answer_bytes;
                batches += 1;
                to_do.push_back(send(index, job.batch));
            }
            if !cqueue::more(completion.flags()) {
                to_do.push_back(receive(index));
            }
        }
        for entry in to_do.drain(..) {
            push(&mut ring, &entry);
        }
    }
    batches
}

fn receive(index: u32) -> Entry {
    opcode::RecvMulti::new(Fixed(index), GROUP).build().user_data(u64::from(index))
}

fn send(index: u32, batch: &'static [u8]) -> Entry {
    let entry = opcode::Send::new(Fixed(index), batch.as_ptr(), batch.len() as u32);
    // A short send is an error too, so that no completion is needed for a whole one.
    let entry = entry.flags(rustix::net::SendFlags::NOSIGNAL.bits() as i32 | MSG_WAITALL);
    entry.build().flags(Flags::SKIP_SUCCESS).user_data(SEND | u64::from(index))
}

/// The kernel sends the rest of a short send by itself.
const MSG_WAITALL: i32 = 0x100;

fn push(ring: &mut IoUring, entry: &Entry) {
    // SAFETY: a send reads a batch that lives for ever; a receive writes to the provided
    // buffers, which are never freed.
    while unsafe { ring.submission().push(entry) }.is_err() {
        ring.submit().unwrap();
    }
}

/// Provided buffers. They live as long as the process.
struct Buffers {
    ring: *mut BufRingEntry,
    memory: *mut u8,
    tail: u16,
}

impl Buffers {
    fn register(uring: &IoUring) -> Buffers {
        let bytes = |bytes: usize| Layout::from_size_align(bytes, 4096).unwrap();
        let ring_layout = bytes(usize::from(BUFFERS) * size_of::<BufRingEntry>());
        let memory_layout = bytes(usize::from(BUFFERS) * BUFFER_BYTES as usize);
        // SAFETY: neither layout is of size zero.
        let (ring, memory) = unsafe { (alloc_zeroed(ring_layout), alloc_zeroed(memory_layout)) };
        assert!(!ring.is_null() && !memory.is_null());
        let mut buffers = Buffers { ring: ring.cast(), memory, tail: 0 };
        // SAFETY: the ring's memory has room for so many entries and is never freed.
        unsafe {
            let submitter = uring.submitter();
            submitter.register_buf_ring_with_flags(ring as u64, BUFFERS, GROUP, 0).unwrap();
        }
        (0..BUFFERS).for_each(|buffer| buffers.give(buffer));
        buffers
    }

    fn give(&mut self, buffer: u16) {
        // SAFETY: the index is within the ring, the buffer within the memory; the kernel does
        // not look at an entry beyond the tail.
        unsafe {
            let entry = &mut *self.ring.add(usize::from(self.tail % BUFFERS));
            entry.set_addr(self.memory.add(usize::from(buffer) * BUFFER_BYTES as usize) as u64);
            entry.set_len(BUFFER_BYTES);
            entry.set_bid(buffer);
            self.tail = self.tail.wrapping_add(1);
            let tail = AtomicU16::from_ptr(BufRingEntry::tail(self.ring).cast_mut());
            tail.store(self.tail, Ordering::Release);
        }
    }
}
