//! Logs that a lock of another session delays a write.

use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use sqlx::{Connection as _, Error, Row as _};
use tokio::time::{Instant, sleep};

use crate::connect::connect;
use crate::hosts::Hosts;
use crate::hosts::host_or_socket;
use crate::limiter::Limiter;

/// A write that waits for longer is looked into.
const LONG: Duration = Duration::from_secs(2);

/// The session that holds the lock. A column that the role of the store may not see is NULL.
const HOLDER: &str = "SELECT pid, application_name, state, \
    extract(epoch FROM clock_timestamp() - xact_start)::float8 \
    FROM pg_stat_activity WHERE pid = ANY(pg_blocking_pids($1)) ORDER BY xact_start LIMIT 1";

/// The session that holds a lock, for the log.
struct Holder {
    pid: i32,
    application: Option<String>,
    state: Option<String>,
    in_transaction_s: Option<f64>,
}

/// Watches the writes of one connection.
#[derive(Debug, Default)]
pub(crate) struct LockWait {
    limiter: Limiter,
}

impl LockWait {
    /// Runs a statement of the server process `pid`. If that takes long, asks the server over another
    /// connection who holds a lock that it waits for.
    pub(crate) async fn watch<T>(
        &self,
        hosts: &Hosts,
        pid: Option<i32>,
        statement: impl Future<Output = T>,
    ) -> T {
        let Some(pid) = pid else {
            return statement.await;
        };
        let begun = Instant::now();
        let look = async {
            sleep(LONG).await;
            // Without an answer there is nothing to log: the statement itself fails in time.
            if let Ok(Some(holder)) = holder(hosts, pid).await {
                self.tell(hosts, &holder, begun.elapsed());
            }
            pending::<Infallible>().await
        };
        let statement = pin!(statement);
        tokio::select! {
            biased;
            done = statement => done,
            never = look => match never {},
        }
    }

    fn tell(&self, hosts: &Hosts, holder: &Holder, waited: Duration) {
        let Some(suppressed) = self.limiter.admit() else {
            return;
        };
        let server = hosts.likely_one();
        tracing::warn!(
            host = host_or_socket(server),
            port = server.get_port(),
            database = server.get_database(),
            holder = holder.pid,
            holder_application = holder.application,
            holder_state = holder.state,
            holder_transaction_s = holder.in_transaction_s,
            ?waited,
            suppressed,
            "a lock of another session delays writes"
        );
    }
}

async fn holder(hosts: &Hosts, pid: i32) -> Result<Option<Holder>, Error> {
    let mut connection = connect(hosts).await?;
    let asked = sqlx::query(HOLDER)
        .persistent(false)
        .bind(pid)
        .fetch_optional(&mut connection)
        .await;
    // If the message does not arrive, the server ends the session when the socket closes.
    let _ = connection.close().await;
    let Some(row) = asked? else {
        return Ok(None);
    };
    Ok(Some(Holder {
        pid: row.try_get(0)?,
        application: row.try_get(1)?,
        state: row.try_get(2)?,
        in_transaction_s: row.try_get(3)?,
    }))
}
