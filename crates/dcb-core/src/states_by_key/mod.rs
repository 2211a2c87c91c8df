//! Read models without SQL: a projection folds the events of each key, and the states are rows of one table.
//!
//! [`StatesByKey`] is a handler of both databases, so that the runners, the checkpoints and the versions are
//! those of every read model. `postgres/states_by_key.rs` and `sqlite/states_by_key.rs` have the statements.
//! Tested by `tests/it/states_by_key/`.

mod reader;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use reader::StateReader;
pub(crate) use reader::StateRows;

use crate::text::{check_content, invalid};
use crate::{
    Error, HandlerError, Problem, Projection, Query, SequencedEvent, SliceKey, StoredFold,
};

/// A read model without SQL: the state of each key, as JSON in a table. It is the handler of a read model in
/// PostgreSQL or SQLite, and [`StateReader`] reads the states.
///
/// ```
/// # #[cfg(feature = "sqlite")] mod example {
/// use std::sync::{Arc, Mutex};
///
/// use dcb_core::sqlite::SqliteReadModel;
/// use dcb_core::{Event, EventStore, MemoryStore, ProjectionRunner, Projector};
/// use dcb_core::{SliceKey, StateReader, StatesByKey};
/// use rusqlite::Connection;
///
/// # #[tokio::main]
/// # pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let taken = Projector::builder(0_u32)
///     .on("EnrollmentCompleted", |taken, _| *taken += 1)
///     .on("EnrollmentCancelled", |taken, _| *taken -= 1)
///     .build()?;
/// let states = StatesByKey::new("seats_taken_1", SliceKey::tag("course_id"), taken)?;
///
/// let store = MemoryStore::new();
/// store.append(Event::builder("EnrollmentCompleted").tag("course_id:c1").build()?).await?;
/// let tables = Arc::new(Mutex::new(Connection::open_in_memory()?));
/// let model = SqliteReadModel::on_connection(tables.clone(), "seats taken", states.clone())?;
/// ProjectionRunner::new(store, states.query(), model).catch_up().await?;
///
/// let reader = StateReader::on_connection(tables, &states);
/// assert_eq!(reader.get("c1").await?, 1);
/// assert_eq!(reader.get("c2").await?, 0);
/// # Ok(()) }
/// # }
/// # #[cfg(feature = "sqlite")] example::main()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The first batch creates the table. It has two columns: `key`, and `state` with the state's JSON text.
/// In PostgreSQL the table is in the first schema of the connection's `search_path`, and `state` has the type
/// `json`. A state that equals the initial one has no row, so a fold deletes what it resets.
///
/// A batch costs one read and one write of its keys' states, however many events it has. On PostgreSQL that is
/// five round trips. The JSON must hold the whole state. A float that is not finite ends the run, and a field
/// that serde skips is lost.
///
/// Only one batch at a time may change a key. One [`ProjectionRunner`](crate::ProjectionRunner) sees to it. Give a
/// [`SlicedRunner`](crate::SlicedRunner) the [key](Self::key) of the states.
///
/// After a change of the fold, give the table another name and the projection another name or version:
/// the states are folded from the start of the log.
#[derive(Clone)]
pub struct StatesByKey<S> {
    table: String,
    key: SliceKey,
    query: Query,
    fold: StoredFold,
    initial: S,
    /// The JSON text of the initial state.
    initial_text: Option<String>,
}

/// The events of each key, in order.
pub(crate) type ByKey<'e> = BTreeMap<String, Vec<&'e SequencedEvent>>;

impl<S> StatesByKey<S>
where
    S: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    /// The states that `projection` folds of the events of each key, in this table. The table's name has 1 to 63
    /// lower-case letters, digits and underscores. It begins with a letter, and not with `dcb_`, `pg_` or
    /// `sqlite_`.
    ///
    /// Each event must have one key, of at most 2,600 bytes and without a NUL character. An event that the
    /// projection's query does not match is ignored.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `table`, or that of [`Projection::check`].
    pub fn new<P>(table: impl Into<String>, key: SliceKey, projection: P) -> Result<Self, Error>
    where
        P: Projection<State = S> + 'static,
    {
        let table = table.into();
        check_table(&table).map_err(invalid("table"))?;
        projection.check()?;
        let (query, initial) = (projection.reads().boundary(), projection.initial());
        let fold = StoredFold::new(projection);
        Ok(Self {
            initial_text: fold.begin().text(),
            table,
            key,
            query,
            fold,
            initial,
        })
    }
}

impl<S> StatesByKey<S> {
    /// The events that the states depend on, for the runner.
    pub fn query(&self) -> Query {
        self.query.clone()
    }

    /// The key, for a [`SlicedRunner`](crate::SlicedRunner).
    pub fn key(&self) -> SliceKey {
        self.key.clone()
    }

    /// The name of the table.
    #[cfg(feature = "sqlite")]
    pub(crate) fn table(&self) -> &str {
        &self.table
    }

    /// The name of the table in SQL.
    pub(crate) fn quoted(&self) -> String {
        format!("\"{}\"", self.table)
    }

    /// The events of each key.
    pub(crate) fn by_key<'e>(&self, events: &'e [SequencedEvent]) -> Result<ByKey<'e>, Error> {
        let mut by_key = ByKey::new();
        for event in events.iter().filter(|event| self.query.matches(event)) {
            let key = self.key.key(event)?;
            check_key(&key).map_err(invalid("key"))?;
            by_key.entry(key).or_default().push(event);
        }
        Ok(by_key)
    }

    /// Folds events of a key into its state before them. Returns `None` for the initial state.
    pub(crate) fn fold(
        &self,
        key: &str,
        before: Option<&str>,
        events: &[&SequencedEvent],
    ) -> Result<Option<String>, HandlerError> {
        let unusable = |why| format!("the state of {key:?} in the table {} {why}", self.table);
        let mut folding = match before {
            Some(text) => self
                .fold
                .resume(text)
                .ok_or_else(|| unusable("has another form: use another table for another fold"))?,
            None => self.fold.begin(),
        };
        for event in events {
            folding.apply(event)?;
        }
        let text = folding.text();
        let text = text.ok_or_else(|| unusable("can't be told in JSON"))?;
        Ok(Some(text).filter(|text| Some(text) != self.initial_text.as_ref()))
    }
}

fn check_table(name: &str) -> Result<(), Problem> {
    const MAX_CHARS: usize = 63;
    check_content(name, MAX_CHARS)?;
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_plain =
        name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_allowed);
    let reserved = ["dcb_", "pg_", "sqlite_"];
    if !is_plain {
        let form = "use lower-case letters, digits and underscores, with a letter at the beginning";
        return Err(Problem::malformed(form));
    }
    match reserved.into_iter().find(|prefix| name.starts_with(prefix)) {
        Some(prefix) => Err(Problem::malformed(format!("{prefix} is reserved"))),
        None => Ok(()),
    }
}

/// An index of PostgreSQL has no longer keys.
fn check_key(key: &str) -> Result<(), Problem> {
    const MAX_BYTES: usize = 2_600;
    match key.len() > MAX_BYTES {
        true => Err(Problem::TooLarge {
            max: MAX_BYTES as u64,
            actual: key.len() as u64,
        }),
        false => check_content(key, MAX_BYTES),
    }
}

impl<S> fmt::Debug for StatesByKey<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StatesByKey")
            .field("table", &self.table)
            .field("key", &self.key)
            .field("query", &self.query)
            .finish_non_exhaustive()
    }
}
