//! The outage that a runner reports while its read model is down.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dcb_core::sqlite::{self, SqliteStore};
use dcb_core::{
    Error, EventBatch, EventStore as _, MemoryStore, Position, ProjectionRunner, Query, ReadModel,
    SubscribeOptions,
};
use tokio::time::sleep;

use crate::support::events::{at, tagged};
use crate::support::wait::wait_until;

/// A read model without content: it has only a checkpoint. It refuses writes while it is down.
#[derive(Default)]
struct Checkpoint {
    position: Option<Position>,
    down: Arc<AtomicBool>,
    /// The number of writes that still fail.
    refusals: usize,
}

impl Checkpoint {
    fn refuse(&mut self) -> Result<(), Error> {
        if self.refusals == 0 && !self.down.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.refusals = self.refusals.saturating_sub(1);
        Err(Error::Unavailable {
            source: Arc::new(std::io::Error::other("unplugged")),
        })
    }
}

impl ReadModel for Checkpoint {
    async fn checkpoint(&mut self) -> Result<Option<Position>, Error> {
        Ok(self.position)
    }

    async fn apply(
        &mut self,
        batch: Arc<EventBatch>,
        _checkpoint: Option<Position>,
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
}

#[tokio::test]
async fn outage_ends_after_the_last_batch() {
    let store = MemoryStore::new();
    store.append(tagged("a")).await.unwrap();
    let model = Checkpoint {
        refusals: 2,
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
        position: Some(at(1)),
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
    let folder = tempfile::tempdir().unwrap();
    let [here, away] = ["here", "away"].map(|name| folder.path().join(name));
    fs::create_dir(&here).unwrap();
    let log = sqlite::Config::file(here.join("log.db"));
    let store = SqliteStore::open(log).await.unwrap();
    store.append(tagged("a")).await.unwrap();
    fs::rename(&here, &away).unwrap();
    let mut runner = ProjectionRunner::new(store.clone(), Query::all(), Checkpoint::default());
    let progress = runner.progress();
    let running = tokio::spawn(async move { runner.catch_up().await });
    wait_until("the outage shows", async || progress.outage().is_some()).await;
    fs::rename(&away, &here).unwrap();
    assert_eq!(running.await.unwrap().unwrap(), Some(at(1)));
    assert!(progress.outage().is_none());
    store.close().await;
}
