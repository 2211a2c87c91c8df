use rusqlite::{CachedStatement, Connection, Result};

/// A statement that is prepared when it is first used. Most conditions find their answer among the keys in
/// memory, and need none.
pub(super) struct LateStatement<'c> {
    connection: &'c Connection,
    sql: &'static str,
    prepared: Option<CachedStatement<'c>>,
}

impl<'c> LateStatement<'c> {
    pub(super) fn new(connection: &'c Connection, sql: &'static str) -> Self {
        Self {
            connection,
            sql,
            prepared: None,
        }
    }

    pub(super) fn get(&mut self) -> Result<&mut CachedStatement<'c>> {
        let statement = match self.prepared.take() {
            Some(statement) => statement,
            None => self.connection.prepare_cached(self.sql)?,
        };
        Ok(self.prepared.insert(statement))
    }
}
