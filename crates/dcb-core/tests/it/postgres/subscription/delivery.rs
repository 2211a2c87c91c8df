//! Delivery of events to subscribers. Prints the delays and asserts only completeness.

use std::time::{Duration, Instant};

use conformance_suite::effort;
use dcb_core::{Event, EventStore as _, Query, SubscribeOptions};
use tokio::time::interval;

use super::take;
use crate::support::postgres::{connect, durable_server, log_on};

/// Prints the time from the acknowledgement of an append to its delivery, at 1,000 appends per second.
/// One subscriber uses the store that appends, the other uses another store.
#[tokio::test(flavor = "multi_thread")]
async fn steady_load_is_delivered_completely() {
    let appends = effort(1000);
    let server = durable_server().await;
    let log = log_on(server.url());
    let (writer, reader) = (connect(&log).await, connect(&log).await);
    let origin = Instant::now();
    let subscribers = [
        ("same store", writer.clone()),
        ("other store", reader.clone()),
    ]
    .map(|(name, store)| {
        let task = tokio::spawn(async move {
            let mut events = store.subscribe(Query::all(), None, SubscribeOptions::new());
            let mut arrivals = Vec::with_capacity(appends);
            for _ in 0..appends {
                take(&mut events, 1).await;
                arrivals.push(origin.elapsed());
            }
            arrivals
        });
        (name, task)
    });
    let mut acknowledged = Vec::with_capacity(appends);
    let mut ticks = interval(Duration::from_millis(1));
    let mut appending = tokio::task::JoinSet::new();
    for _ in 0..appends {
        ticks.tick().await;
        let writer = writer.clone();
        appending.spawn(async move {
            let event = Event::builder("Happened")
                .tag("load")
                .data([0; 200])
                .build();
            let appended = writer.append(event.unwrap()).await.unwrap();
            (appended.first().get(), origin.elapsed())
        });
    }
    while let Some(done) = appending.join_next().await {
        acknowledged.push(done.unwrap());
    }
    acknowledged.sort_unstable();
    for (name, subscriber) in subscribers {
        let arrivals = subscriber.await.unwrap();
        let mut delays: Vec<Duration> = acknowledged
            .iter()
            .zip(&arrivals)
            .map(|((_, committed), arrived)| arrived.saturating_sub(*committed))
            .collect();
        delays.sort_unstable();
        let percentile = |share: usize| delays[(delays.len() - 1) * share / 100];
        println!(
            "{name}: p50 {:?}, p99 {:?} of {appends}",
            percentile(50),
            percentile(99)
        );
    }
    writer.close().await;
    reader.close().await;
}
