//! A session that listens for notifications.

use std::fmt;
use std::sync::Arc;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::{Connection as _, Error, SqlStr};
use tokio::time::timeout;

use crate::connect::of_handshake;
use crate::encryption;
use crate::hosts::{self, Hosts};
use crate::sign_of_life::{EVERY, OPENING, SIGN_OF_LIFE};
use crate::statement::no_answer;

/// A session that listens on channels. It asks for a sign of life while nothing arrives, because a
/// connection that dies silently would never be missed.
pub struct ListeningSession {
    listener: PgListener,
}

impl ListeningSession {
    /// Opens a session that listens on these channels and has run `lock`, if there is one.
    ///
    /// # Errors
    /// The driver's.
    pub async fn open(
        hosts: &Hosts,
        channels: &[Arc<str>],
        lock: Option<&SqlStr>,
    ) -> Result<Self, Error> {
        let listener = connect(hosts).await?;
        let mut session = Self { listener };
        session.listen(channels, &[]).await?;
        if let Some(lock) = lock {
            let lock = sqlx::query(lock.clone()).execute(&mut session.listener);
            timeout(OPENING, lock)
                .await
                .unwrap_or_else(|_| Err(no_answer()))?;
        }
        Ok(session)
    }

    /// Listens on the channels that were added, and no longer on those that were removed.
    ///
    /// # Errors
    /// The driver's. Open another session then.
    pub async fn listen(&mut self, added: &[Arc<str>], removed: &[Arc<str>]) -> Result<(), Error> {
        let listening = async {
            if !added.is_empty() {
                let names = added.iter().map(|name| &**name);
                self.listener.listen_all(names).await?;
            }
            for name in removed {
                self.listener.unlisten(name).await?;
            }
            Ok(())
        };
        let listened = timeout(OPENING, listening).await;
        listened.unwrap_or_else(|_| Err(no_answer()))
    }

    /// Waits for a notification, or for a sign of life if none arrives for a while. Can be dropped at
    /// any time.
    ///
    /// # Errors
    /// The driver's, once the session is lost or gives no sign of life. Open another one then.
    pub async fn next(&mut self) -> Result<Heard, Error> {
        match timeout(EVERY, self.listener.try_recv()).await {
            Ok(Ok(Some(notification))) => Ok(Heard::Notification {
                channel: notification.channel().into(),
            }),
            Ok(Ok(None)) => Err(no_answer()),
            Ok(Err(failed)) => Err(failed),
            Err(_) => self.ask().await,
        }
    }

    async fn ask(&mut self) -> Result<Heard, Error> {
        let ask = sqlx::query_scalar("SELECT pg_notification_queue_usage()")
            .persistent(false)
            .fetch_one(&mut self.listener);
        let answer = timeout(SIGN_OF_LIFE, ask).await;
        let queue_usage = answer.unwrap_or_else(|_| Err(no_answer()))?;
        Ok(Heard::SignOfLife { queue_usage })
    }
}

/// A message to a session that listens.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// A notification.
    Notification {
        /// The channel.
        channel: Box<str>,
    },
    /// The answer of the server to a question.
    SignOfLife {
        /// The part of the server's queue of notifications that is in use, from 0 to 1.
        queue_usage: f64,
    },
}

/// Opens a listener at one of the hosts.
async fn connect(hosts: &Hosts) -> Result<PgListener, Error> {
    // A standby refuses LISTEN, so the only host needs no search.
    if let Some(only) = hosts.only_one() {
        return to_host(only).await;
    }
    // The search can't open a listener, only a connection.
    let found = hosts::find(hosts).await?;
    let listener = to_host(hosts.options_of(found.host)).await;
    let _ = found.connection.close().await;
    listener
}

/// Opens a listener, encrypted or not as the options demand. It does not reconnect by itself, because
/// the new session would lack the lock.
async fn to_host(options: &PgConnectOptions) -> Result<PgListener, Error> {
    let mut answer = Err(Error::PoolClosed);
    for attempt in encryption::attempts(options) {
        // The driver's listener needs a pool.
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .max_lifetime(None)
            .idle_timeout(None)
            .acquire_timeout(OPENING)
            .connect_lazy_with(attempt);
        answer = PgListener::connect_with(&pool).await.map_err(of_handshake);
        match &answer {
            Err(failed) if encryption::is_refusal(failed) => {}
            _ => break,
        }
    }
    let mut listener = answer?;
    listener.eager_reconnect(false);
    Ok(listener)
}

impl fmt::Debug for ListeningSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListeningSession").finish_non_exhaustive()
    }
}
