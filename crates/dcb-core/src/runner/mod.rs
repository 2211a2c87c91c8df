//! Stored projections: state in the caller's database, updated together with a checkpoint.
//!
//! State and checkpoint move in one transaction, and only if the stored checkpoint is the one that
//! the runner expects. If a batch was committed but the answer was lost, the runner finds that the
//! checkpoint has moved. It then continues from the new checkpoint and does not apply the batch
//! twice. `tests/it/runner/killed.rs` and `tests/it/runner/sqlite.rs` fail without this.

mod read_model;

use std::convert::Infallible;
use std::sync::Arc;

use futures_util::future::try_join;
use group_commit::Backoff;
use tracing::Instrument as _;

pub use read_model::{HandlerError, ReadModel};

use crate::trace::span_of;
use crate::{
    Bookmark, Error, EventBatch, EventStore, Fault, Position, Progress, Query, ReadOptions,
    SubscribeOptions, Subscription,
};

/// Keeps a [`ReadModel`] up to date with a log. It applies each event of the query exactly once and
/// in order, even if processes or servers crash.
///
/// The runner reads the next batch while the current one is applied. If the server of the log or of
/// the read model is down, the runner waits and retries; [`Progress::outage`] reports it. Several
/// runners of one projection are safe: one moves the checkpoint, and the others continue from it.
///
/// A batch without events moves the stored checkpoint only if it covers at least as many positions
/// as a full batch, or if it ends [`ProjectionRunner::catch_up`]. So events that don't concern a
/// projection cost few transactions.
#[derive(Debug)]
pub struct ProjectionRunner<S, M> {
    store: S,
    query: Query,
    model: M,
    options: SubscribeOptions,
    progress: Progress,
}

impl<S, M> ProjectionRunner<S, M>
where
    S: EventStore + Clone + 'static,
    M: ReadModel,
{
    /// Creates a runner that applies the events of `query` in `store` to `model`.
    pub fn new(store: S, query: Query, model: M) -> Self {
        Self {
            progress: Progress::at(None, &store.metrics()),
            store,
            query,
            model,
            options: SubscribeOptions::new(),
        }
    }

    /// Sets the read options. [`SubscribeOptions::batch_size`] also limits the events of a
    /// transaction.
    #[must_use]
    pub fn options(mut self, options: SubscribeOptions) -> Self {
        self.options = options;
        self
    }

    /// A handle to monitor the runner: the position of the state, and its lag behind the log.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// The read model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// Keeps the state up to date until an error occurs that a retry can't fix. To stop it, drop the
    /// future at any time.
    ///
    /// # Errors
    /// [`Error::Handler`] if the handler fails; [`Error::AfterBeyondHead`] if the log was shortened,
    /// or [`Error::PastReplaced`] if it has grown again since, so the state may contain lost events
    /// and needs [`ProjectionRunner::rebuild`] or [`ProjectionRunner::accept`];
    /// [`Fault::Closed`]; or [`Fault::Refused`] from the log or the read model.
    pub async fn run(&mut self) -> Result<Infallible, Error> {
        loop {
            // Without a goal this never returns `Ok`. The loop only satisfies the return type.
            let stored = self.load_checkpoint().await?;
            self.apply_through(stored, None).await?;
        }
    }

    /// Applies all events up to the current head, and returns the position of the state.
    ///
    /// # Errors
    /// [`Error::Handler`], [`Error::AfterBeyondHead`], [`Error::PastReplaced`], [`Fault::Closed`] or
    /// [`Fault::Refused`]; see [`ProjectionRunner::run`].
    pub async fn catch_up(&mut self) -> Result<Option<Position>, Error> {
        let stored = self.load_checkpoint().await?;
        let head = self.head_after(stored).await?;
        if head.is_some() {
            self.apply_through(stored, head).await?;
        }
        Ok(self.progress.position())
    }

    /// Keeps the state as it is, and goes on from the event that the log has at `position` now, after
    /// [`Error::PastReplaced`] or [`Error::AfterBeyondHead`]. For a state that can't be rebuilt, such
    /// as mail that was sent. The state keeps what lost events have changed, and never sees events of
    /// the log up to `position`. See [`guide::operating`](crate::guide::operating).
    ///
    /// # Errors
    /// [`Error::AfterBeyondHead`] if the log has no such position; [`Error::CheckpointMoved`] if
    /// another runner is at work; an error of the log or the read model. The checkpoint has not moved
    /// then.
    pub async fn accept(&mut self, position: Position) -> Result<(), Error> {
        let only = ReadOptions::new().from(position).limit(1);
        let read = self.store.query(&Query::all(), only).await?;
        let Some(event) = read.events.first() else {
            return Err(Error::AfterBeyondHead {
                after: position,
                head: Bookmark::position_of(read.head),
            });
        };
        let stored = self.load_checkpoint().await?;
        let batch = EventBatch {
            events: Vec::new(),
            through: event.bookmark(),
        };
        self.apply(&Arc::new(batch), stored).await
    }

    /// Empties the state and applies the whole log again. If the process stops midway, the next run
    /// continues from the checkpoint.
    ///
    /// # Errors
    /// [`Error::Handler`], [`Error::AfterBeyondHead`], [`Error::PastReplaced`], [`Fault::Closed`] or
    /// [`Fault::Refused`]; see [`ProjectionRunner::run`].
    pub async fn rebuild(&mut self) -> Result<Option<Position>, Error> {
        let mut backoff = Backoff::default();
        while let Err(error) = self.model.reset().await {
            self.pause_if_transient(error, &mut backoff).await?;
        }
        self.catch_up().await
    }

    /// Continues from the stored checkpoint up to `goal`, or without end for `None`.
    async fn apply_through(
        &mut self,
        mut stored: Option<Bookmark>,
        goal: Option<Position>,
    ) -> Result<(), Error> {
        loop {
            if goal.is_some() && Bookmark::position_of(stored) >= goal {
                return Ok(());
            }
            match self.apply_from(stored, goal).await {
                // Another runner was faster, or an earlier commit succeeded but its answer was
                // lost. Load the checkpoint again.
                Err(Error::CheckpointMoved { .. }) => stored = self.load_checkpoint().await?,
                done => return done,
            }
        }
    }

    async fn apply_from(
        &mut self,
        mut stored: Option<Bookmark>,
        goal: Option<Position>,
    ) -> Result<(), Error> {
        let progress = self.progress.for_reader_at(Bookmark::position_of(stored));
        let mut events = Subscription::new(
            self.store.clone(),
            self.query.clone(),
            stored,
            self.options,
            progress,
        );
        let mut batch = next_batch(&mut events).await?;
        while goal.is_none_or(|goal| batch.through.position < goal) {
            // Apply and read at the same time. One task can do both, because both mostly wait for a
            // server.
            let applying = self.apply_if_due(&batch, stored);
            (stored, batch) = try_join(applying, next_batch(&mut events)).await?;
        }
        // The last batch is never skipped, so that the checkpoint reaches the goal.
        self.apply(&batch, stored).await
    }

    async fn apply_if_due(
        &mut self,
        batch: &Arc<EventBatch>,
        stored: Option<Bookmark>,
    ) -> Result<Option<Bookmark>, Error> {
        let through = batch.through.position;
        let passed = through.get() - Position::number_or_zero(Bookmark::position_of(stored));
        // Skipping the transaction is safe: a restart only reads these positions again.
        if batch.events.is_empty() && passed < self.options.batch_size as u64 {
            self.progress.set_position(Some(through));
            return Ok(stored);
        }
        self.apply(batch, stored).await?;
        Ok(Some(batch.through))
    }

    /// Retries until the batch is applied. If an earlier try was committed but its answer lost, the
    /// next one fails with [`Error::CheckpointMoved`].
    async fn apply(
        &mut self,
        batch: &Arc<EventBatch>,
        stored: Option<Bookmark>,
    ) -> Result<(), Error> {
        let mut backoff = Backoff::default();
        let span = || span_of("apply", &batch.events);
        while let Err(error) = self
            .model
            .apply(Arc::clone(batch), stored)
            .instrument(span())
            .await
        {
            self.pause_if_transient(error, &mut backoff).await?;
        }
        self.progress.set_apply_outage(None);
        self.progress.set_position(Some(batch.through.position));
        Ok(())
    }

    async fn load_checkpoint(&mut self) -> Result<Option<Bookmark>, Error> {
        let mut backoff = Backoff::default();
        let stored = loop {
            match self.model.checkpoint().await {
                Ok(checkpoint) => break checkpoint,
                Err(error) => self.pause_if_transient(error, &mut backoff).await?,
            }
        };
        self.progress.set_apply_outage(None);
        self.progress.set_position(Bookmark::position_of(stored));
        Ok(stored)
    }

    /// Pauses before a retry after a transient error; returns any other error.
    async fn pause_if_transient(&self, error: Error, backoff: &mut Backoff) -> Result<(), Error> {
        if !error.is_transient() {
            return Err(error);
        }
        self.progress.set_apply_outage(Some(error));
        self.store.metrics().store().followers().retries();
        backoff.pause().await;
        Ok(())
    }

    /// The head of the log. Refuses a state that is ahead of the log, or that contains events that the
    /// log has lost.
    async fn head_after(&self, stored: Option<Bookmark>) -> Result<Option<Position>, Error> {
        // The limit of 0 makes the read check `after` without reading events.
        let nothing = ReadOptions::new().after(stored).limit(0);
        let mut backoff = Backoff::default();
        loop {
            match self.store.query(&self.query, nothing).await {
                Ok(read) => {
                    let head = Bookmark::position_of(read.head);
                    self.progress.set_read_outage(None);
                    self.progress.set_apply_outage(None);
                    self.progress.observe_head(head);
                    return Ok(head);
                }
                Err(error) => self.pause_if_transient(error, &mut backoff).await?,
            }
        }
    }
}

async fn next_batch(events: &mut Subscription) -> Result<Arc<EventBatch>, Error> {
    // A subscription ends only after an error, which is returned at once.
    let batch = events
        .next_batch()
        .await
        .unwrap_or(Err(Fault::Closed.into()))?;
    Ok(Arc::new(batch))
}
