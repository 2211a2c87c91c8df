//! Subscriptions to a log in PostgreSQL, while servers and connections die. The conformance suite
//! shows the rest on every store.

mod announced;
mod delivery;
mod dying;
#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

use dcb_core::{SequencedEvent, Subscription};
use tokio::time::timeout;

/// Longer than anything takes; a test waits that long only to fail.
const PATIENCE: Duration = Duration::from_secs(60);

/// The next so many events.
async fn take(subscription: &mut Subscription, count: usize) -> Vec<SequencedEvent> {
    let mut taken = Vec::new();
    while taken.len() < count {
        let next = timeout(PATIENCE, subscription.next()).await;
        let next = next.unwrap_or_else(|_| panic!("{} of {count} events came", taken.len()));
        taken.push(next.expect("it goes on").expect("it can read"));
    }
    taken
}
