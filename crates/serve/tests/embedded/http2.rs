//! A client of HTTP/2 for tests: the h2 crate, and a limit on everything it waits for.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use h2::client::SendRequest;
use hyper::{HeaderMap, Request, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite};

const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a client to its end.
pub(crate) fn block_on<T>(client: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, client).await }).expect("in time")
}

/// A connection in clear text.
pub(crate) async fn connect(address: SocketAddr) -> SendRequest<Bytes> {
    over(tokio::net::TcpStream::connect(address).await.unwrap()).await
}

/// A connection over any stream.
pub(crate) async fn over<S>(stream: S) -> SendRequest<Bytes>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    client
}

/// A response as it came.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Result<Vec<u8>, h2::Error>,
    pub(crate) trailers: Option<HeaderMap>,
    /// Whether the header was all of it.
    pub(crate) headers_only: bool,
}

/// Sends a request with these pieces of a body, and reads the response.
pub(crate) async fn ask(
    client: &SendRequest<Bytes>,
    request: Request<()>,
    pieces: &[Bytes],
) -> Reply {
    let mut client = client.clone().ready().await.unwrap();
    let (response, mut sender) = client.send_request(request, pieces.is_empty()).unwrap();
    for (index, piece) in pieces.iter().enumerate() {
        sender.send_data(piece.clone(), index + 1 == pieces.len()).unwrap();
    }
    let (head, mut body) = response.await.unwrap().into_parts();
    let headers_only = body.is_end_stream();
    let mut read = BytesMut::new();
    let mut outcome = Ok(());
    while let Some(data) = body.data().await {
        match data {
            Ok(data) => {
                body.flow_control().release_capacity(data.len()).unwrap();
                read.extend_from_slice(&data);
            }
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    let trailers = if outcome.is_ok() { body.trailers().await.unwrap() } else { None };
    let body = outcome.map(|()| read.to_vec());
    Reply { status: head.status, headers: head.headers, body, trailers, headers_only }
}

/// A request without a body.
pub(crate) fn get(path: &str) -> Request<()> {
    Request::builder().uri(format!("http://test{path}")).body(()).unwrap()
}
