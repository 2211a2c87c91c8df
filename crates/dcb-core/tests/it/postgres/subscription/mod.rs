//! Subscriptions to a log in PostgreSQL while servers and connections fail. The conformance suite
//! covers the rest.

mod announced;
mod delivery;
mod dying;

use std::time::Duration;

use dcb_core::{SequencedEvent, Subscription};
use tokio::time::timeout;

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
