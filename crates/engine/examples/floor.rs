//! The floor: what a request costs if nothing is done but sending it and counting what comes.
//!
//! A fixed request, no parsing, no clock, no record; epoll, edge-triggered, registered once. An
//! answer's length is learnt from the first one and every further answer is taken to be as long.
//! No load generator can be cheaper by more than its luck; `bench/side-by-side` compares with it.
//!
//! ```text
//! floor epoll HOST:PORT CONNECTIONS SECONDS PIPELINE
//! ```
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [reactor, address, connections, seconds, pipeline] = &arguments[..] else {
        println!("usage: floor epoll HOST:PORT CONNECTIONS SECONDS PIPELINE");
        std::process::exit(2);
    };
    assert_eq!(reactor, "epoll", "the floor is measured with epoll");
    let connections: usize = connections.parse().unwrap();
    let seconds = Duration::from_secs(seconds.parse().unwrap());
    let pipeline: usize = pipeline.parse().unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let answer_bytes = learn_length(address, request.as_bytes());
    let batch = request.repeat(pipeline).into_bytes();

    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    let poll = epoll::create(CreateFlags::CLOEXEC).unwrap();
    let mut streams = Vec::new();
    for index in 0..connections {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_nonblocking(true).unwrap();
        let interest = EventFlags::IN | EventFlags::ET;
        epoll::add(&poll, &stream, EventData::new_u64(index as u64), interest).unwrap();
        streams.push((stream, 0usize));
    }
    let begun = Instant::now();
    for (stream, _) in &mut streams {
        stream.write_all(&batch).unwrap();
    }
    let mut events = Vec::with_capacity(512);
    let mut buffer = vec![0; 128 * 1024];
    let mut requests = 0usize;
    while begun.elapsed() < seconds {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None).unwrap();
        for event in &events {
            let (stream, got) = &mut streams[event.data.u64() as usize];
            let Ok(n) = stream.read(&mut buffer) else { continue };
            *got += n;
            if *got >= answer_bytes * pipeline {
                *got -= answer_bytes * pipeline;
                requests += pipeline;
                stream.write_all(&batch).unwrap();
            }
        }
    }
    let rate = requests as f64 / begun.elapsed().as_secs_f64();
    println!("requests={requests} rate={rate:.1}");
}

/// Length of one answer, head and body.
fn learn_length(address: &str, request: &[u8]) -> usize {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut buffer = vec![0; 1 << 20];
    let mut got = 0;
    while let Ok(n) = stream.read(&mut buffer[got..])
        && n > 0
    {
        got += n;
    }
    got
}
