//! A new version is built beside the current one, and takes its place.

use std::time::Duration;

use dcb_core::{Error, EventStore as _, Fault, ProjectionState};

use super::ground::{Ground, LIMIT, on_each_database};

on_each_database! {
    version_is_built_beside_the_current_one_and_takes_its_place
    version_that_has_not_caught_up_does_not_take_the_place
    version_is_thrown_away
}

async fn version_is_built_beside_the_current_one_and_takes_its_place<G: Ground>() {
    let ground = G::new().await;
    ground.append(50, 500).await;
    let mut one = ground.runner(1);
    one.catch_up().await.unwrap();
    let one = tokio::spawn(async move { one.run().await });
    let mut two = ground.runner(2);
    let two = tokio::spawn(async move { two.run().await });
    let appending = async {
        for _ in 0..40 {
            ground.append(50, 50).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let promoted = async {
        ground.promote(2, LIMIT).await.unwrap();
        // Readers see of version 2 all that they saw of version 1.
        let (before, now) = (
            ground.of_table("seen_1").await,
            ground.of_table("seen").await,
        );
        for (key, positions) in before {
            assert!(now[&key].starts_with(&positions), "course {key}");
        }
    };
    tokio::join!(appending, promoted);
    let ended = one.await.unwrap().unwrap_err();
    assert!(
        matches!(&ended, Error::Superseded { version: 1, .. }),
        "{ended:?}"
    );
    two.abort();
    ground.assert_complete(2).await;
    let expected = ground.expected().await;
    assert_eq!(ground.of_table("seen").await, expected);
    // Each event was reacted to once, by one of the two.
    assert_eq!(ground.of_table("reacted").await, expected);
    let states = ground.list().await.into_iter().map(|version| version.state);
    let retired_first = [ProjectionState::Retired, ProjectionState::Current];
    assert_eq!(states.collect::<Vec<_>>(), retired_first);
    // A program that is started again promotes again.
    ground.promote(2, Duration::ZERO).await.unwrap();
    ground.store().close().await;
}

async fn version_that_has_not_caught_up_does_not_take_the_place<G: Ground>() {
    let ground = G::new().await;
    ground.append(50, 100).await;
    ground.runner(1).catch_up().await.unwrap();
    ground.runner(2).catch_up().await.unwrap();
    ground
        .run(
            "UPDATE @projection_slice SET position = 0, bookmark = NULL \
              WHERE version = 2 AND slice = 3",
        )
        .await;
    for refused in [
        ground.promote(2, Duration::from_millis(200)).await,
        ground.take_over(2, Duration::from_millis(200)).await,
    ] {
        let refused = refused.unwrap_err();
        assert!(
            matches!(&refused, Error::Fault(Fault::TimedOut { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(ground.of_table("seen").await, ground.expected().await);
    assert_eq!(ground.list().await[0].state, ProjectionState::Current);
    ground.store().close().await;
}

async fn version_is_thrown_away<G: Ground>() {
    let ground = G::new().await;
    ground.append(50, 100).await;
    ground.runner(1).catch_up().await.unwrap();
    ground.runner(2).catch_up().await.unwrap();
    ground.discard(2).await;
    assert_eq!(ground.of_table("seen_2").await.len(), 0);
    assert_eq!(ground.list().await.len(), 1);
    // It can be built again.
    ground.assert_complete(2).await;
    assert_eq!(ground.of_table("reacted").await, ground.expected().await);
    ground.store().close().await;
}
