//! The outage that a runner reports while its read model is down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dcb_core::{
    Bookmark, Error, EventBatch, EventStore, EventStream, Events, Fault, MemoryStore,
    ProjectionRunner, Query, ReadModel, ReadOptions, Reason, SubscribeOptions,
};
use store_meter::testing::Log;
use tokio::time::sleep;

use crate::support::events::{at, tagged};
use crate::support::wait::wait_until;

/// A read model without content: it has only a checkpoint. It refuses writes while it is down.
#[derive(Default)]
struct Checkpoint {
    position: Option<Bookmark>,
    down: Arc<AtomicBool>,
    /// The number of writes that still fail.
    refusals: usize,
    /// Whether its handler fails, because another store is down.
    has_handler: bool,
}

impl Checkpoint {
    fn refuse(&mut self) -> Result<(), Error> {
        if self.refusals == 0 && !self.down.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.refusals = self.refusals.saturating_sub(1);
        match self.has_handler {
            true => Err(Error::Handler {
                name: "seats".to_owned(),
                source: Arc::new(unplugged()),
            }),
            false => Err(unplugged()),
        }
    }
}

/// A store that can't be read while it is down.
#[derive(Clone, Default)]
struct Unplugged {
    store: MemoryStore,
    down: Arc<AtomicBool>,
}

impl EventStore for Unplugged {
    async fn query(&self, query: &Query, options: ReadOptions) -> Result<Events, Error> {
        match self.down.load(Ordering::Relaxed) {
            true => Err(unplugged()),
            false => self.store.query(query, options).await,
        }
    }

    async fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        match self.down.load(Ordering::Relaxed) {
            true => Err(unplugged()),
            false => self.store.query_stream(query, options).await,
        }
    }

    dcb_core::forward_event_store! { self { Self { store, .. } => store }
        submit head count extent exists tracked commands
        projection_limit notifications health stats close
    }
}

fn unplugged() -> Error {
    Error::Fault(Fault::Unreachable(Reason::new("unplugged")))
}

impl ReadModel for Checkpoint {
    async fn checkpoint(&mut self) -> Result<Option<Bookmark>, Error> {
        Ok(self.position)
    }

    async fn apply(
        &mut self,
        batch: Arc<EventBatch>,
        _checkpoint: Option<Bookmark>,
    ) -> Result<(), Error> {
        self.refuse()?;
        self.position = Some(batch.through);
        Ok(())
    }

    async fn reset(&mut self) -> Result<(), Error> {
        self.refuse()?;
        self.position = None;
        Ok(())
    }
}

/// Successful reads of the log do not end the outage, because the read model does not advance.
#[tokio::test]
async fn outage_lasts_while_the_read_model_is_down() {
    let store = MemoryStore::new();
    store.append(tagged("a")).await.unwrap();
    let model = Checkpoint::default();
    let down = Arc::clone(&model.down);
    down.store(true, Ordering::Relaxed);
    let options = SubscribeOptions::new().poll_interval(Duration::from_millis(5));
    let mut runner = ProjectionRunner::new(store, Query::all(), model).options(options);
    let progress = runner.progress();
    let log = Log::begin();
    let running = tokio::spawn(async move { runner.run().await });
    wait_until("the outage shows", async || progress.outage().is_some()).await;
    for _ in 0..50 {
        sleep(Duration::from_millis(5)).await;
        assert!(progress.outage().is_some());
    }
    down.store(false, Ordering::Relaxed);
    wait_until("the read model has the event", async || {
        progress.position() == Some(at(1))
    })
    .await;
    wait_until("the outage is over", async || progress.outage().is_none()).await;
    running.abort();
    let waits = "a projection waits for its database";
    log.assert_one(waits, &["WARN", "position=0", "unplugged"]);
    log.assert_one("a projection is applied again", &["INFO", "after="]);
}

#[tokio::test]
async fn outage_ends_after_the_last_batch() {
    for has_handler in [false, true] {
        ends_after_the_last_batch(has_handler).await;
    }
}

async fn ends_after_the_last_batch(has_handler: bool) {
    let store = MemoryStore::new();
    store.append(tagged("a")).await.unwrap();
    let model = Checkpoint {
        refusals: 2,
        has_handler,
        ..Checkpoint::default()
    };
    let mut runner = ProjectionRunner::new(store, Query::all(), model);
    assert_eq!(runner.catch_up().await.unwrap(), Some(at(1)));
    let outage = runner.progress().outage();
    assert!(outage.is_none(), "{outage:?}");
}

#[tokio::test]
async fn outage_delays_a_rebuild() {
    let store = MemoryStore::new();
    store.append(tagged("a")).await.unwrap();
    let model = Checkpoint {
        position: Some(at(1).into()),
        refusals: 1,
        ..Checkpoint::default()
    };
    let mut runner = ProjectionRunner::new(store, Query::all(), model);
    assert_eq!(runner.rebuild().await.unwrap(), Some(at(1)));
    assert!(runner.progress().outage().is_none());
}

/// The log's file is temporarily unreachable.
#[tokio::test]
async fn outage_delays_catch_up() {
    let store = Unplugged::default();
    store.append(tagged("a")).await.unwrap();
    store.down.store(true, Ordering::Relaxed);
    let mut runner = ProjectionRunner::new(store.clone(), Query::all(), Checkpoint::default());
    let progress = runner.progress();
    let running = tokio::spawn(async move { runner.catch_up().await });
    wait_until("the outage shows", async || progress.outage().is_some()).await;
    store.down.store(false, Ordering::Relaxed);
    assert_eq!(running.await.unwrap().unwrap(), Some(at(1)));
    assert!(progress.outage().is_none());
    store.close().await;
}

/// Subscriptions that come and go during the outage change nothing.
#[tokio::test]
async fn log_is_told_of_the_first_subscription_that_waits_and_of_the_last() {
    let store = Unplugged::default();
    store.down.store(true, Ordering::Relaxed);
    let log = Log::begin();
    let subscribe = || store.subscribe(Query::all(), None, SubscribeOptions::new());
    let mut running = tokio::task::JoinSet::new();
    let mut progress = Vec::new();
    for _ in 0..7 {
        let mut events = subscribe();
        progress.push(events.progress());
        running.spawn(async move { events.next().await });
    }
    let mut left = subscribe();
    let early = tokio::time::timeout(Duration::from_millis(100), left.next()).await;
    assert!(early.is_err());
    drop(left);
    wait_until("all wait", async || {
        progress.iter().all(|progress| progress.outage().is_some())
    })
    .await;
    assert!(log.lines(&["subscriptions read again"]).is_empty());
    store.append(tagged("a")).await.unwrap();
    store.down.store(false, Ordering::Relaxed);
    for read in running.join_all().await {
        read.unwrap().unwrap();
    }
    let waits = "subscriptions wait for the database";
    log.assert_one(waits, &["WARN", "unplugged"]);
    let again = "subscriptions read again";
    log.assert_one(again, &["INFO", "after=", "subscriptions=8"]);
}
