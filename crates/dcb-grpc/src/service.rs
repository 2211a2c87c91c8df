use std::pin::Pin;
use std::sync::Arc;

use async_stream::stream;
use dcb_core::{Bookmark, EventStore, Tracking};
use futures_core::Stream;
use store_meter::Share;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tonic::{Request, Response, Status};

use crate::credits::Credits;
use crate::error::{exhausted, status};
use crate::limits::Limits;
use crate::meters::Meters;
use crate::proto::dcb_server::Dcb;
use crate::proto::{
    AppendRequest, AppendResponse, HeadRequest, HeadResponse, ReadRequest, ReadResponse,
    SubscribeRequest, SubscribeResponse, TrackingRequest, TrackingResponse,
};
use crate::read::Read;
use crate::subscribe::Subscribe;
use crate::{append, read, subscribe, wire};

/// The calls over a store.
pub(crate) struct Service<S> {
    store: S,
    meters: Arc<Meters>,
    appends: Slots,
    reads: Slots,
    subscriptions: Slots,
    credits: Credits,
    /// Whether subscriptions must end.
    ending: watch::Receiver<bool>,
}

impl<S: EventStore + Clone + 'static> Service<S> {
    pub(crate) fn new(
        store: S,
        limits: &Limits,
        meters: Arc<Meters>,
        ending: watch::Receiver<bool>,
    ) -> Self {
        Self {
            store,
            meters,
            appends: Slots::new(limits.max_appends, "appends are in progress"),
            reads: Slots::new(limits.max_reads, "reads are open"),
            subscriptions: Slots::new(limits.max_subscriptions, "subscriptions are open"),
            credits: Credits::new(limits.unread_bytes),
            ending,
        }
    }

    /// A slot of a stream, which counts as open until it is dropped.
    fn open(&self, slots: &Slots) -> Result<Open, Status> {
        Ok(Open {
            _slot: slots.take()?,
            _counted: self.meters.streams.one(),
            meters: Arc::clone(&self.meters),
        })
    }
}

type Messages<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl<S: EventStore + Clone + 'static> Dcb for Service<S> {
    type ReadStream = Messages<ReadResponse>;
    type SubscribeStream = Messages<SubscribeResponse>;

    async fn read(
        &self,
        request: Request<ReadRequest>,
    ) -> Result<Response<Self::ReadStream>, Status> {
        let request = request.into_inner();
        let limit = request.limit;
        let read = Read::check(request)?;
        let open = self.open(&self.reads)?;
        let events = read.begin(&self.store).await?;
        let messages = read::messages(&read, limit, events, self.credits.piece());
        let count = |message: &ReadResponse| message.events.len();
        Ok(Response::new(open.holds(messages, count)))
    }

    async fn subscribe(
        &self,
        request: Request<SubscribeRequest>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        let subscribe = Subscribe::check(request.into_inner())?;
        if !subscribe.is_endless {
            return Ok(Response::new(Box::pin(
                stream! { for none in [] { yield none; } },
            )));
        }
        let open = self.open(&self.subscriptions)?;
        let feed = subscribe.begin(self.store.clone()).await?;
        let messages = subscribe::messages(feed, self.credits.piece(), self.ending.clone());
        let count = |message: &SubscribeResponse| message.events.len();
        Ok(Response::new(open.holds(messages, count)))
    }

    async fn append(
        &self,
        request: Request<AppendRequest>,
    ) -> Result<Response<AppendResponse>, Status> {
        let _slot = self.appends.take()?;
        let position = append::append(&self.store, request.into_inner()).await?;
        Ok(Response::new(AppendResponse { position }))
    }

    async fn head(&self, _: Request<HeadRequest>) -> Result<Response<HeadResponse>, Status> {
        let head = self.store.head().await.map_err(|error| status(&error))?;
        let position = wire::number(Bookmark::position_of(head));
        Ok(Response::new(HeadResponse { position }))
    }

    async fn get_tracking_info(
        &self,
        request: Request<TrackingRequest>,
    ) -> Result<Response<TrackingResponse>, Status> {
        let TrackingRequest { source } = request.into_inner();
        // No append can have tracked a position for a name that the store refuses.
        let position = match Tracking::new(&*source, 0) {
            Ok(_) => {
                let tracked = self.store.tracked(&source).await;
                tracked.map_err(|error| status(&error))?
            }
            Err(_) => None,
        };
        Ok(Response::new(TrackingResponse { position }))
    }
}

/// How many calls of a kind may be under way.
struct Slots {
    free: Arc<Semaphore>,
    max: usize,
    /// The end of the message if none is free.
    kind: &'static str,
}

impl Slots {
    fn new(max: usize, kind: &'static str) -> Self {
        // `Semaphore::new` panics above its maximum.
        let max = max.min(Semaphore::MAX_PERMITS);
        let free = Arc::new(Semaphore::new(max));
        Self { free, max, kind }
    }

    fn take(&self) -> Result<OwnedSemaphorePermit, Status> {
        let slot = Arc::clone(&self.free).try_acquire_owned();
        slot.map_err(|_| exhausted(format!("{} {}, which is the limit", self.max, self.kind)))
    }
}

/// An open stream.
struct Open {
    _slot: OwnedSemaphorePermit,
    _counted: Share,
    meters: Arc<Meters>,
}

impl Open {
    /// The same messages, which hold the slot until they end. `count` counts the events of one.
    fn holds<T: Send + 'static>(
        self,
        messages: impl Stream<Item = Result<T, Status>> + Send + 'static,
        count: fn(&T) -> usize,
    ) -> Messages<T> {
        Box::pin(stream! {
            // All of it: a drop of one field would free the slot.
            let open = self;
            for await message in messages {
                if let Ok(message) = &message {
                    open.meters.sent(count(message));
                }
                yield message;
            }
        })
    }
}
