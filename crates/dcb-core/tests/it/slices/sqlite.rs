//! The projection `seen` in a SQLite file beside the log's.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dcb_core::sqlite::{Config, Handler, Projections, SlicedReadModel, SqliteStore, Transaction};
use dcb_core::{Error, HandlerError, ProjectionStatus, SequencedEvent, SetAside, SlicedModel as _};
use rusqlite::Connection;
use tempfile::TempDir;

use super::ground::{ByKey, Ground, LIMIT};
use crate::support::backend::Address;

#[derive(Clone)]
pub(super) struct Seen {
    version: u32,
}

fn add(
    transaction: &Transaction<'_>,
    table: &str,
    events: &[SequencedEvent],
) -> Result<(), HandlerError> {
    let insert = format!("INSERT INTO {table} (key, position) VALUES (?1, ?2)");
    for event in events {
        let key = event.tag_value("course");
        transaction.execute(&insert, (key, event.position().get() as i64))?;
    }
    Ok(())
}

impl Handler for Seen {
    fn handle(
        &mut self,
        transaction: &Transaction<'_>,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        add(transaction, &format!("seen_{}", self.version), events)?;
        for event in events {
            let refused = "SELECT EXISTS (SELECT 1 FROM refused WHERE position = ?1)";
            let position = [event.position().get() as i64];
            if transaction.query_row(refused, position, |row| row.get(0))? {
                return Err("refused".into());
            }
        }
        Ok(())
    }

    fn react(
        &mut self,
        transaction: &Transaction<'_>,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        add(transaction, "reacted", events)
    }

    fn make_current(&mut self, transaction: &Transaction<'_>) -> Result<(), HandlerError> {
        let view = format!(
            "DROP VIEW IF EXISTS seen; CREATE VIEW seen AS SELECT * FROM seen_{}",
            self.version
        );
        transaction.execute_batch(&view)?;
        Ok(())
    }

    fn reset(&mut self, transaction: &Transaction<'_>) -> Result<(), HandlerError> {
        transaction.execute(&format!("DELETE FROM seen_{}", self.version), [])?;
        Ok(())
    }
}

/// A log, and a file of tables beside it.
#[derive(Clone)]
pub(super) struct Sqlite {
    store: SqliteStore,
    folder: PathBuf,
    /// Removes the folder.
    _made: Option<Arc<TempDir>>,
}

impl Sqlite {
    /// The log and the tables in a folder.
    pub(super) async fn at(folder: &Path) -> Self {
        Self {
            store: open(folder).await,
            folder: folder.to_owned(),
            _made: None,
        }
    }

    fn tables(&self) -> PathBuf {
        self.folder.join("tables.db")
    }

    fn connection(&self) -> Connection {
        let connection = Connection::open(self.tables()).unwrap();
        connection.busy_timeout(LIMIT).unwrap();
        connection
    }

    fn projections(&self) -> Projections {
        Projections::new(Config::file(self.tables())).unwrap()
    }
}

async fn open(folder: &Path) -> SqliteStore {
    let log = Config::file(folder.join("log.db"));
    SqliteStore::open(log).await.unwrap()
}

fn sql(sql: &str) -> String {
    sql.replace("@projection", "dcb_projection")
        .replace('@', "")
}

impl Ground for Sqlite {
    type Store = SqliteStore;
    type Model = SlicedReadModel<Seen>;

    async fn new() -> Self {
        let made = Arc::new(tempfile::tempdir().unwrap());
        let ground = Self {
            _made: Some(Arc::clone(&made)),
            ..Self::at(made.path()).await
        };
        let columns = "(ordinal INTEGER PRIMARY KEY AUTOINCREMENT, key, position)";
        let tables = format!(
            "PRAGMA journal_mode = WAL; CREATE TABLE seen_1 {columns}; CREATE TABLE seen_2 {columns}; \
             CREATE TABLE reacted {columns}; CREATE TABLE refused (position)"
        );
        ground.run(&tables).await;
        // Creates the tables of checkpoints.
        assert_eq!(ground.list().await, []);
        ground
    }

    fn store(&self) -> &SqliteStore {
        &self.store
    }

    async fn connect(&self) -> SqliteStore {
        open(&self.folder).await
    }

    fn model(&self, version: u32) -> SlicedReadModel<Seen> {
        let config = Config::file(self.tables());
        SlicedReadModel::new(config, "seen", version, Seen { version }).unwrap()
    }

    async fn run(&self, text: &str) {
        self.connection().execute_batch(&sql(text)).unwrap();
    }

    async fn number(&self, text: &str) -> i64 {
        let number = |row: &rusqlite::Row<'_>| row.get(0);
        let found = self.connection().query_row(&sql(text), [], number);
        found.unwrap()
    }

    async fn of_table(&self, table: &str) -> ByKey {
        let connection = self.connection();
        let select = format!("SELECT key, position FROM {table} ORDER BY ordinal");
        let mut select = connection.prepare(&select).unwrap();
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)));
        let mut found = ByKey::new();
        for row in rows.unwrap() {
            let (key, position) = row.unwrap();
            let positions = found.entry(key).or_default();
            positions.push(position.unsigned_abs());
        }
        found
    }

    async fn list(&self) -> Vec<ProjectionStatus> {
        self.projections().list().await.unwrap()
    }

    async fn resume(&self) {
        self.projections().resume("seen", 1).await.unwrap();
    }

    async fn set_aside(&self) -> Vec<SetAside> {
        self.projections().set_aside("seen", 1).await.unwrap()
    }

    async fn resize(&self, version: u32, slices: u32, limit: Duration) -> Result<(), Error> {
        let mut projections = self.projections();
        projections.resize("seen", version, slices, limit).await
    }

    async fn replay(&self, key: &str) -> Result<u64, Error> {
        self.model(1).replay(&self.store, key).await
    }

    async fn promote(&self, version: u32, limit: Duration) -> Result<(), Error> {
        self.model(version).promote(limit).await
    }

    async fn take_over(&self, version: u32, limit: Duration) -> Result<(), Error> {
        self.model(version).take_over(limit).await
    }

    async fn discard(&self, version: u32) {
        self.model(version).discard().await.unwrap();
    }

    fn address(&self) -> Address {
        Address::Sqlite {
            path: self.folder.clone(),
        }
    }
}
