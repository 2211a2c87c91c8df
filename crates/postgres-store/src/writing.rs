//! The session of a queue's writer, which calls share one after the other.

use std::fmt;
use std::sync::Arc;

use futures_util::future::join;
use sqlx::postgres::PgRow;
use sqlx::{Error, Row as _};
use store_fault::Health;
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};

use crate::failure::fault;
use crate::readers::Readers;
use crate::sign_of_life::EVERY;
use crate::store_error::StoreError;
use crate::writer_connection::WriterConnection;

/// What a store writes with: a connection, and state of the store's own.
pub trait Writes: Send + 'static {
    /// The connection.
    fn connection(&mut self) -> &mut WriterConnection;
}

/// The session of a writer. While it is idle, a task asks for a sign of life every few seconds.
pub struct Writing<S> {
    /// Rarely contended, because a queue makes one call at a time.
    session: Arc<Mutex<S>>,
    keeper: parking_lot::Mutex<Option<JoinHandle<()>>>,
}

impl<S: Writes> Writing<S> {
    /// A session that connects on first use.
    pub fn new(session: S) -> Self {
        Self {
            session: Arc::new(Mutex::new(session)),
            keeper: parking_lot::Mutex::default(),
        }
    }

    /// The session, once no other call uses it.
    pub async fn lock(&self) -> MutexGuard<'_, S> {
        self.session.lock().await
    }

    /// Connects before the first call, so that a wrong setting fails now.
    ///
    /// # Errors
    /// The driver's.
    pub async fn connect<E: StoreError>(&self) -> Result<(), E> {
        self.connected(None).await.map(drop)
    }

    /// The session, connected before callers whose time ends at `deadline` have to give up.
    ///
    /// # Errors
    /// The driver's. Nothing was sent.
    pub async fn connected<E: StoreError>(
        &self,
        deadline: Option<Instant>,
    ) -> Result<MutexGuard<'_, S>, E> {
        let mut session = self.session.lock().await;
        self.open::<E>(&mut session, deadline).await?;
        Ok(session)
    }

    /// The session, if no other call uses it any more before `give_up`. For a session that several
    /// queues share.
    pub async fn lock_before(&self, give_up: Instant) -> Option<MutexGuard<'_, S>> {
        timeout_at(give_up, self.session.lock()).await.ok()
    }

    /// Whether no call uses the session.
    pub fn is_free(&self) -> bool {
        self.session.try_lock().is_ok()
    }

    /// Connects the session, before callers whose time ends at `deadline` have to give up.
    ///
    /// # Errors
    /// The driver's. Nothing was sent.
    pub async fn open<E: StoreError>(
        &self,
        session: &mut S,
        deadline: Option<Instant>,
    ) -> Result<(), E> {
        let connected = session.connection().connect_before(deadline).await;
        connected.map_err(|failed| fault(&failed))?;
        self.keep();
        Ok(())
    }

    /// Looks after the connection, unless that goes on in a runtime that still runs.
    fn keep(&self) {
        let mut keeper = self.keeper.lock();
        if keeper.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        let session = Arc::downgrade(&self.session);
        *keeper = Some(tokio::spawn(async move {
            loop {
                sleep(EVERY).await;
                let Some(session) = session.upgrade() else {
                    return;
                };
                if let Ok(mut session) = session.try_lock() {
                    session.connection().keep_alive().await;
                }
            }
        }));
    }

    /// The health of the server, as the session sees it. `read` tests a connection for reads at the same
    /// time: either may be silent, which takes seconds to notice. Waits for no other call: those that use
    /// the session or the connections learn themselves whether they answer, and may take long.
    ///
    /// # Errors
    /// That of `read`, or else the driver's.
    pub async fn health<E: StoreError, F: Future<Output = Result<(), E>>>(
        &self,
        readers: &Readers<E>,
        read: impl FnOnce(Readers<E>) -> F,
    ) -> Result<Health, E> {
        let readers = readers.spare();
        // Not `try_join`: it would break off a statement of the session.
        let (read, settings) = join(read(readers.clone()), self.settings(&readers)).await;
        read?;
        let health = health_of(&settings?);
        health.map_err(|failed| fault(&failed).into())
    }

    /// The row of [`SETTINGS`], in the session if no call uses it.
    async fn settings<E: StoreError>(&self, readers: &Readers<E>) -> Result<PgRow, E> {
        let statement = || sqlx::query(SETTINGS);
        let rows = match self.session.try_lock() {
            Ok(mut session) => {
                let connection = session.connection();
                // A silent connection takes as long as a write, which is longer than health may take.
                connection.keep_alive().await;
                let rows = connection.connect_and_ask(statement).await;
                rows.map_err(|failed| fault(&failed))?
            }
            Err(_in_use) => readers.rows(statement).await?,
        };
        let row = rows.into_iter().next();
        row.ok_or_else(|| fault(&Error::RowNotFound).into())
    }

    /// Ends the session.
    pub async fn close(&self) {
        if let Some(keeper) = self.keeper.lock().take() {
            keeper.abort();
        }
        self.session.lock().await.connection().close().await;
    }
}

/// The version, and then the settings in [`DURABILITY`].
const SETTINGS: &str = "SELECT current_setting('server_version'), current_setting('fsync'), \
     current_setting('synchronous_commit'), current_setting('full_page_writes')";
const DURABILITY: [&str; 3] = ["fsync", "synchronous_commit", "full_page_writes"];

/// The health in a row of [`SETTINGS`].
fn health_of(settings: &PgRow) -> Result<Health, Error> {
    let version: String = settings.try_get(0)?;
    let mut durability: Vec<(_, String)> = Vec::new();
    for (column, name) in (1..).zip(DURABILITY) {
        durability.push((name, settings.try_get(column)?));
    }
    // `synchronous_commit` has more values than `on` and `off`. All but `off` flush locally.
    let is_durable = durability.iter().all(|(_, value)| value != "off");
    Ok(Health::new("PostgreSQL", version, durability, is_durable))
}

impl<S> fmt::Debug for Writing<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writing").finish_non_exhaustive()
    }
}
