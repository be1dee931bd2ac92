//! The floor on epoll: edge-triggered, registered once, a read and a write per batch.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use candor_engine::reactor::epoll_wait::Waiter;
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

/// The same with `rate` requests a second, on whichever connection is free, asleep until the next
/// answer or due time. How many were answered.
pub(crate) fn work_paced(job: Job, rate: f64) -> usize {
    let Job { mut streams, batch, batch_answer_bytes, time } = job;
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).unwrap();
    let poll = epoll::create(CreateFlags::CLOEXEC).unwrap();
    let waiter = Waiter::new(&poll).unwrap();
    for (index, stream) in streams.iter().enumerate() {
        let interest = EventFlags::IN | EventFlags::ET;
        epoll::add(&poll, stream, EventData::new_u64(index as u64), interest).unwrap();
    }
    let mut free: VecDeque<usize> = (0..streams.len()).collect();
    let mut got = vec![0usize; streams.len()];
    let mut events = Vec::with_capacity(512);
    let mut buffer = vec![0; 128 * 1024];
    let (mut sent, mut answered) = (0u32, 0);
    let begun = Instant::now();
    loop {
        let now = begun.elapsed();
        if now >= time {
            return answered;
        }
        let due = |number: u32| Duration::from_secs_f64(f64::from(number) / rate);
        while due(sent) <= now
            && let Some(index) = free.pop_front()
        {
            streams[index].write_all(batch).unwrap();
            sent += 1;
        }
        let wait = if free.is_empty() { time - now } else { due(sent).saturating_sub(now) };
        events.clear();
        waiter.wait(&poll, &mut events, wait.as_nanos() as u64).unwrap();
        for event in &events {
            let index = event.data.u64() as usize;
            let Ok(n) = streams[index].read(&mut buffer) else { continue };
            got[index] += n;
            if got[index] >= batch_answer_bytes {
                got[index] -= batch_answer_bytes;
                answered += 1;
                free.push_back(index);
            }
        }
    }
}
