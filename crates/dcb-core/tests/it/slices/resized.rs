//! The number of slices changes while members work.

use std::time::Duration;

use dcb_core::{Error, EventStore as _, Fault};

use super::ground::{Ground, LIMIT, on_each_database};

on_each_database! {
    number_of_slices_changes_without_starting_over
    slices_at_different_positions_are_not_merged
}

async fn number_of_slices_changes_without_starting_over<G: Ground>() {
    let ground = G::new().await;
    ground.append(50, 300).await;
    let members: Vec<_> = (0..2)
        .map(|_| {
            let mut member = ground.runner(1);
            tokio::spawn(async move { member.run().await })
        })
        .collect();
    let appending = async {
        for _ in 0..40 {
            ground.append(50, 50).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let resizing = async {
        // The members make the projection known.
        while ground.list().await.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        for slices in [16, 3, 7, 1, 8] {
            ground.resize(1, slices, LIMIT).await.unwrap();
        }
    };
    tokio::join!(appending, resizing);
    for member in members {
        member.abort();
    }
    ground.assert_complete(1).await;
    ground.store().close().await;
}

/// Without members, slices at different positions can't be merged, and nothing is handled twice.
async fn slices_at_different_positions_are_not_merged<G: Ground>() {
    let ground = G::new().await;
    ground.append(50, 300).await;
    ground.runner(1).catch_up().await.unwrap();
    ground
        .run("UPDATE @projection_slice SET position = position - 1 WHERE slice = 3")
        .await;
    let refused = ground.resize(1, 4, Duration::ZERO).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Fault(Fault::TimedOut { .. })),
        "{refused:?}"
    );
    ground.resize(1, 24, Duration::ZERO).await.unwrap();
    ground.store().close().await;
}
