use rusqlite::Connection;

use super::statements;

/// A transaction. Dropping it without a commit rolls it back.
pub(super) struct Transaction<'c>(&'c Connection);

impl<'c> Transaction<'c> {
    /// Begins a write transaction and takes the file's write lock.
    pub(super) fn begin(connection: &'c Connection) -> rusqlite::Result<Self> {
        Self::start(connection, statements::BEGIN)
    }

    /// Begins a read transaction. From its first read on, all reads see the same snapshot.
    pub(super) fn snapshot(connection: &'c Connection) -> rusqlite::Result<Self> {
        Self::start(connection, statements::BEGIN_SNAPSHOT)
    }

    fn start(connection: &'c Connection, statement: &str) -> rusqlite::Result<Self> {
        connection.prepare_cached(statement)?.raw_execute()?;
        Ok(Self(connection))
    }

    /// Commits. If that fails, `drop` rolls back.
    pub(super) fn commit(self) -> rusqlite::Result<()> {
        self.0
            .prepare_cached(statements::COMMIT)?
            .raw_execute()
            .map(drop)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // Autocommit means that the transaction has ended, or that SQLite rolled it back by itself.
        if !self.0.is_autocommit() {
            // `drop` can't return an error. If the rollback fails, the next BEGIN fails and reports
            // it.
            let _ = self.0.execute_batch(statements::ROLLBACK);
        }
    }
}
