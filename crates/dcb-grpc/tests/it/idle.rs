//! Subscriptions that wait cost the database the same, one or a thousand.

use std::time::{Duration, Instant};

use dcb_core::EventStore as _;
use dcb_grpc::proto::SubscribeRequest;
use tokio::time::sleep;

use crate::support::{Log, Served, append, event, tagged};

/// How often an idle subscription of the store looks at the end of the log.
const INTERVAL: Duration = Duration::from_millis(200);
const SUBSCRIPTIONS: u64 = 1_000;
/// How many times the test looks before it fails.
const WINDOWS: usize = 15;

#[tokio::test(flavor = "multi_thread")]
async fn idle_subscriptions_share_their_reads() {
    let served = Served::new(Log::postgres().await).await;
    let mut client = served.client().await;
    let mut followers = Vec::new();
    for user in 0..SUBSCRIPTIONS {
        let request = SubscribeRequest {
            query: Some(tagged(&format!("user:{user}"))),
            ..SubscribeRequest::default()
        };
        let subscribed = client.subscribe(request).await;
        followers.push(subscribed.unwrap().into_inner());
    }
    while served.store.stats().reads < SUBSCRIPTIONS {
        sleep(INTERVAL).await;
    }
    // Not at once: after the first announcement each reads several times.
    let mut is_quiet = false;
    for _ in 0..WINDOWS {
        let (begun, before) = (Instant::now(), served.store.stats().reads);
        sleep(10 * INTERVAL).await;
        let reads = served.store.stats().reads - before;
        let intervals = begun.elapsed().as_millis() / INTERVAL.as_millis();
        is_quiet = u128::from(reads) <= 2 * intervals;
        if is_quiet {
            break;
        }
    }
    assert!(is_quiet, "each subscription reads by itself");
    let events = (0..SUBSCRIPTIONS).map(|user| event("Made", &[&format!("user:{user}")]));
    client
        .append(append(events.collect::<Vec<_>>()))
        .await
        .unwrap();
    for (user, follower) in (1..).zip(&mut followers) {
        let message = follower.message().await.unwrap().unwrap();
        assert_eq!(message.events[0].position, user);
    }
    drop((client, followers));
    served.stop().await;
}
