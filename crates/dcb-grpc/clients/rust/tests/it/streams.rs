use futures::StreamExt as _;
use umadb_dcb::{DcbError, DcbEventStoreAsync as _, DcbSubscriptionAsync};

use crate::events::{made, positions, tagged};
use crate::server::{Backend, Server};

type Subscription = Box<dyn DcbSubscriptionAsync + Send>;

async fn next(subscription: &mut Subscription, count: usize) -> Vec<u64> {
    let events: Vec<_> = subscription.take(count).collect().await;
    let events: Result<Vec<_>, _> = events.into_iter().collect();
    positions(&events.unwrap())
}

pub(crate) async fn subscriptions_follow_appends(backend: Backend) {
    let server = Server::start(backend);
    let client = server.client().await;
    let even = |number: u64| {
        if number.is_multiple_of(2) {
            "even"
        } else {
            "odd"
        }
    };
    let before = vec![made(&["odd"]), made(&["even"])];
    client.append(before, None, None).await.unwrap();
    let mut everything = client.subscribe(None, None).await.unwrap();
    let mut odd = client
        .subscribe(Some(tagged("odd")), Some(1))
        .await
        .unwrap();
    let mut beyond = client.subscribe(None, Some(100)).await.unwrap();
    assert_eq!(next(&mut everything, 2).await, [1, 2]);
    let writer = server.client().await;
    for number in 3..=102 {
        let event = vec![made(&[even(number)])];
        assert_eq!(writer.append(event, None, None).await.unwrap(), number);
    }
    assert_eq!(
        next(&mut everything, 100).await,
        (3..=102).collect::<Vec<_>>()
    );
    let expected: Vec<_> = (3..=102).step_by(2).collect();
    assert_eq!(next(&mut odd, expected.len()).await, expected);
    assert_eq!(next(&mut beyond, 2).await, [101, 102]);
    let mut never = client.subscribe(None, Some(u64::MAX)).await.unwrap();
    assert!(never.next().await.is_none());
}

/// Its client reads nothing until others have appended behind the events that are on their way.
pub(crate) async fn subscription_that_is_behind_misses_nothing(backend: Backend) {
    const LARGE: u64 = 12;
    const LAST: u64 = LARGE + 51;
    let server = Server::start(backend);
    let client = server.client().await;
    // More than the transport takes before the client reads.
    for _ in 0..LARGE / 4 {
        let large = vec![made(&[]).data(vec![b'x'; 900_000]); 4];
        client.append(large, None, None).await.unwrap();
    }
    let mut subscription = client.subscribe(None, None).await.unwrap();
    let mut seen = next(&mut subscription, 1).await;
    let writer = server.client().await;
    for _ in LARGE..LAST - 1 {
        writer.append(vec![made(&[])], None, None).await.unwrap();
    }
    let missing = LARGE as usize - seen.len();
    seen.extend(next(&mut subscription, missing).await);
    writer.append(vec![made(&[])], None, None).await.unwrap();
    while seen.last() < Some(&LAST) {
        seen.extend(next(&mut subscription, 1).await);
    }
    assert_eq!(seen, (1..=LAST).collect::<Vec<_>>());
}

pub(crate) async fn cancelled_streams_free_their_places(backend: Backend) {
    let server = Server::with(backend, &["--max-subscriptions", "4"]);
    let client = server.client().await;
    let mut first = client.subscribe(None, None).await.unwrap();
    let mut others = Vec::new();
    for _ in 1..4 {
        others.push(client.subscribe(None, None).await.unwrap());
    }
    let refused = client.subscribe(None, None).await.map(drop).unwrap_err();
    assert!(
        matches!(&refused, DcbError::InternalError(message) if message.contains("4 subscriptions")),
        "{refused:?}"
    );
    // The client waits for events when another task cancels.
    let cancel = first.cancel_handle().unwrap();
    let waiting = tokio::spawn(async move { first.next_batch().await });
    cancel.cancel();
    let cancelled = waiting.await.unwrap();
    assert!(
        matches!(cancelled, Err(DcbError::CancelledByUser())),
        "{cancelled:?}"
    );
    let mut tries = 0;
    while client.subscribe(None, None).await.is_err() {
        tries += 1;
        assert!(tries < 10_000, "the place is still taken");
    }
    // The others were not touched.
    assert_eq!(client.append(vec![made(&[])], None, None).await.unwrap(), 1);
    for subscription in &mut others {
        assert_eq!(next(subscription, 1).await, [1]);
    }
    // All of a client's.
    client.close();
    for subscription in &mut others {
        let cancelled = subscription.next_batch().await;
        assert!(
            matches!(cancelled, Err(DcbError::CancelledByUser())),
            "{cancelled:?}"
        );
    }
    assert_eq!(client.head().await.unwrap(), Some(1));
}

pub(crate) async fn subscriptions_end_with_the_server(backend: Backend) {
    let server = Server::start(backend);
    let client = server.client().await;
    client.append(vec![made(&[])], None, None).await.unwrap();
    let mut subscription = client.subscribe(None, None).await.unwrap();
    assert_eq!(next(&mut subscription, 1).await, [1]);
    server.terminate();
    // Not an error.
    assert!(subscription.next().await.is_none());
}
