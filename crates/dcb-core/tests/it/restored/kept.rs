//! Kept projections and their runners.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dcb_core::{
    AnyStore, Bookmark, Error, EventBatch, ProjectionRunner, ReadModel, SubscribeOptions,
};
use tokio::time::timeout;

use super::{LOST, Log, assert_replaced, number, on_each_backend};
use crate::support::events::{at, tag};
use crate::support::wait::wait_until;

on_each_backend! {
    kept_projection_is_told
    running_projection_ends_with_the_error
    rebuilt_projection_goes_on
    accepted_projection_goes_on
    checkpoint_without_an_id_gets_one
}

/// Numbers and checkpoint in memory, as a read model in some other database.
#[derive(Clone, Default)]
struct Numbers(Arc<Mutex<(Vec<u64>, Option<Bookmark>)>>);

impl Numbers {
    fn seen(&self) -> Vec<u64> {
        self.0.lock().unwrap().0.clone()
    }

    fn checkpoint(&self) -> Option<Bookmark> {
        self.0.lock().unwrap().1
    }
}

impl ReadModel for Numbers {
    async fn checkpoint(&mut self) -> Result<Option<Bookmark>, Error> {
        Ok(Self::checkpoint(self))
    }

    async fn apply(
        &mut self,
        batch: Arc<EventBatch>,
        checkpoint: Option<Bookmark>,
    ) -> Result<(), Error> {
        let mut state = self.0.lock().unwrap();
        if state.1 != checkpoint {
            return Err(Error::CheckpointMoved {
                name: "numbers".to_owned(),
                expected: checkpoint,
                actual: state.1,
            });
        }
        state.0.extend(batch.events.iter().map(number));
        state.1 = Some(batch.through);
        Ok(())
    }

    async fn reset(&mut self) -> Result<(), Error> {
        *self.0.lock().unwrap() = Default::default();
        Ok(())
    }
}

fn runner(log: &Log, model: &Numbers) -> ProjectionRunner<AnyStore, Numbers> {
    ProjectionRunner::new(log.store.clone(), tag("a"), model.clone())
        .options(SubscribeOptions::new().batch_size(4))
}

async fn kept_projection_is_told(log: Log) {
    log.fill().await;
    let model = Numbers::default();
    assert_eq!(
        runner(&log, &model).catch_up().await.unwrap(),
        Some(at(LOST))
    );
    log.restore().await;
    for _ in 0..2 {
        assert_replaced(runner(&log, &model).catch_up().await, LOST);
        let run = timeout(Duration::from_secs(30), async {
            runner(&log, &model).run().await
        });
        assert_replaced(run.await.expect("it ends"), LOST);
    }
    assert_eq!(model.seen(), (1..=LOST).collect::<Vec<_>>());
    log.close().await;
}

async fn running_projection_ends_with_the_error(log: Log) {
    log.fill().await;
    let model = Numbers::default();
    let mut running = runner(&log, &model);
    let running = tokio::spawn(async move { running.run().await });
    wait_until("the projection has caught up", async || {
        model.seen().len() == LOST as usize
    })
    .await;
    log.restore().await;
    let ended = timeout(Duration::from_secs(30), running).await;
    let ended = ended.expect("it ends").unwrap();
    // Some stores are restored in steps, and a reader may see the log while it is still short.
    assert!(
        matches!(
            ended,
            Err(Error::PastReplaced { .. } | Error::AfterBeyondHead { .. })
        ),
        "{ended:?}"
    );
    assert_replaced(runner(&log, &model).catch_up().await, LOST);
    log.close().await;
}

async fn rebuilt_projection_goes_on(log: Log) {
    log.fill().await;
    let model = Numbers::default();
    runner(&log, &model).catch_up().await.unwrap();
    log.restore().await;
    let mut runner = runner(&log, &model);
    assert_replaced(runner.catch_up().await, LOST);
    assert_eq!(runner.rebuild().await.unwrap(), Some(at(12)));
    assert_eq!(
        model.seen(),
        [1, 2, 3, 4, 5, 6, 107, 108, 109, 110, 111, 112]
    );
    assert_eq!(runner.catch_up().await.unwrap(), Some(at(12)));
    log.close().await;
}

async fn accepted_projection_goes_on(log: Log) {
    log.fill().await;
    let model = Numbers::default();
    runner(&log, &model).catch_up().await.unwrap();
    log.restore().await;
    let mut runner = runner(&log, &model);
    let beyond = runner.accept(at(13)).await;
    assert!(
        matches!(beyond, Err(Error::AfterBeyondHead { .. })),
        "{beyond:?}"
    );
    runner.accept(at(super::KEPT)).await.unwrap();
    assert_eq!(runner.catch_up().await.unwrap(), Some(at(12)));
    assert_eq!(
        model.seen()[LOST as usize..],
        [107, 108, 109, 110, 111, 112]
    );
    log.close().await;
}

/// An older version stored positions alone.
async fn checkpoint_without_an_id_gets_one(log: Log) {
    log.fill().await;
    let model = Numbers::default();
    model.0.lock().unwrap().1 = Some(at(3).into());
    runner(&log, &model).catch_up().await.unwrap();
    assert_eq!(model.seen(), (4..=LOST).collect::<Vec<_>>());
    let checkpoint = model.checkpoint().unwrap();
    assert!(checkpoint.event_id.is_some(), "{checkpoint}");
    log.restore().await;
    assert_replaced(runner(&log, &model).catch_up().await, LOST);
    log.close().await;
}
