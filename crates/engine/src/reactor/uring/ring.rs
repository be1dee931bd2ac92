//! The ring: what is asked of the kernel, and what it answers, without knowing of connections.
//!
//! All unsafe calls on the ring are here. They are sound because the only memory that operations
//! use is that of the provided buffers, which this owns and keeps until no operation is left, and that of
//! sends, which the kernel is done with when it has taken them: they wait for nothing.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use io_uring::squeue::{Entry, Flags, SubmissionQueue};
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, Submitter, cqueue, opcode};
use rustix::event::PollFlags;

use super::buffers::{Buffers, Shape};

/// Operations asked for in one system call at most.
const SUBMISSIONS: u32 = 256;
/// Completions that may wait; the kernel keeps any further ones aside.
const COMPLETIONS: u32 = 4096;
/// The buffers' only group.
const GROUP: u16 = 0;
/// How long the end of a ring waits for the ends of its operations. They are all cancelled, which
/// takes microseconds.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// Sends that are handed over together, at most.
pub(super) const SENDS: usize = 64;
/// Bytes of one of them, at most.
pub(super) const SEND_BYTES: usize = 2048;

/// An operation's name, by which its completions are known.
pub(super) type Name = u64;
/// Names from here on are those of sends and cancellations, which may not complete and hold no memory of ours.
pub(super) const UNCOUNTED: Name = 1 << 63;
/// The name of all cancellations.
pub(super) const CANCELLATION: Name = u64::MAX;
/// Handing over is tried so often if the kernel takes only a part.
const ATTEMPTS: usize = 64;

/// What the kernel says about an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Completion {
    pub(super) name: Name,
    /// Bytes or events; negative: an error number.
    pub(super) result: i32,
    /// The buffer that was filled.
    pub(super) buffer: Option<u16>,
    /// The operation goes on.
    pub(super) more: bool,
}

/// When the kernel does what completes an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskWork {
    /// When this thread waits, all at once. Linux 6.1.
    Deferred,
    /// At this thread's next system call.
    Cooperative,
}

/// A ring with its buffers.
pub(super) struct Ring {
    /// Ours alone, from a box that `drop` makes again.
    uring: NonNull<IoUring>,
    /// Borrows from `uring`, as long as that lives; remembers that the ring itself is registered.
    submitter: Submitter<'static>,
    buffers: ManuallyDrop<Buffers>,
    /// Operations whose last completion has not been taken.
    in_flight: u32,
    /// Counts submissions: an operation pushed in the present one has not been seen by the kernel.
    batch: u64,
    /// Completions that were moved out of the way of a full queue.
    aside: VecDeque<cqueue::Entry>,
    /// Files that an operation may name by a number, which the kernel has not seen: open until it
    /// has, so that the number is no other file's.
    kept: Vec<OwnedFd>,
    /// What the sends of the present batch send.
    outgoing: Box<[Outgoing; SENDS]>,
    /// How many they are.
    sends: usize,
    /// Counts batches of sends.
    send_batch: u64,
}

/// What one send sends.
#[derive(Clone, Copy)]
struct Outgoing {
    length: u16,
    bytes: [u8; SEND_BYTES],
}

// SAFETY: an io_uring may go to another thread, and the submitter has pointers into it and
// nothing else. What the kernel wants is that one thread uses it from `enable` on.
unsafe impl Send for Ring {}

impl Ring {
    /// A ring that is not enabled yet: the thread that enables it is the one that may use it.
    pub(super) fn new(shape: Shape, task_work: TaskWork) -> io::Result<Self> {
        let mut builder = IoUring::builder();
        builder.setup_r_disabled().setup_single_issuer().setup_taskrun_flag();
        builder.setup_clamp().setup_cqsize(COMPLETIONS);
        match task_work {
            TaskWork::Deferred => builder.setup_defer_taskrun(),
            TaskWork::Cooperative => builder.setup_coop_taskrun(),
        };
        let uring = NonNull::from(Box::leak(Box::new(builder.build(SUBMISSIONS)?)));
        let buffers = Buffers::new(shape);
        let count = buffers.shape().count;
        // SAFETY: the box was leaked above and is freed in `drop`, when `submitter` is not used
        // any more. Until then there are shared references to the ring only.
        let submitter = unsafe { uring.as_ref() }.submitter();
        let ring = Ring {
            uring,
            submitter,
            buffers: ManuallyDrop::new(buffers),
            in_flight: 0,
            batch: 0,
            aside: VecDeque::new(),
            kept: Vec::new(),
            outgoing: Box::new([Outgoing { length: 0, bytes: [0; SEND_BYTES] }; SENDS]),
            sends: 0,
            send_batch: 0,
        };
        // SAFETY: the ring's memory is as long as `count` entries and is freed after `uring` is
        // dropped, or never: see `drop`.
        unsafe {
            let address = ring.buffers.ring_address();
            ring.submitter.register_buf_ring_with_flags(address, count, GROUP, 0)?;
        }
        Ok(ring)
    }

    /// Binds the ring to the calling thread. The thread then knows the ring by a number of its
    /// own, unless the kernel refuses: that saves a look-up, and nothing depends on it.
    pub(super) fn enable(&mut self) -> io::Result<()> {
        self.submitter.register_enable_rings()?;
        let _ = self.submitter.register_ring_fd();
        Ok(())
    }

    fn submission(&mut self) -> SubmissionQueue<'_> {
        // SAFETY: the ring lives as long as `self`, and there is no other submission queue: this
        // one borrows `self` mutably.
        unsafe { self.uring.as_ref().submission_shared() }
    }

    pub(super) fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    pub(super) fn buffers_mut(&mut self) -> &mut Buffers {
        &mut self.buffers
    }

    /// The batch that the next operation will belong to.
    pub(super) fn batch(&self) -> u64 {
        self.batch
    }

    /// Receives into provided buffers until it fails, ends or runs out of them.
    pub(super) fn receive(&mut self, fd: &OwnedFd, name: Name) {
        let entry = opcode::RecvMulti::new(Fd(fd.as_raw_fd()), GROUP).build();
        self.start(entry.user_data(name));
    }

    /// Completes once, when there is something to receive, the peer has ended, or the socket is dead.
    pub(super) fn poll_readable(&mut self, fd: &OwnedFd, name: Name) {
        self.poll(fd, name, PollFlags::IN | PollFlags::RDHUP);
    }

    /// No operation can be begun before others were handed over.
    #[inline]
    pub(super) fn is_full(&mut self) -> bool {
        self.submission().is_full()
    }

    /// How many sends are in the present batch; with [`SENDS`] there is no room for another.
    #[inline]
    pub(super) fn sends(&self) -> usize {
        self.sends
    }

    /// The batch that the next send will belong to.
    #[inline]
    pub(super) fn send_batch(&self) -> u64 {
        self.send_batch
    }

    /// Sends all of `slices`, at most [`SEND_BYTES`], without waiting for room. Completes only if less is sent, or
    /// nothing; [`Ring::unsent`] has the rest then. Returns its number in the batch. If there is a batch, the ring must
    /// not be full.
    #[inline]
    pub(super) fn send(&mut self, fd: &OwnedFd, name: Name, slices: &[IoSlice<'_>]) -> usize {
        let number = self.sends;
        let outgoing = &mut self.outgoing[number];
        let mut length = 0;
        for slice in slices {
            outgoing.bytes[length..length + slice.len()].copy_from_slice(slice);
            length += slice.len();
        }
        outgoing.length = length as u16;
        let entry = opcode::Send::new(Fd(fd.as_raw_fd()), outgoing.bytes.as_ptr(), length as u32);
        // With WAITALL a short send counts as a failure, which has a completion.
        let flags = libc::MSG_DONTWAIT | libc::MSG_WAITALL | libc::MSG_NOSIGNAL;
        let entry = entry.flags(flags).build().user_data(name).flags(Flags::SKIP_SUCCESS);
        self.push(&entry);
        self.sends += 1;
        number
    }

    /// What this send of the present batch did not send, if the kernel took `sent` bytes of it.
    pub(super) fn unsent(&self, number: usize, sent: usize) -> &[u8] {
        let outgoing = &self.outgoing[number];
        &outgoing.bytes[sent.min(outgoing.length.into())..outgoing.length.into()]
    }

    /// Hands over what was pushed. Waits for nothing. Returns the names and results of sends that failed or were short,
    /// in order; [`Ring::unsent`] has what they did not send until the next send. There is room for sends again.
    pub(super) fn send_all(&mut self, is_send: impl Fn(Name) -> bool) -> Vec<(Name, i32)> {
        for _ in 0..ATTEMPTS {
            self.submit();
            // SAFETY: as in `next_completion`.
            self.aside.extend(unsafe { self.uring.as_ref().completion_shared() });
            if self.sends == 0 {
                break;
            }
        }
        let mut failed = Vec::new();
        if self.aside.iter().any(|entry| is_send(entry.user_data())) {
            self.aside.retain(|entry| {
                let is_send = is_send(entry.user_data());
                if is_send {
                    failed.push((entry.user_data(), entry.result()));
                }
                !is_send
            });
        }
        failed
    }

    /// Completes once, when there is room to send, an attempt to connect has ended, or the
    /// socket is dead.
    pub(super) fn poll_writable(&mut self, fd: &OwnedFd, name: Name) {
        self.poll(fd, name, PollFlags::OUT);
    }

    fn poll(&mut self, fd: &OwnedFd, name: Name, events: PollFlags) {
        let entry = opcode::PollAdd::new(Fd(fd.as_raw_fd()), events.bits().into()).build();
        self.start(entry.user_data(name));
    }

    /// Lets go of a file that operations of the present batch may name.
    pub(super) fn release(&mut self, fd: OwnedFd) {
        self.kept.push(fd);
        self.submit();
    }

    /// Ends an operation, which still has its last completion.
    pub(super) fn cancel(&mut self, name: Name) {
        let entry = opcode::AsyncCancel::new(name).build().user_data(CANCELLATION);
        self.push(&entry.flags(Flags::SKIP_SUCCESS));
    }

    /// Begins an operation. If the kernel takes none, its connection meets a timeout.
    fn start(&mut self, entry: Entry) {
        self.in_flight += u32::from(self.push(&entry));
    }

    /// False: the kernel takes nothing, so that there is no room.
    fn push(&mut self, entry: &Entry) -> bool {
        for _ in 0..ATTEMPTS {
            // SAFETY: what receives write to are the provided buffers, which outlive every
            // operation: see `drop`. Other entries point to no memory.
            if unsafe { self.submission().push(entry) }.is_ok() {
                return true;
            }
            // Full. The kernel takes entries whatever becomes of them; it may first want its
            // completions to be moved out of the way.
            self.submit();
            if self.submission().is_full() {
                // SAFETY: as in `next_completion`.
                self.aside.extend(unsafe { self.uring.as_ref().completion_shared() });
            }
        }
        false
    }

    /// Hands over what was pushed. Waits for nothing.
    pub(super) fn submit(&mut self) {
        // What was not taken stays in the queue for the next time.
        let _ = self.submitter.submit();
        self.count_batch();
    }

    fn count_batch(&mut self) {
        if self.submission().is_empty() {
            self.batch += 1;
            self.kept.clear();
            // Before that, the kernel may still read them.
            if self.sends > 0 {
                self.sends = 0;
                self.send_batch += 1;
            }
        }
    }

    /// Hands over what was pushed, and finds out about completions; without a system call if
    /// there is nothing to hand over or to find out.
    pub(super) fn look(&mut self) {
        let submission = self.submission();
        if !submission.is_empty() || submission.taskrun() || submission.cq_overflow() {
            drop(submission);
            self.submit();
        }
    }

    /// Hands over what was pushed, and waits for a completion, `timeout_ns` at the longest; not if
    /// there are some that were moved aside.
    pub(super) fn wait(&mut self, timeout_ns: u64) {
        if !self.aside.is_empty() {
            return self.submit();
        }
        let timeout = Timespec::from(Duration::from_nanos(timeout_ns));
        let arguments = SubmitArgs::new().timespec(&timeout);
        // ETIME and EINTR are empty results: the worker looks at its flags and comes again.
        let _ = self.submitter.submit_with_args(1, &arguments);
        self.count_batch();
    }

    /// The oldest completion that was not taken.
    #[inline]
    pub(super) fn next_completion(&mut self) -> Option<Completion> {
        let entry = match self.aside.pop_front() {
            // SAFETY: the ring lives as long as `self`, and there is no other completion queue: this
            // one is gone at the end of the statement.
            None => unsafe { self.uring.as_ref().completion_shared() }.next()?,
            Some(entry) => entry,
        };
        let completion = Completion {
            name: entry.user_data(),
            result: entry.result(),
            buffer: cqueue::buffer_select(entry.flags()),
            more: cqueue::more(entry.flags()),
        };
        if !completion.more && completion.name < UNCOUNTED {
            self.in_flight -= 1;
        }
        Some(completion)
    }
}

impl Drop for Ring {
    /// The callers have cancelled their operations; the ends of these are awaited here, because
    /// a receive that goes on would write into memory that is no longer ours.
    fn drop(&mut self) {
        let deadline = Instant::now() + LAST_WAIT;
        while self.in_flight > 0 && Instant::now() < deadline {
            self.wait(1_000_000);
            while self.next_completion().is_some() {}
        }
        // Its number is the thread's, and would be taken until the thread ends.
        let _ = self.submitter.unregister_ring_fd();
        // SAFETY: each is dropped once, and not used afterwards: the submitter has nothing to
        // drop. The ring goes first. The buffers go only if no operation is left that could
        // write to them; otherwise they stay allocated.
        unsafe {
            drop(Box::from_raw(self.uring.as_ptr()));
            if self.in_flight == 0 {
                ManuallyDrop::drop(&mut self.buffers);
            }
        }
    }
}
