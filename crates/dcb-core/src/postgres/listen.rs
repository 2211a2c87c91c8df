//! What other processes append, announced by the server.
//!
//! `dcb.append` sends one NOTIFY a batch, on the channel named as the log's schema, and only while
//! somebody holds the lock of listeners: a log that nobody listens to pays nothing. Who listens
//! takes that lock after LISTEN, so it misses no append that commits after it got the lock; what
//! was committed before is found by the read that each subscriber makes then. An announcement is a
//! hint all the same: whatever is lost here is found by polling.

use std::sync::{Mutex, MutexGuard, PoisonError};

use sqlx::AssertSqlSafe;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::task::JoinHandle;

use super::schema::Schema;
use crate::AppendSignal;
use crate::subscription::Backoff;

/// Listens from the first subscription on, on a connection of its own, until it is dropped.
pub(super) struct Listener {
    /// `None` where a session can't listen.
    session: Option<Session>,
    signal: AppendSignal,
    listening: Mutex<Listening>,
}

enum Listening {
    NotYet,
    Begun(JoinHandle<()>),
    Stopped,
}

/// What a session of the listener needs.
#[derive(Clone)]
struct Session {
    options: PgConnectOptions,
    channel: String,
    lock: String,
}

impl Listener {
    /// Announces what is appended to the log in this schema; with `options`, also what other
    /// processes append.
    pub(super) fn new(options: Option<PgConnectOptions>, schema: &Schema) -> Self {
        let session = options.map(|options| Session {
            options,
            channel: schema.name().to_owned(),
            lock: schema.qualify(
                "SELECT pg_advisory_lock_shared(1145262644, 'dcb.event'::regclass::oid::int)",
            ),
        });
        Self {
            session,
            signal: AppendSignal::new(),
            listening: Mutex::new(Listening::NotYet),
        }
    }

    /// What announces, also the appends of this process.
    pub(super) fn signal(&self) -> &AppendSignal {
        &self.signal
    }

    /// Begins to listen, where it does not yet and was not stopped. To be called inside a runtime.
    pub(super) fn start(&self) {
        let Some(session) = &self.session else {
            return;
        };
        let mut listening = self.lock();
        let begins = match &*listening {
            Listening::NotYet => true,
            // Finished: the runtime of the one who began is gone.
            Listening::Begun(task) => task.is_finished(),
            Listening::Stopped => false,
        };
        if begins {
            let task = session.clone().listen(self.signal.clone());
            *listening = Listening::Begun(tokio::spawn(task));
        }
    }

    /// Ends listening for good, and wakes those who wait so that they find the store closed.
    pub(super) fn stop(&self) {
        let listening = std::mem::replace(&mut *self.lock(), Listening::Stopped);
        if let Listening::Begun(task) = listening {
            task.abort();
        }
        self.signal.announce();
    }

    fn lock(&self) -> MutexGuard<'_, Listening> {
        self.listening
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Session {
    /// Passes announcements on, over one connection after the other.
    async fn listen(self, signal: AppendSignal) {
        let mut backoff = Backoff::default();
        loop {
            if let Ok(mut listener) = self.open().await {
                backoff.reset();
                // What was appended before is found by those who look now.
                signal.announce();
                while let Ok(Some(_)) = listener.try_recv().await {
                    signal.announce();
                }
            }
            backoff.pause().await;
        }
    }

    async fn open(&self) -> Result<PgListener, sqlx::Error> {
        // The driver's listener takes a pool; a connection that is lost is opened anew above.
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .max_lifetime(None)
            .idle_timeout(None)
            .connect_lazy_with(self.options.clone());
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.eager_reconnect(false);
        listener.listen(&self.channel).await?;
        sqlx::query(AssertSqlSafe(self.lock.clone()))
            .execute(&mut listener)
            .await?;
        Ok(listener)
    }
}
