//! Reads. Each is a single statement.

use postgres_store::{Bound, Column, Element};
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::PostgresStore;
use super::row;
use crate::{
    Bookmark, Category, CategoryRead, Error, GlobalPosition, Position, RecordedMessage, Settled,
    StreamName, StreamRead,
};

/// The readers of one server.
pub(super) type Readers = postgres_store::Readers<Error>;

impl PostgresStore {
    pub(super) async fn read_stream(
        &self,
        stream: &StreamName,
        read: StreamRead,
    ) -> Result<Vec<RecordedMessage>, Error> {
        let handled = read.handled;
        let statement = || {
            let sql = self.shared.statements.stream(handled.is_some());
            let statement = sqlx::query(sql)
                .bind(stream.as_str())
                .bind(number(read.position.get()))
                .bind(read.batch_size.map(number));
            bind(statement, handled)
        };
        let read = |readers| self.checked(readers, handled, &statement);
        self.readers()?.read(read).await
    }

    pub(super) async fn read_category(
        &self,
        category: &Category,
        read: &CategoryRead,
    ) -> Result<Vec<RecordedMessage>, Error> {
        if category.is_all() {
            return self.read_all(read).await;
        }
        let correlation = (!read.correlation.is_all()).then_some(read.correlation.as_str());
        let (group, handled) = (read.consumer_group, read.handled);
        let sql = &self.shared.statements;
        let sql = sql.category(correlation.is_some(), group.is_some(), handled.is_some());
        let statement = || {
            let mut statement = sqlx::query(sql.clone())
                .bind(category.as_str())
                .bind(number(read.position.get()))
                .bind(read.batch_size.map(number));
            if let Some(correlation) = correlation {
                statement = statement.bind(correlation);
            }
            if let Some(group) = group {
                statement = statement.bind(i64::from(group.member()));
                statement = statement.bind(i64::from(group.size()));
            }
            bind(statement, handled)
        };
        // After a page that is not full, the subscription of a group member skips to the head. The
        // head comes from the primary, so the page must too.
        let read = |readers| self.checked(readers, handled, &statement);
        match group {
            Some(_) => self.readers()?.on_primary(read).await,
            None => self.readers()?.read(read).await,
        }
    }

    async fn read_all(&self, read: &CategoryRead) -> Result<Vec<RecordedMessage>, Error> {
        let correlation = (!read.correlation.is_all()).then_some(read.correlation.as_str());
        let handled = read.handled;
        let statement = || {
            let sql = self.shared.statements.all(handled.is_some());
            let statement = sqlx::query(sql)
                .bind(number(read.position.get()))
                .bind(read.batch_size.map(number))
                .bind(correlation)
                .bind(read.consumer_group.map(|group| i64::from(group.member())))
                .bind(read.consumer_group.map(|group| i64::from(group.size())));
            bind(statement, handled)
        };
        // Advisory locks are not replicated, so only the primary knows the writes in progress.
        let read = |readers| self.checked(readers, handled, &statement);
        self.readers()?.on_primary(read).await
    }

    pub(super) async fn read_last(
        &self,
        stream: &StreamName,
        message_type: Option<&str>,
    ) -> Result<Option<RecordedMessage>, Error> {
        let readers = self.readers()?;
        // No type contains a NUL, and PostgreSQL would reject the parameter.
        if message_type.is_some_and(|message_type| message_type.contains('\0')) {
            return Ok(None);
        }
        let sql = &self.shared.statements;
        let statement = || match message_type {
            None => sqlx::query(sql.last.clone()).bind(stream.as_str()),
            Some(message_type) => sqlx::query(sql.last_of_type.clone())
                .bind(stream.as_str())
                .bind(message_type),
        };
        let read = |readers| self.messages(readers, statement);
        let messages = readers.read(read).await?;
        Ok(messages.into_iter().next())
    }

    pub(super) async fn read_version(
        &self,
        stream: &StreamName,
    ) -> Result<Option<Position>, Error> {
        let sql = &self.shared.statements.version;
        let statement = || sqlx::query(sql.clone()).bind(stream.as_str());
        let readers = self.readers()?;
        let rows = readers.read(|readers| readers.rows(statement)).await?;
        // Counts as a read that returned no messages.
        self.shared.counters.read(0);
        let version = rows.first().map(|row| row::number(row, 0)).transpose()?;
        Ok(version.map(Position::new))
    }

    pub(super) async fn read_head(&self) -> Result<Option<Bookmark>, Error> {
        let statement = || sqlx::query(self.shared.statements.head.clone());
        let rows = self.rows(statement).await?;
        let Some(head) = position(&rows)? else {
            return Ok(None);
        };
        let id = rows.first().map(|row| row::optional_id(row, 1));
        let id = id.transpose()?.flatten();
        Ok(id.map(|id| Bookmark::new(head, id)))
    }

    pub(super) async fn read_settled(&self) -> Result<Option<Settled>, Error> {
        let statement = || sqlx::query(self.shared.statements.settled.clone());
        let rows = self.rows(statement).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let (drawn, horizon) = (row::number(row, 0)?, row::number(row, 1)?);
        if horizon < drawn {
            return Ok(None);
        }
        let position = row::optional_number(row, 2)?.map(GlobalPosition::new);
        let head = position.zip(row::optional_id(row, 3)?);
        let settled = Settled {
            drawn: GlobalPosition::new(drawn),
            head: head.map(|(position, id)| Bookmark::new(position, id)),
        };
        self.replicated(settled, row::number(row, 4)?)
    }

    /// The stored messages with these ids. Reads the primary, as a replica may lack them.
    pub(super) async fn messages_by_id(&self, ids: &[Uuid]) -> Result<Vec<RecordedMessage>, Error> {
        let mut column = Column::new(Element::Uuid);
        ids.iter().for_each(|id| column.push(id.as_bytes()));
        let statement = || sqlx::query(self.shared.statements.by_id.clone()).bind(&column);
        let read = |readers| self.messages(readers, &statement);
        self.readers()?.on_primary(read).await
    }

    /// The rows of a statement at the primary. The statement may be sent twice.
    pub(super) async fn rows(
        &self,
        statement: impl Fn() -> Bound<'static>,
    ) -> Result<Vec<PgRow>, Error> {
        let all = self.readers()?;
        all.on_primary(|readers| readers.rows(&statement)).await
    }

    /// Reads messages, and checks the place of the reader.
    async fn checked(
        &self,
        readers: &Readers,
        handled: Option<Bookmark>,
        statement: &impl Fn() -> Bound<'static>,
    ) -> Result<Vec<RecordedMessage>, Error> {
        let Some(handled) = handled else {
            return self.messages(readers, statement).await;
        };
        let rows = readers.rows(statement).await?;
        let mut messages = Vec::with_capacity(rows.len());
        for row in &rows {
            if row::is_missing(row)? {
                row::check_place(row, handled)?;
            } else {
                messages.push(row::message(row)?);
            }
        }
        self.shared.counters.read(messages.len());
        Ok(messages)
    }

    async fn messages(
        &self,
        readers: &Readers,
        statement: impl Fn() -> Bound<'static>,
    ) -> Result<Vec<RecordedMessage>, Error> {
        let rows = readers.rows(statement).await?;
        self.shared.counters.read(rows.len());
        rows.iter().map(row::message).collect()
    }
}

/// Binds the place of the reader, if it is checked.
fn bind(statement: Bound<'static>, handled: Option<Bookmark>) -> Bound<'static> {
    match handled {
        Some(handled) => statement
            .bind(number(handled.position.get()))
            .bind(handled.message_id.map(|id| id.to_string())),
        None => statement,
    }
}

/// The global position in the first row, `None` for NULL or no row.
pub(super) fn position(rows: &[PgRow]) -> Result<Option<GlobalPosition>, Error> {
    let position = rows.first().map(|row| row::optional_number(row, 0));
    Ok(position.transpose()?.flatten().map(GlobalPosition::new))
}

/// Converts a number for PostgreSQL. Larger numbers are capped; no message has such a position
/// anyway.
pub(super) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
