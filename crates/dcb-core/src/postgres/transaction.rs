//! An append inside a transaction of the caller's.

use sqlx::postgres::{PgConnection, PgRow};
use uuid::Uuid;

use super::PostgresStore;
use super::append::found_before;
use super::batch::Batch;
use super::column::{Column, Element};
use super::commands::Commands;
use super::error::error;
use super::plan::{Plan, Settled};
use super::readers::Bound;
use super::recent::Recent;
use super::request::Request;
use super::row;
use super::writer::{answer, bind};
use crate::{Append, Appended, Error, SequencedEvent};

impl PostgresStore {
    /// Appends as part of a transaction that the caller has begun in the log's database and ends
    /// itself: the events are in the log if it commits, together with whatever else it wrote (an
    /// outbox, a read model), and are seen by nobody before.
    ///
    /// From here on the transaction holds the log's lock, so every other append to the log, by any
    /// process, waits until it ends. Append last, and commit at once: where appends through the
    /// queue share a commit, this one has its own, and a lone caller's rate is the most that all
    /// callers get. A transaction that holds locks which another appender waits for is ended by the
    /// server as a deadlock. How long to wait for the lock is the session's `lock_timeout`.
    ///
    /// A refusal ([`Error::Conflict`] and the like) leaves the transaction as it was; roll it back
    /// or go on. It may append several times; each append sees those before it.
    ///
    /// # Errors
    /// As [`EventStore::submit`](crate::EventStore::submit), but that a lost connection is
    /// [`Error::Unavailable`]: whether the transaction is committed is the caller's to know.
    /// [`Error::Database`] with SQLSTATE 25000 where the transaction is not READ COMMITTED, and
    /// others by which the server has aborted it.
    pub async fn submit_in(
        &self,
        transaction: &mut PgConnection,
        append: Append,
    ) -> Result<Appended, Error> {
        self.shared.config.limits.check(&append)?;
        let requests = [Request::new(append)];
        let plan = Plan::of(&requests);
        let (mut batch, mut commands) = (Batch::default(), Commands::default());
        batch.fill(&requests, &plan, &mut Recent::default());
        batch.complete(&requests);
        commands.fill(&requests, &plan);
        let statement = bind(&self.shared.statements, &batch, &commands);
        let rows = self.rows_in(transaction, statement).await?;
        let row = rows.first().ok_or(sqlx::Error::RowNotFound);
        let answer = row.and_then(answer).map_err(|failed| error(&failed))?;
        let [request] = requests;
        let settled = plan.settle(std::slice::from_ref(&request), &answer).pop();
        match settled {
            Some(Settled::Done(result)) => result,
            // Nothing is in the way of a request that is alone, but what is stored.
            Some(Settled::Stored | Settled::Again) | None => {
                let stored = self.events_by_id_in(transaction, &request.ids).await?;
                found_before(&request, &stored)
            }
        }
    }

    /// The events with these ids, as the transaction sees them.
    async fn events_by_id_in(
        &self,
        transaction: &mut PgConnection,
        ids: &[Uuid],
    ) -> Result<Vec<SequencedEvent>, Error> {
        let mut column = Column::new(Element::Uuid);
        ids.iter().for_each(|id| column.push(id.as_bytes()));
        let statement = sqlx::query(self.shared.statements.by_id.clone()).bind(&column);
        let rows = self.rows_in(transaction, statement).await?;
        rows.iter().map(row::event).collect()
    }

    async fn rows_in(
        &self,
        transaction: &mut PgConnection,
        statement: Bound<'_>,
    ) -> Result<Vec<PgRow>, Error> {
        let named = !self.shared.config.transaction_pooling;
        let rows = statement.persistent(named).fetch_all(transaction).await;
        rows.map_err(|failed| error(&failed))
    }
}
