//! The state of rows that append: a store on the row's log, and events that nobody else makes.

use super::log::{Log, Store};
use super::rows;
use bench::{AsyncOp, BoxError, Op, Outcome};
use course_enrollment::workload::Workload;
use dcb_core::{AppendCondition, Appended, Error, Event, EventStore as _, Position};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A store that appends, and what the calls of an op share.
pub(crate) struct Appender {
    pub(crate) store: Store,
    /// What another process would have.
    other: Option<Store>,
    pub(crate) workload: Workload,
    /// What all calls of an op append or ask for, where they contend.
    shared: Mutex<Option<(Event, AppendCondition)>>,
    /// The last position, as far as the store was told: nobody else appends to the log but `other`.
    head: AtomicU64,
}

impl Appender {
    /// A set-up on a new log with the log's content.
    pub(crate) fn renewing(log: &Log) -> AsyncOp<Self> {
        let log = log.clone();
        Op::setup(move || {
            let log = log.clone();
            async move { Self::on(Store::connect(log.renewed().await?).await?).await }
        })
    }

    /// As [`renewing`](Self::renewing), and before each op another process appends an event, which
    /// is not part of the op.
    pub(crate) fn alternating(log: &Log) -> AsyncOp<Self> {
        let log = log.clone();
        let setup = move || {
            let log = log.clone();
            async move {
                let database = log.renewed().await?;
                let other = Some(Store::connect(database.clone()).await?);
                Ok(Self {
                    other,
                    ..Self::on(Store::connect(database).await?).await?
                })
            }
        };
        Op::setup(setup).before(|appender: Arc<Self>, _op| async move {
            let other = appender.other.as_ref().ok_or("there is no other store")?;
            other.events.append(appender.workload.course()).await?;
            Ok(())
        })
    }

    /// A set-up on the log as it is.
    pub(crate) fn growing(log: &Log) -> AsyncOp<Self> {
        let log = log.clone();
        Op::setup(move || {
            let log = log.clone();
            async move { Self::on(Store::connect(log.database().await?).await?).await }
        })
    }

    async fn on(store: Store) -> Result<Self, BoxError> {
        let head = Position::number_or_zero(store.events.head().await?);
        Ok(Self {
            store,
            other: None,
            workload: rows::workload(),
            shared: Mutex::default(),
            head: AtomicU64::new(head),
        })
    }

    /// So many events for one call, as published: a course, or ten of all types.
    pub(crate) fn events(&self, count: usize) -> Vec<Event> {
        match count {
            1 => vec![self.workload.course()],
            _ => self.workload.events(count),
        }
    }

    /// A course for all calls of the next op, and the condition that it is not there.
    pub(crate) fn share_course(&self) -> (Event, AppendCondition) {
        let shared = self.workload.course_and_condition();
        *self.shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(shared.clone());
        shared
    }

    /// What [`share_course`](Self::share_course) made last.
    pub(crate) fn shared(&self) -> Result<(Event, AppendCondition), BoxError> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.clone().ok_or_else(|| "no course is shared".into())
    }

    /// Keeps where the log ends now, for [`behind_head`](Self::behind_head). To ask the server before
    /// an op would leave it with colder caches than the op's floor finds.
    pub(crate) fn saw(&self, appended: &Appended) {
        self.head
            .fetch_max(appended.last().get(), Ordering::Relaxed);
    }

    /// The position so many events behind the last that was appended.
    pub(crate) fn behind_head(&self, events: u64) -> Option<Position> {
        Position::new(self.head.load(Ordering::Relaxed).saturating_sub(events))
    }
}

/// A conflict is a refusal, any other error ends the run.
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
