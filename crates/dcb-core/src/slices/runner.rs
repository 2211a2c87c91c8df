//! The loop of a member: hold slices, read once for all of them, apply in parallel.

use std::convert::Infallible;

use group_commit::Backoff;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep_until};
use uuid::Uuid;

use super::meter::{MemberShare, Meter};
use super::model::{Held, HeldSlice};
use super::pulse::Pulse;
use super::share::{Share, cut, divide};
use super::trouble::Patience;
use super::{SliceKey, SliceOptions, SlicedModel};
use crate::{
    Bookmark, Error, EventBatch, EventStore, Fault, Position, Progress, Query, Subscription,
};

/// Keeps a sliced projection up to date with a log, as one of its members. Each event is applied
/// exactly once, and those of a key in order, however many members come, go or are killed.
///
/// A member holds slices of the projection. It shares them with members that come, gives them back when
/// it ends, and loses them if it gives no sign of life for 1.2 s. It reads the log once for all of its
/// slices. An idle member costs a transaction of at most four statements in 300 ms, five while its version
/// is built beside another, however many slices it holds.
///
/// Use a [`ProjectionRunner`](crate::ProjectionRunner) for a projection that needs the order of the
/// whole log.
#[derive(Debug)]
pub struct SlicedRunner<S, M> {
    store: S,
    query: Query,
    key: SliceKey,
    model: M,
    options: SliceOptions,
    progress: Progress,
    meter: Meter,
}

/// Why the work with a set of slices ended.
enum Ended {
    /// The slices are other ones now.
    Changed,
    /// All slices of the member have reached the goal.
    Done,
}

impl<S, M> SlicedRunner<S, M>
where
    S: EventStore + Clone + 'static,
    M: SlicedModel,
{
    /// Creates a member that applies the events of `query` in `store` to `model`, sliced by `key`. All
    /// members of a version must have the same query and the same key.
    pub fn new(store: S, query: Query, key: SliceKey, model: M) -> Self {
        let metrics = store.metrics();
        let (name, version) = model.name_and_version();
        Self {
            progress: Progress::at(None, &metrics),
            meter: Meter::new(&metrics, name, version),
            store,
            query,
            key,
            model,
            options: SliceOptions::new(),
        }
    }

    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: SliceOptions) -> Self {
        self.options = options;
        self
    }

    /// A handle to monitor the member: the position up to which it has read for its slices, and its lag
    /// behind the log.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Works until an error occurs that a retry can't fix. To stop, drop the future at any time.
    ///
    /// # Errors
    /// [`Error::NotOneKey`] for an event without a key; [`Error::Superseded`] once a later version has
    /// taken the place of this one; [`Error::AfterBeyondHead`] or [`Error::PastReplaced`] if the log
    /// was shortened or replaced; [`Fault::Closed`]; or [`Fault::Refused`] from the log or the
    /// model. A handler that fails stops its slice, not the member; see [`SliceOptions::on_failure`].
    pub async fn run(&mut self) -> Result<Infallible, Error> {
        loop {
            // Without a goal this never returns `Ok`.
            self.work(None).await?;
        }
    }

    /// Works until all slices of the projection, of this member and of others, have handled the
    /// current log. Slices that have stopped don't hold it up. A version that is built waits for the
    /// slices of the current one.
    ///
    /// # Errors
    /// Those of [`SlicedRunner::run`].
    pub async fn catch_up(&mut self) -> Result<(), Error> {
        let mut backoff = Backoff::default();
        let head = loop {
            match self.store.head().await {
                Ok(head) => break head,
                Err(error) if error.is_transient() => backoff.pause().await,
                Err(error) => return Err(error),
            }
        };
        match Bookmark::position_of(head) {
            Some(goal) => self.work(Some(goal)).await,
            None => Ok(()),
        }
    }

    async fn work(&mut self, goal: Option<Position>) -> Result<(), Error> {
        let member = Uuid::now_v7();
        let (model, progress) = (self.model.clone(), self.progress.clone());
        let mut pulse = Pulse::start(model, member, self.options.slices, progress).await?;
        let workers = (0..self.options.workers.max(1)).map(|_| self.model.clone());
        let mut workers: Vec<M> = workers.collect();
        let mut held = pulse.held()?;
        let share = self.meter.member();
        let mut not_before = Instant::now();
        loop {
            share.slices.set(|| held.slices.len() as u64);
            if goal.is_some() && held.floor >= goal {
                return Ok(());
            }
            if held.slices.len() > held.quota {
                let given = workers[0].give_back(member, held.quota).await;
                self.settle(given).await?;
                held = pulse.refresh().await?;
            } else if held.slices.is_empty() {
                share.lag.set(|| 0);
                held = pulse.next().await?;
            } else {
                let followed = self.follow(
                    &held,
                    &mut workers,
                    &mut pulse,
                    goal,
                    &share,
                    &mut not_before,
                );
                match followed.await {
                    // Another member has a slice, or the answer to a commit was lost.
                    Ok(Ended::Changed) | Err(Error::CheckpointMoved { .. }) => {}
                    // Others may still be at work.
                    Ok(Ended::Done) => drop(pulse.next().await?),
                    Err(error) => self.settle(Err(error)).await?,
                }
                held = pulse.refresh().await?;
            }
        }
    }

    /// Pauses after a transient error; returns any other.
    async fn settle(&self, done: Result<(), Error>) -> Result<(), Error> {
        match done {
            Err(error) if error.is_transient() => {
                self.progress.set_apply_outage(Some(error));
                Backoff::default().pause().await;
                Ok(())
            }
            done => done,
        }
    }

    /// Works with these slices until they change. Takes the first batch not before a time, and moves that
    /// time as [`SliceOptions::events_per_second`] asks.
    async fn follow(
        &self,
        held: &Held,
        workers: &mut Vec<M>,
        pulse: &mut Pulse,
        goal: Option<Position>,
        share: &MemberShare,
        not_before: &mut Instant,
    ) -> Result<Ended, Error> {
        /// Without events for this long, all checkpoints move to the end of what was read.
        const IDLE: Duration = Duration::from_secs(1);
        let mut slices = held.slices.clone();
        let mut stop_at = held.stop_at;
        let start = slices.iter().map(|slice| slice.stored);
        let start = start
            .min_by_key(|stored| Bookmark::position_of(*stored))
            .flatten();
        let mut reading = Reading::start(self, start);
        let mut read_to = start;
        let mut idle_from = Instant::now();
        // Slices that were taken over may be behind those that the member had.
        self.progress.set_position(Bookmark::position_of(start));
        loop {
            share.lag.set(|| self.progress.lag());
            let is_behind = |read_to: Option<Bookmark>| {
                slices.iter().any(|slice| {
                    Bookmark::position_of(slice.stored) < Bookmark::position_of(read_to)
                })
            };
            let behind = is_behind(read_to);
            let end = goal.into_iter().chain(Bookmark::position_of(stop_at)).min();
            let reached = end.is_some_and(|end| Bookmark::position_of(read_to) >= Some(end));
            if reached && !behind {
                return Ok(Ended::Done);
            }
            let flush = (behind && (reached || idle_from.elapsed() >= IDLE))
                .then_some(read_to)
                .flatten();
            let batch = match flush {
                Some(through) => EventBatch {
                    events: Vec::new(),
                    through,
                },
                None => tokio::select! {
                    batch = reading.next(*not_before) => batch?,
                    now = pulse.next() => {
                        let now = now?;
                        if !same(&now, held) {
                            return Ok(Ended::Changed);
                        }
                        stop_at = now.stop_at;
                        continue;
                    }
                },
            };
            // Once it is cut, the goal is reached, and this work with its reader ends.
            let batch = cut(batch, stop_at);
            let through = batch.through;
            let due = match flush {
                Some(_) => 1,
                None => self.options.read.batch_size as u64,
            };
            let begun = Instant::now();
            let shares = divide(batch, &slices, &self.key, held.total, workers.len(), due)?;
            let events: usize = shares.iter().map(|share| share.events.len()).sum();
            for moved in self.apply(shares, workers).await? {
                match moved {
                    Moved::To(moved) => {
                        let slice = slices.iter_mut().find(|slice| slice.slice == moved.slice);
                        if let Some(slice) = slice {
                            *slice = moved;
                        }
                    }
                    Moved::Stopped => return Ok(Ended::Changed),
                }
            }
            read_to = Some(through);
            self.progress.set_position(Some(through.position));
            self.progress.set_apply_outage(None);
            idle_from = Instant::now();
            if let Some(limit) = self.options.events_per_second {
                *not_before =
                    begun + Duration::from_secs_f64(events as f64 / f64::from(limit.max(1)));
            }
        }
    }

    /// Applies all shares at once, each with another worker.
    async fn apply(&self, shares: Vec<Share>, workers: &mut Vec<M>) -> Result<Vec<Moved>, Error> {
        let mut running = JoinSet::new();
        for share in shares {
            let mut worker = workers
                .pop()
                .expect("there are no more shares than workers");
            let (progress, meter) = (self.progress.clone(), self.meter.clone());
            let patience = Patience::new(self.options, progress, meter);
            running.spawn(async move {
                let done = patience.apply(&mut worker, share).await;
                (worker, done)
            });
        }
        let mut moved = Vec::new();
        let mut failed = None;
        while let Some(ended) = running.join_next().await {
            let (worker, done) = match ended {
                Ok(ended) => ended,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(_) => return Err(Fault::Closed.into()),
                },
            };
            workers.push(worker);
            match done {
                Ok(slices) => moved.extend(slices),
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(moved), Err)
    }
}

/// A slice after its share.
pub(super) enum Moved {
    To(HeldSlice),
    Stopped,
}

/// Whether a member with these slices can go on as before. Its checkpoints and those of others move.
fn same(now: &Held, before: &Held) -> bool {
    let rights = |held: &Held| {
        let slices = held.slices.iter();
        slices
            .map(|slice| (slice.slice, slice.epoch))
            .collect::<Vec<_>>()
    };
    now.slices.len() <= now.quota && now.total == before.total && rights(now) == rights(before)
}

/// Reads ahead of the workers, in a task that ends with this value.
struct Reading {
    batches: mpsc::Receiver<Result<EventBatch, Error>>,
    _task: JoinSet<()>,
}

impl Reading {
    fn start<S, M>(runner: &SlicedRunner<S, M>, start: Option<Bookmark>) -> Self
    where
        S: EventStore + Clone + 'static,
    {
        let progress = runner.progress.for_reader_at(Bookmark::position_of(start));
        let mut events = Subscription::new(
            runner.store.clone(),
            runner.query.clone(),
            start,
            runner.options.read,
            progress,
        );
        let (sender, batches) = mpsc::channel(1);
        let mut task = JoinSet::new();
        task.spawn(async move {
            while let Some(batch) = events.next_batch().await {
                if sender.send(batch).await.is_err() {
                    return;
                }
            }
        });
        Self {
            batches,
            _task: task,
        }
    }

    /// The next batch, not before a time.
    async fn next(&mut self, not_before: Instant) -> Result<EventBatch, Error> {
        sleep_until(not_before).await;
        // A subscription ends only after an error.
        self.batches
            .recv()
            .await
            .unwrap_or(Err(Fault::Closed.into()))
    }
}
