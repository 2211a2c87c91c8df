//! Races, and what their histories hold.

use crate::log::{Log, prepared};
use peer_protocol::{Peer as _, Race};

/// The events from before the race are no part of its history, or the referee would ask who appended them.
#[tokio::test(flavor = "multi_thread")]
async fn race_begins_after_the_last_event_of_a_store_that_tells_no_head() {
    let log = Log {
        tells_no_head: true,
        ..Log::default()
    };
    let mut peer = prepared(log).await;
    let race = Race {
        seed: 1,
        callers: 4,
        followers: 1,
        calls: 20,
        repeats: false,
        drops: false,
    };
    let history = peer.race(&race).await.unwrap();
    assert_eq!(history.start, 3_000);
    assert!(!history.log.is_empty());
    assert!(history.log.iter().all(|entry| entry.place.position > 3_000));
    assert!(
        history
            .followed
            .iter()
            .flatten()
            .all(|place| place.position > 3_000)
    );
}
