//! The floor: what a request costs if nothing is done but sending it and counting what comes.
//!
//! A fixed request, no parsing, no clock, no record. An answer's length is learnt from the first
//! one and every further answer is taken to be as long. No load generator can be cheaper by more
//! than its luck; `bench/side-by-side` compares with it.
//!
//! ```text
//! floor epoll|uring HOST:PORT CONNECTIONS SECONDS PIPELINE
//! floor paced HOST:PORT CONNECTIONS SECONDS RATE
//! floor serve HOST:PORT
//! ```
//!
//! `paced` is the floor of an open load: so many requests a second, evenly, with sleep in between.
//! `serve` is the other side: a server that is never the limit.
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]
#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod on_epoll;
mod on_uring;
mod serve;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What is to be done, alike for every reactor.
struct Job {
    streams: Vec<TcpStream>,
    /// The pipelined requests, sent as one.
    batch: &'static [u8],
    batch_answer_bytes: usize,
    time: Duration,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [what, address] = &arguments[..]
        && what == "serve"
    {
        return serve::serve(address);
    }
    let [reactor, address, connections, seconds, number] = &arguments[..] else {
        println!("usage: floor epoll|uring HOST:PORT CONNECTIONS SECONDS PIPELINE");
        println!("       floor paced HOST:PORT CONNECTIONS SECONDS RATE");
        println!("       floor serve HOST:PORT");
        std::process::exit(2);
    };
    let connections: usize = connections.parse().unwrap();
    let is_paced = reactor == "paced";
    let pipeline: usize = if is_paced { 1 } else { number.parse().unwrap() };
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let answer_bytes = learn_length(address, request.as_bytes());

    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    let connect = |_| {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_nonblocking(true).unwrap();
        stream
    };
    let job = Job {
        streams: (0..connections).map(connect).collect(),
        batch: request.repeat(pipeline).into_bytes().leak(),
        batch_answer_bytes: answer_bytes * pipeline,
        time: Duration::from_secs(seconds.parse().unwrap()),
    };
    let begun = Instant::now();
    let batches = match reactor.as_str() {
        "epoll" => on_epoll::work(job),
        "uring" => on_uring::work(&job),
        "paced" => on_epoll::work_paced(job, number.parse().unwrap()),
        other => panic!("epoll, uring or paced, not {other}"),
    };
    let requests = batches * pipeline;
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
