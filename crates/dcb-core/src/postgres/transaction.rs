//! An append inside the caller's transaction.

use postgres_store::{Bound, Column, Element};
use sqlx::postgres::{PgConnection, PgRow};
use uuid::Uuid;

use super::PostgresStore;
use super::append::found_before;
use super::error::error;
use super::parameters::Parameters;
use super::plan::Plan;
use super::recent_tags::RecentTags;
use super::request::{Request, Verdict};
use super::row;
use super::writer::decode;
use crate::{Append, Appended, Error, SequencedEvent};

impl PostgresStore {
    /// Appends as part of a transaction that the caller has begun in the log's database and commits
    /// itself. The events become visible when it commits, together with everything else it wrote,
    /// for example to an outbox or a read model.
    ///
    /// The transaction holds the log's lock from this call until it ends, and every other append to
    /// the log, by any process, waits for it. Append last, and commit at once. Appends through the
    /// queue share commits, but this append has one to itself, so all callers together get no more
    /// throughput than a single caller. The session's `lock_timeout` bounds the wait for the log's
    /// lock.
    ///
    /// This call deadlocks if the transaction that holds the log's lock waits for a lock that the
    /// caller's transaction holds. The server then aborts one of the two transactions, and it may
    /// be either.
    ///
    /// A refusal such as [`Error::Conflict`] leaves the transaction intact: roll it back or go on.
    /// The transaction may append several times; each append sees the earlier ones.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an append beyond the limits. [`Error::Conflict`],
    /// [`Error::AfterBeyondHead`], [`Error::DuplicateId`] and [`Error::AlreadyTracked`] for a refusal.
    /// [`Fault::Unreachable`](crate::Fault) after a lost connection: only the caller can find out
    /// whether the transaction was committed. [`Fault::Refused`](crate::Fault) with SQLSTATE 25000 if
    /// the transaction is not READ COMMITTED, and with other codes if the server has aborted it.
    pub async fn submit_in(
        &self,
        transaction: &mut PgConnection,
        append: Append,
    ) -> Result<Appended, Error> {
        self.shared.config.limits.check(&append)?;
        let requests = [Request::new(append)];
        let plan = Plan::new(&requests);
        let mut parameters = Parameters::default();
        // Not the writer's `RecentTags`: this transaction may still roll its events back.
        parameters.fill(&requests, &plan, &mut RecentTags::default());
        parameters.complete(&requests);
        let statement = parameters.append(&self.shared.statements);
        let rows = self.rows_in(transaction, statement).await?;
        let row = rows.first().ok_or(sqlx::Error::RowNotFound);
        let (head, refusals) = row
            .and_then(|row| decode(row, &requests, &parameters))
            .map_err(|failed| error(&failed))?;
        match plan.verdicts(&requests, head, refusals).pop() {
            Some(Verdict::Done(result)) => result,
            // A lone request is never `Again`, because no other request can defer it.
            Some(Verdict::Stored | Verdict::Again) | None => {
                let [request] = requests;
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
