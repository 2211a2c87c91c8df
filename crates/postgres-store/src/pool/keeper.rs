//! Looks after idle connections, so that dead ones are replaced beside the calls and not by them.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use sqlx::Connection as _;
use sqlx::postgres::PgConnectOptions;
use tokio::time::{sleep, timeout};

use super::Shared;
use super::open::{Open, Process};
use crate::connect::to_host;
use crate::sign_of_life::{EVERY, OPENING, SIGN_OF_LIFE};

/// Pings an idle connection every few seconds until the pool is closed or dropped.
pub(super) async fn keep(pool: Weak<Shared>) {
    loop {
        sleep(EVERY).await;
        match pool.upgrade() {
            Some(shared) if !shared.closed.load(Ordering::Acquire) => {
                shared.look_after_idle().await;
            }
            _ => return,
        }
    }
}

impl Shared {
    /// Pings the connection that has been idle longest.
    async fn look_after_idle(self: &Arc<Self>) {
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            return;
        };
        let Some(mut open) = self.longest_idle() else {
            return;
        };
        if self.is_alive(&mut open).await {
            self.idle.lock().connections.push_front(open);
            self.became_idle.notify_one();
        } else {
            self.meter.lost();
        }
        drop(permit);
    }

    /// Takes out the connection that has been idle longest, if it needs a ping.
    fn longest_idle(&self) -> Option<Open> {
        let mut idle = self.idle.lock();
        let rested = idle.connections.front()?.idle_since.elapsed();
        if rested < EVERY {
            return None;
        }
        idle.connections.pop_front()
    }

    /// Whether a connection answers a ping. If there is no answer, all connections that were open
    /// when the ping was sent count as dead.
    pub(super) async fn is_alive(&self, open: &mut Open) -> bool {
        let pinged = Instant::now();
        let limit: Duration = self.limits.wait.min(SIGN_OF_LIFE);
        match timeout(limit, open.connection.ping()).await {
            Ok(answer) => {
                // Not the time of the answer, because `suspect` may be called before it arrives.
                open.seen_alive = pinged;
                answer.is_ok()
            }
            Err(_) => {
                self.give_up_silent(pinged);
                false
            }
        }
    }

    /// Closes the idle connections that were open at this time. The others are not lent again.
    fn give_up_silent(&self, at: Instant) {
        let mut idle = self.idle.lock();
        idle.retired_before = idle.retired_before.max(Some(at));
        idle.connections.retain(|open| open.opened >= at);
    }

    /// Whether the server says that a process which owes an answer has nothing to do. Asks over a
    /// connection that is opened for the question, because the others may be dead too.
    pub(super) async fn is_idle_at_server(&self, process: Process) -> bool {
        /// An answer may have been on its way while the server was asked.
        const ON_ITS_WAY: Duration = Duration::from_millis(200);
        let options = self.hosts.options_of(process.host);
        let asked = timeout(OPENING, ask_whether_idle(options, process.id)).await;
        let is_idle = matches!(asked, Ok(Ok(true)));
        if is_idle {
            sleep(ON_ITS_WAY).await;
        }
        is_idle
    }
}

async fn ask_whether_idle(options: &PgConnectOptions, process: i32) -> Result<bool, sqlx::Error> {
    let connected = to_host(options).await;
    let mut connection = connected.map_err(|_| sqlx::Error::PoolTimedOut)?;
    let is_idle = sqlx::query_scalar(
        "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND state = 'active')",
    );
    let is_idle = is_idle.bind(process).fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(is_idle)
}
