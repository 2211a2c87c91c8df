//! Imports messages recorded by another store.

use std::collections::{HashMap, HashSet};

use postgres_store::Element::{Int8, Text, Timestamp, Uuid as Id};
use postgres_store::{Bound, Column};
use sqlx::SqlStr;
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::PostgresStore;
use super::error::error;
use super::json::problem;
use super::read::{number, position};
use super::row::{self, POSTGRES_EPOCH_US};
use super::schema::lock_key;
use crate::text::invalid;
use crate::{Error, Fault, GlobalPosition, Position, RecordedMessage, same_json};

impl PostgresStore {
    pub(super) async fn import(&self, messages: &[RecordedMessage]) -> Result<u64, Error> {
        self.readers()?; // fails if the store is closed
        check_json(messages, self.shared.config.limits.max_message_bytes)?;
        // This connection has no statement timeout, because an import may wait long for other
        // writers.
        let (mut connection, watch) = self.shared.config.administrator::<Error>().await?;
        let writing = async {
            let begun = watch.begin(&mut connection).await;
            let mut transaction = begun.map_err(|failed| error(&failed))?;
            self.lock_out_writers(&mut transaction, messages).await?;
            let stored = self.stored(&mut transaction, messages).await?;
            let new = stored.new_messages(messages)?;
            if let Some(last) = new.last() {
                let last = number(last.global_position().get());
                self.insert(&mut transaction, &new).await?;
                let advance = sqlx::query(self.shared.statements.set_last_position.clone());
                run(advance.bind(last), &mut transaction).await?;
            }
            Ok::<_, Error>((transaction, new))
        };
        let (transaction, new) = watch.over(writing).await?;
        let committing = async { transaction.commit().await.map_err(|failed| error(&failed)) };
        let committed = watch.over(committing).await;
        committed.map_err(|failed| commit_error(failed, &new))?;
        self.shared.notifier.notify();
        Ok(new.len() as u64)
    }

    /// Locks out all other writers until the end of the transaction. Locks the categories first, as
    /// every write does, and then the table. Without the table lock, a writer of another category
    /// could draw a global position that this import inserts.
    async fn lock_out_writers(
        &self,
        connection: &mut PgConnection,
        messages: &[RecordedMessage],
    ) -> Result<(), Error> {
        let categories: HashSet<&str> = messages.iter().map(RecordedMessage::category).collect();
        let mut keys = Column::new(Int8);
        for category in categories {
            keys.push_int8(lock_key(&self.shared.schema, category));
        }
        let statements = &self.shared.statements;
        let locks = sqlx::query(statements.acquire_locks.clone()).bind(&keys);
        run(locks, connection).await?;
        run(sqlx::query(statements.lock_table.clone()), connection).await
    }

    async fn stored(
        &self,
        connection: &mut PgConnection,
        messages: &[RecordedMessage],
    ) -> Result<Stored, Error> {
        let statements = &self.shared.statements;
        let mut ids = Column::new(Id);
        let mut positions = Column::new(Int8);
        let mut names = Column::new(Text);
        let streams: HashSet<&str> = messages.iter().map(RecordedMessage::stream_name).collect();
        let streams: Vec<&str> = streams.into_iter().collect();
        for message in messages {
            ids.push(message.id().as_bytes());
            positions.push_int8(number(message.global_position().get()));
        }
        streams.iter().for_each(|name| names.push(name.as_bytes()));
        let by_id = self.select(connection, &statements.by_id, &ids).await?;
        let by_position = self
            .select(connection, &statements.by_position, &positions)
            .await?;
        let versions = sqlx::query(statements.versions.clone())
            .persistent(false)
            .bind(&names)
            .fetch_all(&mut *connection)
            .await
            .map_err(|failed| error(&failed))?;
        let mut version_by_stream = HashMap::new();
        for (name, version) in streams.into_iter().zip(&versions) {
            let version = row::optional_number(version, 0)?.map(Position::new);
            version_by_stream.insert(name.to_owned(), version);
        }
        let head = sqlx::query(statements.last_position.clone())
            .persistent(false)
            .fetch_all(connection)
            .await
            .map_err(|failed| error(&failed))?;
        Ok(Stored {
            head: position(&head)?.unwrap_or(GlobalPosition::new(0)),
            versions: version_by_stream,
            ids: by_id.iter().map(RecordedMessage::id).collect(),
            messages: by_position
                .into_iter()
                .map(|message| (message.global_position(), message))
                .collect(),
        })
    }

    async fn select(
        &self,
        connection: &mut PgConnection,
        sql: &SqlStr,
        keys: &Column,
    ) -> Result<Vec<RecordedMessage>, Error> {
        let rows = sqlx::query(sql.clone()).persistent(false).bind(keys);
        let rows = rows.fetch_all(connection).await;
        let rows = rows.map_err(|failed| error(&failed))?;
        rows.iter().map(row::message).collect()
    }

    async fn insert(
        &self,
        connection: &mut PgConnection,
        messages: &[&RecordedMessage],
    ) -> Result<(), Error> {
        let mut columns = [Id, Text, Text, Int8, Int8, Text, Text, Timestamp].map(Column::new);
        for message in messages {
            let [
                id,
                stream,
                kind,
                position,
                global_position,
                data,
                metadata,
                time,
            ] = &mut columns;
            id.push(message.id().as_bytes());
            stream.push(message.stream_name().as_bytes());
            kind.push(message.message_type().as_bytes());
            position.push_int8(number(message.position().get()));
            global_position.push_int8(number(message.global_position().get()));
            data.push(message.data_json().as_bytes());
            metadata.push_optional_text(message.metadata_json());
            time.push_int8(message.time_us().saturating_sub(POSTGRES_EPOCH_US));
        }
        let statement = sqlx::query(self.shared.statements.import.clone());
        let statement = columns
            .iter()
            .fold(statement, |bound, column| bound.bind(column));
        run(statement, connection).await
    }
}

/// Rejects JSON that the `jsonb` columns can't store and return.
fn check_json(messages: &[RecordedMessage], max_bytes: usize) -> Result<(), Error> {
    for (index, message) in messages.iter().enumerate() {
        let fields = [
            ("data", Some(message.data_json())),
            ("metadata", message.metadata_json()),
        ];
        for (field, text) in fields {
            if let Some(problem) = text.and_then(|text| problem(text, max_bytes)) {
                return Err(invalid(format!("messages[{index}].{field}"))(problem));
            }
        }
    }
    Ok(())
}

async fn run(statement: Bound<'_>, connection: &mut PgConnection) -> Result<(), Error> {
    let done = statement.persistent(false).execute(connection).await;
    done.map(|_| ()).map_err(|failed| error(&failed))
}

/// The error of a failed commit. If the connection was lost, the messages may be stored.
fn commit_error(failed: Error, new: &[&RecordedMessage]) -> Error {
    match failed {
        Error::Fault(Fault::Unreachable(_)) => Error::OutcomeUnknown {
            ids: new.iter().map(|message| message.id()).collect(),
        },
        failed => failed,
    }
}

/// The stored state that an import is checked against.
struct Stored {
    /// 0 for an empty store.
    head: GlobalPosition,
    versions: HashMap<String, Option<Position>>,
    ids: HashSet<Uuid>,
    messages: HashMap<GlobalPosition, RecordedMessage>,
}

impl Stored {
    /// Returns the messages that are not stored yet, after checking that each one fits after the
    /// stored messages.
    fn new_messages(
        mut self,
        messages: &[RecordedMessage],
    ) -> Result<Vec<&RecordedMessage>, Error> {
        let mut new = Vec::new();
        for message in messages {
            let global_position = message.global_position();
            if global_position <= self.head {
                // The message may also be a repetition within the import. `new` is sorted, because
                // each new message has a greater global position than the previous one.
                let stored = self.messages.get(&global_position).or_else(|| {
                    let found = new
                        .binary_search_by_key(&global_position, |new: &&RecordedMessage| {
                            new.global_position()
                        });
                    found.ok().map(|index| new[index])
                });
                if !stored.is_some_and(|stored| is_same(stored, message)) {
                    return Err(conflict(
                        message,
                        "the head is at or after this global position",
                    ));
                }
                continue;
            }
            self.append(message)?;
            new.push(message);
        }
        Ok(new)
    }

    fn append(&mut self, message: &RecordedMessage) -> Result<(), Error> {
        let version = self.versions.entry(message.stream_name().to_owned());
        let version = version.or_default();
        if version.is_some_and(|version| version.next() != message.position()) {
            let version = Position::number_or_minus_one(*version);
            return Err(conflict(
                message,
                format!("its stream is at position {version}"),
            ));
        }
        if !self.ids.insert(message.id()) {
            return Err(conflict(message, format!("id {} is taken", message.id())));
        }
        let positions = [message.position().get(), message.global_position().get()];
        if positions
            .iter()
            .any(|position| *position >= i64::MAX as u64)
        {
            return Err(conflict(message, "no 63-bit position follows its position"));
        }
        *version = Some(message.position());
        self.head = message.global_position();
        Ok(())
    }
}

fn is_same(stored: &RecordedMessage, message: &RecordedMessage) -> bool {
    stored.id() == message.id()
        && stored.stream_name() == message.stream_name()
        && stored.position() == message.position()
        && stored.message_type() == message.message_type()
        && stored.time_us() == message.time_us()
        && same_json(stored.data_json(), message.data_json())
        && match (stored.metadata_json(), message.metadata_json()) {
            (Some(stored), Some(other)) => same_json(stored, other),
            (stored, other) => stored == other,
        }
}

fn conflict(message: &RecordedMessage, reason: impl Into<String>) -> Error {
    Error::ImportConflict {
        global_position: message.global_position(),
        reason: reason.into().into(),
    }
}
