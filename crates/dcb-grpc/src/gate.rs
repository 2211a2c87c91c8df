//! The layer that every call passes: it maps the old path to the new one, checks the key before it
//! takes the request, bounds the memory of requests, and counts the calls.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::future::BoxFuture;
use http::uri::{PathAndQuery, Uri};
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use parking_lot::Mutex;
use store_meter::Timer;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer, Service};

use crate::error::exhausted;
use crate::key::Key;
use crate::meters::Meters;

/// The path of the service before it had a version.
const OLD: &str = "/umadb.UmaDBService/";
const NEW: &str = "/umadb.v1.DCB/";
/// The first bytes of each request take nothing from the memory for requests, so a small one always fits.
const FREE_BYTES: usize = 8 << 10;

#[derive(Clone)]
pub(crate) struct Gate {
    key: Option<Key>,
    bytes: Arc<Semaphore>,
    meters: Arc<Meters>,
}

impl Gate {
    pub(crate) fn new(key: Option<Key>, request_bytes: usize, meters: Arc<Meters>) -> Self {
        let bytes = Arc::new(Semaphore::new(request_bytes.min(Semaphore::MAX_PERMITS)));
        Self { key, bytes, meters }
    }

    /// Whether a call may go on. The health service needs no key.
    fn admit(&self, request: &Request<Body>) -> Result<(), Status> {
        match &self.key {
            Some(key) if request.uri().path().starts_with(NEW) => key.check(request.headers()),
            _ => Ok(()),
        }
    }
}

impl<S> Layer<S> for Gate {
    type Service = Gated<S>;

    fn layer(&self, inner: S) -> Gated<S> {
        let gate = self.clone();
        Gated { gate, inner }
    }
}

/// A service behind the gate.
#[derive(Clone)]
pub(crate) struct Gated<S> {
    gate: Gate,
    inner: S,
}

impl<S> Service<Request<Body>> for Gated<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        // The service that was polled is the one that is ready.
        let inner = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, inner);
        let begun = Timer::start();
        if let Some(uri) = renamed(request.uri()) {
            *request.uri_mut() = uri;
        }
        let path = request.uri().path().to_owned();
        let meters = Arc::clone(&self.gate.meters);
        if let Err(refusal) = self.gate.admit(&request) {
            meters.answered(&path, refusal.code(), begun);
            return Box::pin(async move { Ok(refusal.into_http()) });
        }
        let held = Arc::new(Held {
            bytes: Arc::clone(&self.gate.bytes),
            permit: Mutex::new(None),
        });
        let counted = Arc::clone(&held);
        let request = request.map(|body| Body::new(Counted::new(body, counted)));
        Box::pin(async move {
            let answered = inner.call(request).await;
            // The request is in memory until its handler has ended.
            drop(held);
            if let Ok(response) = &answered {
                let status = Status::from_header_map(response.headers());
                let code = status.map_or(Code::Ok, |status| status.code());
                meters.answered(&path, code, begun);
            }
            answered
        })
    }
}

/// The URI of the same method at the path of today.
fn renamed(uri: &Uri) -> Option<Uri> {
    let method = uri.path().strip_prefix(OLD)?;
    let mut parts = uri.clone().into_parts();
    let path = PathAndQuery::try_from(format!("{NEW}{method}")).ok()?;
    parts.path_and_query = Some(path);
    Uri::from_parts(parts).ok()
}

/// The memory that a request takes.
struct Held {
    bytes: Arc<Semaphore>,
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Held {
    /// Takes memory for more bytes.
    fn grow(&self, bytes: usize) -> Result<(), Status> {
        let count = u32::try_from(bytes).unwrap_or(u32::MAX);
        let Ok(more) = Arc::clone(&self.bytes).try_acquire_many_owned(count) else {
            return Err(exhausted("too many bytes of requests are being received"));
        };
        let mut permit = self.permit.lock();
        match &mut *permit {
            Some(permit) => permit.merge(more),
            None => *permit = Some(more),
        }
        Ok(())
    }
}

/// A request's body whose bytes are counted as they arrive.
struct Counted {
    body: Body,
    held: Arc<Held>,
    free: usize,
}

impl Counted {
    fn new(body: Body, held: Arc<Held>) -> Self {
        Self {
            body,
            held,
            free: FREE_BYTES,
        }
    }

    fn count(&mut self, bytes: usize) -> Result<(), Status> {
        let free = bytes.min(self.free);
        self.free -= free;
        match bytes - free {
            0 => Ok(()),
            more => self.held.grow(more),
        }
    }
}

impl http_body::Body for Counted {
    type Data = <Body as http_body::Body>::Data;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Status>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        Poll::Ready(match frame {
            Some(Ok(frame)) => {
                let bytes = frame.data_ref().map_or(0, |data| data.len());
                Some(self.count(bytes).map(|()| frame))
            }
            other => other,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
