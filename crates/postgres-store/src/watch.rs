//! Work on a connection that may take any time, as long as there are signs of life.
//!
//! An installation, an import or the handler of a projection has no time limit, so silence on its
//! connection says nothing. While the work makes no step, another connection asks the server about the
//! process. A process that works, or waits for a lock, is alive. One that waits for its client, while the
//! client waits for it, has lost its connection.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection as _, Error, Postgres, Row as _, Transaction};
use tokio::time::{Instant, sleep, timeout};

use crate::backend::Backend;
use crate::connect::to_host;
use crate::connect_error::ConnectError;
use crate::failure::fault;
use crate::hosts;
use crate::server::{BEGIN, Server};
use crate::sign_of_life::{EVERY, OPENING, PATIENCE};
use crate::statement::{no_answer, no_answer_within};
use crate::store_error::StoreError;

/// Watches the work on one connection.
pub struct Watch {
    /// The host of the connection.
    host: PgConnectOptions,
    /// The process of the connection. Behind a pooler, that of the last transaction.
    backend: Mutex<Option<Backend>>,
    is_pooled: bool,
    /// Whether a process of a lost connection may still hold locks.
    is_left: AtomicBool,
}

/// How long the work has made no step although the server waits for it, or does not answer.
#[derive(Default)]
struct Rest {
    steps: u64,
    since: Option<Instant>,
}

impl Watch {
    /// Opens a connection without a time limit, and its watch.
    ///
    /// # Errors
    /// The driver's.
    pub async fn open(server: &Server) -> Result<(PgConnection, Self), Error> {
        let hosts = server.unlimited();
        let found = hosts::find(&hosts).await?;
        let mut connection = found.connection;
        let is_pooled = server.is_pooled();
        let backend = match is_pooled {
            true => None,
            false => {
                let asked = timeout(OPENING, Backend::of_session(&mut connection)).await;
                Some(asked.unwrap_or_else(|_| Err(no_answer()))?)
            }
        };
        let watch = Self {
            host: hosts.options_of(found.host).clone(),
            backend: Mutex::new(backend),
            is_pooled,
            is_left: AtomicBool::new(false),
        };
        Ok((connection, watch))
    }

    /// Begins a transaction in which each statement sees what was committed before it. Behind a pooler,
    /// this asks for the process of the transaction, which costs a round trip.
    ///
    /// # Errors
    /// The driver's.
    pub async fn begin<'c>(
        &self,
        connection: &'c mut PgConnection,
    ) -> Result<Transaction<'c, Postgres>, Error> {
        if !self.is_pooled {
            return connection.begin_with(BEGIN).await;
        }
        // The process of the last transaction serves other clients.
        *self.backend.lock() = None;
        let begun = async {
            let mut transaction = connection.begin_with(BEGIN).await?;
            let backend = Backend::of_transaction(&mut transaction).await?;
            *self.backend.lock() = Some(backend);
            Ok(transaction)
        };
        let begun = timeout(PATIENCE, begun).await;
        begun.unwrap_or_else(|_| Err(no_answer_within(PATIENCE)))
    }

    /// Runs work on the connection, and gives it up if the connection is lost. The work may take any
    /// time while the server works for it. It may rest for 10 s while the server waits for it. After a
    /// loss the server ends the process of the connection, so that it keeps no locks.
    ///
    /// # Errors
    /// Those of the work; [`Fault::Unreachable`](store_fault::Fault) if the connection is lost. Then it
    /// must not be used any more, and a commit that was sent may have taken effect.
    pub async fn over<T, E: StoreError>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let mut work = pin!(work);
        let steps = AtomicU64::new(0);
        // Polls the work only once it was woken, so that each poll is a step of the work.
        let mut running = FuturesUnordered::new();
        running.push(poll_fn(|cx| {
            steps.fetch_add(1, Ordering::Relaxed);
            work.as_mut().poll(cx)
        }));
        let mut rest = Rest::default();
        loop {
            if let Ok(Some(done)) = timeout(EVERY, running.next()).await {
                return done;
            }
            if rest.ends_with(steps.load(Ordering::Relaxed)) {
                continue;
            }
            tokio::select! {
                Some(done) = running.next() => return done,
                is_lost = self.is_lost(&mut rest) => if is_lost {
                    return Err(fault(&no_answer()).into());
                },
            }
        }
    }

    /// Asks for a sign of life of the process while the work rests. Ends the process if the connection
    /// is lost.
    async fn is_lost(&self, rest: &mut Rest) -> bool {
        /// An answer may have been on its way while the server was asked.
        const ON_ITS_WAY: Duration = Duration::from_millis(200);
        match timeout(OPENING, self.waits_for_client()).await {
            Ok(Ok(Some(false))) => {
                rest.since = None;
                return false;
            }
            Ok(Ok(None)) => {
                sleep(ON_ITS_WAY).await;
                return true;
            }
            // The process waits for its client, or the server does not answer.
            _ if !rest.is_long() => return false,
            _ => {}
        }
        self.is_left.store(true, Ordering::Relaxed);
        // Without an answer, the owner of the watch asks again.
        let _ = timeout(OPENING, self.end_left()).await;
        true
    }

    /// Whether the process waits for its client. `None` once it has ended.
    async fn waits_for_client(&self) -> Result<Option<bool>, Error> {
        let mut connection = match to_host(&self.host).await {
            Ok(connection) => connection,
            // The server lives, and tells no more, for example because it is full.
            Err(refused) if refused.code().is_some() => return Ok(Some(false)),
            Err(failed) => return Err(ConnectError::new("host", vec![failed]).into()),
        };
        let backend = self.backend.lock().clone();
        let waits = match backend {
            Some(backend) => {
                let asked = backend.waits_for_client().fetch_optional(&mut connection);
                asked.await?.map(|row| row.try_get(0)).transpose()?
            }
            None => Some(false),
        };
        let _ = connection.close().await;
        Ok(waits)
    }

    /// Ends the process of a lost connection, if it may still hold locks. Call it before another
    /// connection takes the locks.
    ///
    /// # Errors
    /// The driver's, if the server does not answer.
    pub async fn end_left(&self) -> Result<(), Error> {
        let left = self.backend.lock().clone();
        if let Some(left) = left.filter(|_| self.is_left.load(Ordering::Relaxed)) {
            let connected = to_host(&self.host).await;
            let mut connection =
                connected.map_err(|failed| ConnectError::new("host", vec![failed]))?;
            left.end(&mut connection, None, OPENING).await?;
            let _ = connection.close().await;
            self.is_left.store(false, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Rest {
    /// Whether the work has made a step since the last call.
    fn ends_with(&mut self, steps: u64) -> bool {
        let has_moved = std::mem::replace(&mut self.steps, steps) != steps;
        if has_moved {
            self.since = None;
        }
        has_moved
    }

    /// Whether the rest, which goes on, is longer than that of any work.
    fn is_long(&mut self) -> bool {
        let since = self.since.get_or_insert_with(|| Instant::now() - EVERY);
        since.elapsed() >= PATIENCE
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}
