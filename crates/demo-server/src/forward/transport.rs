use std::io;
use std::time::Duration;

use axum::http::{Method, Request, Response};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::time::Instant;
use tsdb::wire::remote_write::{SendError, Transport};

use super::answer::outcome;
use super::target::Target;

/// Time limit for connecting.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Time limit for a request with its answer.
const LIMIT: Duration = Duration::from_secs(30);
/// How much of an answer is read: its beginning tells the reason of a refusal.
const ANSWER_BYTES: usize = 4096;

/// Sends requests over HTTP, one after the other.
pub(super) struct Http {
    /// Only for this transport: the forwarder's thread waits here, also while the server's own runtime
    /// waits for that thread.
    runtime: Runtime,
    sender: Sender,
    /// Whether the last request failed.
    is_failing: bool,
}

struct Sender {
    client: HttpClient,
    target: Target,
    stopped: watch::Receiver<Option<Instant>>,
}

enum HttpClient {
    Plain(Client<HttpConnector, Full<Bytes>>),
    /// Separate, because it needs the system's certificates.
    Encrypted(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

impl Http {
    pub(super) fn new(
        target: Target,
        stopped: watch::Receiver<Option<Instant>>,
    ) -> io::Result<Self> {
        Ok(Self {
            runtime: Builder::new_current_thread().enable_all().build()?,
            sender: Sender {
                client: HttpClient::new(target.url.scheme_str() == Some("https"))?,
                target,
                stopped,
            },
            is_failing: false,
        })
    }

    /// Writes the first of consecutive failures to the log, and the first success after them.
    fn log(&mut self, sent: &Result<(), SendError>) {
        let was_failing = std::mem::replace(&mut self.is_failing, sent.is_err());
        match sent {
            Ok(()) if was_failing => tracing::info!("samples are forwarded again"),
            Err(SendError::Retry { reason, .. }) if !was_failing => {
                tracing::warn!(
                    to = self.sender.target.shown(),
                    reason,
                    "samples can't be forwarded now"
                );
            }
            Err(SendError::Rejected { reason, .. }) if !was_failing => {
                tracing::warn!(
                    to = self.sender.target.shown(),
                    reason,
                    "samples were rejected"
                );
            }
            _ => {}
        }
    }
}

impl Sender {
    async fn exchange(&mut self, body: &[u8]) -> Result<(), SendError> {
        let mut request = Request::new(Full::from(body.to_vec()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.url.clone();
        request.headers_mut().clone_from(&self.target.headers);
        let answer = async {
            let answer = self
                .client
                .request(request)
                .await
                .map_err(|failed| lost(&failed))?;
            let (head, body) = answer.into_parts();
            // Reading to the end lets the connection serve the next request.
            let body = Limited::new(body, ANSWER_BYTES).collect().await;
            let body = body.map(|body| body.to_bytes()).unwrap_or_default();
            outcome(head.status, &head.headers, &String::from_utf8_lossy(&body))
        };
        tokio::select! {
            answer = tokio::time::timeout(LIMIT, answer) => answer.unwrap_or_else(|_| {
                Err(retry(format!("no answer within {LIMIT:?}")))
            }),
            () = stop(&mut self.stopped) => Err(retry("the server stops".to_owned())),
        }
    }
}

impl Transport for Http {
    fn send(&mut self, body: &[u8]) -> Result<(), SendError> {
        let sent = self.runtime.block_on(self.sender.exchange(body));
        self.log(&sent);
        sent
    }
}

/// Ends when the time to stop has come.
async fn stop(stopped: &mut watch::Receiver<Option<Instant>>) {
    let at = stopped
        .wait_for(Option::is_some)
        .await
        .ok()
        .and_then(|at| *at);
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        // The server ends without a stop.
        None => std::future::pending().await,
    }
}

impl HttpClient {
    fn new(is_encrypted: bool) -> io::Result<Self> {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_LIMIT));
        connector.set_nodelay(true);
        connector.enforce_http(false);
        let client = Client::builder(TokioExecutor::new());
        if !is_encrypted {
            return Ok(Self::Plain(client.build(connector)));
        }
        let connector = HttpsConnectorBuilder::new()
            .with_native_roots()?
            .https_only()
            .enable_http1()
            .wrap_connector(connector);
        Ok(Self::Encrypted(client.build(connector)))
    }

    async fn request(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, hyper_util::client::legacy::Error> {
        match self {
            Self::Plain(client) => client.request(request).await,
            Self::Encrypted(client) => client.request(request).await,
        }
    }
}

fn retry(reason: String) -> SendError {
    SendError::Retry {
        reason,
        after: None,
    }
}

/// The connection failed or was lost.
fn lost(failed: &hyper_util::client::legacy::Error) -> SendError {
    let mut reason = failed.to_string();
    let mut source = std::error::Error::source(failed);
    while let Some(cause) = source {
        reason = format!("{reason}: {cause}");
        source = cause.source();
    }
    retry(reason)
}
