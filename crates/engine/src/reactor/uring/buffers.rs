//! The provided buffers: memory that the kernel receives into, and the ring by which it gets them.
//!
//! A buffer belongs to the kernel from [`Buffers::give`] until a completion names it, and to the
//! reactor from then until it is given again. The kernel takes them in the order in which they
//! were given.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;

/// The kernel wants the ring to begin at a page.
const PAGE_BYTES: usize = 4096;
/// So many buffers are in use at first. The kernel takes them in turn, so that all of them pass through the processor's
/// caches, however few are filled at a time.
const FIRST: u16 = 64;
/// Lies between two buffers. Without it all of them would begin in the same few sets of the caches.
const GAP_BYTES: usize = 3 * LINE_BYTES;
/// A line of the caches. Buffers begin at one.
const LINE_BYTES: usize = 64;

/// How many buffers a ring has, and how large they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// A power of two, from 1 to 32768.
    pub count: u16,
    /// Bytes in each; at least 1.
    pub bytes: u32,
}

/// The memory of a buffer ring. Pages that were never received into cost nothing.
#[derive(Debug)]
pub(super) struct Buffers {
    shape: Shape,
    ring: NonNull<BufRingEntry>,
    memory: NonNull<u8>,
    /// What has been given, ever, modulo 2^16: the ring's tail.
    tail: u16,
    /// The buffers from here on were never given.
    in_use: u16,
}

// SAFETY: the two pointers are to memory that nothing else in this process points to, and neither
// the allocator nor the kernel minds which thread uses it.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Memory for a ring, the first buffers of it given to the kernel-to-be.
    pub(super) fn new(shape: Shape) -> Self {
        assert!(shape.count.is_power_of_two() && shape.count <= 1 << 15 && shape.bytes > 0);
        let (ring_layout, memory_layout) = layouts(shape);
        // SAFETY: neither layout is of size zero, by the assertion.
        let (ring, memory) = unsafe { (alloc_zeroed(ring_layout), alloc_zeroed(memory_layout)) };
        let Some(ring) = NonNull::new(ring.cast()) else { handle_alloc_error(ring_layout) };
        let Some(memory) = NonNull::new(memory) else { handle_alloc_error(memory_layout) };
        let mut buffers = Buffers { shape, ring, memory, tail: 0, in_use: 0 };
        buffers.use_up_to(FIRST);
        buffers
    }

    /// Doubles how many are in use, up to all of them.
    #[cold]
    pub(super) fn double(&mut self) {
        self.use_up_to(self.in_use.saturating_mul(2));
    }

    fn use_up_to(&mut self, count: u16) {
        let count = count.min(self.shape.count);
        (self.in_use..count).for_each(|buffer| self.give(buffer));
        self.in_use = count;
    }

    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    /// Where the ring is, for its registration.
    pub(super) fn ring_address(&self) -> u64 {
        self.ring.as_ptr() as u64
    }

    fn start(&self, buffer: u16) -> *mut u8 {
        assert!(buffer < self.shape.count, "the kernel names buffers of this ring only");
        let offset = usize::from(buffer) * stride(self.shape);
        let memory = self.memory.as_ptr();
        // SAFETY: the memory is of `count` strides and what the first one begins at, and `buffer` is below `count`.
        unsafe { memory.add(memory.align_offset(LINE_BYTES) + offset) }
    }

    /// The first `length` bytes of a buffer that the kernel has filled and that was not given
    /// again since.
    #[inline]
    pub(super) fn bytes(&self, buffer: u16, length: u32) -> &[u8] {
        assert!(length <= self.shape.bytes, "the kernel fills no more than a buffer");
        // SAFETY: the range is within the buffer, whose bytes are initialised since its
        // allocation. The kernel wrote them before it published the completion and does not
        // write again until the buffer is given, which needs `&mut self`.
        unsafe { std::slice::from_raw_parts(self.start(buffer), length as usize) }
    }

    /// Gives a buffer to the kernel. It must not be the kernel's already.
    #[inline]
    pub(super) fn give(&mut self, buffer: u16) {
        let address = self.start(buffer) as u64;
        let index = usize::from(self.tail & (self.shape.count - 1));
        // SAFETY: `index` is below `count`, the length of the ring. The kernel reads entries
        // between its head and the tail only, and this one is beyond the tail: each buffer is
        // given once at a time, so that there are never more than `count` between the two.
        // The entry is written field by field, because the tail lies within the first one.
        unsafe {
            let entry = &mut *self.ring.as_ptr().add(index);
            entry.set_addr(address);
            entry.set_len(self.shape.bytes);
            entry.set_bid(buffer);
        }
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail's place is within the ring's first entry, aligned for a u16, and
        // lives as long as `self`. The kernel only reads it.
        let tail =
            unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.ring.as_ptr()).cast_mut()) };
        // Release: a reader that sees the new tail sees the entry before it.
        tail.store(self.tail, Ordering::Release);
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        let (ring_layout, memory_layout) = layouts(self.shape);
        // SAFETY: both were allocated in `new` with these layouts, and nothing points to them
        // any more: the owner drops this only when no receive is in flight.
        unsafe {
            dealloc(self.ring.as_ptr().cast(), ring_layout);
            dealloc(self.memory.as_ptr(), memory_layout);
        }
    }
}

/// From the beginning of a buffer to that of the next.
fn stride(shape: Shape) -> usize {
    shape.bytes as usize + GAP_BYTES
}

fn layouts(shape: Shape) -> (Layout, Layout) {
    let count = usize::from(shape.count);
    let layout =
        |bytes: usize, align| Layout::from_size_align(bytes, align).expect("at most 128 TiB");
    // An allocator clears what is aligned to more, and all of it is in memory then.
    let memory = layout(LINE_BYTES + count * stride(shape), align_of::<u128>());
    (layout(count * size_of::<BufRingEntry>(), PAGE_BYTES), memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_counts_on_and_wraps() {
        let mut buffers = Buffers::new(Shape { count: 4, bytes: 16 });
        assert_eq!(buffers.tail, 4);
        for turn in 0..70_000u32 {
            buffers.give((turn % 4) as u16);
        }
        assert_eq!(buffers.tail, (70_004 % 65_536) as u16);
        // SAFETY: the place of the tail lives as long as the buffers.
        let seen = unsafe { *BufRingEntry::tail(buffers.ring.as_ptr()) };
        assert_eq!(seen, buffers.tail);
        assert_eq!(buffers.bytes(3, 16), [0; 16]);
    }
}
