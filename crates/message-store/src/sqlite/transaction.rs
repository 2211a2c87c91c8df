use rusqlite::Connection;

use super::statements;

/// A transaction that is rolled back where it is dropped without an end.
pub(super) struct Transaction<'c>(&'c Connection);

impl<'c> Transaction<'c> {
    /// Takes the file's write lock.
    pub(super) fn begin(connection: &'c Connection) -> rusqlite::Result<Self> {
        Self::start(connection, statements::BEGIN)
    }

    /// Statements from the first read on see one state.
    pub(super) fn snapshot(connection: &'c Connection) -> rusqlite::Result<Self> {
        Self::start(connection, statements::BEGIN_SNAPSHOT)
    }

    fn start(connection: &'c Connection, statement: &str) -> rusqlite::Result<Self> {
        connection.prepare_cached(statement)?.raw_execute()?;
        Ok(Self(connection))
    }

    pub(super) fn commit(self) -> rusqlite::Result<()> {
        self.0
            .prepare_cached(statements::COMMIT)?
            .raw_execute()
            .map(drop)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // Where even this fails, the next BEGIN reports it.
            let _ = self.0.execute_batch(statements::ROLLBACK);
        }
    }
}
