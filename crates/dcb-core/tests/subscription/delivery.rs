//! How long an event is on its way: printed, not asserted.

use std::time::{Duration, Instant};

use dcb_core::conformance::effort;
use dcb_core::{Event, EventStore as _, Query, SubscribeOptions};
use local_postgres::Durability;
use tokio::time::interval;

use crate::support::{connect, log_on, server_of_its_own};
use crate::take;

/// From the moment an append is acknowledged to the moment a subscriber has the event, at 1,000
/// appends a second, where the subscriber is in the process that appends and where it is not.
#[tokio::test(flavor = "multi_thread")]
async fn every_append_of_a_steady_load_is_delivered() {
    let appends = effort(1000);
    let server = server_of_its_own(Durability::Durable, &[]).await;
    let log = log_on(server.url());
    let (writer, reader) = (connect(&log).await, connect(&log).await);
    let origin = Instant::now();
    let subscribers =
        [("here", writer.clone()), ("elsewhere", reader.clone())].map(|(place, store)| {
            let task = tokio::spawn(async move {
                let mut events = store.subscribe(Query::all(), None, SubscribeOptions::new());
                let mut arrivals = Vec::with_capacity(appends);
                for _ in 0..appends {
                    take(&mut events, 1).await;
                    arrivals.push(origin.elapsed());
                }
                arrivals
            });
            (place, task)
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
    for (place, subscriber) in subscribers {
        let arrivals = subscriber.await.unwrap();
        let mut delays: Vec<Duration> = acknowledged
            .iter()
            .zip(&arrivals)
            .map(|((_, committed), arrived)| arrived.saturating_sub(*committed))
            .collect();
        delays.sort_unstable();
        let at = |share: usize| delays[(delays.len() - 1) * share / 100];
        println!("{place}: p50 {:?}, p99 {:?} of {appends}", at(50), at(99));
    }
    writer.close().await;
    reader.close().await;
}
