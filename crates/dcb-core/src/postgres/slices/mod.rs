//! Sliced projections in PostgreSQL.
//!
//! `claims` distributes the slices, `apply` moves checkpoints and handles events, and `projections`
//! is for operators.

mod apply;
mod claims;
mod projections;
mod replay;
mod reset;
mod resize;
mod stopping;
mod versions;

use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

use super::checkpoint::checked;
use super::config::Config;
use super::handler_session::{HandlerSession, Target};
use super::read_model::Handler;
use crate::slices::model::{Held, Model};
use crate::slices::share::Share;
use crate::slices::standing::Meet;
use crate::text::invalid;
use crate::{Error, Position, Problem, SequencedEvent};

pub use projections::Projections;

/// A version of a sliced projection whose tables are in PostgreSQL, in the log's database or another.
///
/// The checkpoint of a slice is in the same database and changes in the transaction of the handler. The
/// first use installs the schema of the configuration if it is missing. The first version becomes the
/// current one when it opens, with [`Handler::make_current`]; a later one is built beside it, until
/// [`SlicedModel::promote`](crate::SlicedModel::promote) puts it in its place. So let the handler's tables have the version in their names.
///
/// A transaction costs three round trips in addition to the handler's, and one commit. Each worker of a
/// member has a connection and a clone of the handler, and the member has one more.
pub struct SlicedReadModel<H> {
    version: Version,
    handler: H,
    session: HandlerSession,
}

/// A version in its schema.
#[derive(Clone)]
struct Version {
    target: Target,
    name: String,
    number: i32,
}

impl Version {
    fn new(config: &Config, name: String, number: u32) -> Result<Self, Error> {
        const KNOWN: &str = "SELECT to_regclass('dcb.projection_event') IS NOT NULL";
        let too_large = Problem::TooLarge {
            max: i32::MAX as u64,
            actual: u64::from(number),
        };
        Ok(Self {
            name: checked(name)?,
            number: i32::try_from(number).map_err(|_| invalid("version")(too_large))?,
            target: Target::new(config, KNOWN)?,
        })
    }

    /// The name in errors.
    fn title(&self) -> String {
        format!("{} version {}", self.name, self.number)
    }

    /// Another version of the projection.
    fn numbered(&self, number: i32) -> Self {
        Self {
            number,
            ..self.clone()
        }
    }

    fn superseded(&self) -> Error {
        Error::Superseded {
            name: self.name.clone(),
            version: self.number.unsigned_abs(),
        }
    }

    /// A slice has another epoch or position than its holder knows.
    fn moved(&self) -> Error {
        Error::CheckpointMoved {
            name: self.title(),
            expected: None,
            actual: None,
        }
    }
}

/// A statement of this version, with its name and number bound to `$1` and `$2`.
macro_rules! of_version {
    ($kind:ident, $version:expr, $sql:expr) => {
        sqlx::$kind($version.target.sql($sql))
            .persistent($version.target.named)
            .bind(&$version.name)
            .bind($version.number)
    };
}
use of_version;

impl<H: Handler + Clone> SlicedReadModel<H> {
    /// The version of the projection `name`, of 1 to 255 characters, with tables and checkpoints in the
    /// database of `config`. Uses only the URL, the schema and the transaction pooling of the
    /// configuration.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `url`, `schema`, `name` or `version`.
    pub fn new(
        config: &Config,
        name: impl Into<String>,
        version: u32,
        handler: H,
    ) -> Result<Self, Error> {
        let version = Version::new(config, name.into(), version)?;
        Ok(Self {
            session: HandlerSession::new(version.target.clone()),
            version,
            handler,
        })
    }
}

impl<H: Clone> Clone for SlicedReadModel<H> {
    fn clone(&self) -> Self {
        Self {
            version: self.version.clone(),
            handler: self.handler.clone(),
            session: HandlerSession::new(self.version.target.clone()),
        }
    }
}

/// Runs a call on the model's session, in one transaction that is given up if the connection is lost.
macro_rules! in_transaction {
    ($sessions:expr, |$transaction:ident| $work:expr) => {{
        let mut session = $sessions.take().await?;
        let crate::postgres::handler_session::Session { connection, watch } = &mut session;
        let working = async {
            let begun = watch.begin(connection).await;
            let mut $transaction =
                begun.map_err(|failed| crate::postgres::error::error(&failed))?;
            let done = $work.await?;
            let ended = $transaction.commit().await;
            ended.map_err(|failed| crate::postgres::error::error(&failed))?;
            Ok(done)
        };
        let done = watch.over(working).await;
        $sessions.keep(session, done)
    }};
}
use in_transaction;

impl<H: Handler + Clone + Sync + 'static> Model for SlicedReadModel<H> {
    fn name_and_version(&self) -> (&str, u32) {
        (&self.version.name, self.version.number.unsigned_abs())
    }

    async fn open(&mut self, slices: u32) -> Result<(), Error> {
        let (version, handler) = (&self.version, &mut self.handler);
        in_transaction!(self.session, |transaction| version.open(
            &mut transaction,
            handler,
            slices
        ))
    }

    async fn beat(&mut self, member: Uuid) -> Result<Held, Error> {
        let version = &self.version;
        in_transaction!(self.session, |transaction| version
            .beat(&mut transaction, member))
    }

    async fn give_back(&mut self, member: Uuid, keep: usize) -> Result<(), Error> {
        let version = &self.version;
        in_transaction!(self.session, |transaction| version.give_back(
            &mut transaction,
            member,
            keep
        ))
    }

    async fn apply(&mut self, share: Arc<Share>) -> Result<(), Error> {
        let (version, handler) = (&self.version, &mut self.handler);
        in_transaction!(self.session, |transaction| version.apply(
            &mut transaction,
            handler,
            &share
        ))
    }

    async fn set_aside(
        &mut self,
        share: Arc<Share>,
        parked: bool,
        error: &str,
    ) -> Result<(), Error> {
        let version = &self.version;
        in_transaction!(self.session, |transaction| version.set_aside(
            &mut transaction,
            &share,
            parked,
            error
        ))
    }

    async fn stop(&mut self, share: Arc<Share>, error: &str) -> Result<(), Error> {
        let version = &self.version;
        in_transaction!(self.session, |transaction| version.stop(
            &mut transaction,
            &share,
            error
        ))
    }

    async fn try_to_promote(&mut self, meet: Meet) -> Result<bool, Error> {
        let (version, handler) = (&self.version, &mut self.handler);
        in_transaction!(self.session, |transaction| version.try_to_promote(
            &mut transaction,
            handler,
            meet
        ))
    }

    async fn throw_away(&mut self) -> Result<(), Error> {
        let (version, handler) = (&self.version, &mut self.handler);
        in_transaction!(self.session, |transaction| version
            .throw_away(&mut transaction, handler))
    }

    async fn next_parked(&mut self, key: &str) -> Result<Option<Position>, Error> {
        let version = &self.version;
        in_transaction!(self.session, |transaction| version
            .next_parked(&mut transaction, key))
    }

    async fn replay_one(&mut self, event: SequencedEvent) -> Result<bool, Error> {
        let (version, handler) = (&self.version, &mut self.handler);
        in_transaction!(self.session, |transaction| version.replay_one(
            &mut transaction,
            handler,
            event
        ))
    }
}

impl<H> fmt::Debug for SlicedReadModel<H> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SlicedReadModel")
            .field("name", &self.version.name)
            .field("version", &self.version.number)
            .finish_non_exhaustive()
    }
}
