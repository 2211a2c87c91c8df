use rusqlite::Connection;
use rusqlite::types::ToSqlOutput;
use uuid::Uuid;

use super::statements;

/// A row of `messages`.
pub(super) struct InsertRow<'a> {
    /// `None` to let SQLite assign the next rowid.
    pub(super) global_position: Option<i64>,
    pub(super) position: i64,
    pub(super) time_us: i64,
    pub(super) stream_name: &'a str,
    pub(super) category: &'a str,
    pub(super) message_type: &'a str,
    pub(super) data: ToSqlOutput<'a>,
    pub(super) metadata: Option<ToSqlOutput<'a>>,
    pub(super) id: Uuid,
    pub(super) correlation: Option<&'a str>,
}

impl InsertRow<'_> {
    /// Inserts the row and returns its global position.
    pub(super) fn insert(&self, connection: &Connection) -> rusqlite::Result<i64> {
        let mut insert = connection.prepare_cached(statements::INSERT)?;
        insert.raw_bind_parameter(1, self.global_position)?;
        insert.raw_bind_parameter(2, self.position)?;
        insert.raw_bind_parameter(3, self.time_us)?;
        insert.raw_bind_parameter(4, self.stream_name)?;
        insert.raw_bind_parameter(5, self.category)?;
        insert.raw_bind_parameter(6, self.message_type)?;
        insert.raw_bind_parameter(7, &self.data)?;
        insert.raw_bind_parameter(8, &self.metadata)?;
        insert.raw_bind_parameter(9, self.id.as_bytes().as_slice())?;
        insert.raw_bind_parameter(10, self.correlation)?;
        insert.raw_execute()?;
        Ok(connection.last_insert_rowid())
    }
}
