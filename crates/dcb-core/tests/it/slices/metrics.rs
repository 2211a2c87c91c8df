//! The metrics of members are those in the table of README.md.

use std::collections::BTreeSet;

use dcb_core::{EventStore as _, OnFailure, Query, SlicedRunner};
use store_meter::testing::{Recorded, Recording, documented};

use super::ground::{Ground, Runner, course, on_each_database, options};
use crate::support::wait::wait_until;

on_each_database! {
    members_record_their_slices_events_and_failures
    lag_of_a_member_counts_until_it_ends
}

/// The third event of course 3. Seven of its events wait behind it.
const REFUSED: u64 = 24;
const VERSION: Option<(&str, &str)> = Some(("version", "1"));

/// A log of 100 events, a handler that refuses one of them, and a member that has not started.
async fn refusing<G: Ground>(ground: &G) -> (G::Store, Runner<G>, Recording) {
    ground.append(10, 100).await;
    ground
        .run(&format!("INSERT INTO @refused VALUES ({REFUSED})"))
        .await;
    let opening = async {
        let store = ground.connect().await;
        let member = SlicedRunner::new(store.clone(), Query::all(), course(), ground.model(1));
        (store, member)
    };
    let ((store, member), recording) = Recording::of(opening).await;
    (store, member, recording)
}

fn assert_as_documented(recorded: &Recorded) {
    let table = documented(include_str!("../../../README.md"), "dcb_projection");
    let rows = recorded.rows(&["backend", "log"]).into_iter();
    let rows = rows.filter(|(name, ..)| name.starts_with("dcb_projection"));
    assert_eq!(rows.collect::<BTreeSet<_>>(), table);
}

async fn members_record_their_slices_events_and_failures<G: Ground>() {
    let ground = G::new().await;
    let (store, member, recording) = refusing(&ground).await;
    let parking = options().tries(1).on_failure(OnFailure::Park);
    let mut member = member.options(parking);
    member.catch_up().await.unwrap();
    let recorded = recording.look();
    assert_as_documented(&recorded);
    for (name, label, wanted) in [
        ("dcb_projection_events_total", VERSION, 99.0),
        ("dcb_projection_slices", VERSION, 0.0),
        ("dcb_projection_lag_positions", VERSION, 0.0),
        (
            "dcb_projection_failures_total",
            Some(("outcome", "parked")),
            1.0,
        ),
        (
            "dcb_projection_failures_total",
            Some(("outcome", "skipped")),
            0.0,
        ),
    ] {
        assert_eq!(recorded.number(name, label), wanted, "{name} {label:?}");
    }
    let seen = Some(("projection", "seen"));
    assert_eq!(recorded.number("dcb_projection_lag_positions", seen), 0.0);
    store.close().await;
    ground.store().close().await;
}

/// The member tries the event again and again. It reads 16 events at once, so it has handled the first 16.
async fn lag_of_a_member_counts_until_it_ends<G: Ground>() {
    let ground = G::new().await;
    let (store, member, recording) = refusing(&ground).await;
    let mut member = member.options(options().tries(u32::MAX));
    let running = tokio::spawn(async move { member.run().await });
    // Each look sets the gauges back to 0.
    let (mut slices, mut lag) = (0.0, 0.0);
    let mut look = || {
        let recorded = recording.look();
        slices += recorded.number("dcb_projection_slices", VERSION);
        lag += recorded.number("dcb_projection_lag_positions", VERSION);
        (slices, lag)
    };
    wait_until("the slices and the lag show", async || {
        look() == (8.0, 84.0)
    })
    .await;
    running.abort();
    wait_until("they have left the sums", async || look() == (0.0, 0.0)).await;
    store.close().await;
    ground.store().close().await;
}
