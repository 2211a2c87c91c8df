//! The calls of a server that stops.

use dcb_core::EventStore as _;
use dcb_grpc::proto::{ReadRequest, ReadResponse, SubscribeRequest};
use tonic::Streaming;

use crate::support::{Log, Served, append, event};

const LARGE_EVENTS: usize = 12;

/// A read that has had one of 12 large events. Most of the others do not fit into the transport.
async fn begun_read(served: &Served) -> Streaming<ReadResponse> {
    let mut client = served.client().await;
    let mut large = event("Large", &[]);
    large.data = vec![b'x'; 1_000_000];
    for _ in 0..LARGE_EVENTS / 3 {
        let events = append(vec![large.clone(); 3]);
        client.append(events).await.unwrap();
    }
    let read = client.read(ReadRequest::default()).await;
    let mut pages = read.unwrap().into_inner();
    let first = pages.message().await.unwrap().unwrap();
    assert_eq!(first.events.len(), 1);
    pages
}

#[tokio::test(flavor = "multi_thread")]
async fn subscriptions_end_with_the_server_and_appends_finish() {
    let served = Served::new(Log::sqlite().await).await;
    let store = served.store.clone();
    let mut client = served.client().await;
    let subscribed = client.subscribe(SubscribeRequest::default()).await;
    let mut events = subscribed.unwrap().into_inner();
    client.append(append(event("Made", &[]))).await.unwrap();
    assert_eq!(events.message().await.unwrap().unwrap().events.len(), 1);

    let writers = (0..32).map(|_| {
        let mut client = client.clone();
        tokio::spawn(async move { client.append(append(event("Made", &[]))).await.is_ok() })
    });
    let writers: Vec<_> = writers.collect();
    tokio::task::yield_now().await;
    let stopping = served.begin_stop().await;
    // The subscription ends without an error, after events or at once.
    while events.message().await.unwrap().is_some() {}
    let mut stored = 1;
    for writer in writers {
        stored += u64::from(writer.await.unwrap());
    }
    // Before the store closes.
    let known = store.stats().events;
    assert!(known >= stored, "{known} events, {stored} acknowledged");
    drop((client, events));
    stopping.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_in_progress_finish() {
    let served = Served::new(Log::sqlite().await).await;
    let mut pages = begun_read(&served).await;
    let stopping = served.begin_stop().await;
    let mut events = 1;
    while let Some(page) = pages.message().await.unwrap() {
        events += page.events.len();
    }
    assert_eq!(events, LARGE_EVENTS);
    drop(pages);
    stopping.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_that_nobody_takes_are_cut_off() {
    let served = Served::new(Log::sqlite().await).await;
    let mut pages = begun_read(&served).await;
    served.begin_stop().await.await.unwrap().unwrap();
    // The client learns that it has not seen everything.
    while let Ok(page) = pages.message().await {
        assert!(page.is_some(), "the read ended like a complete one");
    }
}
