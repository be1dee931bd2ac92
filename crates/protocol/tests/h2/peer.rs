//! The session against another implementation: the `h2` crate as server, over a pipe in memory.

use std::future::poll_fn;
use std::io::IoSlice;
use std::num::NonZeroU16;
use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use candor_plan::BodyExpect;
use candor_protocol::h2::{Prepared, Session, Settings, prepare};
use candor_protocol::{Event, Failure, Outgoing, Session as _};
use h2::server::{Builder, SendResponse};
use http::{HeaderMap, Response};
use proptest::prelude::*;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

use crate::support::*;

/// One request, and what the server is told by it to answer.
#[derive(Debug, Clone)]
struct Exchange {
    upload_bytes: usize,
    answer_bytes: usize,
    status: u16,
    interim: bool,
    trailers: bool,
    /// The server resets the stream instead.
    reset: bool,
    /// How many times the server lets others go first.
    delay: usize,
    /// Fields that make the header block long.
    padding: usize,
}

fn exchange() -> impl Strategy<Value = Exchange> {
    let bytes = || prop_oneof![Just(0usize), 1usize..100, 16_000usize..17_000, Just(150_000)];
    let rest = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.1), 0usize..4, 0usize..3000);
    (bytes(), bytes(), prop_oneof![Just(200u16), Just(404), Just(204)], rest).prop_map(
        |(upload_bytes, answer_bytes, status, (interim, trailers, reset, delay, padding))| {
            let answer_bytes = if status == 204 { 0 } else { answer_bytes };
            let trailers = trailers && status != 204;
            Exchange {
                upload_bytes,
                answer_bytes,
                status,
                interim,
                trailers,
                reset,
                delay,
                padding,
            }
        },
    )
}

fn body(bytes: usize, salt: usize) -> Vec<u8> {
    (0..bytes).map(|n| (n * 31 + salt) as u8).collect()
}

/// The request that asks for exchange `index`, and expects its answer.
fn request(index: usize, exchange: &Exchange) -> Prepared {
    let (index_text, length) = (index.to_string(), exchange.padding);
    let headers = [("X-Exchange", index_text.as_str()), ("X-Padding", &"p".repeat(length))];
    let mut request = plan_request("POST", &headers, &body(exchange.upload_bytes, index));
    request.expect.body = BodyExpect::Exact(body(exchange.answer_bytes, index + 1).into());
    prepare(&request, "http", "example")
}

#[derive(Debug, Clone, Copy)]
struct Server {
    window: u32,
    max_streams: u32,
    frame_bytes: u32,
}

async fn serve(pipe: DuplexStream, server: Server, exchanges: Vec<Exchange>) {
    let mut builder = Builder::new();
    builder
        .initial_window_size(server.window)
        .initial_connection_window_size(server.window.max(65_535))
        .max_concurrent_streams(server.max_streams)
        .max_frame_size(server.frame_bytes);
    let mut connection = builder.handshake::<_, Bytes>(pipe).await.unwrap();
    while let Some(accepted) = connection.accept().await {
        let Ok((request, respond)) = accepted else { return };
        let index: usize = request.headers()["x-exchange"].to_str().unwrap().parse().unwrap();
        let exchange = exchanges[index].clone();
        tokio::spawn(answer(request, respond, index, exchange));
    }
}

/// Reads the request, which must be what was sent, and answers as it asks.
async fn answer(
    request: http::Request<h2::RecvStream>,
    mut respond: SendResponse<Bytes>,
    index: usize,
    exchange: Exchange,
) {
    let (head, mut upload) = request.into_parts();
    assert_eq!(head.uri, "http://example/");
    assert_eq!(head.headers["x-padding"].len(), exchange.padding);
    assert_eq!(head.headers["content-length"], exchange.upload_bytes.to_string());
    let mut got = Vec::new();
    while let Some(part) = upload.data().await {
        let part = part.unwrap();
        got.extend_from_slice(&part);
        upload.flow_control().release_capacity(part.len()).unwrap();
    }
    assert_eq!(got, body(exchange.upload_bytes, index));
    for _ in 0..exchange.delay {
        tokio::task::yield_now().await;
    }
    if exchange.reset {
        return respond.send_reset(h2::Reason::INTERNAL_ERROR);
    }
    if exchange.interim {
        let early = Response::builder().status(103).header("link", "</style>").body(()).unwrap();
        respond.send_informational(early).unwrap();
    }
    let mut response = Response::builder().status(exchange.status).header("server", "h2");
    response = response.header("x-index", index % 3);
    let whole = exchange.answer_bytes == 0 && !exchange.trailers;
    let mut stream = respond.send_response(response.body(()).unwrap(), whole).unwrap();
    if whole {
        return;
    }
    let content = body(exchange.answer_bytes, index + 1);
    stream.send_data(content.into(), !exchange.trailers).unwrap();
    if exchange.trailers {
        let mut trailers = HeaderMap::new();
        trailers.insert("x-sum", "1".parse().unwrap());
        stream.send_trailers(trailers).unwrap();
    }
}

enum Moved {
    Wrote(usize),
    Read(usize),
}

/// Writes what there is to write, or reads, whichever is possible.
async fn move_bytes(pipe: &mut DuplexStream, pending: &[u8], buffer: &mut [u8]) -> Moved {
    poll_fn(|context| {
        if !pending.is_empty()
            && let Poll::Ready(wrote) = Pin::new(&mut *pipe).poll_write(context, pending)
        {
            return Poll::Ready(Moved::Wrote(wrote.unwrap()));
        }
        let mut buffer = ReadBuf::new(buffer);
        let read = Pin::new(&mut *pipe).poll_read(context, &mut buffer);
        read.map(|read| {
            read.unwrap();
            Moved::Read(buffer.filled().len())
        })
    })
    .await
}

/// Drives a session until every request has its outcome. Reads and writes pieces of at most
/// `piece` bytes.
async fn drive(
    mut pipe: DuplexStream,
    session: &mut Session,
    count: u32,
    piece: usize,
) -> Vec<Event> {
    let (mut next, mut outcomes) = (0, Vec::new());
    let mut most_open = 0;
    while outcomes.len() < count as usize {
        while next < count && session.free_places() > 0 {
            session.handle_request(next, Outgoing::Listed(next));
            next += 1;
        }
        most_open = most_open.max(session.outstanding());
        let mut slices = [IoSlice::new(&[]); 1];
        let pending = match session.poll_transmit(0, &mut slices).slices {
            0 => Vec::new(),
            _ => slices[0][..slices[0].len().min(piece)].to_vec(),
        };
        let mut buffer = vec![0; piece];
        let read = match move_bytes(&mut pipe, &pending, &mut buffer).await {
            Moved::Wrote(bytes) => {
                session.handle_transmitted(0, bytes, &mut |_| {});
                continue;
            }
            Moved::Read(bytes) => bytes,
        };
        assert!(read > 0, "the server closed the connection; so far {outcomes:?}");
        for event in feed(session, &buffer[..read]) {
            match event {
                Event::Done(_) | Event::RequestFailed { .. } => outcomes.push(event),
                Event::FirstByte(_) | Event::Ready(_) | Event::Changed => {}
                other => panic!("{other:?}"),
            }
        }
    }
    outcomes
}

fn check(exchanges: &[Exchange], outcomes: Vec<Event>) {
    for outcome in outcomes {
        match outcome {
            Event::Done(answer) => {
                let exchange = &exchanges[answer.id as usize];
                assert!(!exchange.reset);
                assert_eq!(answer.status, NonZeroU16::new(exchange.status));
                assert_eq!(answer.body_bytes, exchange.answer_bytes as u64);
                assert_eq!(answer.expected, Ok(()));
            }
            Event::RequestFailed { id, failure } => {
                assert!(exchanges[id as usize].reset);
                assert_eq!(failure, Failure::StreamReset(2));
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn another_implementations_server_understands_and_is_understood(
        exchanges in proptest::collection::vec(exchange(), 1..30),
        streams in 1u32..12,
        max_streams in 1u32..12,
        window in prop_oneof![Just(65_535u32), 100u32..1000, Just(1 << 20)],
        frame_bytes in prop_oneof![Just(16_384u32), Just(1 << 20)],
        bits in prop_oneof![Just(16u8), 10u8..31],
        piece in prop_oneof![Just(65_536usize), 20usize..5000],
    ) {
        let settings = Settings { streams, stream_window_bits: bits, ..Settings::default() };
        let requests: Vec<Prepared> =
            exchanges.iter().enumerate().map(|(index, one)| request(index, one)).collect();
        let server = Server { window, max_streams, frame_bytes };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let outcomes = runtime.block_on(async {
            let (ours, theirs) = tokio::io::duplex(64 << 10);
            let serving = tokio::spawn(serve(theirs, server, exchanges.clone()));
            let mut session = Session::new(requests.into(), settings);
            let driving = drive(ours, &mut session, exchanges.len() as u32, piece);
            let limit = std::time::Duration::from_secs(20);
            let outcomes = tokio::time::timeout(limit, driving).await.expect("it hangs");
            serving.abort();
            outcomes
        });
        check(&exchanges, outcomes);
    }
}
