//! Members come and go.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dcb_core::{EventStore as _, ProjectionState, Query, SliceKey, SlicedRunner, SubscribeOptions};
use tokio::task::JoinSet;

use super::ground::{Ground, on_each_database, options};
use crate::support::events::at;
use crate::support::wait::wait_until;

on_each_database! {
    each_event_is_handled_once_and_in_the_order_of_its_key
    each_event_is_handled_once_by_ranges_in_any_order
    members_that_come_and_go_share_the_slices
    slowed_member_keeps_its_pace
    slowed_member_shares_its_slices
    list_has_the_progress_of_each_version
}

async fn each_event_is_handled_once_and_in_the_order_of_its_key<G: Ground>() {
    let ground = G::new().await;
    ground.append(23, 500).await;
    ground.assert_complete(1).await;
    ground.append(5, 30).await;
    ground.assert_complete(1).await;
    ground.store().close().await;
}

/// All events have one course, and still fall to all slices.
async fn each_event_is_handled_once_by_ranges_in_any_order<G: Ground>() {
    const SLICES: &str = "SELECT count(*) FROM @projection_slice WHERE position = 5000";
    let ground = G::new().await;
    ground.append(1, 5_000).await;
    let ranges = || {
        let (store, model) = (ground.store().clone(), ground.model(1));
        SlicedRunner::new(store, Query::all(), SliceKey::any_order(), model).options(options())
    };
    let (mut one, mut other) = (ranges(), ranges());
    tokio::try_join!(one.catch_up(), other.catch_up()).unwrap();
    assert_eq!(ground.number(SLICES).await, 8);
    let seen = ground.of_table("seen_1").await.remove("0").unwrap();
    let mut ranges = BTreeMap::<u64, Vec<u64>>::new();
    for position in seen {
        ranges.entry(position / 256).or_default().push(position);
    }
    let in_order: Vec<u64> = ranges.into_values().flatten().collect();
    assert_eq!(in_order, (1..=5_000).collect::<Vec<_>>());
    ground.store().close().await;
}

const HOLDERS: &str = "SELECT count(DISTINCT member) FROM @projection_slice";

/// Members that come get a share of the slices, and those that are left take the slices of the others.
async fn members_that_come_and_go_share_the_slices<G: Ground>() {
    const WITH_TWO: &str = "SELECT count(*) FROM \
        (SELECT member FROM @projection_slice GROUP BY member HAVING count(*) = 2) AS of_member";
    const FREE: &str = "SELECT count(*) FROM @projection_slice WHERE member IS NULL";
    let ground = G::new().await;
    let mut members = JoinSet::new();
    for count in 1..=4 {
        let mut runner = ground.runner(1);
        members.spawn(async move { runner.run().await });
        ground.append(40, 200).await;
        wait_until("all members have slices", async || {
            ground.number(HOLDERS).await == count
        })
        .await;
    }
    wait_until("each has two", async || ground.number(WITH_TWO).await == 4).await;
    ground.append(40, 200).await;
    members.abort_all();
    ground.append(40, 200).await;
    wait_until("the slices are given back", async || {
        ground.number(FREE).await == 8
    })
    .await;
    ground.assert_complete(1).await;
    ground.store().close().await;
}

async fn slowed_member_keeps_its_pace<G: Ground>() {
    const HANDLED: &str = "SELECT count(*) FROM @seen_1";
    const PER_SECOND: u32 = 200;
    const BATCH_SIZE: usize = 10;
    let ground = G::new().await;
    ground.append(50, 1_000).await;
    let options = options().read(SubscribeOptions::new().batch_size(BATCH_SIZE));
    let mut slowed = ground
        .runner(1)
        .options(options.events_per_second(PER_SECOND));
    let begun = Instant::now();
    let slowed = tokio::spawn(async move { slowed.run().await });
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let handled = ground.number(HANDLED).await;
        let allowed = begun.elapsed().as_secs_f64() * f64::from(PER_SECOND) + BATCH_SIZE as f64;
        assert!(handled as f64 <= allowed, "{handled} of {allowed}");
    }
    slowed.abort();
    ground.assert_complete(1).await;
    ground.store().close().await;
}

/// Its pause after the first batch is longer than the test waits.
async fn slowed_member_shares_its_slices<G: Ground>() {
    const HANDLED: &str = "SELECT count(*) FROM @seen_1";
    let ground = G::new().await;
    ground.append(50, 1_000).await;
    let options = options().read(SubscribeOptions::new().batch_size(500));
    let mut slowed = ground.runner(1).options(options.events_per_second(1));
    let slowed = tokio::spawn(async move { slowed.run().await });
    wait_until("a batch is handled", async || {
        ground.number(HANDLED).await == 500
    })
    .await;
    let mut other = ground.runner(1);
    let other = tokio::spawn(async move { other.run().await });
    wait_until("each has half of the slices", async || {
        ground.number(HOLDERS).await == 2
    })
    .await;
    slowed.abort();
    wait_until("the other has handled all events", async || {
        ground.number(HANDLED).await == 1_000
    })
    .await;
    other.abort();
    ground.assert_complete(1).await;
    ground.store().close().await;
}

async fn list_has_the_progress_of_each_version<G: Ground>() {
    let ground = G::new().await;
    ground.append(23, 100).await;
    ground.runner(1).catch_up().await.unwrap();
    let listed = ground.list().await;
    let [one] = listed.as_slice() else {
        panic!("{listed:?}");
    };
    assert_eq!((one.name.as_str(), one.version, one.slices), ("seen", 1, 8));
    assert_eq!(one.state, ProjectionState::Current);
    assert_eq!(one.position.map(|position| position.get()), Some(100));
    assert_eq!((one.parked, one.stopped.len()), (0, 0));
    let mut earlier = one.clone();
    earlier.position = None;
    let rate = one.rate(&earlier, Duration::from_secs(4));
    assert_eq!((rate, one.rate(one, Duration::from_secs(4))), (25.0, 0.0));
    assert_eq!(one.time_left(at(150), rate), Some(Duration::from_secs(2)));
    assert_eq!(one.time_left(at(150), 0.0), None);
    ground.store().close().await;
}
