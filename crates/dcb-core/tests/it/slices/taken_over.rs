//! A version takes the place of one that stands still with its slices at different positions.

use std::time::Duration;

use dcb_core::{Error, EventStore as _, ProjectionState};

use super::ground::{Ground, LIMIT, on_each_database, options};

on_each_database! {
    version_takes_over_from_slices_at_different_positions
    version_takes_over_from_a_slice_that_has_stopped
    version_with_another_number_of_slices_does_not_take_over
}

/// Brings version 1 to the head, but some of its slices only to a place before it.
async fn stop_at_different_positions<G: Ground>(ground: &G) {
    ground.append(50, 100).await;
    // A slice stops at each of these events, and the version goes on without it.
    ground.run("INSERT INTO @refused VALUES (61), (75)").await;
    let mut member = ground.runner(1).options(options().tries(1));
    member.catch_up().await.unwrap();
    assert_eq!(ground.list().await[0].stopped.len(), 2);
    ground.run("DELETE FROM @refused").await;
}

/// Version 2 handles each event, and each was reacted to by one of the two.
async fn take_over<G: Ground>(ground: &G) {
    let mut two = ground.runner(2);
    let two = tokio::spawn(async move { two.run().await });
    ground.take_over(2, LIMIT).await.unwrap();
    ground.append(50, 100).await;
    two.abort();
    ground.assert_complete(2).await;
    let expected = ground.expected().await;
    assert_eq!(ground.of_table("seen").await, expected);
    assert_eq!(ground.of_table("reacted").await, expected);
    let states = ground.list().await.into_iter().map(|version| version.state);
    let retired_first = [ProjectionState::Retired, ProjectionState::Current];
    assert_eq!(states.collect::<Vec<_>>(), retired_first);
    ground.store().close().await;
}

/// No member of version 1 is left to bring them together.
async fn version_takes_over_from_slices_at_different_positions<G: Ground>() {
    let ground = G::new().await;
    stop_at_different_positions(&ground).await;
    ground.resume().await;
    take_over(&ground).await;
}

/// Members of version 1 go on with the other slices.
async fn version_takes_over_from_a_slice_that_has_stopped<G: Ground>() {
    let ground = G::new().await;
    stop_at_different_positions(&ground).await;
    let mut one = ground.runner(1);
    let one = tokio::spawn(async move { one.run().await });
    let refused = ground.promote(2, Duration::ZERO).await;
    assert!(refused.is_err(), "{refused:?}");
    ground.append(50, 100).await;
    take_over(&ground).await;
    let ended = one.await.unwrap().unwrap_err();
    assert!(
        matches!(&ended, Error::Superseded { version: 1, .. }),
        "{ended:?}"
    );
}

async fn version_with_another_number_of_slices_does_not_take_over<G: Ground>() {
    let ground = G::new().await;
    stop_at_different_positions(&ground).await;
    ground.resume().await;
    let mut two = ground.runner(2).options(options().slices(12));
    let two = tokio::spawn(async move { two.run().await });
    while ground.list().await.len() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let refused = ground.take_over(2, LIMIT).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Invalid { field, .. } if field == "slices"),
        "{refused:?}"
    );
    ground.resize(2, 8, LIMIT).await.unwrap();
    two.abort();
    take_over(&ground).await;
}
