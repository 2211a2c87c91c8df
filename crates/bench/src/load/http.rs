//! Requests over HTTP/1.1, with one open connection per caller.

use super::caller::{Caller, Service};
use crate::error::BoxError;
use crate::op::Outcome;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use std::any::Any;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;
use tokio::net::TcpStream;

/// The time limit of an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// An answer, read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its body.
    pub body: Bytes,
}

/// The type of a request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    media_type: &'static str,
    encoding: Option<&'static str>,
}

impl Content {
    /// JSON.
    pub const JSON: Self = Self {
        media_type: "application/json",
        encoding: None,
    };
    /// Prometheus' remote write.
    pub const REMOTE_WRITE: Self = Self {
        media_type: "application/x-protobuf",
        encoding: Some("snappy"),
    };
}

type Judge = Box<dyn Fn(&Answer) -> Result<Outcome, BoxError> + Send + Sync>;

/// A request, and the check of its answer.
pub struct Exchange {
    method: Method,
    path: String,
    content: Content,
    body: Bytes,
    pause: Duration,
    judge: Judge,
}

impl Exchange {
    /// A request without a body.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path.into(), Bytes::new())
    }

    /// A request with a body: JSON, unless [`content`](Self::content) sets another type.
    pub fn post(path: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self::new(Method::POST, path.into(), body.into())
    }

    fn new(method: Method, path: String, body: Bytes) -> Self {
        Self {
            method,
            path,
            content: Content::JSON,
            body,
            pause: Duration::ZERO,
            judge: Box::new(|_| Ok(Outcome::Success)),
        }
    }

    /// Sets the type of the body.
    #[must_use]
    pub fn content(self, content: Content) -> Self {
        Self { content, ..self }
    }

    /// Sets the pause of the user after the answer.
    #[must_use]
    pub fn pause(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }

    /// Sets the check of answers with status 200. With any other status the call fails without the
    /// check.
    #[must_use]
    pub fn judge(
        self,
        judge: impl Fn(&Answer) -> Result<Outcome, BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            judge: Box::new(judge),
            ..self
        }
    }
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

type Connection = http1::Connection<TokioIo<TcpStream>, Full<Bytes>>;

/// An open connection. The task that sends a request also drives the connection, so that an answer
/// wakes one task instead of two.
pub struct HttpConnection {
    host: String,
    sender: SendRequest<Full<Bytes>>,
    connection: Pin<Box<Connection>>,
    /// True if the server announced that it closes the connection.
    is_closing: bool,
}

impl HttpConnection {
    /// Connects.
    ///
    /// # Errors
    /// The errors of the socket.
    pub async fn open(address: SocketAddr) -> Result<Self, BoxError> {
        let stream = TcpStream::connect(address).await?;
        // Otherwise Nagle's algorithm would delay requests by up to 40 ms.
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        Ok(Self {
            host: address.to_string(),
            sender,
            connection: Box::pin(connection),
            is_closing: false,
        })
    }

    /// Sends a request and reads the answer to its end.
    ///
    /// # Errors
    /// The errors of the connection. After an error the connection is unusable.
    pub async fn ask(&mut self, exchange: &Exchange) -> Result<Answer, BoxError> {
        let mut request = Request::builder()
            .method(&exchange.method)
            .uri(&exchange.path)
            .header(HOST, &self.host);
        if exchange.method == Method::POST {
            request = request.header(CONTENT_TYPE, exchange.content.media_type);
            if let Some(encoding) = exchange.content.encoding {
                request = request.header(CONTENT_ENCODING, encoding);
            }
        }
        let request = request.body(Full::new(exchange.body.clone()))?;
        let connection = &mut self.connection;
        driven(connection, self.sender.ready()).await??;
        let response = driven(connection, self.sender.send_request(request)).await??;
        let (head, body) = response.into_parts();
        self.is_closing = head
            .headers
            .get(CONNECTION)
            .is_some_and(|value| value == "close");
        Ok(Answer {
            status: head.status,
            body: driven(connection, body.collect()).await??.to_bytes(),
        })
    }
}

impl std::fmt::Debug for HttpConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpConnection")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

/// Waits for a future that depends on the connection, and drives the connection in the meantime.
async fn driven<T>(
    connection: &mut Pin<Box<Connection>>,
    wanted: impl Future<Output = T>,
) -> Result<T, BoxError> {
    let mut wanted = pin!(wanted);
    poll_fn(|cx| {
        if let Poll::Ready(done) = wanted.as_mut().poll(cx) {
            return Poll::Ready(Ok(done));
        }
        let ended = connection.as_mut().poll(cx);
        // The connection may just have read the bytes that `wanted` waits for, so poll `wanted`
        // again.
        match (wanted.as_mut().poll(cx), ended) {
            (Poll::Ready(done), _) => Poll::Ready(Ok(done)),
            (Poll::Pending, Poll::Ready(Err(error))) => Poll::Ready(Err(error.into())),
            (Poll::Pending, Poll::Ready(Ok(()))) => {
                Poll::Ready(Err("the server closed the connection".into()))
            }
            (Poll::Pending, Poll::Pending) => Poll::Pending,
        }
    })
    .await
}

/// Makes the requests of one caller, one after the other.
pub type Exchanges = Box<dyn FnMut() -> Exchange + Send>;

/// A server, with one connection per caller.
pub struct HttpService {
    address: SocketAddr,
    exchanges: Box<dyn Fn(usize) -> Exchanges + Send + Sync>,
    _kept: Box<dyn Any + Send + Sync>,
}

impl HttpService {
    /// The server at this address. `exchanges` gets the number of a caller. `kept`, such as the
    /// server itself, is dropped with the service.
    pub fn new(
        address: SocketAddr,
        exchanges: impl Fn(usize) -> Exchanges + Send + Sync + 'static,
        kept: impl Any + Send + Sync,
    ) -> Self {
        Self {
            address,
            exchanges: Box::new(exchanges),
            _kept: Box::new(kept),
        }
    }
}

impl std::fmt::Debug for HttpService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpService")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Service for HttpService {
    type Caller = HttpCaller;

    async fn caller(&self, number: usize) -> Result<HttpCaller, BoxError> {
        Ok(HttpCaller {
            address: self.address,
            connection: Some(HttpConnection::open(self.address).await?),
            exchanges: (self.exchanges)(number),
        })
    }
}

/// A caller of an [`HttpService`].
pub struct HttpCaller {
    address: SocketAddr,
    /// `None` after it failed or the server closed it.
    connection: Option<HttpConnection>,
    exchanges: Exchanges,
}

impl Caller for HttpCaller {
    type Asked = Exchange;
    type Answer = Answer;

    fn next(&mut self) -> Exchange {
        (self.exchanges)()
    }

    fn pause(&self, asked: &Exchange) -> Duration {
        asked.pause
    }

    async fn call(&mut self, asked: &mut Exchange) -> Result<Answer, BoxError> {
        // Taken out, so that a failed or timed-out call leaves no half-used connection behind.
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => HttpConnection::open(self.address).await?,
        };
        let answer = tokio::time::timeout(ANSWER_LIMIT, connection.ask(asked)).await??;
        self.connection = (!connection.is_closing).then_some(connection);
        Ok(answer)
    }

    fn judge(&self, asked: &Exchange, answer: Answer) -> Result<Outcome, BoxError> {
        if answer.status != StatusCode::OK {
            let body = String::from_utf8_lossy(&answer.body);
            // The whole page of an error would flood the report.
            let body: String = body.chars().take(200).collect();
            return Err(format!("{} answered {}: {body}", asked.path, answer.status).into());
        }
        (asked.judge)(&answer)
    }
}
