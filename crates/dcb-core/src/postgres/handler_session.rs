//! The connection of a read model, on which its handler works.

use postgres_store::{Schema, SchemaError, Server, Watch, explain_denial, in_task};
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;

use super::config::Config;
use super::design::{RIGHTS, schema};
use super::error::error;
use crate::{Error, HandlerError};

/// Opens the connection of a read model when it is needed, and keeps it while calls succeed. A
/// connection that falls silent is given up, and its process is ended before the next one opens.
pub(super) struct HandlerSession {
    target: Target,
    /// Taken out while in use. A dropped future therefore closes the connection, which rolls its
    /// transaction back.
    session: Option<Session>,
    /// The watch of the last session that has failed.
    lost: Option<Watch>,
}

/// A connection, and its signs of life.
pub(super) struct Session {
    pub(super) connection: PgConnection,
    pub(super) watch: Watch,
}

/// The schema that holds checkpoints, and the newest object that its users need.
#[derive(Clone)]
pub(super) struct Target {
    server: Server,
    schema: Schema,
    /// A condition that holds if the schema is new enough.
    known: &'static str,
    /// Whether statements may be prepared under a name; not behind a pooler.
    pub(super) named: bool,
}

impl Target {
    pub(super) fn new(config: &Config, known: &'static str) -> Result<Self, Error> {
        Ok(Self {
            server: config.primary::<Error>()?,
            schema: schema(&config.schema)?,
            known,
            named: !config.transaction_pooling,
        })
    }

    pub(super) fn sql(&self, text: &str) -> AssertSqlSafe<String> {
        // The SQL is safe: only the schema's name is inserted.
        AssertSqlSafe(self.schema.qualify(text))
    }

    /// Opens a connection, and installs the schema if it is missing or too old.
    async fn connect(&self) -> Result<Session, Error> {
        // In a task, because the installation locks out other installers.
        let target = self.clone();
        in_task(async move {
            let opened = Watch::open(&target.server).await;
            let (mut connection, watch) = opened.map_err(|failed| error(&failed))?;
            let preparing = async {
                let prepared = target.prepare(&mut connection, &watch).await;
                prepared.map_err(|failed| Error::from(target.schema.fault(failed)))
            };
            watch.over(preparing).await?;
            Ok(Session { connection, watch })
        })
        .await
    }

    async fn prepare(
        &self,
        connection: &mut PgConnection,
        watch: &Watch,
    ) -> Result<(), SchemaError> {
        let mut transaction = watch.begin(connection).await?;
        // Usually the schema is up to date, and the connection need not wait for the installers' lock.
        let known: bool = sqlx::query_scalar(self.sql(self.known))
            .persistent(false)
            .fetch_one(&mut *transaction)
            .await?;
        if !known {
            self.schema.ensure(&mut transaction).await?;
        }
        Ok(transaction.commit().await?)
    }
}

impl HandlerSession {
    pub(super) fn new(target: Target) -> Self {
        Self {
            target,
            session: None,
            lost: None,
        }
    }

    /// Takes the session, or opens one.
    pub(super) async fn take(&mut self) -> Result<Session, Error> {
        if let Some(lost) = &self.lost {
            // It may still hold the lock of a checkpoint.
            lost.end_left().await.map_err(|failed| error(&failed))?;
            self.lost = None;
        }
        match self.session.take() {
            Some(session) => Ok(session),
            None => self.target.connect().await,
        }
    }

    /// Keeps the session of a call that has succeeded. After an error it is dropped, and the next call
    /// connects again.
    pub(super) fn keep<T>(&mut self, session: Session, done: Result<T, Error>) -> Result<T, Error> {
        match done {
            Ok(done) => {
                self.session = Some(session);
                Ok(done)
            }
            Err(failed) => {
                self.lost = Some(session.watch);
                Err(match failed {
                    Error::Fault(fault) => explain_denial(fault, RIGHTS).into(),
                    failed => failed,
                })
            }
        }
    }
}

/// Translates a handler's error. A database error that may pass becomes the store's transient
/// error, so that the runner tries again.
pub(super) fn handler_error(name: &str, failed: HandlerError) -> Error {
    let database_error = failed.downcast_ref::<sqlx::Error>().map(error);
    match database_error.filter(Error::is_transient) {
        Some(error) => error,
        None => Error::Handler {
            name: name.to_owned(),
            source: failed.into(),
        },
    }
}
