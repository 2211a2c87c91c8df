use dcb_grpc::proto::{SubscribeRequest, SubscribeResponse};
use tonic::Streaming;

use crate::support::{Served, append, event, tagged};

async fn subscribe(served: &Served, request: SubscribeRequest) -> Streaming<SubscribeResponse> {
    served
        .client()
        .await
        .subscribe(request)
        .await
        .unwrap()
        .into_inner()
}

/// The positions of the next events, until there are `count`.
async fn positions(events: &mut Streaming<SubscribeResponse>, count: usize) -> Vec<u64> {
    let mut positions = Vec::new();
    while positions.len() < count {
        let message = events.message().await.unwrap().unwrap();
        assert!(!message.events.is_empty());
        positions.extend(message.events.iter().map(|event| event.position));
    }
    positions
}

async fn grow(served: &Served, tags: &[&str]) {
    let events: Vec<_> = tags.iter().map(|tag| event("Made", &[tag])).collect();
    served.client().await.append(append(events)).await.unwrap();
}

pub(crate) async fn begins_after_a_position_and_follows(served: &Served) {
    grow(served, &["a", "b", "a"]).await;
    let request = |after| SubscribeRequest {
        query: Some(tagged("a")),
        after,
        batch_size: None,
    };
    let mut whole = subscribe(served, request(None)).await;
    let mut from_first = subscribe(served, request(Some(1))).await;
    assert_eq!(positions(&mut whole, 2).await, [1, 3]);
    assert_eq!(positions(&mut from_first, 1).await, [3]);
    grow(served, &["b"]).await;
    grow(served, &["a"]).await;
    assert_eq!(positions(&mut whole, 1).await, [5]);
    assert_eq!(positions(&mut from_first, 1).await, [5]);
}

pub(crate) async fn beyond_the_head_waits_for_that_position(served: &Served) {
    grow(served, &["a"]).await;
    let request = SubscribeRequest {
        query: None,
        after: Some(3),
        batch_size: None,
    };
    let mut events = subscribe(served, request).await;
    grow(served, &["a", "a"]).await;
    grow(served, &["a", "a"]).await;
    assert_eq!(positions(&mut events, 2).await, [4, 5]);
}

pub(crate) async fn after_the_greatest_position_ends_at_once(served: &Served) {
    grow(served, &["a"]).await;
    let request = SubscribeRequest {
        query: None,
        after: Some(u64::MAX),
        batch_size: None,
    };
    let mut events = subscribe(served, request).await;
    assert!(events.message().await.unwrap().is_none());
}

pub(crate) async fn batch_size_bounds_each_message(served: &Served) {
    const EVENTS: usize = 300;
    let tags = ["a"; EVENTS];
    grow(served, &tags).await;
    for batch_size in [1, 7, 100] {
        let request = SubscribeRequest {
            query: None,
            after: None,
            batch_size: Some(batch_size),
        };
        let mut events = subscribe(served, request).await;
        let mut seen = Vec::new();
        while seen.len() < EVENTS {
            let message = events.message().await.unwrap().unwrap();
            assert!(message.events.len() <= batch_size as usize);
            seen.extend(message.events.iter().map(|event| event.position));
        }
        assert_eq!(seen, (1..=EVENTS as u64).collect::<Vec<_>>());
    }
}

pub(crate) async fn large_events_arrive(served: &Served) {
    let mut large = event("Large", &[]);
    large.data = vec![b'x'; 1_000_000];
    let mut client = served.client().await;
    for _ in 0..3 {
        client
            .append(append([large.clone(), large.clone()]))
            .await
            .unwrap();
        grow(served, &["a"; 40]).await;
    }
    let mut events = subscribe(served, SubscribeRequest::default()).await;
    assert_eq!(
        positions(&mut events, 126).await,
        (1..=126).collect::<Vec<_>>()
    );
}
