//! Announcements of appends by other processes.
//!
//! The server sends one NOTIFY per batch of appends, on a channel with the name of the log's
//! schema. It does so only while a session holds the listeners' lock, so a log without listeners
//! saves the cost. A listener sends LISTEN, takes the lock, and then wakes all subscriptions. They
//! read the log once, to find the appends that were committed before the listener had the lock.
//!
//! Invariant: an announcement is only a hint. A subscription moves only by the events it has read,
//! marks the signal as seen before it reads, and polls as well. A lost or repeated announcement
//! costs time, but no event. Tested by `announced.rs` and `dying.rs`.

use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};

use postgres_store::{Hearing, Hosts, ListeningSession, Schema};
use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};
use tokio::task::JoinHandle;

use crate::subscription::Backoff;
use crate::{Listener as Report, Notifier};

/// Wakes subscriptions. From the first subscription until the `Listener` is dropped, a dedicated
/// connection listens for the appends of other processes.
pub(super) struct Listener {
    /// `None` behind a pooler, where a session can't listen.
    session: Option<Session>,
    signal: Notifier,
    hearing: Hearing,
    listening: Mutex<Listening>,
}

enum Listening {
    NotYet,
    Begun(JoinHandle<()>),
    Stopped,
}

/// The parameters of the listener's sessions.
#[derive(Clone)]
struct Session {
    hosts: Hosts,
    channel: String,
    lock: SqlStr,
}

impl Listener {
    /// Announces appends to the log in this schema. Without `hosts`, it announces only those of
    /// this process.
    pub(super) fn new(hosts: Option<Hosts>, schema: &Schema) -> Self {
        let session = hosts.map(|hosts| Session {
            hosts,
            channel: schema.name().to_owned(),
            lock: AssertSqlSafe(schema.qualify(
                "SELECT pg_advisory_lock_shared(1145262644, 'dcb.event'::regclass::oid::int)",
            ))
            .into_sql_str(),
        });
        Self {
            session,
            signal: Notifier::new(),
            hearing: Hearing::new(schema.name()),
            listening: Mutex::new(Listening::NotYet),
        }
    }

    /// The signal that wakes subscriptions. This process announces its own appends through it too.
    pub(super) fn signal(&self) -> &Notifier {
        &self.signal
    }

    /// Starts to listen, unless the listener is running or was stopped. Call it in a tokio runtime.
    pub(super) fn start(&self) {
        let Some(session) = &self.session else {
            return;
        };
        let mut listening = self.lock();
        let begins = match &*listening {
            Listening::NotYet => true,
            // A task that has finished ended with the tokio runtime that it ran in: start another.
            Listening::Begun(task) => task.is_finished(),
            Listening::Stopped => false,
        };
        if begins {
            self.hearing.starts();
            let task = session.clone();
            let task = task.listen(self.signal.clone(), self.hearing.clone());
            *listening = Listening::Begun(tokio::spawn(task));
        }
    }

    /// Stops listening for good, and wakes subscriptions so that they find the store closed.
    pub(super) fn stop(&self) {
        let listening = std::mem::replace(&mut *self.lock(), Listening::Stopped);
        if let Listening::Begun(task) = listening {
            task.abort();
        }
        self.hearing.stops();
        self.signal.notify();
    }

    /// The state of the session. `None` if there is none.
    pub(super) fn report(&self) -> Option<Report> {
        let (lost_since, replacements) = self.hearing.report()?;
        Some(Report {
            lost_since,
            replacements,
        })
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
    /// Forwards announcements, and reconnects when the connection is lost or silent.
    async fn listen(self, signal: Notifier, hearing: Hearing) {
        let mut backoff = Backoff::default();
        loop {
            let Err(failed) = self.hear(&signal, &hearing, &mut backoff).await;
            hearing.lost(&failed);
            backoff.pause().await;
        }
    }

    /// Forwards announcements until the connection is lost or silent.
    async fn hear(
        &self,
        signal: &Notifier,
        hearing: &Hearing,
        backoff: &mut Backoff,
    ) -> Result<Infallible, sqlx::Error> {
        let mut session =
            ListeningSession::open(&self.hosts, &self.channel, Some(&self.lock)).await?;
        backoff.reset();
        hearing.hears();
        // Makes subscriptions read the appends from before LISTEN.
        signal.notify();
        loop {
            session.next().await?;
            signal.notify();
        }
    }
}
