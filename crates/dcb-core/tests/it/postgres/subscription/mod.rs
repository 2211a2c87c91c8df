//! Subscriptions to a log in PostgreSQL while servers and connections fail. The conformance suite
//! covers the rest.

mod announced;
mod delivery;
mod dying;
mod full_queue;
mod idle;

use std::time::Duration;

use dcb_core::{SequencedEvent, Subscription};
use tokio::time::timeout;

use crate::support::postgres::sql::Sql;
use crate::support::wait::wait_until;

/// Longer than any step takes. Only a failing test waits this long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The next `count` events.
async fn take(subscription: &mut Subscription, count: usize) -> Vec<SequencedEvent> {
    let mut taken = Vec::new();
    while taken.len() < count {
        let next = timeout(TIMEOUT, subscription.next()).await;
        let next = next.unwrap_or_else(|_| panic!("{} of {count} events arrived", taken.len()));
        taken.push(
            next.expect("the subscription goes on")
                .expect("the subscription can read"),
        );
    }
    taken
}

/// Waits until a session holds the lock that listeners take.
async fn wait_for_a_listener(sql: &mut Sql, schema: &str) {
    let held = format!(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted \
            AND classid = 1145262644 AND objid = '{schema}.event'::regclass::oid"
    );
    let sql = tokio::sync::Mutex::new(sql);
    wait_until("a store listens", async || {
        sql.lock().await.number(&held).await > 0
    })
    .await;
}
