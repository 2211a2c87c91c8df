use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;

use crate::error::{self, ApiError};
use crate::guard::Guard;
use crate::limits::Limits;
use crate::outbox::{Mailbox, Outbox};

/// Tells a service about writes, and asks it about its stores. `()` learns nothing, and its stores
/// always answer.
pub trait Watch: Send + Sync + 'static {
    /// Clients wrote events, or failed to. Called after each append.
    fn wrote_events(&self, _failed: Option<&dcb_core::Error>) {}

    /// Clients wrote messages or made a namespace, or failed to.
    fn wrote_messages(&self, _failed: Option<&message_store::Error>) {}

    /// Whether the stores answer, for `["sys.health"]`. Must not wait.
    fn stores_answer(&self) -> bool {
        true
    }
}

impl Watch for () {}

/// The state that the routers of a service share: its limits, the memory for its subscribers, and its end. A
/// clone shares it.
#[derive(Clone)]
pub struct Service {
    pub(crate) guard: Arc<Guard>,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) watch: Arc<dyn Watch>,
}

/// What is in use.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Requests in progress.
    pub running: usize,
    /// Requests in the queue.
    pub waiting: usize,
    /// Open subscriptions, and long responses.
    pub subscriptions: usize,
    /// Bytes that subscribers have not read yet.
    pub unread_bytes: usize,
}

impl Service {
    /// A service with these limits.
    pub fn new(limits: &Limits, watch: Arc<dyn Watch>) -> Self {
        Self {
            guard: Arc::new(Guard::of(limits)),
            outbox: Arc::new(Outbox::of(limits)),
            watch,
        }
    }

    /// Puts these routers behind the limits, and gives all their errors the form of their interface.
    /// Call it before `nest`: the form follows the path.
    pub fn protect<S: Clone + Send + Sync + 'static>(&self, routers: Router<S>) -> Router<S> {
        let admit = async |State(service): State<Self>, request: Request, next: Next| {
            service.admit(request, next).await
        };
        routers
            // The limit of the service has already held.
            .layer(DefaultBodyLimit::disable())
            .layer(middleware::from_fn_with_state(self.clone(), admit))
            .layer(middleware::from_fn(error::render))
    }

    /// Reads the body of a request within the limits, waits for a slot, then runs the handler. For a
    /// service that puts other layers between those of [`Self::protect`].
    ///
    /// # Errors
    /// 408, 413 or 503 if the request exceeds a limit.
    pub async fn admit(&self, request: Request, next: Next) -> Result<Response, ApiError> {
        self.guard.admit(request, next).await
    }

    /// What is in use now.
    pub fn load(&self) -> Load {
        Load {
            running: self.guard.running(),
            waiting: self.guard.waiting(),
            subscriptions: self.guard.subscriptions(),
            unread_bytes: self.outbox.unread(),
        }
    }

    /// Ends all subscriptions, which never end by themselves. Call it before a graceful shutdown.
    pub fn end_subscriptions(&self) {
        self.guard.end_subscriptions();
    }

    /// A place in the outbox for one subscriber.
    pub(crate) fn mailbox(&self) -> Mailbox {
        Mailbox::new(Arc::clone(&self.outbox))
    }
}
