//! Each limit holds, and a client beyond it learns which one.

use std::time::Duration;

use dcb_core::EventStore as _;
use dcb_grpc::Limits;
use dcb_grpc::proto::error_response::ErrorType;
use dcb_grpc::proto::{HeadRequest, ReadRequest, SubscribeRequest};
use tonic::{Code, Status};

use crate::support::{Log, Served, append, error_type, event};

/// How often a test looks for what a client gave back a moment ago.
const TRIES: usize = 1_000;

fn is_exhausted(status: &Status, limit: &str) {
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    assert_eq!(error_type(status), ErrorType::Internal);
    assert!(status.message().contains(limit), "{status:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_beyond_the_limit_are_refused_until_one_ends() {
    let limits = Limits {
        max_subscriptions: 2,
        max_reads: 1,
        ..Limits::default()
    };
    let log = Log::memory().await;
    let served = Served::with(log, |server| server.limits(limits)).await;
    let mut client = served.client().await;
    let mut large = event("Large", &[]);
    large.data = vec![0; 1_000_000];
    for _ in 0..4 {
        client.append(append(vec![large.clone(); 3])).await.unwrap();
    }
    let subscribe = SubscribeRequest::default;
    let first = client.subscribe(subscribe()).await.unwrap();
    let _second = client.subscribe(subscribe()).await.unwrap();
    is_exhausted(
        &client.subscribe(subscribe()).await.unwrap_err(),
        "2 subscriptions",
    );
    drop(first);
    let mut tries = 0;
    while client.subscribe(subscribe()).await.is_err() {
        tries += 1;
        assert!(tries < TRIES, "the place is still taken");
    }

    let _open = client.read(ReadRequest::default()).await.unwrap();
    is_exhausted(
        &client.read(ReadRequest::default()).await.unwrap_err(),
        "1 reads",
    );
    // Other calls go on.
    client.head(HeadRequest {}).await.unwrap();
    client.append(append(event("Made", &[]))).await.unwrap();
    drop((client, _second, _open));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_beyond_the_limit_are_refused() {
    let limits = Limits {
        max_appends: 0,
        ..Limits::default()
    };
    let log = Log::memory().await;
    let served = Served::with(log, |server| server.limits(limits)).await;
    let mut client = served.client().await;
    let status = client.append(append(event("Made", &[]))).await.unwrap_err();
    is_exhausted(&status, "0 appends");
    assert_eq!(served.store.head().await.unwrap(), None);
    drop(client);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_of_requests_are_bounded_and_returned() {
    let limits = Limits {
        request_bytes: 100_000,
        ..Limits::default()
    };
    let log = Log::memory().await;
    let served = Served::with(log, |server| server.limits(limits)).await;
    let mut client = served.client().await;
    let sized = |bytes| {
        let mut event = event("Made", &[]);
        event.data = vec![0; bytes];
        append(event)
    };
    let status = client.append(sized(150_000)).await.unwrap_err();
    is_exhausted(&status, "bytes of requests");
    // Each request gives its memory back, so any number of them fits one after the other.
    for _ in 0..10 {
        client.append(sized(90_000)).await.unwrap();
    }
    // Small requests take nothing.
    let limits = Limits {
        request_bytes: 0,
        ..Limits::default()
    };
    let log = Log::memory().await;
    let small = Served::with(log, |server| server.limits(limits)).await;
    small.client().await.append(sized(4_000)).await.unwrap();
    drop(client);
    small.stop().await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pieces_are_smaller_when_the_memory_is_used_up() {
    let limits = Limits {
        unread_bytes: 256 << 10,
        ..Limits::default()
    };
    let log = Log::memory().await;
    let served = Served::with(log, |server| server.limits(limits)).await;
    let mut client = served.client().await;
    let mut made = event("Made", &[]);
    made.data = vec![0; 4_000];
    for _ in 0..10 {
        client
            .append(append(vec![made.clone(); 100]))
            .await
            .unwrap();
    }
    let largest = async |open: &mut tonic::Streaming<dcb_grpc::proto::ReadResponse>| {
        let (mut events, mut largest) = (0, 0);
        while let Some(page) = open.message().await.unwrap() {
            events += page.events.len();
            largest = largest.max(page.events.len());
        }
        assert_eq!(events, 1_000);
        largest
    };
    // On its own connection, this reader takes the only large piece and does not read on.
    let mut idle = served.client().await;
    let mut unread = idle
        .read(ReadRequest::default())
        .await
        .unwrap()
        .into_inner();
    unread.message().await.unwrap().unwrap();
    let mut read = client
        .read(ReadRequest::default())
        .await
        .unwrap()
        .into_inner();
    assert!(largest(&mut read).await <= 4);
    // It loses nothing.
    while unread.message().await.unwrap().is_some() {}
    drop(unread);
    let mut tries = 0;
    loop {
        let mut read = client
            .read(ReadRequest::default())
            .await
            .unwrap()
            .into_inner();
        if largest(&mut read).await > 4 {
            break;
        }
        tries += 1;
        assert!(tries < TRIES, "the memory is still taken");
    }
    drop((client, idle));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_greatest_limits_bound_nothing() {
    let limits = Limits {
        max_appends: usize::MAX,
        max_reads: usize::MAX,
        max_subscriptions: usize::MAX,
        request_bytes: usize::MAX,
        unread_bytes: usize::MAX,
        call_timeout: Duration::MAX,
    };
    let log = Log::memory().await;
    let served = Served::with(log, |server| server.limits(limits)).await;
    let mut client = served.client().await;
    // All on one connection.
    let mut followers = Vec::new();
    for _ in 0..200 {
        let subscribed = client.subscribe(SubscribeRequest::default()).await;
        followers.push(subscribed.unwrap().into_inner());
    }
    client.append(append(event("Made", &[]))).await.unwrap();
    for follower in &mut followers {
        assert!(follower.message().await.unwrap().is_some());
    }
    drop((client, followers));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_have_a_time_limit() {
    let limits = Limits {
        call_timeout: Duration::ZERO,
        ..Limits::default()
    };
    // PostgreSQL never answers at once.
    let log = Log::postgres().await;
    let served = Served::with(log, |server| server.limits(limits)).await;
    let mut client = served.client().await;
    let status = client.head(HeadRequest {}).await.unwrap_err();
    assert_eq!(status.code(), Code::Cancelled, "{status:?}");
    drop(client);
    served.stop().await;
}
