//! A server in this process, and a client that checks every response against the OpenAPI document.

pub(crate) mod program;
pub(crate) mod prometheus;
pub(crate) mod rpc;
pub(crate) mod sql;

use axum::http::request::Builder;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use bytes::Bytes;
use demo_server::{Server, Settings};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// A server on a free port and a client for it. [`Client::stop`] shuts the server down.
pub(crate) struct Client {
    server: Server,
    http: hyper_util::client::legacy::Client<HttpConnector, Full<Bytes>>,
    document: Value,
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|failed| panic!("{failed}: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The JSON body of a 200.
    #[track_caller]
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text());
        self.json()
    }
}

impl Client {
    /// Starts a server in memory, in test mode.
    pub(crate) async fn start() -> Self {
        Self::with(Settings::in_memory()).await
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        Self::with_token(settings, "").await
    }

    /// Starts a server with these settings. The client uses the token for the OpenAPI document, if
    /// the settings require one.
    pub(crate) async fn with_token(settings: Settings, token: &str) -> Self {
        let server = Server::start(settings).await.expect("the server starts");
        let http = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build_http();
        let mut client = Self {
            document: Value::Null,
            server,
            http,
        };
        let document = client.request(Method::GET, &format!("/openapi.json?token={token}"));
        let document = client.exchange(document.body(Full::default())).await;
        client.document = document.ok();
        client
    }

    /// The address of gRPC, if the settings ask for it.
    pub(crate) fn grpc_address(&self) -> Option<std::net::SocketAddr> {
        self.server.grpc_address()
    }

    /// The text that the server prints after its start.
    pub(crate) fn greeting(&self) -> String {
        self.server.greeting()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.address())
    }

    /// The head of a request for [`Client::send`] or [`Client::open`].
    pub(crate) fn request(&self, method: Method, path: &str) -> Builder {
        Request::builder().method(method).uri(self.url(path))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path), "").await
    }

    /// Posts JSON.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        let request = self.request(Method::POST, path);
        let request = request.header(header::CONTENT_TYPE, "application/json");
        self.send(request, body.to_string()).await
    }

    /// Posts bytes.
    pub(crate) async fn post_bytes(&self, path: &str, body: impl Into<Bytes>) -> Answer {
        self.send(self.request(Method::POST, path), body).await
    }

    /// Sends a request, and checks that the OpenAPI document has its path, method and status.
    pub(crate) async fn send(&self, request: Builder, body: impl Into<Bytes>) -> Answer {
        let request = request.body(Full::new(body.into()));
        let sent = request.as_ref().expect("the request is valid");
        let (method, path) = (sent.method().clone(), sent.uri().path().to_owned());
        let answer = self.exchange(request).await;
        self.check_documented(&method, &path, answer.status);
        answer
    }

    /// Sends a request with an endless response. Returns its head, and its body frame by frame.
    pub(crate) async fn open(&self, request: Builder) -> axum::http::Response<Incoming> {
        self.open_with(request, "").await
    }

    /// Like [`Client::open`], with a body.
    pub(crate) async fn open_with(
        &self,
        request: Builder,
        body: impl Into<Bytes>,
    ) -> axum::http::Response<Incoming> {
        let request = request
            .body(Full::new(body.into()))
            .expect("the request is valid");
        self.http
            .request(request)
            .await
            .expect("the server answers")
    }

    async fn exchange(&self, request: axum::http::Result<Request<Full<Bytes>>>) -> Answer {
        let response = self
            .http
            .request(request.expect("the request is valid"))
            .await;
        let (head, body) = response.expect("the server answers").into_parts();
        Answer {
            status: head.status,
            headers: head.headers,
            body: body
                .collect()
                .await
                .expect("the body is complete")
                .to_bytes(),
        }
    }

    pub(crate) async fn stop(self) {
        self.server.stop().await;
    }

    fn check_documented(&self, method: &Method, path: &str, status: StatusCode) {
        let paths = self.document["paths"]
            .as_object()
            .expect("the document has paths");
        let Some((template, item)) = paths.iter().find(|(template, _)| fits(template, path)) else {
            assert_eq!(status, StatusCode::NOT_FOUND, "{path} is not documented");
            return;
        };
        let method = method.as_str().to_lowercase();
        let Some(operation) = item.get(&method) else {
            assert_eq!(
                status,
                StatusCode::METHOD_NOT_ALLOWED,
                "{method} {template} is not documented"
            );
            return;
        };
        assert!(
            operation["responses"].get(status.as_str()).is_some(),
            "{method} {template} answers {status}, which is not documented"
        );
    }
}

/// Whether a path fits a template such as `/label/{name}/values`.
fn fits(template: &str, path: &str) -> bool {
    let (mut template, mut path) = (template.split('/'), path.split('/'));
    loop {
        match (template.next(), path.next()) {
            (None, None) => return true,
            (Some(part), Some(segment)) if part == segment || part.starts_with('{') => {}
            _ => return false,
        }
    }
}

/// A text, percent-encoded for a URL.
pub(crate) fn encoded(text: &str) -> String {
    let percent = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(percent).collect()
}
