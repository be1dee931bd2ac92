//! The floor on epoll: edge-triggered, registered once, a read and a write per batch.

use std::io::{Read, Write};
use std::time::Instant;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use crate::Job;

/// Works until time is over; how many batches were answered.
pub(crate) fn work(job: Job) -> usize {
    let Job { streams, batch, batch_answer_bytes, time } = job;
    let poll = epoll::create(CreateFlags::CLOEXEC).unwrap();
    let mut streams: Vec<_> = streams.into_iter().map(|stream| (stream, 0usize)).collect();
    for (index, (stream, _)) in streams.iter_mut().enumerate() {
        let interest = EventFlags::IN | EventFlags::ET;
        epoll::add(&poll, &*stream, EventData::new_u64(index as u64), interest).unwrap();
        stream.write_all(batch).unwrap();
    }
    let begun = Instant::now();
    let mut events = Vec::with_capacity(512);
    let mut buffer = vec![0; 128 * 1024];
    let mut batches = 0;
    while begun.elapsed() < time {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None).unwrap();
        for event in &events {
            let (stream, got) = &mut streams[event.data.u64() as usize];
            let Ok(n) = stream.read(&mut buffer) else { continue };
            *got += n;
            if *got >= batch_answer_bytes {
                *got -= batch_answer_bytes;
                batches += 1;
                stream.write_all(batch).unwrap();
            }
        }
    }
    batches
}
