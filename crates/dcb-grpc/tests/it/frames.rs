//! Connections that frame their messages wrongly, or don't speak at all. The server goes on.

use std::convert::Infallible;
use std::time::Duration;

use dcb_grpc::proto::HeadRequest;
use futures_util::stream;
use http::Request;
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody};
use prost::Message as _;
use prost::bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Service as _, ServiceExt as _};

use crate::support::{Log, Served, append, event};

/// A wait that only a broken server exceeds.
const LONG: Duration = Duration::from_secs(60);

/// An append with this body.
fn post<B>(served: &Served, body: B) -> Request<Body>
where
    B: http_body::Body<Data = Bytes, Error = Infallible> + Send + 'static,
{
    Request::post(format!("http://{}/umadb.v1.DCB/Append", served.address))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Body::new(body))
        .unwrap()
}

/// Sends these bytes as the body of an append.
async fn append_body(served: &Served, body: Vec<u8>) -> Result<(), Status> {
    let request = post(served, Full::new(Bytes::from(body)));
    let mut channel = served.endpoint().connect().await.unwrap();
    let answer = channel.ready().await.unwrap().call(request).await.unwrap();
    let in_headers = Status::from_header_map(answer.headers());
    let trailers = answer.into_body().collect().await.unwrap();
    let trailers = trailers.trailers().cloned().unwrap_or_default();
    let status = in_headers.or_else(|| Status::from_header_map(&trailers));
    match status.unwrap() {
        status if status.code() == Code::Ok => Ok(()),
        status => Err(status),
    }
}

/// A message behind its flag for compression and its length.
fn framed(flag: u8, length: u32, message: &[u8]) -> Vec<u8> {
    let mut frame = vec![flag];
    frame.extend(length.to_be_bytes());
    frame.extend(message);
    frame
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_frames_are_refused() {
    let served = Served::new(Log::memory().await).await;
    let message = append(event("Made", &[])).encode_to_vec();
    let length = u32::try_from(message.len()).unwrap();
    for (case, body, code) in [
        ("no message", vec![], Code::Internal),
        ("half a header", vec![0; 3], Code::Internal),
        (
            "half a message",
            framed(0, 2 * length, &message),
            Code::Internal,
        ),
        (
            "a flag that is not one",
            framed(7, length, &message),
            Code::Internal,
        ),
        (
            "compressed, unannounced",
            framed(1, length, &message),
            Code::Internal,
        ),
        (
            "the greatest length",
            framed(0, u32::MAX, &message),
            Code::OutOfRange,
        ),
    ] {
        let status = append_body(&served, body).await.unwrap_err();
        assert_eq!(status.code(), code, "{case}: {status:?}");
        assert!(status.details().is_empty(), "{case}: {status:?}");
    }
    append_body(&served, framed(0, length, &message))
        .await
        .unwrap();
    let head = served.client().await.head(HeadRequest {}).await.unwrap();
    assert_eq!(head.into_inner().position, Some(1));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn key_is_checked_before_the_message() {
    let log = Log::memory().await;
    let served = Served::with(log, |server| server.key("secret")).await;
    let never = stream::pending::<Result<Frame<Bytes>, Infallible>>();
    let request = post(&served, StreamBody::new(never));
    let mut channel = served.endpoint().connect().await.unwrap();
    let call = channel.ready().await.unwrap().call(request);
    let answer = timeout(LONG, call).await;
    let answer = answer.expect("the server waits for the message").unwrap();
    let status = Status::from_header_map(answer.headers()).unwrap();
    assert_eq!(status.code(), Code::Unauthenticated, "{status:?}");
    drop(channel);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_protocols_are_closed() {
    let served = Served::new(Log::memory().await).await;
    for bytes in [
        &b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"[..],
        &[0xff; 64],
    ] {
        let mut connection = TcpStream::connect(served.address).await.unwrap();
        connection.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        // It may be reset, which is as good as closed.
        let _ = timeout(LONG, connection.read_to_end(&mut answer))
            .await
            .unwrap();
    }
    served.client().await.head(HeadRequest {}).await.unwrap();
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_are_asked_and_closed() {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const EMPTY_SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const PING: u8 = 6;
    let served = Served::new(Log::memory().await).await;
    let mut connection = TcpStream::connect(served.address).await.unwrap();
    connection.write_all(PREFACE).await.unwrap();
    connection.write_all(&EMPTY_SETTINGS).await.unwrap();
    let mut sent = Vec::new();
    let closed = timeout(LONG, connection.read_to_end(&mut sent)).await;
    assert!(closed.is_ok(), "the connection is still open");
    // Each frame begins with 3 bytes of its length, one of its type, and 5 more.
    let (mut pings, mut rest) = (0, &sent[..]);
    while let [high, middle, low, kind, ..] = *rest {
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        pings += usize::from(kind == PING);
        rest = &rest[(9 + length).min(rest.len())..];
    }
    assert_eq!(pings, 1);
    served.stop().await;
}
