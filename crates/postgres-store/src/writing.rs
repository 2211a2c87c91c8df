//! The session of a queue's writer, which calls share one after the other.

use std::fmt;
use std::sync::Arc;

use futures_util::future::join;
use store_fault::{Fault, Health};
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};

use crate::failure::fault;
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
    /// time: either may be silent, which takes seconds to notice.
    ///
    /// # Errors
    /// That of `read`, or else the driver's.
    pub async fn health<E: StoreError>(
        &self,
        read: impl Future<Output = Result<(), E>>,
    ) -> Result<Health, E> {
        // Not `try_join`: it would break off a statement of the session.
        let (read, health) = join(read, self.health_of_session()).await;
        read?;
        Ok(health?)
    }

    async fn health_of_session(&self) -> Result<Health, Fault> {
        const DURABILITY: [&str; 3] = ["fsync", "synchronous_commit", "full_page_writes"];
        // A silent connection takes as long as a write, which is longer than health may take.
        self.session.lock().await.connection().keep_alive().await;
        let version = self.setting("server_version").await?;
        let mut durability = Vec::new();
        for name in DURABILITY {
            durability.push((name, self.setting(name).await?));
        }
        // `synchronous_commit` has more values than `on` and `off`. All but `off` flush locally.
        let is_durable = durability.iter().all(|(_, value)| value != "off");
        Ok(Health::new("PostgreSQL", version, durability, is_durable))
    }

    async fn setting(&self, name: &str) -> Result<String, Fault> {
        let setting = self.session.lock().await.connection().setting(name).await;
        setting.map_err(|failed| fault(&failed))
    }

    /// Ends the session.
    pub async fn close(&self) {
        if let Some(keeper) = self.keeper.lock().take() {
            keeper.abort();
        }
        self.session.lock().await.connection().close().await;
    }
}

impl<S> fmt::Debug for Writing<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writing").finish_non_exhaustive()
    }
}
