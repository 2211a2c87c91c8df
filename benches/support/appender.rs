//! The state of rows that append: a store on the row's log, and a source of unique events.

use super::log::{Log, Store};
use super::rows;
use bench::{AsyncOp, BoxError, Op, Outcome};
use course_enrollment::workload::Workload;
use dcb_core::{AppendCondition, Appended, Error, Event, EventStore as _, Position};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A store that appends, and the state that the calls of an op share.
pub(crate) struct Appender {
    pub(crate) store: Store,
    /// Stands for another process that appends to the same log.
    other: Option<Store>,
    pub(crate) workload: Workload,
    /// The course and condition that all calls of an op use, if the calls contend.
    shared: Mutex<Option<(Event, AppendCondition)>>,
    /// The last position that the store returned. Only the store and `other` append to the log.
    head: AtomicU64,
}

impl Appender {
    /// A set-up on a fresh copy of the log.
    pub(crate) fn renewing(log: &Log) -> AsyncOp<Self> {
        Op::given(log, |log| async move {
            Self::on(Store::connect(log.renewed().await?).await?).await
        })
    }

    /// Like [`renewing`](Self::renewing), and another process appends an event before each op. The
    /// op does not include that append.
    pub(crate) fn alternating(log: &Log) -> AsyncOp<Self> {
        let op = Op::given(log, |log| async move {
            let database = log.renewed().await?;
            let other = Some(Store::connect(database.clone()).await?);
            Ok(Self {
                other,
                ..Self::on(Store::connect(database).await?).await?
            })
        });
        op.before(|appender: Arc<Self>, _op| async move {
            let other = appender.other.as_ref().ok_or("there is no other store")?;
            other.events.append(appender.workload.course()).await?;
            Ok(())
        })
    }

    /// A set-up on the log as it is.
    pub(crate) fn growing(log: &Log) -> AsyncOp<Self> {
        Op::given(log, |log| async move {
            Self::on(Store::connect(log.database().await?).await?).await
        })
    }

    async fn on(store: Store) -> Result<Self, BoxError> {
        let head = store
            .events
            .head()
            .await?
            .map_or(0, |head| head.position.get());
        Ok(Self {
            store,
            other: None,
            workload: rows::workload(),
            shared: Mutex::default(),
            head: AtomicU64::new(head),
        })
    }

    /// The events of one call, as published: one course, or a mixture of all types.
    pub(crate) fn events(&self, count: usize) -> Vec<Event> {
        match count {
            1 => vec![self.workload.course()],
            _ => self.workload.events(count),
        }
    }

    /// Makes a course for all calls of the next op, with the condition that it is not in the log.
    pub(crate) fn share_course(&self) -> (Event, AppendCondition) {
        let shared = self.workload.course_and_condition();
        *self.shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(shared.clone());
        shared
    }

    /// The last result of [`share_course`](Self::share_course).
    pub(crate) fn shared(&self) -> Result<(Event, AppendCondition), BoxError> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.clone().ok_or_else(|| "no course is shared".into())
    }

    /// Remembers the end of the log for [`behind_head`](Self::behind_head). A read of the head
    /// before each op would disturb the caches, but only for the row and not for its floor.
    pub(crate) fn observe(&self, appended: &Appended) {
        self.head
            .fetch_max(appended.last().get(), Ordering::Relaxed);
    }

    /// The position `events` events before the last appended one.
    pub(crate) fn behind_head(&self, events: u64) -> Option<Position> {
        Position::new(self.head.load(Ordering::Relaxed).saturating_sub(events))
    }
}

/// Maps a conflict to a refusal. Any other error ends the run.
pub(crate) fn outcome(appended: Result<Appended, Error>) -> Result<Outcome, BoxError> {
    match appended {
        Ok(appended) => {
            std::hint::black_box(appended);
            Ok(Outcome::Success)
        }
        Err(Error::Conflict { .. }) => Ok(Outcome::Refused),
        Err(error) => Err(error.into()),
    }
}
