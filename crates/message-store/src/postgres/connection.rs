//! A writer's connection and the server process that serves it.

use std::collections::HashMap;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Row as _};
use uuid::Uuid;

use super::column::{Column, Element};
use super::statements::Statements;
use crate::{GlobalPosition, Position, Written};

pub(super) struct Connection {
    pub(super) connection: PgConnection,
    pub(super) backend: Backend,
}

/// A server process. The start time distinguishes it from a later process with the same id.
#[derive(Clone)]
pub(super) struct Backend {
    pid: i32,
    started: String,
}

impl Connection {
    pub(super) async fn open(options: &PgConnectOptions) -> Result<Self, sqlx::Error> {
        let mut connection = options.connect().await?;
        // The time is read as text, which compares exactly and needs no decoding.
        let row = sqlx::query(
            "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()",
        )
        .fetch_one(&mut connection)
        .await?;
        let backend = Backend {
            pid: row.try_get(0)?,
            started: row.try_get(1)?,
        };
        Ok(Self {
            connection,
            backend,
        })
    }

    /// Terminates another session and waits until it has ended. Does nothing if the session is
    /// already gone.
    pub(super) async fn end_other(&mut self, other: &Backend) -> Result<(), sqlx::Error> {
        const WAIT_MS: i64 = 5000;
        // No row means that the process is gone, `false` that it is still there after the wait.
        let ended: Option<bool> = sqlx::query_scalar(
            "SELECT pg_terminate_backend(pid, $3) FROM pg_stat_activity \
              WHERE pid = $1 AND backend_start::text = $2",
        )
        .bind(other.pid)
        .bind(&other.started)
        .bind(WAIT_MS)
        .fetch_optional(&mut self.connection)
        .await?;
        if ended == Some(false) {
            Err(no_answer())
        } else {
            Ok(())
        }
    }

    /// The positions of the messages with these ids that are stored.
    pub(super) async fn positions_by_id(
        &mut self,
        statements: &Statements,
        ids: impl Iterator<Item = &Uuid>,
    ) -> Result<HashMap<Uuid, Written>, sqlx::Error> {
        let mut column = Column::new(Element::Uuid);
        ids.for_each(|id| column.push(id.as_bytes()));
        let rows = sqlx::query(statements.positions_by_id.clone())
            .bind(&column)
            .fetch_all(&mut self.connection)
            .await?;
        let mut stored = HashMap::with_capacity(rows.len());
        for row in &rows {
            let id = Uuid::parse_str(row.try_get(0)?)
                .map_err(|_| sqlx::Error::Decode("a stored id".into()))?;
            let [position, global_position]: [i64; 2] = [row.try_get(1)?, row.try_get(2)?];
            let written = Written {
                position: Position::new(position.unsigned_abs()),
                global_position: GlobalPosition::new(global_position.unsigned_abs()),
            };
            stored.insert(id, written);
        }
        Ok(stored)
    }
}

/// The error of a server that does not answer in time. It counts as a lost connection.
pub(super) fn no_answer() -> sqlx::Error {
    std::io::Error::new(std::io::ErrorKind::TimedOut, "no answer in time").into()
}
