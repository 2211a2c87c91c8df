//! States of events that pass through upcasts.

use dcb_core::{Event, EventStore as _, Projector, Upcasting, Upcasts, Versions};
use serde::{Deserialize, Serialize};

use super::{EVERY_TENTH, decide, wait_until_stored};
use crate::backends::on_each_backend;
use crate::support::backend::SharedStore;
use crate::support::events::tag;

on_each_backend! {
    other_upcasts_have_their_own_state
}

#[derive(Serialize, Deserialize)]
struct Cents(u64);

/// Version 1 has euros; version 2 has cents, and so has version 3.
fn upcasts(last: u32) -> Upcasts {
    let cents = Versions::first().then(|euros: u64| Cents(100 * euros));
    match last {
        2 => Upcasts::new().of("Paid", cents),
        _ => Upcasts::new().of("Paid", cents.then(|Cents(cents)| Cents(cents + 1))),
    }
}

fn total() -> Projector<u64> {
    let total = Projector::new(tag("a"), 0, |total: &mut u64, event| {
        *total += event.json::<u64>().unwrap_or_default();
    });
    total.keep_stored("total", 1, EVERY_TENTH())
}

async fn other_upcasts_have_their_own_state<S: SharedStore>() {
    let log = S::fresh_log().await;
    let paid = Event::builder("Paid").tag("a").json(&1).build().unwrap();
    let store = Upcasting::new(S::connect(&log).await, upcasts(2));
    store.append(vec![paid; 40]).await.unwrap();
    assert_eq!(decide(&store, total(), Vec::new()).await, 4_000);
    wait_until_stored(&store, 1).await;
    store.close().await;

    let store = S::connect(&log).await;
    assert_eq!(decide(&store, total(), Vec::new()).await, 40);
    let newer = Upcasting::new(store.clone(), upcasts(3));
    assert_eq!(decide(&newer, total(), Vec::new()).await, 4_040);
    assert_eq!(store.stats().states_loaded, 0);
    let same = Upcasting::new(store.clone(), upcasts(2));
    assert_eq!(decide(&same, total(), Vec::new()).await, 4_000);
    assert_eq!(store.stats().states_loaded, 1);
    store.close().await;
}
