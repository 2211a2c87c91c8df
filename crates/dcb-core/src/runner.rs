//! Projections that are kept: state in the caller's database, moved together with a checkpoint.

mod read_model;

use std::convert::Infallible;
use std::sync::Arc;

use futures_util::future::try_join;

pub use read_model::{HandlerError, ReadModel};

use crate::subscription::Backoff;
use crate::{
    Error, EventBatch, EventStore, Position, Progress, Query, ReadOptions, SubscribeOptions,
    Subscription,
};

/// Keeps a [`ReadModel`] up to date with a log: each event of the query taken in exactly once and
/// in order, whatever is killed and whenever.
///
/// While a batch is taken in, the next one is read. A server that is down, the log's or the read
/// model's, delays it; [`Progress::outage`] tells. Several runners of one projection do no harm:
/// one of them moves the checkpoint, the others find it moved and go on from there.
///
/// A batch without events moves the checkpoint only when it leads as far as a full one would, or to
/// the end of [`ProjectionRunner::catch_up`]: so what does not concern a projection costs it
/// nothing.
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
    /// Takes the events of `query` from `store` into `model`.
    pub fn new(store: S, query: Query, model: M) -> Self {
        Self {
            store,
            query,
            model,
            options: SubscribeOptions::new(),
            progress: Progress::at(None),
        }
    }

    /// How it reads; [`SubscribeOptions::batch_size`] is also the most events of one transaction.
    #[must_use]
    pub fn options(mut self, options: SubscribeOptions) -> Self {
        self.options = options;
        self
    }

    /// How far the state is, and how far behind the log, to be watched from elsewhere.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// The read model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// Keeps the state up to date until something fails that trying again does not mend. To stop
    /// it, drop the future, at any time.
    ///
    /// # Errors
    /// [`Error::Handler`]; [`Error::AfterBeyondHead`] where the log was shortened: the state may
    /// hold events that are gone, [`ProjectionRunner::rebuild`] it; [`Error::Closed`]; else what
    /// the store or the read model met.
    pub async fn run(&mut self) -> Result<Infallible, Error> {
        loop {
            self.drive(None).await?;
        }
    }

    /// Takes in what the log has now, and returns how far the state is then.
    ///
    /// # Errors
    /// As [`ProjectionRunner::run`].
    pub async fn catch_up(&mut self) -> Result<Option<Position>, Error> {
        let head = self.head().await?;
        match head {
            Some(head) => self.drive(Some(head)).await?,
            None => drop(self.stored().await?),
        }
        let position = self.progress.position();
        if position > head {
            self.check_is_within(position).await?;
        }
        Ok(position)
    }

    /// Empties the state and takes in the whole log again. Killed in between, it goes on from where
    /// it got to.
    ///
    /// # Errors
    /// As [`ProjectionRunner::run`].
    pub async fn rebuild(&mut self) -> Result<Option<Position>, Error> {
        let mut backoff = Backoff::default();
        while let Err(error) = self.model.reset().await {
            bear(&self.progress, error, &mut backoff).await?;
        }
        self.catch_up().await
    }

    /// Goes on from the stored checkpoint, as far as `goal` where there is one.
    async fn drive(&mut self, goal: Option<Position>) -> Result<(), Error> {
        loop {
            let stored = self.stored().await?;
            if goal.is_some() && stored >= goal {
                return Ok(());
            }
            match self.follow(stored, goal).await {
                Err(Error::CheckpointMoved { .. }) => {}
                done => return done,
            }
        }
    }

    async fn follow(
        &mut self,
        mut stored: Option<Position>,
        goal: Option<Position>,
    ) -> Result<(), Error> {
        let mut events = Subscription::new(
            self.store.clone(),
            self.query.clone(),
            stored,
            self.options,
            self.progress.of_reader_at(stored),
        );
        let mut batch = next_batch(&mut events).await?;
        while goal.is_none_or(|goal| batch.through < goal) {
            // One task: the server reads for one while it writes for the other.
            let taking_in = self.take_in_if_due(&batch, stored);
            (stored, batch) = try_join(taking_in, next_batch(&mut events)).await?;
        }
        self.take_in(&batch, stored).await
    }

    async fn take_in_if_due(
        &mut self,
        batch: &Arc<EventBatch>,
        stored: Option<Position>,
    ) -> Result<Option<Position>, Error> {
        let passed = batch.through.get() - Position::number_or_zero(stored);
        if batch.events.is_empty() && passed < self.options.batch_size as u64 {
            self.progress.moved_to(Some(batch.through));
            return Ok(stored);
        }
        self.take_in(batch, stored).await?;
        Ok(Some(batch.through))
    }

    /// Tries until it is in. A commit whose answer was lost shows as a checkpoint that has moved.
    async fn take_in(
        &mut self,
        batch: &Arc<EventBatch>,
        stored: Option<Position>,
    ) -> Result<(), Error> {
        let mut backoff = Backoff::default();
        while let Err(error) = self.model.apply(Arc::clone(batch), stored).await {
            bear(&self.progress, error, &mut backoff).await?;
        }
        self.progress.set_outage(None);
        self.progress.moved_to(Some(batch.through));
        Ok(())
    }

    /// How far the state is, by the checkpoint that is stored.
    async fn stored(&mut self) -> Result<Option<Position>, Error> {
        let mut backoff = Backoff::default();
        let stored = loop {
            match self.model.checkpoint().await {
                Ok(checkpoint) => break checkpoint,
                Err(error) => bear(&self.progress, error, &mut backoff).await?,
            }
        };
        self.progress.set_outage(None);
        self.progress.moved_to(stored);
        Ok(stored)
    }

    async fn head(&self) -> Result<Option<Position>, Error> {
        let mut backoff = Backoff::default();
        loop {
            match self.store.head().await {
                Ok(head) => {
                    self.progress.saw_outage(None);
                    self.progress.saw_head(head);
                    return Ok(head);
                }
                Err(error) => bear(&self.progress, error, &mut backoff).await?,
            }
        }
    }

    /// Refuses a state that is past the end of the log. One past a head that was seen before need
    /// not be, so the log is asked.
    async fn check_is_within(&self, position: Option<Position>) -> Result<(), Error> {
        let nothing = ReadOptions::new().after(position).limit(0);
        let mut backoff = Backoff::default();
        while let Err(error) = self.store.query(&self.query, nothing).await {
            bear(&self.progress, error, &mut backoff).await?;
        }
        self.progress.set_outage(None);
        Ok(())
    }
}

/// Waits where trying again may mend it.
async fn bear(progress: &Progress, error: Error, backoff: &mut Backoff) -> Result<(), Error> {
    if !error.is_transient() {
        return Err(error);
    }
    progress.set_outage(Some(error));
    backoff.pause().await;
    Ok(())
}

async fn next_batch(events: &mut Subscription) -> Result<Arc<EventBatch>, Error> {
    // A subscription ends only after an error, which is returned at once.
    let batch = events.next_batch().await.unwrap_or(Err(Error::Closed))?;
    Ok(Arc::new(batch))
}
