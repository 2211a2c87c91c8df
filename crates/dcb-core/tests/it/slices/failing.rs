//! A handler that fails stops its slice, skips the event, or parks its key.

use std::time::Duration;

use dcb_core::{Error, EventStore as _, OnFailure, SliceKey};

use super::ground::{ByKey, Ground, LIMIT, on_each_database, options};

on_each_database! {
    failing_handler_stops_its_slice_and_names_the_event
    skipped_event_is_recorded
    parked_key_waits_for_its_replay_while_the_others_go_on
    replay_beside_a_member_keeps_the_order_of_the_key
}

/// The event that the handler refuses: the third of course 3.
const REFUSED: u64 = 24;
const KEY: &str = "3";

async fn refuse(ground: &impl Ground) {
    let refuse = format!("INSERT INTO @refused VALUES ({REFUSED})");
    ground.run(&refuse).await;
}

async fn allow(ground: &impl Ground) {
    ground.run("DELETE FROM @refused").await;
}

fn in_other_slices(events: ByKey) -> ByKey {
    let other = |key: &String| SliceKey::slice_of(key, 8) != SliceKey::slice_of(KEY, 8);
    events.into_iter().filter(|(key, _)| other(key)).collect()
}

async fn failing_handler_stops_its_slice_and_names_the_event<G: Ground>() {
    let ground = G::new().await;
    ground.append(10, 100).await;
    refuse(&ground).await;
    let mut member = ground.runner(1).options(options().tries(2));
    member.catch_up().await.unwrap();
    let seen = ground.of_table("seen_1").await;
    assert_eq!(
        in_other_slices(seen.clone()),
        in_other_slices(ground.expected().await)
    );
    assert_eq!(seen[KEY], [4, 14]);

    let stopped = ground.list().await.remove(0).stopped;
    let text = format!("the event at position {REFUSED}: refused");
    assert_eq!(stopped, [(SliceKey::slice_of(KEY, 8), text)]);
    let resized = ground.resize(1, 16, Duration::ZERO).await;
    assert!(
        matches!(&resized, Err(Error::Invalid { field, .. }) if field == "slices"),
        "{resized:?}"
    );

    allow(&ground).await;
    ground.resume().await;
    member.catch_up().await.unwrap();
    assert_eq!(ground.of_table("seen_1").await, ground.expected().await);
    ground.store().close().await;
}

async fn skipped_event_is_recorded<G: Ground>() {
    let ground = G::new().await;
    ground.append(10, 100).await;
    refuse(&ground).await;
    let skipping = options().tries(1).on_failure(OnFailure::Skip);
    ground.runner(1).options(skipping).catch_up().await.unwrap();
    let mut others = ground.expected().await;
    others
        .get_mut(KEY)
        .unwrap()
        .retain(|position| *position != REFUSED);
    assert_eq!(ground.of_table("seen_1").await, others);
    assert_eq!(ground.of_table("reacted").await, others);
    let aside = ground.set_aside().await;
    let [event] = aside.as_slice() else {
        panic!("{aside:?}");
    };
    assert_eq!((event.position.get(), event.key.as_str()), (REFUSED, KEY));
    assert_eq!(
        (event.is_parked, event.error.as_deref()),
        (false, Some("refused"))
    );
    ground.store().close().await;
}

async fn parked_key_waits_for_its_replay_while_the_others_go_on<G: Ground>() {
    let ground = G::new().await;
    ground.append(10, 100).await;
    refuse(&ground).await;
    let parking = options().tries(1).on_failure(OnFailure::Park);
    let mut member = ground.runner(1).options(parking);
    member.catch_up().await.unwrap();
    ground.append(10, 50).await;
    member.catch_up().await.unwrap();
    let mut others = ground.expected().await;
    others
        .get_mut(KEY)
        .unwrap()
        .retain(|position| *position < REFUSED);
    assert_eq!(ground.of_table("seen_1").await, others);
    let aside = ground.set_aside().await;
    assert_eq!(aside.len(), 13);
    assert!(
        aside
            .iter()
            .all(|event| event.is_parked && event.key == KEY)
    );
    assert_eq!(
        aside.iter().filter(|event| event.error.is_some()).count(),
        1
    );
    // The parked events keep their slice when the number of slices changes.
    ground.resize(1, 12, LIMIT).await.unwrap();

    let refused = ground.replay(KEY).await;
    assert!(matches!(refused, Err(Error::Handler { .. })), "{refused:?}");
    allow(&ground).await;
    assert_eq!(ground.replay(KEY).await.unwrap(), 13);
    ground.append(10, 50).await;
    member.catch_up().await.unwrap();
    assert_eq!(ground.of_table("seen_1").await, ground.expected().await);
    assert_eq!(ground.list().await[0].parked, 0);
    ground.store().close().await;
}

/// An event arrives for a key whose parked events are being replayed.
async fn replay_beside_a_member_keeps_the_order_of_the_key<G: Ground>() {
    let ground = G::new().await;
    ground.append(2, 40).await;
    ground.run("INSERT INTO @refused VALUES (1), (2)").await;
    let parking = options().tries(1).on_failure(OnFailure::Park);
    let mut member = ground.runner(1).options(parking);
    member.catch_up().await.unwrap();
    allow(&ground).await;
    let running = tokio::spawn(async move { member.run().await });
    let appending = async {
        for _ in 0..40 {
            ground.append(2, 4).await;
        }
    };
    let replaying = async {
        tokio::try_join!(ground.replay("0"), ground.replay("1")).unwrap();
    };
    tokio::join!(appending, replaying);
    running.abort();
    for key in ["0", "1"] {
        ground.replay(key).await.unwrap();
    }
    ground.assert_complete(1).await;
    ground.store().close().await;
}
