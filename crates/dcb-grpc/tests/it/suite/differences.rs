//! The rows of the README's table "Differences from UmaDB" that no other test has.

use dcb_core::EventStore as _;
use dcb_grpc::proto::error_response::ErrorType;
use dcb_grpc::proto::{
    AppendRequest, Query, QueryItem, ReadRequest, SubscribeRequest, TrackingInfo,
};
use tonic::{Code, Status};
use uuid::Uuid;

use crate::support::{Served, append, condition, error_type, event, query, tagged, with_id};

async fn refusal(served: &Served, request: AppendRequest) -> Status {
    served.client().await.append(request).await.unwrap_err()
}

fn is_invalid(status: &Status, field: &str) {
    assert_eq!(error_type(status), ErrorType::InvalidArgument, "{status:?}");
    assert!(status.message().contains(field), "{status:?}");
}

pub(crate) async fn events_without_an_id_get_one(served: &Served) {
    let mut nil = event("Made", &[]);
    nil.uuid = Uuid::nil().to_string();
    let mut client = served.client().await;
    let events = [nil.clone(), nil, event("Made", &[])];
    client.append(append(events)).await.unwrap();
    let read = async || {
        let read = served.client().await.read(ReadRequest::default()).await;
        let page = read.unwrap().into_inner().message().await.unwrap().unwrap();
        let events = page.events.into_iter();
        let ids = events.map(|event| Uuid::try_parse(&event.event.unwrap().uuid).unwrap());
        ids.collect::<Vec<_>>()
    };
    let mut ids = read().await;
    assert_eq!(ids, read().await);
    ids.push(Uuid::nil());
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

pub(crate) async fn an_id_occurs_once_in_an_append(served: &Served) {
    let status = refusal(served, append([with_id(1), with_id(1)])).await;
    assert_eq!(error_type(&status), ErrorType::Integrity, "{status:?}");
    assert_eq!(served.store.head().await.unwrap(), None);
}

pub(crate) async fn names_have_bounds(served: &Served) {
    let mut client = served.client().await;
    let (longest_type, longest_tag) = ("é".repeat(255), "é".repeat(1_024));
    let longest = append(event(&longest_type, &[&longest_tag]));
    client.append(longest).await.unwrap();
    let longest = ReadRequest {
        query: Some(query(&[&longest_type], &[&longest_tag])),
        ..ReadRequest::default()
    };
    let mut found = client.read(longest).await.unwrap().into_inner();
    let page = found.message().await.unwrap().unwrap();
    assert_eq!(page.events.len(), 1);

    let (long_type, long_tag) = (longest_type + "é", longest_tag + "é");
    for (field, types, tags) in [
        ("type", vec![""], vec![]),
        ("type", vec![&*long_type], vec![]),
        ("type", vec!["a\0b"], vec![]),
        ("tag", vec!["Made"], vec![""]),
        ("tag", vec!["Made"], vec![&*long_tag]),
        ("tag", vec!["Made"], vec!["a\0b"]),
    ] {
        is_invalid(
            &refusal(served, append(event(types[0], &tags))).await,
            field,
        );
        let bad = query(&types, &tags);
        let mut request = append(event("Made", &[]));
        request.condition = condition(bad.clone(), None);
        is_invalid(&refusal(served, request).await, field);
        let read = ReadRequest {
            query: Some(bad.clone()),
            ..ReadRequest::default()
        };
        is_invalid(&client.read(read).await.unwrap_err(), field);
        let subscribe = SubscribeRequest {
            query: Some(bad),
            ..SubscribeRequest::default()
        };
        is_invalid(&client.subscribe(subscribe).await.unwrap_err(), field);
    }
    let mut nul = event("Made", &[]);
    nul.metadata[0].value = "a\0b".to_owned();
    is_invalid(&refusal(served, append(nul)).await, "metadata");
}

pub(crate) async fn numbers_have_bounds(served: &Served) {
    let mut client = served.client().await;
    let events = |count| append(vec![event("Made", &[]); count]);
    client.append(events(1_000)).await.unwrap();
    is_invalid(&refusal(served, events(1_001)).await, "events");
    let mut large = event("Made", &[]);
    large.data = vec![0; (1 << 20) + 1];
    is_invalid(&refusal(served, append(large)).await, "events[0]");

    let items = |count| Query {
        items: (0..count)
            .map(|number: usize| QueryItem {
                types: Vec::new(),
                tags: vec![number.to_string()],
            })
            .collect(),
    };
    let read = |count| ReadRequest {
        query: Some(items(count)),
        ..ReadRequest::default()
    };
    client.read(read(1_000)).await.unwrap();
    is_invalid(&client.read(read(1_001)).await.unwrap_err(), "items");
    let mut request = append(event("Made", &[]));
    request.condition = condition(items(1_001), None);
    is_invalid(&refusal(served, request).await, "items");
}

pub(crate) async fn tracking_needs_events_a_source_and_a_signed_position(served: &Served) {
    let tracked = |source: &str, position| {
        let mut request = append(event("Copied", &[]));
        let source = source.to_owned();
        request.tracking_info = Some(TrackingInfo { source, position });
        request
    };
    const GREATEST: u64 = u64::MAX >> 1;
    let mut client = served.client().await;
    client.append(tracked("upstream", GREATEST)).await.unwrap();
    for position in [GREATEST + 1, u64::MAX] {
        let status = refusal(served, tracked("upstream", position)).await;
        is_invalid(&status, "tracking.position");
    }
    is_invalid(&refusal(served, tracked("", 1)).await, "tracking.source");
    let mut nothing = tracked("another", 1);
    nothing.events.clear();
    is_invalid(&refusal(served, nothing).await, "tracking_info");
    assert_eq!(served.store.tracked("another").await.unwrap(), None);
}

pub(crate) async fn other_interfaces_see_tracking_and_order_as_metadata(served: &Served) {
    let sorted = event("Copied", &["a", "b"]);
    let mut request = append([sorted, event("Copied", &["b", "a", "b"])]);
    request.tracking_info = Some(TrackingInfo {
        source: "up stream".to_owned(),
        position: 9,
    });
    served.client().await.append(request).await.unwrap();
    let options = dcb_core::ReadOptions::new();
    let stored = served.store.query(&dcb_core::Query::all(), options).await;
    let stored = stored.unwrap().events;
    let metadata = stored.iter().map(|event| event.metadata().collect());
    let metadata: Vec<Vec<_>> = metadata.collect();
    let (by, tracking) = (("by", "a test"), ("dcb-grpc.tracking", "9 up stream"));
    let tags = ("dcb-grpc.tags", "1 0 1");
    for (mut found, mut expected) in metadata
        .into_iter()
        .zip([vec![by, tracking], vec![by, tracking, tags]])
    {
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}

pub(crate) async fn subscriptions_of_an_emptied_log_fail(served: &Served) {
    // The new log ends before the old one did, or after it.
    for new in [1, 5] {
        let grow = async |count| {
            let events = append(vec![event("Made", &["a"]); count]);
            served.client().await.append(events).await.unwrap();
        };
        grow(3).await;
        let request = SubscribeRequest {
            query: Some(tagged("a")),
            ..SubscribeRequest::default()
        };
        let subscribed = served.client().await.subscribe(request).await;
        let mut messages = subscribed.unwrap().into_inner();
        assert_eq!(messages.message().await.unwrap().unwrap().events.len(), 3);
        served.store.clear().await.unwrap();
        grow(new).await;
        let status = messages.message().await.unwrap_err();
        let codes = [Code::Internal, Code::FailedPrecondition];
        assert!(codes.contains(&status.code()), "{status:?}");
        served.store.clear().await.unwrap();
    }
}
